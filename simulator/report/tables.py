"""A run as tables of cells and rows of plain values; painters draw them and compute nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from simulator.core.document import Cell, Table, count_cell
from simulator.core.translations import Words, points, safe_text, words_of
from simulator.core.types import Case, Conversation, Language, RedRules, Score, Spending, Turn
from simulator.report.context import ReportContext
from simulator.stats.figures import Mean, PersonaSummary, RedTurn, Summary
from simulator.stats.red import KINDS, worst_severity
from simulator.stats.summary import turn_failure
from simulator.storage.results import conversations_with_scores


def personas_table(summary: Summary, language: Language) -> Table:
    """Mean of every judge for every persona, then for all of them.

    When the bot left turns unanswered, a last row has the means without those.
    """
    words = words_of(summary, language)
    titles = [words.name("judge", judge) for judge in summary.judges]
    columns = (words("persona"), words("score"), words("red"), *titles)
    rows = [_persona_row(row, summary.rules, words) for row in summary.personas]
    rows.append(_everyone_row(summary, words))
    if summary.bot_failures:
        rows.append(_answered_row(summary, words))
    return Table(name="personas", title=words("heat"), columns=columns, rows=tuple(rows))


def usage_table(summary: Summary, language: Language) -> Table:
    """Calls, tokens and money by role and model; calls answered from the cache stand apart."""
    words = words_of(summary, language)
    columns = ("role_column", "calls", "cached", "tokens_in", "tokens_out", "cost")
    rows = tuple(
        (
            Cell(text=name),
            *(count_cell(n) for n in (spent.calls, spent.cached, spent.tokens_in, spent.tokens_out)),
            Cell(text=money(spent.cost_usd, words), number=spent.cost_usd),
        )
        for name, spent in spent_by(summary, words)
    )
    return Table(name="usage", title=words("usage"), columns=tuple(map(words, columns)), rows=rows)


def spent_by(summary: Summary, words: Words) -> Iterator[tuple[str, Spending]]:
    """The spending of each model in each role, or of the role alone where its models are not known."""
    for role, spent in summary.spending.items():
        name = words.name("role", role)
        for model, model_spent in summary.usage.get(role, {"": spent}).items():
            yield (words("role_model", role=name, model=safe_text(model)) if model else name), model_spent


def grade_text(score: Score, words: Words) -> str:
    """A grade as people read it: '4 / 5', or why there is none."""
    if score.state != "scored" or score.raw is None:
        return words("failed" if score.state == "failed" else "skipped")
    return f"{round(score.raw, 2):g} / {score.scale[1]:g}"


def mark_text(red: RedTurn, words: Words) -> str:
    """The marks of a turn in words: never by colour alone."""
    return "▲ " + words("comma").join(words.name("mark", mark.kind) for mark in red.marks)


def answer_text(turn: Turn, failure: str | None, words: Words) -> str:
    """What the bot said, or that it said nothing and why."""
    if turn.unrecorded:
        return words("unrecorded")
    if turn.answer.text.strip():
        return safe_text(turn.answer.text)
    return words("no_answer", kind=words.name("failure", failure)) if failure else ""


def expected_text(case: Case) -> str:
    """What a right answer to a row would be: its label, or its references; empty where it has neither."""
    return safe_text(case.label or " | ".join(case.references_at(1)))


def money(amount: float | None, words: Words) -> str:
    """Dollars with as many decimals as small amounts need."""
    if amount is None:
        return words("unknown_cost")
    return f"{amount:,.2f}" if amount == 0 or amount >= 1 else f"{amount:.4f}"


def rules_text(rules: RedRules, words: Words) -> str:
    """The rules for red in one line, each with its limit or that it is off."""
    limits = {
        "overall": rules.overall and f"< {100 * rules.overall:g}",
        "groundedness": rules.groundedness and f"<= {rules.groundedness:g}",
        "correctness": rules.correctness and f"<= {rules.correctness:g}",
        "claims": rules.claims and "< 100",
        "facts": rules.facts and "< 100",
    }
    parts = [
        (words.name("mark", kind), limits[kind] or words("rule_off")) for kind in KINDS if kind in limits
    ]
    return words("comma").join(f"{name} {limit}" for name, limit in parts)


def ending(conversation: Conversation, words: Words) -> str:
    """How a conversation ended, or that it is still going on."""
    return words.name("ended", conversation.ended.value) if conversation.ended else words("in_progress")


def _persona_row(row: PersonaSummary, rules: RedRules, words: Words) -> tuple[Cell, ...]:
    """One persona: its name, score, judges and red turns."""
    score = Mean(mean=row.score, n=row.graded, planned=row.conversations)
    return (
        Cell(text=words.name("persona", row.persona), number=row.conversations),
        _mean_cell(score, rules),
        Cell(text=f"{row.red:,} / {row.turns:,}", number=row.red),
        *(_judge_cell(name, mean, rules) for name, mean in row.judges.items()),
    )


def _everyone_row(summary: Summary, words: Words) -> tuple[Cell, ...]:
    """The row of all personas together."""
    planned = sum(persona.conversations for persona in summary.personas) or summary.turns
    score = Mean(mean=summary.score, n=summary.graded, planned=planned)
    judges = [(name, Mean(mean=j.mean, n=j.n, planned=j.planned)) for name, j in summary.judges.items()]
    return (
        Cell(text=words("everyone"), number=score.planned),
        _mean_cell(score, summary.rules),
        Cell(text=f"{summary.red:,} / {summary.turns:,}", number=summary.red),
        *(_judge_cell(name, mean, summary.rules) for name, mean in judges),
    )


def _answered_row(summary: Summary, words: Words) -> tuple[Cell, ...]:
    """The row of all personas, over the turns that got an answer."""
    # The row does not show the coverage of its means.
    score = _mean_cell(Mean(mean=summary.answered_score, n=0, planned=0), summary.rules)
    judges = [
        _judge_cell(name, Mean(mean=judge.answered_mean, n=0, planned=0), summary.rules)
        for name, judge in summary.judges.items()
    ]
    cells = [cell.model_copy(update={"note": ""}) for cell in (score, *judges)]
    return (Cell(text=words("answered_mean")), cells[0], Cell(text=""), *cells[1:])


def _judge_cell(name: str, mean: Mean, rules: RedRules) -> Cell:
    """The mean of one judge; how a customer feels is no fault of the bot's by itself."""
    return _mean_cell(mean, rules if name.partition("@")[0] != "tone" else RedRules(overall=None))


def _mean_cell(mean: Mean, rules: RedRules) -> Cell:
    """A mean with its coverage as the note; red below the limit for Overall."""
    low = mean.mean is not None and rules.overall is not None and mean.mean < rules.overall
    text = points(mean.mean, against=rules.overall)
    return Cell(text=text, number=mean.mean, red=low, note=f"{mean.n}/{mean.planned}")


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
