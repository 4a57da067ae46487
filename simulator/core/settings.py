"""The settings of a run, declared once: flags, environment variables, rehearsal.toml and defaults.

First money, and how values are read; then the settings themselves; then where they are read from.

The same setting can be given in four places; the first that has it wins:

    --retest 0.1                  a flag
    REHEARSAL_RETEST=0.1          an environment variable
    retest = 0.1                  a key of rehearsal.toml
    retest: Share = setting(...)  the field's default

`set` and `prices` are the exceptions: their layers are laid over one another, entry by entry. What people
type is read by a validator of the field, so all four places take the same forms:

    target     90, "90%", 0.9 -> 0.9            "turn >= 90" -> "turn >= 0.9"
    confidence 95, "95%", 0.95 -> 0.95          "off" -> None
    budget     5, "5USD", "$5" -> 5.0           "800円" -> 5.33 (dollars, at JPY_PER_USD)
    judges     "a,b", ["a", "b"] -> ("a", "b")
    set        ["top=3"], {"top": 3} -> {"top": "3"}
    columns    "references=answer" -> {"references": "answer"}

A run stores its settings (`stored_values`), without secrets and without what only says how to show it, and
`stored_settings` reads them back on `--resume`, `report` and `diff`.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args
from unicodedata import normalize

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo

from simulator.core.errors import InputError, UnknownName, did_you_mean, value_problem
from simulator.core.messages import Message, _
from simulator.core.patterns import LazyPattern
from simulator.core.secrets import is_secret, without_secrets
from simulator.core.target import read_confidence, read_share, read_target
from simulator.core.templates import read_toml
from simulator.core.types import CONVERSATION, Language, RedRules, Role

# Where every setting stands, for those who named one that there is not.
SETTINGS_LISTED = _("All names: docs/reference.md.")
PREFIX = "REHEARSAL_"
# The judges of `--judging small`.
SMALL_JUDGES = ("turn", "groundedness", "similarity")
SETTINGS_FILE = "rehearsal.toml"
# The models that are asked where none is named: the smaller one where little depends on one line.
DEFAULT_MODELS: dict[Role, str] = {
    "user": "gpt-4.1-mini",
    "judge": "gpt-4.1",
    "embed": "text-embedding-3-small",
    "demo": "gpt-4.1-mini",
}
# What variables of the environment say of a role's model: REHEARSAL_JUDGE_URL.
OF_ROLES = ("MODEL", "URL", "KEY", "HEADERS", "EXTRA")
# Variables that are no settings, and are read elsewhere.
_OTHER_VARIABLES = ("CONFIG", "GOOGLE_CREDENTIALS", "BOT_KEY", "SHEETS_URL", "BENCH_DATA")

# --- Money ---

# Yen for a dollar: a round figure, not today's rate. Nothing is fetched for it, so that a forecast made
# tomorrow is the same.
JPY_PER_USD = 150.0
# Providers publish their prices by the million tokens.
PER = 1_000_000
# "$5", "5usd", "800円": a sign before or a unit behind, after NFKC and without spaces and commas.
# Commas between thousands only: whoever writes 0,01 or 1,5 means something else.
_AMOUNT = LazyPattern(r"([$¥]?)((?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(usd|jpy|円|ドル)?")
_YEN = ("¥", "jpy", "円")


class TokenPrices(NamedTuple):
    """What a model costs, in dollars per token; `cached` ones came from the endpoint's cache of prompts."""

    input: float
    output: float
    cached: float


