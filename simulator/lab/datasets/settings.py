"""The settings of classes and of contests."""

from typing import ClassVar, Literal

from simulator.core.settings import AddedSettings, setting


class DatasetSettings(AddedSettings):
    """How the rows of a data set are scored beyond what judges say."""

    group = "Rows"
    protocol = "single_turn"
    shapes: ClassVar = {"positive": "LABEL"}

    positive: str | None = setting("Positive label, for F1. Default: 1, yes, or the rarer.")
    scoring: Literal["contest"] | None = setting("contest: five metrics, 1-5, and a total.")


SETTINGS = DatasetSettings
