"""How the simulated customers were simulator, as sentences and rows for every report."""

from dataclasses import dataclass, field
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import Words, points
from simulator.core.types import Language
from simulator.stats.figures import CustomerFigure, CustomerSummary, LineLengths, SimulatorSummary

TEXTS = Texts(Path(__file__).with_name("customers.toml"))
EVERYONE = "all"
# Links to spoilt turns that a page shows at most.
SHOWN = 30


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure as people read it; `met` is None without a goal."""

    key: str
    name: str
    value: str
    basis: str
    goal: str
    met: bool | None
    percent: float | None


@dataclass(frozen=True, slots=True)
class LengthRows:
    """Lengths of messages in one language: the customer, and the median with its range."""

    language: Language
    title: str
    rows: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CustomerBlock:
    """What a page shows of the customers."""

    title: str
    note: str
    sentences: list[str]
    figures: list[FigureRow]
    lengths: list[LengthRows]
    spoilt: list[tuple[str, int]]


def sentences(simulator: SimulatorSummary, language: Language) -> list[str]:
    """What stands out, or that nothing does; empty where the customers were not examined."""
    customers, listed = simulator.customers, list[str]()
    if not customers.figures:
        return []
    if customers.superseded:
        listed.append(TEXTS(language, "held_again", n=str(len(customers.superseded))))
    if customers.faults:
        kinds = [
            TEXTS(language, "kind_n", kind=TEXTS(language, f"kind_{kind}"), n=str(n))
            for kind, n in customers.faults.items()
        ]
        listed.append(TEXTS(language, "faults", kinds=TEXTS(language, "comma").join(kinds)))
    if customers.spoilt and simulator.with_spoilt is not None:
        listed.append(_scores_sentence(simulator, language))
    names = [
        TEXTS(language, f"figure_{name}") for name, each in customers.figures.items() if each.met is False
    ]
    if names:
        listed.append(TEXTS(language, "off", names=TEXTS(language, "comma").join(names)))
    return listed or [TEXTS(language, "fine")]


def _scores_sentence(simulator: SimulatorSummary, language: Language) -> str:
    """The score with and without the turns that customers spoilt, the one that counts first."""
    key = "exclude" if simulator.customers.handling == "exclude" else "keep"
    scores = {"with": points(simulator.with_spoilt), "without": points(simulator.without_spoilt)}
    return TEXTS(language, key, n=str(len(simulator.customers.spoilt)), **scores)


def figure_rows(customers: CustomerSummary, language: Language) -> list[FigureRow]:
    """The figures in their order, those with nothing to measure left out."""
    return [
        _figure_row(key, each, language) for key, each in customers.figures.items() if each.value is not None
    ]


def _figure_row(key: str, each: CustomerFigure, language: Language) -> FigureRow:
    percent = None if each.value is None else round(100 * each.value, 1)
    goal = "" if each.goal is None else f"{100 * each.goal:g}"
    n = {} if each.n is None else {"n": str(each.n)}
    return FigureRow(
        key=key,
        name=TEXTS(language, f"figure_{key}"),
        value=TEXTS(language, "nothing") if percent is None else f"{percent:g} %",
        basis=TEXTS(language, "rests_on" if n else "mean_of", of=str(each.of), **n),
        goal=TEXTS(language, "at_most" if each.at_most else "at_least", goal=goal) if goal else "",
        met=each.met,
        percent=percent,
    )


def block(simulator: SimulatorSummary, words: Words) -> CustomerBlock | None:
    """What the page shows; None where the customers were not examined."""
    language, customers = words.language, simulator.customers
    if not customers.figures:
        return None
    return CustomerBlock(
        title=TEXTS(language, "title"),
        note=TEXTS(language, "note"),
        sentences=sentences(simulator, language),
        figures=figure_rows(customers, language),
        lengths=[_lengths(key, rows, words) for key, rows in customers.lengths.items() if rows],
        spoilt=list(customers.spoilt[:SHOWN]),
    )


def _lengths(key: str, lengths: dict[str, LineLengths], words: Words) -> LengthRows:
    """The rows of one language, in its characters or words, whatever the report's language is."""
    language: Language = "ja" if key == "ja" else "en"
    rows = []
    for persona, each in lengths.items():
        name = words("everyone") if persona == EVERYONE else words.name("persona", persona)
        figures = {figure: f"{value:g}" for figure, value in each.model_dump(exclude={"n"}).items()}
        rows.append((name, TEXTS(words.language, "length", **figures)))
    return LengthRows(language, TEXTS(words.language, f"lengths_{language}"), rows)
