"""The setting of runs that are graded later."""

from typing import Annotated, Literal

from simulator.core.settings import AddedSettings, Group, Word, setting


class ExportSettings(AddedSettings):
    """When a run is graded."""

    group = Group("Batches")

    grade: Annotated[Literal["now", "later"], Word] = setting(
        "later: only hold the conversations; `grade RUN --batch` grades them at half the price.", "now"
    )


SETTINGS = ExportSettings
