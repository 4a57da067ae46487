"""A comparison in parts: what is said in words, tables, lists. The console and Markdown only paint them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from simulator.addons.compare.figures import WORDS, Duel, Outcome, PairwiseFigures, Share
from simulator.core.document import escaped, wrap
from simulator.core.roles import LEXICAL
from simulator.core.translations import plain
from simulator.core.types import Language, Value
from simulator.report.html import part, policy
from simulator.report.listing import Item, Say, Section

# Clear wins shown of each run, and how much of each text.
EXAMPLES, LONGEST = 3, 160
# Of fewer pairs no bias is told.
FEW = 8

Overall = Mapping[str, Mapping[tuple[str, int], float]]


class PairwiseReport(NamedTuple):
    """All that is painted: `overall` holds each run's own grades, `names` the titles of personas."""

    compared: PairwiseFigures
    outcomes: Sequence[Outcome]
    model: str
    language: Language
    overall: Overall
    names: Mapping[str, str]

    @property
    def letters(self) -> dict[str, str]:
        """A, B, C ... in the order in which the runs were named."""
        return {run: chr(ord("A") + at) for at, run in enumerate(self.compared.runs)}


def say_in(language: Language) -> Say:
    """The texts in a language, numbers with their thousands apart."""

    def say(key: str, **values: object) -> str:
        return WORDS(
            language, key, **{k: f"{v:,}" if isinstance(v, int) else str(v) for k, v in values.items()}
        )

    return say


def sections(shown: PairwiseReport) -> Iterator[Section]:
    """From the verdict to the details."""
    say = say_in(shown.language)
    yield _head(shown, say)
    yield _duels(shown, say)
    if len(shown.compared.runs) > 2:
        yield _ratings(shown, say)
    yield _bias(shown, say)
    yield from _personas(shown, say)
    yield from _examples(shown, say)
    if apart := _apart(shown, say):
        yield apart


def _head(shown: PairwiseReport, say: Say) -> Section:
    found, letters = shown.compared, shown.letters
    title = say("title", letters=" / ".join(letters.values()))
    judge = say("by_stand_in") if shown.model == LEXICAL else say("by_model", model=shown.model)
    ruled = found.pairs - found.asked
    lines = [
        *(say("run", letter=letter, run=run) for run, letter in letters.items()),
        judge,
        say("pairs", pairs=found.pairs, asked=found.asked, ruled=ruled),
    ]
    if found.failed:
        lines.append(say("failed_line", failed=found.failed, problem=found.problem))
    return Section(title, items=tuple(map(Item, lines)))


def _duels(shown: PairwiseReport, say: Say) -> Section:
    letters, duels = shown.letters, shown.compared.duels
    lead = "\n".join(_verdict(duel, letters, say) for duel in duels)
    if len(duels) == 1:
        a, b = letters[duels[0].a], letters[duels[0].b]
        head = (
            "",
            say("wins_of", letter=a),
            say("ties"),
            say("wins_of", letter=b),
            say("share_of", letter=b),
        )
    else:
        head = (say("duel"), say("left_wins"), say("ties"), say("right_wins"), say("right_share"))
    rows = [
        (
            say("against", a=letters[duel.a], b=letters[duel.b]),
            *map(str, (duel.wins_a, duel.ties, duel.wins_b)),
            bounded(duel.share),
        )
        for duel in duels
    ]
    return Section(say("duels_title"), lead, table=(head, *rows), aside=say("share_note"))


def _verdict(duel: Duel, letters: Mapping[str, str], say: Say) -> str:
    a, b = letters[duel.a], letters[duel.b]
    if duel.cases == 1:
        return f"{say('against', a=a, b=b)}: {say('too_few')}"
    if duel.lead == "level":
        return say("level", a=a, b=b)
    winner = b if duel.lead == "b" else a
    return f"{say('against', a=a, b=b)}: {say('better', winner=winner)}"


def _ratings(shown: PairwiseReport, say: Say) -> Section:
    rows = []
    for each in shown.compared.ratings:
        points = "-" if each.rating is None else f"{each.rating:.0f}"
        if each.low is not None and each.high is not None:
            points += f" [{each.low:.0f}, {each.high:.0f}]"
        rows.append((shown.letters[each.run], points, f"{each.wins}-{each.ties}-{each.losses}"))
    head = (say("run_head"), say("rating"), say("record"))
    return Section(say("ratings_title"), table=(head, *rows), aside=say("ratings_note"))


def _bias(shown: PairwiseReport, say: Say) -> Section:
    facts, items = [(say("position"), _position(shown, say))], []
    length, position = shown.compared.length, shown.compared.position
    if position and _is_off(position.first):
        items.append(Item(say("position_biased")))
    if not length.longer.n:
        facts.append((say("length"), say("length_none")))
    else:
        told = "-" if length.correlation is None else f"{length.correlation:+.2f}"
        known = {"n": length.longer.n, "longer": bounded(length.longer), "correlation": told}
        facts.append((say("length"), say("length_line", **known)))
        if _is_off(length.longer):
            items.append(Item(say("length_biased" if (length.longer.value or 0) > 0.5 else "short_biased")))
    if length.even is not None:
        letter = shown.letters[shown.compared.runs[1]]
        facts.append((say("even"), say("even_line", letter=letter, share=percent(length.even))))
    return Section(say("bias_title"), facts=tuple(facts), items=tuple(items), alarm=True)


