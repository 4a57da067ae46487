"""The comparison of two runs: sentences and figures for every report, and the terminal and Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from simulator.core.document import escape_markdown, wrap
from simulator.core.templates import Texts
from simulator.core.translations import Words, points, safe_text, text_lookup
from simulator.core.types import Language, Run
from simulator.stats.comparison import (
    FEWEST_CASES,
    FEWEST_PAIRS,
    Caution,
    Difference,
    RunComparison,
    TurnChange,
    is_regression,
)
from simulator.storage.runs import replay_of

TEXTS = Texts(Path(__file__).with_name("changes.toml"))
# Turns that are quoted on the terminal and in Markdown; the page has more.
QUOTED, QUOTED_IN_MARKDOWN = 5, 10
_STYLES = {"alarm": "bold red", "good": "bold green", "": ""}
_MARKERS = {"alarm": "✕ ", "good": "✓ "}
_SOFT = "dim"


class Sentence(NamedTuple):
    """One sentence; `tone` is alarm, good, or empty."""

    text: str
    tone: str = ""


class ComparisonText:
    """The sentences about two runs in one language, which is that of `words`."""

    def __init__(self, changes: RunComparison, words: Words) -> None:
        """`words` know the names of judges and personas."""
        self.changes, self.words = changes, words
        self._say = text_lookup(TEXTS, "diff", words.language, rows=words.rows)

    def say(self, key: str, /, **values: object) -> str:
        """A text of changes.toml."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return self._say(key, **shown)

    def headline(self) -> Sentence:
        """Whether the bot got better, in one or two sentences."""
        verdict = self._verdict()
        if not self.changes.broken:
            return verdict
        first = self.say("broken_first", n=len(self.changes.broken))
        return Sentence(self._joined(first, verdict.text), "alarm")

    def _verdict(self) -> Sentence:
        """The verdict on the scores."""
        row, changes = self.changes.score, self.changes
        if changes.verdict == "not_comparable" or row is None:
            return Sentence(self.say("verdict_not_comparable"), "alarm")
        values = {
            "was": points(row.before), "now": points(row.after), "by": signed(row.difference),
            "larger": largest(row.larger), "pairs": row.pairs, "cases": row.cases, "moved": row.moved,
            "p": p_text(row.p_holm), **ends(row.interval),
        }  # fmt: skip
        tone = {"better": "good", "worse": "alarm"}.get(changes.verdict, "")
        verdict = self.say(f"verdict_{_verdict_key(row)}", **values)
        if not changes.fallen:
            return Sentence(verdict, tone)
        veto = is_regression(changes.judges, changes.verdict, redder=changes.reds.redder)
        fallen = self.say("but_worse" if veto else "but_fell", judges=self.judges(changes.fallen))
        return Sentence(self._joined(verdict, fallen), "alarm" if veto else tone)

    def _joined(self, *sentences: str) -> str:
        """Sentences one after the other, with a space in English."""
        return ("" if self.words.language == "ja" else " ").join(sentences)

    def below(self) -> Iterator[Sentence]:
        """What follows the headline: how many cases are missing, guarded questions, what was compared."""
        changes, row = self.changes, self.changes.score
        if changes.verdict == "not_comparable":
            yield Sentence(self.say("grade_again", run=changes.before.run, judges=changes.primary))
        if changes.verdict == "not_enough":
            yield Sentence(self.say("few", cases=FEWEST_CASES, pairs=FEWEST_PAIRS))
        if row and row.more and changes.verdict in ("not_enough", "no_difference"):
            conversations = ceil(row.more * changes.paired / row.cases)
            yield Sentence(self.say("more", n=row.more, conversations=conversations))
        yield from self._guarded_sentences()
        yield from self._line_sentences()
        if changes.changed:
            yield Sentence(self.say("changed", what=self.say("comma").join(self._changed())))

    def _guarded_sentences(self) -> Iterator[Sentence]:
        for fallen in self.changes.broken:
            yield Sentence(self.say("broken", question=fallen.question, case=fallen.case), "alarm")
            if fallen.why:
                yield Sentence(self.say("broken_why", why=fallen.why))
        checked = self.changes.guarded - len(self.changes.unchecked)
        if checked and not self.changes.broken:
            yield Sentence(self.say("guarded_fine", n=checked), "good")
        if self.changes.unchecked:
            cases = self.say("comma").join(self.changes.unchecked)
            yield Sentence(self.say("unchecked", cases=cases), "alarm")

    def _line_sentences(self) -> Iterator[Sentence]:
        changes = self.changes
        if changes.after.replay_of:
            yield Sentence(self.say("replay", run=changes.after.replay_of))
        if changes.replayed or changes.same_lines == changes.lines:
            yield Sentence(self.say("lines", same=changes.same_lines, lines=changes.lines))
        else:
            reds = changes.reds
            turns = reds.turned_red + reds.turned_green + reds.still_red + reds.still_green
            yield Sentence(self.say("lines_free", turns=turns))

    def _changed(self) -> Iterator[str]:
        none = self.say("nothing_set")
        for each in self.changes.changed:
            sides = {"before": each.before or none, "after": each.after or none}
            yield self.say("changed_one", name=each.name, **sides)

    def cautions(self) -> list[Sentence]:
        """What makes the two hard to compare; first of all, that stand-ins judged."""
        cautions = [Sentence(self._caution(each), "alarm") for each in self.changes.cautions]
        if not self.changes.after.offline:
            return cautions
        return [Sentence(self.words("standin_why"), "alarm"), *cautions]

    def _caution(self, each: Caution) -> str:
        group = {"rubrics": "judge", "models": "role"}.get(each.kind, "")
        names = [self.words.name(group, name) if group else name for name in each.names]
        listed = self.say("comma").join(names)
        return self.say(f"caution_{each.kind}", names=listed, before=each.before, after=each.after)

    def colours(self) -> list[str]:
        """How many turns turned red or green, and whether more cases did so one way than the other."""
        reds = self.changes.reds
        counts = {"red": reds.turned_red, "green": reds.turned_green, "still": reds.still_red}
        turns = sum((*counts.values(), reds.still_green))
        cases = {"worse": reds.cases_worse, "better": reds.cases_better, "p": p_text(reds.p)}
        return [self.say("reds", turns=turns, **counts), self.say("reds_p", **cases)]

    def method(self) -> str:
        """How it was tested."""
        return self.say("method", primary=self.judges([self.changes.primary]))

    def columns(self) -> list[str]:
        """The titles of the table of judges."""
        return [
            self.say(key) for key in ("judge", "before", "now", "difference", "interval", "p", "n", "says")
        ]

    def rows(self) -> list[list[str]]:
        """The table of judges, a row each."""
        return [self._row(each) for each in self.changes.judges]

    def _row(self, row: Difference) -> list[str]:
        verdict = self.say(f"short_{_verdict_key(row)}", larger=largest(row.larger))
        figures = [points(row.before), points(row.after), signed(row.difference), between(row.interval)]
        name = self.words.name("judge", row.judge)
        return [name, *figures, p_text(row.p_holm), f"{row.pairs:,}", verdict]

    def part_columns(self, kind: str) -> list[str]:
        """The titles of the table of personas (`part_persona`) or tags (`part_tag`)."""
        return [self.say(key) for key in (kind, "n", "difference", "interval", "part_red", "part_green")]

    def part_rows(self, kind: str) -> list[list[str]]:
        """Personas, which rows of a data set do not have, or tags."""
        changes = self.changes
        if kind == "part_persona" and self.words.rows:
            return []
        parts = changes.personas if kind == "part_persona" else changes.tags
        return [
            [
                self.words.name("persona", part.name) if kind == "part_persona" else part.name,
                f"{part.pairs:,}", signed(part.difference), between(part.interval),
                f"{part.turned_red:,}", f"{part.turned_green:,}",
            ]
            for part in parts
        ]  # fmt: skip

    def beside(self) -> list[str]:
        """A line for the replay and one for the free run of the new version; empty unless both exist."""
        other = self.changes.beside
        if other is None:
            return []
        rows = [
            (not other.replay, self.changes.score, self.changes.after.run),
            (other.replay, other.difference, other.run),
        ]
        return [self._beside(*row) for row in sorted(rows, key=lambda row: not row[0])]

    def _beside(self, replay: bool, row: Difference | None, run: str) -> str:
        values = {"kind": self.say("beside_replay" if replay else "beside_free"), "run": run}
        if row is None or row.verdict == "not_comparable":
            return self.say("beside_none", **values)
        values |= {"was": points(row.before), "now": points(row.after), "by": signed(row.difference)}
        if row.interval is None:
            return self.say("beside_few", **values)
        return self.say("beside_line", **values, **ends(row.interval))

    def judges(self, names: Sequence[str]) -> str:
        """Judges as people call them."""
        return self.say("comma").join(self.words.name("judge", name) for name in names)


