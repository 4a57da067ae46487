"""The report of a run: the summary for a terminal and for Markdown, and the sections of its page."""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from simulator.core.document import (
    PAGE,
    TERMINAL,
    TEXT,
    Block,
    Cell,
    Fact,
    Facts,
    Line,
    Notes,
    Report,
    Section,
    Table,
    local_time,
)
from simulator.core.settings import Settings
from simulator.core.translations import Words, points, target_points
from simulator.core.types import Results, Run
from simulator.report import customers, fixes, tables
from simulator.report.context import ReportContext, corrected_line, counts_text, lowest_score, verdict
from simulator.report.course import course_sections
from simulator.report.gate import conditions_table
from simulator.report.html_conversations import page_words
from simulator.report.judges import trust_section
from simulator.stats.figures import JudgeSummary, Summary


def run_report(context: ReportContext, anchors: Mapping[tuple[str, int], str] | None = None) -> Report:
    """The report of a run in the order of its page; sections without blocks are drawn from `RunPage`.

    `anchors` are where a page has its turns, by conversation and number.
    """
    words, run = context.names, context.results.run
    models = words("comma").join(f"{words.name('role', role)} {name}" for role, name in models_of(run))
    notice = (f"{words('standin')}  {models}".strip(), words("standin_why"))
    return Report(
        title=words("title"),
        language=context.language,
        lead=(Line(" · ".join(_scores(context)), "strong"), _verdict(context), Notes(note_lines(context))),
        sections=tuple(filter(None, _sections(context, anchors or {}))),
        about=run.id,
        notice=notice if context.summary.offline else None,
    )


def _sections(context: ReportContext, anchors: Mapping[tuple[str, int], str]) -> Iterator[Section | None]:
    words, summary, results = context.names, context.summary, context.results
    yield _conditions(context)
    yield Section("before", words("missing"), views=PAGE)
    yield Section("means", "", _means(context), views=TEXT)
    yield from context.sections
    yield Section("heat", words("heat"), views=PAGE)
    yield trust_section(context.trusts, words)
    yield Section("facts", "", (Facts(tuple(_facts(context))),), views=TERMINAL)
    if not summary.rows:
        yield from course_sections(results, summary, words)
        yield Section("endings", words("endings"), views=PAGE)
        yield customers.customers_section(summary.simulator, words, anchors)
    yield from context.answerable
    fix = fixes.fixes_section(context.improvements, run_argument(context.page, results.run.id), words)
    yield fix
    if summary.rows and not fix:  # there is nothing to fix but the answers themselves
        yield fixes.red_turns_section(summary, words, folded=False)
    yield fixes.red_turns_section(summary, words, folded=True)
    yield Section("reddest", page_words(words)("red_by_question"), views=PAGE)
    yield Section("talks", words("conversations"), views=PAGE)
    yield Section("shelf", words("passages"), views=PAGE)
    yield _technical(context)
    yield Section("next", words("next"), (Notes(tuple(_next(context))),), views=TERMINAL)


def _scores(context: ReportContext) -> Iterator[str]:
    """The score with its interval, the corrected one where people's grades made it, and its coverage."""
    words, summary, target = context.names, context.summary, context.gate.target
    if summary.corrected:
        yield f"{words('score')} {corrected_line(summary, target, words)}"
        yield words("corrected_by", n=summary.corrected.n)
    else:
        score = f"{points(summary.score, against=target)} {words('of_hundred')}"
        yield f"{words('score')} {score if summary.score is not None else words('no_score')}"
        if summary.interval:
            low, high = map(points, summary.interval)
            yield words("interval", low=low, high=high)
        elif summary.score is not None:
            yield words("no_interval")
    yield words("graded_of", n=summary.graded, planned=summary.planned)


def _verdict(context: ReportContext) -> Line:
    """How the score stands to the target, and how many turns are red."""
    words, summary, gate = context.names, context.summary, context.gate
    red = f"▲ {words('red_turns')} {summary.red:,} {words('of_turns', turns=summary.turns)}"
    text = f"{verdict(gate, summary.score, words)} · {red}"
    return Line(text, "" if gate.passed is None else "good" if gate.passed else "alarm")


