"""A run's scores beside what its team said of the same answers: blind grades, and the review."""

from collections.abc import Iterator

from simulator.core.errors import RunFileError
from simulator.core.types import PASSED, Conversation, Results, Score, Turn
from simulator.grading.metric_file import DEFAULT
from simulator.grading.outputs import Part, is_reference, object_within, output_text, text_at, whole_object
from simulator.stats.corrected import blind_grades
from simulator.stats.figures import Summary
from simulator.thresholds.judged import Evidence, Judged, measured

# A blind grade from here on (four of five) says that the answer is right.
GOOD = 0.8
Place = tuple[str, int]


def evidence_of(results: Results, summary: Summary, judges: tuple[str, ...], by: str | None) -> Evidence:
    """Every score of a turn that people judged; raises RunFileError where nobody did.

    `judges` are those that are asked about (empty: all). `by` is `tags` or `persona`: what parts domains.
    """
    said = said_right(results, summary)
    if not said:
        msg = (
            f"{results.run.id}: nobody has said which answers are right; read verdicts back with `review`,"
            " or name a file of labelled answers."
        )
        raise RunFileError(msg)
    turns = {(talk.id, turn.index): (talk, turn) for talk in results.conversations for turn in talk.turns}
    judged: list[Judged] = []
    failed = skipped = 0
    for score in results.scores:
        place = (score.conversation, score.turn)
        if place not in said or place not in turns or score.judge == PASSED or "@" in score.judge:
            continue
        if judges and _judge(score) not in judges:
            continue
        failed, skipped = failed + (score.state == "failed"), skipped + (score.state == "skipped")
        judged += _judged(score, *turns[place], right=said[place], by=by)
    return Evidence(tuple(judged), len(turns) - len(said), skipped, failed)


def said_right(results: Results, summary: Summary) -> dict[Place, bool]:
    """What people say of a turn: by blind grades where there are some, else by the review of the red marks.

    A confirmed red mark is a wrong answer, a false alarm a right one; a turn that should be red is wrong.
    """
    red = {(turn.conversation, turn.turn) for turn in summary.reddest}
    found: dict[Place, bool] = {}
    for verdict in results.verdicts:
        place = (verdict.conversation, verdict.turn)
        if verdict.source == "review" and verdict.judge_is in ("right", "wrong"):
            found[place] = (place in red) == (verdict.judge_is == "wrong")
    blind = blind_grades(results.verdicts)
    return found | {place: grade.value >= GOOD for place, grade in blind.items()}


def _judge(score: Score) -> str:
    output = score.detail.get("output")
    return score.judge.removeprefix(f"{output}.") if isinstance(output, str) else score.judge


def _judged(score: Score, talk: Conversation, turn: Turn, *, right: bool, by: str | None) -> Iterator[Judged]:
    output = str(score.detail.get("output", DEFAULT))
    judge, same = _judge(score), is_reference(_part(output, talk, turn))
    value = measured(score, judge, same=same)
    whole = output == DEFAULT
    if value is None or (same and not right and not whole):
        return  # of a wrong answer, an output that is its reference is not the cause
    domains = {"tags": talk.case.tags, "persona": (talk.persona,)}.get(by or "", ("",)) or ("",)
    for domain in domains:
        yield Judged(judge, output, domain, value, score.scale, right, talk.case.id)


def _part(output: str, talk: Conversation, turn: Turn) -> Part:
    """The output of an answer as it was graded, without the file that named its judges."""
    references = talk.case.references_at(turn.index)
    if output == DEFAULT:
        return Part(output, (), output_text(turn.answer.text), tuple(map(output_text, references)))
    objects = [found for text in references if (found := whole_object(text)) is not None]
    right = [text for found in objects if (text := text_at(found, output)) is not None]
    answer = object_within(turn.answer.text, [key for found in objects for key in found])
    given = None if answer is None else text_at(answer, output)
    return Part(output, (), given or "", tuple(right), "" if given is not None else "key")