class Price(BaseModel):
    """What a model costs: per million tokens, in dollars or yen. 0 is a price, too: it costs nothing.

    `cached_input` is for tokens that the endpoint had in its own cache of prompts; None: as dear as others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    input: float = Field(ge=0)
    output: float = Field(0.0, ge=0)
    cached_input: float | None = Field(None, ge=0)
    currency: Literal["USD", "JPY"] = "USD"

    @model_validator(mode="after")
    def _cached_is_no_dearer(self) -> Self:
        if self.cached_input is not None and self.cached_input > self.input:
            raise ValueError(_("cached_input is higher than input"))
        return self

    @property
    def rates(self) -> TokenPrices:
        """Dollars per token; cached ones cost as much as others unless their price is known."""
        over = PER * (JPY_PER_USD if self.currency == "JPY" else 1.0)
        cached = self.input if self.cached_input is None else self.cached_input
        return TokenPrices(self.input / over, self.output / over, cached / over)


_PRICES: TypeAdapter[dict[str, Price]] = TypeAdapter(dict[str, Price], config=ConfigDict(defer_build=True))


def read_amount(value: Any) -> Any:
    """Dollars from 5, "5USD", "$5", "1,800円" or "¥800"; raises ValueError for what is no amount."""
    if not isinstance(value, str):
        return value
    text = "".join(normalize("NFKC", value).split()).lower()
    # A sign and a unit that contradict each other, as in ¥5usd, are no amount.
    match = _AMOUNT.fullmatch(text)
    if not match or (match[1] and match[3] and (match[1] in _YEN) != (match[3] in _YEN)):
        raise ValueError(_("is not an amount such as 5, 0.5USD, 800JPY or 1,800円"))
    number = float(match[2].replace(",", ""))
    return number / JPY_PER_USD if match[1] in _YEN or match[3] in _YEN else number


# A setting that is an amount of money: in dollars from here on, whichever currency it was written in.
Amount = Annotated[float, Field(gt=0), BeforeValidator(read_amount)]


def merged_prices(name: Message | str, *layers: Mapping[str, Any]) -> dict[str, Price]:
    """The prices of all layers; later layers go first. `name` is what the setting is called for a mistake."""
    merged: dict[str, Price] = {}
    # A later layer replaces single models: a price of rehearsal.toml stays beside one of --prices.
    for given in (layer["prices"] for layer in layers if "prices" in layer):
        table = read_toml(Path(given)) if isinstance(given, str) else given
        if table is not given:  # a file has the table alone, or as [prices]
            table = table.get("prices", table)
        try:
            merged |= _PRICES.validate_python(table)
        except ValidationError as error:
            first = error.errors()[0]
            msg = _(
                "{name} {place}: {problem}; write {example}",
                name=name,
                place=" ".join(map(str, first["loc"])),
                problem=value_problem(first),
                example='[prices."my-model"] input = 0.4, output = 1.6, currency = "USD" (or "JPY"; per'
                " million tokens).",
            )
            raise InputError(msg) from None
    return merged


def dollars(amount: float) -> str:
    """`5.00`, and small amounts with the digits they need: `0.0031`, `<0.0001`."""
    # 0.00 would say that it was free.
    if 0 < amount < 0.0001:
        return "<0.0001"
    return f"{amount:.2f}" if amount == 0 or amount >= 0.1 else f"{amount:.4f}"


def missing_price(role: str, model: str) -> Message:
    """The message about a model whose price is unknown, and how to give it."""
    return _(
        "--budget needs the price of {model} ({role}), which is in no table. Give it in rehearsal.toml or a"
        ' --prices file: [prices."{model}"] input = ..., output = ... (USD per million tokens; 0 if free).',
        model=model,
        role=role,
    )


# --- How values are read ---


def read_patterns(value: Any) -> Any:
    """One regular expression or several; ValueError names an invalid one.

    Unlike names they are not parted at commas: `[0-9]{3,5}` is one expression.
    """
    patterns = _listed(value)
    for pattern in patterns if isinstance(patterns, (list, tuple)) else ():
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            msg = _(
                "{pattern} is not a valid regular expression ({error})", pattern=repr(pattern), error=error
            )
            raise ValueError(msg) from None
    return patterns


def read_columns(value: Any) -> Any:
    """`references=answer,question=Q` as pairs, our column first; ValueError says what is wrong with it."""
    pairs = _parted(value)
    if not isinstance(pairs, list):
        return value
    columns: dict[str, str] = {}
    for item in pairs:
        ours, equals, theirs = (part.strip() for part in item.partition("="))
        if not (ours and equals and theirs):
            msg = _("'{item}' is not OURS=HEADING; write references=answer, our column first", item=item)
            raise ValueError(msg)
        if columns.setdefault(ours, theirs) != theirs:
            raise ValueError(_("names two columns for {field}", field=ours))
    return columns


def read_names(value: Any) -> Any:
    """'a,b' and ['a', 'b'] mean the same; each is a name once."""
    names = _parted(value)
    if value and names == []:
        raise ValueError(_("names nothing"))
    return tuple(dict.fromkeys(names)) if isinstance(names, list) else names


def _read_labels(value: Any) -> Any:
    """Names, as a flag gives them, stand for themselves; a run also knows what stands for each.

    "A, B" -> {"A": ("A",), "B": ("B",)}; a stored run may have {"1": ("1", "fine")}.
    """
    labels = _parted(value)
    return {label: (label,) for label in labels} if isinstance(labels, list) else labels


def _read_judges(value: Any) -> Any:
    if value in ([], ()):
        raise ValueError(_("names nothing"))
    return read_names(value)


def _read_reports(value: Any) -> Any:
    """By our names for those that people use for a report; the page is written anyway."""
    names = read_names(value)
    called = {"excel": "xlsx", "md": "markdown", "sheet": "sheets"}
    is_read = isinstance(names, tuple)
    return tuple(dict.fromkeys(called.get(n, n) for n in names if n != "html")) if is_read else names


def _read_file(value: Any) -> Any:
    """The one file of ["questions.csv"]; ValueError for two, of which the first would go unasked."""
    match value:
        case [file]:
            return file
        case [_, *_]:
            raise ValueError(_ONE_FILE)
    return value


def _read_set(value: Any) -> Any:
    """Flags arrive as ['key=value']; TOML values of any simple type as a table.

    Only the first "=" parts them, since addresses hold more: "url=http://h?a=b" -> {"url": "http://h?a=b"}.
    """
    if isinstance(value, dict):
        return {k: setting_text(v) for k, v in value.items()}
    if not isinstance(value, (str, list, tuple)):
        raise ValueError(_("must be a table of settings"))
    pairs = {}
    for item in _listed(value):
        key, separator, text = str(item).partition("=")
        if not separator or not key.strip():
            raise ValueError(_("'{item}' is not key=value", item=item))
        pairs[key.strip()] = text
    return pairs


def read_word(value: Any) -> Any:
    """One of the program's words as people type it: "JA", "ja " and "ＪＡ" are ja."""
    return half_width(value).strip().lower() if isinstance(value, str) else value


