"""Which model plays which role, and where it lives. Keys stay in `SecretStr` and out of every file.

There are four roles: `user` plays the customer, `judge` grades, `embed` makes vectors for the judges that
compare meanings, and `demo` speaks for the bundled bot. A role's name is the flag (`--judge-model`) or its
variable (REHEARSAL_JUDGE_MODEL); its address and key are the nearest that are set:

    1. REHEARSAL_USER_URL, REHEARSAL_USER_KEY      the role's own
    2. REHEARSAL_JUDGE_URL, REHEARSAL_JUDGE_KEY    the judge's
    3. OPENAI_BASE_URL, OPENAI_API_KEY             those that other programs know

    OPENAI_API_KEY=sk-o                  all four at OpenAI, each with its default model
    REHEARSAL_JUDGE_URL=http://gpu:8000/v1, REHEARSAL_JUDGE_MODEL=qwen3
                                         user, judge and demo are qwen3 there; embed is its default, there
    --judge-model anthropic:claude-x     user, judge and demo through LangChain; embed at OpenAI, with its key
    nothing                              stand-ins play all four, as with --offline

A key is only ever sent to the address that it was given for: with a URL of one's own and OPENAI_API_KEY, that
URL gets the key "none". So are headers (REHEARSAL_JUDGE_HEADERS) and further fields of a request
(REHEARSAL_JUDGE_EXTRA): a role at the judge's address has those of the judge, unless it has its own. Fields
of a chat are not sent to embeddings.

What people paste is understood: an address with /chat/completions at its end, a key with "Bearer " before it,
either in quotation marks.
"""

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict, SecretStr

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.patterns import LazyPattern
from simulator.core.secrets import MASK, NEXT_HEADER, bare_key, unquoted, written_out
from simulator.core.settings import DEFAULT_MODELS, PREFIX, SMALL_JUDGES, Settings
from simulator.core.types import LEXICAL, Role

OPENAI = "https://api.openai.com/v1"
# What may stand before a model's name (anthropic:...), to be reached through LangChain; other colons are
# part of a name (llama3:8b).
PROVIDERS = frozenset((
    "anthropic", "bedrock", "bedrock_converse", "cohere", "deepseek", "fireworks", "google_genai",
    "google_vertexai", "groq", "huggingface", "ibm", "mistralai", "nvidia", "together", "xai",
))  # fmt: skip
# People are not all alike, and grades are to be the same again.
USER_TEMPERATURE, JUDGE_TEMPERATURE = 0.7, 0.2
# The parameters in a model's name, in billions or (three digits) millions: llama3.1:8b, mixtral-8x7b,
# gemma3n:e4b, smollm2:360m. Those of a mixture that are active at a time (qwen3-30b-a3b) are not meant.
_PARAMETERS = LazyPattern(
    r"(?<![a-z0-9.])(?:e|(\d+)x)?(?:(\d+(?:\.\d+)?)b|(\d{3})m)(?![a-z0-9])", re.IGNORECASE
)
# Billions of parameters up to which a model is asked as `--judging small` asks.
SMALL_MODEL = 14

# What is pasted with an address: the end of a request's own.
_OF_A_REQUEST = LazyPattern(r"/+(?:chat/completions|completions|embeddings|responses|models)?/*$")
# What an editor or a chat puts around an address, and signs that nobody sees.
_AROUND = LazyPattern(r"^[\s\u200b\ufeff“”‘’«»「」<(]+|[\s\u200b\ufeff“”‘’«»「」>),;.、。]+$")
# A version as a part of a path: /v1, /v1beta, /api/v3.
_VERSION = LazyPattern(r"/v\d+\w*(?=/|$)", re.IGNORECASE)
# Signs of a place in an address that was never filled in: <your-resource>, ${RESOURCE}.
_PLACEHOLDER = frozenset("<>{}$")
_DEPLOYMENT = LazyPattern(r"/openai/deployments/[^/]+$")
_HEADER_NAME = LazyPattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = LazyPattern(r"\$\{(\w+)\}")
# Fields of a request that are decided elsewhere, and where.
_DECIDED: dict[str, str] = {
    "model": "REHEARSAL_{role}_MODEL",
} | dict.fromkeys(("messages", "input", "stream", "stream_options", "n"), "")
_NO_KEY = "none"  # the client insists on one; servers without keys ignore it


