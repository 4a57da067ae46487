"""What stands folded at the end of the page: statistics, usage, models, settings, versions."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from simulator.core.document import local
from simulator.core.translations import Words
from simulator.core.types import Results
from simulator.reports import table
from simulator.reports.html_talks import PAGE, page_words
from simulator.stats.figures import JudgeSummary, Summary


@dataclass(frozen=True, slots=True)
class Statistics:
    """A table of judges, and single figures by name."""

    columns: list[str]
    rows: list[list[str]]
    figures: list[tuple[str, str]]


def statistics(results: Results, summary: Summary, words: Words) -> Statistics:
    """Means with their errors and coverage, rubrics, intervals, and what grading a turn took."""
    language = words.language
    keys = ("judge", "mean", "stderr", "raw_mean", "graded", "skipped", "failed", "rubric")
    rows = [[words.name("judge", name), *_figures(each)] for name, each in summary.judges.items()]
    corrected = summary.corrected
    figures = [
        ("score_interval", _interval(summary.interval)),
        ("corrected_interval", _interval(corrected.interval if corrected else None)),
        ("tokens_per_turn", tokens_per_turn(results, words)),
    ]
    return Statistics(
        columns=[PAGE(language, key) for key in keys],
        rows=rows,
        figures=[(page_words(words)(key), value or PAGE(language, "none")) for key, value in figures],
    )


def tokens_per_turn(results: Results, words: Words) -> str:
    """What the judges read per graded turn, in tokens; empty when no model graded."""
    spent = results.spending.get("judge")
    if spent is None or not spent.tokens_in:
        return ""
    graded = {(s.conversation, s.turn) for s in results.scores if s.state == "scored" and not s.by_rule}
    if not graded:
        return ""
    told = {"each": f"{spent.tokens_in / len(graded):,.0f}", "tokens": f"{spent.tokens_in:,}"}
    return page_words(words)("tokens_of", turns=f"{len(graded):,}", **told)


def facts(results: Results, summary: Summary, words: Words) -> list[tuple[str, list[tuple[str, str]]]]:
    """The technical details: titled lists of name and value."""
    run = results.run
    about = [
        (words("run"), run.id),
        (words("started"), local(run.created).isoformat(" ", "seconds")),
        (words("duration"), words("seconds_n", n=f"{run.seconds:,.1f}")),
        (words("status_line"), words.name("status", run.status)),
        (words("red_rules"), table.rules_text(summary.rules, words)),
    ]
    return [
        (words("run"), about),
        (words("models"), [(words.name("role", role), model) for role, model in run.models.items()]),
        (words("settings"), [(key, _json(value)) for key, value in run.settings.items()]),
        (words("prompts"), list(run.prompts.items())),
        (words("versions"), list(run.versions.items())),
    ]


def _figures(judge: JudgeSummary) -> list[str]:
    means = ["–" if each is None else f"{each:.3f}" for each in (judge.mean, judge.stderr)]
    raw = "–" if judge.raw_mean is None else f"{judge.raw_mean:.2f}"
    counts = [f"{judge.n:,} / {judge.planned:,}", f"{judge.skipped:,}", f"{judge.failed:,}"]
    return [*means, raw, *counts, ", ".join(judge.rubrics) or "–"]


def _interval(ends: tuple[float, float] | None) -> str:
    return f"{100 * ends[0]:.1f} – {100 * ends[1]:.1f}" if ends else ""


def _json(value: JsonValue) -> str:
    """A setting as people write it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
