"""Answers that are graded output by output (--outputs): what the core asks of whoever does it.

That is a room of the lab. Whoever starts the program makes it known (`offer_outputs`); `outputs_of` asks it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from simulator.core.messages import Message
from simulator.core.types import Case, GradingContext

if TYPE_CHECKING:  # a page of help needs none of these
    from simulator.grading.panel import JudgeCall, Panel
    from simulator.grading.rubric import Judge


class RowCheck(Protocol):
    """Looks at the references of a data set, row by row."""

    def __call__(self, case: Case, /) -> Message | str | None:
        """What is wrong with those of a row; None where nothing is."""
        ...

    def done(self) -> None:
        """To be called after the last row; raises CaseFileError for what only shows then."""
        ...


class Outputs(Protocol):
    """The outputs that answers have, and the judges of each."""

    @property
    def judges(self) -> "Mapping[str, Judge]":
        """The judges, by the names of their scores for whole answers."""
        ...

    @property
    def judges_per_row(self) -> "Sequence[tuple[str, Judge]]":
        """The judges that grade a row at most: one entry for each judge of each output."""
        ...

    @property
    def decides(self) -> bool:
        """Whether whole rows get a verdict, the score `passed`."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides its grades, but for the judges themselves."""
        ...

    def expect(self, cases: Iterable[Case]) -> None:
        """Takes note of how many outputs one of these cases has at most, for a forecast."""
        ...

    def files(self, name: str) -> bool:
        """Whether a score may have this name."""
        ...

    def names(self, context: GradingContext) -> set[str]:
        """The names of the scores that the outputs of this row get."""
        ...

    def reference_check(self) -> RowCheck:
        """What looks at the references before a run."""
        ...

    def panel(
        self,
        judge_calls: "Callable[[Mapping[str, Judge]], list[JudgeCall]]",
        answer_calls: "Sequence[JudgeCall]",
    ) -> "Panel":
        """The panel; `judge_calls` makes the calls of some judges, `answer_calls` grade whole answers."""
        ...


_READERS: list[Callable[[str], Outputs]] = []


def offer_outputs(read: Callable[[str], Outputs]) -> None:
    """Makes known who reads the file of --outputs; said by whoever starts the program."""
    _READERS[:] = [read]


def outputs_of(path: str | None) -> Outputs | None:
    """The outputs that the file of --outputs names; None without one. Raises InputError for a wrong one."""
    return _READERS[0](path) if path else None
