"""The settings of a run, declared once: flags, environment variables, rehearsal.toml and defaults.

First the values that a setting can have beyond plain ones (targets, money, parts of the data, arrivals), then
the settings themselves, then where they are read from.

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
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self
from typing import Protocol as TypingProtocol

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

from simulator.core.errors import InputError, UnknownName, value_problem
from simulator.core.messages import Message, _
from simulator.core.secrets import without_secrets
from simulator.core.templates import read_toml
from simulator.core.types import ATTACKS_HELD, CONVERSATION, EXPECTATIONS, Language, RedRules, Value

# Where every setting stands, for those who named one that there is not.
SETTINGS_LISTED = _("All names: docs/reference.md.")
_ONE_FILE = _("takes one file: put the rows into one, or run it once for each file")
Comparison = Literal[">=", "<=", "=="]

# The one condition that is no comparison: people's labels certify the judge that decides.
CERTIFIED = "certified"
# The share of the bot's articles that questions of a run name.
COVERAGE = "coverage"
# The seconds within which 95 % of the answers came.
SECONDS = "p95_seconds"
# What a target may name beside every judge of the run (the mean of its grades, 0..1) and pass^k. All but the
# seconds are shares 0..1.
FIGURES = frozenset({
    "score", "answered_correctly", "refused_correctly", "handover_correctly", EXPECTATIONS, ATTACKS_HELD,
    COVERAGE, "red", SECONDS, CERTIFIED,
})  # fmt: skip
# The share of questions with a major turn, which every target limits, to this by default: however good the
# mean is, a bot that is gravely wrong on more than every fifth question does not pass (--max-major).
MAJOR, MAX_MAJOR = "major", 0.2
# Of every other figure more is better.
LOWER_IS_BETTER = frozenset({"red", MAJOR, SECONDS})
# Of the grades that a target reads so many have to be there, and of so many of the questions.
MIN_GRADED = 0.9
# Some failures are to be expected of any endpoint: of grades and of customers' lines so many may fail.
MAX_FAILED = 0.05
TARGET_EXAMPLE = "turn >= 0.9 and red <= 0.1"

# `turn >= 0.9`: name, comparison, number. The name is anything without spaces, comparison signs, "!" and
# brackets ("!=" must not be read as a name and "="): `path.gpt_similarity` and `pass^3` are names, too.
_TERM = re.compile(r"([^\s<>=!()]+)\s*(>=|<=|==)\s*(\d+\.?\d*|\.\d+)")
# Of repeated questions, the chance that k repeats all pass (k from 1 to 100, as --repeats): Yao et al., 2024,
# tau-bench, whose pass^k asks for reliability where pass@k asks for one success.
_REPEATS = re.compile(r"pass\^([1-9]\d?|100)")
# People write 90% or 90点 for 90.
_PERCENT = re.compile(r"(?<=\d)\s*[%％点]$")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


class Condition(Value):
    """One comparison of a figure of the run with a threshold: a share 0..1, or seconds."""

    name: str
    comparison: Comparison
    threshold: float

    @property
    def repeats(self) -> int | None:
        """The k of pass^k: how many repeats of a question have to pass; None for any other figure."""
        match = _REPEATS.fullmatch(self.name)
        return int(match[1]) if match else None

    @property
    def rises(self) -> bool:
        """Whether more is better."""
        return self.name not in LOWER_IS_BETTER

    @property
    def is_fact(self) -> bool:
        """Whether the figure itself decides, whatever the confidence: what was counted is no sample."""
        return self.comparison == "==" or self.name == COVERAGE

    @property
    def text(self) -> str:
        """The condition as it is written."""
        return CERTIFIED if self.name == CERTIFIED else f"{self.name} {self.comparison} {self.threshold:.10g}"

    def holds(self, value: float) -> bool:
        """Whether a figure meets the threshold; what differs by a rounding error is equal.

        Figures are means of floats: a mean of 0.9 that is 0.8999999999999999 as a float meets `>= 0.9`.
        """
        apart = value - self.threshold
        return abs(apart) < 1e-9 or (self.comparison != "==" and (apart > 0) == self.rises)


def read_target(value: object) -> float | str | None:
    """A target as it was set: a share (90 means 0.9) or the text of its conditions; ValueError if neither.

    Conditions are kept as text, because a run stores its settings as JSON, and are written anew, so that two
    spellings of one target are equal: "turn>=90" -> "turn >= 0.9".
    """
    if value is None:
        return None
    text = _PERCENT.sub("", value.strip()) if isinstance(value, str) else value
    try:
        # `true` in TOML is a number to Python, and would be a target of 100 %.
        number = math.nan if isinstance(text, bool) else float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return " and ".join(condition.text for condition in parse_conditions(str(text)))
    return _share(number)


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """The conditions of an expression, each once; ValueError says what is wrong with it.

    Only `and` joins them. With `or` and brackets a gate could be met by its least important half.
    """
    # Full-width signs and digits are typed with a Japanese keyboard: ｔｕｒｎ＞＝９０.
    plain = unicodedata.normalize("NFKC", text).replace("≥", ">=").replace("≤", "<=").strip()
    return tuple(dict.fromkeys(_condition(part.strip()) for part in _AND.split(plain)))


def _condition(part: str) -> Condition:
    """One condition, its threshold on the scale of its figure; ValueError for one that makes no sense."""
    if part == CERTIFIED:
        return Condition(name=CERTIFIED, comparison="==", threshold=1)
    match = _TERM.fullmatch(part)
    if match is None:
        msg = _(
            "'{part}' is not a condition; write a number (0.9, 90), or conditions joined by and: {example}",
            part=part,
            example=TARGET_EXAMPLE,
        )
        raise ValueError(msg)
    name, comparison, number = match.groups()
    threshold = float(number)
    if name != SECONDS and threshold:
        threshold = _share(threshold)
    condition = Condition.model_validate({"name": name, "comparison": comparison, "threshold": threshold})
    # Of any other name nobody knows yet whether it is a judge or misspelt: `check_names` does.
    if (name in FIGURES or condition.repeats) and (problem := _wrong_comparison(condition)):
        raise ValueError(problem)
    return condition


def _wrong_comparison(condition: Condition) -> Message | None:
    """What is said of a comparison that its figure cannot be asked; None where it can.

    Nothing passes for being bad. A share may be asked to be all or none (`expectations == 1`, `red == 0`),
    and no other has to be hit exactly.
    """
    usual, best = (">=", 1) if condition.rises else ("<=", 0)
    if condition.comparison == usual or (condition.comparison == "==" and condition.threshold == best):
        return None
    instead = condition.model_copy(update={"comparison": usual}).text
    return _(
        "{condition} is not what a target can ask: write {instead}", condition=condition.text, instead=instead
    )


def _share(value: float) -> float:
    """90 means 0.9; 1.2 and what is outside 0..100 are mistakes.

    Between 1 and 2 nobody can tell a percentage from a share: 1.2 is a mistyped 0.12, 12 or 120.
    """
    if not (0 < value <= 1 or 2 <= value <= 100):
        raise ValueError(_("must be between 0 and 1, or a percentage from 2 to 100"))
    return value / 100 if value > 1 else value


def read_share(value: object) -> object:
    """A share as it was set: 20 and 20% mean 0.2, 1% is 0.01 and 0 is one, too; ValueError for 1.5 or 200."""
    text = unicodedata.normalize("NFKC", value).strip() if isinstance(value, str) else value
    try:
        if isinstance(text, str) and text.endswith("%"):
            return float(text.removesuffix("%")) / 100
        number = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return value  # told as no number
    return number and _share(number)


def read_confidence(value: object) -> float | None:
    """A certainty as it was set: 95 and 95% mean 0.95, off means None; ValueError for anything else."""
    text = unicodedata.normalize("NFKC", value).strip().casefold() if isinstance(value, str) else value
    if text is None or text == "off":
        return None
    try:
        number = float(text.removesuffix("%") if isinstance(text, str) else text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    share = number / 100 if number > 1 else number
    if isinstance(value, bool) or not 0.5 < share < 1:
        raise ValueError(_("must lie between 0.5 and 1: 0.95 (or 95, 95%) is usual, off asks for none"))
    return share


def target_conditions(target: float | str | None) -> tuple[Condition, ...]:
    """The conditions that a target stands for; a number is asked of the run's score."""
    if target is None:
        return ()
    if isinstance(target, str):
        return parse_conditions(target)
    return (Condition(name="score", comparison=">=", threshold=target),)


