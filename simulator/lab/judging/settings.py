"""The settings about judges: further models, a check for drift, and a list of words."""

from typing import Annotated, ClassVar

from pydantic import BeforeValidator

from simulator.core.settings import AddedSettings, read_names, setting


class JudgingSettings(AddedSettings):
    """Which models grade as well, by which answers drift is looked for, and what a desk must not say."""

    group = "Judges"
    shapes: ClassVar = {"panel": "MODEL,...", "check": "FILE", "ng_words": "FILE"}
    files = frozenset({"ng_words"})

    panel: Annotated[tuple[str, ...], BeforeValidator(read_names)] = setting(
        "More models that grade as well, to see how far they agree.", ()
    )
    check: str | None = setting(
        "Before the run, whether a judge still grades as when it was calibrated: its label file."
    )
    ng_words: str | None = setting("Words your desk must not say, bad => better (for keigo).")


SETTINGS = JudgingSettings
