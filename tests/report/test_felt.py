"""What customers felt at the end, in words."""

import pytest

from simulator.core.document import Line
from simulator.core.types import Language, Reaction
from simulator.report.sections import felt_section
from tests.diff_runs import a_result, grades_of
from tests.sample_pages import full
from tests.sample_runs import rehearsed, summed
from tests.texts import said


@pytest.mark.parametrize(
    ("language", "words"), [("ja", "怒り 1件、不満 1件"), ("en", "angry 1, discontent 1")]
)
def test_feelings_are_counted_in_words(language: Language, words: str) -> None:
    """By kind of customer and by question, the most discontent first; the last thing they felt counts."""
    results = rehearsed(language)
    feelings = iter((-2, 1, -1, 2, 0, 1))
    conversations = tuple(
        c.model_copy(
            update={"persona": "calm" if n % 2 else "angry", "reaction": Reaction(got="partly", feeling=f)}
        )
        for n, (c, f) in enumerate(zip(results.conversations, feelings, strict=True))
    )
    summary = summed(results.model_copy(update={"conversations": conversations}), ("turn",))
    section = felt_section(summary, summary.titles(language))
    assert section
    kinds, questions = section.tables

    assert words in said(kinds.rows[0][1].text, language)
    assert "6" in said(section.line, language)
    assert len(questions.rows) == 2


def test_questions_that_are_not_listed_are_counted() -> None:
    """Five are listed."""
    results = a_result(grades_of([0.2] * 7))
    talks = tuple(
        talk.model_copy(update={"reaction": Reaction(got="nothing", feeling=-2)})
        for talk in results.conversations
    )
    summary = summed(results.model_copy(update={"conversations": talks}), ("turn",))
    section = felt_section(summary, summary.titles("en"))

    assert section
    assert isinstance(section.blocks[-1], Line)
    assert said(section.blocks[-1].text) == "2 more"


def test_nothing_is_said_where_nobody_felt_anything() -> None:
    """Neither a judge of feelings nor a customer that reacts."""
    summary = summed(rehearsed("en"), ("turn",))

    assert felt_section(summary, summary.titles("en")) is None
    assert felt_section(summed(full("en"), ("turn", "tone")), summary.titles("en"))
