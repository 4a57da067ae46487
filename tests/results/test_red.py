"""Which turns are red, and why."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from simulator.core.settings import load_settings
from simulator.core.types import RedRules, Score, Severity
from simulator.results.figures import RedTurn
from simulator.results.red import (
    LAPSES,
    grading_judges,
    gravest_reason,
    is_red_alone,
    primary_judge,
    red_marks,
    red_questions,
    worst_severity,
)
from simulator.results.rows import Mark
from tests.sample_runs import changed, rehearsed, summed

TALK = "angry/fees#0"
OFF = RedRules(overall=None, groundedness=None, correctness=None, claims=False, facts=False)


def grade(judge: str, raw: float, **more: Any) -> Score:
    """A grade of 1..5 (a share for claims, facts, rules and whole conversations)."""
    value = raw if judge in ("claims", "facts", "risk", "conversation") else raw / 5
    known: dict[str, Any] = {"conversation": TALK, "turn": 1, "state": "scored", "value": value, "raw": raw}
    return Score(judge=judge, **known | more)


def kinds(*scores: Score, rules: RedRules | None = None, primary: str = "") -> list[str]:
    """The kinds of mark that these scores get."""
    return [mark.kind for mark in red_marks(scores, rules or RedRules(), primary)]


@pytest.mark.parametrize(
    ("score", "severity"),
    [
        (grade("turn", 4), None),
        (grade("turn", 3), "moderate"),
        (grade("turn", 2), "major"),
        (grade("turn", 3, severity="minor"), "minor"),
        (grade("groundedness", 4), None),
        (grade("groundedness", 3), "moderate"),
        (grade("groundedness", 2), "major"),
        *((grade(judge, 1), None) for judge in ("claims", "facts", "risk")),
        *(
            (grade(judge, share), "moderate")
            for judge in ("claims", "facts", "risk")
            for share in (0.99, 0.5)
        ),
        *((grade(judge, 0.49), "major") for judge in ("claims", "facts", "risk")),
        (grade("conversation", 0.51), None),
        (grade("conversation", 0.5), "moderate"),
        (grade("conversation", 0.25), "major"),
        (grade("relevance", 1), None),
        *(
            (grade("turn", 5, detail={"correctness": correct}), severity)
            for correct, severity in ((3, None), (2, "major"), (1, "major"))
        ),
    ],
)
def test_a_grade_below_its_limit_is_a_mark(score: Score, severity: Severity | None) -> None:
    """Although all others are high; far below it a major one, unless the judge says how grave it is.

    A wrong statement is a mark of its own, whatever the overall grade.
    """
    kind = next(iter(score.detail), "overall" if score.judge == "turn" else score.judge)
    marks = red_marks((grade("turn", 5), score), RedRules(), "turn")

    assert [(mark.kind, mark.severity) for mark in marks] == ([(kind, severity)] if severity else [])


def test_questions_come_with_the_gravest_first() -> None:
    """By the worst turn of each, by how many are as bad, by how many are red at all; else as they came."""

    def turns(case: str, *severities: Severity) -> list[RedTurn]:
        told: dict[str, Any] = {
            "persona": "calm",
            "question": "?",
            "reason": "",
            "failure": None,
            "value": 0.2,
        }
        return [
            RedTurn(
                case=case, conversation=f"calm/{case}#{at}", turn=1, answer=f"{case}{at}",
                marks=(Mark("overall", severity, ""),), **told,
            )
            for at, severity in enumerate(severities)
        ]  # fmt: skip

    questions = [
        turns("minor", "minor"),
        turns("often moderate", "moderate", "moderate", "minor"),
        turns("moderate", "moderate"),
        turns("major", "major"),
        turns("as major", "major"),
        turns("twice major", "minor", "major", "major"),
        turns("major and more", "moderate", "major", "minor", "minor"),
    ]
    figures = changed(summed(), answers=tuple(chain.from_iterable(questions)))
    ranked = red_questions(figures)

    same = turns("same", "major", "major", "major", "major")
    who = [("calm", "A"), ("angry", "A"), ("angry", "B"), ("calm", "C")]
    varied = [
        replace(red, persona=persona, answer=said) for red, (persona, said) in zip(same, who, strict=True)
    ]
    (shown,) = red_questions(changed(summed(), answers=tuple(varied)))
    assert [(red.persona, red.answer) for red in shown] == [
        ("calm", "A"), ("angry", "B"), ("calm", "C"), ("angry", "A"),
    ]  # fmt: skip
    assert [found[0].case for found in ranked] == [
        "twice major", "major and more", "major", "as major", "often moderate", "moderate", "minor",
    ]  # fmt: skip
    assert [worst_severity(red.marks) for red in ranked[0]] == ["major", "major", "minor"]


@pytest.mark.parametrize(("met", "gravity"), [(0.5, "moderate"), (0.49, "major")])
@pytest.mark.parametrize(("turn", "at"), [(2, 2), (1, 1), (4, 4), (0, 4), (5, 4), ("2", 4), (None, 4)])
def test_a_finding_stands_on_the_turn_that_it_names(turn: object, at: int, met: float, gravity: str) -> None:
    """On the last one where there is no such turn; the judge's own severity goes before the kind's."""
    lapse = {"kind": "loops", "what": "it", "turn": turn}
    unmet = {"sentence": "names the fee ", "state": "unmet", "turn": turn, "why": "it named none"}
    scores = (
        grade("conversation", 1.0, turn=4, detail={"lapses": [lapse]}, severity="minor"),
        grade("expectations", 0.5, turn=4, value=met, detail={"expectations": [unmet]}),
        grade("tools", 0.9, turn=4, value=0.9, detail={"turn": turn}),
    )
    marks = {n: red_marks(scores, RedRules(), turn=n) for n in range(6)}

    assert [n for n, of_turn in marks.items() if of_turn] == [at]
    assert [(mark.kind, mark.severity, mark.reason) for mark in marks[at]] == [
        ("loops", "minor", "it"),
        ("expectations", gravity, "names the fee: it named none"),
        ("tools", "major", ""),
    ]


def test_the_reason_is_that_of_the_gravest_mark_that_has_one() -> None:
    """Whatever the order of the marks."""
    marks = Mark("loops", "moderate", "a"), Mark("risk", "major"), Mark("tools", "major", "b")

    assert gravest_reason(marks) == gravest_reason(marks[::-1]) == "b"
    assert gravest_reason((Mark("no_answer", "major"),)) == ""


@pytest.mark.parametrize("off", ["false", "0"])
@pytest.mark.parametrize("kind", sorted(RedRules.model_fields))
def test_each_rule_switches_off_its_own_mark_alone(kind: str, off: str, tmp_path: Path) -> None:
    """In `[red]` of rehearsal.toml; all other marks of the same turn stay."""
    low = [grade("turn", 1, detail={"correctness": 1}), grade("groundedness", 1)]
    low += [grade(judge, 0.0) for judge in ("claims", "facts", "risk", "tools")]
    low += [
        grade(
            "conversation",
            0.0,
            detail={"lapses": [{"kind": name, "what": "it", "turn": 1} for name in LAPSES]},
        )
    ]
    unmet = {"sentence": "names the fee", "state": "unmet", "turn": 1}
    low.append(grade("expectations", 0.0, detail={"expectations": [unmet]}))
    (tmp_path / "rehearsal.toml").write_text(f"[red]\n{kind} = {off}\n", encoding="utf-8")
    rules = load_settings({}).red

    marks = {*RedRules.model_fields} - {"lapses"} | {*LAPSES}

    assert set(kinds(*low)) == marks
    assert set(kinds(*low, rules=rules)) == marks - ({*LAPSES} if kind == "lapses" else {kind})


def test_a_missing_answer_is_one_mark_whatever_the_rules() -> None:
    """The bot's own failure is major, and not five marks for five lowest grades."""
    reason = "回答がありません：timeout"
    failed = [grade(judge, 1, by_rule=True, reason=reason) for judge in ("turn", "groundedness")]

    (mark,) = red_marks(failed, OFF)

    assert (mark.kind, mark.severity, mark.reason) == ("no_answer", "major", reason)