def _read_switch(value: Any) -> Any:
    if not isinstance(value, bool):
        return read_word(value)
    return "on" if value else "off"


def _is_on_this_machine(path: Path) -> Path:
    if re.match(r"\w{2,}:[/\\]", str(path)):  # https://... would become a folder "https:"
        raise ValueError(_("is an address; name a folder or file on this machine"))
    return path


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _parted(value: Any) -> Any:
    """The texts between commas, in one list; what is no text and no list of texts as it is."""
    texts = _listed(value)
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        return value
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


_ONE_FILE = _("takes one file: put the rows into one, or run it once for each file")

# --- The settings ---

Protocol = Literal["dialogue", "single_turn"]


class Group(NamedTuple):
    """Settings under one title of help.

    `protocol` is the only kind of run that has them, None: any. Those that are not `stored` say how to start
    or to show a run, not what the run is: whoever resumes it says them anew.
    """

    title: str
    protocol: Protocol | None = None
    stored: bool = True

    def setting(self, text: str, default: Any = None, **looks: Any) -> Any:
        """A setting of this group; see `setting`."""
        return setting(text, default, **{"group": self, "stored": self.stored, **looks})

    def usual(self, text: str, default: Any = None, **looks: Any) -> Any:
        """A setting that `--help` shows; it shows the others with `--help-all`."""
        return self.setting(text, default, usual=True, **looks)


BOT, JUDGES, GATE, RUNNING = map(Group, ("Bot", "Judges", "Gate", "Running"))
CUSTOMERS, ROWS = Group("Customers", "dialogue"), Group("Rows", "single_turn")
OUTPUT = Group("Output", stored=False)


@dataclass(frozen=True)
class Looks:
    """How help shows a setting, and what becomes of it.

    `shape` is what its value looks like (`FILE`, `SECONDS`), where its type does not say that; `usual` and
    `stored` are as in `Group`. A setting without a group is no option.
    """

    group: Group | None = None
    shape: str = ""
    usual: bool = False
    stored: bool = True

    def __call__(self, schema: dict[str, Any]) -> None:
        """Adds nothing to a JSON schema."""


def setting(text: str, default: Any = None, **looks: Any) -> Any:
    """A setting with what help says of it; `looks` are the fields of `Looks`."""
    return Field(default, description=text, json_schema_extra=Looks(**looks))


def half_width(value: Any) -> Any:
    """A number as people type it: with an input method for Japanese its digits are full-width ones."""
    return normalize("NFKC", value) if isinstance(value, str) else value


