"""The report of a comparison as sections, and the same on a terminal, as a page, as Markdown and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from simulator.addons.compare.figures import Duel, PairwiseFigures, Share
from simulator.addons.compare.grade import WORDS, Outcome
from simulator.core.document import escape_markdown, wrap
from simulator.core.roles import LEXICAL
from simulator.core.translations import safe_text
from simulator.core.types import Language, Value
from simulator.report.listing import Item, Say, Section
from simulator.report.painters.html import part, policy

# Clear wins shown of each run, and how many characters of each text.
EXAMPLES, LONGEST = 3, 160
# With fewer pairs nothing is said about bias.
FEW = 8
FOLDER = Path(__file__).parent
# The length of a whole bar.
WIDTH = 600.0
_ALARM, _SOFT, _TITLE = "bold red", "dim", "bold underline"

# The grades (0..1) of each run, by conversation and turn.
Overall = Mapping[str, Mapping[tuple[str, int], float]]


class PairwiseReport(NamedTuple):
    """All that is painted; `names` are the titles of personas by their ids."""

    figures: PairwiseFigures
    outcomes: Sequence[Outcome]
    model: str
    language: Language
    overall: Overall
    names: Mapping[str, str]

    @property
    def letters(self) -> dict[str, str]:
        """A, B, C ... in the order in which the runs were named."""
        return {run: chr(ord("A") + at) for at, run in enumerate(self.figures.runs)}


def say_in(language: Language) -> Say:
    """The texts in a language, numbers with their thousands apart."""

    def say(key: str, **values: object) -> str:
        return WORDS(
            language, key, **{k: f"{v:,}" if isinstance(v, int) else str(v) for k, v in values.items()}
        )

    return say


def sections(report: PairwiseReport) -> Iterator[Section]:
    """The parts of the report, from the verdict to the details."""
    say = say_in(report.language)
    yield _head(report, say)
    yield _duels(report, say)
    if len(report.figures.runs) > 2:
        yield _ratings(report, say)
    yield _bias(report, say)
    yield from _personas(report, say)
    yield from _examples(report, say)
    if section := _uncompared(report, say):
        yield section


def _head(report: PairwiseReport, say: Say) -> Section:
    figures, letters = report.figures, report.letters
    title = say("title", letters=" / ".join(letters.values()))
    judge = say("by_stand_in") if report.model == LEXICAL else say("by_model", model=report.model)
    lines = [
        *(say("run", letter=letter, run=run) for run, letter in letters.items()),
        judge,
        say("pairs", pairs=figures.pairs, asked=figures.asked, ruled=figures.pairs - figures.asked),
    ]
    if figures.failed:
        lines.append(say("failed_line", failed=figures.failed, problem=figures.problem))
    return Section(title, items=tuple(map(Item, lines)))


def _duels(report: PairwiseReport, say: Say) -> Section:
    letters, duels = report.letters, report.figures.duels
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


def _ratings(report: PairwiseReport, say: Say) -> Section:
    rows = []
    for rating in report.figures.ratings:
        points = "-" if rating.rating is None else f"{rating.rating:.0f}"
        if rating.low is not None and rating.high is not None:
            points += f" [{rating.low:.0f}, {rating.high:.0f}]"
        rows.append((report.letters[rating.run], points, f"{rating.wins}-{rating.ties}-{rating.losses}"))
    head = (say("run_head"), say("rating"), say("record"))
    return Section(say("ratings_title"), table=(head, *rows), aside=say("ratings_note"))


def _bias(report: PairwiseReport, say: Say) -> Section:
    length, position, items = report.figures.length, report.figures.position, []
    if position is None:
        order = say("position_none" if report.model == LEXICAL else "position_unread")
    else:
        order = say("position_line", first=bounded(position.first), disagreed=bounded(position.disagreed))
        if _is_off(position.first):
            items.append(Item(say("position_biased")))
    facts = [(say("position"), order)]
    if not length.longer.n:
        facts.append((say("length"), say("length_none")))
    else:
        correlation = "-" if length.correlation is None else f"{length.correlation:+.2f}"
        line = say("length_line", n=length.longer.n, longer=bounded(length.longer), correlation=correlation)
        facts.append((say("length"), line))
        if _is_off(length.longer):
            items.append(Item(say("length_biased" if (length.longer.value or 0) > 0.5 else "short_biased")))
    if length.even is not None:
        letter = report.letters[report.figures.runs[1]]
        facts.append((say("even"), say("even_line", letter=letter, share=percent(length.even))))
    return Section(say("bias_title"), facts=tuple(facts), items=tuple(items), alarm=True)


def _is_off(share: Share) -> bool:
    """Whether the interval leaves out one half by more than a little; never with a few pairs."""
    if share.low is None or share.high is None or share.n < FEW:
        return False
    return share.low > 0.55 or share.high < 0.45


def _personas(report: PairwiseReport, say: Say) -> Iterator[Section]:
    letters = report.letters
    for duel in report.figures.duels:
        if not duel.personas:
            continue
        a, b = letters[duel.a], letters[duel.b]
        head = (
            say("persona"), say("wins_of", letter=a), say("ties"), say("wins_of", letter=b),
            say("share_of", letter=b),
        )  # fmt: skip
        rows = [
            (
                report.names.get(part.name, part.name),
                *map(str, (part.wins_a, part.ties, part.wins_b)),
                bounded(part.share),
            )
            for part in duel.personas
        ]
        yield Section(f"{say('personas_title')}  {say('against', a=a, b=b)}", table=(head, *rows))


def _examples(report: PairwiseReport, say: Say) -> Iterator[Section]:
    letters, most = report.letters, EXAMPLES if len(report.figures.duels) == 1 else 1
    for duel in report.figures.duels:
        outcomes = [outcome for outcome in report.outcomes if (outcome.a, outcome.b) == (duel.a, duel.b)]
        note = say("examples_note", a=letters[duel.a], b=letters[duel.b])
        for side, run in (("b", duel.b), ("a", duel.a)):
            title = say("examples_title", letter=letters[run])
            if len(report.figures.duels) > 1:
                title += f"  {say('against', a=letters[duel.a], b=letters[duel.b])}"
            wins = clearest(outcomes, side, report.overall)[:most]
            items = tuple(_example(outcome, report, say) for outcome in wins)
            lead = "" if items else say("no_examples", letter=letters[run])
            yield Section(title, lead, items=items, aside=note if items else "")


def clearest(outcomes: Sequence[Outcome], side: str, overall: Overall) -> list[Outcome]:
    """The clearest wins of one side, each of another case: those that a judge read before those by rule."""

    def clearness(outcome: Outcome) -> tuple[bool, float]:
        at = (outcome.conversation, outcome.turn)
        one, other = (overall.get(run, {}).get(at) for run in (outcome.a, outcome.b))
        difference = 0.0 if one is None or other is None else other - one
        return outcome.how != "rule", outcome.margin or (difference if side == "b" else -difference)

    by_case: dict[str, Outcome] = {}
    wins = [outcome for outcome in outcomes if outcome.verdict == side]
    for outcome in sorted(wins, key=clearness, reverse=True):
        by_case.setdefault(outcome.case, outcome)
    return list(by_case.values())[:EXAMPLES]


def _example(outcome: Outcome, report: PairwiseReport, say: Say) -> Item:
    persona = report.names.get(outcome.persona, outcome.persona)
    letters = (report.letters[outcome.a], report.letters[outcome.b])
    lines = (
        (say("customer"), cut(outcome.question)),
        *zip(letters, map(cut, outcome.answers), strict=True),
        (say("reason"), cut(outcome.reason)),
    )
    return Item(say("example", case=outcome.case, persona=persona, turn=outcome.turn), lines)


def _uncompared(report: PairwiseReport, say: Say) -> Section | None:
    letters = report.letters
    duels = [duel for duel in report.figures.duels if duel.differing or duel.alone]
    if not duels:
        return None
    items = tuple(
        Item(
            say(
                "apart_line",
                a=letters[duel.a],
                b=letters[duel.b],
                differing=duel.differing,
                alone=duel.alone,
            )
        )
        for duel in duels
    )
    return Section(say("apart"), items=items, aside=say("apart_hint", run=duels[0].a))


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
    """The text in one line of at most LONGEST characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def paint(report: PairwiseReport, console: Console) -> None:
    """Prints the whole comparison."""
    painter = _Painter(console)
    for section in sections(report):
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
        fitted = [[self._fit(" ".join(cell.split())) for cell in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(*fitted, strict=True)]
        for number, (head, *row) in enumerate(fitted):
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
        return safe_text(text).encode(encoding, "replace").decode(encoding)


class Bar(NamedTuple):
    """The verdicts of two runs side by side: a title, and the three lengths."""

    title: str
    left: float
    ties: float
    right: float


def render(report: PairwiseReport) -> str:
    """The page; it carries its style, needs no network and runs no script."""
    head, *rest = sections(report)
    style = f"{part('report.css')}\n{(FOLDER / 'compare.css').read_text(encoding='utf-8').strip()}"
    return _page_template().render(
        language=report.language,
        policy=policy(style, ""),
        style=Markup(style),  # noqa: S704 - a file of ours
        head=head,
        sections=rest,
        bars=_bars(report),
    )


def _bars(report: PairwiseReport) -> list[Bar]:
    say, letters, bars = say_in(report.language), report.letters, []
    for duel in report.figures.duels:
        counts = (duel.wins_a, duel.ties, duel.wins_b)
        if not (total := sum(counts)):
            continue
        a, b = letters[duel.a], letters[duel.b]
        names = (say("wins_of", letter=a), say("ties"), say("wins_of", letter=b))
        title = " / ".join(f"{name} {count:,}" for name, count in zip(names, counts, strict=True))
        bars.append(Bar(title, *(WIDTH * count / total for count in counts)))
    return bars


@lru_cache(maxsize=1)
def _page_template() -> Template:
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
    """The value of an expression of the page; text loses its control codes."""
    return safe_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def markdown(report: PairwiseReport) -> str:
    """The whole comparison as Markdown."""
    lines = [line for at, section in enumerate(sections(report)) for line in _markdown_section(section, at)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_section(section: Section, at: int) -> Iterator[str]:
    yield f"{'##' if at else '#'} {escape_markdown(section.title)}"
    yield ""
    for line in filter(None, section.lead.split("\n")):
        yield f"**{escape_markdown(line)}**"
        yield ""
    for row in section.table:
        yield f"| {' | '.join(map(escape_markdown, row))} |"
        if row is section.table[0]:
            yield "|" + " --- |" * len(row)
    if section.table:
        yield ""
    lines = [f"- {escape_markdown(name)}: {escape_markdown(text)}" for name, text in section.facts]
    for item in section.items:
        lines.append(f"- {escape_markdown(item.text)}")
        lines += [f"  - {escape_markdown(name)}: {escape_markdown(text)}" for name, text in item.beneath]
    if lines:
        yield from (*lines, "")
    if section.aside:
        yield from (f"_{escape_markdown(section.aside)}_", "")


def as_json(report: PairwiseReport) -> dict[str, Any]:
    """The figures, then every pair that was compared; numbers with four decimals."""
    figures = report.figures
    return {
        "runs": list(figures.runs),
        "judge": report.model,
        "offline": report.model == LEXICAL,
        "pairs": figures.pairs,
        "asked": figures.asked,
        "failed": figures.failed,
        "duels": [{**_as_json(duel), "lead": duel.lead} for duel in figures.duels],
        "ratings": [_as_json(rating) for rating in figures.ratings],
        "position": figures.position and _as_json(figures.position),
        "length": _as_json(figures.length),
        "outcomes": [
            {
                **_as_json(outcome, exclude={"question", "answers"}),
                "disagreed": outcome.disagreed,
                "lengths": [len("".join(text.split())) for text in outcome.answers],
            }
            for outcome in report.outcomes
        ],
    }


def _as_json(value: Value, exclude: set[str] | None = None) -> Any:
    return _rounded(value.model_dump(mode="json", exclude=exclude))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
