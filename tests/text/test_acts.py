"""What sentences of a desk do: the examples in dialogue_acts.toml hold, and labelled lines and references."""

import csv
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from simulator.core.shelves import DEMO
from simulator.core.types import Language
from simulator.text.acts import (
    FILE,
    LONGEST,
    apologises,
    claims,
    ends_with_question,
    is_handover,
    is_refusal,
    parts,
    passes_on,
)
from simulator.text.evidence import refuses
from tests.paths import fixture_rows

EXAMPLES = tomllib.loads(FILE.read_text(encoding="utf-8"))
LANGUAGES: tuple[Language, ...] = ("ja", "en")


def examples(kind: str) -> list[tuple[Language, str]]:
    return [(language, text) for language in LANGUAGES for text in EXAMPLES[language]["examples"][kind]]


@pytest.mark.parametrize(
    ("kind", "detect", "wanted"),
    [
        ("refusal", is_refusal, True),
        ("answer", is_refusal, False),
        ("handover", is_handover, True),
        ("no_handover", is_handover, False),
    ],
)
def test_the_examples_hold(kind: str, detect: Callable[[str, Language], bool], wanted: bool) -> None:
    """However it is put; who says no may know, and who is only mentioned takes nothing over."""
    assert [text for language, text in examples(kind) if detect(text, language) is not wanted] == []


@pytest.mark.parametrize(("language", "text"), examples("contact"))
def test_a_contact_is_a_handover_where_nothing_is_answered(language: Language, text: str) -> None:
    """The customer is sent to a person; beside an answer it is a courtesy, and the bot passes on nobody."""
    answer = {"ja": "解約金は5,000円です。", "en": "The fee is 30 dollars."}[language]

    assert is_handover(text, language)
    assert not is_handover(f"{answer} {text}", language)
    assert not passes_on(text, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_bundled_references_are_read_rightly(language: Language) -> None:
    """Every unanswerable question is declined by its reference, every complaint handed over, no other."""
    with (DEMO / "cases" / f"{language}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    wrong = [
        row["id"]
        for row in rows
        if is_refusal(row["references"], language) != (row["answerable"] != "yes")
        or passes_on(row["references"], language) != (row["handover"] == "required")
        or (is_handover(row["references"], language) and row["handover"] == "forbidden")
    ]

    assert rows
    assert wrong == []


def test_a_sentence_that_turns_is_read_on_both_sides() -> None:
    """A courtesy before an answer is no answer, and does not hide one."""
    found = parts("申し訳ございませんが、解約金は5,000円です。", "ja")

    assert [part.act for part in found] == ["courtesy", "claim"]
    assert [part.act for part in parts("I am sorry, but it is not sold.", "en")] == ["courtesy", "claim"]


@pytest.mark.parametrize(
    ("does", "text", "wanted"),
    [
        # No question back; the number of a contact may be wrong, but who declines may name whom they like.
        (claims, "恐れ入ります。機種名をお教えいただけますか？", False),
        (claims, "手順は以下の通りです。", False),
        (claims, "Which model do you have?", False),
        (claims, "サポート窓口 0120-000-371 へお問い合わせください。", True),
        (claims, "分かりかねます。サポート窓口 0120-000-371 へお問い合わせください。", False),
        # A closing offer is a courtesy; a question that only begins like one is not.
        (ends_with_question, "The fee is 5,500 yen. Is there anything else I can help you with?", False),
        (ends_with_question, "Is there anything else on the bill that looks wrong?", True),
        (ends_with_question, "手数料は5,500円です。ほかにご不明な点はございますか？", False),
        (ends_with_question, "ほかに契約しているものはございますか？", True),
        # An apology is found anywhere, also at the start of a longer sentence.
        (apologises, "ご不便をおかけし、申し訳ございませんが、お待ちください。", True),
        (apologises, "We apologise for the wait.", True),
        (apologises, "お問い合わせありがとうございます。", False),
    ],
)
def test_what_a_sentence_does(does: Callable[[str, Language], object], text: str, wanted: bool) -> None:
    """It states what could be wrong, asks about the matter, or apologises."""
    assert bool(does(text, "en" if text.isascii() else "ja")) is wanted


def test_an_english_answer_to_a_japanese_question_is_read_as_english() -> None:
    """A bot may fall into the other language."""
    assert is_refusal("Sorry, I do not know.", "ja")


def test_who_says_what_is_right_does_not_refuse() -> None:
    """An answer only worded like a refusal is none where it says the right answer with its figures."""
    answer = "I do not have information on any fee for the card except 300 yen a month."

    assert is_refusal(answer, "en")
    assert refuses(answer, ("The fee for the card is 500 yen a month.",), "en")
    assert not refuses(answer, ("The fee for the card is 300 yen a month.",), "en")
    assert refuses("I am sorry, I cannot say whether it is tomorrow.", ("tomorrow",), "en")


def test_an_endless_sentence_is_a_claim_and_read_in_no_time() -> None:
    """Patterns never look at a sentence beyond the limit."""
    assert [part.act for part in parts("分かりかねます" * LONGEST, "ja")] == ["claim"]


ENOUGH = 0.95


def lines(language: Language, part: str) -> list[dict[str, Any]]:
    return fixture_rows(f"refusals_{language}.jsonl", part=part)


def measured(rows: list[dict[str, Any]], language: Language) -> tuple[float, float, float]:
    """Precision, recall and F1."""
    pairs = [(is_refusal(row["text"], language), row["refusal"]) for row in rows]
    hits = sum(found and wanted for found, wanted in pairs)
    precision, recall = hits / sum(found for found, _ in pairs), hits / sum(wanted for _, wanted in pairs)
    return precision, recall, 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("part", "fewest"), [("held", 50), ("tune", 100)])
def test_refusals_are_recognised(language: Language, part: str, fewest: int) -> None:
    """F1 of at least .95, on the lines that shaped the patterns and on those that did not."""
    rows = lines(language, part)
    precision, recall, f1 = measured(rows, language)

    assert len(rows) >= fewest
    assert f1 >= ENOUGH, (precision, recall)
    assert min(precision, recall) >= 0.9


@pytest.mark.parametrize("language", LANGUAGES)
def test_handovers_among_them_are_recognised(language: Language) -> None:
    """Nearly all lines of the kind, and no answer that only mentions a person."""
    rows = [row for part in ("held", "tune") for row in lines(language, part)]
    found = [row for row in rows if is_handover(row["text"], language)]
    handovers = [row for row in rows if row["kind"] == "handover"]

    assert sum(row in found for row in handovers) >= ENOUGH * len(handovers)
    assert [row["text"] for row in found if row["kind"] == "answer"] == []
