"""How many examples a property is tried with: some in every run, many when somebody asks for it.

A usual run draws the same examples each time, so that it fails for a change and not by chance. Twenty times
as many, drawn anew, with `HYPOTHESIS_PROFILE=thorough make test`, or `--hypothesis-profile thorough`.
"""

import os

from hypothesis import settings
from hypothesis.internal.conjecture import providers

USUAL, THOROUGH = 50, 20


def load_profile() -> None:
    """The profile that is asked for. None has a deadline: that would be the machine's, not the program's."""
    for name, times in (("usual", 1), ("thorough", THOROUGH)):
        settings.register_profile(
            name, parent=settings.default, max_examples=USUAL * times, deadline=None, derandomize=times == 1
        )
    name = os.environ.get("HYPOTHESIS_PROFILE", "usual")
    settings.load_profile(name)
    if name == "usual":  # to look for constants in a thousand modules takes each worker ten seconds
        providers._get_local_constants = lambda: providers._local_constants


def examples(usual: int) -> int:
    """So many in a usual run: for a property whose examples are dear, or whose faults are rare."""
    return usual * (THOROUGH if settings.get_current_profile_name() == "thorough" else 1)