def note_lines(context: ReportContext) -> tuple[Line, ...]:
    """What to know before relying on the figures, alarms first."""
    return tuple(Line(note.text, "alarm" if note.alarm else "soft") for note in context.notes)


def _conditions(context: ReportContext) -> Section | None:
    if table := conditions_table(context.gate, context.names):
        return Section("conditions", table.title, (table.model_copy(update={"title": ""}),))
    return None


def _means(context: ReportContext) -> tuple[Block, ...]:
    """Means by customer and judge, the limit below which one is marked, and how low a score can be."""
    words, summary = context.names, context.summary
    table = tables.personas_table(summary, context.language).model_copy(update={"title": ""})
    limit, lowest = summary.rules.overall, lowest_score(context.results, summary)
    sentences = [] if limit is None else [words("low_key", limit=target_points(limit))]
    sentences += [] if lowest is None else [words("lowest", n=target_points(lowest))]
    legend = Line(("" if context.language == "ja" else " ").join(sentences), "soft")
    return (table, legend) if sentences else (table,)


def _facts(context: ReportContext) -> Iterator[Fact]:
    """The figures below the means."""
    summary, words = context.summary, context.names
    if summary.total.value is not None:
        total = words("total_of", value=f"{summary.total.value:.1f}", of=summary.total.of)
        graded = [
            f"{words.name('judge', n)} {j.n:,}/{j.planned:,}"
            for n, j in summary.judges.items()
            if j.failed or j.skipped
        ]
        name = words("total", n=summary.total.n)
        yield Fact(name, f"{total}{'   ' + words('comma').join(graded) if graded else ''}")
    if not summary.rows:
        yield Fact(words("endings"), counts_text(summary.ended, "ended", words) or words("none"))
        simulator = summary.simulator
        guarded = words("guard_line", n=simulator.guarded, turns=summary.turns, failed=simulator.failed)
        played = [guarded, *customers.sentences(simulator, words.language)]
        yield Fact(words("simulator"), "\n".join(played))
    yield Fact(words("bot_failures"), counts_text(summary.bot_failures, "failure", words) or words("none"))
    yield Fact(words("cost_line"), _cost(summary, words))
    for section in context.answerable:
        yield Fact(section.title, section.line)


def _cost(summary: Summary, words: Words) -> str:
    """Money, and the tokens of every role and model; or that no model was called."""
    if not any(spent.calls or spent.cached for spent in summary.spending.values()):
        return words("no_calls")
    roles = [
        words(
            "role_line",
            **{"role": role, "calls": spent.calls, "in": spent.tokens_in, "out": spent.tokens_out},
        )
        + (words("role_cached", n=spent.cached) if spent.cached else "")
        for role, spent in tables.spent_by(summary, words)
    ]
    amount = (
        words("unknown_cost")
        if summary.cost_usd is None
        else words("dollars", amount=tables.money(summary.cost_usd, words))
    )
    return "\n".join([amount, *roles, *_per_turn(summary, words)])


def _per_turn(summary: Summary, words: Words) -> Iterator[str]:
    """The tokens of grading one turn: those of uncached calls, divided by the graded turns."""
    judge, spent = summary.judges.get(summary.primary), summary.spending.get("judge")
    if judge and judge.n and spent and spent.calls:
        tokens = {"in": round(spent.tokens_in / judge.n), "out": round(spent.tokens_out / judge.n)}
        yield words("per_turn", **tokens)


def run_argument(page: str, run: str) -> str:
    """The run as an argument of a command: its id in the usual folder, its path elsewhere."""
    folder = Path(page).parent
    usual = not page or folder.parent.resolve() == Path(Settings().runs).resolve()
    return run if usual else shlex.quote(str(folder))


