"""What metrics are called in a run, and where it notes what lm_eval measured."""

from pathlib import Path

from simulator.core.templates import Texts

TEXT = Texts(Path(__file__).with_name("words.toml"))
# The note of a run that says by which tasks it was made, and what lm_eval made of them.
NOTE = "harness"
# The filter of a task that has no other.
PLAIN = "none"


def metric_name(metric: str, filter_name: str) -> str:
    """What a metric's grades are filed under: with its filter, where that is not the only plain one."""
    named = metric if filter_name == PLAIN else f"{filter_name}.{metric}"
    return "".join("_" if each in "/\\:, " else each for each in named)
