"""The report of a review: what the team says of a run, how far people's blind grades agree with the judge.

In words first, then the figures, then what to look at. Where people reviewed on sight of the grade, no
agreement is claimed; where they graded blind, it is. At the end the score, corrected by blind grades or with
how many more it takes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.core.document import (
    TERMINAL,
    Block,
    Fact,
    FactList,
    Item,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Table,
    Text,
    Tone,
    excerpt,
    points,
)
from simulator.core.messages import Message, _, ngettext
from simulator.core.types import Language, ReleaseDecision
from simulator.core.writing import shown_path
from simulator.report.people import corrected_line, correction_texts, decision_text
from simulator.results.figures import Summary
from simulator.results.findings import Gate
from simulator.results.review import (
    PENDING,
    TOP_GRADE,
    BlindAgreement,
    ComparedTurn,
    PendingReviews,
    Point,
    ReviewedTurn,
    ReviewFindings,
)
from simulator.sheets.model import CHOICES

# What people pick in a dropdown, by id.
Titles = Mapping[str, Text]
# Shown of each list; the rest is in `--json`.
SHOWN = 5
# Agreement beyond chance is called good from .6 on and fair from .4 (Landis and Koch, 1977).
GOOD, FAIR = 0.6, 0.4
# From so many judged marks on their share is put into words, from so many answers how far they agree with
# people; from these shares on it is good, or fair. Of nine marks even 100 % may really be 70 (Wilson).
ENOUGH, TEAMS_GOOD, TEAMS_FAIR = 10, 0.8, 0.5


class ReadCounts(NamedTuple):
    """The name of a source, and how many of its verdicts were new, and stored already (`known`).

    `empty`, `other_runs` and `answers` (those of the review in which something is written) count rows,
    `skipped` rows and cells that could not be used. `review` and `blind` count the verdicts of either kind,
    one for each turn; a file of grades has blind ones only.
    """

    name: str
    new: int
    known: int
    empty: int
    skipped: int
    other_runs: int = 0
    review: int = 0
    blind: int = 0
    answers: int = 0


class SavedTests(NamedTuple):
    """The file of tests: how many the team `added`, has there already, and says that they must not break."""

    path: Path
    added: int
    known: int
    guarded: int


class ReviewOutcome(NamedTuple):
    """All that is reported; `read` is None where nothing was read, and only stored verdicts are shown.

    `tests` is None where the review says nothing of tests.
    """

    summary: Summary
    gate: Gate
    review: BlindAgreement | None
    read: ReadCounts | None
    language: Language
    page: Path
    findings: ReviewFindings | None = None
    decision: ReleaseDecision | None = None
    tests: SavedTests | None = None


def review_report(outcome: ReviewOutcome) -> Report:
    """What was read, what the team says, how far people and judge agree, what was missed, the score.

    Only what goes into a meeting's minutes is in Markdown: what was read and the score are the terminal's
    alone.
    """
    # The team's words come first: they say what to do, blind grades how far to trust the judge.
    sections = [
        Section("read", "", tuple(map(Line, (*_read(outcome.read), *_tests(outcome.tests)))), views=TERMINAL),
        *([_decided(outcome.decision)] if outcome.decision else []),
        *(_team_sections(outcome.findings) if outcome.findings else ()),
        *_blind_sections(outcome.review),
        *([_score(outcome)] if outcome.review else ()),
    ]
    title = _("People and the judge  {run}", run=outcome.summary.run)
    return Report(title=title, language=outcome.language, sections=tuple(sections))


def _decided(decision: ReleaseDecision) -> Section:
    """What the team decided: the first thing that a meeting's minutes say."""
    return Section("decision", _("Release decision"), (Line(decision_text(decision), "strong"),))


def _tests(tests: SavedTests | None) -> Iterator[Message]:
    """What became of the answers that the team made tests."""
    if tests:
        yield _(
            "Tests in {path}: {added} added, {known} there already, {guarded} marked must-not-break.",
            **tests._asdict(),
        )


def _read(read: ReadCounts | None) -> Iterator[Message]:
    """What was read, and what of it was not used."""
    if read is None:
        return
    yield _("Read {name}: review {review}, blind {blind}. New among them: {new}.", **read._asdict())
    # A row of the review stands for several turns; without that the counts would look wrong.
    if 0 < read.answers < read.review:
        yield _(
            "Rows of the review: {answers}. Each counts for every time the same answer was given.",
            answers=read.answers,
        )
    if read.empty:
        yield _("Rows still empty: {n}.", n=read.empty)
    if read.other_runs:
        yield _("Rows of other runs, skipped: {n}.", n=read.other_runs)
    if read.skipped:
        yield _("What could not be used: {n} (see above; all else was stored).", n=read.skipped)