def replay_note(run: Run, language: Language) -> str:
    """That a run replays another one; empty for a run of its own."""
    origin = replay_of(run)
    return TEXTS(language, "replay_note", run=origin) if origin else ""


def signed(value: float | None) -> str:
    """A difference (0..1) on the scale to 100 with its sign: '+9.2', '−3', '±0'."""
    if value is None:
        return "–"
    text = f"{100 * value:+.1f}".removesuffix(".0")
    return "±0" if not text.strip("+-0.") else text.replace("-", "−")


def between(interval: tuple[float, float] | None) -> str:
    """An interval of a difference: '−1.2 … +4'."""
    return " … ".join(map(signed, interval)) if interval else "–"


def ends(interval: tuple[float, float] | None) -> dict[str, str]:
    """Both ends of an interval, as variables of a text."""
    low, high = map(signed, interval) if interval else ("–", "–")
    return {"low": low, "high": high}


def largest(larger: float | None) -> str:
    """The largest difference that the data allow, without a sign."""
    return signed(larger).lstrip("+±") if larger is not None else "–"


def p_text(p: float | None) -> str:
    """A p value in two or three decimals."""
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _verdict_key(row: Difference) -> str:
    """The key of the verdict's text: `equal` if nothing changed, `leaning_...` if it may be chance."""
    if row.verdict == "no_difference" and not row.larger:
        return "equal"
    return f"leaning_{row.leaning}" if row.leaning else row.verdict


