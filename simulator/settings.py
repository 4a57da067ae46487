"""Everything a run can be told, declared once: flags, environment, rehearsal.toml, defaults."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationError, field_validator

from simulator.conditions import read_confidence, read_target
from simulator.errors import InputError, UnknownName
from simulator.given import PREFIX, environment_values, file_values, plain, short
from simulator.hidden import without_secrets
from simulator.money import JPY_PER_USD, Amount, Price, merged_prices
from simulator.notation import read_arrival, read_columns, read_patterns, read_shard
from simulator.row_settings import RowSettings
from simulator.types import Language, RedRules

FILE = "rehearsal.toml"
# These say how to start or to show a run, not what the run is; they are not stored in it.
NOT_OF_THE_RUN = frozenset({
    "resume", "dry_run", "ask_bot", "to", "json_output", "runs", "sheet", "worksheet", "new_sheet", "folder",
    "csv_encoding", "engine", "scheduler", "workers",
})  # fmt: skip
CheckFormat = Literal["text", "json"]
CHECK_FORMATS: tuple[CheckFormat, ...] = get_args(CheckFormat)

Names = tuple[str, ...]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
Temperature = Annotated[float, Field(ge=0, le=2)]


class Settings(RowSettings):
    """One frozen object; every field is a flag, a REHEARSAL_ variable and a key of rehearsal.toml."""

    persona: Names = Field(
        (),
        description="Who plays the customer: a name, your own file.toml, or all; repeatable. "
        "Default: for each question one of angry, calm and beginner, by lot.",
    )
    cases: str | None = Field(
        None,
        description="Your questions: CSV, JSONL, YAML, Excel (also .gz), or sheet:KEY. "
        "Default: the bundled ones.",
    )
    columns: Annotated[dict[str, str], BeforeValidator(read_columns)] = Field(
        {}, description="Which column of your file is which of ours: references=answer; repeatable."
    )
    limit: Positive | None = Field(None, description="Only the first N questions.")
    adapter: str = Field(
        "demo",
        description="The bot: a name that `list` shows, or your own function: bot.py:answer. "
        "Your own questions need one.",
    )
    set: dict[str, str] = Field({}, description="A setting of the adapter; repeatable.")
    turns: Annotated[int, Field(ge=1, le=50)] = Field(
        3, description="Most questions a customer asks in one conversation."
    )
    repeats: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="How often each customer asks each question."
    )
    judges: Names = Field(
        ("turn", "relevance", "groundedness", "similarity", "fluency", "cosine"),
        description="Who grades: names that `list` shows or your own files, separated by commas.",
    )
    judging: Literal["combined", "separate"] = Field(
        "combined", description="All grades of a turn from one model call, or one call for each."
    )
    votes: Annotated[int, Field(ge=1, le=9)] = Field(
        1, description="How often a model grades each turn; the median counts, disagreement is shown."
    )
    panel: Names = Field(
        (), description="Further models that grade beside the judge's, to see how far they agree."
    )
    contacts: str | None = Field(
        None,
        description="Your desk's phone numbers, addresses and hours, one a line (judge facts).",
    )
    ng_words: str | None = Field(
        None, description="Words your desk must not say, one a line: bad => better (judge keigo)."
    )
    tokenizer: str = Field(
        "cjk-char", description="Words of ROUGE-L, METEOR and F1: cjk-char, mecab (extra ja), blank ..."
    )
    guidelines: str | None = Field(
        None, description="Your desk's rules of behaviour (text or TOML) for the judges."
    )
    check: Names = Field(
        (),
        description="Before the run, whether a judge still grades as when it was calibrated: its "
        "calibration or label file. `json`: check columns of a sheet as the judge's own JSON.",
    )
    offline: bool = Field(False, description="No model at all: lexical stand-ins play every role.")
    language: Literal["ja", "en", "all"] | None = Field(
        None, description="Only questions in this language. Default: ja if bundled, else all."
    )
    concurrency: Annotated[int, Field(ge=1, le=10_000)] = Field(
        32, description="Conversations held at the same time."
    )
    calls: Annotated[int, Field(ge=1, le=10_000)] = Field(
        64, description="Model calls in flight at each endpoint."
    )
    rpm: Positive | None = Field(
        None,
        description="Requests that each endpoint allows within a minute, where it does not say so itself.",
    )
    tpm: Positive | None = Field(None, description="Tokens that each endpoint allows within a minute.")
    customers: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        None, description="Load rehearsal: so many customers at the same time, and no grading meanwhile."
    )
    arrival: str | None = Field(
        None, description="How the customers come: 2/s at random, or all within 'ramp 60s'. Default: at once."
    )
    think: Annotated[float, Field(ge=0, le=3600)] | None = Field(
        None, description="Seconds in which a customer reads and types before the next line (median)."
    )
    engine: Literal["local", "dask"] = Field(
        "local", description="Where conversations are held: in this process, or on workers (extra cluster)."
    )
    scheduler: str | None = Field(
        None, description="Dask scheduler of the workers: tcp://host:8786, or tls://host:8786."
    )
    workers: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        None, description="Start so many workers here; with --scheduler, wait for so many."
    )
    shard: str | None = Field(
        None, description="Only this part of the questions (2/5), to be put together with `merge`."
    )
    timeout: Seconds = Field(60.0, description="How long to wait for an answer of bot or model.")
    patience: Seconds = Field(
        default_factory=lambda given: max(120.0, given["timeout"]),
        description="Longest for one call, retries and waits included. Default: 120, or --timeout if longer.",
    )
    cache: Literal["on", "off", "read", "refresh"] = Field(
        "on",
        description="Models' answers to identical requests: reuse and keep them (on), neither (off), "
        "only reuse (read), ask anew and keep (refresh).",
    )
    user_model: str | None = Field(None, description="Model that plays the customer.")
    judge_model: str | None = Field(None, description="Model that grades.")
    embed_model: str | None = Field(None, description="Embeddings for the cosine judge.")
    demo_model: str | None = Field(
        None, description="Model behind the demo bot. `lexical` as a model's name is its offline stand-in."
    )
    user_temperature: Temperature = Field(0.7, description="Temperature of the customer's model.")
    judge_temperature: Temperature = Field(0.2, description="Temperature of the grading model.")
    voice_opening: bool = Field(
        False, description="The first question, too, in the customer's own words; needs a model."
    )
    typos: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="Share of the customer's lines that are mistyped as people do: 0.15 is usual."
    )
    script: str | None = Field(
        None,
        description="What customers say next, before they go on alone (.txt, .jsonl or .toml).",
    )
    replay: str | None = Field(None, description="A run whose customers say the same again, to this bot.")
    seed: int = Field(42, description="Seed of every random choice.")
    target: Annotated[float | str | None, BeforeValidator(read_target)] = Field(
        None,
        description="The gate: exit code 1 below this score (0.9, or 90), or unless conditions such as "
        "'turn >= 0.9 and red <= 0.1' hold.",
    )
    max_major: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        description="Most questions, as a share, with a major turn that a target allows. "
        "Default: 0.2, with --confidence 0.",
    )
    confidence: Annotated[Annotated[float, Field(gt=0.5, lt=1)] | None, BeforeValidator(read_confidence)] = (
        Field(
            None,
            description="Pass only when the score reaches the target with this certainty: 0.95 is usual, "
            "off is none.",
        )
    )
    sequential: bool = Field(
        False,
        description="Stop as soon as it is certain whether the target is reached (--confidence: 0.95).",
    )
    customer_faults: Literal["keep", "exclude", "replay"] = Field(
        "keep",
        description="Turns that the simulated customer spoilt: counted like any other (keep), "
        "left out (exclude), or their conversations held once more (replay).",
    )
    knowledge: str | None = Field(
        None,
        description="The bot's own articles (file or folder): tells missing ones from those not found.",
    )
    max_failed: Annotated[float, Field(ge=0, le=1)] = Field(
        0.05, description="Most grades or customer turns that may fail."
    )
    jpy_per_usd: Annotated[float, Field(gt=0)] = Field(
        JPY_PER_USD, description="Yen for a dollar where amounts are in yen: an approximation."
    )
    prices: dict[str, Price] = Field(
        {}, description='Your own prices of models (TOML file, or [prices."model"] of rehearsal.toml).'
    )
    budget: Amount | None = Field(
        None, description="Spend at most this, your bot's own models aside: 5 (dollars), 5USD, 800JPY, 800円."
    )
    redact: Literal["on", "off", "auto"] = Field(
        "auto",
        description="Mask personal data before anything is stored or sent to a model; auto: with recorded "
        "answers only.",
    )
    redact_patterns: Annotated[tuple[str, ...], BeforeValidator(read_patterns)] = Field(
        (), description="What else to mask, as a regular expression: a group or all of it; repeatable."
    )
    red: RedRules = Field(RedRules(), description="Which turns are red (table [red] of rehearsal.toml).")
    greeting: dict[Language, str] | None = Field(
        None, description="The desk's first line per language (table [greeting])."
    )
    to: Names = Field(
        (),
        description="Reports beside report.html: sheets, xlsx, json, csv, junit, markdown, your.py:function.",
    )
    sheet: str | None = Field(
        None, description="The Google Sheet to write to and to read back: its key or address."
    )
    worksheet: str | None = Field(None, description="Name after the worksheets' own, to share one sheet.")
    new_sheet: str | None = Field(None, description="Make a Google Sheet of this title.")
    folder: str | None = Field(None, description="Folder of a shared drive for --new-sheet.")
    csv_encoding: Literal["utf-8", "cp932"] = Field(
        "utf-8", description="Of --to csv; cp932 shows 〓 for what it lacks."
    )
    runs: str = Field("runs", description="Folder of the runs.")
    resume: str | None = Field(
        None, description="Finish an interrupted run: id, start of an id, latest, or path."
    )
    dry_run: bool = Field(
        False, description="Show calls, tokens and dollars, at most and expected; start nothing."
    )
    ask_bot: bool = Field(False, description="With --dry-run: first ask the bot alone three questions.")
    json_output: bool = Field(False, description="Print exactly one JSON object on stdout.")

    @field_validator("persona", "judges", "to", "panel", "check", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """'a,b' and ['a', 'b'] mean the same."""
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, (list, tuple)) or not all(isinstance(v, str) for v in given):
            return value
        names = tuple(dict.fromkeys(p.strip() for v in given for p in v.split(",") if p.strip()))
        if given and not names:
            msg = "names nothing"
            raise ValueError(msg)
        return names

    @field_validator("set", mode="before")
    @classmethod
    def _pairs(cls, value: Any) -> Any:
        """Flags arrive as ['key=value']; TOML values of any simple type as a table."""
        if isinstance(value, str):
            value = [value]
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        if not isinstance(value, (list, tuple)):
            msg = "must be a table of settings"
            raise ValueError(msg)
        pairs = {}
        for item in value:
            key, separator, text = str(item).partition("=")
            if not separator or not key.strip():
                msg = f"'{item}' is not key=value"
                raise ValueError(msg)
            pairs[key.strip()] = text
        return pairs

    @field_validator("arrival")
    @classmethod
    def _arriving(cls, value: str | None) -> str | None:
        return value and read_arrival(value).text

    @field_validator("shard")
    @classmethod
    def _part(cls, value: str | None) -> str | None:
        return value and read_shard(value).text

    @field_validator("judges")
    @classmethod
    def _some(cls, value: Names) -> Names:
        if not value:
            msg = "name at least one judge"
            raise ValueError(msg)
        return value

    @field_validator("red")
    @classmethod
    def _on_their_scales(cls, value: RedRules) -> RedRules:
        if not 0 <= (value.overall or 0) <= 1:
            msg = "overall is a share from 0 to 1"
            raise ValueError(msg)
        if not all(0 <= (grade or 0) <= 5 for grade in (value.groundedness, value.correctness)):
            msg = "groundedness and correctness are grades from 1 to 5"
            raise ValueError(msg)
        return value

    @field_validator("redact", mode="before")
    @classmethod
    def _switch(cls, value: Any) -> Any:
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value

    @property
    def redacts(self) -> bool:
        """Whether personal data is masked."""
        return self.redact == "on" or (self.redact == "auto" and self.adapter == "recorded")

    @property
    def certainty(self) -> float | None:
        """How sure the gate has to be; None where the figures themselves decide."""
        return self.confidence or (0.95 if self.sequential else None)

    @property
    def frozen(self) -> str | None:
        """The calibration or label file of `--check`."""
        return next((given for given in self.check if given not in CHECK_FORMATS), None)

    @property
    def check_format(self) -> CheckFormat:
        """How a sheet's check columns are written."""
        return "json" if "json" in self.check else "text"

    def of_the_run(self) -> dict[str, Any]:
        """What is stored with a run, without secrets, and what `--resume` continues with."""
        stored = self.model_dump(mode="json", exclude=set(NOT_OF_THE_RUN))
        return stored | {"set": without_secrets(self.set)}


