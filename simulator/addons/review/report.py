"""The report of a review: what the team says of a run, how far people's blind grades agree with the judge.

As sections, on a terminal, and as Markdown. In words first, then the figures, then what to look at.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from simulator.core.document import escape_markdown, wrap
from simulator.core.templates import Texts
from simulator.core.translations import points, safe_text, words_of
from simulator.core.types import Language
from simulator.report.context import corrected_line, correction_notes
from simulator.report.listing import Item, Say, Section
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

WORDS = Texts(Path(__file__).with_name("review.toml"))
# Shown of each list; the rest is in `--json`.
SHOWN = 5
# Agreement beyond chance is called good from .6 on and fair from .4 (Landis and Koch, 1977).
GOOD, FAIR = 0.6, 0.4
# Means that differ by less are called the same: half a point of a hundred.
_SAME = 0.005
# From so many judged marks on their share is put into words; from these shares on it is good, or fair.
ENOUGH, TEAMS_GOOD, TEAMS_FAIR = 10, 0.8, 0.5
_ALARM, _SOFT = "bold red", "dim"


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


class ReviewReport(NamedTuple):
    """All that is painted; `read` is None where nothing was read, and only stored verdicts are shown."""

    summary: Summary
    gate: Gate
    review: BlindAgreement | None
    read: ReadCounts | None
    language: Language
    page: Path
    findings: ReviewFindings | None = None


def words_in(language: Language) -> Say:
    """The texts of `review` in a language, numbers with thousands separators."""

    def say(key: str, **values: object) -> str:
        texts = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return WORDS(language, key, **texts)

    return say


def percent(share: float) -> str:
    """A share (0..1) in per cent, without decimals and sign."""
    return f"{100 * share:.0f}"


def blind_sections(review: BlindAgreement | None, language: Language, title: str = "") -> tuple[Section, ...]:
    """The agreement, and the turns that people would have stopped, worst first."""
    say = words_in(language)
    if review is None:
        return (Section(title, say("nothing")),)
    agreement = Section(
        title,
        _verdict(review, say),
        facts=tuple(_facts(review, say)),
        aside=say("weighted") if review.weighted else "",
    )
    if not review.missed:
        return (agreement,)
    items = tuple(_disputed(turn, say) for turn in review.missed[:SHOWN])
    more = max(0, len(review.missed) - SHOWN)
    return agreement, Section(say("missed_title"), items=items, more=more, alarm=True)


def _verdict(review: BlindAgreement, say: Say) -> str:
    """The strength of agreement in a sentence."""
    if review.kappa is None:
        return say("unknown")
    return say("good" if review.kappa >= GOOD else "fair" if review.kappa >= FAIR else "weak")


def _facts(review: BlindAgreement, say: Say) -> Iterator[tuple[str, str]]:
    within, side = percent(review.within_one), percent(review.same_side)
    yield say("rate"), say("rate_line", within=within, side=side)
    yield say("kappa"), _figure(review.kappa)
    yield say("auroc"), say("auroc_note", value=_figure(review.auroc))
    way = "level" if abs(review.difference) < _SAME else "lenient" if review.difference > 0 else "strict"
    line = say("difference_line", points=f"{100 * review.difference:+.0f}", way=say(way))
    yield say("difference"), line
    about = say("about", n=round(review.missed_in_run)) if review.weighted and review.missed else ""
    missed = say("missed_line", n=len(review.missed), about=about) if review.missed else say("no_missed")
    yield say("missed"), missed
    if review.overcalled:
        yield say("overcalled"), say("overcalled_line", n=len(review.overcalled))
    if review.between:
        within, kappa = percent(review.between.within_one), _figure(review.between.kappa)
        yield say("between"), say("between_line", turns=review.between.turns, within=within, kappa=kappa)
    yield say("compared"), _compared(review, say)


def _compared(review: BlindAgreement, say: Say) -> str:
    names = [say("one", name=_reviewer(name, say), n=n) for name, n in review.reviewers.items()]
    reviewers = say("who", names=say("comma").join(names)) if any(review.reviewers) else ""
    return say("compared_line", turns=review.turns, grades=review.grades, who=reviewers)


def _reviewer(name: str, say: Say) -> str:
    """A reviewer's name; those of a worksheet are numbered."""
    return say("numbered", number=name) if name.isdecimal() else safe_text(name) or say("nameless")


