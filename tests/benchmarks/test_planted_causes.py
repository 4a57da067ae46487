"""The rows on which causes are measured: as many of each, and no label in any request."""

from collections import Counter

import pytest

from benchmarks import causes, five_bots
from simulator.core.types import Language
from simulator.grading.cause import JUDGED_NAMES, CausePrompt

LANGUAGES = causes.LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_as_many_of_one_cause_as_of_another(language: Language) -> None:
    """Three of each, the same every time, in two halves that share nothing."""
    whole = causes.drawn(language)
    halves = [{row.conversation.id for row in causes.drawn(language, part)} for part in ("a", "b")]

    assert set(Counter(row.cause for row in whole).values()) == {causes.EACH}
    assert [row.conversation.id for row in whole] == [r.conversation.id for r in causes.drawn(language)]
    assert not halves[0] & halves[1]
    assert halves[0] | halves[1] == {row.conversation.id for row in whole}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_request_holds_a_label(language: Language) -> None:
    """Neither a cause by its name, nor the id of the row."""
    rows = causes.drawn(language)
    for material in causes.requests(rows):
        said = CausePrompt().messages(material)[1]["content"]
        names = {name for name in JUDGED_NAMES if "_" in name}
        assert not [name for name in names if name in said]
        assert material.context.conversation not in said


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_ids_prove_of_planted_faults_is_right(language: Language) -> None:
    """A fifth of them, and not one wrongly."""
    findings = causes.named(causes.faults(language), {})
    sure = [each for each in findings if each.root_cause.sure]

    assert len(sure) >= len(findings) // 6
    assert not [each for each in sure if each.is_false]


@pytest.mark.parametrize("language", LANGUAGES)
def test_five_bots_answer_four_questions_in_two_turns(language: Language) -> None:
    """Every fault has its causes; what a bot is called stands in no text that a judge sees."""
    own = five_bots.planted(language)

    assert Counter(each.bot for each in own) == dict.fromkeys(five_bots.BOTS, 4)
    assert all(len(each.conversation.turns) == 2 for each in own)
    assert sum(bool(right) for each in own for right in each.causes) == 34
    texts = [turn.answer.text for each in own for turn in each.conversation.turns]
    assert not [text for text in texts for bot in five_bots.BOTS if bot in text.casefold().split()]
