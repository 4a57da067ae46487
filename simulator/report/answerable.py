"""Whether the bot answers, declines and hands over where it should: a section with a table for each."""

from pathlib import Path

from simulator.core.document import PAGE, Cell, Line, Section, Table
from simulator.core.templates import Texts
from simulator.core.types import Language, Results
from simulator.stats.answerability import Answerability, Handovers, Interval, answerability, handovers

TEXTS = Texts(Path(__file__).with_name("answerable.toml"))


def answerable_sections(results: Results, language: Language) -> tuple[Section, ...]:
    """The section of answers and that of handovers, each only where a case is marked for it."""
    answers, handed = answerability(results), handovers(results)
    return (
        *([_answers(answers, language)] if answers.marked else []),
        *([_handovers(handed, language)] if handed.marked else []),
    )


def _answers(found: Answerability, language: Language) -> Section:
    yes = (found.answered_answerable, found.refused_answerable, found.clarified_answerable)
    no = (found.answered_unanswerable, found.refused_unanswerable, found.clarified_unanswerable)
    answered, declined = _share(yes[0], sum(yes[:2]), language), _share(no[1], sum(no[:2]), language)
    notes = [
        TEXTS(language, "note"),
        TEXTS(language, "beside", failed=str(found.not_answered), unmarked=str(found.unmarked)),
    ]
    if found.refused_unanswerable:
        notes.append(TEXTS(language, "held", share=_share(found.held, found.refused_unanswerable, language)))
    rows = (
        (TEXTS(language, "answerable"), yes, answered, found.answered_correctly, found.answered_interval()),
        (TEXTS(language, "unanswerable"), no, declined, found.refused_correctly, found.refused_interval()),
    )
    return Section(
        "answerability",
        TEXTS(language, "title"),
        (
            Line(TEXTS(language, "line", answered=answered, refused=declined)),
            _table("answers", ("did_answer", "did_refuse", "did_ask"), rows, language),
            *(Line(note, "soft") for note in notes),
        ),
        views=PAGE,
    )


def _handovers(found: Handovers, language: Language) -> Section:
    yes, no = (found.handed_required, found.kept_required), (found.handed_forbidden, found.kept_forbidden)
    handed, kept = _share(yes[0], sum(yes), language), _share(no[1], sum(no), language)
    notes = [TEXTS(language, "handover_note")]
    notes += [TEXTS(language, "late", n=str(found.late))] if found.late else []
    rows = (
        (TEXTS(language, "required"), yes, handed, found.handed_correctly, found.handed_interval()),
        (TEXTS(language, "forbidden"), no, kept, found.kept_correctly, found.kept_interval()),
    )
    return Section(
        "handover",
        TEXTS(language, "handover_title"),
        (
            Line(TEXTS(language, "handover_line", handed=handed, kept=kept)),
            _table("handovers", ("did_hand", "did_keep"), rows, language),
            *(Line(note, "soft") for note in notes),
        ),
        views=PAGE,
    )


# What should be done, the counts of what was done, the share that is right in words and as 0..1 (None of no
# conversation), and its interval.
_Row = tuple[str, tuple[int, ...], str, float | None, Interval]


def _table(name: str, counted: tuple[str, ...], rows: tuple[_Row, ...], language: Language) -> Table:
    """The counts, and last the share that is right (its number in percent), without those asked back."""
    return Table(
        name=name,
        title="",
        columns=("", *(TEXTS(language, key) for key in counted), TEXTS(language, "right")),
        rows=tuple(
            (
                Cell(text=title),
                *(Cell(text=str(n), number=n) for n in counts),
                Cell(
                    text=share,
                    number=None if rate is None else round(100 * rate, 1),
                    note=_interval(interval, language),
                ),
            )
            for title, counts, share, rate, interval in rows
        ),
        counts=len(counted) + 1,
    )


def _interval(interval: Interval, language: Language) -> str:
    if interval is None:
        return ""
    low, high = (f"{100 * end:.0f}" for end in interval)
    return TEXTS(language, "interval", low=low, high=high)


def _share(hits: int, n: int, language: Language) -> str:
    """`80 % (8 of 10)`, or a dash of none."""
    if not n:
        return TEXTS(language, "none")
    return TEXTS(language, "share", percent=f"{100 * hits / n:.0f}", hits=str(hits), n=str(n))