def _disputed(turn: DisputedTurn, say: Say) -> Item:
    grades = say("grades", human=f"{turn.human:.3g}", judge=f"{turn.judge:.3g}")
    texts = (say("customer"), turn.question), (say("desk"), turn.answer), (say("comment"), turn.comment)
    beneath = tuple((name, excerpt(text)) for name, text in texts if text.strip())
    return Item(f"{turn.conversation} · {say('turn', n=turn.turn)}   {grades}", beneath)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def team_sections(findings: ReviewFindings, language: Language) -> tuple[Section, ...]:
    """What the team says: red marks, points to improve, articles to fix, open work, errors of the judge."""
    return tuple(_TeamSections(findings, language).sections())


class _TeamSections:
    """The findings of a run in a language, in the order in which a meeting takes them up."""

    def __init__(self, findings: ReviewFindings, language: Language) -> None:
        self.findings, self.say, words = findings, words_in(language), SheetWords(language)
        self.causes = {choice.id: choice.title for choice in words.choices("cause")}
        self.statuses = {choice.id: choice.title for choice in words.choices("status")}
        self.customer, self.desk = words("text", "customer"), words("text", "desk")

    def sections(self) -> Iterator[Section]:
        """From the verdict on the red marks to single turns."""
        yield Section(
            self.say("team_title"),
            self._verdict(),
            facts=tuple(self._facts()),
            aside=self.say("on_sight"),
        )
        if self.findings.points:
            yield Section(self.say("points_title"), table=tuple(self._points()))
        yield self._list("articles", map(self._article, self.findings.articles))
        yield self._list("pending", map(self._pending, self.findings.pending))
        yield self._list("wrong", map(self._wrong, self.findings.wrong_turns))

    def _list(self, name: str, all_items: Iterable[Item]) -> Section:
        items = tuple(all_items)
        title, lead = self.say(f"{name}_title"), "" if items else self.say(f"no_{name}")
        return Section(title, lead, items=items[:SHOWN], more=max(0, len(items) - SHOWN))

    def _verdict(self) -> str:
        findings = self.findings
        share = findings.precision
        if share is None:
            return self.say("marks_none")
        if findings.right + findings.wrong < ENOUGH:
            return self.say("marks_few", n=findings.right + findings.wrong)
        return self.say(
            "marks_good" if share >= TEAMS_GOOD else "marks_fair" if share >= TEAMS_FAIR else "marks_weak"
        )

    def _facts(self) -> Iterator[tuple[str, str]]:
        findings = self.findings
        if findings.precision is not None and findings.interval:
            low, high = map(percent, findings.interval)
            line = self.say(
                "precision_line",
                share=percent(findings.precision),
                right=findings.right,
                n=findings.right + findings.wrong,
                low=low,
                high=high,
                unsure=findings.unsure,
            )
            yield self.say("precision"), line
        yield self.say("progress"), self.say("progress_line", red=findings.red, judged=findings.judged)
        if findings.missed:
            yield self.say("unmarked"), self.say("unmarked_line", n=findings.missed)

    def _points(self) -> Iterator[tuple[str, ...]]:
        """Causes by status, in the order of the dropdowns, without empty columns."""
        counts = {(point.cause, point.status): point.n for point in self.findings.points}
        causes = _in_order(self.causes, (cause for cause, _ in counts))
        statuses = _in_order(self.statuses, (status for _, status in counts))
        yield ("", *map(self._status, statuses), self.say("total"))
        for cause in causes:
            row = [counts.get((cause, status), 0) for status in statuses]
            yield self._cause(cause), *(f"{n:,}" if n else "" for n in row), f"{sum(row):,}"

    def _cause(self, cause: str) -> str:
        return self.causes.get(cause, cause) or self.say("no_cause")

    def _status(self, status: str) -> str:
        return self.statuses.get(status, status) or self.say("no_status")

    def _article(self, article: Article) -> Item:
        causes = self.say("comma").join(
            self.say("cause_n", cause=self._cause(cause), n=n) for cause, n in article.causes.items()
        )
        kind = "both_kinds" if article.gold and article.retrieved else "gold" if article.gold else "retrieved"
        source = self.say("source", name=article.source) if article.source else ""
        line = self.say(
            "article_line",
            passage=article.passage,
            source=source,
            turns=len(article.turns),
            causes=causes,
            how=self.say(kind),
        )
        return Item(line)

    def _pending(self, pending: PendingReviews) -> Item:
        counts = zip(PENDING, (pending.open, pending.doing, pending.unset), strict=True)
        kinds = self.say("comma").join(
            self.say("cause_n", cause=self._status(kind), n=n) for kind, n in counts if n
        )
        assignee = pending.assignee or self.say("nobody")
        return Item(f"{assignee}   {self.say('pending_line', n=pending.n, kinds=kinds)}")

    def _wrong(self, turn: ReviewedTurn) -> Item:
        where = f"{turn.conversation} · {self.say('turn', n=turn.turn)}"
        grade = "" if turn.value is None else self.say("judged_at", judge=f"{TOP_GRADE * turn.value:.3g}")
        how = self.say("wrong_red" if turn.red else "wrong_missed")
        texts = (
            (self.customer, turn.question), (self.desk, turn.answer),
            (self.say("comment"), turn.comment), (self.say("right_answer"), turn.correct_answer),
        )  # fmt: skip
        beneath = tuple((name, excerpt(text)) for name, text in texts if text.strip())
        return Item("   ".join(filter(None, (where, how, grade))), beneath)


