"""People beside the judge on a terminal: in words first, then the figures, then what the judge missed."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from simulator.analysis.figures import Summary
from simulator.analysis.gate import Gate
from simulator.analysis.review import Disputed, Review
from simulator.analysis.summary import excerpt
from simulator.prompts import Texts
from simulator.reports.notes import corrected_line, notes_of_people, points
from simulator.reports.words import plain, words_of
from simulator.reports.wrapping import wrap
from simulator.types import Language

WORDS = Texts(Path(__file__).with_name("words.toml"))
SHOWN = 5
# Agreement beyond chance is called good from .6 on and fair from .4 (Landis and Koch, 1977).
GOOD, FAIR = 0.6, 0.4
# Means that differ by less are called the same: half a point of a hundred.
_SAME = 0.005
_ALARM, _SOFT = "bold red", "dim"


class Read(NamedTuple):
    """What was read: the name of the source, and how many grades were new, known, missing, unusable."""

    name: str
    new: int
    known: int
    empty: int
    skipped: int


class Shown(NamedTuple):
    """All that is painted; `read` is None when only what the run had already was compared."""

    summary: Summary
    gate: Gate
    review: Review | None
    read: Read | None
    language: Language
    page: Path


def paint(shown: Shown, console: Console) -> None:
    """Prints the whole review; everything as text, never as markup."""
    _Painter(shown, console).everything()


class _Painter:
    """One review on one console."""

    def __init__(self, shown: Shown, console: Console) -> None:
        self.shown, self.console = shown, console

    def say(self, key: str, **values: object) -> str:
        """A text in the language of the run."""
        texts = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return WORDS(self.shown.language, key, **texts)

    def everything(self) -> None:
        """What was read, how far people and judge agree, what was missed, and the score."""
        review = self.shown.review
        self._line("")
        self._line(self.say("title", run=self.shown.summary.run), "bold underline")
        for line in self._read():
            self._line(line)
        self._line("")
        if review is None:
            self._line(self.say("nothing"))
            return
        self._line(self._verdict(review), "bold")
        facts = list(self._facts(review))
        column = max(cell_len(name) for name, _ in facts) + 2
        for name, value in facts:
            self._item(name, value, column, _SOFT)
        if review.weighted:
            self._line(self.say("weighted"), _SOFT)
        self._missed(review.missed)
        self._score()

    def _read(self) -> Iterator[str]:
        read = self.shown.read
        if read:
            yield self.say("read", name=plain(read.name), new=read.new, known=read.known)
            if read.empty:
                yield self.say("empty", n=read.empty)
            if read.skipped:
                yield self.say("skipped", n=read.skipped)

    def _verdict(self, review: Review) -> str:
        """The strength of agreement in a sentence."""
        if review.kappa is None:
            return self.say("unknown")
        return self.say("good" if review.kappa >= GOOD else "fair" if review.kappa >= FAIR else "weak")

    def _facts(self, review: Review) -> Iterator[tuple[str, str]]:
        within, side = _percent(review.within_one), _percent(review.same_side)
        yield self.say("rate"), self.say("rate_line", within=within, side=side)
        yield self.say("kappa"), _figure(review.kappa)
        yield self.say("auroc"), self.say("auroc_note", value=_figure(review.auroc))
        yield self.say("difference"), self._difference(review.difference)
        about = ""
        if review.weighted and review.missed:
            about = self.say("about", n=round(review.missed_in_run))
        yield (
            self.say("missed"),
            self.say("missed_line", n=len(review.missed), about=about)
            if review.missed
            else self.say("no_missed"),
        )
        if review.overcalled:
            yield self.say("overcalled"), self.say("overcalled_line", n=len(review.overcalled))
        if review.between:
            b = review.between
            figures = {"within": _percent(b.within_one), "kappa": _figure(b.kappa)}
            yield self.say("between"), self.say("between_line", turns=b.turns, **figures)
        yield self.say("compared"), self._compared(review)

    def _difference(self, difference: float) -> str:
        way = "level" if abs(difference) < _SAME else "lenient" if difference > 0 else "strict"
        return self.say("difference_line", points=f"{100 * difference:+.0f}", way=self.say(way))

    def _compared(self, review: Review) -> str:
        names = [
            self.say("one", name=plain(name) or self.say("nameless"), n=n)
            for name, n in review.reviewers.items()
        ]
        who = self.say("who", names=self.say("comma").join(names)) if any(review.reviewers) else ""
        return self.say("compared_line", turns=review.turns, grades=review.grades, who=who)

    def _missed(self, turns: tuple[Disputed, ...]) -> None:
        """The turns that people would have stopped, worst first."""
        if not turns:
            return
        self._line("")
        self._line(self.say("missed_title"), "bold underline")
        for number, turn in enumerate(turns[:SHOWN], 1):
            grades = self.say("grades", human=f"{turn.human:.3g}", judge=f"{turn.judge:.3g}")
            where = f"{turn.conversation} · {self.say('turn', n=turn.turn)}   {grades}"
            self._item(f"{number}.", where, 3, _ALARM)
            texts = ("customer", turn.question), ("desk", turn.answer), ("comment", turn.comment)
            for key, text in texts:
                if text.strip():
                    self._item("", f"{self.say(key)}: {excerpt(text)}", 3)
        if len(turns) > SHOWN:
            self._line(self.say("more", n=len(turns) - SHOWN), _SOFT)

    def _score(self) -> None:
        """The corrected score, or how many more grades it takes."""
        shown = self.shown
        words = words_of(shown.summary, shown.language)
        line = corrected_line(shown.summary, shown.gate.target, words)
        if line and shown.summary.corrected:
            by = words("corrected_by", n=shown.summary.corrected.n)
            score = f"{line}   {by}"
        else:
            score = f"{points(shown.summary.score)} {words('of_hundred')}"
        self._line("")
        self._line(f"{self.say('score')} {score}", "bold")
        for note in notes_of_people(shown.summary, words):
            self._item("-", note.text, 2)
        self._line(self.say("next", path=shown.page))

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
        return plain(text).encode(encoding, "replace").decode(encoding)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def say_exported(path: Path, turns: int, shown: Shown) -> str:
    """Where the labels are, and what they are good for."""
    said = WORDS(shown.language, "saved", path=plain(str(path)), n=f"{turns:,}")
    how = WORDS(shown.language, "calibrate", path=plain(str(path)), judge=plain(shown.summary.primary))
    return f"{said}\n  {how}\n"