def _position(shown: PairwiseReport, say: Say) -> str:
    position = shown.compared.position
    if position is None:
        return say("position_none" if shown.model == LEXICAL else "position_unread")
    return say("position_line", first=bounded(position.first), disagreed=bounded(position.disagreed))


def _is_off(share: Share) -> bool:
    """Whether the interval leaves out one half by more than a little; of a few pairs nothing is said."""
    if share.low is None or share.high is None or share.n < FEW:
        return False
    return share.low > 0.55 or share.high < 0.45


def _personas(shown: PairwiseReport, say: Say) -> Iterator[Section]:
    letters = shown.letters
    for duel in shown.compared.duels:
        if not duel.personas:
            continue
        a, b = letters[duel.a], letters[duel.b]
        head = (
            say("persona"), say("wins_of", letter=a), say("ties"), say("wins_of", letter=b),
            say("share_of", letter=b),
        )  # fmt: skip
        rows = [
            (
                shown.names.get(part.name, part.name),
                *map(str, (part.wins_a, part.ties, part.wins_b)),
                bounded(part.share),
            )
            for part in duel.personas
        ]
        yield Section(f"{say('personas_title')}  {say('against', a=a, b=b)}", table=(head, *rows))


def _examples(shown: PairwiseReport, say: Say) -> Iterator[Section]:
    letters, most = shown.letters, EXAMPLES if len(shown.compared.duels) == 1 else 1
    for duel in shown.compared.duels:
        mine = [each for each in shown.outcomes if (each.a, each.b) == (duel.a, duel.b)]
        note = say("examples_note", a=letters[duel.a], b=letters[duel.b])
        for side, run in (("b", duel.b), ("a", duel.a)):
            title = say("examples_title", letter=letters[run])
            if len(shown.compared.duels) > 1:
                title += f"  {say('against', a=letters[duel.a], b=letters[duel.b])}"
            items = tuple(_example(each, shown, say) for each in clearest(mine, side, shown.overall)[:most])
            lead = "" if items else say("no_examples", letter=letters[run])
            yield Section(title, lead, items=items, aside=note if items else "")


def clearest(outcomes: Sequence[Outcome], side: str, overall: Overall) -> list[Outcome]:
    """The clearest wins of one side, each of another case: those that a judge read before those by rule."""

    def clearness(each: Outcome) -> tuple[bool, float]:
        at = (each.conversation, each.turn)
        one, other = (overall.get(run, {}).get(at) for run in (each.a, each.b))
        graded = 0.0 if one is None or other is None else (other - one if side == "b" else one - other)
        return each.how != "rule", each.margin or graded

    found: dict[str, Outcome] = {}
    for each in sorted((o for o in outcomes if o.verdict == side), key=clearness, reverse=True):
        found.setdefault(each.case, each)
    return list(found.values())[:EXAMPLES]


def _example(each: Outcome, shown: PairwiseReport, say: Say) -> Item:
    persona = shown.names.get(each.persona, each.persona)
    names = (shown.letters[each.a], shown.letters[each.b])
    lines = [
        (say("customer"), cut(each.question)),
        *zip(names, map(cut, each.answers), strict=True),
        (say("reason"), cut(each.reason)),
    ]
    return Item(say("example", case=each.case, persona=persona, turn=each.turn), tuple(lines))


def _apart(shown: PairwiseReport, say: Say) -> Section | None:
    letters = shown.letters
    left = [duel for duel in shown.compared.duels if duel.differing or duel.alone]
    if not left:
        return None
    lines = [
        say("apart_line", a=letters[d.a], b=letters[d.b], differing=d.differing, alone=d.alone) for d in left
    ]
    return Section(say("apart"), items=tuple(map(Item, lines)), aside=say("apart_hint", run=left[0].a))


def bounded(share: Share) -> str:
    """`58% [51, 66]`."""
    if share.value is None:
        return "-"
    if share.low is None or share.high is None:
        return percent(share.value)
    return f"{percent(share.value)} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def percent(share: float) -> str:
    """A share as a whole percentage."""
    return f"{100 * share:.0f}%"


