"""What to mend in the bot, as frozen values: what, where, for how many, and what it would bring."""

from simulator.blame.cause import Blame, Cause
from simulator.core.types import Language, Severity, Value

# Turns that are not red, at the least, for a forecast of what mending would bring.
LEAST = 5


class Example(Value):
    """One turn behind a fix: `evidence` says why this is its cause, `reference` what was right to say."""

    conversation: str
    turn: int
    persona: str
    case: str
    question: str
    answer: str
    failure: str | None
    reason: str
    evidence: str
    reference: str


class Fix(Value):
    """One thing to mend, and the red turns that it should mend.

    `key` is cause and place: the same fix has it in every run. `gain` (0..1) is what the run's score would
    gain, where that can be foretold; the gains of all fixes of a run add up. `sure` says whether the cause is
    certain for every one of the turns. `rank` counts from 1, and is 0 for what is no fix of the bot's.
    `article` is the id of the article to mend, `pair` the spelling to register: as it was asked, as the
    article writes it.
    """

    rank: int
    key: str
    cause: Cause
    sure: bool
    severity: Severity
    title: str
    what: str
    where: str
    turns: tuple[tuple[str, int], ...]
    personas: tuple[str, ...]
    cases: tuple[str, ...]
    examples: tuple[Example, ...]
    gain: float
    article: str = ""
    pair: tuple[str, str] | None = None


class Improvements(Value):
    """Everything that a run says should be mended, best first; `customer` are turns that are not the bot's.

    `goal` (0..1) is what a mended turn is taken to be graded: the mean over the turns that are not red. There
    are `green` of them; with too few nothing is foretold.
    `blames` are the causes, turn by turn. `unsearched`: rows are red, but nothing was retrieved for any.
    """

    language: Language
    score: float | None
    goal: float
    green: int = 0
    fixes: tuple[Fix, ...] = ()
    customer: tuple[Fix, ...] = ()
    blames: tuple[Blame, ...] = ()
    unsearched: bool = False

    @property
    def foretells(self) -> bool:
        """Whether enough turns are not red to say what mending would bring."""
        return self.green >= LEAST

    @property
    def mended(self) -> float | None:
        """What the score would be with every fix done (0..1); None where nothing is foretold."""
        if not self.fixes:
            return self.score
        if self.score is None or not self.foretells:
            return None
        return min(1.0, self.score + sum(fix.gain for fix in self.fixes))