class ConsoleLines:
    """Prints sentences and grids on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def title(self, text: str) -> None:
        """A heading with air above it."""
        self._console.print()
        self.line(text, "bold underline")

    def line(self, text: str, style: str = "") -> None:
        """One paragraph, wrapped to the width."""
        for line in wrap(self._fit(text), self._console.width):
            self._console.print(Text(line, style=style), highlight=False)

    def item(self, marker: str, text: str, style: str = "", text_style: str = "") -> None:
        """A paragraph that hangs from its marker."""
        head = self._fit(marker)
        for line in wrap(self._fit(text), self._console.width - cell_len(head)):
            self._console.print(Text(head, style).append(line, text_style or None), highlight=False)
            head = " " * cell_len(head)

    def grid(self, columns: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
        """A table whose first column is a name; `styles` are those of the rows."""
        grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for place, column in enumerate(columns):
            justify = "right" if 0 < place < len(columns) - 1 else "left"
            grid.add_column(Text(self._fit(column), _SOFT), justify=justify, overflow="fold")  # type: ignore[arg-type]
        for place, row in enumerate(rows):
            style = styles[place] if styles else ""
            grid.add_row(*(Text(self._fit(cell), style) for cell in row))
        self._console.print(grid, highlight=False)

    def _fit(self, text: str) -> str:
        """The text without control codes, and without what this console's encoding does not have."""
        encoding = self._console.encoding
        return safe_text(text).encode(encoding, "replace").decode(encoding)


def paint(comparison: ComparisonText, console: Console, page: str = "") -> None:
    """Prints the comparison, most important first; `page` is where it was written as a page."""
    lines, changes, say = ConsoleLines(console), comparison.changes, comparison.say
    lines.title(say("title", before=changes.before.run, after=changes.after.run))
    _print_verdict(lines, comparison)
    _print_turned(lines, comparison, "turned_red", changes.turned_red, "▲")
    _print_turned(lines, comparison, "turned_green", changes.turned_green, "✓")
    for text in comparison.colours():
        lines.line(text, _SOFT)
    _print_judges(lines, comparison)
    if beside := comparison.beside():
        lines.title(say("beside_title"))
        for text in beside:
            lines.item("- ", text)
    if page:
        lines.line("")
        lines.line(say("page", path=page))


def _print_verdict(lines: ConsoleLines, comparison: ComparisonText) -> None:
    """The verdict, the sentences that belong to it, and the warnings."""
    headline = comparison.headline()
    lines.line(headline.text, _STYLES[headline.tone] or "bold")
    for each in comparison.below():
        lines.item(_MARKERS.get(each.tone, "- "), each.text, _STYLES[each.tone], _STYLES[each.tone])
    for each in comparison.cautions():
        lines.item("! ", each.text, _STYLES["alarm"])
    if comparison.changes.regression:
        lines.line(comparison.say("regression"), _STYLES["alarm"])