def _score(outcome: ReviewOutcome) -> Section:
    """The corrected score, or how many more grades it takes."""
    summary = outcome.summary
    score = _("{score} / 100", score=points(summary.scores.score))
    if (line := corrected_line(summary, outcome.gate.target)) and summary.scores.corrected:
        score = _("{line}   by {n} human grades", line=line, n=summary.scores.corrected.n)
    notes = tuple(map(Line, correction_texts(summary)))
    page = Line(_("The report shows it, too: {path}", path=shown_path(outcome.page)))
    return Section("score", _("Score"), (Line(score, "strong"), Notes(notes), page), views=TERMINAL)


# --- Blind grades ---


def _blind_sections(review: BlindAgreement | None) -> Iterator[Section]:
    """The agreement, and the turns that people would have stopped, worst first."""
    title = _("Blind grades (given without any score)")
    if review is None:
        yield Section("blind", title, (Line(_("There are no grades to compare yet.")),))
        return
    blocks: list[Block] = [Line(_agreement(review), "strong"), FactList(tuple(_agreement_facts(review)))]
    # With equal rates, or unknown ones, shares are those of the sample.
    if review.weighted:
        note = _("Sampling rates are known, so these are shares of the whole run.")
        blocks.append(Line(note, "soft"))
    yield Section("blind", title, tuple(blocks))
    if review.missed:
        yield _listed("missed", _("Missed answers"), map(_missed, review.missed))


def _agreement(review: BlindAgreement) -> Message:
    """The strength of agreement in a sentence, or how many answers it takes to say it."""
    if review.turns < ENOUGH:
        return _(
            "Too few to tell whether people and the judge agree ({n} answers; it takes {enough}).",
            n=review.turns,
            enough=ENOUGH,
        )
    if (kappa := review.kappa) is None:
        return _("People's grades do not vary, so the strength of agreement is not known yet.")
    if kappa >= GOOD:
        return _("People and the judge agree well.")
    if kappa >= FAIR:
        return _("People and the judge agree to some degree.")
    return _("People and the judge do not agree much: do not decide by the automatic score alone.")


def _agreement_facts(review: BlindAgreement) -> Iterator[Fact]:
    within, side = 100 * review.within_one, 100 * review.same_side
    agreement = _(
        "within one grade {within:.0f} %, agree on needing review {side:.0f} %", within=within, side=side
    )
    yield Fact(_("Agreement"), agreement)
    yield Fact(_("Kappa (quadratic)"), _figure(review.kappa))
    auroc = _figure(review.auroc)
    yield Fact(
        _("AUROC"),
        _(
            "{value} (how well the judge finds the answers that people would review; 0.5 is chance)",
            value=auroc,
        ),
    )
    # Leniency moves every score; the sign says which way.
    by = 100 * review.difference
    way = _("the judge is more lenient") if by > 0 else _("the judge is stricter")
    yield Fact(_("Mean difference"), _("judge − people = {points:+.0f} points ({way})", points=by, way=way))
    if n := len(review.missed):
        about = _(" (about {n} in the whole run)", n=round(review.missed_in_run)) if review.weighted else ""
        yield Fact(
            _("Missed"),
            _("{n} not marked for review{about}, although people gave 2 or less.", n=n, about=about),
        )
    if n := len(review.overcalled):
        yield Fact(_("Overcalled"), _("{n} marked for review, although people gave 4 or more.", n=n))
    if between := review.between:
        line = ngettext(
            "{n} answer graded by two or more: within one grade {within:.0f} %, kappa {kappa}",
            "{n} answers graded by two or more: within one grade {within:.0f} %, kappa {kappa}",
            n=between.turns,
            within=100 * between.within_one,
            kappa=_figure(between.kappa),
        )
        yield Fact(_("Between people"), line)
    given = {"n": review.turns, "grades": review.grades}
    compared = ngettext("{n} answer, {grades} human grades", "{n} answers, {grades} human grades", **given)
    names = tuple(map(_reviewer, review.reviewers, review.reviewers.values()))
    yield Fact(_("Compared"), _("{compared} ({names})", compared=compared, names=names))


def _reviewer(name: str, n: int) -> Message:
    """A reviewer and how many grades they gave; those of a worksheet are numbered."""
    # In a worksheet reviewers have no names: they are the first and the second column.
    if name.isdecimal():
        return _("reviewer {number}: {n}", number=name, n=n)
    return _("{name} {n}", name=name or _("unnamed"), n=n)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _missed(turn: ComparedTurn) -> Item:
    grades = _("people {human:.3g} / judge {judge:.3g}", human=turn.human, judge=turn.judge)
    return _turn(turn, grades, tone="alarm")


def _turn(turn: ComparedTurn | ReviewedTurn, what: Text, right: str = "", tone: Tone = "") -> Item:
    """A turn with what was said in it and of it."""
    texts = (
        (_("Customer"), turn.question),
        (_("Bot"), turn.answer),
        (_("People's comment"), turn.comment),
        (_("Reference answer"), right),
    )
    facts = tuple(Fact(name, excerpt(text)) for name, text in texts if text.strip())
    where = _("{conversation} · answer {n}   {what}", conversation=turn.conversation, n=turn.turn, what=what)
    return Item(where, facts, tone)


