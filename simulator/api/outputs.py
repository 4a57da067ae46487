"""What is made of a finished run: the context of its reports, its page, and the object of --json."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from simulator import plugins
from simulator.core.document import Report
from simulator.core.errors import InputError
from simulator.core.messages import _, say
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import LEXICAL, RELEASE_DECISION, Results
from simulator.core.writing import write_atomically
from simulator.report.comparison import comparison_report
from simulator.report.context import ReportContext
from simulator.report.coverage import coverage_sections, question_cells
from simulator.report.gate import verdict
from simulator.report.notebook import notebook_html
from simulator.report.painters import html
from simulator.report.run import run_report
from simulator.report.run_page import run_page
from simulator.results.answerability import answerability, handovers, unjudged_reason
from simulator.results.comparison import RunFigures
from simulator.results.coverage import coverage_of, over_last_runs
from simulator.results.disputes import read_results
from simulator.results.figures import Summary
from simulator.results.gate import gate_of
from simulator.results.history import last_comparable
from simulator.results.knowledge import articles_of
from simulator.results.recommendations import Improvements, improvements_of
from simulator.results.standing import with_standings
from simulator.results.summary import as_json, figures_of
from simulator.runner.masking import masks_of
from simulator.storage.results import report_language
from simulator.storage.run_file import replay_of

# The page of this run beside an earlier one, next to its own page.
BESIDE = "side-by-side.html"


class RunOutputs:
    """What a finished run says, each part worked out when it is first asked for."""

    def __init__(self, path: Path, settings: Settings) -> None:
        """`path` is the run file, in whose folder files are written; `settings` may be today's."""
        self.path, self.settings = path, settings
        self.folder = path.parent

    @cached_property
    def context(self) -> ReportContext:
        """The figures of the reports."""
        results = read_results(self.path)
        context = report_context(self.path, results, self.settings)
        figures = RunFigures(results, context.summary)
        # Of a large run the figures of another one take as long again: there `diff` compares.
        earlier = None if results.is_sampled else last_comparable(figures, self.path)
        return replace(context, earlier=earlier)

    @cached_property
    def report(self) -> Report:
        """The report that painters draw."""
        return run_report(self.context)

    @cached_property
    def json_object(self) -> dict[str, Any]:
        """The object of --json."""
        return json_object(self.context, self.path)

    def page(self) -> bytes:
        """The page of the run."""
        return run_page(self.context)

    def notebook(self) -> str:
        """What a notebook shows of the run."""
        return notebook_html(self.context)

    def write_pages(self) -> None:
        """Writes the page of the run, and that of its earlier run beside it, to which it links."""
        if beside := self.beside():
            write_atomically(self.path.with_name(BESIDE), beside)
        address = BESIDE if beside else ""
        write_atomically(Path(self.context.page), run_page(self.context, address))

    def beside(self) -> str:
        """The page of the run beside the last one that it can be compared with; empty without one."""
        context, page = self.context, str(self.path.with_name(BESIDE))
        if not context.compared:
            return ""
        return html.page(comparison_report(context.compared, context.language, page, gate=context.gate))


def report_context(path: Path, results: Results, settings: Settings) -> ReportContext:
    """All that the reports of a run are made from; `path` is the run file, beside which the page stands.

    `settings` may be today's: `report --target 90` decides anew on the figures of an old run.
    """
    # The runs beside this one have labels, too.
    summary = with_standings(figures_of(results, settings), settings, path.parent.parent)
    language = report_language(results)
    # Stand-ins that counted words are not judged.
    notes = results.notes.keys() - {RELEASE_DECISION}
    is_plain = not (
        notes or stored_settings(results.run.settings).redacts or results.run.settings.get("replay")
    )
    is_judged = not is_plain or results.run.models.get("judge") != LEXICAL
    lines = summary.turns - summary.finished
    coverage = over_last_runs(coverage_of(results, summary.record), results.run, path.parent.parent)
    added = plugins.reporting(results, settings, is_judged=is_judged, lines=lines)
    return ReportContext(
        results=results,
        summary=summary,
        gate=gate_of(results, summary, settings),
        language=language,
        improvements=improvements_for(results, summary, settings),
        page=str(path.with_name("report.html")),
        added=(
            *coverage_sections(coverage, question_cells(results, summary.record)),
            *filter(None, (build(results, summary, settings) for one in added for build in one.sections)),
        ),
        remarks=tuple(line for plugin in added for look in plugin.remarks for line in look(results)),
    )


def json_object(context: ReportContext, path: Path) -> dict[str, Any]:
    """The object of --json: the summary, how far its judges agree with people, and parts of the report.

    Keys of sections stand beside those of the summary. docs/python.md documents them; programs rely on them.
    """
    results, summary, gate = context.results, context.summary, context.gate
    shown = {
        "run": summary.run,
        "store": str(path),
        "verdict": str(verdict(gate, trial=summary.trial)),
        **gate.as_json(),
        "reasons": context.reasons,
        **as_json(summary),
    }
    for judge in shown["judges"].values():
        judge |= {"calibration": None, "warnings": []}
    masks = stored_settings(results.run.settings).redacts
    shown["redacted"] = masks_of(results) if masks else None
    shown["drift"] = results.notes.get("drift")
    shown["replay_of"] = replay_of(results.run)
    shown["change"] = context.change and context.change.as_json()
    decision = results.release_decision
    shown["release_decision"] = decision and decision.model_dump()
    shown |= {section.key: section.figures for section in context.sections}
    shown["simulator"]["likeness"] = shown.pop("likeness", None)
    # Sections with figures of each judge: these stand with it.
    for name, figures in (*shown.get("classification", {}).items(), *shown.pop("trust", {}).items()):
        shown["judges"][name] |= figures
    run = summary.record
    for name, places in {"answerability": answerability(run), "handover": handovers(run)}.items():
        # A key of its own, and only where something is missing.
        why = unjudged_reason(places.unjudged, run)
        if why and context.ungraded:
            why = context.ungraded
        shown[name] = places.as_json() | ({"why": context.text(why)} if why else {})
    return shown


def improvements_for(results: Results, summary: Summary, settings: Settings) -> Improvements | None:
    """What to fix, None where no turn is red; without the bot's articles where they can no longer be read.

    The folder of --knowledge may be gone by the time of a report: causes then rest on what was retrieved
    alone.
    """
    if not summary.red.answers:
        return None
    try:
        shelf = articles_of(settings)
    except InputError as error:
        say(_("{error} Causes are given without it.", error=error))
        shelf = None
    return improvements_of(results, summary, shelf)
