"""What is said of two runs, as sentences and figures that terminal, Markdown and page share."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from simulator.core.document import escaped, wrap
from simulator.core.templates import Texts
from simulator.core.translations import Words, plain, points, saying
from simulator.core.types import Language, Run
from simulator.stats.comparison import (
    FEWEST_CASES,
    FEWEST_PAIRS,
    Caution,
    Changes,
    Difference,
    TurnChange,
    is_worse,
)
from simulator.storage.runs import replay_of

TEXTS = Texts(Path(__file__).with_name("changes.toml"))


class Said(NamedTuple):
    """One sentence; `tone` is alarm, good, or empty."""

    text: str
    tone: str = ""


class ComparisonText:
    """The sentences about two runs in one language, which is that of `words`."""

    def __init__(self, changes: Changes, words: Words) -> None:
        """`words` know the names of judges and personas."""
        self.changes, self.words = changes, words
        self._say = saying(TEXTS, "diff", words.language, rows=words.rows)

    def say(self, key: str, /, **values: object) -> str:
        """A text of changes.toml."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return self._say(key, **shown)

    def headline(self) -> Said:
        """Did it get better? In one or two sentences."""
        verdict = self._verdict()
        if not self.changes.broken:
            return verdict
        first = self.say("broken_first", n=len(self.changes.broken))
        return Said(self._joined(first, verdict.text), "alarm")

    def _verdict(self) -> Said:
        """What the scores say."""
        row, changes = self.changes.score, self.changes
        if changes.verdict == "not_comparable" or row is None:
            return Said(self.say("verdict_not_comparable"), "alarm")
        told = {
            "was": points(row.before), "now": points(row.after), "by": signed(row.difference),
            "larger": reach(row.larger), "pairs": row.pairs, "cases": row.cases, "moved": row.moved,
            "p": chance(row.p_holm), **ends(row.interval),
        }  # fmt: skip
        tone = {"better": "good", "worse": "alarm"}.get(changes.verdict, "")
        verdict = self.say(f"verdict_{_key(row)}", **told)
        if not changes.fallen:
            return Said(verdict, tone)
        veto = is_worse(changes.judges, changes.verdict, redder=changes.reds.redder)
        fallen = self.say("but_worse" if veto else "but_fell", judges=self.judges(changes.fallen))
        return Said(self._joined(verdict, fallen), "alarm" if veto else tone)

    def _joined(self, *sentences: str) -> str:
        """Sentences one after the other, as the language parts them."""
        return ("" if self.words.language == "ja" else " ").join(sentences)

    def below(self) -> Iterator[Said]:
        """What follows the headline: what it would take, what must not have broken, what was compared."""
        changes, row = self.changes, self.changes.score
        if changes.verdict == "not_comparable":
            yield Said(self.say("grade_again", run=changes.before.run, judges=changes.primary))
        if changes.verdict == "not_enough":
            yield Said(self.say("few", cases=FEWEST_CASES, pairs=FEWEST_PAIRS))
        if row and row.more and changes.verdict in ("not_enough", "no_difference"):
            conversations = ceil(row.more * changes.paired / row.cases)
            yield Said(self.say("more", n=row.more, conversations=conversations))
        yield from self._guarded()
        yield from self._lines()
        if changes.changed:
            yield Said(self.say("changed", what=self.say("comma").join(self._changed())))

    def _guarded(self) -> Iterator[Said]:
        for fallen in self.changes.broken:
            yield Said(self.say("broken", question=fallen.question, case=fallen.case), "alarm")
            if fallen.why:
                yield Said(self.say("broken_why", why=fallen.why))
        checked = self.changes.guarded - len(self.changes.unchecked)
        if checked and not self.changes.broken:
            yield Said(self.say("guarded_fine", n=checked), "good")
        if self.changes.unchecked:
            cases = self.say("comma").join(self.changes.unchecked)
            yield Said(self.say("unchecked", cases=cases), "alarm")

    def _lines(self) -> Iterator[Said]:
        changes = self.changes
        if changes.after.replay_of:
            yield Said(self.say("replay", run=changes.after.replay_of))
        if changes.replayed or changes.same_lines == changes.lines:
            yield Said(self.say("lines", same=changes.same_lines, lines=changes.lines))
        else:
            reds = changes.reds
            turns = reds.turned_red + reds.turned_green + reds.still_red + reds.still_green
            yield Said(self.say("lines_free", turns=turns))

    def _changed(self) -> Iterator[str]:
        none = self.say("nothing_set")
        for each in self.changes.changed:
            sides = {"before": each.before or none, "after": each.after or none}
            yield self.say("changed_one", name=each.name, **sides)

    def cautions(self) -> list[Said]:
        """What makes the two hard to compare, or the verdict no verdict about a bot."""
        found = [Said(self._caution(each), "alarm") for each in self.changes.cautions]
        return [Said(self.words("standin_why"), "alarm"), *found] if self.changes.after.offline else found

    def _caution(self, each: Caution) -> str:
        group = {"rubrics": "judge", "models": "role"}.get(each.kind, "")
        names = [self.words.name(group, name) if group else name for name in each.names]
        told = {"names": self.say("comma").join(names), "before": each.before, "after": each.after}
        return self.say(f"caution_{each.kind}", **told)

    def colours(self) -> list[str]:
        """How many turns turned, and whether more cases did so one way than the other."""
        reds = self.changes.reds
        told = {"red": reds.turned_red, "green": reds.turned_green, "still": reds.still_red}
        turns = sum((*told.values(), reds.still_green))
        cases = {"worse": reds.cases_worse, "better": reds.cases_better, "p": chance(reds.p)}
        return [self.say("reds", turns=turns, **told), self.say("reds_p", **cases)]

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
        verdict = self.say(f"short_{_key(row)}", larger=reach(row.larger))
        figures = [points(row.before), points(row.after), signed(row.difference), between(row.interval)]
        name = self.words.name("judge", row.judge)
        return [name, *figures, chance(row.p_holm), f"{row.pairs:,}", verdict]

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
        """The replay and the free run of the new version, one line each; empty without both."""
        other = self.changes.beside
        if other is None:
            return []
        rows = [
            (not other.replay, self.changes.score, self.changes.after.run),
            (other.replay, other.difference, other.run),
        ]
        return [self._beside(*row) for row in sorted(rows, key=lambda row: not row[0])]

    def _beside(self, replay: bool, row: Difference | None, run: str) -> str:
        told = {"kind": self.say("beside_replay" if replay else "beside_free"), "run": run}
        if row is None or row.verdict == "not_comparable":
            return self.say("beside_none", **told)
        told |= {"was": points(row.before), "now": points(row.after), "by": signed(row.difference)}
        if row.interval is None:
            return self.say("beside_few", **told)
        return self.say("beside_line", **told, **ends(row.interval))

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


