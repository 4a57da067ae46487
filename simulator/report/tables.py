"""A run as tables of cells. Sinks (sheets, xlsx, csv, console, HTML) paint them and compute nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from simulator.core.document import Cell, Table, count
from simulator.core.translations import Words, plain, points, words_of
from simulator.core.types import Case, Conversation, Language, RedRules, Score, Spending, Turn
from simulator.report.context import ReportContext
from simulator.stats.figures import Mean, PersonaSummary, RedTurn, Summary
from simulator.stats.red import KINDS, worst
from simulator.stats.summary import turn_failure
from simulator.storage.results import with_scores


def personas_table(summary: Summary, language: Language) -> Table:
    """Mean of every judge for every persona, then for all of them.

    When the bot left turns unanswered, a last row has the means without those.
    """
    words = words_of(summary, language)
    titles = [words.name("judge", judge) for judge in summary.judges]
    columns = (words("persona"), words("score"), words("red"), *titles)
    rows = [_persona_row(row, summary.rules, words) for row in summary.personas]
    rows.append(_everyone(summary, words))
    if summary.bot_failures:
        rows.append(_answered(summary, words))
    return Table(name="personas", title=words("heat"), columns=columns, rows=tuple(rows))


def usage_table(summary: Summary, language: Language) -> Table:
    """Calls, tokens and money by role and model; calls answered from the cache stand apart."""
    words = words_of(summary, language)
    columns = ("role_column", "calls", "cached", "tokens_in", "tokens_out", "cost")
    rows = tuple(
        (
            Cell(text=who),
            *(count(n) for n in (spent.calls, spent.cached, spent.tokens_in, spent.tokens_out)),
            Cell(text=money(spent.cost_usd, words), number=spent.cost_usd),
        )
        for who, spent in spent_by(summary, words)
    )
    return Table(name="usage", title=words("usage"), columns=tuple(map(words, columns)), rows=rows)


def spent_by(summary: Summary, words: Words) -> Iterator[tuple[str, Spending]]:
    """What was used by whom: each model in each role, or the role alone where its models are not known."""
    for role, spent in summary.spending.items():
        name = words.name("role", role)
        for model, of_model in summary.usage.get(role, {"": spent}).items():
            yield (words("role_model", role=name, model=plain(model)) if model else name), of_model


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
    silent = words("no_answer", kind=words.name("failure", failure)) if failure else ""
    return plain(turn.answer.text) if turn.answer.text.strip() else silent


def expected_text(case: Case) -> str:
    """What a right answer to a row would be: its label, or its references; empty where it has neither."""
    return plain(case.label or " | ".join(case.references_at(1)))


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


def ending(c: Conversation, words: Words) -> str:
    """How a conversation ended, or that it is still going on."""
    return words.name("ended", c.ended.value) if c.ended else words("in_progress")


def _persona_row(row: PersonaSummary, rules: RedRules, words: Words) -> tuple[Cell, ...]:
    """One persona: its name, score, judges and red turns."""
    score = Mean(mean=row.score, n=row.graded, planned=row.conversations)
    return (
        Cell(text=words.name("persona", row.persona), number=row.conversations),
        _mean_cell(score, rules),
        Cell(text=f"{row.red:,} / {row.turns:,}", number=row.red),
        *(_judge_cell(name, mean, rules) for name, mean in row.judges.items()),
    )


def _everyone(summary: Summary, words: Words) -> tuple[Cell, ...]:
    """The row of all personas together."""
    held = sum(p.conversations for p in summary.personas) or summary.turns
    score = Mean(mean=summary.score, n=summary.graded, planned=held)
    judges = [(name, Mean(mean=j.mean, n=j.n, planned=j.planned)) for name, j in summary.judges.items()]
    return (
        Cell(text=words("everyone"), number=score.planned),
        _mean_cell(score, summary.rules),
        Cell(text=f"{summary.red:,} / {summary.turns:,}", number=summary.red),
        *(_judge_cell(name, mean, summary.rules) for name, mean in judges),
    )


def _answered(summary: Summary, words: Words) -> tuple[Cell, ...]:
    """The row of all personas, over the turns that got an answer."""
    score = _mean_cell(_answered_mean(summary.answered_score), summary.rules)
    judges = [
        _judge_cell(name, _answered_mean(judge.answered_mean), summary.rules)
        for name, judge in summary.judges.items()
    ]
    cells = [cell.model_copy(update={"note": ""}) for cell in (score, *judges)]
    return (Cell(text=words("answered_mean")), cells[0], Cell(text=""), *cells[1:])


def _answered_mean(mean: float | None) -> Mean:
    """A mean whose coverage the row does not tell."""
    return Mean(mean=mean, n=0, planned=0)


def _judge_cell(name: str, mean: Mean, rules: RedRules) -> Cell:
    """The mean of one judge; how a customer feels is no fault of the bot's by itself."""
    return _mean_cell(mean, rules if name.partition("@")[0] != "tone" else RedRules(overall=None))


def _mean_cell(mean: Mean, rules: RedRules) -> Cell:
    """A mean with its coverage as the note; red below the limit for Overall."""
    low = mean.mean is not None and rules.overall is not None and mean.mean < rules.overall
    text = points(mean.mean, against=rules.overall)
    return Cell(text=text, number=mean.mean, red=low, note=f"{mean.n}/{mean.planned}")


def turn_rows(told: ReportContext) -> Iterator[dict[str, Any]]:
    """One mapping per turn, with plain values: texts, numbers, lists and None."""
    for conversation, by_turn in with_scores(told.results):
        for turn in conversation.turns:
            yield _row(conversation, turn, by_turn.get(turn.index, {}), told)


def _row(
    conversation: Conversation, turn: Turn, scores: Mapping[str, Score], told: ReportContext
) -> dict[str, Any]:
    red = told.red.get((conversation.id, turn.index))
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
        "severity": worst(red.marks) if red else None,
        "marks": [mark.kind for mark in red.marks] if red else [],
        "reason": _reason(scores.get(told.summary.primary), red.reason if red else ""),
        "scores": {name: _score(scores[name]) for name in told.summary.judges if name in scores},
        **({"steps": steps} if steps else {}),
    }


def _reason(verdict: Score | None, red: str) -> str:
    return red or (verdict.reason if verdict else "")


def _score(score: Score) -> dict[str, Any]:
    shown = {"state": score.state, "value": score.value, "raw": score.raw, "reason": score.reason}
    return shown | {"severity": score.severity, "detail": dict(score.detail), "rubric": score.rubric}
