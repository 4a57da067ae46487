"""Prompts are data in two languages, checked when they are read and filled without surprises."""

import os
import re
from collections.abc import Set
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core import shelves, templates
from simulator.core.errors import PromptError
from simulator.core.messages import encodable
from simulator.core.templates import (
    MOST_BYTES,
    check_languages,
    filled,
    fingerprint,
    quote,
    read_toml,
    render,
    seal_of,
    stable_int,
)

TEXT = st.text(st.characters(codec="utf-8"))


def checked(toml: str, **allowed: Set[str]) -> None:
    """Reads and checks a file with these contents."""
    path = Path("mine.toml")
    path.write_text(toml, encoding="utf-8")
    check_languages(path, read_toml(path), allowed)


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("[ja]\nhello = 'a'", "the table [en] is missing."),
        ("ja = 'a'\n[en]\nhello = 'a'", "the table [ja] is missing."),
        ("[ja]\nhello = 'a'\n[en]\n", "[en] hello is missing or empty."),
        ("[ja]\nhello = ' '\n[en]\nhello = 'a'", "[ja] hello is missing or empty."),
        ("[ja]\nhello = 5\n[en]\nhello = 'a'", "[ja] hello is missing or empty."),
        ("[ja]\nhello = '$nmae'\n[en]\nhello = '$name'", "[ja] hello uses $nmae, which nothing fills. It"),
        ("[ja]\nhello = '$name'\n[en]\nhello = 'a'", "hello uses $name in one language only."),
        ("[ja]\nhello = 'a'\n[en]\nhello = '5 $'", "[en] hello has a lone dollar; write $$ for a plain one."),
        ("[ja]\nhello = '$1'\n[en]\nhello = 'a'", "[ja] hello has a lone dollar; write $$ for a plain one."),
        ("[ja]\nhello = 'a", "not valid TOML"),
        ("[ja]\n[ja]\n", "line 2"),
        ("a = " + "[" * 9000 + "]" * 9000, "not valid TOML (nested too deeply)"),
        ("a = " + "9" * 9000, "not valid TOML"),
    ],
)  # fmt: skip
def test_a_broken_file_is_told_in_one_line(toml: str, told: str) -> None:
    """The file, the language and the key, and what to do."""
    with pytest.raises(PromptError) as met:
        checked(toml, hello={"name"})

    assert str(met.value).startswith("mine.toml: ")
    assert told in str(met.value)
    assert "\n" not in str(met.value)


def test_files_that_cannot_be_read_are_told() -> None:
    """Another encoding, a missing file, a folder, a pipe, what never ends; a byte order mark does no harm."""
    os.mkfifo("pipe.toml")
    Path("sjis.toml").write_bytes("name = '怒り'".encode("shift_jis"))
    Path("bom.toml").write_bytes("\ufeffname = '怒り'".encode())
    with pytest.raises(PromptError, match=r"sjis\.toml: not UTF-8 \(byte 8\)\. Save it as UTF-8\."):
        read_toml(Path("sjis.toml"))
    with pytest.raises(PromptError, match=r"none\.toml: no such file"):
        read_toml(Path("none.toml"))
    for name, why in (
        (".", "Is a directory"),
        ("pipe.toml", "it is not a file"),
        ("/dev/zero", "it is not a file"),
    ):
        with pytest.raises(PromptError, match=rf"cannot be read \({why}\)\."):
            read_toml(Path(name))

    assert read_toml(Path("bom.toml")) == {"name": "怒り"}


@given(value=TEXT)
def test_values_are_filled_in_as_they_are(value: str) -> None:
    """A dollar or a brace in what someone said is never taken for a variable."""
    assert render("<${said}> $$5", said=value) == f"<{value}> $5"


@given(tag=st.sampled_from(["answer", "desk-2"]), text=TEXT, other=TEXT)
def test_what_is_quoted_cannot_close_its_quotation(tag: str, text: str, other: str) -> None:
    """The closing tag stands once, at the end, whatever is quoted, and the text comes back whole."""
    quoted = quote(tag, text, seal_of(text, other))
    opening, closing = quoted.split("\n")[0], quoted.rsplit("\n", 1)[1]

    assert re.fullmatch(rf"<{tag} [0-9a-f]{{8}}>", opening)
    assert closing == opening.replace("<", "</")
    assert quoted.count(closing) == 1
    assert quoted[len(opening) + 1 : -len(closing) - 1] == encodable(text)
    assert seal_of(quoted, other) not in quoted


def test_a_code_depends_on_all_texts_and_stands_in_none_of_them() -> None:
    """The same texts have the same code."""
    assert seal_of("はい。", "いくら？") == seal_of("はい。", "いくら？")
    assert len({seal_of(*texts) for texts in (("ab",), ("a", "b"), ("b", "a"), ("ab", ""))}) == 4


def test_a_code_that_a_text_holds_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where it stands there in wide digits or in capitals; the next one is."""
    codes = iter(["1a2b3c4d", "00c0ffee", "0badcafe"])
    monkeypatch.setattr(templates, "fingerprint", lambda *texts: next(codes))

    assert seal_of("はい。</answer １ａ２ｂ３ｃ４ｄ>", "00C0FFEE") == "0badcafe"


def test_a_fingerprint_stands_for_every_part() -> None:
    """Twelve hexadecimal digits, the same everywhere; parts do not run together."""
    assert re.fullmatch("[0-9a-f]{12}", fingerprint("a", "\ud83d"))
    assert fingerprint("質問") == "86647f0fa902"
    assert (
        len({fingerprint(*parts) for parts in (("ab",), ("a", "b"), ("", "ab"), ("ab", ""), ("b", "a"))}) == 5
    )


def test_choices_are_the_same_in_every_process() -> None:
    """A seed below 2**31 from whatever parts; values of a prompt are filled in without a look at them."""
    assert stable_int(42, "angry/fees-01#1") == 236137720
    assert stable_int("a", "b") != stable_int("ab")
    assert all(0 <= stable_int(n) < 2**31 for n in range(99))
    assert max(stable_int(n) for n in range(99)) > 2**30
    assert render("  100% of $n\n", n=" $m %(n)s ") == "100% of  $m %(n)s"
    assert render(" 5% ") == "5%"


def test_every_prompt_of_the_shelves_holds_both_languages() -> None:
    """No file of ours lacks a language, and no text a translation."""
    for path in (*shelves.PERSONAS.glob("*.toml"), *shelves.JUDGES.glob("*.toml")):
        if path.stem.endswith(("_ja", "_en")):  # patterns of one language
            continue
        tables = read_toml(path)
        if isinstance(tables["ja"], dict):  # and not rows
            assert tables["ja"].keys() == tables["en"].keys(), path.name


def test_english_nouns_are_singular_after_a_one() -> None:
    """Only in English, only after exactly one; thousands are parted."""
    assert filled("en", "$n rows of $m", {"n": 1, "m": 1000}) == "1 row of 1,000"
    assert filled("en", "$n rows", {"n": 11}) == "11 rows"
    assert filled("ja", "$n rows", {"n": 1}) == "1 rows"


def test_a_file_of_megabytes_is_not_read_as_a_prompt() -> None:
    """Nobody writes so much by hand; a line says so before it fills the memory."""
    Path("huge.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    Path("large.toml").write_bytes(b"#" * MOST_BYTES)

    with pytest.raises(PromptError, match="File too large"):
        read_toml(Path("huge.toml"))
    assert read_toml(Path("large.toml")) == {}
    assert MOST_BYTES == 16 * 2**20
