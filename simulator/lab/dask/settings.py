"""The settings of runs on several machines."""

import re
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from simulator.core.messages import _
from simulator.core.settings import RUNNING, AddedSettings, Count, setting

# "2/5".
_SHARD = re.compile(r"(\d{1,6})\s*/\s*(\d{1,6})")


class Shard(NamedTuple):
    """Part `number` (from 1) out of `parts` of a plan."""

    number: int
    parts: int

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.number}/{self.parts}"


def read_shard(text: str) -> Shard:
    """Part and parts of `2/5`; ValueError says what is wrong with it."""
    match = _SHARD.fullmatch(text.strip())
    shard = Shard(*map(int, match.groups())) if match else None
    if shard is None or not 1 <= shard.number <= shard.parts:
        raise ValueError(_("write 2/5 for the second of five"))
    return shard


class DaskSettings(AddedSettings):
    """Where conversations are held, and which part of a plan."""

    group = RUNNING

    scheduler: str | None = setting(
        "Dask scheduler of workers: tcp:// or tls://host:8786.", shape="ADDRESS", stored=False
    )
    workers: Count | None = setting("Workers to start here, or with --scheduler to wait for.", stored=False)
    shard: Annotated[str | None, AfterValidator(lambda text: text and read_shard(text).text)] = setting(
        "Only this part of the questions (2/5); `merge` joins them.", shape="K/N"
    )


SETTINGS = DaskSettings
