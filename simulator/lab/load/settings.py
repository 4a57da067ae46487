"""The settings of load rehearsals."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from simulator.core.messages import _
from simulator.core.settings import AddedSettings, Count, Group, HalfWidth, setting

# "2/s", "0.5/sec", "30/min", "100/hour".
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(s|sec|second|m|min|minute|h|hour)", re.IGNORECASE)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def read_arrival(text: str) -> float:
    """Customers a second: 2 of `2/s`, 0.5 of `30/min`; ValueError says what is wrong with it."""
    match = _RATE.fullmatch(text.strip())
    rate = float(match[1]) / _SECONDS[match[2][0].lower()] if match else 0.0
    if not 0 < rate < 1e6:
        raise ValueError(_("write how many customers come: 2/s or 30/min"))
    return rate


class LoadSettings(AddedSettings):
    """How many customers come, when, and how long they think."""

    group = Group("Load", "dialogue")

    customers: Count | None = setting(
        "Load test with this many customers at once; grading waits until all have left."
    )
    arrival: Annotated[
        str | None, AfterValidator(lambda text: text and read_arrival(text) and text.strip())
    ] = setting("How many customers come: 2/s, 30/min. Default: all at once.", shape="RATE")
    think: Annotated[float, Field(ge=0, le=3600), HalfWidth] | None = setting(
        "Seconds a customer takes to read and type before the next message (median).", shape="SECONDS"
    )


SETTINGS = LoadSettings
