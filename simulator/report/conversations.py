"""A conversation as the page of a run shows it: what was said, and what judges and people say of it.

The values are what `conversation.html.j2` names. All of them are worked out here, and none in the template.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.core.document import Text
from simulator.core.messages import _, safe_text
from simulator.core.titles import TITLES, title
from simulator.core.types import (
    CONVERSATION,
    EXPECTATIONS,
    TOOLS,
    Conversation,
    Passage,
    Reaction,
    Score,
    Turn,
    TurnScores,
    response_in,
)
from simulator.report import tables
from simulator.report.context import ReportContext
from simulator.results.red import detail_rows, lapses_of, red_marks, verdicts_on, worst_severity
from simulator.sheets.model import answer_key

# Characters. Longer texts are cut: whole ones are in the run file.
LONGEST = 6000
# The anchors of passages, by label and text.
Shelf = dict[tuple[str, str], str]


def conversation_values(
    context: ReportContext, talk: Conversation, scores: TurnScores, shelf: Shelf
) -> dict[str, Any]:
    """What is drawn of a conversation; the passages that were retrieved for it are added to the shelf."""
    # A judge of the whole conversation has its score at the last turn.
    ends = scores.get(len(talk.turns), {})
    reds = [red for turn in talk.turns if (red := context.red.get((talk.id, turn.index)))]
    return {
        "c": talk,
        "score": context.summary.scores.by_conversation.get(talk.id),
        "ending": ""
        if context.summary.rows and not talk.reason
        else tables.ending(context.endings.get(talk.id, "")),
        "reaction": _reaction(context, talk.reaction),
        "wholes": [_whole(context, score) for score in ends.values() if _is_shown_whole(score)],
        "expected": tables.expected_text(talk.case) if context.summary.rows else "",
        "details": tables.details_text(talk.case) if talk.case.details else "",
        "reds": reds,
        "severity": worst_severity(mark for red in reds for mark in red.marks),
        "turns": [_turn(context, talk, turn, scores.get(turn.index, {}), shelf) for turn in talk.turns],
    }


def _turn(
    context: ReportContext, talk: Conversation, turn: Turn, scores: Mapping[str, Score], shelf: Shelf
) -> dict[str, Any]:
    """A turn with what is said about it."""
    key, answer = (talk.id, turn.index), turn.answer
    red = context.red.get(key)
    text = tables.answer_text(turn, red.failure if red else None)
    links = {passage.id: _link(passage, shelf) for passage in answer.passages}
    did = response_in(scores)
    graded = (scores[name] for name in context.summary.scores.active if name in scores)
    return {
        "turn": turn,
        "key": answer_key(talk.case, turn),
        "red": red,
        "mark": tables.mark_text(red) if red else "",
        "likely": context.likely_cause(*key),
        "severity": worst_severity(red.marks) if red else "",
        "why": tables.why(red, turn) if red else "",
        "words": context.words(*key),
        "user": cut(turn.user),
        "answer": cut(text) if isinstance(text, str) else text,
        "reaction": _reaction(context, turn.reaction),
        # What most answers do goes without saying.
        "response": "" if did in (None, "answered") else context.titles("response", did),
        "claims": _unsupported(scores.get("claims"), links),
        "grades": [
            _grade(context, score)
            for score in graded
            if score.state != "skipped" and not _is_shown_whole(score)
        ],
        "passages": [
            (*links[passage.id], "" if passage.score is None else f"{passage.score:.2f}")
            for passage in answer.passages
        ],
        # None of a bot that does not show its tools.
        "tools": None
        if answer.tools is None
        else [(call.name, cut(call.arguments), cut(call.result or "")) for call in answer.tools],
    }


def _link(passage: Passage, shelf: Shelf) -> tuple[str, str]:
    """Label and anchor of a passage; its text is collected once."""
    label = passage.source or passage.id
    return label, shelf.setdefault((label, passage.text), f"p{len(shelf) + 1}")


def _reaction(context: ReportContext, reaction: Reaction | None) -> tuple[Text, ...]:
    """What the customer made of the answer before, where anybody said it."""
    if reaction is None or reaction.got is None:
        return ()
    feeling = tables.feeling_text(reaction.feeling)
    why = (cut(reaction.why),) if reaction.why else ()
    return context.titles("got", reaction.got), feeling, *why


def _is_shown_whole(score: Score) -> bool:
    """Whether a score stands with the whole conversation, and not with its last turn."""
    return score.is_whole and score.state == "scored"


def _whole(context: ReportContext, score: Score) -> dict[str, Any]:
    """What a judge says of the whole conversation: its requests, and what went wrong between turns."""
    listed = list[Text]()
    for request in detail_rows(score, "requests") if score.judge == CONVERSATION else ():
        asked, state = cut(str(request.get("request", ""))), title("state", str(request.get("state")))
        listed.append(_("{request} · {state}", request=asked, state=state))
    for turn, lapse in lapses_of(score):
        name, at = title("lapse", lapse.kind), _("answer {n}", n=turn)
        listed.append(_("{kind} ({at}): {what}", kind=name, at=at, what=cut(lapse.reason)))
    for row in verdicts_on(score) if score.judge == EXPECTATIONS else ():
        state, quote = title("outcome", row["state"]), safe_text(str(row.get("quote", "")).strip())
        said = _("{sentence} · {state}", sentence=cut(row["sentence"]), state=state)
        if row["turn"] and quote:
            said = _("{said} (message {by}: “{quote}”)", said=said, by=row["turn"], quote=cut(quote))
        listed.append(said)
    share = f"{100 * (score.value or 0.0):.0f}"
    resolved = _("{n} % met", n=share) if score.judge == EXPECTATIONS else _("{n} % resolved", n=share)
    return {
        "judge": score.judge,
        "resolved": tables.grade_text(score) if score.judge == TOOLS else resolved,
        "red": bool(red_marks([score], context.summary.red.rules)),
        "reason": cut(score.reason),
        "listed": listed,
    }


def _grade(context: ReportContext, score: Score) -> dict[str, Any]:
    """A grade with its reason, and the figures behind it that have a name: the turn judge's categories."""
    steps = score.detail.get("steps")
    return {
        "judge": context.titles("judge", score.judge),
        "grade": tables.grade_text(score),
        "reason": cut(score.reason) or "–",
        "figures": [
            (context.titles("category", name), value)
            for name, value in score.detail.items()
            if isinstance(value, int | float) and name in TITLES["category"] and name != "overall"
        ],
        "steps": [cut(str(step)) for step in steps] if isinstance(steps, list) else [],
    }


def _unsupported(
    score: Score | None, links: Mapping[str, tuple[str, str]]
) -> Sequence[tuple[str, Text, tuple[str, str] | None]]:
    """What `claims` called unsupported, contradictions first: verdict, words, and the passage."""
    claims = (
        (str(claim["verdict"]), cut(words), links.get(str(claim.get("passage"))))
        for claim in (detail_rows(score, "claims") if score and score.state == "scored" else ())
        if claim.get("verdict") in ("contradicted", "not_found")
        and isinstance(words := claim.get("claim"), str)
        and words.strip()
    )
    return sorted(claims, key=lambda claim: claim[0])


def cut(text: str) -> Text:
    """A text that fits on a page, with how much of it was left out."""
    text, left = safe_text(text), len(text) - LONGEST
    if left <= 0:
        return text
    more = _("… ({n} more characters are in the run file)", n=left)
    return _("{text}{more}", text=text[:LONGEST], more=more)
