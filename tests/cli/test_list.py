"""What there is on the shelves and among the runs."""

import json

import pytest

from simulator.cli.app import main
from simulator.core import shelves as find
from tests.golden_files import compare


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `list` prints."""
    assert main(["list", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_list_is_as_it_is_meant_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    """Personas, judges and adapters with a line about each, and the runs."""
    compare("list.txt", listed(capsys))


def test_the_list_holds_what_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """As one JSON object with --json; names that begin with an underscore are no names."""
    shelves = json.loads(listed(capsys, "--json"))

    assert list(shelves) == ["personas", "judges", "adapters", "prompts", "runs"]
    assert list(shelves["personas"]) == find.persona_names()
    assert list(shelves["judges"]) == find.judge_names()
    assert list(shelves["adapters"]) == find.adapter_names()
    assert not any(name.startswith("_") for shelf in shelves.values() for name in shelf)
