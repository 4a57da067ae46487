"""Words that are not borne out, found in the answer whatever became of them on the way."""

import pytest

from simulator.core.types import Score
from simulator.report.run_page import Flaw, flaws, marked


def claim(words: str, kind: str = "not_found") -> Flaw:
    """Words that a judge found in no passage."""
    return Flaw("contradicted" if kind == "contradicted" else "not_found", "claims", words)


def underlined(answer: str, *found: Flaw) -> list[tuple[int, str]]:
    """Number and text of what is underlined."""
    spans, _ = marked(answer, found)

    assert "".join(span.text for span in spans) == answer
    return [(span.flaw.number, span.text) for span in spans if span.flaw]


@pytest.mark.parametrize(
    ("answer", "words", "shown"),
    [
        ("解約金は9,800円です。", "解約金は９，８００円", "解約金は9,800円"),
        ("解約金は ９,８００ 円です。", "解約金は9,800円です", "解約金は ９,８００ 円です"),
        ("ﾊﾞｯｸｱｯﾌﾟは無料です。", "バックアップは無料", "ﾊﾞｯｸｱｯﾌﾟは無料"),
        ("It costs\n 550 Yen.", "it costs 550 yen", "It costs\n 550 Yen"),
        ("はい。郵送は1通550円で承ります。", "郵送は一通550円で承ります", "郵送は1通550円で承ります。"),
        ("Yes. You may return the box whenever you like. Bye.", "return box whenever you like",
         "You may return the box whenever you like."),
        ("240円です。24円です。", "24円", "24円"),
        ("何もありません。", "まったく別の主張である", None),
        ("", "何か", None),
    ],
)  # fmt: skip
def test_words_are_found_as_they_stand(answer: str, words: str, shown: str | None) -> None:
    """Width, spaces and case make no difference; else the nearest sentence, or nothing."""
    assert underlined(answer, claim(words)) == ([(1, shown)] if shown else [])


def test_flaws_are_numbered_as_they_appear() -> None:
    """Whatever the judge named first; what is nowhere in the answer comes last."""
    found = [claim("何か別のこと"), claim("乙である"), claim("甲である", "contradicted")]
    spans, listed = marked("甲である。乙である。", found)

    assert [flaw.words for flaw in listed] == ["甲である", "乙である", "何か別のこと"]
    assert [span.flaw.number for span in spans if span.flaw] == [1, 2]
    assert all(span.ends for span in spans if span.flaw)


def test_only_what_is_not_supported_is_a_flaw() -> None:
    """Contradictions first; a score of another shape has none."""
    verdicts = [("a", "supported"), ("b", "not_found"), ("c", "contradicted"), ("", "not_found")]
    known = {"conversation": "c", "turn": 1, "state": "scored"}
    claims = [{"claim": words, "passage": "p", "verdict": verdict} for words, verdict in verdicts]
    scores = {
        "claims": Score.model_validate(
            {"judge": "claims", "detail": {"claims": [*claims, 7, None]}, **known}
        ),
        "facts": Score.model_validate({"judge": "facts", "detail": {"facts": "none"}, **known}),
    }

    assert [(flaw.kind, flaw.words) for flaw in flaws(scores)] == [("contradicted", "c"), ("not_found", "b")]
    assert flaws({}) == []