def _listed(name: str, title: Message, items: Iterable[Item]) -> Section:
    """The first items of a list, and how many more there are."""
    more = _("{n} more with --json.")
    return Section(name, title, (Items.first(SHOWN, items, more, numbered=True),))


# --- What the team says, in the order in which a meeting takes it up ---


def _team_sections(findings: ReviewFindings) -> Iterator[Section]:
    """From the verdict on the red marks to single turns."""
    # Said once, because readers know the other section's percentages.
    on_sight = _(
        "These were given with the score in view, and only for the rows that people looked"
        " at, so no agreement is calculated from them."
    )
    blocks = (
        Line(_verdict(findings), "strong"),
        FactList(tuple(_team_facts(findings))),
        Line(on_sight, "soft"),
    )
    yield Section("team", _("Review (what the team says)"), blocks)
    causes: Titles = {**CHOICES["cause"], "": _("no cause")}
    statuses: Titles = {**CHOICES["status"], "": _("no status")}
    if findings.points:
        table = _points(findings.points, causes, statuses)
        yield Section("points", _("Points to improve (cause by status)"), (table,))
    if findings.pending:
        pending = (_pending(point, statuses) for point in findings.pending)
        yield _listed("pending", _("Open work by assignee"), pending)
    # Whoever writes nothing but a comment wants it to be read.
    remarks = [turn for turn in findings.answers if turn.comment and not (turn.judge_is or turn.point)]
    if remarks:
        yield _listed("comments", _("Comments"), (_turn(turn, "") for turn in remarks))
    if findings.wrong_turns:
        title = _("Answers on which the judge was wrong (for fixing it)")
        yield _listed("wrong", title, map(_wrong, findings.wrong_turns))


def _verdict(findings: ReviewFindings) -> Message:
    share, judged = findings.precision, findings.right + findings.wrong
    if share is None:
        return _("None of the marks has been checked yet.")
    if judged < ENOUGH:
        return _("Marks checked so far: {n}. The share is only a rough indication.", n=judged)
    if share >= TEAMS_GOOD:
        return _("The marks are mostly right.")
    if share >= TEAMS_FAIR:
        return _("The marks are often wrong.")
    return _("More than half of the marks are wrong: the judge needs fixing.")


def _team_facts(findings: ReviewFindings) -> Iterator[Fact]:
    if findings.precision is not None and findings.interval:
        low, high = findings.interval
        line = _(
            "{share:.0f} % ({right} of {n} answers, 95 % interval {low:.0f}-{high:.0f} %); unsure: {unsure}",
            share=100 * findings.precision,
            right=findings.right,
            n=findings.right + findings.wrong,
            low=100 * low,
            high=100 * high,
            unsure=findings.unsure,
        )
        yield Fact(_("Marks that are right"), line)
    judged = _("{judged} of {red} answers to review", red=findings.red, judged=findings.judged)
    yield Fact(_("Reviewed"), judged)
    if n := findings.missed:
        missing = _("{n} not marked for review, where the team says that the judge is wrong.", n=n)
        yield Fact(_("Marks missing"), missing)


def _points(points: Sequence[Point], causes: Titles, statuses: Titles) -> Table:
    """Causes by status, in the order of the dropdowns, without empty columns."""
    # By the ids of the dropdowns, or by what people wrote instead.
    counts = {(point.cause, point.status): point.n for point in points}
    columns = _in_order(statuses, (status for _cause, status in counts))
    rows = []
    for cause in _in_order(causes, (cause for cause, _status in counts)):
        row = [counts.get((cause, status), 0) for status in columns]
        rows.append((causes.get(cause, cause), *(n or "" for n in row), sum(row)))
    return Table.of("points", ("", *(statuses.get(status, status) for status in columns), _("Total")), rows)


def _in_order(titles: Titles, ids: Iterable[str]) -> list[str]:
    """Ids as the dropdown has them, then what people typed themselves, then what they left empty.

    Ids that nobody used are left out, so that a table has no empty row or column.
    """
    used = set(ids)
    return [*(i for i in titles if i in used - {""}), *sorted(used - titles.keys()), *({""} & used)]


def _pending(pending: PendingReviews, statuses: Titles) -> Item:
    counts = zip(PENDING, (pending.open, pending.doing, pending.unset), strict=True)
    kinds = tuple(_("{name} {n}", name=statuses[status], n=n) for status, n in counts if n)
    who = pending.assignee or _("no owner")
    return Item(_("{who}   {n} ({kinds})", who=who, n=pending.n, kinds=kinds))


def _wrong(turn: ReviewedTurn) -> Item:
    how = _("false mark") if turn.red else _("missing mark")
    if turn.value is not None:
        how = _("{how}   judge {judge:.3g}", how=how, judge=TOP_GRADE * turn.value)
    return _turn(turn, how, turn.correct_answer)
