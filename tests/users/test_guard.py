"""A customer who falls out of the role is caught by a named rule; an ordinary line is let through."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.core import shelves
from simulator.core.errors import PromptError
from simulator.core.types import Language, PersonaText
from simulator.users import guard
from simulator.users.guard import RULES, Guard
from simulator.users.offline import filled
from tests.paths import fixture_rows
from tests.run_helpers import prompts

GUARDS = prompts().guards
NORMS: dict[Language, float] = {"ja": 27, "en": 9}
LANGUAGES: tuple[Language, Language] = ("ja", "en")
FEE = {"ja": "マンション1ギガは、税込みで月額4,180円です。", "en": "A flat costs 4,180 yen a month."}


def lines(language: Language, *splits: str) -> list[dict[str, Any]]:
    """The labelled lines of these parts, each with the rule that was `found`."""
    rows = [row for row in fixture_rows(f"guard_lines_{language}.jsonl") if row["split"] in splits]
    for row in rows:
        row["found"] = GUARDS[language].broken_rule(
            row["text"],
            row["said"],
            references=row["reference"],
            known=row.get("known", ()),
            norm=row.get("norm", NORMS[language]),
        )
    return rows


def precision_and_recall(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Of the lines refused, how many are broken; of the broken ones, how many are refused."""
    right = sum(1 for row in rows if row["rule"] and row["found"])
    refused, broken = (sum(1 for row in rows if row[key]) for key in ("found", "rule"))
    return right / refused, right / broken


@pytest.mark.parametrize("language", LANGUAGES)
def test_lines_kept_apart_are_told_right(language: Language) -> None:
    """On lines that no pattern was tuned on, 19 of 20 refusals are right, as are 19 of 20 broken lines."""
    rows = lines(language, "held")

    assert len(rows) >= 60
    assert min(precision_and_recall(rows)) >= 0.95


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_line_that_was_once_accused_wrongly_passes(language: Language) -> None:
    """No clean line that the patterns were made with is refused."""
    assert [row["text"] for row in lines(language, "dev") if row["found"] and not row["rule"]] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_nobody_had_thought_of_is_caught_by_half(language: Language) -> None:
    """Of broken lines written after the rules were done, most are caught; no clean one is refused."""
    precision, recall = precision_and_recall(lines(language, "late"))

    assert precision == 1
    assert recall >= 0.6


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_ends_narrates_or_answers_for_the_desk_is_caught(language: Language) -> None:
    """Those that the patterns were made with, and most of those written afterwards."""
    assert [row["text"] for row in lines(language, "planted") if not row["found"]] == []
    assert precision_and_recall(lines(language, "unseen"))[1] >= 0.7


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", shelves.customers())
def test_all_that_the_shelf_says_passes(name: str, language: Language) -> None:
    """Every phrase with questions of the demo, after all phrases before it, the right answer given.

    Each customer asks some of the questions, all of them together every one.
    """
    voice = shelves.persona(name).speaks(language)
    phrases = [phrase for phrases in voice.phrases.values() for phrase in phrases]
    with (shelves.DEMO / "cases" / f"{language}.csv").open(encoding="utf-8", newline="") as file:
        cases = list(csv.DictReader(file))[[*shelves.customers()].index(name) % 10 :: 10]
    judge, refused = GUARDS[language], []
    for case in cases:
        said = [filled(phrase, case["question"]) for phrase in phrases]
        for at_, line in enumerate(said):
            earlier = [case["question"], *said[:at_]]
            for norm in (judge.norm(voice), None):
                rule = judge.broken_rule(line, earlier, references=[case["references"]], norm=norm)
                refused += [(rule, line)] if rule else []

    assert refused == []


@pytest.mark.parametrize(
    ("language", "text", "rule"),
    [
        # Full-width signs, invisible characters and look-alike bullets are seen for what they are.
        ("ja", "＊＊いくら＊＊ですか", "markdown"),
        ("ja", "*\u200b*至急*\u200b*お願いします", "markdown"),
        ("ja", "＃　質問\nいくらですか", "markdown"),
        ("ja", "いくらですか\U0001f621", "emoji"),
        ("ja", "1\ufe0f\u20e3番ですか", "emoji"),
        ("ja", "－料金\n－期限", "list"),
        ("ja", "①料金\n\u200b②期限", "list"),
        ("ja", "か\u200bし\u2060こ\u00adまりました。", "desk"),
        ("ja", "ｕｓｅｒ：いくらですか", "both_sides"),
        ("ja", "＜ｔｈｉｎｋ＞いくら＜／ｔｈｉｎｋ＞", "reasoning"),
        ("ja", "（ため\u200b息）いくらですか", "stage"),
        ("ja", "\u200b\u3164\u2800", "empty"),
        # What the desk said may be quoted, unless the quotation is all there is.
        ("ja", "「かしこまりました」って何ですか。", None),
        ("ja", "お調べいたしますと言われたきりです。", None),
        ("ja", "「かしこまりました。お調べいたします。」", "desk"),
        ("ja", "「Your connection is not private」と出ます", None),
        ("ja", "「How much is it per month?」", "language"),
        ("en", 'What does "anything else I can help with" mean?', None),
        ("en", '"How can I help you today?"', "desk"),
        ("en", "You told me you would be happy to assist.", None),
        ("en", 'It says "インターネットに接続できません" here.', None),
    ],
)
def test_neither_disguise_nor_quotation_misleads(language: Language, text: str, rule: str | None) -> None:
    """The rule that a line breaks is named for what it is, and a quotation is no word of one's own."""
    assert GUARDS[language].broken_rule(text, []) == rule


