"""What a target asks of a run: conditions such as `turn >= 0.9 and red <= 0.1`, and how people write them.

    90, "90%", 0.9                    0.9, asked of the score
    "turn>=90 and red == 0"           "turn >= 0.9 and red == 0"
    certified                         people's labels certify the judge that decides

Whether a run meets them is decided in `results/conditions.py`.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, cast

from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import Message, _
from simulator.core.patterns import LazyPattern

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
    "score", "answered_correctly", "refused_correctly", "handover_correctly", "expectations",
    "attacks_held", COVERAGE, "red", SECONDS, CERTIFIED,
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

# `turn >= 0.9`: name, comparison, number (90% and 90点, too). The name is anything without spaces, comparison
# signs, "!" and brackets ("!=" must not be read as a name and "="): `path.gpt_similarity` and `pass^3` are
# names, too.
_TERM = LazyPattern(r"([^\s<>=!()]+)\s*(>=|<=|==)\s*((?:\d+\.?\d*|\.\d+)\s*[%点]?)")
# Of repeated questions, the chance that k repeats all pass (k from 1 to 100, as --repeats): Yao et al., 2024,
# tau-bench, whose pass^k asks for reliability where pass@k asks for one success.
_REPEATS = LazyPattern(r"pass\^([1-9]\d?|100)")
_SIGNS = str.maketrans(dict.fromkeys("≥≧⩾", ">=") | dict.fromkeys("≤≦⩽", "<="))
_AND = LazyPattern(r"\s+and\s+", re.IGNORECASE)


@dataclass(frozen=True)
class Condition:
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
    share = _share_of(value)
    if share is None:
        return " and ".join(condition.text for condition in parse_conditions(str(value)))
    return _checked(share)


def read_share(value: object) -> object:
    """A share as it was set: 20 and 20% mean 0.2, and 0 is one, too; ValueError for 1.5 or 200."""
    share = _share_of(value)
    return value if share is None else share and _checked(share)  # what is no number is refused as such


def read_confidence(value: object) -> float | None:
    """A certainty as it was set: 95 and 95% mean 0.95, off means None; ValueError for anything else."""
    if value is None or (isinstance(value, str) and value.strip().casefold() == "off"):
        return None
    share = _share_of(value)
    if share is None or not 0.5 < share < 1:
        raise ValueError(_("must lie between 0.5 and 1: 0.95 (or 95, 95%) is usual, off asks for none"))
    return share


def _share_of(value: object) -> float | None:
    """The share that a number or a text means: 90, "90%" and "90点" are 0.9; None for what is no number.

    Between 1 and 2 nobody can tell a percentage from a share: 1.2 is a mistyped 0.12, 12 or 120, and stays.
    """
    if isinstance(value, bool):  # `true` in TOML is a number to Python, and would be a target of 100 %
        return math.nan
    # Full-width digits are typed with a Japanese keyboard.
    text = unicodedata.normalize("NFKC", str(value)).strip()
    try:
        number = float(text.rstrip("%点 "))
    except ValueError:
        return None
    return number / 100 if number >= 2 or text.endswith(("%", "点")) else number


def _checked(share: float) -> float:
    if share == 0:
        raise ValueError(_("must be more than {gt:g}", gt=0))
    if not 0 < share <= 1:
        raise ValueError(_("must be between 0 and 1, or a percentage from 2 to 100"))
    return share


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """The conditions of an expression, each once; ValueError says what is wrong with it.

    Only `and` joins them. With `or` and brackets a gate could be met by its least important half.
    """
    # Full-width signs and digits are typed with a Japanese keyboard: ｔｕｒｎ＞＝９０, ｔｕｒｎ≧９０.
    plain = unicodedata.normalize("NFKC", text).translate(_SIGNS).strip()
    return tuple(dict.fromkeys(_condition(part.strip()) for part in _AND.split(plain)))


def _condition(part: str) -> Condition:
    """One condition, its threshold on the scale of its figure; ValueError for one that makes no sense."""
    if part == CERTIFIED:
        return Condition(name=CERTIFIED, comparison="==", threshold=1)
    match = _TERM.fullmatch(part)
    if match is None or (match[1] == SECONDS and match[3].endswith(("%", "点"))):
        msg = _(
            "'{part}' is not a condition; write a number (0.9, 90), or conditions joined by and: {example}",
            part=part,
            example=TARGET_EXAMPLE,
        )
        raise ValueError(msg)
    name, comparison, number = match.groups()
    threshold = float(number.rstrip("%点 "))
    if name != SECONDS and threshold:
        threshold = _checked(_share_of(number) or 0.0)
    condition = Condition(name, cast("Comparison", comparison), threshold)
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
    instead = replace(condition, comparison=cast("Comparison", usual)).text
    return _(
        "{condition} is not what a target can ask: write {instead}", condition=condition.text, instead=instead
    )


def target_conditions(target: float | str | None) -> tuple[Condition, ...]:
    """The conditions that a target stands for; a number is asked of the run's score."""
    if target is None:
        return ()
    if isinstance(target, str):
        return parse_conditions(target)
    return (Condition(name="score", comparison=">=", threshold=target),)


def check_names(
    target: float | str | None, figures: Iterable[str], title_of: Callable[[str], Message | str] = str
) -> None:
    """Raises InputError for a condition about something that no run has, or asked the wrong way.

    `title_of` says what reports call a figure or judge: whoever writes that is told the name.
    """
    names = {*FIGURES, *figures}
    for condition in target_conditions(target):
        if condition.name not in names and not condition.repeats:
            titles = {name: title_of(name) for name in sorted(names)}
            raise UnknownName(_("figure in --target"), condition.name, names, titles=titles)
        if problem := _wrong_comparison(condition):
            raise InputError(problem)
