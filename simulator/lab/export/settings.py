"""The setting of runs that are graded later."""

from typing import ClassVar, Literal

from simulator.core.settings import AddedSettings, setting


class ExportSettings(AddedSettings):
    """When a run is graded."""

    group = "Batches"
    shapes: ClassVar = {}

    grade: Literal["now", "later"] = setting(
        "later: only hold the conversations; `grade RUN --batch` grades them at half the price.", "now"
    )


SETTINGS = ExportSettings
