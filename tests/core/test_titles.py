"""The titles of ids, and text made safe for terminals and pages."""

from typing import get_args

import pytest

from simulator.core.messages import safe_text
from simulator.core.titles import TITLES, Titles
from simulator.core.types import Ended, Failure, Role, Status
from simulator.results.causes import Cause
from simulator.results.red import KINDS
from simulator.users.guard import RULES
from tests.texts import said


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("ended", [how.value for how in Ended]),
        ("mark", KINDS),
        ("cause", get_args(Cause)),
        ("rule", RULES),
        ("role", get_args(Role)),
        ("status", get_args(Status)),
        ("failure", [*get_args(Failure.model_fields["kind"].annotation)]),
    ],
)
def test_every_kind_that_the_engine_knows_has_a_word(group: str, names: list[str]) -> None:
    """No id of ours reaches a reader."""
    assert [name for name in names if name not in TITLES[group]] == []


def test_names_come_from_the_run_then_from_the_file_then_from_the_id() -> None:
    """A team's own persona is shown by its own name, an unknown judge by its id."""
    titles = Titles({"shy": "内気な客", "angry": ""})

    assert titles("persona", "shy") == "内気な客"
    assert said(titles("persona", "angry"), "ja") == "怒っているお客様"
    assert titles("judge", "tone\x1b[31m") == "tone"
    names = ("x@m", "address.city", ".em", "a.b@c")
    assert [said(Titles()("persona", name)) for name in names] == [*names]
    assert said(Titles()("judge", "address.city.em@gpt\x1b[31m")) == "address.city: Exact match (gpt)"
    assert [said(Titles()("judge", name)) for name in (".em", "mine.py")] == [".em", "mine: py"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n次の行", "plain\ttext\n次の行"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jgone", "gone"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title", ""),
        ("a\x00b\x08c\x7fd\x85e", "abcde"),
        ("a\r\nb\rc", "a\nbc"),
        ("\u202eevil\u2066\u200f", "evil"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("👩\u200d💻 é 円", "👩\u200d💻 é 円"),
    ],
)
def test_control_codes_are_stripped(text: str, shown: str) -> None:
    """Whole terminal sequences go; line breaks, tabs, emoji and Japanese stay."""
    assert safe_text(text) == shown


@pytest.mark.parametrize(
    ("name", "title"),
    [("em", "Exact match"), ("path.rougeL", "path: ROUGE-L"), ("gpt_similarity@m", "LLM similarity (m)")],
)
def test_an_article_s_name_has_the_title_of_the_judge_it_means(name: str, title: str) -> None:
    """Of an output and by another model as well."""
    assert said(Titles()("judge", name)) == title
