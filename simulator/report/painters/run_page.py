"""The page of a run: the blocks of its report, and between them what only this page has.

The builder of the page (`report/run_page.py`) fills in finished values; the templates draw them.
"""

from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from simulator.core.document import Chart, Line, Report
from simulator.core.translations import TextLookup, Words
from simulator.report.painters.html import part, policy, template

# So many questions with red turns begin unfolded, and so many passages are in sight.
OPEN_QUESTIONS, OPEN_PASSAGES = 3, 10


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """The score on its scale; places are 0..1, None where there is none.

    `automatic` is the score before people's grades corrected it.
    """

    score: str
    verdict: str
    passed: bool | None
    at: float | None
    interval: tuple[float, float] | None
    target: float | None
    target_text: str
    lowest: float | None
    lowest_text: str
    automatic: float | None
    description: str
    corrected: str
    lines: tuple[str, ...]
    alarms: str


@dataclass(frozen=True, slots=True)
class RedCard:
    """How many turns are red, for which reasons, and what else there is to say."""

    red: str
    turns: str
    is_red: bool
    kinds: Chart | None
    line: str


@dataclass(frozen=True, slots=True)
class FixCard:
    """A fix; `first` is the anchor of its first example, `bar` its gain in % of the best."""

    what: str
    first: str
    cause: str
    sure: str
    counts: str
    gain: str
    bar: float
    links: tuple[tuple[str, str], ...]
    reason: str


@dataclass(frozen=True, slots=True)
class FixCards:
    """The best fixes, the next ones folded, and lines above (`lead`) and below them."""

    cards: tuple[FixCard, ...]
    folded: tuple[FixCard, ...]
    more: str
    left: str
    lead: str
    below: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeatColumn:
    """The head of a column with how far its judge is to be trusted, in words."""

    title: str
    trust: str = ""
    warned: bool = False


@dataclass(frozen=True, slots=True)
class Square:
    """One mean; `red` when it is below the limit, `first` where most points are lost.

    `judge` is its number in the filter, empty for the score. Without a `value` it has no colour: nobody was
    graded, or it is how customers felt. One that `links` leads to its conversations.
    """

    text: str
    note: str
    value: float | None
    red: bool
    first: bool
    judge: str
    links: bool


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One customer (`persona` is its number in the filter), or all of them."""

    title: str
    note: str
    persona: str
    red: str
    squares: tuple[Square, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The means by customer and judge; `first` names the cell to fix first, empty when none is low."""

    columns: tuple[HeatColumn, ...]
    rows: tuple[HeatRow, ...]
    limit: float | None
    first: str
    first_persona: str
    first_judge: str
    trusted: bool
    note: str
    total_name: str
    total: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How many conversations ended in this way; `how` is its value in the filter, or empty."""

    how: str
    name: str
    n: int


@dataclass(frozen=True, slots=True)
class RedEntry:
    """A red turn as a quotation, with where its conversation is; without an answer there is no reason."""

    mark: str
    who: str
    question: str
    answer: str
    reason: str
    anchor: str


@dataclass(frozen=True, slots=True)
class RedQuestion:
    """A question with its red turns: some `whole`, some `brief`, and how many more there are."""

    question: str
    severity: str
    about: str
    whole: tuple[RedEntry, ...]
    brief: tuple[RedEntry, ...]
    folded: str
    more: str


FlawKind = Literal["contradicted", "not_found"]


@dataclass(frozen=True, slots=True)
class Flaw:
    """Words of an answer that are not borne out; `passage` is the id of what contradicts them, or empty.

    `number` counts them in the order in which they stand in the answer, from 1.
    """

    kind: FlawKind
    judge: str
    words: str
    passage: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of an answer, and what is wrong with it; `ends` when the flaw ends here."""

    text: str
    flaw: Flaw | None = None
    ends: bool = False


@dataclass(frozen=True, slots=True)
class GradeView:
    """One grade as the page shows it; `chip` is its short form, `beside` marks a further model's."""

    title: str
    chip: str
    grade: str
    reason: str
    figures: str
    votes: str
    steps: list[str]
    red: bool
    by_rule: bool
    beside: bool


@dataclass(frozen=True, slots=True)
class FlawNote:
    """What is wrong with some words of the answer, and the passage that says otherwise."""

    flaw: Flaw
    title: str
    judge: str
    label: str
    anchor: str
    lost: bool


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn; a `paper` one is red and printed here, as it is not quoted under its question."""

    number: int
    anchor: str
    user: str
    feeling: str
    answer: list[Span]
    silent: bool
    seconds: str
    rewritten: str
    red: bool
    paper: bool
    severity: str
    mark: str
    why: str
    flaws: list[FlawNote]
    grades: list[GradeView]
    skipped: str
    incorrect: str
    passages: list[tuple[str, str, str]]
    steps: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ConversationView:
    """One conversation; `lows` has the lowest grade (0..100) of each judge, `persona` its filter's number."""

    anchor: str
    id: str
    language: str
    who: str
    question: str
    goal: str
    expected: str
    persona: str
    ended: str
    ending: str
    reason: str
    score: float | None
    red: int
    severity: str
    lows: str
    opened: bool
    greeting: str
    history: list[tuple[str, str]]
    turns: list[TurnView]
    closing: str

    @property
    def paper(self) -> bool:
        """Whether a turn of it is printed."""
        return any(turn.paper for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Filters:
    """What conversations are chosen by: values and titles; `limit` is the grade that is chosen at first."""

    personas: list[tuple[str, str]]
    judges: list[str]
    grades: list[str]
    limit: str
    endings: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PassageEntry:
    """A passage: where links find it, its title (or nothing), and in how many red turns it was."""

    anchor: str
    title: str
    label: str
    text: str
    red: int


@dataclass(frozen=True, slots=True)
class RunPage:
    """The page of a run. `report` has its sections in their order; those without blocks are filled from here.

    `about` is the run, when it was and the bot; `nav` are keys and titles of what its head leads to.
    `compared` is the comparison with an earlier run, or None; `rows` says that it was no dialogue.
    """

    report: Report
    words: Words
    say: TextLookup
    head: str
    title: str
    created: str
    about: tuple[str, str, str]
    nav: tuple[tuple[str, str], ...]
    banners: tuple[tuple[str, str], ...]
    score: ScoreCard
    red: RedCard
    fixes: FixCards
    alarms: tuple[Line, ...]
    notes: tuple[Line, ...]
    notes_folded: str
    notes_none: str
    heat: HeatMap
    endings: tuple[Ending, ...]
    questions: list[RedQuestion]
    questions_more: str
    questions_none: str
    filters: Filters
    conversations: list[ConversationView]
    part: str
    flawed: bool
    passages: list[PassageEntry]
    rows: bool
    compared: Any = None


def run_page_html(page: RunPage) -> str:
    """The whole page as one string."""
    style, script = part("report.css"), part("report.js")
    # Sections without blocks, whose values are the page's own.
    filled = {"shelf": page.passages, "endings": page.endings}
    return template("run_page.html.j2").render(
        page=page,
        report=page.report,
        sections=[each for each in page.report.shown_in("page") if filled.get(each.key, True)],
        words=page.words,
        say=page.say,
        open_questions=OPEN_QUESTIONS,
        open_passages=OPEN_PASSAGES,
        style=Markup(style),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        policy=policy(style, script),
    )