class Endpoint(BaseModel):
    """A model: its name, address and key. Unless it is another provider's, it is OpenAI-compatible.

    `url` is empty for a provider that has an address of its own. `headers` and the fields `extra` go with
    every request; a field that is None is left out.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    role: Role
    model: str
    url: str
    key: SecretStr
    headers: dict[str, SecretStr] = {}
    extra: dict[str, Any] = {}

    @property
    def takes_common_key(self) -> bool:
        """Whether OPENAI_API_KEY is sent to its address, where there is no other key."""
        return self.url == (_address(os.environ.get("OPENAI_BASE_URL", "")) or OPENAI)

    @property
    def sent_headers(self) -> dict[str, str | None]:
        """The headers that go out beside the usual ones; None for one that does not.

        A deployment of Azure OpenAI takes a key as `api-key`, and only tokens of its directory as Bearer.
        """
        headers = {name: value.get_secret_value() for name, value in self.headers.items()}
        key, names = self.key.get_secret_value(), {name.lower() for name in headers}
        if self.is_deployment and not key.startswith("eyJ") and key != _NO_KEY and "api-key" not in names:
            return {"Authorization": None, "api-key": key} | headers
        return ({"Authorization": None} if key == _NO_KEY and headers else {}) | headers

    @property
    def is_deployment(self) -> bool:
        """Whether its address is that of a deployment of Azure OpenAI."""
        return bool(_DEPLOYMENT.search(self.url.partition("?")[0]))

    @property
    def shown_headers(self) -> dict[str, str]:
        """Its own headers without their secrets: what may choose the model that answers."""
        return {
            name: MASK if any(written_out({"headers": json.dumps({name: text})})) else text
            for name, text in ((name, value.get_secret_value()) for name, value in self.headers.items())
        }

    @property
    def missing_of_address(self) -> Message | None:
        """What an address probably lacks where it leads nowhere; None where it is whole."""
        path = urlsplit(self.url).path
        if self.is_deployment and "api-version=" not in self.url:
            return _(
                "The address of an Azure deployment ends in ?api-version=...; or use"
                " https://NAME.openai.azure.com/openai/v1."
            )
        if self.is_deployment or _VERSION.search(path):
            return None
        root = self.address.removesuffix(path) if path else self.address
        return _(
            "The address has no /v1; try {address}.",
            address=" / ".join(f"{place}/v1" for place in dict.fromkeys((self.address, root))),
        )

    @property
    def address(self) -> str:
        """The URL as it may be shown: what follows a question mark can be secret."""
        return self.url.partition("?")[0] or "its provider"

    @property
    def host(self) -> str:
        """Host and port; the name of a provider that has an address of its own."""
        return host_of(self.url) or self.model.partition(":")[0]

    def concealed(self, text: str) -> str:
        """The text without its key and headers, and without the values of its address's query."""
        query = parse_qsl(self.url.partition("?")[2])
        headers = {name: value.get_secret_value() for name, value in self.headers.items()}
        secrets_written = written_out({"headers": json.dumps(headers), "extra": json.dumps(self.extra)})
        secrets = {self.key.get_secret_value(), *(value for _unused, value in query), *secrets_written}
        # The longest first, or one that begins with another would leave its end behind.
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, MASK) if len(secret) > 4 else text
        return text

    @property
    def of_provider(self) -> bool:
        """Whether it is reached through LangChain."""
        return _is_of_provider(self.model)