def _in_order(choices: dict[str, str], ids: Iterable[str]) -> list[str]:
    """Ids as the dropdown has them, then what people typed themselves, then what they left empty."""
    used = set(ids)
    return [*(i for i in choices if i in used), *sorted(used - choices.keys() - {""}), *({""} & used)]


def paint(report: ReviewReport, console: Console) -> None:
    """Prints the whole review; everything as text, never as markup."""
    _Painter(report, console).everything()


class _Painter:
    """One review on one console."""

    def __init__(self, report: ReviewReport, console: Console) -> None:
        self.report, self.console, self.say = report, console, words_in(report.language)

    def everything(self) -> None:
        """What was read, what the team says, how far people and judge agree, what was missed, the score."""
        report, findings = self.report, self.report.findings
        self._line("")
        self._line(self.say("title", run=report.summary.run), "bold underline")
        for line in self._read():
            self._line(line)
        title = self.say("blind_title") if findings else ""
        team = team_sections(findings, report.language) if findings else ()
        for section in (*team, *blind_sections(report.review, report.language, title)):
            self._section(section)
        if report.review:
            self._score()

    def _read(self) -> Iterator[str]:
        read = self.report.read
        if read:
            team = bool(read.review or read.other_runs)
            key, empty = ("read_team", "empty_team") if team else ("read", "empty")
            yield self.say(
                key,
                name=safe_text(read.name),
                new=read.new,
                known=read.known,
                review=read.review,
                blind=read.blind,
            )
            counts = {empty: read.empty, "other_runs": read.other_runs, "skipped": read.skipped}
            yield from (self.say(key, n=n) for key, n in counts.items() if n)

    def _section(self, section: Section) -> None:
        """One part of the review."""
        self._line("")
        if section.title:
            self._line(section.title, "bold underline")
        if section.lead:
            self._line(section.lead, "bold" if section.facts else "")
        column = max((cell_len(name) for name, _ in section.facts), default=0) + 2
        for name, value in section.facts:
            self._item(name, value, column, _SOFT)
        self._table(section.table)
        for number, item in enumerate(section.items, 1):
            self._item(f"{number}.", item.text, 3, _ALARM if section.alarm else "")
            for name, text in item.beneath:
                self._item("", f"{name}: {text}", 3)
        if section.more:
            self._line(self.say("more_items", n=section.more), _SOFT)
        if section.aside:
            self._line(section.aside, _SOFT)

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their widest cell, counts to the right."""
        fitted = [[self._fit(" ".join(cell.split())) for cell in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(*fitted, strict=True)]
        for number, (head, *row) in enumerate(fitted):
            cells = [" " * (w - cell_len(cell)) + cell for cell, w in zip(row, widths[1:], strict=True)]
            line = "  ".join([head + " " * (widths[0] - cell_len(head)), *cells])
            self.console.print(Text(line, style="" if number else _SOFT), highlight=False, no_wrap=True)

    def _score(self) -> None:
        """The corrected score, or how many more grades it takes."""
        summary = self.report.summary
        words = words_of(summary, self.report.language)
        line = corrected_line(summary, self.report.gate.target, words)
        if line and summary.corrected:
            score = f"{line}   {words('corrected_by', n=summary.corrected.n)}"
        else:
            score = f"{points(summary.score)} {words('of_hundred')}"
        self._line("")
        self._line(f"{self.say('score')} {score}", "bold")
        for note in correction_notes(summary, words):
            self._item("-", note.text, 2)
        self._line(self.say("next", path=self.report.page))

    def _line(self, text: str, style: str = "") -> None:
        for line in wrap(self._fit(text), self.console.width) if text else [""]:
            self.console.print(Text(line, style=style), highlight=False)

    def _item(self, marker: str, text: str, indent: int, style: str = "") -> None:
        """A paragraph that hangs from its marker, `indent` cells from the left."""
        head = self._fit(marker) + " " * max(1, indent - cell_len(self._fit(marker)))
        for line in wrap(self._fit(text), self.console.width - cell_len(head)):
            self.console.print(Text(head, style).append(line), highlight=False)
            head = " " * cell_len(head)

    def _fit(self, text: str) -> str:
        """The text without control codes, and without what this console's encoding does not have."""
        encoding = self.console.encoding
        return safe_text(text).encode(encoding, "replace").decode(encoding)


