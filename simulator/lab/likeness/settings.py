"""The setting of likeness: logs of a team's own desk."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from simulator.core.settings import CUSTOMERS, AddedSettings, setting


class LikenessSettings(AddedSettings):
    """With whom customers are compared; a whole path, for it is stored with the run."""

    group = CUSTOMERS

    likeness: Annotated[str | None, AfterValidator(lambda name: name and str(Path(name).resolve()))] = (
        setting("Your desk's logs, to compare customers with them.", shape="FILE")
    )


SETTINGS = LikenessSettings
