"""A run as tables of cells and rows of plain values; painters draw them and compute nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from simulator.core.document import Cell, Table, Text, points
from simulator.core.messages import Message, _, safe_text
from simulator.core.titles import Titles, title
from simulator.core.types import Case, Conversation, RedRules, Score, Spending, Turn
from simulator.report.context import ReportContext
from simulator.stats.figures import Mean, RedTurn, Summary, turn_failure
from simulator.stats.red import KINDS, worst_severity
from simulator.storage.results import conversations_with_scores


def personas_table(summary: Summary, titles: Titles) -> Table:
    """Mean of every judge for every persona, then for all of them.

    When the bot left turns unanswered, a last row has the means without those, which do not show what they
    rest on.
    """
    limit = summary.rules.overall

    def row(name: Cell, score: Mean, red: Text | Cell, judges: Mapping[str, Mean]) -> list[Text | Cell]:
        # How a customer feels is no fault of the bot's by itself.
        limits = {judge: None if judge.partition("@")[0] == "tone" else limit for judge in judges}
        return [
            name,
            _mean_cell(score, limit),
            red,
            *(_mean_cell(mean, limits[judge]) for judge, mean in judges.items()),
        ]

    rows = [
        row(
            Cell(text=titles("persona", each.persona), number=each.conversations),
            Mean(mean=each.score, n=each.graded, planned=each.conversations),
            Cell(text=f"{each.red:,} / {each.turns:,}", number=each.red),
            each.judges,
        )
        for each in summary.personas
    ]
    planned = sum(persona.conversations for persona in summary.personas) or summary.turns
    everyone = row(
        Cell(text=_("All"), number=planned),
        Mean(mean=summary.score, n=summary.graded, planned=planned),
        Cell(text=f"{summary.red:,} / {summary.turns:,}", number=summary.red),
        {name: Mean(mean=j.mean, n=j.n, planned=j.planned) for name, j in summary.judges.items()},
    )
    rows.append(everyone)
    if summary.bot_failures:
        score = Mean(mean=summary.answered_score, n=0, planned=0)
        judges = {name: Mean(mean=j.answered_mean, n=0, planned=0) for name, j in summary.judges.items()}
        rows.append(row(Cell(text=_("Answered only")), score, "", judges))
    columns = (_("Customer"), _("Score"), _("Red"), *(title("judge", name) for name in summary.judges))
    return Table.of("personas", columns, rows, _("Customer × judge"))


def usage_table(summary: Summary) -> Table:
    """Calls, tokens and money by role and model; calls answered from the cache stand apart."""
    columns = (_("Role"), _("Calls"), _("Cached"), _("Tokens in"), _("Tokens out"), _("Cost (USD)"))
    rows = [
        (
            name,
            *(spent.calls, spent.cached, spent.tokens_in, spent.tokens_out),
            Cell(text=money(spent.cost_usd), number=spent.cost_usd),
        )
        for name, spent in spent_by(summary)
    ]
    return Table.of("usage", columns, rows, _("Usage"))


def spent_by(summary: Summary) -> Iterator[tuple[Text, Spending]]:
    """The spending of each model in each role, or of the role alone where its models are not known."""
    for role, spent in summary.spending.items():
        name = title("role", role)
        for model, model_spent in summary.usage.get(role, {"": spent}).items():
            yield _("{role} ({model})", role=name, model=safe_text(model)) if model else name, model_spent


def grade_text(score: Score) -> Text:
    """A grade as people read it: '4 / 5', or why there is none."""
    if score.state == "scored" and score.raw is not None:
        return f"{round(score.raw, 2):g} / {score.scale[1]:g}"
    return _("not graded") if score.state == "failed" else _("skipped")


def mark_text(red: RedTurn) -> Message:
    """The marks of a turn in words: never by colour alone."""
    return _("▲ {marks}", marks=[title("mark", mark.kind) for mark in red.marks])


def answer_text(turn: Turn, failure: str | None) -> Text:
    """What the bot said, or that it said nothing and why."""
    if turn.unrecorded:
        return _("(no answer in the log)")
    if turn.answer.text.strip():
        return safe_text(turn.answer.text)
    return _("(no answer: {kind})", kind=title("failure", failure)) if failure else ""


def expected_text(case: Case) -> str:
    """What a right answer to a row would be: its label, or its references; empty where it has neither."""
    return safe_text(case.label or " | ".join(case.references_at(1)))


def money(amount: float | None) -> Text:
    """Dollars with as many decimals as small amounts need."""
    if amount is None:
        return _("unknown (a model has no known price)")
    return f"{amount:,.2f}" if amount == 0 or amount >= 1 else f"{amount:.4f}"


def rules_text(rules: RedRules) -> Message:
    """The rules for red in one line, each with its limit or that it is off."""
    limits = {
        "overall": rules.overall and f"< {100 * rules.overall:g}",
        "groundedness": rules.groundedness and f"<= {rules.groundedness:g}",
        "correctness": rules.correctness and f"<= {rules.correctness:g}",
        "claims": rules.claims and "< 100",
        "facts": rules.facts and "< 100",
    }
    listed = [
        _("{name} {limit}", name=title("mark", kind), limit=limits[kind] or _("off"))
        for kind in KINDS
        if kind in limits
    ]
    return _("{parts}", parts=listed)


def ending(conversation: Conversation) -> Text:
    """How a conversation ended, or that it is still going on."""
    return title("ended", conversation.ended.value) if conversation.ended else _("not finished")


def _mean_cell(mean: Mean, limit: float | None) -> Cell:
    """A mean with its coverage as the note; red below the limit."""
    low = mean.mean is not None and limit is not None and mean.mean < limit
    text, note = points(mean.mean, against=limit), f"{mean.n}/{mean.planned}" if mean.planned else ""
    return Cell(text=text, number=mean.mean, red=low, note=note)


def turn_rows(context: ReportContext) -> Iterator[dict[str, Any]]:
    """One mapping per turn, with plain values: texts, numbers, lists and None."""
    for conversation, by_turn in conversations_with_scores(context.results):
        for turn in conversation.turns:
            yield _turn_row(conversation, turn, by_turn.get(turn.index, {}), context)


def _turn_row(
    conversation: Conversation, turn: Turn, scores: Mapping[str, Score], context: ReportContext
) -> dict[str, Any]:
    red = context.red.get((conversation.id, turn.index))
    verdict = scores.get(context.summary.primary)
    steps = [step.model_dump(mode="json", exclude={"usage"}) for step in turn.answer.steps]
    return {
        "conversation": conversation.id,
        "turn": turn.index,
        "persona": conversation.persona,
        "case": conversation.case.id,
        "language": conversation.case.language,
        "ended": conversation.ended.value if conversation.ended else None,
        "user": turn.user,
        "answer": turn.answer.text,
        "answer_failure": "unrecorded" if turn.unrecorded else turn_failure(turn),
        "answer_seconds": turn.answer.seconds,
        "passages": [passage.id for passage in turn.answer.passages],
        "red": red is not None,
        "severity": worst_severity(red.marks) if red else None,
        "marks": [mark.kind for mark in red.marks] if red else [],
        "reason": (red.reason if red else "") or (verdict.reason if verdict else ""),
        "scores": {name: _score_values(scores[name]) for name in context.summary.judges if name in scores},
        **({"steps": steps} if steps else {}),
    }


def _score_values(score: Score) -> dict[str, Any]:
    values = {"state": score.state, "value": score.value, "raw": score.raw, "reason": score.reason}
    return values | {"severity": score.severity, "detail": dict(score.detail), "rubric": score.rubric}