def say_exported(path: Path, turns: int, report: ReviewReport) -> str:
    """The lines about an exported file of labels: where it is, and how it calibrates a judge."""
    say = words_in(report.language)
    saved = say("saved", path=safe_text(str(path)), n=turns)
    command = say("calibrate", path=safe_text(str(path)), judge=safe_text(report.summary.primary))
    return f"{saved}\n  {command}\n"


def say_excerpt(path: Path, report: ReviewReport) -> str:
    """The line about a written Markdown file."""
    return words_in(report.language)("markdown_saved", path=safe_text(str(path))) + "\n"


def markdown(
    findings: ReviewFindings | None, review: BlindAgreement | None, run: str, language: Language
) -> str:
    """What the team says, and how far people and judge agree, as Markdown; people's texts are escaped."""
    say = words_in(language)
    team = team_sections(findings, language) if findings else ()
    parts = [f"## {escape_markdown(say('title', run=run))}"]
    for section in (*team, *blind_sections(review, language, say("blind_title"))):
        parts += [f"### {escape_markdown(section.title)}", *_markdown(section, say)]
    return "\n\n".join(parts) + "\n"


def _markdown(section: Section, say: Say) -> Iterator[str]:
    if section.lead:
        yield f"**{escape_markdown(section.lead)}**"
    if section.facts:
        yield "\n".join(
            f"- {escape_markdown(name)}: {escape_markdown(value)}" for name, value in section.facts
        )
    if section.table:
        head, *rows = ([escape_markdown(cell) for cell in row] for row in section.table)
        yield "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
    if section.items:
        lines = []
        for number, item in enumerate(section.items, 1):
            lines.append(f"{number}. {escape_markdown(item.text)}")
            lines += [f"   - {escape_markdown(name)}: {escape_markdown(text)}" for name, text in item.beneath]
        yield "\n".join(lines)
    if section.more:
        yield escape_markdown(say("more_items", n=section.more))
    if section.aside:
        yield f"_{escape_markdown(section.aside)}_"
