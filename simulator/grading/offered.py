"""What plug-ins may add to the grading of a run: outputs, further models, and arguments of judges.

Answers are graded output by output, or by several models, where a room of the lab is asked for it. Whoever
starts the program makes known what there is (`offer_grading`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from simulator.core.messages import Message
from simulator.core.settings import Settings
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


class AddedGrading(Protocol):
    """Knows what plug-ins add to the grading of a run."""

    def outputs(self, settings: Settings) -> Outputs | None:
        """The outputs that answers are graded by; None where they are graded whole."""
        ...

    def models(self, settings: Settings) -> Sequence[str]:
        """The names of further models that grade as the judge's own does."""
        ...

    def arguments(self, settings: Settings, names: Collection[str]) -> Mapping[str, str | Sequence[str]]:
        """Those of these parameters that plug-ins have a value for."""
        ...


_ADDED: list[AddedGrading] = []


def offer_grading(added: AddedGrading) -> None:
    """Makes known what plug-ins add; said by whoever starts the program."""
    _ADDED[:] = [added]


def outputs_of(settings: Settings) -> Outputs | None:
    """The outputs that answers are graded by; None where they are graded whole.

    Raises InputError for a wrong file of them.
    """
    return _ADDED[0].outputs(settings) if _ADDED else None


def further_models(settings: Settings) -> Sequence[str]:
    """The models that grade beside the judge's own."""
    return _ADDED[0].models(settings) if _ADDED else ()


def added_arguments(settings: Settings, names: Collection[str]) -> Mapping[str, str | Sequence[str]]:
    """What plug-ins give to judges for those of these parameters that they know.

    Raises InputError for a wrong value, such as a list that cannot be read.
    """
    return _ADDED[0].arguments(settings, names) if _ADDED else {}
