"""What the worksheets of a run are made from, looked up once for all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from simulator.core.settings import CheckFormat
from simulator.core.translations import Words, words_of
from simulator.core.types import Language, Results, Score
from simulator.diagnosis.evidence import Blame
from simulator.diagnosis.recommendations import Improvements, improvements_of
from simulator.sheets.model import SheetWords
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.gate import Gate
from simulator.storage.results import StoredConversations


class StoredScores(Mapping[tuple[str, int], Mapping[str, Score]]):
    """The scores of each turn of a large data set; only those of one conversation are held."""

    def __init__(self, talks: StoredConversations) -> None:
        """Knows where they are."""
        self._talks, self._last, self._found = talks, "", dict[int, dict[str, Score]]()

    def __getitem__(self, key: tuple[str, int]) -> Mapping[str, Score]:
        """Those of a turn, by judge."""
        talk, turn = key
        if talk != self._last:
            self._last, ((_, self._found),) = talk, self._talks.with_scores([talk])
        return self._found[turn]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """The turns that have scores."""
        return ((talk.id, turn) for talk, by_turn in self._talks.with_scores() for turn in by_turn)

    def __len__(self) -> int:
        """How many turns have scores."""
        return sum(1 for _ in self)


@dataclass(frozen=True)
class Told:
    """Everything that the worksheets are made from; `past` are the summaries of earlier runs.

    `mends` is what to mend, where somebody looked it up already; else it is told from the run alone.
    """

    results: Results
    summary: Summary
    gate: Gate
    language: Language
    check: CheckFormat = "text"
    past: Sequence[tuple[Results, Summary, Gate]] = field(default=())
    mends: Improvements | None = None

    @cached_property
    def words(self) -> SheetWords:
        """The words of the worksheets."""
        return SheetWords(self.language, rows=self.summary.rows)

    @cached_property
    def names(self) -> Words:
        """The names of judges, personas, endings and marks."""
        return words_of(self.summary, self.language)

    @cached_property
    def scores(self) -> Mapping[tuple[str, int], Mapping[str, Score]]:
        """The scores of each turn, by judge; those of a large data set are read when they are asked for."""
        if isinstance(self.results.conversations, StoredConversations):
            return StoredScores(self.results.conversations)
        found: dict[tuple[str, int], dict[str, Score]] = {}
        for score in self.results.scores:
            found.setdefault((score.conversation, score.turn), {})[score.judge] = score
        return found

    @cached_property
    def improvements(self) -> Improvements:
        """What to mend."""
        return self.mends or improvements_of(self.results, self.summary, self.language)

    @cached_property
    def causes(self) -> dict[tuple[str, int], Blame]:
        """The causes of the red turns."""
        return {(blame.conversation, blame.turn): blame for blame in self.improvements.blames}

    @cached_property
    def red(self) -> dict[tuple[str, int], RedTurn]:
        """The red turns."""
        return {(turn.conversation, turn.turn): turn for turn in self.summary.reddest}

    def key(self, *parts: object) -> str:
        """A row's key: it names the run, so that the rows of several runs can stand in one worksheet."""
        return "/".join(map(str, (self.results.run.id, *parts)))
