"""The report of a review: what the team says of a run, how far people's blind grades agree with the judge.

In words first, then the figures, then what to look at. Where people reviewed on sight of the grade, no
agreement is claimed; where they graded blind, it is.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.document import (
    TERMINAL,
    Fact,
    FactList,
    Item,
    Items,
    Line,
    Report,
    Section,
    Text,
    excerpt,
    points,
)
from simulator.core.messages import Message, _, ngettext
from simulator.core.types import Language, Results
from simulator.core.writing import shown_path
from simulator.report.gate import reasons
from simulator.report.people import decision_text
from simulator.results.figures import Summary, rounded
from simulator.results.gate import Gate
from simulator.results.review import TOP_GRADE, BlindAgreement, ComparedTurn, ReviewedTurn, ReviewFindings
from simulator.storage.run_file import RUN_FILE

# Shown of each list; the rest is in `--json`.
SHOWN = 5
# From so many answers on it is said how far judge and people agree.
ENOUGH = 10


class ReadCounts(NamedTuple):
    """The name of a source, and how many rows in which people wrote were new, and stored already (`known`).

    `empty` and `other_runs` count rows, too, `skipped` rows and cells that could not be used. `review` and
    `blind` are the rows of either kind: of a blind one each reviewer counts.
    """

    name: str
    new: int
    known: int
    empty: int
    skipped: int
    other_runs: int
    review: int
    blind: int


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

    results: Results
    summary: Summary
    gate: Gate
    language: Language
    page: Path
    blind: BlindAgreement | None
    findings: ReviewFindings | None
    read: ReadCounts | None = None
    tests: SavedTests | None = None

    def as_json(self) -> dict[str, Any]:
        """The object of --json."""
        summary, read, decision = self.summary, self.read, self.results.release_decision
        return {
            "run": summary.run,
            "store": str(self.page.with_name(RUN_FILE)),
            "read": read and {key: value for key, value in read._asdict().items() if key != "name"},
            "review": self.findings and self.findings.as_json(),
            "agreement": self.blind and self.blind.as_json(),
            "tests": self.tests and self.tests._asdict() | {"path": str(self.tests.path)},
            "release_decision": decision and decision.model_dump(),
            "score": rounded(summary.scores.score),
            "target": self.gate.asked,
            "passed": self.gate.passed,
            "reasons": [str(reason) for reason in reasons(self.gate)],
        }


def review_report(outcome: ReviewOutcome) -> Report:
    """What was read, what the team says, how far people and judge agree, and what was missed.

    Only what goes into a meeting's minutes is in Markdown: what was read is the terminal's alone.
    """
    read = Section("read", "", tuple(map(Line, _read(outcome))), views=TERMINAL)
    decision = outcome.results.release_decision
    decided = decision and Line(decision_text(decision), "strong")
    sections = [
        read,
        *([Section("decision", _("Release decision"), (decided,))] if decided else []),
        # The team's words come first: they say what to do, blind grades how far to trust the judge.
        *(_team_sections(outcome.findings) if outcome.findings else ()),
        *_blind_sections(outcome.blind),
    ]
    title = _("People and the judge  {run}", run=outcome.summary.run)
    return Report(title=title, language=outcome.language, sections=tuple(sections))


def _read(outcome: ReviewOutcome) -> Iterator[Message]:
    """What was read, what of it was not used, and what became of the answers that the team made tests."""
    if read := outcome.read:
        yield _("Read {name}: review {review}, blind {blind}. New among them: {new}.", **read._asdict())
        if read.other_runs:
            yield _("Rows of other runs, skipped: {n}.", n=read.other_runs)
        if read.skipped:
            yield _("What could not be used: {n} (see above; all else was stored).", n=read.skipped)
    if tests := outcome.tests:
        yield _(
            "Tests in {path}: {added} added, {known} there already, {guarded} marked must-not-break.",
            **tests._asdict(),
        )
    yield _("The report shows it, too: {path}", path=shown_path(outcome.page))


# --- Blind grades ---


def _blind_sections(review: BlindAgreement | None) -> Iterator[Section]:
    """The agreement, and the turns that people would have stopped, worst first."""
    title = _("Blind grades (given without any score)")
    if review is None:
        yield Section("blind", title, (Line(_("There are no grades to compare yet.")),))
        return
    yield Section("blind", title, (FactList(tuple(_agreement_facts(review))),))
    if review.missed:
        yield _listed("missed", _("Missed answers"), map(_missed, review.missed))


def _agreement_facts(review: BlindAgreement) -> Iterator[Fact]:
    """How many answers were compared, and what came of it; shares of few answers say nothing."""
    given = {"n": review.turns, "grades": review.grades}
    compared = ngettext("{n} answer, {grades} human grades", "{n} answers, {grades} human grades", **given)
    yield Fact(_("Compared"), compared)
    if review.turns < ENOUGH:
        few = _("too few to tell ({n} answers; it takes {enough})", n=review.turns, enough=ENOUGH)
        yield Fact(_("Agreement"), few)
    else:
        side = _("agree on needing review: {side:.0f} %", side=100 * review.same_side)
        yield Fact(_("Agreement"), side)
        # Leniency moves every score; the sign says which way.
        by = points(abs(review.difference))
        lenient = _("{points} points more lenient than people", points=by)
        strict = _("{points} points stricter than people", points=by)
        yield Fact(_("The judge is"), lenient if review.difference > 0 else strict)
    if n := len(review.missed):
        yield Fact(_("Missed"), _("{n} not marked for review, although people gave 2 or less.", n=n))
    if n := len(review.overcalled):
        yield Fact(_("Overcalled"), _("{n} marked for review, although people gave 4 or more.", n=n))


def _missed(turn: ComparedTurn) -> Item:
    grades = _("people {human:.3g} / judge {judge:.3g}", human=turn.human, judge=turn.judge)
    where = _(
        "{conversation} · answer {n}   {what}", conversation=turn.conversation, n=turn.turn, what=grades
    )
    return Item(where, _said(turn.question, turn.answer, turn.comment), "alarm")


def _said(question: str, answer: str, comment: str, right: str = "") -> tuple[Fact, ...]:
    """What was said in a turn and of it."""
    texts = (
        (_("Customer"), question),
        (_("Bot"), answer),
        (_("People's comment"), comment),
        (_("Reference answer"), right),
    )
    return tuple(Fact(name, excerpt(text)) for name, text in texts if text.strip())


def _listed(name: str, title: Message, items: Iterable[Item]) -> Section:
    """The first items of a list, and how many more there are."""
    more = _("{n} more with --json.")
    return Section(name, title, (Items.first(SHOWN, items, more, numbered=True),))


# --- What the team says, in the order in which a meeting takes it up ---


def _team_sections(findings: ReviewFindings) -> Iterator[Section]:
    """From shares of the red marks to single turns."""
    # Said once, because readers know the other section's percentages.
    on_sight = _(
        "These were given with the score in view, and only for the rows that people looked"
        " at, so no agreement is calculated from them."
    )
    facts = FactList(tuple(_team_facts(findings)))
    yield Section("team", _("Review (what the team says)"), (facts, Line(on_sight, "soft")))
    if findings.pending:
        nobody = _("no owner")
        pending = (Item(_("{who}: {n}", who=who or nobody, n=n)) for who, n in findings.pending.items())
        yield _listed("pending", _("Open work by assignee"), pending)
    # Whoever writes nothing but a comment wants it to be read.
    remarks = [
        turn for turn in findings.answers if turn.said.comment and not (turn.said.judge_is or turn.point)
    ]
    if remarks:
        yield _listed("comments", _("Comments"), (_reviewed(turn, "") for turn in remarks))
    if findings.wrong_turns:
        title = _("Answers on which the judge was wrong (for fixing it)")
        yield _listed("wrong", title, map(_wrong, findings.wrong_turns))


def _team_facts(findings: ReviewFindings) -> Iterator[Fact]:
    if findings.precision is not None:
        line = _(
            "{share:.0f} % ({right} of {n} answers); unsure: {unsure}",
            share=100 * findings.precision,
            right=findings.marks("right"),
            n=findings.marks("right") + findings.marks("wrong"),
            unsure=findings.marks("unsure"),
        )
        yield Fact(_("Marks that are right"), line)
    judged = _(
        "{judged} of {red} answers to review (the same answer counts once)",
        red=findings.red,
        judged=findings.judged,
    )
    yield Fact(_("Reviewed"), judged)
    if n := findings.missed:
        missing = _("{n} not marked for review, where the team says that the judge is wrong.", n=n)
        yield Fact(_("Marks missing"), missing)


def _wrong(turn: ReviewedTurn) -> Item:
    how = _("false mark") if turn.red else _("missing mark")
    if turn.value is not None:
        how = _("{how}   judge {judge:.3g}", how=how, judge=TOP_GRADE * turn.value)
    return _reviewed(turn, how)


def _reviewed(reviewed: ReviewedTurn, what: Text) -> Item:
    talk, turn, said = reviewed.conversation.id, reviewed.turn, reviewed.said
    where = _("{conversation} · answer {n}   {what}", conversation=talk, n=turn.index, what=what)
    return Item(where, _said(turn.user, turn.answer.text, said.comment, said.correct_answer))