def flag(name: str) -> str:
    """The flag of a field: `max_failed` is `--max-failed`, `json_output` is `--json`."""
    named = {"json_output": "--json", "redact_patterns": "--redact-pattern"}
    return named.get(name, "--" + name.replace("_", "-"))


def load(
    flags: Mapping[str, Any], folder: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Flags over environment over `rehearsal.toml` in `folder` over defaults.

    A flag that is None, False or empty was not given; 0 was.
    """
    given = {
        key: value
        for key, value in flags.items()
        if value is not None and value is not False and value not in ((), [])
    }
    from_file, from_environment = (
        file_values((folder or Path()) / FILE),
        environment_values(environ, Settings.model_fields),
    )
    shown = {key: f"{key} in {FILE}:" for key in from_file}
    shown |= {key: f"{PREFIX}{key.upper()}" for key in from_environment}
    shown |= {key: flag(key) for key in given}
    merged = {**from_file, **from_environment, **given}
    merged["set"] = _adapter_settings(from_file, from_environment, given)
    merged["prices"] = merged_prices(shown.get("prices", ""), from_file, from_environment, given)
    return _validated(merged, shown, f"(in {FILE})")


def _adapter_settings(*layers: Mapping[str, Any]) -> Any:
    """Each layer's `set` on top of the one below, which is dropped where another adapter is named."""
    merged: dict[str, Any] = {}
    adapter = None
    for layer in layers:
        if layer.get("adapter", adapter) != adapter:
            merged, adapter = {}, layer["adapter"]
        try:
            merged |= Settings.model_validate({"set": layer.get("set", {})}).set
        except ValidationError:
            return layer["set"]  # told with the name of its flag, like every other mistake
    return merged


def from_run(stored: Mapping[str, Any], **changes: Any) -> Settings:
    """The settings a run was started with; keys of a newer version are refused by name."""
    values = {**stored, **changes}
    return _validated(values, {key: f"{key} of the run:" for key in values}, "(stored with the run)")


def _validated(values: dict[str, Any], shown: Mapping[str, str], where: str) -> Settings:
    """`shown` is what a key is called where it was given."""
    unknown = [key for key in values if key not in Settings.model_fields]
    if unknown:
        raise UnknownName("setting", unknown[0], Settings.model_fields, where)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name, *within = [str(part) for part in first["loc"] if part != "[key]"]
        if name == "red" and first["type"] == "extra_forbidden":
            raise UnknownName("key of [red]", within[-1], RedRules.model_fields, where) from None
        at = "".join(f" {part}" for part in within if not part.isdigit())
        message = first["msg"].removeprefix("Value error, ")
        msg = f"{shown.get(name, name)}{at} {short(first['input'])}: {message}."
        raise InputError(msg) from None
