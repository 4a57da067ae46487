"""The comparison of two runs as a report: whether the bot got better, how sure that is, and what turned."""

from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path

from simulator.core.document import (
    TERMINAL,
    TEXT,
    Block,
    Cell,
    Fact,
    Item,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Table,
    Tone,
    View,
)
from simulator.core.templates import Texts
from simulator.core.translations import Words, points, text_lookup
from simulator.core.types import Language, Run
from simulator.stats.comparison import (
    FEWEST_CASES,
    FEWEST_PAIRS,
    Caution,
    Difference,
    GroupComparison,
    RunComparison,
    TurnChange,
    is_regression,
)
from simulator.storage.runs import replay_of

TEXTS = Texts(Path(__file__).with_name("changes.toml"))
# Turns that are quoted; the page has more.
_QUOTED: tuple[tuple[frozenset[View], int], ...] = ((TERMINAL, 5), (TEXT - TERMINAL, 10))
_TONES: dict[str, Tone] = {"better": "good", "worse": "alarm"}
_SOFT = "dim"


def comparison_report(changes: RunComparison, words: Words, page: str = "") -> Report:
    """The comparison, most important first; `words` know the names of judges and personas.

    `page` is where it was written as a page.
    """
    parts = ComparisonParts(changes, words)
    say = parts.say
    sections = [Section("verdict", "", parts.verdict())]
    if changes.regression:
        sections.append(Section("regression", "", (Line(say("regression"), "alarm"),), views=TEXT))
    sections += [*parts.turned(), parts.judges(), *parts.groups(), *parts.beside()]
    if page:
        sections.append(Section("page", "", (Line(say("page", path=page)),), views=TERMINAL))
    title = say("title", before=changes.before.run, after=changes.after.run)
    return Report(title, words.language, sections=tuple(sections))