@pytest.mark.parametrize(
    ("language", "text", "known", "rule"),
    [
        ("ja", "月額４１８０円で合ってますか", "", "reference"),
        ("ja", "月額4,180円で合ってますか", "月額4180円です。", None),
        ("ja", "月5,000円くらいですか", "", None),
        ("ja", "税込みで月額いくらですか", "", None),
        ("en", "So it is 4180 yen?", "", "reference"),
        ("en", "So it is 4,180 yen?", "It is 4180 yen.", None),
        ("en", "Around 5,000 yen?", "", None),
    ],
)
def test_a_customer_cannot_know_the_right_answer(
    language: Language, text: str, known: str, rule: str | None
) -> None:
    """A figure that stands only in the reference gives it away; one the desk has named does not."""
    found = GUARDS[language].broken_rule(text, [], references=[FEE[language]], known=[known])

    assert found == rule


@pytest.mark.parametrize(
    ("text", "earlier", "rule"),
    [
        ("月いくらですか", "月いくらですか", "repeat"),
        ("月いくらですか？？", "月いくらですか。", "repeat"),
        ("ＷＩ－ＦＩは使えますか", "wi-fiは使えますか", "repeat"),
        ("すみません、月いくらになりますか", "月いくらですか", "repeat"),
        ("では工事費はいつ払うのですか", "もし工事費はいつ払うのですか", "repeat"),
        ("では5,500円の工事費はいつ払うのですか", "もし4,180円の工事費はいつ払うのですか", None),
        ("もう一度送ります。マンションだと月いくらですか", "マンションだと月いくらですか", None),
        ("で、結局いくら払うんですか", "月いくらですか", None),
        ("戸建てだと月いくらですか", "マンションだと月いくらですか", None),
        ("注文番号は5131です。", "注文番号は5210です。", None),
        ("はい、お願いします。", "はい、お願いします。", None),
        ("OK", "OK", None),
    ],
)
def test_the_same_line_again_is_a_repeat(text: str, earlier: str, rule: str | None) -> None:
    """Width, marks and courtesies make no new line of it; a frame or another thing asked does."""
    assert GUARDS["ja"].broken_rule(text, ["別の話です", earlier, "また別の話です"]) == rule


def test_a_line_is_long_for_whom_it_is_long() -> None:
    """Three times what the persona's phrases are like; without a persona a fixed number of characters."""
    text, judge = "あのですね、" * 30, GUARDS["ja"]
    verbose, angry = (judge.norm(shelves.persona(name).ja) for name in ("verbose", "angry"))

    assert judge.broken_rule(text, [], norm=angry) == "too_long"
    assert judge.broken_rule(text, [], norm=verbose) is None
    assert judge.broken_rule(text, []) is None
    assert judge.broken_rule(text * 2, []) == "too_long"
    assert judge.norm(PersonaText(name="客", voice="短く話す")) == NORMS["ja"]


@pytest.mark.parametrize(("language", "most"), [("ja", 200), ("en", 500)])
def test_of_an_unknown_customer_a_line_has_so_many_letters(language: Language, most: int) -> None:
    """As many are no fault, one more is; blanks around it do not count."""
    letters = {"ja": "送料の件", "en": "postage "}[language] * most
    longest = letters[: most - 1] + letters[0]

    assert len(longest) == most
    assert GUARDS[language].broken_rule(f" {longest}\n", []) is None
    assert GUARDS[language].broken_rule(letters[:most] + letters[0], []) == "too_long"


def test_a_missing_table_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a changed _guard.toml lacks is said before anything starts."""
    path = tmp_path / "_guard.toml"
    path.write_text(guard.FILE.read_text(encoding="utf-8").replace("[ja.limits]", "[ja.limit]"), "utf-8")
    monkeypatch.setattr(guard, "FILE", path)
    guard._tables.cache_clear()
    try:
        with pytest.raises(PromptError, match=r"'limits' is missing from \[ja\]"):
            Guard("ja")
    finally:
        guard._tables.cache_clear()


@pytest.mark.parametrize(
    "shape",
    [
        lambda n: "\n" * n + "x",
        lambda n: "- \n" * n,
        lambda n: "「" * n,
        lambda n: "*あ " * n,
        lambda n: "(a" * n,
        lambda n: "Q: a?\n" * n,
        lambda n: "1,-" * n,
        lambda n: "<b " * n,
    ],
)
@pytest.mark.timeout(10)
def test_no_text_takes_long(shape: Callable[[int], str]) -> None:
    """A model that fills its whole reply with one sign does not stop the run."""
    text = shape(20_000)

    for judge in GUARDS.values():
        assert judge.broken_rule(text, [text], references=[text], known=[text]) in {*RULES, None}
