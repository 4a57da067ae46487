"""The words of reports, and text made safe for terminals and pages."""

import re
import tomllib
from string import Template
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core import shelves
from simulator.core.templates import filled
from simulator.core.translations import REPORTS_FILE, Words, safe_text
from simulator.core.types import Ended, Failure, Role, Status
from simulator.stats.gate import Problem
from simulator.stats.red import KINDS
from simulator.users.guard import RULES

ENTRIES = [
    (f"{table}.{key}", pair)
    for table, entries in tomllib.loads(REPORTS_FILE.read_text(encoding="utf-8")).items()
    for key, pair in entries.items()
]


@pytest.mark.parametrize(("key", "pair"), ENTRIES)
def test_both_languages_say_the_same_with_the_same_variables(key: str, pair: dict[str, str]) -> None:
    """Every entry has Japanese and English, and neither uses a variable that the other lacks."""
    variables = [sorted(set(Template(pair[language]).get_identifiers())) for language in ("ja", "en")]

    assert list(pair) == ["ja", "en"], key
    assert all(text.strip() for text in pair.values()), key
    assert variables[0] == variables[1], key
    assert all(Template(text).is_valid() for text in pair.values()), key


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("ended", [how.value for how in Ended]),
        ("mark", KINDS),
        ("rule", RULES),
        ("role", get_args(Role)),
        ("status", get_args(Status)),
        ("failure", [*get_args(Failure.model_fields["kind"].annotation), "missing"]),
        ("note", [problem for problem in get_args(Problem) if problem != "below"]),
    ],
)
def test_every_kind_that_the_engine_knows_has_a_word(group: str, names: list[str]) -> None:
    """No id of ours reaches a reader."""
    known = {key for key, _ in ENTRIES}

    assert [name for name in names if f"{group}.{name}" not in known] == []


def test_no_word_is_left_unused() -> None:
    """What the page and the console no longer say is not kept."""
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (shelves.ROOT / "simulator").rglob("*")
        if path.suffix in (".py", ".j2")
    )
    unused = [
        key
        for key, _ in ENTRIES
        if key.startswith("page.") and f'"{key[5:]}"' not in sources.replace("'", '"')
    ]

    assert unused == []


def test_names_come_from_the_run_then_from_the_file_then_from_the_id() -> None:
    """A team's own persona is shown by its own name, an unknown judge by its id."""
    words = Words("ja", {"persona.shy": "内気な客", "persona.angry": ""})

    assert words.name("persona", "shy") == "内気な客"
    assert words.name("persona", "angry") == "怒っている客"
    assert words.name("judge", "tone\x1b[31m") == "tone"


def test_variables_are_filled_and_numbers_grouped() -> None:
    """1234 turns read as 1,234; a dollar in a value stays a dollar."""
    assert Words("en")("of_turns", turns=1234) == "of 1,234 turns"
    assert Words("en")("target") == "Target"
    assert Words("ja")("next_open", path="$HOME/$turns") == "レポートを開く: $HOME/$turns"


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


@given(st.text(alphabet=st.characters(codec=None), max_size=40))
def test_no_text_keeps_a_control_code(text: str) -> None:
    """Whatever the text, it can be printed and encoded; cleaning twice changes nothing."""
    shown = safe_text(text)

    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    assert safe_text(shown) == shown
    shown.encode()


@pytest.mark.parametrize(
    ("name", "title"),
    [("em", "Exact match"), ("path.rougeL", "path: ROUGE-L"), ("gpt_similarity@m", "LLM similarity (m)")],
)
def test_an_article_s_name_has_the_title_of_the_judge_it_means(name: str, title: str) -> None:
    """Of an output and by another model as well."""
    assert Words("en").name("judge", name) == title


def test_one_is_singular_in_english() -> None:
    """In the program's own texts; what they quote is left alone."""
    words, japanese = Words("en", rows=True), Words("ja", rows=True)

    assert [words("conversations_n", n=n) for n in (1, 2)] == ["1 row", "2 rows"]
    assert (
        filled("en", "$a rows of $b rows, $c", {"a": 11, "b": 1, "c": "1 rows"}) == "11 rows of 1 row, 1 rows"
    )
    assert japanese("conversations_n", n=1) == "1 行"
    assert words("total", n=3) == "Total of 3 RAG metrics"
    assert japanese("total", n=3) == "RAG 3指標の合計"