def check_names(target: float | str | None, judges: Iterable[str]) -> None:
    """Raises InputError for a condition about something that no run has, or asked the wrong way."""
    figures = {*FIGURES, *judges}
    for condition in target_conditions(target):
        if condition.name not in figures and not condition.repeats:
            raise UnknownName(_("figure in --target"), condition.name, sorted(figures))
        if problem := _wrong_comparison(condition):
            raise InputError(problem)


# Yen for a dollar: a round figure, not today's rate. Nothing is fetched for it, so that a forecast made
# tomorrow is the same.
JPY_PER_USD = 150.0
# Providers publish their prices by the million tokens.
PER = 1_000_000
# "$5", "5usd", "800円": a sign before or a unit behind, after NFKC and without spaces and commas.
# Commas between thousands only: whoever writes 0,01 or 1,5 means something else.
_AMOUNT = re.compile(r"([$¥]?)((?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(usd|jpy|円|ドル)?")
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
    text = "".join(unicodedata.normalize("NFKC", value).split()).lower()
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


def read_patterns(value: Any) -> Any:
    """One regular expression or several; ValueError names an invalid one.

    Unlike names they are not parted at commas: `[0-9]{3,5}` is one expression.
    """
    patterns = (value,) if isinstance(value, str) else value
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
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        return value
    columns: dict[str, str] = {}
    for item in (part.strip() for items_text in items for part in str(items_text).split(",")):
        ours, equals, theirs = (part.strip() for part in item.partition("="))
        if not (ours and equals and theirs):
            msg = _("'{item}' is not CASE=FILE; write references=answer, our column first", item=item)
            raise ValueError(msg)
        columns[ours] = theirs
    return columns


