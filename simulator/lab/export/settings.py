"""The setting of runs that are graded later."""

from typing import Literal

from simulator.core.settings import AddedSettings, Group, setting


class ExportSettings(AddedSettings):
    """When a run is graded."""

    group = Group("Batches")

    grade: Literal["now", "later"] = setting(
        "later: only hold the conversations; `grade RUN --batch` grades them at half the price.", "now"
    )


SETTINGS = ExportSettings
