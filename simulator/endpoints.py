"""Which model plays which role, and where it lives. Keys stay in `SecretStr` and out of every file."""

import os
from collections.abc import Mapping
from typing import get_args

from pydantic import BaseModel, ConfigDict, SecretStr

from simulator.settings import PREFIX, Settings
from simulator.types import Role

LEXICAL = "lexical"
OPENAI = "https://api.openai.com/v1"
# The one table of default names.
DEFAULT_MODELS: dict[Role, str] = {
    "user": "gpt-4.1-mini",
    "judge": "gpt-4.1",
    "embed": "text-embedding-3-small",
    "demo": "gpt-4.1-mini",
}


class Endpoint(BaseModel):
    """An OpenAI-compatible model: its name, address and key."""

    model_config = ConfigDict(frozen=True)

    role: Role
    model: str
    url: str
    key: SecretStr


def endpoints(settings: Settings, environ: Mapping[str, str] = os.environ) -> dict[Role, Endpoint | None]:
    """The endpoint of each role; None where a lexical stand-in plays it.

    A role without an address of its own uses the judge's, then OPENAI_BASE_URL / OPENAI_API_KEY.
    With neither a key nor an address anywhere, every role is None.
    """
    return {role: _endpoint(role, settings, environ) for role in get_args(Role)}


def _endpoint(role: Role, settings: Settings, environ: Mapping[str, str]) -> Endpoint | None:
    model = getattr(settings, f"{role}_model") or _own(role, "MODEL", environ) or DEFAULT_MODELS[role]
    url = _own(role, "URL", environ) or _own("judge", "URL", environ) or environ.get("OPENAI_BASE_URL", "")
    key = _own(role, "KEY", environ) or _own("judge", "KEY", environ) or environ.get("OPENAI_API_KEY", "")
    if settings.offline or model == LEXICAL or not (url or key):
        return None
    return Endpoint(role=role, model=model, url=(url or OPENAI).rstrip("/"), key=SecretStr(key or "none"))


def _own(role: str, what: str, environ: Mapping[str, str]) -> str:
    return environ.get(f"{PREFIX}{role.upper()}_{what}", "")
