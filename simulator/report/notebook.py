"""A run in a notebook: its verdict, what has changed, and the answers that need review."""

from markupsafe import Markup

from simulator.core.document import excerpt
from simulator.core.messages import Message, _, safe_text
from simulator.report.context import ReportContext, change_text, trial_notice
from simulator.report.gate import verdict
from simulator.report.tables import SEVERITIES
from simulator.results.red import worst_severity

# So many answers are shown, and so many characters of each text.
_SHOWN, _LONGEST = 10, 300
_ROW = Markup('<tr style="vertical-align:top;text-align:left">{}</tr>')
_CELL = Markup('<td style="text-align:left">{}</td>')


def notebook_html(context: ReportContext) -> str:
    """A piece of HTML; what bot, customers and judges said is escaped, and cut where it is long."""

    def said(text: Message | str) -> str:
        return safe_text(excerpt(context.text(text), _LONGEST))

    summary = context.summary
    red = summary.red.answers
    first = verdict(context.gate, trial=summary.trial)
    lines = [Markup("<p><b>{}</b></p>").format(said(first))]
    if notice := trial_notice(summary):
        lines.append(Markup("<p>{}</p>").format(said(notice)))
    if context.change:
        lines.append(Markup("<p>{}</p>").format(said(change_text(context.change))))
    rows: list[tuple[Message | str, ...]] = [(_("Severity"), _("Question"), _("Answer"), _("Reason"))]
    rows += [
        (SEVERITIES[worst_severity(turn.marks)], turn.question, turn.answer, turn.reason)
        for turn in red[:_SHOWN]
    ]
    if red:
        cells = (Markup("").join(_CELL.format(said(text)) for text in row) for row in rows)
        lines.append(Markup("<table>{}</table>").format(Markup("").join(map(_ROW.format, cells))))
    else:
        lines.append(Markup("<p>{}</p>").format(said(_("No answer needs review."))))
    if (left := len(red) - _SHOWN) > 0:
        more = _("{n} more in {path}", n=left, path=context.page)
        lines.append(Markup("<p>{}</p>").format(said(more)))
    return str(Markup("\n").join(lines))
