"""Sections that only some runs have, and sections that only conversations have.

Each function makes one, or returns None where the run has nothing to show. A section serves page, terminal
and Markdown at once, and its figures stand under its key in `--json`: programs know it by that.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from math import fsum

from simulator.cases.cases import SkippedRows
from simulator.core.document import (
    BRIEF,
    EVERYWHERE,
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Line,
    Section,
    Table,
    Text,
    count_text,
    figures_section,
    share_text,
)
from simulator.core.messages import Message, _, listed, pgettext
from simulator.core.titles import Titles
from simulator.core.types import RISK, Results, Spending
from simulator.models.pricing import money, total_spending
from simulator.report.repeats import reliability_section, replay_section, simulators_section
from simulator.report.rulings import attacks_section, conflicts_section, risk_section
from simulator.report.tables import FEELING, LISTED, feeling_text, spending_table
from simulator.results.answerability import answerability, handovers, unjudged_reason
from simulator.results.figures import Summary
from simulator.results.intervals import wilson
from simulator.results.red import undecided_turns
from simulator.results.rows import RunTurns

# A reason of skipped rows is shown with so many places; all are in the run file and in --json.
_PLACES_SHOWN = 4
# So many questions are named about which customers were left discontent.
_QUESTIONS_FELT = 5
# What is right, by the names of its rates.
_EXPECTED = {
    "answered_correctly": _("Can be answered"),
    "refused_correctly": _("Cannot be answered"),
    "handed_correctly": _("Handover required"),
    "kept_correctly": _("Handover not wanted"),
}


def sections(results: Results, summary: Summary, added: Sequence[Section] = ()) -> tuple[Section, ...]:
    """The sections that this run has for every view, in the order in which reports show them.

    Those that plug-ins `added` come before times and the bot's own models: somebody asked for them.
    """
    undecided = undecided_turns(results)
    made = (
        conflicts_section(undecided) if undecided else None,
        attacks_section(results),
        risk_section(results) if RISK in results.scores.judges else None,
        simulators_section(summary),
        reliability_section(summary),
        skipped_section(results),
        *added,
        bot_usage_section(summary.money.bot),
        latency_section(summary.record),
        replay_section(results) if results.run.settings.get("replay") else None,
    )
    return tuple(sorted(filter(None, made), key=lambda section: section.folded))


def skipped_section(results: Results) -> Section | None:
    """The rows of the data set that were left out, by reason; None where every row could be used.

    Of very many only the first are kept with place and reason, and the others are counted.
    """
    skipped = SkippedRows.of(results.notes)
    if not skipped.count:
        return None
    notes = [_("Skipped rows are no part of the score; fix them and evaluate again.")]
    if (unlisted := skipped.count - len(skipped.listed)) > 0:
        notes.insert(0, _("Of {n} more, place and reason are not kept.", n=unlisted))
    # A file is mostly wrong in one way on many lines: the reason once, with the lines.
    places_by_reason: dict[Text, list[Text]] = {}
    for row in skipped.listed:
        places_by_reason.setdefault(row.why, []).append(row.place)
    rows = (
        (reason, len(places), listed(places, _PLACES_SHOWN))
        for reason, places in islice(places_by_reason.items(), LISTED)
    )
    columns = (
        pgettext("a column", "Why"),
        pgettext("a number of them", "Rows"),
        pgettext("a place in a file", "Where"),
    )
    return figures_section(
        key="rows_skipped",
        title=_("Skipped rows"),
        line=_(
            "{count} of {n} rows skipped: {first}",
            n=skipped.rows,
            count=skipped.count,
            first=skipped.listed[0].message,
        ),
        tables=[Table.of("rows_skipped", columns, rows)],
        notes=notes,
        figures=skipped.as_json(),
    )


def latency_section(run: RunTurns) -> Section | None:
    """Seconds until the bot's answers were there, and until their first words where it streams.

    p50 and p95 are nearest-rank percentiles: the smallest time that at least half (95 %) of the answers did
    not exceed. They are times that occurred, none between two. Of recorded answers there are none. A timeout
    counts with the time that was waited; other failures do not count, for a refusal is no quick answer.
    """
    rows, figures = list[tuple[Text | Cell | int, ...]](), dict[str, dict[str, float] | None]()
    waited = [turn for turn in run.turns if turn.failure in (None, "timeout")]
    for key, name, times in (
        ("answer", _("answer"), (turn.seconds for turn in waited)),
        ("first_token", _("first words"), (turn.first_token_seconds for turn in waited)),
    ):
        durations, figures[key] = sorted(seconds for seconds in times if seconds is not None), None
        if durations:
            p50, p95 = (durations[max(0, math.ceil(share * len(durations)) - 1)] for share in (0.5, 0.95))
            figures[key] = {"p50": round(p50, 4), "p95": round(p95, 4)}
            cells = (Cell(text=_("{n} s", n=f"{max(n, 0.001):.2g}"), number=n) for n in (p50, p95))
            rows.append((name, *cells, len(durations)))
    if not rows:
        return None
    columns = ("", _("Median"), _("Slowest 5 %"), pgettext("a number of them", "Answers"))
    table = Table.of("times", columns, rows)
    return Section("latency", _("Seconds until the bot answers"), (table,), figures, views=PAGE | TERMINAL)


def bot_usage_section(used: Mapping[str, Spending]) -> Section | None:
    """Calls, tokens and cost of the bot's own models, as its answers reported them.

    None where no answer says anything of it. Nothing of this is counted against --budget.
    """
    # By the name of the model, which bots often do not tell.
    if not used:
        return None
    total = total_spending(list(used.values()))
    named = ((name or _("unnamed"), spent) for name, spent in used.items())
    line = _("Answers: {calls}, tokens in: {tokens_in}, out: {tokens_out}, {usd}")
    return figures_section(
        key="bot",
        title=_("The bot's own model"),
        line=line.format(
            usd=money(total), calls=total.calls, tokens_in=total.tokens_in, tokens_out=total.tokens_out
        ),
        tables=[spending_table("bot", _("Model"), named)],
        notes=[_("Reported by the bot; not included in the cost or --budget.")],
        figures={
            "calls": total.calls,
            "tokens": {"in": total.tokens_in, "out": total.tokens_out},
            "cost_usd": None if total.cost_usd is None else round(total.cost_usd, 6),
        },
    )


def answerable_section(run: RunTurns) -> Section | None:
    """Whether the bot answers, declines and hands over where it should; None where no case asks for it.

    A row for each thing that a case may call right (`answerable`, `handover`), by what the bot did, as the
    judge of turns says. Where that judge was not asked there is no table, but why: also in brief.
    """
    places, rows, blocks = (
        (answerability(run), handovers(run)),
        list[list[Cell | Text | int]](),
        list[Block](),
    )
    for counted in places:
        for name, (right, wrong) in counted.rates.items():
            hits, misses = counted.counts[right], counted.counts[wrong]
            if hits or misses:
                rows.append([_EXPECTED[name], _right(hits, hits + misses)])
    if rows:
        columns = ("", pgettext("a share", "Right"))
        note = _(
            "Each conversation counts once: answers and refusals by what the bot said to the first question,"
            " handovers anywhere. Only asking back is neither right nor wrong."
        )
        blocks += [Table.of("answers", columns, rows), Line(note, "soft")]
    views, title = EVERYWHERE, _("Refused or not")
    if why := unjudged_reason(max(counted.unjudged for counted in places), run):
        blocks.append(Line(why, "alarm"))
        views |= BRIEF
    return Section("answerability", title, tuple(blocks), views=views) if blocks else None


def _right(right: int, of: int) -> Cell:
    """The share (its number in percent), and its interval (Wilson's, which holds at 0 of 5 as well)."""
    note: Text = ""
    if interval := wilson(right, of):
        low, high = (f"{100 * end:.0f}" for end in interval)
        note = _("95 % interval {low}-{high} %", low=low, high=high)
    return Cell(text=share_text(right, of), number=round(100 * right / of, 1) if of else None, note=note)


def felt_section(summary: Summary, titles: Titles) -> Section | None:
    """How customers felt at the end, by kind of customer and by question; None where nobody said it.

    That is what the judge of feelings read in their last line, else what they made of the last answer.
    """
    by_persona: dict[str, list[float]] = {}
    by_case: dict[str, list[float]] = {}
    questions, gave_up = dict[str, str](), Counter[str]()
    for row in summary.record.conversations:
        tone = row.turns[-1].scores.get(FEELING) if row.turns else None
        feeling = tone.raw if tone and tone.is_scored else row.feeling
        if feeling is not None and row.ended:
            by_persona.setdefault(row.persona, []).append(feeling)
            by_case.setdefault(row.case, []).append(feeling)
            questions[row.case] = row.question or row.case
            gave_up[row.persona] += row.ended == "gave_up"
    if not by_persona:
        return None
    everyone = [feeling for of_persona in by_persona.values() for feeling in of_persona]
    line = _(
        "At the end of {unhappy} of {n} conversations the customer was angry or discontent, whether they said"
        " so or not."
    )
    kinds = Table.of(
        "felt",
        (_("Customer"), _("At the end"), _("Gave up")),
        ((titles("persona", name), _felt(felt), gave_up[name]) for name, felt in by_persona.items()),
        _("By kind of customer"),
        words=frozenset({1}),
    )
    worst = sorted(by_case, key=lambda case: (-_unhappy(by_case[case]), fsum(by_case[case])))
    rows = [(questions[case], _felt(by_case[case])) for case in worst if _unhappy(by_case[case])]
    columns, title = (_("Question"), _("At the end")), _("By question, most discontent first")
    asked = Table.of("felt_questions", columns, rows[:_QUESTIONS_FELT], title, words=frozenset({1}))
    first = Line(line.format(n=len(everyone), unhappy=_unhappy(everyone)), "strong")
    left = len(rows) - _QUESTIONS_FELT
    more = (Line(_("{n} more", n=left), "soft"),) if left > 0 else ()
    blocks = (first, kinds, *((asked, *more) if rows else ()))
    return Section("felt", _("What customers felt"), blocks, views=PAGE | TERMINAL)


def _unhappy(feelings: Sequence[float]) -> int:
    return sum(feeling < 0 for feeling in feelings)


def _felt(feelings: Sequence[float]) -> Message:
    """How many customers felt how at the end: "angry 2, discontent 1, relieved 5"."""
    counts = Counter(feeling_text(feeling) for feeling in sorted(feelings))
    return _("{parts}", parts=[count_text(name, n) for name, n in counts.items()])
