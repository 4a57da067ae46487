"""How a chat model chooses among answers: by log-likelihood if the endpoint has it, else in writing."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from rag_adapters._likelihood import echoed, places_of, scores_of, tokens_needed
from simulator import Answer, BotFailure, InputError, Query, Sentence, Usage, _, say

Choosing = Literal["auto", "likelihood", "generation"]
Messages = Sequence[Mapping[str, str]]
Post = Callable[[str, dict[str, Any]], Awaitable[Any]]

CHAT, COMPLETIONS = "/chat/completions", "/completions"
_PROBE = ("A", "B")
# Settings of a request that are for dialogues only.
_DIALOGUE_ONLY = frozenset({"stream", "stream_options", "messages", "n", "stop"})


class Way(NamedTuple):
    """How log-likelihoods are requested: the number of likely tokens, or by echoed completions."""

    choosing: Choosing = "auto"
    top_logprobs: int = 20
    completions: bool = False
    per_token: bool = False


DEFAULT_WAY = Way()


class LikelihoodReply(NamedTuple):
    """Scores, if any, and whether the endpoint has log-likelihoods at all (None: unknown)."""

    scores: dict[str, float] | None = None
    known: bool | None = None
    usage: Usage | None = None


class Chooser:
    """Requests log-likelihoods, and remembers when an endpoint has none; each notice is printed once."""

    def __init__(self, way: Way, body: Mapping[str, Any], post: Post, where: str) -> None:
        """`body` holds the model and other settings of every request; `where` names the endpoint."""
        self.way, self.post, self.where = way, post, where
        self.body = {key: value for key, value in body.items() if key not in _DIALOGUE_ONLY}
        self.has_logprobs = True
        self._printed: set[Sentence] = set()

    async def __call__(self, query: Query, messages: Messages) -> Answer | None:
        """The likeliest choice with all scores; None when the model has to write its answer."""
        if not query.choices or self.way.choosing == "generation" or not self.has_logprobs:
            return None
        reply = await self._request(query.choices, messages)
        if reply.scores is None:
            self._explain(reply)
            return None
        chosen = max(reply.scores, key=reply.scores.__getitem__)
        return Answer(text=chosen, shows_passages=False, logprobs=reply.scores, usage=reply.usage)

    async def probe(self) -> None:
        """Raises InputError when the endpoint has no log-likelihoods; one that is down is no error here."""
        try:
            reply = await self._request(_PROBE, [{"role": "user", "content": " / ".join(_PROBE)}])
        except BotFailure:
            return
        if reply.known is False:
            what = _("{where} tells no log-likelihoods; use --choosing auto", where=self.where)
            if not self.way.completions:
                what = _(
                    "{where} tells no log-likelihoods; use --choosing auto,"
                    " or --set completions=on where it can echo a prompt",
                    where=self.where,
                )
            msg = _("--choosing likelihood: {what}.", what=what)
            raise InputError(msg)

    async def _request(self, choices: Sequence[str], messages: Messages) -> LikelihoodReply:
        try:
            return await (self._from_echo if self.way.completions else self._from_tokens)(choices, messages)
        except Refused as error:
            # Any other refusal concerns this row, and occurs again when the answer is written.
            return LikelihoodReply(known=False if error.about_logprobs or self.way.completions else None)

    async def _from_tokens(self, choices: Sequence[str], messages: Messages) -> LikelihoodReply:
        """From the likeliest tokens of a chat completion."""
        limit = "max_completion_tokens" if "max_completion_tokens" in self.body else "max_tokens"
        options = {"logprobs": True, "top_logprobs": self.way.top_logprobs, limit: tokens_needed(choices)}
        reply = await self.post(CHAT, {"temperature": 0, **self.body, "messages": list(messages), **options})
        places = places_of(reply)
        scores = scores_of(places, choices) if places else None
        return LikelihoodReply(scores, bool(places), self._usage(reply))

    async def _from_echo(self, choices: Sequence[str], messages: Messages) -> LikelihoodReply:
        """From echoed prompts that end with each of the choices."""
        prompt = as_text(messages)
        wholes = [prompt + between(prompt) + choice for choice in choices]
        options = {"prompt": wholes, "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
        reply = await self.post(COMPLETIONS, {**self.body, **options})
        listed = reply.get("choices") if isinstance(reply, dict) else None
        echoes = sorted(listed, key=lambda each: each.get("index", 0)) if isinstance(listed, list) else []
        sums = [echoed(each, prompt, whole) for each, whole in zip(echoes, wholes, strict=False)]
        known = [each for each in sums if each is not None]
        if len(known) < len(wholes):
            return LikelihoodReply(known=False)
        scores = {
            c: value / (n if self.way.per_token else 1) for c, (value, n) in zip(choices, known, strict=True)
        }
        return LikelihoodReply(scores, True, self._usage(reply))

    def _explain(self, reply: LikelihoodReply) -> None:
        if reply.known is False:
            self.has_logprobs = False
            self._print_once(_("it tells no log-likelihoods, so the model writes its answers"))
        elif reply.known:
            self._print_once(
                _("some answers could not be told apart by their first tokens, and are written out")
            )

    def _print_once(self, what: Sentence) -> None:
        if what not in self._printed:
            self._printed.add(what)
            say(_("{where}: {what}.", where=self.where, what=what))

    def _usage(self, reply: Any) -> Usage | None:
        return usage_of(reply.get("usage") if isinstance(reply, dict) else None, str(self.body["model"]))


class Refused(Exception):
    """An endpoint that refuses this kind of request, with 400 or the like."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.about_logprobs = "logprob" in message.lower()


def usage_of(counted: Any, model: str) -> Usage | None:
    """The tokens of a reply; None when it does not count them."""
    if not isinstance(counted, dict):
        return None
    tokens = [counted.get(name) for name in ("prompt_tokens", "completion_tokens")]
    tokens_in, tokens_out = (number if isinstance(number, int) else 0 for number in tokens)
    return Usage(model=model, tokens_in=tokens_in, tokens_out=tokens_out)


def as_text(messages: Sequence[Mapping[str, str]]) -> str:
    """A dialogue as one text, for a model without roles to continue."""
    text = ""
    for message in messages:
        gap = between(text) if message["role"] == "assistant" else "\n\n" if text else ""
        text += gap + message["content"]
    return text


def between(text: str) -> str:
    """The separator of a prompt and its answer: a space after a Latin character, nothing in Japanese."""
    return " " if text and not text[-1].isspace() and text[-1].isascii() else ""