def host_of(url: str) -> str:
    """Host and port of an address, without what may stand before an @."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def endpoints(
    settings: Settings, environ: Mapping[str, str] = os.environ, *, strict: bool = True
) -> dict[Role, Endpoint | None]:
    """The endpoint of each role; None where a lexical stand-in plays it.

    A role without an address of its own uses the judge's, then OPENAI_BASE_URL / OPENAI_API_KEY, and at an
    address that is not OpenAI's also the judge's model where one is named. With neither a key nor an address
    anywhere, every role is None; an address alone is enough, for many servers ask for no key. Raises
    InputError for a model that was named and that nothing leads to, unless no model is to take part at all;
    not where it is not `strict`.
    """
    endpoint_of: dict[Role, Endpoint | None] = {
        role: _endpoint(role, settings, environ) for role in get_args(Role)
    }
    # A model that was named and cannot be reached must not be replaced by a stand-in in silence.
    for role, endpoint in endpoint_of.items() if strict else ():
        named = _model(role, settings, environ)
        if endpoint is None and not settings.offline and named not in ("", LEXICAL):
            msg = _(
                "--{role}-model {model}: neither a key nor an endpoint to reach it. Set "
                "OPENAI_API_KEY or {prefix}{variable}_URL, or run without AI with --offline.",
                role=role,
                model=named,
                prefix=PREFIX,
                variable=role.upper(),
            )
            raise InputError(msg)
    return endpoint_of


def is_small_model(model: str) -> bool:
    """Whether a model's name says that it has at most 14 billion parameters; without a number it does not.

    llama3.1:8b, gemma-2-9b-it -> True; qwen3:32b, mixtral-8x7b, gpt-4o-mini, phi-4 -> False.
    """
    sizes = [
        float(times or 1) * (float(billions) if billions else float(millions) / 1000)
        for times, billions, millions in _PARAMETERS.findall(model)
    ]
    return bool(sizes) and max(sizes) <= SMALL_MODEL


def with_judging_for(settings: Settings) -> Settings:
    """The settings with `--judging small` where the judge's model is a small one and nothing else was chosen.

    In conversations its judges are chosen with it, unless there are others; the judges of a data set stay.
    """
    judge = None if settings.offline else endpoints(settings, strict=False)["judge"]
    if judge is None or "judging" in settings.model_fields_set or not is_small_model(judge.model):
        return settings
    is_open = settings.protocol == "dialogue" and "judges" not in settings.model_fields_set
    named = {"judges": SMALL_JUDGES} if is_open else {}
    return settings.model_copy(update={"judging": "small", **named})


def check_players(
    settings: Settings, endpoint_of: Mapping[Role, Endpoint | None], playing: Collection[Role]
) -> None:
    """Raises InputError for a target that stand-ins nobody asked for would decide; `playing` take part."""
    if settings.target is None or settings.offline:
        return
    for role in playing:
        # Who names `lexical`, or says --offline, has asked for it.
        if endpoint_of[role] is None and _model(role, settings, os.environ) != LEXICAL:
            msg = _(
                "The target (--target, or target in rehearsal.toml): without a key or an endpoint, simple "
                "scoring (no AI) would decide. Set "
                "OPENAI_API_KEY or REHEARSAL_JUDGE_URL, or ask for that with --offline."
            )
            raise InputError(msg)


def judge_endpoint(endpoint_of: Mapping[Role, Endpoint | None], asker: str) -> Endpoint:
    """The judge's endpoint. Raises InputError where no model judges, and so nobody does what `asker` asks."""
    endpoint = endpoint_of["judge"]
    if endpoint is None:
        msg = _("{asker} needs a model as judge: set OPENAI_API_KEY or REHEARSAL_JUDGE_URL.", asker=asker)
        raise InputError(msg)
    return endpoint


def players(settings: Settings, environ: Mapping[str, str] = os.environ) -> dict[str, Endpoint | None]:
    """By name, the endpoints of several customers' models, None where a stand-in plays; empty for one."""
    return {
        name: endpoints(settings.model_copy(update={"user_model": (name,)}), environ)["user"]
        for name in (settings.user_model if len(settings.user_model) > 1 else ())
    }


def models_named(models: Mapping[str, str]) -> dict[str, Any]:
    """The settings that name the models of a run, by role; an empty name is that of a stand-in."""
    named = {f"{role}_model": model or LEXICAL for role, model in models.items()}
    return named | {"user_model": tuple(named.get("user_model", "").split(", ")) if "user" in models else ()}


def check_one_player(settings: Settings) -> None:
    """Raises InputError where several models should play a customer of which there is one."""
    if len(settings.user_model) > 1:
        msg = _(
            "--user-model {names}: name one here; several can only play the customers of a rehearsal.",
            names=", ".join(settings.user_model),
        )
        raise InputError(msg)


def further_judges(
    names: Sequence[str], settings: Settings, environ: Mapping[str, str] = os.environ
) -> tuple[Endpoint, ...]:
    """Models that grade as well, each at the judge's address unless its name says which provider's it is.

    The judge's own model is left out: it would agree with itself.
    """
    own = _endpoint("judge", settings, environ)
    endpoints_of_panel = []
    for name in names:
        endpoint = _endpoint("judge", settings.model_copy(update={"judge_model": name}), environ)
        if endpoint is None:
            msg = _(
                "--panel {name}: no endpoint to reach it (REHEARSAL_JUDGE_URL, or OPENAI_API_KEY).", name=name
            )
            raise InputError(msg)
        if own is None or (endpoint.url, endpoint.model) != (own.url, own.model):
            endpoints_of_panel.append(endpoint)
    if names and not endpoints_of_panel:
        msg = _("--panel {model}: it grades already (--judge-model); name other models.", model=names[0])
        raise InputError(msg)
    return tuple(endpoints_of_panel)