def _next(context: ReportContext) -> Iterator[Line]:
    """What the reader can do now."""
    summary, words = context.summary, context.names
    if context.page:
        yield Line(words("next_open", path=context.page))
    run = run_argument(context.page, summary.run)
    if summary.finished + summary.spared < summary.planned or summary.status != "finished":
        yield Line(words("next_resume", run=run))
    elif summary.red:
        yield Line(words("next_again", run=run))
    if context.gate.passed is None:
        yield Line(words("next_target"))
    if summary.offline:
        yield Line(words("next_model"))


def models_of(run: Run) -> Iterator[tuple[str, str]]:
    """Roles and their models; the demo bot's is left out where another bot was tested."""
    for role, name in run.models.items():
        if role != "demo" or run.settings.get("adapter", "demo") == "demo":
            yield role, name


def _technical(context: ReportContext) -> Section:
    """Statistics, usage, models, settings, prompts and versions."""
    words, summary, results = context.names, context.summary, context.results
    say, run = page_words(words), results.run
    corrected = summary.corrected
    figures = (
        Fact(say("score_interval"), _interval(summary.interval) or say("none")),
        Fact(say("corrected_interval"), _interval(corrected.interval if corrected else None) or say("none")),
        Fact(say("tokens_per_turn"), tokens_per_turn(results, words) or say("none")),
    )
    about = {
        words("run"): run.id,
        words("started"): local_time(run.created).isoformat(" ", "seconds"),
        words("duration"): words("seconds_n", n=f"{run.seconds:,.1f}"),
        words("status_line"): words.name("status", run.status),
        words("red_rules"): tables.rules_text(summary.rules, words),
    }
    lists: dict[str, Mapping[str, str]] = {
        words("run"): about,
        words("models"): {words.name("role", role): model for role, model in run.models.items()},
        words("settings"): {key: _setting_text(value) for key, value in run.settings.items()},
        words("prompts"): run.prompts,
        words("versions"): run.versions,
    }
    usage = tables.usage_table(summary, context.language)
    blocks: list[Block] = [_statistics(context), Line(say("stderr_note"), "soft"), Facts(figures)]
    blocks.append(usage if usage.rows else Line(words("no_calls")))
    blocks += [
        Facts(tuple(Fact(name, text) for name, text in values.items()), title)
        for title, values in lists.items()
        if values
    ]
    return Section("technical", say("details"), tuple(blocks), views=PAGE, folded=True)


def _statistics(context: ReportContext) -> Table:
    """Means of the judges with their errors and coverage, and their rubrics."""
    words, say = context.names, page_words(context.names)
    return Table(
        name="statistics",
        title=say("statistics"),
        columns=(
            say("judge"),
            say("mean"),
            say("stderr"),
            say("raw_mean"),
            say("graded"),
            say("skipped"),
            say("failed"),
            say("rubric"),
        ),
        rows=tuple(
            (Cell(text=words.name("judge", name)), *(Cell(text=text) for text in _judge_figures(judge)))
            for name, judge in context.summary.judges.items()
        ),
    )


def _judge_figures(judge: JudgeSummary) -> Iterator[str]:
    for mean in (judge.mean, judge.stderr):
        yield "–" if mean is None else f"{mean:.3f}"
    yield "–" if judge.raw_mean is None else f"{judge.raw_mean:.2f}"
    yield f"{judge.n:,} / {judge.planned:,}"
    yield f"{judge.skipped:,}"
    yield f"{judge.failed:,}"
    yield ", ".join(judge.rubrics) or "–"


def tokens_per_turn(results: Results, words: Words) -> str:
    """The judges' input tokens per graded turn; empty when no model graded."""
    spent = results.spending.get("judge")
    if spent is None or not spent.tokens_in:
        return ""
    graded = results.scores.graded_turns
    if not graded:
        return ""
    each, tokens = f"{spent.tokens_in / graded:,.0f}", f"{spent.tokens_in:,}"
    return page_words(words)("tokens_of", each=each, tokens=tokens, turns=f"{graded:,}")


def _interval(ends: tuple[float, float] | None) -> str:
    return f"{100 * ends[0]:.1f} – {100 * ends[1]:.1f}" if ends else ""


def _setting_text(value: JsonValue) -> str:
    """A string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
