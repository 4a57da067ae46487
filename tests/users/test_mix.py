"""A mix of customers: who is drawn from it, how often, and what is refused."""

from collections import Counter
from pathlib import Path

import pytest

from simulator.cases.cases import read_cases
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.runner.plan import BUNDLED, read_plan
from tests.commands import Command

ROWS = """
[[customers]]
persona = "angry"
frequency = {angry}
patience = 1

[[customers]]
persona = "calm"
frequency = {calm}
"""


def mix(text: str = ROWS, **frequencies: float) -> str:
    """A mix file where the test stands."""
    frequencies = {"angry": 0.2, "calm": 0.8} | frequencies
    Path("mix.toml").write_text(text.format(**frequencies), encoding="utf-8")
    return "mix.toml"


def drawn(**settings: object) -> dict[str, str]:
    """Who asks which case."""
    plan, *_ = read_plan(Settings.model_validate({"persona": (mix(),), **settings}))
    return {conversation.case.id: conversation.persona for conversation in plan}


def test_each_case_draws_by_frequency_and_seed() -> None:
    """The same seed draws the same ones, whatever the limit; the settings are those of the mix."""
    everyone = drawn()
    counts = Counter(everyone.values())

    assert len(everyone) == len(read_cases(BUNDLED[0]))
    assert counts["calm"] > 2 * counts["angry"] > 0
    assert drawn() == everyone != drawn(seed=7)
    assert drawn(limit=5).items() <= everyone.items()
    _plan, personas, *_ = read_plan(Settings(persona=("mix.toml",)))
    assert {each.id: each.patience for each in personas} == {"angry": 1, "calm": 3}


def test_frequencies_are_taken_relative_to_one_another() -> None:
    """Whatever they add up to, the draws are the same."""
    everyone = drawn()
    planned = read_plan(Settings(persona=(mix(angry=20, calm=80),)))

    assert [each.persona for each in planned.plan] == list(everyone.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("customers = []", "customers: must have 1 items or more"),
        ("[[customers]]\npersona = 'calm'", "frequency: missing"),
        ("[[customers]]\npersona = 'calm'\nfrequency = 0", "more than 0"),
        ("[[customers]]\npersona = 'calm'\nfrequency = inf", "finite number"),
        ("[[customers]]\npersona = 'calm'\nfrequency = 1\npatiense = 2", "Did you mean patience"),
        ("[[customers]]\npersona = 'calm'\nfrequency = 1\nbrevity = 2", "at most 1. See "),
        ("[[customers]]\npersona = 'clam'\nfrequency = 1", "unknown customer: 'clam'"),
        (2 * "[[customers]]\npersona = 'calm'\nfrequency = 1\n", "'calm' is in it twice"),
    ],
)
def test_a_wrong_mix_is_one_line(text: str, said: str) -> None:
    """It says what is wrong and where."""
    with pytest.raises(InputError) as caught:
        read_plan(Settings(persona=(mix(text),)))

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mix_stands_alone() -> None:
    """It says itself who comes."""
    with pytest.raises(InputError, match="is a mix, which says itself who comes: name no other"):
        read_plan(Settings(persona=("beginner", mix())))


def test_a_run_with_a_mix_is_held_and_resumed(command: Command) -> None:
    """The customers that were drawn stand in the run, with the settings of the mix."""
    arguments = ("--persona", mix(), "--offline", "--limit", "4", "--json")
    done = command(*arguments)
    Path("mix.toml").unlink()

    assert done.code == 0
    assert done.json["conversations"]["finished"] == 4
    assert command("--resume", "latest", "--json").json["score"] == done.json["score"]