def _some(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError(_("name at least one judge"))
    return names


def _reports(names: tuple[str, ...]) -> tuple[str, ...]:
    """By our names for those that people use for a report; the page is written anyway."""
    called = {"excel": "xlsx", "md": "markdown", "sheet": "sheets"}
    return tuple(dict.fromkeys(called.get(name, name) for name in names if name != "html"))


def _read_labels(value: Any) -> Any:
    """Names, as a flag gives them, stand for themselves; a run also knows what stands for each.

    "A, B" -> {"A": ("A",), "B": ("B",)}; a stored run may have {"1": ("1", "fine")}.
    """
    names = _texts(value)
    if not isinstance(names, (list, tuple)):
        return names
    listed = (label.strip() for name in names for label in str(name).split(","))
    return {label: (label,) for label in listed if label}


def read_names(value: Any) -> Any:
    """'a,b' and ['a', 'b'] mean the same."""
    given = _texts(value)
    if not isinstance(given, (list, tuple)) or not all(isinstance(v, str) for v in given):
        return value
    names = tuple(dict.fromkeys(p.strip() for v in given for p in v.split(",") if p.strip()))
    if given and not names:
        raise ValueError(_("names nothing"))
    return names


def _read_file(value: Any) -> Any:
    """The one file of ["questions.csv"]; ValueError for two, of which the first would go unasked."""
    match value:
        case [file]:
            return file
        case [_, *_]:
            raise ValueError(_ONE_FILE)
    return value


def _read_players(value: Any) -> Any:
    """As other names, but one that is there twice is a mistake, and is kept."""
    given = _texts(value)
    if not isinstance(given, (list, tuple)) or not all(isinstance(v, str) for v in given):
        return value
    return tuple(name.strip() for players in given for name in players.split(",") if name.strip())


def _read_set(value: Any) -> Any:
    """Flags arrive as ['key=value']; TOML values of any simple type as a table.

    Only the first "=" parts them, since addresses hold more: "url=http://h?a=b" -> {"url": "http://h?a=b"}.
    """
    if isinstance(value, dict):
        return {k: setting_text(v) for k, v in value.items()}
    if not isinstance(value, (str, list, tuple)):
        raise ValueError(_("must be a table of settings"))
    pairs = {}
    for item in _texts(value):
        key, separator, text = str(item).partition("=")
        if not separator or not key.strip():
            raise ValueError(_("'{item}' is not key=value", item=item))
        pairs[key.strip()] = text
    return pairs


def _read_switch(value: Any) -> Any:
    if not isinstance(value, bool):
        return value
    return "on" if value else "off"


def _texts(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def setting(text: str, default: Any = None) -> Any:
    """A setting with what help says of it."""
    return Field(default, description=text)


Protocol = Literal["dialogue", "single_turn"]
Positive = Annotated[int, Field(ge=1)]


class RowSettings(BaseModel):
    """The part of the settings that `evaluate` adds; a dialogue leaves all of it at its default.

    `protocol` is no option: the command decides it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    protocol: Protocol = setting("Whether customers talk, or each row is asked once.", "dialogue")
    prompt: str | None = setting("Prompt for each row: a name, NAME:VARIANT, or a file.toml.")
    sample: Positive | None = setting("Only N random rows.")
    labels: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_read_labels)] = setting(
        "All labels (default: of the prompt or data).", {}
    )


PREFIX = "REHEARSAL_"
# The judges of `--judging small`.
SMALL_JUDGES = ("turn", "groundedness", "similarity")
SETTINGS_FILE = "rehearsal.toml"
# These say how to start or to show a run, not what the run is; they are not stored in it. Whoever resumes it
# or paints it again says so anew.
NOT_STORED = frozenset({
    "resume", "dry_run", "to", "json_output", "verbose", "runs", "sheet", "worksheet",
    "tests",
})  # fmt: skip

Names = Annotated[tuple[str, ...], BeforeValidator(read_names)]
Count = Annotated[int, Field(ge=1, le=10_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]


class Settings(RowSettings):
    """One frozen object; every field is a flag, a REHEARSAL_ variable and a key of rehearsal.toml.

    The text of a field is what --help and docs/reference.md say of it; docs/reference.md is made from here.
    Fields are validated in the order in which they stand here: `patience` needs `timeout`.
    """

    persona: Names = setting(
        "Who plays the customer: a name, your own file.toml, a mix of them, or all; repeatable. "
        "Default: for each question one of angry, calm and beginner, by lot.",
        (),
    )
    cases: Annotated[str | None, BeforeValidator(_read_file)] = setting(
        "Your questions: CSV, JSONL, Excel (also .gz), or sheet:KEY. Default: the bundled ones."
    )
    columns: Annotated[dict[str, str], BeforeValidator(read_columns)] = setting(
        "Which column of your file holds which field: references=answer; repeatable.", {}
    )
    limit: Positive | None = setting("Only the first N questions.")
    adapter: str = setting(
        "The bot: a name that `list` shows, or your own function: bot.py:answer. "
        "Needed with your questions, unless they have answers.",
        "demo",
    )
    set: Annotated[dict[str, str], BeforeValidator(_read_set)] = setting(
        "A setting of the adapter; repeatable.", {}
    )
    turns: Annotated[int, Field(ge=1, le=50)] = setting(
        "Maximum number of questions a customer asks in one conversation.", 3
    )
    repeats: Annotated[int, Field(ge=1, le=100)] = setting("How often each customer asks each question.", 1)
    judges: Annotated[Names, AfterValidator(_some)] = setting(
        "Who grades: names that `list` shows or your own files, separated by commas.",
        ("turn", "relevance", "groundedness", "similarity", "fluency", "cosine", CONVERSATION),
    )
    judging: Literal["combined", "separate", "small"] = setting(
        "All grades of an answer from one model call (combined), one call for each "
        "(separate), or for small models three judges in fewer words (small).",
        "combined",
    )
    causes: Literal["model", "ids"] = setting(
        "How to find why an answer needs review, and which of these answers share one fault: "
        "ask the judge's model (model), or only compare ids, marks and texts (ids).",
        "model",
    )
    retest: Share = setting("Share of answers graded twice, to see how often a grade changes.", 0.0)
    contacts: str | None = setting("Your desk's phone numbers, address, hours (judge facts).")
    rules: str | None = setting("What your desk must not say: id, text, severity (for risk).")
    guidelines: str | None = setting("Your desk's rules of conduct for judges (text, TOML).")
    offline: bool = setting("No model at all: simple versions (no AI) play every role.", False)
    language: Literal["ja", "en", "all"] | None = setting(
        "Language of messages and questions. Default: your terminal's; all in your question file."
    )
    concurrency: Count = setting("Conversations held at the same time.", 32)
    calls: Count = setting("Model calls in flight at each endpoint.", 64)
    rpm: Positive | None = setting("Requests per minute that each endpoint allows.")
    tpm: Positive | None = setting("Tokens per minute that each endpoint allows.")
    timeout: Seconds = setting("Seconds to wait for an answer from the bot or a model.", 60.0)
    patience: Seconds = Field(
        default_factory=lambda given: max(120.0, given["timeout"]),
        description="Maximum for one call, including retries and waits. "
        "Default: 120, or --timeout if longer.",
    )
    cache: Literal["on", "off"] = setting(
        "Whether models' answers to identical requests are kept and used again.", "on"
    )
    user_model: Annotated[tuple[str, ...], BeforeValidator(_read_players)] = setting(
        "Model that plays the customer; repeatable: each plays every question, and the score says"
        " how far they differ.",
        (),
    )
    judge_model: str | None = setting("Model that grades.")
    embed_model: str | None = setting("Embeddings for the cosine judge.")
    demo_model: str | None = setting("Model behind the demo bot; `lexical` is its simple version (no AI).")
    voice_opening: bool = setting("Word the first question, too, as this customer would.", False)
    script: str | None = setting("What customers say before they go on alone (a file).")
    replay: str | None = setting(
        "Repeat the customers' messages of an earlier run, as many in each conversation, to this bot."
    )
    seed: int = setting("Seed of every random choice.", 42)
    target: Annotated[float | str | None, BeforeValidator(read_target)] = setting(
        "The gate: exit code 1 below this score (0.9, or 90), or unless conditions such as "
        "'turn >= 0.9 and red <= 0.1' hold."
    )
    max_major: Annotated[Share | None, BeforeValidator(read_share)] = setting(
        "Maximum share of questions with a serious error that a target allows. Default: 0.2, "
        "with --confidence 0."
    )
    confidence: Annotated[Annotated[float, Field(gt=0.5, lt=1)] | None, BeforeValidator(read_confidence)] = (
        setting(
            "Pass only when the score reaches the target with this confidence: 0.95 is typical, off is none."
        )
    )
    knowledge: str | None = setting("The bot's own articles, to tell missing from not found.")
    prices: dict[str, Price] = setting(
        'Your own model prices (TOML file, or [prices."model"] of rehearsal.toml).', {}
    )
    budget: Amount | None = setting(
        "Spend at most this, your bot's own models aside: 5 (dollars), 5USD, 800JPY, 800円."
    )
    redact: Annotated[Literal["on", "off", "auto"], BeforeValidator(_read_switch)] = setting(
        "Mask personal data before anything is stored or sent to a model; auto: with recorded answers only.",
        "off",
    )
    redact_patterns: Annotated[tuple[str, ...], BeforeValidator(read_patterns)] = setting(
        "What else to mask: a regular expression, of which its group or all is masked; repeatable.", ()
    )
    # Made without checks, for which a page of help would wait.
    red: RedRules = setting(
        "Which answers need review (table [red] of rehearsal.toml).", RedRules.model_construct()
    )
    greeting: dict[Language, str] | None = setting("The desk's first line (table greeting).")
    to: Annotated[Names, AfterValidator(_reports)] = setting(
        "Reports in addition to report.html: sheets, xlsx, json, csv, junit, markdown, otlp, "
        "https://..., your.py:function.",
        (),
    )
    sheet: str | None = setting("The Google Sheet to write to and read back: key or address.")
    worksheet: str | None = setting("Suffix of worksheet names, to share one spreadsheet.")
    tests: Path = setting(
        "Where `review` writes what the team made tests: a question file (.jsonl).", Path("tests.jsonl")
    )
    runs: Path = setting("Folder of the runs.", Path("runs"))
    resume: str | None = setting("Finish a run that was interrupted or lost something: id, latest, or path.")
    dry_run: bool = setting("Show what a run will take and cost; start nothing.", False)
    json_output: bool = setting("Print exactly one JSON object on stdout.", False)
    verbose: bool = setting("Print every figure, not only what to read first.", False)
    # What plug-ins add (`AddedSettings`), by its name: no option itself.
    added: dict[str, JsonValue] = {}

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
        unstored = self._unstored()
        stored = self.model_dump(mode="json", exclude={*unstored, "added"})
        added = {name: value for name, value in self.added.items() if name not in unstored}
        return stored | added | {"set": without_secrets(self.set)}

    def unstored_values(self) -> dict[str, Any]:
        """What no run stores, and whoever resumes one says anew."""
        return {name: self.value(name) for name in self._unstored()}

    def value(self, name: str) -> Any:
        """The value of a setting by its name, also of one that a plug-in has added."""
        if name in Settings.model_fields:
            return getattr(self, name)
        return self.added.get(name, setting_fields()[name].get_default())

    @staticmethod
    def _unstored() -> frozenset[str]:
        return NOT_STORED.union(*(model.unstored for model in added_settings()))


# The settings in groups, by the titles under which help shows them, in its order. Each stands here once.
GROUPS = {
    "Bot": (
        "adapter", "set", "cases", "language", "limit", "columns", "repeats", "seed", "redact",
        "redact_patterns",
    ),
    "Customers": (
        "persona", "turns", "user_model", "replay", "voice_opening", "script",
    ),
    "Judges": (
        "judges", "judge_model", "judging", "knowledge", "embed_model", "demo_model",
        "causes", "retest", "guidelines", "contacts", "rules",
    ),
    "Gate": ("target", "max_major", "confidence"),
    "Running": (
        "offline", "dry_run", "budget", "resume", "concurrency", "calls", "rpm", "tpm", "timeout", "patience",
        "cache", "prices",
    ),
    "Rows": ("prompt", "labels", "sample"),
    "Output": (
        "runs", "to", "sheet", "worksheet", "tests", "json_output", "verbose",
    ),
}  # fmt: skip


def own_settings() -> Mapping[Protocol, frozenset[str]]:
    """The settings that only rows of a data set have, and those that only conversations have."""
    fields = {"single_turn": {*GROUPS["Rows"]}, "dialogue": {*GROUPS["Customers"]}}
    for model in added_settings():
        if model.protocol:
            fields[model.protocol].update(model.model_fields)
    return {"single_turn": frozenset(fields["single_turn"]), "dialogue": frozenset(fields["dialogue"])}


def foreign_settings(protocol: Protocol) -> frozenset[str]:
    """The settings that only runs of another protocol have."""
    return frozenset(name for other, names in own_settings().items() if other != protocol for name in names)


def groups() -> dict[str, tuple[str, ...]]:
    """All settings by the titles under which help shows them, those of plug-ins included."""
    titles = dict(GROUPS)
    for model in added_settings():
        titles[model.group] = (*titles.get(model.group, ()), *model.model_fields)
    return titles


# --- What plug-ins add ---


class AddedSettings(BaseModel):
    """Settings that a plug-in brings: options, variables and keys of rehearsal.toml like all others.

    `group` is the title under which help shows them, `protocol` the only kind of run that has them (None:
    any), `shapes` what their values look like there (`N`, `SECONDS`), `unstored` the names of those that say
    how to start a run, not what it is, `files` of those that name a file, `reporting` of those that `report`
    takes. `of` reads them from the settings of a run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    group: ClassVar[str]
    protocol: ClassVar[Protocol | None] = None
    shapes: ClassVar[Mapping[str, str]] = {}
    unstored: ClassVar[frozenset[str]] = frozenset()
    files: ClassVar[frozenset[str]] = frozenset()
    reporting: ClassVar[frozenset[str]] = frozenset()

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


class AddedBy(TypingProtocol):
    """Knows what plug-ins add."""

    def models(self) -> Sequence[type[AddedSettings]]:
        """The settings of those that are there."""
        ...

    def missing(self, name: str) -> InputError | None:
        """What is said of a setting whose plug-in is not there; None for any other name."""
        ...


_ADDED_BY: list[AddedBy] = []


def offer_settings(added: AddedBy) -> None:
    """Makes the settings of plug-ins known; said by whoever starts the program."""
    _ADDED_BY[:] = [added]


def added_settings() -> Sequence[type[AddedSettings]]:
    """The settings of plug-ins, each as a model."""
    return [model for added in _ADDED_BY for model in added.models()]


def added_files() -> frozenset[str]:
    """The settings of plug-ins that name a file."""
    return frozenset(name for model in added_settings() for name in model.files)


def added_reporting() -> tuple[str, ...]:
    """The settings of plug-ins that `report` takes."""
    return tuple(name for model in added_settings() for name in sorted(model.reporting))


def setting_fields() -> dict[str, FieldInfo]:
    """Every setting by its name, those of plug-ins included."""
    fields = {name: field for name, field in Settings.model_fields.items() if name != "added"}
    return fields | {name: field for model in added_settings() for name, field in model.model_fields.items()}


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
    flags: Mapping[str, Any], folder: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Flags over environment over `rehearsal.toml` in `folder`, or the file of --config, over defaults.

    A flag that is None, False or empty was not given; 0 was. Raises InputError, in one line that calls the
    value as it was given: `--retest 2: must be at most 1.` or `retest in rehearsal.toml: 2: ...`.
    """
    # click fills every option: None, False and empty mean that it was not typed.
    given = {
        key: value
        for key, value in flags.items()
        if value is not None and value is not False and value not in ((), [])
    }
    named = environ.get(PREFIX + "CONFIG") if folder is None else None
    path = Path(named) if named else (folder or Path()) / SETTINGS_FILE
    from_file = read_toml(path) if named or path.exists() else {}
    # A list is read from commas; a table has no form in a variable.
    variables = {
        name: text
        for name in setting_fields()
        if name not in {"red", "greeting"} and (text := environ.get(PREFIX + name.upper()))
    }
    from_environment = variables | ({"set": variables["set"].split(",")} if "set" in variables else {})
    # Everything is merged before it is validated, or a wrong value of a lower layer would be reported
    # although a higher one replaces it. What a key is called where it was given, for whatever is wrong with
    # its value; the nearest layer last.
    shown: dict[str, Message | str] = {
        key: _("{key} in {file}:", key=key, file=path.name) for key in from_file
    }
    shown |= {key: f"{PREFIX}{key.upper()}" for key in from_environment}
    shown |= {key: flag(key) for key in given}
    merged = {**from_file, **from_environment, **given}
    merged["set"] = _adapter_settings(from_file, from_environment, given)
    merged["prices"] = merged_prices(shown.get("prices", ""), from_file, from_environment, given)
    return _validated(merged, shown, _("(in {file})", file=path.name))


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
    """The names of the options that stand on the command line."""
    return [name for name, value in flags.items() if value not in (None, False, [], ())]


def _validated(values: dict[str, Any], shown: Mapping[str, Message | str], where: Message | str) -> Settings:
    """`shown` is what a key is called where it was given."""
    fields = setting_fields()
    for key in values:
        if key not in fields:
            missing = next(filter(None, (added.missing(key) for added in _ADDED_BY)), None)
            raise missing or UnknownName(_("setting"), key, fields, where, SETTINGS_LISTED)
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
            value=shortened(first["input"]),
            problem=value_problem(first),
        )
        raise InputError(msg) from None


def shortened(value: Any) -> str:
    """A wrong value as a message shows it."""
    # Of a table of prices or a long list only the beginning is of help.
    parts = value if isinstance(value, (list, tuple)) else [value]
    text = " ".join(" ".join(map(str, parts)).split())
    return text if len(text) <= 60 else text[:57] + "..."