class ComparisonParts:
    """What there is to say about two runs, in the language of `words`."""

    def __init__(self, changes: RunComparison, words: Words) -> None:
        self.changes, self.words = changes, words
        self.say = text_lookup(TEXTS, "diff", words.language, rows=words.rows)

    def verdict(self) -> tuple[Block, ...]:
        """Whether the bot got better, what that rests on, and what makes the two hard to compare."""
        return self._headline(), Notes((*self._below(), *self._cautions()))

    def _headline(self) -> Line:
        verdict = self._verdict()
        if not self.changes.broken:
            return verdict
        first = self.say("broken_first", n=len(self.changes.broken))
        return Line(self._joined(first, verdict.text), "alarm")

    def _verdict(self) -> Line:
        """The verdict on the scores."""
        row, changes = self.changes.score, self.changes
        if changes.verdict == "not_comparable" or row is None:
            return Line(self.say("verdict_not_comparable"), "alarm")
        verdict, tone = self._verdict_text(row), _TONES.get(changes.verdict, "strong")
        if not changes.fallen:
            return Line(verdict, tone)
        if is_regression(changes.judges, changes.verdict, redder=changes.reds.redder):
            worse = self.say("but_worse", judges=self._judges(changes.fallen))
            return Line(self._joined(verdict, worse), "alarm")
        return Line(self._joined(verdict, self.say("but_fell", judges=self._judges(changes.fallen))), tone)

    def _verdict_text(self, row: Difference) -> str:
        say = self.say
        values = {
            "was": points(row.before), "now": points(row.after), "by": signed(row.difference),
            "larger": largest(row.larger), "pairs": row.pairs, "cases": row.cases, "moved": row.moved,
            "p": p_text(row.p_holm), **ends(row.interval),
        }  # fmt: skip
        return {
            "better": say("verdict_better", **values),
            "worse": say("verdict_worse", **values),
            "no_difference": say("verdict_no_difference", **values),
            "leaning_up": say("verdict_leaning_up", **values),
            "leaning_down": say("verdict_leaning_down", **values),
            "equal": say("verdict_equal", **values),
            "not_enough": say("verdict_not_enough", **values),
        }[_verdict_key(row)]

    def _joined(self, *sentences: str) -> str:
        """Sentences one after the other, with a space in English."""
        return ("" if self.words.language == "ja" else " ").join(sentences)

    def _below(self) -> Iterator[Line]:
        """What follows the headline: how many cases are missing, guarded questions, what was compared."""
        changes, row = self.changes, self.changes.score
        if changes.verdict == "not_comparable":
            yield Line(self.say("grade_again", run=changes.before.run, judges=changes.primary))
        if changes.verdict == "not_enough":
            yield Line(self.say("few", cases=FEWEST_CASES, pairs=FEWEST_PAIRS))
        if row and row.more and changes.verdict in ("not_enough", "no_difference"):
            conversations = ceil(row.more * changes.paired / row.cases)
            yield Line(self.say("more", n=row.more, conversations=conversations))
        yield from self._guarded()
        if changes.after.replay_of:
            yield Line(self.say("replay", run=changes.after.replay_of))
        yield self._lines()
        if changes.changed:
            yield Line(self.say("changed", what=self.say("comma").join(self._changed())))

    def _guarded(self) -> Iterator[Line]:
        for broken in self.changes.broken:
            yield Line(self.say("broken", question=broken.question, case=broken.case), "alarm")
            if broken.why:
                yield Line(self.say("broken_why", why=broken.why))
        checked = self.changes.guarded - len(self.changes.unchecked)
        if checked and not self.changes.broken:
            yield Line(self.say("guarded_fine", n=checked), "good")
        if self.changes.unchecked:
            cases = self.say("comma").join(self.changes.unchecked)
            yield Line(self.say("unchecked", cases=cases), "alarm")

    def _lines(self) -> Line:
        """How many lines of the customers are the same."""
        changes, reds = self.changes, self.changes.reds
        if changes.replayed or changes.same_lines == changes.lines:
            return Line(self.say("lines", same=changes.same_lines, lines=changes.lines))
        turns = reds.turned_red + reds.turned_green + reds.still_red + reds.still_green
        return Line(self.say("lines_free", turns=turns))

    def _changed(self) -> Iterator[str]:
        none = self.say("nothing_set")
        for each in self.changes.changed:
            sides = {"before": each.before or none, "after": each.after or none}
            yield self.say("changed_one", name=each.name, **sides)

    def _cautions(self) -> Iterator[Line]:
        """What makes the two hard to compare; first of all, that stand-ins judged."""
        if self.changes.after.offline:
            yield Line(self.words("standin_why"), "alarm")
        yield from (Line(self._caution(each), "alarm") for each in self.changes.cautions)

    def _caution(self, each: Caution) -> str:
        say, group = self.say, {"rubrics": "judge", "models": "role"}.get(each.kind, "")
        listed = [self.words.name(group, name) if group else name for name in each.names]
        values = {"names": say("comma").join(listed), "before": each.before, "after": each.after}
        return {
            "same_run": say("caution_same_run", **values),
            "unfinished": say("caution_unfinished", **values),
            "rubrics": say("caution_rubrics", **values),
            "models": say("caution_models", **values),
            "prompt_text": say("caution_prompt_text", **values),
            "prompt_version": say("caution_prompt_version", **values),
            "customers": say("caution_customers", **values),
            "settings": say("caution_settings", **values),
            "rules": say("caution_rules", **values),
            "questions": say("caution_questions", **values),
            "unpaired": say("caution_unpaired", **values),
        }[each.kind]

    def turned(self) -> Iterator[Section]:
        """The turns that turned red, and those that are no longer red."""
        say, changes = self.say, self.changes
        red = [self._turn(each, "▲", why_after=each.why_after) for each in changes.turned_red]
        green = [self._turn(each, "✓", why_before=each.why_before) for each in changes.turned_green]
        for views, most in _QUOTED:
            yield self._turned("turned_red", say("turned_red", n=len(red)), red, views, most)
            yield self._turned("turned_green", say("turned_green", n=len(green)), green, views, most)

    def _turned(
        self, key: str, title: str, items: Sequence[Item], views: frozenset[View], most: int
    ) -> Section:
        more = self.say("rest", n=len(items) - most) if len(items) > most else ""
        block = Items(tuple(items[:most]), more) if items else Line(self.say("none"), "soft")
        return Section(key, title, (block,), views=views, folded=True)

    def _turn(self, each: TurnChange, marker: str, why_before: str = "", why_after: str = "") -> Item:
        """One turn in both runs: the question, both answers, and the judge's reason for what was red."""
        say, persona = self.say, self.words.name("persona", each.persona)
        where = say("where", persona=persona, case=each.case, turn=each.turn)
        return Item(
            f"{where}  [{say('guarded')}]" if each.guarded else where,
            facts=(Fact(say("question"), each.question),),
            tone="strong",
            marker=marker,
            sides=(
                (
                    Fact(say("before"), each.before or say("silent"), tuple(filter(None, (why_before,)))),
                    Fact(say("now"), each.after or say("silent"), tuple(filter(None, (why_after,)))),
                ),
            ),
        )

    def judges(self) -> Section:
        """The difference by judge, how many turns turned, and how it was tested."""
        say, reds = self.say, self.changes.reds
        counts = {"red": reds.turned_red, "green": reds.turned_green, "still": reds.still_red}
        turns = sum((*counts.values(), reds.still_green))
        cases = {"worse": reds.cases_worse, "better": reds.cases_better, "p": p_text(reds.p)}
        blocks = (
            Table(
                name="judges",
                title="",
                columns=(
                    say("judge"), say("says"), say("before"), say("now"), say("difference"), say("interval"),
                    say("p"), say("n"),
                ),
                rows=tuple(map(self._judge, self.changes.judges)),
                words=frozenset({1}),
            ),
            Line(say("reds", turns=turns, **counts), "soft"),
            Line(say("reds_p", **cases), "soft"),
            Line(say("method", primary=self._judges([self.changes.primary])), "soft"),
        )  # fmt: skip
        return Section("difference", say("judges"), blocks)

    def _judge(self, row: Difference) -> tuple[Cell, ...]:
        """The verdict first: on a telephone only the first columns are in sight."""
        figures = [points(row.before), points(row.after), signed(row.difference), between(row.interval)]
        texts = (*figures, p_text(row.p_holm), f"{row.pairs:,}")
        verdict = Cell(text=self._short(row), tone=_TONES.get(row.verdict, ""))
        return _cell(self.words.name("judge", row.judge)), verdict, *map(_cell, texts)

    def _short(self, row: Difference) -> str:
        say = self.say
        return {
            "better": say("short_better"),
            "worse": say("short_worse"),
            "no_difference": say("short_no_difference", larger=largest(row.larger)),
            "leaning_up": say("short_leaning_up"),
            "leaning_down": say("short_leaning_down"),
            "equal": say("short_equal"),
            "not_enough": say("short_not_enough"),
            "not_comparable": say("short_not_comparable"),
        }[_verdict_key(row)]

    def groups(self) -> Iterator[Section]:
        """The difference by persona, which rows of a data set do not have, and by tag."""
        personas = () if self.words.rows else self.changes.personas
        names = [self.words.name("persona", each.name) for each in personas]
        tags = self.changes.tags
        tables = (
            self._groups(self.say("part_persona"), names, personas),
            self._groups(self.say("part_tag"), [tag.name for tag in tags], tags),
        )
        if blocks := tuple(table for table in tables if table.rows):
            yield Section("groups", self.say("parts"), blocks, folded=True)

    def _groups(self, title: str, names: Sequence[str], groups: Sequence[GroupComparison]) -> Table:
        say = self.say
        rows = (
            (
                name, f"{each.pairs:,}", signed(each.difference), between(each.interval),
                f"{each.turned_red:,}", f"{each.turned_green:,}",
            )
            for name, each in zip(names, groups, strict=True)
        )  # fmt: skip
        return Table(
            name="groups",
            title="",
            columns=(
                title, say("n"), say("difference"), say("interval"), say("part_red"), say("part_green")
            ),
            rows=tuple(tuple(map(_cell, row)) for row in rows),
        )  # fmt: skip

    def beside(self) -> Iterator[Section]:
        """A line for the replay and one for the free run of the new version, where both exist."""
        other = self.changes.beside
        if other is None:
            return
        own = self._beside(not other.replay, self.changes.score, self.changes.after.run)
        lines = [own, self._beside(other.replay, other.difference, other.run)]
        notes = Notes(tuple(map(Line, reversed(lines) if other.replay else lines)))
        yield Section("beside", self.say("beside_title"), (notes,))

    def _beside(self, replay: bool, row: Difference | None, run: str) -> str:
        values = {"kind": self.say("beside_replay") if replay else self.say("beside_free"), "run": run}
        if row is None or row.verdict == "not_comparable":
            return self.say("beside_none", **values)
        values |= {"was": points(row.before), "now": points(row.after), "by": signed(row.difference)}
        if row.interval is None:
            return self.say("beside_few", **values)
        return self.say("beside_line", **values, **ends(row.interval))

    def _judges(self, names: Sequence[str]) -> str:
        """Judges as people call them."""
        return self.say("comma").join(self.words.name("judge", name) for name in names)


def _cell(text: str) -> Cell:
    return Cell(text=text)


def _verdict_key(row: Difference) -> str:
    """The key of the verdict's text: `equal` if nothing changed, `leaning_...` if it may be chance."""
    if row.verdict == "no_difference" and not row.larger:
        return "equal"
    return f"leaning_{row.leaning}" if row.leaning else row.verdict


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