def test_skipped_and_failed_scores_mark_nothing() -> None:
    """Only grades count."""
    skipped = Score(judge="turn", conversation=TALK, turn=1, state="skipped")
    failed = Score(judge="turn", conversation=TALK, turn=1, state="failed")

    assert kinds(skipped) == kinds(failed) == []


def test_a_mark_names_the_judge_that_decides_in_place_of_turn() -> None:
    """Its grade is the low one."""
    assert [red_marks((grade(judge, 1),), RedRules())[0].judge for judge in ("rouge_l", "turn")] == [
        "rouge_l",
        "",
    ]


@pytest.mark.parametrize("primary", ["", "turn", "similarity"])
def test_where_reference_and_passages_disagree_only_what_rests_on_them_is_hidden(primary: str) -> None:
    """No low grade; but what no passage says, a wrong fact, a broken rule and an open request are red."""
    found = {"conflicts": [{"reference": "4,180円", "passages": "5,280円"}]}
    undecided = Score(judge="turn", conversation=TALK, turn=1, state="skipped", detail=found)
    others = ("groundedness", "claims", "facts", "risk", "conversation")
    low = (grade("groundedness", 1), *(grade(judge, 0) for judge in others[1:]))

    assert kinds(undecided, grade("similarity", 1), primary=primary) == []
    assert kinds(grade("turn", 1, detail=found), primary="turn") == ["overall"]
    assert kinds(undecided, grade("similarity", 1), *low, primary=primary) == list(others)


@pytest.mark.parametrize(
    ("score", "red"),
    [
        (grade("turn", 3), True),
        (grade("turn", 5, detail={"correctness": 2}), True),
        (grade("turn", 4), False),
        (grade("similarity", 3), True),
        (grade("groundedness", 3), True),
        (grade("groundedness", 3.2), False),
        (grade("facts", 0.75), True),
    ],
)
def test_one_grade_is_red_by_the_rule_of_its_judge(score: Score, red: bool) -> None:
    """Or as the judge that decides."""
    assert is_red_alone(score, RedRules()) is red
    assert not is_red_alone(score, OFF)


def test_who_decides() -> None:
    """Whole rows, `turn`, or the first judge; not that of whole conversations, nor `passed` ungraded."""
    assert primary_judge(("conversation", "claims", "facts")) == "claims"
    deciding = [primary_judge(names) for names in (("em", "turn"), ("turn", "passed"), ())]
    assert deciding == ["turn", "passed", ""]
    assert grading_judges(rehearsed(), ("passed", "turn"))[0] == "turn"
