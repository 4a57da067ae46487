"""The report of a review: what the team says of a run, how far people's blind grades agree with the judge.

In words first, then the figures, then what to look at.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simulator.core.document import (
    TERMINAL,
    Cell,
    Fact,
    Facts,
    Item,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Table,
    count_cell,
)
from simulator.core.templates import Texts
from simulator.core.translations import points, safe_text, words_of
from simulator.core.types import Language
from simulator.report.context import corrected_line, correction_notes
from simulator.sheets.model import SheetWords
from simulator.stats.figures import Summary
from simulator.stats.gate import Gate
from simulator.stats.review import (
    PENDING,
    TOP_GRADE,
    Article,
    BlindAgreement,
    DisputedTurn,
    PendingReviews,
    ReviewedTurn,
    ReviewFindings,
)
from simulator.stats.summary import excerpt

TEXTS = Texts(Path(__file__).with_name("review.toml"))
# The text of a key in one language.
Say = Callable[..., str]
# Shown of each list; the rest is in `--json`.
SHOWN = 5
# Agreement beyond chance is called good from .6 on and fair from .4 (Landis and Koch, 1977).
GOOD, FAIR = 0.6, 0.4
# Means that differ by less are called the same: half a point of a hundred.
_SAME = 0.005
# From so many judged marks on their share is put into words; from these shares on it is good, or fair.
ENOUGH, TEAMS_GOOD, TEAMS_FAIR = 10, 0.8, 0.5


class ReadCounts(NamedTuple):
    """The name of a source, and how many of its verdicts were new, and stored already (`known`).

    `empty`, `skipped` (unusable) and `other_runs` count rows. `review` and `blind` count the verdicts of
    either kind; a file of grades has blind ones only.
    """

    name: str
    new: int
    known: int
    empty: int
    skipped: int
    other_runs: int = 0
    review: int = 0
    blind: int = 0


class ReviewOutcome(NamedTuple):
    """All that is reported; `read` is None where nothing was read, and only stored verdicts are shown."""

    summary: Summary
    gate: Gate
    review: BlindAgreement | None
    read: ReadCounts | None
    language: Language
    page: Path
    findings: ReviewFindings | None = None


def review_report(outcome: ReviewOutcome) -> Report:
    """What was read, what the team says, how far people and judge agree, what was missed, the score."""
    say = partial(TEXTS, outcome.language)
    sections = [
        Section("read", "", tuple(map(Line, _read(outcome.read, say))), views=TERMINAL),
        *(_TeamSections(outcome.findings, outcome.language).sections() if outcome.findings else ()),
        *_blind_sections(outcome.review, say),
    ]
    if outcome.review:
        sections.append(_score(outcome, say))
    title = say("title", run=outcome.summary.run)
    return Report(title=title, language=outcome.language, sections=tuple(sections))


def _read(read: ReadCounts | None, say: Say) -> Iterator[str]:
    """What was read, and what of it was not used."""
    if read is None:
        return
    if read.review or read.other_runs:
        yield say("read_team", **read._asdict())
        empty = say("empty_team", n=read.empty)
    else:
        yield say("read", **read._asdict())
        empty = say("empty", n=read.empty)
    if read.empty:
        yield empty
    if read.other_runs:
        yield say("other_runs", n=read.other_runs)
    if read.skipped:
        yield say("skipped", n=read.skipped)


def _score(outcome: ReviewOutcome, say: Say) -> Section:
    """The corrected score, or how many more grades it takes."""
    summary = outcome.summary
    words = words_of(summary, outcome.language)
    score = f"{points(summary.score)} {words('of_hundred')}"
    if (line := corrected_line(summary, outcome.gate.target, words)) and summary.corrected:
        score = f"{line}   {words('corrected_by', n=summary.corrected.n)}"
    notes = tuple(Line(note.text) for note in correction_notes(summary, words))
    blocks = Line(score, "strong"), Notes(notes), Line(say("next", path=outcome.page))
    return Section("score", say("score"), blocks, views=TERMINAL)


def _percent(share: float) -> str:
    """A share (0..1) in per cent, without decimals and sign."""
    return f"{100 * share:.0f}"


def _blind_sections(review: BlindAgreement | None, say: Say) -> Iterator[Section]:
    """The agreement, and the turns that people would have stopped, worst first."""
    title = say("blind_title")
    if review is None:
        yield Section("blind", title, (Line(say("nothing")),))
        return
    blocks = Line(_agreement(review, say), "strong"), Facts(tuple(_agreement_facts(review, say)))
    weighted = (Line(say("weighted"), "soft"),) if review.weighted else ()
    yield Section("blind", title, (*blocks, *weighted))
    if review.missed:
        missed = _shown([_disputed(turn, say) for turn in review.missed], say)
        yield Section("missed", say("missed_title"), (missed,))


def _shown(items: Sequence[Item], say: Say) -> Items:
    """The first items of a list, and how many more there are."""
    more = len(items) - SHOWN
    return Items(tuple(items[:SHOWN]), say("more_items", n=more) if more > 0 else "", numbered=True)


def _agreement(review: BlindAgreement, say: Say) -> str:
    """The strength of agreement in a sentence."""
    if review.kappa is None:
        return say("unknown")
    return say("good") if review.kappa >= GOOD else say("fair") if review.kappa >= FAIR else say("weak")


def _agreement_facts(review: BlindAgreement, say: Say) -> Iterator[Fact]:
    within, side = _percent(review.within_one), _percent(review.same_side)
    yield Fact(say("rate"), say("rate_line", within=within, side=side))
    yield Fact(say("kappa"), _figure(review.kappa))
    yield Fact(say("auroc"), say("auroc_note", value=_figure(review.auroc)))
    level = abs(review.difference) < _SAME
    way = say("level") if level else say("lenient") if review.difference > 0 else say("strict")
    line = say("difference_line", points=f"{100 * review.difference:+.0f}", way=way)
    yield Fact(say("difference"), line)
    about = say("about", n=round(review.missed_in_run)) if review.weighted and review.missed else ""
    missed = say("missed_line", n=len(review.missed), about=about) if review.missed else say("no_missed")
    yield Fact(say("missed"), missed)
    if review.overcalled:
        yield Fact(say("overcalled"), say("overcalled_line", n=len(review.overcalled)))
    if between := review.between:
        within, kappa = _percent(between.within_one), _figure(between.kappa)
        line = say("between_line", turns=between.turns, within=within, kappa=kappa)
        yield Fact(say("between"), line)
    names = [say("one", name=_reviewer(name, say), n=n) for name, n in review.reviewers.items()]
    who = say("who", names=say("comma").join(names)) if any(review.reviewers) else ""
    yield Fact(say("compared"), say("compared_line", turns=review.turns, grades=review.grades, who=who))


def _reviewer(name: str, say: Say) -> str:
    """A reviewer's name; those of a worksheet are numbered."""
    return say("numbered", number=name) if name.isdecimal() else name or say("nameless")


