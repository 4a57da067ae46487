"""Any bot behind a JSON endpoint: --set url=... --set answer=data.reply, or --set template=dify."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel

from rag_adapters._auth import Credentials, token_request
from rag_adapters._environment import Environment
from rag_adapters._json import Condition, JsonPath, filtered, variables_in
from rag_adapters._limits import limited
from rag_adapters._options import HttpSettings, http_settings
from rag_adapters._poll import Polling
from rag_adapters._reply import ReplyPaths
from rag_adapters._request import OF_THE_DIALOGUE, RequestTemplate, checked_address, headers_of
from rag_adapters._sse import Streaming
from rag_adapters._wire import Route, Wire
from simulator import Answer, BotFailure, InputError, Query, Traits, _

V = TypeVar("V", bound=BaseModel)
Fetch = Callable[[Wire, dict[str, Any]], Awaitable[list[Any]]]
_OF_THE_TOKEN = ("token_url", "client_id", "client_secret", "scope", "audience", "token_auth")
_WITH_VARIABLES = ("url", "poll", "proxy", *_OF_THE_TOKEN)


@limited
def connect(
    *,
    url: str,
    template: str = "",
    answer: str | None = None,
    request: str | None = None,
    passages: str | None = None,
    passage_text: str | None = None,
    passage_id: str | None = None,
    headers: str | None = None,
    method: str | None = None,
    conversation: str | None = None,
    stream: str | None = None,
    until: str | None = None,
    restart: str | None = None,
    poll: str | None = None,
    job: str | None = None,
    interval: float | None = None,
    token_url: str | None = None,
    client_id: str | None = None,
    client_secret: str | None = None,
    scope: str | None = None,
    audience: str | None = None,
    token_auth: str | None = None,
    proxy: str | None = None,
    ca: str | None = None,
) -> "HttpBot":
    """The bot at `url`; `request` is what it is sent, `answer` the path to its words in the reply.

    What is not given comes from `template`, else from the defaults of HttpSettings. `$question`,
    `$system` (of a prompt), `$session`, `$history`, `$language` and `$conversation` are the dialogue's; any
    other variable is read from the environment.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    return bot_of(http_settings(given.pop("template"), given))


def bot_of(settings: HttpSettings) -> "HttpBot":
    """The bot that these settings describe; raises InputError for what could not work."""
    body, head = settings.body, headers_of(settings.headers)
    environment = _environment(settings, body, head)
    asking = RequestTemplate(settings.method.upper(), settings.url, body, head, environment)
    asking.check()
    route = Route.of(settings.proxy, settings.ca, environment)
    wire = Wire(asking.host, route, environment, _credentials(settings, head, environment))
    return HttpBot(asking, _paths(settings), wire, _fetching(settings, asking))


def _environment(settings: HttpSettings, body: Any, head: dict[str, str]) -> Environment:
    """The variables of all settings, each found before the start."""
    used = {name: variables_in(name, getattr(settings, name)) for name in _WITH_VARIABLES}
    used |= {"request": variables_in("request", body), "headers": variables_in("headers", head)}
    told = used["request"] | used["url"]
    if "question" not in told:
        msg = _("request has no $question. In a shell, use single quotes around it, or request=@file.json.")
        raise InputError(msg)
    if "conversation" in told and not settings.conversation:
        msg = _("$conversation is used: say where the reply names it, as in conversation=conversation_id.")
        raise InputError(msg)
    if settings.poll and "job" not in used["poll"]:
        msg = _("poll has no $job: write it like $url/$job, in a shell in single quotes.")
        raise InputError(msg)
    used["poll"] -= {"job", "url"}
    for name in (*_OF_THE_TOKEN, "poll", "proxy"):
        if of_the_dialogue := sorted(used[name].intersection(OF_THE_DIALOGUE)):
            msg = _(
                "{name} cannot use ${variable}: it is the same for all customers.",
                name=name,
                variable=of_the_dialogue[0],
            )
            raise InputError(msg)
    return Environment.of(set.union(*used.values()), OF_THE_DIALOGUE)


def _credentials(
    settings: HttpSettings, head: dict[str, str], environment: Environment
) -> Credentials | None:
    if not settings.token_url:
        return None
    if "authorization" in map(str.lower, head):
        msg = _("headers has an Authorization, and token_url gives one too: leave one of them out.")
        raise InputError(msg)
    return Credentials(token_request(settings.model_dump(include=set(_OF_THE_TOKEN)), environment))


def _paths(settings: HttpSettings) -> ReplyPaths:
    return ReplyPaths(
        JsonPath("answer", settings.answer),
        JsonPath("passages", settings.passages) if settings.passages else None,
        JsonPath("passage_text", settings.passage_text),
        JsonPath("passage_id", settings.passage_id),
        JsonPath("conversation", settings.conversation) if settings.conversation else None,
        Condition("restart", settings.restart) if settings.restart else None,
    )


def _fetching(settings: HttpSettings, asking: RequestTemplate) -> Fetch:
    """How a reply is got: as it is, piece by piece, or by asking after a job."""
    until = Condition("until", settings.until) if settings.until else None
    if settings.poll:
        # Without a condition the job is done when its answer is there.
        done, job = until or Condition("until", settings.answer), JsonPath("job", settings.job)
        polling = Polling(settings.poll, job, done, settings.interval, asking.environment)
        checked_address("poll", polling.place(asking.address(Query(text="-")), "-"))
        return polling.replies
    return Streaming(settings.stream, until).replies if settings.stream else _at_once


async def _at_once(wire: Wire, arguments: dict[str, Any]) -> list[Any]:
    return [await wire.json(arguments)]


class HttpBot:
    """A bot behind an endpoint; remembers what the bot calls each conversation."""

    def __init__(self, asking: RequestTemplate, paths: ReplyPaths, wire: Wire, fetch: Fetch) -> None:
        self.asking, self.paths, self.wire, self.fetch = asking, paths, wire, fetch
        self.traits = Traits(takes=frozenset({"system", "history"}) & variables_in("request", asking.body))
        self._conversations: dict[str, str] = {}

    async def __call__(self, query: Query) -> Answer:
        """The bot's answer; raises BotFailure for everything that is none."""
        try:
            answer = await self._asked(query)
        except BotFailure as error:
            error.failure = masked(error.failure, self.asking.environment)
            error.args = (error.failure.message,)
            raise
        return masked(answer, self.asking.environment)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.wire.aclose()

    async def _asked(self, query: Query) -> Answer:
        known = self._conversations.get(query.session, "") if query.history else ""
        replies = await self.fetch(self.wire, self.asking.arguments(query, known))
        if named := self.paths.conversation_in(replies):
            self._conversations[query.session] = named
        return self.paths.read(replies)


def masked(value: V, environment: Environment) -> V:
    """A value without what came from the environment, in whichever of its texts the bot repeats it.

    Only here, at the end: a secret that was streamed in pieces is whole now, and names of jobs and
    conversations had to stay as they are.
    """
    return type(value).model_validate(filtered(value.model_dump(), environment.masked))