HalfWidth, Word = BeforeValidator(half_width), BeforeValidator(read_word)
LocalPath = Annotated[Path, AfterValidator(_is_on_this_machine)]
Positive = Annotated[int, Field(ge=1), HalfWidth]
Names = Annotated[tuple[str, ...], BeforeValidator(read_names)]
Count = Annotated[int, Field(ge=1, le=10_000), HalfWidth]
Share = Annotated[float, Field(ge=0, le=1), HalfWidth]
Seconds = Annotated[float, Field(gt=0, le=3600), HalfWidth]
_SETTINGS = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Settings(BaseModel):
    """One frozen object; every field is a flag, a REHEARSAL_ variable and a key of rehearsal.toml.

    The text of a field is what --help and docs/reference.md say of it, and both have the fields in this
    order. They are validated in it, too: `patience` needs `timeout`.
    """

    model_config = _SETTINGS

    adapter: str = BOT.usual(
        "The bot: a name that `list` shows, or your own function: bot.py:answer. "
        "Needed with your questions, unless they have answers.",
        "demo",
    )
    set: Annotated[dict[str, str], BeforeValidator(_read_set)] = BOT.usual(
        "A setting of the adapter; repeatable.", {}, shape="KEY=VALUE"
    )
    cases: Annotated[str | None, BeforeValidator(_read_file)] = BOT.usual(
        "Your questions: CSV, JSONL, Excel (also .gz), or sheet:KEY. Default: the bundled ones.", shape="FILE"
    )
    language: Annotated[Literal["ja", "en", "all"] | None, Word] = BOT.usual(
        "Language of messages and questions. Default: your terminal's; all in your question file."
    )
    limit: Positive | None = BOT.usual("Only the first N questions.")
    columns: Annotated[dict[str, str], BeforeValidator(read_columns)] = BOT.setting(
        "Which column of your file holds which field: references=answer; repeatable.",
        {},
        shape="OURS=HEADING,...",
    )
    repeats: Annotated[int, Field(ge=1, le=100), HalfWidth] = BOT.setting(
        "How often each customer asks each question.", 1
    )
    seed: Annotated[int, HalfWidth] = BOT.setting("Seed of every random choice.", 42)
    redact: Annotated[Literal["on", "off", "auto"], BeforeValidator(_read_switch)] = BOT.setting(
        "Mask personal data before anything is stored or sent to a model; auto: with recorded answers only.",
        "off",
    )
    redact_patterns: Annotated[tuple[str, ...], BeforeValidator(read_patterns)] = BOT.setting(
        "What else to mask: a regular expression, of which its group or all is masked; repeatable.",
        (),
        shape="REGEX",
    )

    persona: Names = CUSTOMERS.usual(
        "Who plays the customer: a name, your own file.toml, a mix of them, or all; repeatable. "
        "Default: for each question one of angry, calm and beginner, by lot.",
        (),
    )
    turns: Annotated[int, Field(ge=1, le=50), HalfWidth] = CUSTOMERS.usual(
        "Maximum number of questions a customer asks in one conversation.", 3
    )
    # A name that is there twice is a mistake, and is kept.
    user_model: Annotated[tuple[str, ...], BeforeValidator(_parted)] = CUSTOMERS.usual(
        "Model that plays the customer; repeatable: each plays every question, and the score says"
        " how far they differ.",
        (),
        shape="MODEL",
    )
    replay: str | None = CUSTOMERS.usual(
        "Repeat the customers' messages of an earlier run, as many in each conversation, to this bot.",
        shape="RUN",
    )
    voice_opening: bool = CUSTOMERS.setting("Word the first question, too, as this customer would.", False)
    script: str | None = CUSTOMERS.setting(
        "What customers say before they go on alone (a file).", shape="FILE"
    )

    judges: Annotated[tuple[str, ...], BeforeValidator(_read_judges)] = JUDGES.usual(
        "Who grades: names that `list` shows or your own files, separated by commas.",
        ("turn", "relevance", "groundedness", "similarity", "fluency", "cosine", CONVERSATION),
        shape="NAME,...",
    )
    judge_model: str | None = JUDGES.usual("Model that grades.", shape="MODEL")
    judging: Annotated[Literal["combined", "separate", "small"], Word] = JUDGES.setting(
        "All grades of an answer from one model call (combined), one call for each "
        "(separate), or for small models three judges in fewer words (small).",
        "combined",
    )
    knowledge: str | None = JUDGES.usual(
        "The bot's own articles, to tell missing from not found.", shape="PATH"
    )
    embed_model: str | None = JUDGES.setting("Embeddings for the cosine judge.", shape="MODEL")
    demo_model: str | None = JUDGES.setting(
        "Model behind the demo bot; `lexical` is its simple version (no AI).", shape="MODEL"
    )
    causes: Annotated[Literal["model", "ids"], Word] = JUDGES.setting(
        "How to find why an answer needs review, and which of these answers share one fault: "
        "ask the judge's model (model), or only compare ids, marks and texts (ids).",
        "model",
    )
    retest: Share = JUDGES.setting(
        "Share of answers graded twice, to see how often a grade changes.", 0.0, shape="SHARE"
    )
    guidelines: str | None = JUDGES.setting(
        "Your desk's rules of conduct for judges (text, TOML).", shape="FILE"
    )
    contacts: str | None = JUDGES.setting(
        "Your desk's phone numbers, address, hours (judge facts).", shape="FILE"
    )
    rules: str | None = JUDGES.setting(
        "What your desk must not say: id, text, severity (for risk).", shape="FILE"
    )
    # Made without checks, for which a page of help would wait.
    red: RedRules = setting(
        "Which answers need review (table [red] of rehearsal.toml).", RedRules.model_construct()
    )

    target: Annotated[float | str | None, BeforeValidator(read_target)] = GATE.usual(
        "The gate: exit code 1 below this score (0.9, or 90), or unless conditions such as "
        "'turn >= 0.9 and red <= 0.1' hold.",
        shape="SCORE",
    )
    max_major: Annotated[Share | None, BeforeValidator(read_share)] = GATE.usual(
        "Maximum share of questions with a serious error that a target allows. Default: 0.2, "
        "with --confidence 0.",
        shape="SHARE",
    )
    confidence: Annotated[float | None, BeforeValidator(read_confidence)] = GATE.usual(
        "Pass only when the score reaches the target with this confidence: 0.95 is typical, off is none.",
        shape="SHARE",
    )

    offline: bool = RUNNING.usual("No model at all: simple versions (no AI) play every role.", False)
    dry_run: bool = RUNNING.usual("Show what a run will take and cost; start nothing.", False, stored=False)
    budget: Amount | None = RUNNING.setting(
        "Spend at most this, your bot's own models aside: 5 (dollars), 5USD, 800JPY, 800円.", shape="AMOUNT"
    )
    resume: str | None = RUNNING.usual(
        "Finish a run that was interrupted or lost something: id, latest, or path.", shape="RUN", stored=False
    )
    concurrency: Count = RUNNING.setting("Conversations held at the same time.", 32)
    calls: Count = RUNNING.setting("Model calls in flight at each endpoint.", 64)
    timeout: Seconds = RUNNING.setting(
        "Seconds to wait for an answer from the bot or a model.", 60.0, shape="SECONDS"
    )
    patience: Seconds = Field(
        default_factory=lambda given: max(120.0, given["timeout"]),
        description="Maximum for one call, including retries and waits. "
        "Default: 120, or --timeout if longer.",
        json_schema_extra=Looks(RUNNING, "SECONDS"),
    )
    cache: Annotated[Literal["on", "off"], Word] = RUNNING.setting(
        "Whether models' answers to identical requests are kept and used again.", "on"
    )
    prices: dict[str, Price] = RUNNING.setting(
        'Your own model prices (TOML file, or [prices."model"] of rehearsal.toml).', {}, shape="FILE"
    )

    # Of `evaluate` alone; `protocol` is no option, for the command decides it.
    protocol: Protocol = setting("Whether customers talk, or each row is asked once.", "dialogue")
    prompt: str | None = ROWS.usual("Prompt for each row: a name, NAME:VARIANT, or a file.toml.")
    labels: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_read_labels)] = ROWS.usual(
        "All labels (default: of the prompt or data).", {}, shape="NAME,..."
    )
    sample: Positive | None = ROWS.usual("Only N random rows.")

    runs: LocalPath = OUTPUT.usual("Folder of the runs.", Path("runs"), shape="FOLDER")
    to: Annotated[tuple[str, ...], BeforeValidator(_read_reports)] = OUTPUT.usual(
        "Reports in addition to report.html: sheets, xlsx, json, csv, junit, markdown, otlp, "
        "https://..., your.py:function.",
        (),
        shape="NAME,...",
    )
    sheet: str | None = OUTPUT.usual(
        "The Google Sheet to write to and read back: key or address.", shape="KEY"
    )
    worksheet: str | None = OUTPUT.setting("Suffix of worksheet names, to share one spreadsheet.")
    tests: LocalPath = OUTPUT.setting(
        "Where `open` and `review` write what the team made tests: a question file (.jsonl).",
        Path("tests.jsonl"),
    )
    json_output: bool = OUTPUT.usual("Print exactly one JSON object on stdout.", False)
    verbose: bool = OUTPUT.usual("Print every figure, not only what to read first.", False)
    # What plug-ins add (`AddedSettings`), by its name: no option itself.
    added: dict[str, JsonValue] = {}  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _masks_what_is_named(cls, values: Any) -> Any:
        """Who says what else to mask wants it masked."""
        # A pattern that masks nothing because --redact is off would be a leak that nobody sees.
        if isinstance(values, dict) and values.get("redact_patterns"):
            return {"redact": "on", **values}
        return values

    @model_validator(mode="before")
    @classmethod
    def _for_small_models(cls, values: Any) -> Any:
        """`--judging small` names its judges, unless judges are named or chosen otherwise."""
        if not isinstance(values, dict) or values.get("judging") != "small":
            return values
        return values if values.get("judges") else {**values, "judges": SMALL_JUDGES}

    @property
    def redacts(self) -> bool:
        """Whether personal data is masked: `auto` masks logs, in which real customers speak."""
        return self.redact == "on" or (self.redact == "auto" and self.adapter == "recorded")

    @property
    def case_language(self) -> Language | None:
        """The language of all cases; None where each has its own."""
        return self.language if self.language in ("ja", "en") else None

    @property
    def view(self) -> Literal["brief", "terminal"]:
        """How much a terminal is shown of a result."""
        return "terminal" if self.verbose else "brief"

    def stored_values(self) -> dict[str, Any]:
        """The values that are stored with a run, without secrets, and what `--resume` continues with.

        As JSON: tuples are lists, paths are texts, and secrets among `set` are `***`.
        """
        unstored = _unstored()
        stored = self.model_dump(mode="json", exclude={*unstored, "added"})
        added = {name: value for name, value in self.added.items() if name not in unstored}
        return stored | added | {"set": without_secrets(self.set)}

    def unstored_values(self) -> dict[str, Any]:
        """What no run stores, and whoever resumes one says anew."""
        return {name: self.value(name) for name in _unstored()}

    def value(self, name: str) -> Any:
        """The value of a setting by its name, also of one that a plug-in has added."""
        if name in Settings.model_fields:
            return getattr(self, name)
        return self.added[name] if name in self.added else setting_fields()[name].get_default()


