"""The report of a run: one list of sections, of which terminal, Markdown and page show those of their view.

Lead (score, verdict, notes) is in all of them; what a terminal shows after a run is `brief`, some 40 lines.
Sections without blocks are drawn by the page's own template, from what `report/run_page.py` makes.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from simulator.core.document import (
    BRIEF,
    PAGE,
    TERMINAL,
    Block,
    Chart,
    Fact,
    FactList,
    Line,
    Notes,
    Report,
    Section,
    Text,
    points,
    target_points,
    zoned_time,
)
from simulator.core.messages import _, ngettext, sentences
from simulator.core.settings import Settings, dollars
from simulator.core.titles import title
from simulator.core.types import LEXICAL, Ended
from simulator.core.writing import shown_path
from simulator.models.pricing import money
from simulator.report import tables
from simulator.report.context import (
    ReportContext,
    change_text,
    counts_text,
    lowest_text,
    score_lines,
    trial_notice,
)
from simulator.report.fixes import brief_sections
from simulator.report.gate import conditions_table, is_tabled, verdict, verdict_tone
from simulator.report.notes import notes
from simulator.report.people import decision_text, disputed_count
from simulator.report.sections import answerable_section, felt_section
from simulator.results.certificate import standing_line

# What grades that failed for want of embeddings say helps (models/client.py), in every language.
_WITHOUT_EMBEDDINGS = "--embed-model lexical"
_NO_CALLS = _("no model was called for customers or grading")


def run_report(context: ReportContext) -> Report:
    """The report of a run in the order of its page; sections without blocks are drawn by its template.

    Nothing is read from the run file again, and no cause or mean is worked out: all comes of the context.
    """
    run, summary, gate = context.results.run, context.summary, context.gate
    red = ngettext(
        "▲ {red} of {n} answer to review",
        "▲ {red} of {n} answers to review",
        n=summary.turns,
        red=summary.red.count,
    )
    if disputed := disputed_count(summary):
        red = _("{red} ({disputed})", red=red, disputed=disputed)
    line = verdict(gate, trial=summary.trial)
    return Report(
        title=_("Rehearsal results"),
        language=context.language,
        lead=(
            Line(_("{parts:dots}", parts=tuple(score_lines(context))), "strong"),
            Line(_("{first} · {second}", first=line, second=red), verdict_tone(gate, trial=summary.trial)),
            # Of a trial its notice says that nothing is certain.
            *(() if summary.trial else (Line(standing_line(summary.standing), "soft"),)),
            Notes(notes(context)),
        ),
        sections=tuple(filter(None, _sections(context))),
        about=run.id,
        notice=trial_notice(summary),
        wording=context.wording,
    )


def _sections(context: ReportContext) -> Iterator[Section | None]:
    summary, results = context.summary, context.results
    if is_tabled(context.gate):
        table = conditions_table(context.gate, trial=summary.trial)
        yield Section("conditions", table.title, (table.model_copy(update={"title": ""}),))
    yield Section("outcome", "", (FactList(tuple(_outcome(context))),), views=BRIEF | TERMINAL)
    yield Section("means", _("Customer × judge"), _means(context))
    # Of a data set these are the result itself, where they say something first.
    for section in context.sections:
        is_brief = summary.rows and section.line and not section.folded
        yield replace(section, views=section.views | BRIEF) if is_brief else section
    if not summary.rows:
        yield felt_section(summary, context.titles)
        yield _endings(context)
    if not context.ungraded:
        yield answerable_section(summary.record)
    if context.improvements:
        run = run_argument(context.page, results.run.id)
        yield from brief_sections(context.improvements, run, summary, context.language)
    # Sections without blocks: the page's template fills them, by their keys.
    if summary.scores.graded or summary.red.count:
        yield Section("mends", _("Fix first"), views=PAGE)
        yield Section("reddest", _("Answers that need review, by fix"), views=PAGE)
    yield Section("talks", _("All conversations"), views=PAGE)
    yield Section("shelf", _("Retrieved passages"), views=PAGE, folded=True)
    yield _technical(context)
    yield Section("next", _("Next"), (Notes(tuple(_next(context))),), views=BRIEF | TERMINAL)


def _outcome(context: ReportContext) -> Iterator[Fact]:
    """The means of the judges, how conversations ended, and what only some runs have, in a line each.

    Judges   Overall 71, Relevance 77, Groundedness 69
    """
    summary = context.summary
    if context.change:
        since = _("{change} (since {run})", change=change_text(context.change), run=context.change.earlier)
        yield Fact(_("Last run"), since)
    if decision := context.results.release_decision:
        yield Fact(_("Release decision"), decision_text(decision))
    means = [
        _("{name} {n}", name=title("judge", name), n=points(mean))
        for name in summary.scores.active
        if (mean := summary.scores.judges[name].mean) is not None
    ]
    if means:
        yield Fact(_("Judges"), _("{parts}", parts=means))
    if not summary.rows:
        yield Fact(_("How conversations ended"), counts_text(summary.ended, "ended"))
        shown = (section for section in context.sections if section.line and not section.folded)
        yield from (Fact(section.title, section.line) for section in shown)
    # Stand-ins cost nothing, and "0.00 USD" would look like a bargain.
    if any(spent.calls for spent in summary.money.spending.values()):
        yield Fact(_("Cost"), money(summary.money.spent))


def _means(context: ReportContext) -> tuple[Block, ...]:
    """Means by customer and judge, how to read them, and the total of the RAG metrics."""
    summary = context.summary
    limit = summary.red.rules.overall
    legend = sentences(
        _(
            "Means on a scale to 100: the score over conversations, the other columns over answers; next"
            " to each: graded / planned."
        ),
        None if limit is None else _("▲ marks a mean below {limit}.", limit=target_points(limit)),
        lowest_text(summary),
    )
    blocks: list[Block] = [tables.personas_table(summary, context.titles), Line(legend, "soft")]
    total = summary.scores.total
    if total.value is not None:
        of = _("{value} / {of}", value=f"{total.value:.1f}", of=total.of)
        blocks.append(FactList((Fact(_("Total of {n} RAG metrics", n=total.n), of),)))
    return tuple(blocks)


def _endings(context: ReportContext) -> Section | None:
    """How conversations ended, and how many did not yet."""
    summary = context.summary
    counts: dict[Text, int] = {context.titles("ended", how): n for how, n in summary.ended.items()}
    if (left := summary.planned - sum(summary.ended.values())) > 0:
        counts[_("not finished")] = left
    title = _("How conversations ended")
    return (
        Section(
            "endings",
            title,
            (Chart.bars(title, counts, lambda n: ngettext("{n} conversation", "{n} conversations", n=n)),),
            views=PAGE,
        )
        if counts
        else None
    )


def run_argument(page: str, run: str) -> str:
    """The run as an argument of a command: its id in the usual folder, its path, quoted, elsewhere.

    runs/20261121-x/report.html     -> 20261121-x
    /tmp/a b/20261121-x/report.html -> '/tmp/a b/20261121-x'
    """
    folder = Path(page).parent
    usual = not page or folder.parent.resolve() == Path(Settings().runs).resolve()
    return run if usual else shlex.quote(str(folder))


def _next(context: ReportContext) -> Iterator[Line]:
    """What the reader can do now: at most five lines, each with what to open or to type."""
    summary = context.summary
    run = run_argument(context.page, summary.run)
    failed = [judge.failure_reason for judge in summary.scores.judges.values() if judge.failed]
    is_unfinished = summary.finished < summary.planned or summary.status != "finished"
    is_ended = summary.ended.get(Ended.BUDGET) or summary.status == "interrupted"
    is_dead = 0 < summary.turns == sum(summary.bot_failures.values())
    # Grades that were left for later are not lost; what to type stands at the top.
    is_lost = context.gate.found("missing", "simulator") and not context.ungraded
    if is_dead or is_lost or (is_unfinished and not is_ended):
        yield Line(_("look for the reason, with the same options: python run.py doctor"))
    lacks_embeddings = failed and all(_WITHOUT_EMBEDDINGS in why for why in failed)
    if lacks_embeddings and is_lost and not is_unfinished:
        yield Line(
            _("grade without an embed model: python run.py grade {run} --embed-model lexical", run=run)
        )
    elif is_unfinished or is_lost:
        more = " --budget AMOUNT" if summary.ended.get(Ended.BUDGET) else ""
        yield Line(_("finish the run: python run.py --resume {run}", run=f"{run}{more}"))
    if context.page:
        yield Line(_("open the report: {path}", path=shown_path(context.page)))
    if summary.red.answers and not (is_unfinished or is_lost):
        yield Line(_("fix, rehearse with the same options, and compare: python run.py diff {run}", run=run))
    if context.gate.passed is None and not (context.gate.incomplete or is_dead):
        yield Line(_("add --target 90 to get a verdict"))
    if summary.trial:
        yield Line(_("set OPENAI_API_KEY to grade with a model (python run.py doctor checks it)"))


def _technical(context: ReportContext) -> Section:
    """Usage, models, settings, prompts and versions: what it takes to repeat the run."""
    summary, run = context.summary, context.results.run
    usage = tables.spending_table("usage", _("Role"), tables.spent_by(summary), _("Usage"))
    # Stand-ins are no models, and what was not set needs no line.
    models = {title("role", role): model for role, model in run.models.items() if model != LEXICAL}
    settings = {
        key: dollars(value) if key == "budget" and isinstance(value, float) else tables.setting_text(value)
        for key, value in run.settings.items()
        if value not in (None, {}, [], "")
    }
    about: dict[Text, Text] = {
        _("Run"): run.id,
        _("Started"): zoned_time(run.created),
        _("Duration"): _("{n} s", n=f"{run.seconds:,.1f}"),
        _("Status"): title("status", run.status),
    }
    facts = (
        _facts(_("Run"), about),
        _facts(_("Models"), models),
        _facts(_("Settings"), settings),
        _facts(_("Prompts (hashes)"), run.prompts),
        _facts(_("Versions"), run.versions),
        _facts(_("Search"), _search_figures(context)),
    )
    blocks = (usage if usage.rows else Line(_NO_CALLS), *(block for block in facts if block.facts))
    return Section("technical", _("For engineers"), blocks, views=TERMINAL | PAGE, folded=True)


def _search_figures(context: ReportContext) -> dict[Text, Text]:
    """How the search did, by the names that engineers have for it; empty where nothing can be ranked."""
    figures = next((section.figures for section in context.sections if section.key == "retrieval"), None)
    if figures is None:
        return {}
    recall: dict[Text, Text] = {f"recall@{k}": f"{share:.2f}" for k, share in figures["recall"].items()}
    return recall | {_("Mean reciprocal rank (MRR)"): f"{figures['mrr']:.2f}"}


def _facts(title: Text, values: Mapping[Any, Text]) -> FactList:
    return FactList(tuple(map(Fact, values, values.values())), title)
