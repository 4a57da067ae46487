"""Which of the made questions are proposed: near duplicates are dropped, and everything is accounted for."""

from simulator.core.types import Case
from simulator.making.kinds import MADE, Kind, Made, Rejected, Wording
from simulator.making.near import NearDuplicates


class Acceptance:
    """Questions one after the other; the first of several that say the same stays."""

    def __init__(self) -> None:
        """Nothing has been proposed yet."""
        self.cases: list[Case] = []
        self.rejected: list[Rejected] = []
        self.failures: list[tuple[str, str]] = []
        self._near = NearDuplicates()

    def consider(self, case: Case, fault: Rejected | None = None) -> bool:
        """Whether this question is proposed; `fault` is what is wrong with it already."""
        if fault is None and (other := self._near.add(_said(case), case.id, case.passages)) is not None:
            fault = Rejected(case=case, why="duplicate", detail=other)
        if fault is not None:
            self.rejected.append(fault)
            return False
        self.cases.append(case)
        return True

    def failed(self, id_: str, kind: str) -> None:
        """A model's failure: nothing was made."""
        self.failures.append((id_, kind))

    def made(self) -> Made:
        """What came of all."""
        return Made(tuple(self.cases), tuple(self.rejected), tuple(self.failures))


def tags(kind: Kind, wording: Wording, *more: str) -> tuple[str, ...]:
    """What the tags of a made question say."""
    return (MADE, kind, wording, *more)


def _said(case: Case) -> str:
    """A follow-up is another question after another turn."""
    return "\n".join([*(line.content for line in case.history if line.role == "user"), case.question])
