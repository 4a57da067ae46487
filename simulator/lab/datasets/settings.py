"""The settings of classes, of outputs and of contests."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from simulator.core.settings import ROWS, AddedSettings, Word, setting
from simulator.core.types import PASSED


class DatasetSettings(AddedSettings):
    """How the rows of a data set are scored beyond what judges say, and how their labels are chosen."""

    group = ROWS

    choosing: Annotated[Literal["auto", "likelihood", "generation"], Word] = setting(
        "How a label is chosen: by its log-likelihood where the endpoint tells, or written.", "auto"
    )
    outputs: str | None = setting("Judges, thresholds per output of a JSON answer (a file).", shape="FILE")
    positive: str | None = setting("Positive label, for F1. Default: 1, yes, or the rarer.", shape="LABEL")
    scoring: Annotated[Literal["contest"] | None, Word] = setting("contest: five metrics, 1-5, and a total.")

    @classmethod
    def implied(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Where outputs have judges of their own, all having passed counts; others grade the whole answer.

        The first judge decides score and gate, so PASSED goes first: ("fluency",) -> ("passed", "fluency").
        """
        # As they were given: text, list or nothing.
        judges = values.get("judges", ()) if values.get("outputs") else None
        names = judges.split(",") if isinstance(judges, str) else judges
        if not isinstance(names, (list, tuple)):
            return {}
        return {"judges": [PASSED, *(name for name in names if name != PASSED)]}


SETTINGS = DatasetSettings