def reach(larger: float | None) -> str:
    """The largest difference that is possible, without a sign."""
    return signed(larger).lstrip("+±") if larger is not None else "–"


def chance(p: float | None) -> str:
    """A p as people read it."""
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _key(row: Difference) -> str:
    """What the verdict's text is called: no difference may also be nothing changed, or perhaps."""
    if row.verdict == "no_difference" and not row.larger:
        return "equal"
    return f"leaning_{row.leaning}" if row.leaning else row.verdict


SHOWN = 5
_STYLES = {"alarm": "bold red", "good": "bold green", "": ""}
_SOFT = "dim"


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
        return plain(text).encode(encoding, "replace").decode(encoding)


def paint(telling: ComparisonText, console: Console, page: str = "") -> None:
    """Prints the comparison, most important first; `page` is where it was written as a page."""
    lines, changes, say = ConsoleLines(console), telling.changes, telling.say
    lines.title(say("title", before=changes.before.run, after=changes.after.run))
    _said(lines, telling)
    _turned(lines, telling, "turned_red", changes.turned_red, "▲")
    _turned(lines, telling, "turned_green", changes.turned_green, "✓")
    for text in telling.colours():
        lines.line(text, _SOFT)
    _judges(lines, telling)
    if told := telling.beside():
        lines.title(say("beside_title"))
        for text in told:
            lines.item("- ", text)
    if page:
        lines.line("")
        lines.line(say("page", path=page))


def _said(lines: ConsoleLines, telling: ComparisonText) -> None:
    """The verdict, what belongs to it, and the warnings."""
    headline = telling.headline()
    lines.line(headline.text, _STYLES[headline.tone] or "bold")
    for each in telling.below():
        lines.item(_marker(each), each.text, _STYLES[each.tone], _STYLES[each.tone])
    for each in telling.cautions():
        lines.item("! ", each.text, _STYLES["alarm"])
    if telling.changes.regression:
        lines.line(telling.say("regression"), _STYLES["alarm"])


