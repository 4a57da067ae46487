"""How the simulated customers were played, as sentences and rows for every report."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import Words, points
from simulator.core.types import Language
from simulator.stats.figures import Customers, Figure, Lengths, SimulatorSummary

TEXT = Texts(Path(__file__).with_name("customers.toml"))
EVERYONE = "all"
# Links to spoilt turns that a page shows at most.
SHOWN = 30


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure as people read it; `met` is None without a goal."""

    key: str
    name: str
    value: str
    rests_on: str
    goal: str
    met: bool | None
    percent: float | None


@dataclass(frozen=True, slots=True)
class LengthRows:
    """Lengths of messages in one language: who, and how long."""

    language: Language
    title: str
    rows: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CustomerBlock:
    """What a page shows of it."""

    title: str
    note: str
    sentences: list[str]
    figures: list[FigureRow]
    lengths: list[LengthRows]
    spoilt: list[tuple[str, int]]


def sentences(played: SimulatorSummary, language: Language) -> list[str]:
    """What stands out, or that nothing does; empty where nobody looked."""
    customers, found = played.customers, list[str]()
    if not customers.figures:
        return []
    if customers.superseded:
        found.append(TEXT(language, "held_again", n=str(len(customers.superseded))))
    if customers.faults:
        kinds = [
            TEXT(language, "kind_n", kind=TEXT(language, f"kind_{kind}"), n=str(n))
            for kind, n in customers.faults.items()
        ]
        found.append(TEXT(language, "faults", kinds=TEXT(language, "comma").join(kinds)))
    if customers.spoilt and played.with_spoilt is not None:
        found.append(_scores(played, language))
    names = [
        TEXT(language, f"figure_{name}") for name, each in customers.figures.items() if each.met is False
    ]
    if names:
        found.append(TEXT(language, "off", names=TEXT(language, "comma").join(names)))
    return found or [TEXT(language, "fine")]


def _scores(played: SimulatorSummary, language: Language) -> str:
    """The score with and without what the customers spoilt, the one that counts first."""
    key = "exclude" if played.customers.handling == "exclude" else "keep"
    told = {"with": points(played.with_spoilt), "without": points(played.without_spoilt)}
    return TEXT(language, key, n=str(len(played.customers.spoilt)), **told)


def figure_rows(customers: Customers, language: Language) -> list[FigureRow]:
    """The figures in their order, those with nothing to measure left out."""
    return [_row(key, each, language) for key, each in customers.figures.items() if each.value is not None]


def _row(key: str, each: Figure, language: Language) -> FigureRow:
    percent = None if each.value is None else round(100 * each.value, 1)
    goal = "" if each.goal is None else f"{100 * each.goal:g}"
    n = {} if each.n is None else {"n": str(each.n)}
    return FigureRow(
        key=key,
        name=TEXT(language, f"figure_{key}"),
        value=TEXT(language, "nothing") if percent is None else f"{percent:g} %",
        rests_on=TEXT(language, "rests_on" if n else "mean_of", of=str(each.of), **n),
        goal=TEXT(language, "at_most" if each.at_most else "at_least", goal=goal) if goal else "",
        met=each.met,
        percent=percent,
    )


def block(played: SimulatorSummary, words: Words) -> CustomerBlock | None:
    """What the page shows, or nothing where nobody looked."""
    language, customers = words.language, played.customers
    if not customers.figures:
        return None
    return CustomerBlock(
        title=TEXT(language, "title"),
        note=TEXT(language, "note"),
        sentences=sentences(played, language),
        figures=figure_rows(customers, language),
        lengths=[_lengths(spoken, rows, words) for spoken, rows in customers.lengths.items() if rows],
        spoilt=list(customers.spoilt[:SHOWN]),
    )


def _lengths(spoken: str, rows: dict[str, Lengths], words: Words) -> LengthRows:
    """One language's rows; characters or words are named after it, not after the report's language."""
    of: Language = "ja" if spoken == "ja" else "en"
    return LengthRows(
        of,
        _title(of, words.language),
        [
            (
                words("everyone") if who == EVERYONE else words.name("persona", who),
                TEXT(
                    words.language,
                    "length",
                    **{k: f"{v:g}" for k, v in each.model_dump(exclude={"n"}).items()},
                ),
            )
            for who, each in rows.items()
        ],
    )


@cache
def _title(spoken: Language, language: Language) -> str:
    return TEXT(language, f"lengths_{spoken}")