def _disputed(turn: DisputedTurn, say: Say) -> Item:
    grades = say("grades", human=f"{turn.human:.3g}", judge=f"{turn.judge:.3g}")
    texts = (say("customer"), turn.question), (say("desk"), turn.answer), (say("comment"), turn.comment)
    return Item(f"{_where(turn, say)}   {grades}", _quoted(texts), "alarm")


def _where(turn: DisputedTurn | ReviewedTurn, say: Say) -> str:
    return f"{turn.conversation} · {say('turn', n=turn.turn)}"


def _quoted(texts: Iterable[tuple[str, str]]) -> tuple[Fact, ...]:
    return tuple(Fact(name, excerpt(text)) for name, text in texts if text.strip())


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


class _TeamSections:
    """The findings of a run in a language, in the order in which a meeting takes them up."""

    def __init__(self, findings: ReviewFindings, language: Language) -> None:
        self.findings, self.say, words = findings, partial(TEXTS, language), SheetWords(language)
        self.causes = {choice.id: choice.title for choice in words.choices("cause")}
        self.statuses = {choice.id: choice.title for choice in words.choices("status")}
        self.customer, self.desk = words("text", "customer"), words("text", "desk")

    def sections(self) -> Iterator[Section]:
        """From the verdict on the red marks to single turns."""
        findings, say = self.findings, self.say
        blocks = Line(self._verdict(), "strong"), Facts(tuple(self._facts())), Line(say("on_sight"), "soft")
        yield Section("team", say("team_title"), blocks)
        if findings.points:
            yield Section("points", say("points_title"), (self._points(),))
        articles, pending = map(self._article, findings.articles), map(self._pending, findings.pending)
        yield self._list("articles", say("articles_title"), articles, say("no_articles"))
        yield self._list("pending", say("pending_title"), pending, say("no_pending"))
        wrong = map(self._wrong, findings.wrong_turns)
        yield self._list("wrong", say("wrong_title"), wrong, say("no_wrong"))

    def _list(self, key: str, title: str, items: Iterable[Item], none: str) -> Section:
        listed = tuple(items)
        return Section(key, title, (_shown(listed, self.say) if listed else Line(none),))

    def _verdict(self) -> str:
        findings, say = self.findings, self.say
        share, judged = findings.precision, findings.right + findings.wrong
        if share is None:
            return say("marks_none")
        if judged < ENOUGH:
            return say("marks_few", n=judged)
        if share >= TEAMS_GOOD:
            return say("marks_good")
        return say("marks_fair") if share >= TEAMS_FAIR else say("marks_weak")

    def _facts(self) -> Iterator[Fact]:
        findings, say = self.findings, self.say
        if findings.precision is not None and findings.interval:
            low, high = map(_percent, findings.interval)
            line = say(
                "precision_line",
                share=_percent(findings.precision),
                right=findings.right,
                n=findings.right + findings.wrong,
                low=low,
                high=high,
                unsure=findings.unsure,
            )
            yield Fact(say("precision"), line)
        yield Fact(say("progress"), say("progress_line", red=findings.red, judged=findings.judged))
        if findings.missed:
            yield Fact(say("unmarked"), say("unmarked_line", n=findings.missed))

    def _points(self) -> Table:
        """Causes by status, in the order of the dropdowns, without empty columns."""
        counts = {(point.cause, point.status): point.n for point in self.findings.points}
        statuses = _in_order(self.statuses, (status for _, status in counts))
        rows: list[tuple[Cell, ...]] = []
        for cause in _in_order(self.causes, (cause for cause, _ in counts)):
            row = [counts.get((cause, status), 0) for status in statuses]
            cells = (count_cell(n) if n else Cell(text="") for n in row)
            rows.append((Cell(text=self._cause(cause)), *cells, count_cell(sum(row))))
        columns = ("", *map(self._status, statuses), self.say("total"))
        return Table(name="points", title="", columns=columns, rows=tuple(rows))

    def _cause(self, cause: str) -> str:
        return self.causes.get(cause, cause) or self.say("no_cause")

    def _status(self, status: str) -> str:
        return self.statuses.get(status, status) or self.say("no_status")

    def _article(self, article: Article) -> Item:
        say = self.say
        counts = (say("cause_n", cause=self._cause(cause), n=n) for cause, n in article.causes.items())
        how = say("gold") if article.gold else say("retrieved")
        if article.gold and article.retrieved:
            how = say("both_kinds")
        source = say("source", name=article.source) if article.source else ""
        line = say(
            "article_line",
            passage=article.passage,
            source=source,
            turns=len(article.turns),
            causes=say("comma").join(counts),
            how=how,
        )
        return Item(line)

    def _pending(self, pending: PendingReviews) -> Item:
        say = self.say
        counts = zip(PENDING, (pending.open, pending.doing, pending.unset), strict=True)
        kinds = say("comma").join(say("cause_n", cause=self._status(kind), n=n) for kind, n in counts if n)
        line = say("pending_line", n=pending.n, kinds=kinds)
        return Item(f"{pending.assignee or say('nobody')}   {line}")

    def _wrong(self, turn: ReviewedTurn) -> Item:
        say = self.say
        grade = "" if turn.value is None else say("judged_at", judge=f"{TOP_GRADE * turn.value:.3g}")
        how = say("wrong_red") if turn.red else say("wrong_missed")
        texts = (
            (self.customer, turn.question), (self.desk, turn.answer),
            (say("comment"), turn.comment), (say("right_answer"), turn.correct_answer),
        )  # fmt: skip
        return Item("   ".join(filter(None, (_where(turn, say), how, grade))), _quoted(texts))


def _in_order(choices: dict[str, str], ids: Iterable[str]) -> list[str]:
    """Ids as the dropdown has them, then what people typed themselves, then what they left empty."""
    used = set(ids)
    return [*(i for i in choices if i in used), *sorted(used - choices.keys() - {""}), *({""} & used)]


def export_text(path: Path, turns: int, outcome: ReviewOutcome) -> str:
    """The lines about an exported file of labels: where it is, and how it calibrates a judge."""
    say = partial(TEXTS, outcome.language)
    saved = say("saved", path=path, n=turns)
    command = say("calibrate", path=path, judge=outcome.summary.primary)
    return safe_text(f"{saved}\n  {command}\n")
