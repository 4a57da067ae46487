"""A run in a notebook: its verdict, what has changed, and the answers that need review."""

from simulator.core.document import Block, Line, Report, Table, brief_reason
from simulator.core.messages import _
from simulator.report.context import ReportContext, change_text, trial_notice
from simulator.report.gate import verdict
from simulator.report.painters.html import drawn
from simulator.report.tables import SEVERITIES
from simulator.results.red import worst_severity

# So many answers are shown.
_SHOWN = 10


def notebook_html(context: ReportContext) -> str:
    """A piece of HTML; what bot, customers and judges said is escaped, and cut where it is long."""
    summary, red = context.summary, context.summary.red.answers
    lines = [Line(verdict(context.gate, trial=summary.trial), "strong"), Line(trial_notice(summary))]
    lines += [Line(change_text(context.change))] if context.change else []
    blocks: list[Block] = [line for line in lines if line.text]
    rows = (
        (SEVERITIES[worst_severity(turn.marks)], turn.question, turn.answer, brief_reason(turn.reason, "en"))
        for turn in red[:_SHOWN]
    )
    if red:
        blocks.append(Table.of("red", (_("Severity"), _("Question"), _("Answer"), _("Reason")), rows))
    else:
        blocks.append(Line(_("No answer needs review.")))
    if (left := len(red) - _SHOWN) > 0:
        blocks.append(Line(_("{n} more in {path}", n=left, path=context.page)))
    report = Report("", context.language, wording=context.wording)
    return drawn("piece.html.j2", report, blocks=blocks)
