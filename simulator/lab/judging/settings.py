"""The settings about judges: further models, a check for drift, and a list of words."""

from simulator.core.settings import JUDGES, AddedSettings, Names, setting


class JudgingSettings(AddedSettings):
    """Which models grade as well, by which answers drift is looked for, and what a desk must not say."""

    group = JUDGES

    panel: Names = setting(
        "More models that grade as well, to see how far they agree.", (), shape="MODEL,..."
    )
    check: str | None = setting(
        "Before the run, whether a judge still grades as when it was calibrated: its label file.",
        shape="FILE",
    )
    ng_words: str | None = setting("Words your desk must not say, bad => better (for keigo).", shape="FILE")


SETTINGS = JudgingSettings