def cut(text: str) -> str:
    """One line, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


_ALARM, _SOFT, _TITLE = "bold red", "dim", "bold underline"


def paint(shown: PairwiseReport, console: Console) -> None:
    """Prints the whole comparison."""
    painter = _Painter(console)
    for section in sections(shown):
        painter.section(section)


class _Painter:
    def __init__(self, console: Console) -> None:
        self.console = console

    def section(self, section: Section) -> None:
        """Title, sentence, table, facts, list, small print."""
        self._line("")
        self._line(section.title, _TITLE)
        if section.lead:
            self._line(section.lead, "bold")
        self._table(section.table)
        for name, text in section.facts:
            self._line(f"{name}: {text}")
        for item in section.items:
            self._item(item, _ALARM if section.alarm else "")
        if section.aside:
            self._line(section.aside, _SOFT)

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their widest cell, counts to the right."""
        shown = [[self._fit(" ".join(cell.split())) for cell in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
        for number, (head, *row) in enumerate(shown):
            cells = [" " * (w - cell_len(cell)) + cell for cell, w in zip(row, widths[1:], strict=True)]
            line = "  ".join([head + " " * (widths[0] - cell_len(head)), *cells])
            self.console.print(Text(line, style="" if number else _SOFT), highlight=False, no_wrap=True)

    def _item(self, item: Item, style: str) -> None:
        self._line(f"- {item.text}" if item.beneath else item.text, style)
        for name, text in item.beneath:
            self._line(f"{name}: {text}", indent="    ")

    def _line(self, text: str, style: str = "", indent: str = "") -> None:
        for line in wrap(self._fit(text), self.console.width - len(indent)) if text else [""]:
            self.console.print(Text(indent + line, style=style), highlight=False)

    def _fit(self, text: str) -> str:
        """The text without control codes, and without what this console's encoding does not have."""
        encoding = self.console.encoding
        return plain(text).encode(encoding, "replace").decode(encoding)


FOLDER = Path(__file__).parent
# The length of a whole bar.
WIDTH = 600.0


class Bar(NamedTuple):
    """The verdicts of two runs side by side: what it says, and the three lengths."""

    title: str
    left: float
    ties: float
    right: float


def render(shown: PairwiseReport) -> str:
    """The page; it carries its style, needs no network and runs no script."""
    head, *rest = sections(shown)
    style = f"{part('report.css')}\n{(FOLDER / 'compare.css').read_text(encoding='utf-8').strip()}"
    return _template().render(
        language=shown.language,
        policy=policy(style, ""),
        style=Markup(style),  # noqa: S704 - a file of ours
        head=head,
        sections=rest,
        bars=_bars(shown),
    )


def _bars(shown: PairwiseReport) -> list[Bar]:
    say, letters, found = say_in(shown.language), shown.letters, []
    for duel in shown.compared.duels:
        counts = (duel.wins_a, duel.ties, duel.wins_b)
        if not (whole := sum(counts)):
            continue
        a, b = letters[duel.a], letters[duel.b]
        names = (say("wins_of", letter=a), say("ties"), say("wins_of", letter=b))
        title = " / ".join(f"{name} {count:,}" for name, count in zip(names, counts, strict=True))
        found.append(Bar(title, *(WIDTH * count / whole for count in counts)))
    return found


@lru_cache(maxsize=1)
def _template() -> Template:
    env = Environment(
        loader=FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return env.get_template("compare.html.j2")


def _clean(value: Any) -> Any:
    """What every expression of the page passes through: text loses its control codes."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def markdown(shown: PairwiseReport) -> str:
    """The whole comparison."""
    lines = [line for at, section in enumerate(sections(shown)) for line in _section(section, at)]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section, at: int) -> Iterator[str]:
    yield f"{'##' if at else '#'} {escaped(section.title)}"
    yield ""
    for line in filter(None, section.lead.split("\n")):
        yield f"**{escaped(line)}**"
        yield ""
    yield from _table(section.table)
    lines = [f"- {escaped(name)}: {escaped(text)}" for name, text in section.facts]
    for item in section.items:
        lines.append(f"- {escaped(item.text)}")
        lines += [f"  - {escaped(name)}: {escaped(text)}" for name, text in item.beneath]
    if lines:
        yield from (*lines, "")
    if section.aside:
        yield from (f"_{escaped(section.aside)}_", "")


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for at, row in enumerate(rows):
        yield f"| {' | '.join(map(escaped, row))} |"
        if at == 0:
            yield "|" + " --- |" * len(row)
    if rows:
        yield ""


def as_json(shown: PairwiseReport) -> dict[str, Any]:
    """Figures first; then every pair that was compared."""
    found = shown.compared
    return {
        "runs": list(found.runs),
        "judge": shown.model,
        "offline": shown.model == LEXICAL,
        "pairs": found.pairs,
        "asked": found.asked,
        "failed": found.failed,
        "duels": [{**_plain(duel), "lead": duel.lead} for duel in found.duels],
        "ratings": [_plain(rating) for rating in found.ratings],
        "position": found.position and _plain(found.position),
        "length": _plain(found.length),
        "outcomes": [_outcome(each) for each in shown.outcomes],
    }


def _outcome(each: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = _plain(each)
    told |= {"disagreed": each.disagreed, "lengths": [len("".join(text.split())) for text in each.answers]}
    return {key: value for key, value in told.items() if key not in ("question", "answers")}


def _plain(value: Value) -> Any:
    return _rounded(value.model_dump(mode="json"))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