def _endpoint(role: Role, settings: Settings, environ: Mapping[str, str]) -> Endpoint | None:
    address, judges = (_address(_own(role_of_address, "URL", environ)) for role_of_address in (role, "judge"))
    common = _address(environ.get("OPENAI_BASE_URL", ""))
    places = (
        (address, _own(role, "KEY", environ)),
        (judges, _own("judge", "KEY", environ)),
        (common or OPENAI, bare_key(environ.get("OPENAI_API_KEY", ""))),
    )
    url = address or judges or common or OPENAI
    key = _key(url, places)
    model = _model(role, settings, environ)
    judge = _model("judge", settings, environ)
    # At a server of one's own there is mostly one model: the default names would be unknown there.
    elsewhere = (url != OPENAI and judge != LEXICAL) or _is_of_provider(judge)
    if not model and role in ("user", "demo") and not address and elsewhere:
        model = judge
    if _is_of_provider(model) and not settings.offline:
        # Without any key LangChain looks for the provider's own variable (ANTHROPIC_API_KEY).
        shared = _own("judge", "KEY", environ) if model == judge else ""
        key = _own(role, "KEY", environ) or shared
        endpoint = Endpoint(role=role, model=model, url=address, key=SecretStr(key))
        return _with_more(endpoint, environ, shares=model == judge)
    model = model or DEFAULT_MODELS[role]
    if settings.offline or model == LEXICAL or not (key or address or judges or common):
        return None
    _check(role, url, key)
    endpoint = Endpoint(role=role, model=model, url=url, key=SecretStr(key or _NO_KEY))
    return _with_more(endpoint, environ, shares=url == (judges or common or OPENAI))


def _address(text: str) -> str:
    """An address as it was pasted, without quotation marks and the end of a request's own address."""
    address, question, query = unquoted(_AROUND.sub("", text)).partition("?")
    scheme, mark, rest = _OF_A_REQUEST.sub("", address).rpartition("://")
    return scheme.lower() + mark + rest + question + query


def _with_more(endpoint: Endpoint, environ: Mapping[str, str], *, shares: bool) -> Endpoint:
    """With the headers and further fields of its role, else those of the judge, whose address it `shares`."""
    role = endpoint.role
    sources = (role, "judge") if shares else (role,)
    headers = next((source for source in sources if _own(source, "HEADERS", environ)), None)
    # Embeddings are no chat: enable_thinking would be refused there.
    extra = next((source for source in sources if _own(source, "EXTRA", environ)), None)
    extra = extra if role != "embed" or extra == role else None
    more: dict[str, Any] = {}
    if headers:
        more["headers"] = _headers(f"{PREFIX}{headers.upper()}_HEADERS", environ)
        if endpoint.of_provider and more["headers"]:
            msg = _(
                "{name}: {model} goes through LangChain; put headers into {prefix}{role}_EXTRA, under the"
                ' name that its package has for them ({{"default_headers": {{...}}}}).',
                name=f"{PREFIX}{headers.upper()}_HEADERS",
                model=endpoint.model,
                prefix=PREFIX,
                role=headers.upper(),
            )
            raise InputError(msg)
    if extra:
        more["extra"] = _extra(f"{PREFIX}{extra.upper()}_EXTRA", extra, environ)
    return endpoint.model_copy(update=more)


def _headers(name: str, environ: Mapping[str, str]) -> dict[str, SecretStr]:
    """`Name: value; Other-Name: value`, or the same as JSON. Raises InputError, without showing a value."""
    text, pairs = unquoted(environ[name]), dict[str, Any]()
    if text.startswith("{"):
        pairs = _object(name, text)
    else:
        for line in filter(None, (part.strip() for part in NEXT_HEADER.split(text))):
            header, colon, value = line.partition(":")
            pairs[header.strip()] = value.strip() if colon else None
    headers = {}
    for header, value in pairs.items():
        is_one = _HEADER_NAME.fullmatch(header) and isinstance(value, str | int)
        filled = _filled(name, str(value), environ) if is_one else ""
        if is_one and not filled:  # as .env leaves it of a variable that is not set
            raise InputError(_("{name}: '{header}' has no value.", name=name, header=header))
        if not (is_one and filled.isascii() and filled.isprintable()):
            msg = _(
                "{name}: write 'Name: value; Other-Name: value', as in 'api-key: ${{AZURE_KEY}}'.", name=name
            )
            raise InputError(msg)
        headers[header] = SecretStr(filled)
    return headers