class AddedSettings(BaseModel):
    """Settings that a plug-in brings: options, variables and keys of rehearsal.toml like all others.

    `group` is the title under which help shows them. `of` reads them from the settings of a run.
    """

    model_config = _SETTINGS

    group: ClassVar[Group]

    @classmethod
    def implied(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """What these settings decide of the others of a run, as people write them: {"judges": "turn"}.

        `values` are all that were given, as they were.
        """
        return {}

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of a run; defaults where nothing was given."""
        return cls.model_validate(
            {name: value for name, value in settings.added.items() if name in cls.model_fields}
        )


# The settings of plug-ins, each as a model; and what is said of one whose plug-in is not there.
AddedModels = Callable[[], Sequence[type[AddedSettings]]]
Missing = Callable[[str, Message | str], InputError | None]
_OFFERED: list[tuple[AddedModels, Missing]] = []


def offer_settings(models: AddedModels, missing: Missing) -> None:
    """Makes the settings of plug-ins known; said by whoever starts the program."""
    _OFFERED[:] = [(models, missing)]


def _missing(name: str, shown: Message | str) -> InputError | None:
    return next(filter(None, (missing(name, shown) for _models, missing in _OFFERED)), None)


def added_settings() -> Sequence[type[AddedSettings]]:
    """The settings of plug-ins, each as a model."""
    return [model for models, _missing in _OFFERED for model in models()]


def setting_fields() -> Mapping[str, FieldInfo]:
    """Every setting by its name, those of plug-ins included."""
    return _fields_with(tuple(added_settings()))


@cache
def _fields_with(added: tuple[type[AddedSettings], ...]) -> Mapping[str, FieldInfo]:
    fields = {name: field for name, field in Settings.model_fields.items() if name != "added"}
    return fields | {name: field for model in added for name, field in model.model_fields.items()}


def looks() -> dict[str, Looks]:
    """How help shows every setting, by its name; in the order of the groups."""
    every = {name: _looks_of(field) for name, field in Settings.model_fields.items() if name != "added"}
    for model in added_settings():
        every |= {n: replace(_looks_of(field), group=model.group) for n, field in model.model_fields.items()}
    return every


def _looks_of(field: FieldInfo) -> Looks:
    assert isinstance(field.json_schema_extra, Looks)  # noqa: S101 - `setting` made it
    return field.json_schema_extra


def _unstored() -> frozenset[str]:
    return frozenset(name for name, look in looks().items() if not look.stored)


def groups() -> dict[str, tuple[str, ...]]:
    """All settings that are options, by the titles under which help shows them."""
    titles: dict[str, tuple[str, ...]] = {}
    for name, look in looks().items():
        if look.group:
            titles[look.group.title] = (*titles.get(look.group.title, ()), name)
    return titles


def own_settings(protocol: Protocol) -> frozenset[str]:
    """The settings that only runs of this protocol have."""
    every = looks().items()
    return frozenset(name for name, look in every if look.group and look.group.protocol == protocol)


def foreign_settings(protocol: Protocol) -> frozenset[str]:
    """The settings that only runs of another protocol have."""
    return frozenset().union(*(own_settings(other) for other in get_args(Protocol) if other != protocol))


def is_set(settings: Settings, name: str) -> bool:
    """Whether a setting is not at its default."""
    field = setting_fields().get(name)
    return field is not None and bool(settings.value(name) != field.get_default())


def setting_text(value: Any) -> str:
    """A TOML value as `--set` would give it; lists and tables as JSON."""
    if isinstance(value, (bool, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def flag(name: str) -> str:
    """The flag of a field: `max_major` is `--max-major`, `json_output` is `--json`."""
    named = {"json_output": "--json", "redact_patterns": "--redact-pattern"}
    return named.get(name, "--" + name.replace("_", "-"))


def resolve_path(file: Path, name: str) -> str:
    """The path that a file names: beside that file where it exists, else from the working directory.

    "angry.toml" in my/mix.toml is my/angry.toml if there is such a file. A name that is neither stays as it
    is, so that the message about it shows what was written.
    """
    beside = file.parent / name
    return str(beside) if name and beside.exists() else name


def load_settings(
    flags: Mapping[str, Any],
    folder: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    called: Callable[[str], str] = flag,
) -> Settings:
    """Flags over environment over `rehearsal.toml` in `folder`, or the file of --config, over defaults.

    A flag that is None, False or empty was not given; 0 was. Raises InputError, in one line that calls the
    value as it was given: `--retest 2: must be at most 1.` or `retest in rehearsal.toml: 2: ...`. `called` is
    what a flag is called: a program in Python has keywords instead.
    """
    given = {name: flags[name] for name in given_flags(flags)}
    named = environ.get(PREFIX + "CONFIG") if folder is None else None
    path = Path(named) if named else (folder or Path()) / SETTINGS_FILE
    from_file = read_toml(path) if named or path.exists() else {}
    # A list is read from commas; a table has no form in a variable.
    _check_variables(environ)
    variables = {
        name: text
        for name in setting_fields()
        if name != "red" and (text := environ.get(PREFIX + name.upper()))
    }
    from_environment = variables | ({"set": variables["set"].split(",")} if "set" in variables else {})
    # Everything is merged before it is validated, or a wrong value of a lower layer would be reported
    # although a higher one replaces it. What a key is called where it was given, for whatever is wrong with
    # its value; the nearest layer last.
    shown: dict[str, Message | str] = {
        key: _("{key} in {file}:", key=key, file=path.name) for key in from_file
    }
    shown |= {key: f"{PREFIX}{key.upper()}" for key in from_environment}
    shown |= {key: called(key) for key in given}
    merged = {**from_file, **from_environment, **given}
    merged["set"] = _adapter_settings(from_file, from_environment, given)
    merged["prices"] = merged_prices(shown.get("prices", ""), from_file, from_environment, given)
    return _validated(merged, shown, _("(in {file})", file=path.name))


def _check_variables(environ: Mapping[str, str]) -> None:
    """Raises UnknownName for a REHEARSAL_ variable that nothing reads: it is misspelt.

    One that is called like a secret may be the user's, whose settings name it (`${REHEARSAL_SHOP_KEY}`); it
    is refused where it is nearly the name of another.
    """
    of_roles = (f"{role}_{name}" for role in get_args(Role) for name in OF_ROLES)
    known = {name.upper() for name in (*setting_fields(), *of_roles, *_OTHER_VARIABLES)}
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX)
        if variable == name or name in known:
            continue
        if error := _missing(name.lower(), variable):
            raise error
        if not is_secret(name) or did_you_mean(name, known, 0.8):
            names = [PREFIX + name for name in known]
            raise UnknownName(_("variable"), variable, names, listed=SETTINGS_LISTED)


def _adapter_settings(*layers: Mapping[str, Any]) -> Any:
    """Each layer's `set` on top of the one below, which is dropped where another adapter is named.

    The url of the team's `http` bot in rehearsal.toml must not reach the `--adapter openai_chat` of a try.
    """
    merged: dict[str, Any] = {}
    adapter = None
    for layer in layers:
        # A layer that names the same adapter again keeps what is below it.
        if layer.get("adapter", adapter) != adapter:
            merged, adapter = {}, layer["adapter"]
        try:
            merged |= Settings.model_validate({"set": layer.get("set", {})}).set
        except ValidationError:
            return layer["set"]  # reported with the name of its flag, like every other mistake
    return merged


def stored_settings(stored: Mapping[str, Any], **changes: Any) -> Settings:
    """The settings a run was started with; keys that this version does not know are refused by name."""
    values = {**stored, **changes}
    return _validated(
        values, {key: _("{key} of the run:", key=key) for key in values}, _("(stored with the run)")
    )


def settings_of_run(
    stored: Mapping[str, Any], flags: Mapping[str, Any], today: Settings, always: Iterable[str] = ()
) -> Settings:
    """The settings of a stored run, with the flags of today's command line; `always` are today's anyway.

    So `report RUN` reports as the run was made, and `report RUN --target 90` with that one difference. Values
    of rehearsal.toml and the environment count for `always` alone: they may be meant for another bot by now.
    """
    names = (*given_flags(flags), *always)
    return stored_settings({**stored, **{name: today.value(name) for name in names}})


def given_flags(flags: Mapping[str, Any]) -> list[str]:
    """The options that stand on the command line, by name: None, False and empty were not typed, 0 was."""
    return [
        name
        for name, value in flags.items()
        if value is not None and value is not False and value not in ((), [])
    ]


def _validated(values: dict[str, Any], shown: Mapping[str, Message | str], where: Message | str) -> Settings:
    """`shown` is what a key is called where it was given."""
    fields = setting_fields()
    for key in values:
        if key not in fields:
            raise _missing(key, flag(key)) or UnknownName(_("setting"), key, fields, where, SETTINGS_LISTED)
    try:
        for model in added_settings():
            values = {**values, **model.implied(values)}
        of_core = {key: value for key, value in values.items() if key in Settings.model_fields}
        added: dict[str, Any] = {}
        for model in added_settings():
            given = {key: values[key] for key in model.model_fields if key in values}
            added |= model.model_validate(given).model_dump(mode="json", exclude_unset=True) if given else {}
        return Settings.model_validate({**of_core, "added": added})
    except ValidationError as error:
        first = error.errors()[0]
        # Of several mistakes one is told: whoever mends it meets the next.
        name, *within = [str(part) for part in first["loc"] if part != "[key]"]
        if name == "red" and first["type"] == "extra_forbidden":
            raise UnknownName(_("key of [red]"), within[-1], RedRules.model_fields, where) from None
        at = "".join(f" {part}" for part in within if not part.isdigit())
        msg = _(
            "{key}{at} {value}: {problem}.",
            key=shown.get(name, name),
            at=at,
            value=shortened(first["input"] if within else values[name]),
            problem=value_problem(first),
        )
        raise InputError(msg) from None


def shortened(value: Any) -> str:
    """A wrong value as a message shows it."""
    # Of a table of prices or a long list only the beginning is of help.
    parts = value if isinstance(value, (list, tuple)) else [value]
    text = " ".join(" ".join(map(str, parts)).split())
    return text if len(text) <= 60 else text[:57] + "..."