def _print_turned(
    lines: ConsoleLines, comparison: ComparisonText, title: str, found: Sequence[TurnChange], mark: str
) -> None:
    """The turns that turned, each with question, earlier answer, present answer and the judge's reason."""
    say = comparison.say
    lines.title(say(title, n=len(found)))
    if not found:
        lines.line(say("none"), _SOFT)
    for number, each in enumerate(found[:QUOTED], 1):
        where = {
            "persona": comparison.words.name("persona", each.persona),
            "case": each.case,
            "turn": each.turn,
        }
        guarded = f"  [{say('guarded')}]" if each.guarded else ""
        lines.item(f"{number}. ", f"{mark} {say('where', **where)}{guarded}", "bold", "bold")
        red = title == "turned_red"
        lines.item(f"   {say('question')}", each.question, _SOFT)
        lines.item(f"   {say('was')}", each.before or say("silent"), _SOFT)
        if not red and each.why_before:
            lines.item(f"     {say('why')}", each.why_before, _SOFT)
        lines.item(f"   {say('became')}", each.after or say("silent"), _SOFT)
        if red and each.why_after:
            lines.item(f"     {say('why')}", each.why_after, _SOFT)
    if len(found) > QUOTED:
        lines.line(say("rest", n=len(found) - QUOTED), _SOFT)


def _print_judges(lines: ConsoleLines, comparison: ComparisonText) -> None:
    """The table of judges, and the same by persona and by tag."""
    say, tones = comparison.say, {"worse": "bold red", "better": "bold green"}
    lines.title(say("judges"))
    styles = [tones.get(row.verdict, "") for row in comparison.changes.judges]
    lines.grid(comparison.columns(), comparison.rows(), styles)
    lines.line(comparison.method(), _SOFT)
    for place, kind in enumerate(("part_persona", "part_tag")):
        if rows := comparison.part_rows(kind):
            if not place:
                lines.title(say("parts"))
            lines.grid(comparison.part_columns(kind), rows)


def markdown(comparison: ComparisonText) -> str:
    """Verdict, warnings, what turned, and the table of judges."""
    changes, say = comparison.changes, comparison.say
    title = say("title", before=changes.before.run, after=changes.after.run)
    parts = [f"## {escape_markdown(title)}", f"**{escape_markdown(comparison.headline().text)}**"]
    listed = [f"- {escape_markdown(sentence.text)}" for sentence in comparison.below()]
    listed += [f"- ⚠ {escape_markdown(sentence.text)}" for sentence in comparison.cautions()]
    parts += ["\n".join(listed)] if listed else []
    parts += [_table(comparison.columns(), comparison.rows()), escape_markdown(comparison.method())]
    parts += [_turned_markdown(comparison, "turned_red", changes.turned_red)]
    parts += [_turned_markdown(comparison, "turned_green", changes.turned_green)]
    parts += [" ".join(map(escape_markdown, comparison.colours()))]
    parts += ["\n".join(f"- {escape_markdown(text)}" for text in comparison.beside())]
    return "\n\n".join(part for part in parts if part) + "\n"


def _turned_markdown(comparison: ComparisonText, title: str, found: Sequence[TurnChange]) -> str:
    say = comparison.say
    lines = [
        line
        for each in found[:QUOTED_IN_MARKDOWN]
        for line in _turn_markdown(comparison, each, red=title == "turned_red")
    ]
    if len(found) > QUOTED_IN_MARKDOWN:
        lines.append(f"- {escape_markdown(say('rest', n=len(found) - QUOTED_IN_MARKDOWN))}")
    head = escape_markdown(say(title, n=len(found)))
    if not lines:
        return ""
    listed = "\n".join(lines)
    return f"<details><summary>{head}</summary>\n\n{listed}\n\n</details>"


def _turn_markdown(comparison: ComparisonText, each: TurnChange, *, red: bool) -> Iterator[str]:
    say = comparison.say
    persona = comparison.words.name("persona", each.persona)
    guarded = f" [{say('guarded')}]" if each.guarded else ""
    yield f"- **{escape_markdown(say('where', persona=persona, case=each.case, turn=each.turn) + guarded)}**"
    lines = (
        (say("question"), each.question),
        (say("was"), each.before or say("silent")),
        (say("became"), each.after or say("silent")),
        (say("why"), each.why_after if red else each.why_before),
    )
    for name, text in lines:
        if text:
            yield f"  - {escape_markdown(name)} {escape_markdown(text)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    return "\n".join(
        [
            line([escape_markdown(title) for title in columns]),
            line(["---"] * len(columns)),
            *(line([escape_markdown(cell) for cell in row]) for row in rows),
        ]
    )
