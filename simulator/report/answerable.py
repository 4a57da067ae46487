"""Whether the bot answers, declines and hands over where it should: a section with a table for each."""

from collections.abc import Sequence

from simulator.core.document import PAGE, Block, Cell, Line, Notes, Section, Table, Text, share_text
from simulator.core.messages import _, pgettext
from simulator.core.types import Results
from simulator.stats.answerability import Answerability, Handovers, answerability, handovers
from simulator.stats.outputs import Share

# What should be done, how often each was done, and the share that is right.
_Row = tuple[Text, tuple[int, ...], Share]


def answerable_sections(results: Results) -> tuple[Section, ...]:
    """The section of answers and that of handovers, each only where a case is marked for it."""
    answers, handed = answerability(results), handovers(results)
    return (
        *([_answers(answers)] if answers.marked else []),
        *([_handovers(handed)] if handed.marked else []),
    )


def _answers(found: Answerability) -> Section:
    yes = (found.answered_answerable, found.refused_answerable, found.clarified_answerable)
    no = (found.answered_unanswerable, found.refused_unanswerable, found.clarified_unanswerable)
    answered, declined = Share(right=yes[0], of=sum(yes[:2])), Share(right=no[1], of=sum(no[:2]))
    notes = [
        _(
            "Declining is right only where the articles do not hold the answer. Each conversation counts"
            " once, by what the bot said to the first question."
        ),
        _(
            "Not counted: {failed} conversations without an answer, {unmarked} whose case does not say.",
            failed=found.not_answered,
            unmarked=found.unmarked,
        ),
    ]
    if found.refused_unanswerable:
        held = share_text(found.held, found.refused_unanswerable)
        notes.append(_("Declined to the end: {share}.", share=held))
    line = _(
        "answered what can be answered {answered}; declined what cannot {refused}",
        answered=share_text(answered.right, answered.of),
        refused=share_text(declined.right, declined.of),
    )
    columns = (_("Answered"), _("Declined"), _("Asked back"))
    rows = ((_("Can be answered"), yes, answered), (_("Cannot be answered"), no, declined))
    blocks: tuple[Block, ...] = (Line(line), _table("answers", columns, rows), *Notes.of(notes, "soft").lines)
    return Section("answerability", _("Answered or declined"), blocks, views=PAGE)


def _handovers(found: Handovers) -> Section:
    yes, no = (found.handed_required, found.kept_required), (found.handed_forbidden, found.kept_forbidden)
    handed, kept = Share(right=yes[0], of=sum(yes)), Share(right=no[1], of=sum(no))
    notes = [_("Counted by whether a person took over in any turn of the conversation.")]
    notes += [_("After turn 1: {n}.", n=found.late)] if found.late else []
    line = _(
        "handed over where required {handed}; kept where not wanted {kept}",
        handed=share_text(handed.right, handed.of),
        kept=share_text(kept.right, kept.of),
    )
    columns = (pgettext("a column", "Handed over"), _("Kept"))
    rows = ((_("Handover required"), yes, handed), (_("Handover not wanted"), no, kept))
    blocks: tuple[Block, ...] = (
        Line(line),
        _table("handovers", columns, rows),
        *Notes.of(notes, "soft").lines,
    )
    return Section("handover", pgettext("a title", "Handed over"), blocks, views=PAGE)


def _table(name: str, counted: tuple[Text, ...], rows: Sequence[_Row]) -> Table:
    """The counts, and last the share that is right, without those asked back."""
    columns = ("", *counted, pgettext("a share", "Right"))
    cells = ((title, *counts, _right(share)) for title, counts, share in rows)
    return Table.of(name, columns, cells, counts=len(counted) + 1)


def _right(share: Share) -> Cell:
    """The share (its number in percent), and its interval."""
    note: Text = ""
    number = None if share.value is None else round(100 * share.value, 1)
    if share.interval:
        low, high = (f"{100 * end:.0f}" for end in share.interval)
        note = _("95 % interval {low}-{high} %", low=low, high=high)
    return Cell(text=share_text(share.right, share.of), number=number, note=note)
