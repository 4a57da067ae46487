"""A matrix as it is written: options that are given more than once."""

import json
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.settings import Settings, load_settings
from simulator.lab.matrix.plan import CellId, cells_of, recorded


def keys(cases: list[str], prompts: list[str], given: list[str]) -> list[str] | None:
    """The names of the cells."""
    cells = cells_of(cases, prompts, {"set": given})
    return None if cells is None else [planned.cell.key for planned in cells]


def of(cases: list[str], given: list[str], **flags: Any) -> dict[str, Settings]:
    """The settings of the cells by their keys."""
    cells = cells_of(cases, [], {**flags, "set": given}) or []
    return {planned.cell.key: load_settings(planned.flags) for planned in cells}


def test_every_data_set_with_every_prompt_and_model() -> None:
    """Cells come data set by data set; what is not varied is not in their names."""
    files, prompts = ["data/faq.csv", "chat.jsonl.gz"], ["plain", "./mine/strict.toml:terse"]
    named = keys(files, prompts, ["model=gpt-5-mini", "top=4", "model=org/qwen3"])

    assert named is not None
    assert named[:4] == ["faq/plain/gpt-5-mini", "faq/plain/org/qwen3", "faq/strict:terse/gpt-5-mini",
                         "faq/strict:terse/org/qwen3"]  # fmt: skip
    assert (len(named), CellId(data="faq", model="m").shown) == (8, "faq x m")
    assert of(["a.csv"], ["knowledge=a", "top=2", "knowledge=b"])["a/b"].set == {
        "knowledge": "b", "top": "2",
    }  # fmt: skip


def test_one_of_each_is_no_matrix() -> None:
    """Nor is one value that is given twice."""
    assert keys(["a.csv"], ["p"], ["model=x", "url=y"]) is None
    assert keys(["a.csv"], [], ["model=x", "model=x"]) is None


@pytest.mark.parametrize(
    ("cases", "given", "said"),
    [
        (["a.csv"], ["model=x", "model=y", "url=x", "url=y"], "--set model and url: only one of them may"),
        (["1/a.csv", "2/a.csv"], [], "1/a.csv and 2/a.csv would both be called 'a': rename a file"),
        ([], ["model=x", "model=y"], "Name the file of rows"),
    ],
)
def test_mistakes_are_one_line(cases: list[str], given: list[str], said: str) -> None:
    """It says what to change."""
    with pytest.raises(InputError, match=said):
        keys(cases, [], given)


def test_secrets_are_written_nowhere() -> None:
    """Neither in the record of a matrix nor in the names of its cells; a wrong setting is one line."""
    secrets = ["api_key=first-secret", "api_key=other-secret", "token=third-secret"]
    cells = of(["a.csv"], secrets, adapter="http")

    assert list(cells) == ["a/api_key 1", "a/api_key 2"]
    assert [settings.set["api_key"] for settings in cells.values()] == ["first-secret", "other-secret"]
    for settings in cells.values():
        assert "-secret" not in json.dumps(recorded(settings))
    with pytest.raises(InputError, match="--set url: 'url' is not key=value"):
        of(["a.csv", "b.csv"], ["url"])
