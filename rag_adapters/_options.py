"""The settings of the http adapter: given one by one, or by a template that has most of them."""

import json
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_adapters._json import parsed
from rag_adapters._sse import FORMS
from simulator import InputError, _, value_problem

TEMPLATES = Path(__file__).with_name("templates")
# A setting that has no effect without another one means that the other was forgotten.
_NEEDS = {
    "job": "poll",
    "poll": "job",
    "interval": "poll",
    "restart": "stream",
    "client_id": "token_url",
    "client_secret": "token_url",
    "scope": "token_url",
    "audience": "token_url",
    "token_auth": "token_url",
}


class HttpSettings(BaseModel):
    """Every setting but `template`; docs/adapters.md says what each is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    answer: str = ""
    request: Any = '{"message": "$question", "session": "$session"}'
    passages: str = ""
    passage_text: str = "text"
    passage_id: str = "id"
    headers: str = ""
    method: str = "POST"
    conversation: str = ""
    stream: str = ""
    until: str = ""
    restart: str = ""
    poll: str = ""
    job: str = ""
    interval: float = Field(1.0, gt=0)
    token_url: str = ""
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    audience: str = ""
    token_auth: str = "basic"  # noqa: S105 - a place, not a password
    proxy: str = ""
    ca: str = ""

    @property
    def body(self) -> Any:
        """The request as JSON; a template file may have it as a table."""
        return parsed("request", self.request) if isinstance(self.request, str) else self.request


def http_settings(template: str, given: dict[str, Any]) -> HttpSettings:
    """What is `given` over what the template has over the defaults; raises InputError for what is wrong."""
    base = read_template(template) if template else {}
    try:
        settings = HttpSettings.model_validate(base | given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        place = f"{name}={given[name]}" if name in given else f"template={template}: {name}"
        msg = _("{place}: {problem}.", place=place, problem=value_problem(first))
        raise InputError(msg) from None
    _check(settings)
    return settings


def template_names() -> list[str]:
    """The templates that come along."""
    return sorted(path.stem for path in TEMPLATES.glob("*.toml"))


def read_template(name: str) -> dict[str, Any]:
    """The settings in the template `name`, or in a file `./mine.toml` or `./mine.json` of one's own."""
    own = "/" in name or "\\" in name or name.endswith((".toml", ".json"))
    if not own and name not in template_names():
        there = ", ".join(template_names())
        msg = _(
            "template={name}: there is none of that name. There are: {there}; your own: ./mine.toml.",
            name=name,
            there=there,
        )
        raise InputError(msg)
    path = Path(name) if own else TEMPLATES / f"{name}.toml"
    try:
        text = path.read_text(encoding="utf-8-sig")
        read = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        msg = _("template={name}: the file cannot be read ({reason}).", name=name, reason=reason)
        raise InputError(msg) from None
    if not isinstance(read, dict):
        msg = _("template={name}: must be an object of settings.", name=name)
        raise InputError(msg)
    return read


def _check(settings: HttpSettings) -> None:
    if not settings.answer:
        there = ", ".join(template_names())
        msg = _(
            "answer is missing: --set answer=PATH of the bot's words, or --set template=NAME ({there}).",
            there=there,
        )
        raise InputError(msg)
    if settings.stream not in ("", *FORMS):
        msg = _("stream={stream}: use {forms}.", stream=settings.stream, forms=" or ".join(FORMS))
        raise InputError(msg)
    if settings.stream and settings.poll:
        msg = _("stream and poll exclude each other: an answer is either streamed or fetched.")
        raise InputError(msg)
    if settings.until and not (settings.stream or settings.poll):
        msg = _("until needs stream or poll beside it.")
        raise InputError(msg)
    for name, other in _NEEDS.items():
        changed = getattr(settings, name) != HttpSettings.model_fields[name].default
        if changed and not getattr(settings, other):
            msg = _("{name} needs {other} beside it.", name=name, other=other)
            raise InputError(msg)