def _marker(said: Said) -> str:
    return {"alarm": "✕ ", "good": "✓ "}.get(said.tone, "- ")


def _turned(
    lines: ConsoleLines, telling: ComparisonText, title: str, found: Sequence[TurnChange], mark: str
) -> None:
    """The turns that turned, with what was asked, answered before and now, and why."""
    say = telling.say
    lines.title(say(title, n=len(found)))
    if not found:
        lines.line(say("none"), _SOFT)
    for number, each in enumerate(found[:SHOWN], 1):
        where = {"persona": telling.words.name("persona", each.persona), "case": each.case, "turn": each.turn}
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
    if len(found) > SHOWN:
        lines.line(say("rest", n=len(found) - SHOWN), _SOFT)


def _judges(lines: ConsoleLines, telling: ComparisonText) -> None:
    """The table of judges, and the same by persona and by tag."""
    say, tones = telling.say, {"worse": "bold red", "better": "bold green"}
    lines.title(say("judges"))
    styles = [tones.get(row.verdict, "") for row in telling.changes.judges]
    lines.grid(telling.columns(), telling.rows(), styles)
    lines.line(telling.method(), _SOFT)
    for place, kind in enumerate(("part_persona", "part_tag")):
        if rows := telling.part_rows(kind):
            if not place:
                lines.title(say("parts"))
            lines.grid(telling.part_columns(kind), rows)


# Turns that are quoted; the rest is on the page.
CHANGE_MARKDOWN_SHOWN = 10


def markdown(telling: ComparisonText) -> str:
    """Verdict, warnings, what turned, and the table of judges."""
    changes, say = telling.changes, telling.say
    title = say("title", before=changes.before.run, after=changes.after.run)
    parts = [f"## {escaped(title)}", f"**{escaped(telling.headline().text)}**"]
    listed = [f"- {escaped(said.text)}" for said in telling.below()]
    listed += [f"- ⚠ {escaped(said.text)}" for said in telling.cautions()]
    parts += ["\n".join(listed)] if listed else []
    parts += [_table(telling.columns(), telling.rows()), escaped(telling.method())]
    parts += [_change_markdown_turned(telling, "turned_red", changes.turned_red)]
    parts += [_change_markdown_turned(telling, "turned_green", changes.turned_green)]
    parts += [" ".join(map(escaped, telling.colours()))]
    if told := telling.beside():
        parts += ["\n".join(f"- {escaped(text)}" for text in told)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _change_markdown_turned(telling: ComparisonText, title: str, found: Sequence[TurnChange]) -> str:
    say = telling.say
    lines = [
        line
        for each in found[:CHANGE_MARKDOWN_SHOWN]
        for line in _turn(telling, each, red=title == "turned_red")
    ]
    if len(found) > CHANGE_MARKDOWN_SHOWN:
        lines.append(f"- {escaped(say('rest', n=len(found) - CHANGE_MARKDOWN_SHOWN))}")
    head = escaped(say(title, n=len(found)))
    if not lines:
        return ""
    listed = "\n".join(lines)
    return f"<details><summary>{head}</summary>\n\n{listed}\n\n</details>"


def _turn(telling: ComparisonText, each: TurnChange, *, red: bool) -> Iterator[str]:
    say = telling.say
    who = telling.words.name("persona", each.persona)
    guarded = f" [{say('guarded')}]" if each.guarded else ""
    yield f"- **{escaped(say('where', persona=who, case=each.case, turn=each.turn) + guarded)}**"
    why = each.why_after if red else each.why_before
    said = (
        (say("question"), each.question),
        (say("was"), each.before or say("silent")),
        (say("became"), each.after or say("silent")),
        (say("why"), why),
    )
    for name, text in said:
        if text:
            yield f"  - {escaped(name)} {escaped(text)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    shown = [columns, ["---"] * len(columns), *rows]
    first, ruler, *rest = (
        f"| {' | '.join(cell if cell == '---' else escaped(cell) for cell in row)} |" for row in shown
    )
    return "\n".join([first, ruler, *rest])
