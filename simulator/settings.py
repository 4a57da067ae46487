"""Everything a run can be told, declared once: flags, environment, rehearsal.toml, defaults."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from simulator.errors import InputError, UnknownName
from simulator.types import Language, RedRules

FILE = "rehearsal.toml"
PREFIX = "REHEARSAL_"
# These say how to start or to show a run, not what the run is; they are not stored in it.
NOT_OF_THE_RUN = frozenset({"resume", "dry_run", "to", "json_output", "runs"})

Names = tuple[str, ...]
Positive = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """One frozen object; every field is a flag, a REHEARSAL_ variable and a key of rehearsal.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    persona: Names = Field(
        (),
        description="Who plays the customer; repeatable, or 'all'. Default: angry, calm or beginner by lot.",
    )
    cases: str | None = Field(
        None, description="Question file (CSV, JSONL, also .gz). Default: the bundled demo questions."
    )
    limit: Positive | None = Field(None, description="Only the first N questions.")
    adapter: str = Field("demo", description="The bot: a name from rag_adapters/, or yours: bot.py:answer.")
    set: dict[str, str] = Field({}, description="Adapter setting as key=value; repeatable.")
    turns: Annotated[int, Field(ge=1, le=50)] = Field(3, description="Most turns in one conversation.")
    repeats: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="How often each customer asks each question."
    )
    judges: Names = Field(
        ("turn", "relevance", "groundedness", "similarity", "fluency", "cosine"),
        description="Who grades; names from judges/, comma-separated.",
    )
    judging: Literal["combined", "separate"] = Field(
        "combined", description="One model call per turn for all grades, or one per metric."
    )
    guidelines: str | None = Field(
        None, description="Your desk's behaviour rules (text or TOML) that the turn judge grades against."
    )
    offline: bool = Field(False, description="No model at all: lexical stand-ins play every role.")
    language: Literal["ja", "en", "all"] | None = Field(
        None, description="Only questions in this language. Default: ja on the bundled questions, else all."
    )
    concurrency: Annotated[int, Field(ge=1, le=10_000)] = Field(
        32, description="Conversations at the same time."
    )
    calls: Annotated[int, Field(ge=1, le=10_000)] = Field(
        64, description="Model calls in flight per endpoint."
    )
    timeout: Annotated[float, Field(gt=0, le=3600)] = Field(
        60.0, description="Seconds to wait for an answer of the bot or of a model."
    )
    cache: Literal["on", "off", "read", "refresh"] = Field(
        "on", description="Reuse answers of models to identical requests."
    )
    user_model: str | None = Field(None, description="Model that plays the customer.")
    judge_model: str | None = Field(None, description="Model that grades.")
    embed_model: str | None = Field(None, description="Embedding model; 'lexical' for the offline stand-in.")
    demo_model: str | None = Field(
        None, description="Model behind the demo bot; 'lexical' for the extractive stand-in."
    )
    user_temperature: Annotated[float, Field(ge=0, le=2)] = Field(
        0.7, description="Temperature of the customer."
    )
    judge_temperature: Annotated[float, Field(ge=0, le=2)] = Field(
        0.2, description="Temperature of the judge."
    )
    seed: int = Field(42, description="Seed of every random choice.")
    target: float | None = Field(None, description="Gate: pass at this score (0.9, or 90).")
    max_failed: Annotated[float, Field(ge=0, le=1)] = Field(
        0.05, description="Largest share of grades or customer turns that may fail."
    )
    budget: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Stop before model calls cost more than this (USD)."
    )
    red: RedRules = Field(RedRules(), description="Which turns are red (table [red] of rehearsal.toml).")
    greeting: dict[Language, str] | None = Field(
        None, description="The desk's first line per language (table [greeting])."
    )
    to: Names = Field((), description="Reports beside report.html: json.")
    runs: str = Field("runs", description="Folder of the runs.")
    resume: str | None = Field(None, description="Finish an interrupted run: its id or path.")
    dry_run: bool = Field(
        False, description="Show how many calls, tokens and dollars it would take; start nothing."
    )
    json_output: bool = Field(False, description="Print exactly one JSON object on stdout.")

    @field_validator("persona", "judges", "to", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """'a,b' and ['a', 'b'] mean the same."""
        if isinstance(value, str):
            value = [value]
        if isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value):
            return tuple(dict.fromkeys(p.strip() for v in value for p in v.split(",") if p.strip()))
        return value

    @field_validator("set", mode="before")
    @classmethod
    def _pairs(cls, value: Any) -> Any:
        """Flags arrive as ['key=value']; TOML values of any simple type as a table."""
        if isinstance(value, str):
            value = [value]
        if isinstance(value, dict):
            return {k: _plain(v) for k, v in value.items()}
        pairs = {}
        for item in value:
            key, separator, text = str(item).partition("=")
            if not separator or not key.strip():
                msg = f"'{item}' is not key=value"
                raise ValueError(msg)
            pairs[key.strip()] = text
        return pairs

    @field_validator("target")
    @classmethod
    def _share(cls, value: float | None) -> float | None:
        """90 means 0.9; a target outside 0..100 is a mistake."""
        if value is not None and not 0 < value <= 100:
            msg = "must be between 0 and 1, or a percentage up to 100"
            raise ValueError(msg)
        return value / 100 if value is not None and value > 1 else value

    @field_validator("judges")
    @classmethod
    def _some(cls, value: Names) -> Names:
        if not value:
            msg = "name at least one judge"
            raise ValueError(msg)
        return value

    def of_the_run(self) -> dict[str, Any]:
        """What is stored with a run, and what `--resume` continues with."""
        return self.model_dump(mode="json", exclude=set(NOT_OF_THE_RUN))


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def flag(name: str) -> str:
    """The flag of a field: `max_failed` is `--max-failed`, `json_output` is `--json`."""
    return "--json" if name == "json_output" else "--" + name.replace("_", "-")


def load(
    flags: Mapping[str, Any], folder: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Flags over environment over `rehearsal.toml` in `folder` over defaults."""
    given = {key: value for key, value in flags.items() if value not in (None, (), [], False)}
    layers = (_from_file((folder or Path()) / FILE), _from_environment(environ), given)
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update(layer)
    return _validated(merged, given)


def from_run(stored: Mapping[str, Any], **changes: Any) -> Settings:
    """The settings a run was started with; keys of a newer version are refused by name."""
    return _validated({**stored, **changes}, {})


def _validated(values: dict[str, Any], given: Mapping[str, Any]) -> Settings:
    unknown = [key for key in values if key not in Settings.model_fields]
    if unknown:
        raise UnknownName("setting", unknown[0], Settings.model_fields, f"(in {FILE})")
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        shown = flag(name) if name in given else f"{name} (in {FILE} or the environment)"
        message = first["msg"].removeprefix("Value error, ")
        msg = f"{shown} {_short(values.get(name))}: {message}."
        raise InputError(msg) from None


def _short(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """REHEARSAL_TURNS=5 and so on; list and table fields are read from commas."""
    found: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        text = environ.get(PREFIX + name.upper())
        if text and name not in {"red", "greeting"}:
            found[name] = text.split(",") if get_origin(field.annotation) is dict else text
    return found


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path}: not valid TOML ({error})."
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror})."
        raise InputError(msg) from None
