"""Reads a run file for its figures: once, conversation by conversation.

All figures of a run are made of what `run_turns` returns (results/rows.py); the file is opened again only for
texts, and only for those that a report quotes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import get_args

from simulator.core.types import (
    COMPLETE,
    CONFLICTS_IGNORED,
    CONVERSATION,
    EXPECTATIONS_IGNORED,
    LAPSES_IGNORED,
    RETEST,
    TURN,
    Case,
    Conversation,
    Facts,
    Failure,
    RedRules,
    Results,
    Score,
    Turn,
)
from simulator.results.figures import turn_failure
from simulator.results.red import (
    LAPSES,
    PLACED,
    ending_of,
    expected_of,
    is_flipped,
    is_unanswered,
    is_undecided,
    lapses_of,
    last_score,
    red_marks,
)
from simulator.results.rows import ConversationRow, Grade, GradedTurn, Mark, Outcome, RunTurns
from simulator.storage.results import conversations_with_scores
from simulator.text.phrases import is_courtesy

_IGNORED = (CONFLICTS_IGNORED, LAPSES_IGNORED, EXPECTATIONS_IGNORED)
_FAILURE_KINDS = frozenset(get_args(Failure.model_fields["kind"].annotation))


def run_turns(results: Results, rules: RedRules, primary: str) -> RunTurns:
    """Every turn of the run, with the scores that belong to it; `primary` is the judge that decides."""
    run = RunTurns(primary)
    judges = results.scores.judges
    # Of another judge only where `turn` was not asked: a rubric of one's own may have such a field, too.
    of_response = [TURN] if TURN in judges else sorted(judge for judge in judges if "@" not in judge)
    # Equal grades and marks exist once, for a run has many.
    grades: dict[tuple[Grade, ...], dict[str, Grade]] = {}
    marks: dict[tuple[Mark, ...], tuple[Mark, ...]] = {}
    retrieved: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
    for conversation, by_turn in conversations_with_scores(results):
        run.repeats = max(run.repeats, conversation.repeat)
        case = conversation.case
        run.references = run.references or _says_what_is_right(case)
        run.evidence = (
            run.evidence or has_evidence(case) or any(t.answer.passages for t in conversation.turns)
        )
        missing = (turn.answer.missing_passages for turn in conversation.turns)
        run.unsourced.update(filter(None, missing))
        run.answers = run.answers or not all(turn.unrecorded for turn in conversation.turns)
        if not (conversation.turns or conversation.ended):
            # Planned and not begun: interrupted before.
            run.unbegun += conversation.ended is None
            continue
        turns = list[GradedTurn]()
        if (whole := last_score(by_turn, CONVERSATION)) and whole.value is not None:
            lapses = lapses_of(whole)
            run.lapses.update(dict.fromkeys(LAPSES, 0))
            run.lapses.update(mark.kind for _turn, mark in lapses)
            run.lapsed += bool(lapses)
        run.expectations.update(row["state"] for row in expected_of(by_turn))
        for turn, marks_of_turn in marked_turns(conversation, by_turn, rules, primary):
            scores = by_turn.get(turn.index, {})
            run.whole |= {name for name, score in scores.items() if score.is_whole}
            grades_of_turn = tuple(_grade(score, rules) for score in scores.values())
            graded = grades.setdefault(grades_of_turn, {grade.judge: grade for grade in grades_of_turn})
            # Without their reasons, which are long.
            brief = tuple(replace(mark, reason="") for mark in marks_of_turn)
            came = tuple((passage.id, passage.source or "") for passage in turn.answer.passages)
            responses = (scores[judge].response for judge in of_response if judge in scores)
            turns.append(
                GradedTurn(
                    conversation.id,
                    case.id,
                    conversation.persona,
                    turn.index,
                    graded,
                    graded[primary].value if primary in graded else None,
                    marks.setdefault(brief, brief),
                    turn_failure(turn),
                    next(filter(None, responses), None),
                    turn.answer.seconds,
                    turn.answer.first_token_seconds,
                    unrecorded=turn.unrecorded,
                    courtesy=turn.unrecorded and is_courtesy(turn.user, case.language),
                    is_last=conversation.ended in COMPLETE and turn is conversation.turns[-1],
                    retrieved=retrieved.setdefault(came, came),
                )
            )
        run.conversations.append(
            ConversationRow(
                conversation.id,
                case.id,
                case.question if not results.is_sampled or any(turn.marks for turn in turns) else "",
                conversation.persona,
                conversation.ended,
                tuple(turns),
                tuple(turn.broken_rules for turn in conversation.turns if turn.broken_rules),
                sum(bool(reaction and reaction.overruled) for reaction in conversation.reactions),
                conversation.user_model,
                case.answerable,
                case.handover,
                case.passages,
                case.tags,
                next((r.feeling for r in reversed(conversation.reactions) if r and r.got), None),
                ending_of(conversation, (mark for turn in turns for mark in turn.marks), by_turn, rules),
            )
        )
    return run


def _says_what_is_right(case: Case) -> bool:
    return any(case.references) or case.label is not None or case.facts != Facts()


def has_evidence(case: Case) -> bool:
    """Whether a case says itself what a right answer to it is, or what has to be known for one."""
    return _says_what_is_right(case) or case.answerable is False or case.handover != "optional"


def marked_turns(
    conversation: Conversation, by_turn: Mapping[int, Mapping[str, Score]], rules: RedRules, primary: str
) -> Iterator[tuple[Turn, tuple[Mark, ...]]]:
    """The turns with their marks; one whose answer failed is red even while its grades are still missing."""
    placed = {judge: score for judge in PLACED if (score := last_score(by_turn, judge))}
    for turn in conversation.turns:
        scores = by_turn.get(turn.index, {})
        if turn_failure(turn) and not any(is_unanswered(s) for s in scores.values()):
            yield turn, (Mark(kind="no_answer", severity="major"),)
        else:
            every = {**scores, **placed}.values()
            yield turn, red_marks(every, rules, primary, turn=turn.index)


def _grade(score: Score, rules: RedRules) -> Grade:
    """What figures need of a score: without its texts, which would take most of the memory of a large run.

    A failure whose kind nobody knows, as that of a judge of one's own, is an `error`.
    """
    failure, second = None, None
    retest: Outcome = ""
    if RETEST in score.detail:
        second = score.second
        retest = "failed" if second is None else "flipped" if is_flipped(score, rules) else "same"
    if score.state == "failed":
        # A score without the kind in its detail may have it before the colon of its reason: "timeout: 60 s".
        kind = score.detail.get("kind") or score.reason.partition(":")[0].strip()
        failure = kind if isinstance(kind, str) and kind in _FAILURE_KINDS else "error"
    return Grade(
        score.judge,
        score.state,
        score.value,
        score.raw,
        score.scale,
        "" if score.by_rule else score.rubric,
        failure,
        score.reason if failure else "",
        is_undecided(score),
        # A judge of the user's own may keep something else there.
        sum(n for key in _IGNORED if isinstance(n := score.detail.get(key), int)),
        "output" in score.detail and "passed" not in score.detail,
        retest,
        second.value if second else None,
    )