def _extra(name: str, role: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """A JSON object of fields. Raises InputError."""

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(part) for key, part in value.items()}
        if isinstance(value, list):
            return list(map(filled, value))
        return _filled(name, value, environ) if isinstance(value, str) else value

    fields = _object(name, unquoted(environ[name]))
    for field in _DECIDED.keys() & fields.keys():
        instead = _DECIDED[field].format(role=role.upper())
        msg = (
            _("{name}: '{field}' is set by {instead}.", name=name, field=field, instead=instead)
            if instead
            else _("{name}: '{field}' cannot be set.", name=name, field=field)
        )
        raise InputError(msg)
    return filled(fields)  # type: ignore[no-any-return]


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        msg = _('{name}: must be a JSON object, as in {{"enable_thinking": false}}.', name=name)
        raise InputError(msg)
    return content


def _filled(name: str, text: str, environ: Mapping[str, str]) -> str:
    """A text with its ${VARIABLES} of the environment. Raises InputError for one that is not set."""

    def value(match: re.Match[str]) -> str:
        if not (variable := environ.get(match[1], "").strip()):
            msg = _("{name}: ${{{variable}}} is not set in the environment.", name=name, variable=match[1])
            raise InputError(msg)
        return unquoted(variable)

    return _VARIABLE.sub(value, text)


def _is_of_provider(model: str) -> bool:
    return model.partition(":")[0] in PROVIDERS and ":" in model


def _model(role: Role, settings: Settings, environ: Mapping[str, str]) -> str:
    """The name that is set for a role, of several the first; empty where none is."""
    named = next(iter(settings.user_model), "") if role == "user" else getattr(settings, f"{role}_model")
    return named or _own(role, "MODEL", environ)


def _key(url: str, places: Sequence[tuple[str, str]]) -> str:
    """The nearest key; one that belongs to another address is never sent to this one.

    Else whoever points a role to a server of their own would hand it the key of their OpenAI account.
    `places` are addresses with their keys, the role's own first; a place without an address lends its key to
    whichever address is used.
    """
    # What comes after the place of the address belongs elsewhere, unless it names the same one.
    own = [address for address, _key in places].index(url)
    keys = (key for at, (address, key) in enumerate(places) if address == url or (not address and at < own))
    return next(filter(None, keys), "")


def is_http_address(address: str) -> bool:
    """Whether an address has a host that is no <placeholder>, and no port that cannot be."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        is_host = bool(host) and _PLACEHOLDER.isdisjoint(host)
        return parts.scheme in ("http", "https") and is_host and parts.port != 0
    except ValueError:
        return False


def _check(role: Role, url: str, key: str) -> None:
    """Raises InputError for a mistyped address or key, without showing the key."""
    # Checked before the first call, since a client's own error would show the address with what may be secret
    # in it. No endpoint reads a password there, and nothing behind # is sent.
    if is_http_address(url) and "@" in urlsplit(url).netloc:
        msg = _(
            "the {role} model's address has a login in it: write it as"
            " REHEARSAL_{variable}_HEADERS='Authorization: Basic ${{VARIABLE}}' (name:password in base64).",
            role=role,
            variable=role.upper(),
        )
        raise InputError(msg)
    if not is_http_address(url) or "#" in url or url != "".join(url.split()):
        msg = _(
            "the {role} model's address '{address}' must look like http://localhost:11434/v1"
            " (REHEARSAL_{variable}_URL, REHEARSAL_JUDGE_URL or OPENAI_BASE_URL).",
            role=role,
            address=url.rpartition("@")[2].partition("?")[0],
            variable=role.upper(),
        )
        raise InputError(msg)
    if not (key.isascii() and key.isprintable()):
        msg = _(
            "the {role} model's key has characters that no key can have"
            " (REHEARSAL_{variable}_KEY, REHEARSAL_JUDGE_KEY or OPENAI_API_KEY).",
            role=role,
            variable=role.upper(),
        )
        raise InputError(msg)


def _own(role: str, setting: str, environ: Mapping[str, str]) -> str:
    read = bare_key if setting == "KEY" else unquoted
    return read(environ.get(f"{PREFIX}{role.upper()}_{setting}", ""))
