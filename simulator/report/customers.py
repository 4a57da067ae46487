"""How the simulated customers were played: sentences, and a section of figures."""

from collections.abc import Mapping
from pathlib import Path

from simulator.core.document import PAGE, Block, Cell, Fact, Facts, Line, Section, Table
from simulator.core.templates import Texts
from simulator.core.translations import Words, points
from simulator.core.types import Language
from simulator.stats.figures import CustomerFigure, LineLengths, SimulatorSummary

TEXTS = Texts(Path(__file__).with_name("customers.toml"))
EVERYONE = "all"
# Links to spoilt turns that a page shows at most.
SHOWN = 30


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


def customers_section(
    simulator: SimulatorSummary, words: Words, anchors: Mapping[tuple[str, int], str]
) -> Section | None:
    """What stands out, figures, lengths of messages, and links to spoilt turns; None where nobody looked.

    `anchors` are where a page has its turns, by conversation and number.
    """
    language, customers = words.language, simulator.customers
    if not customers.figures:
        return None
    blocks: list[Block] = [
        Line(" / ".join(sentences(simulator, language))),
        Line(TEXTS(language, "note"), "soft"),
        Table(
            name="figures",
            title="",
            columns=(
                TEXTS(language, "name"),
                TEXTS(language, "value"),
                TEXTS(language, "counted"),
                TEXTS(language, "goal"),
                TEXTS(language, "verdict"),
            ),
            rows=tuple(
                _row(key, each, each.value, language)
                for key, each in customers.figures.items()
                if each.value is not None
            ),
        ),
    ]
    for key, lengths in customers.lengths.items():
        if lengths:
            blocks += _lengths(key, lengths, words)
    spoilt = tuple(
        (Cell(text=f"{conversation} · {words('turn_n', n=turn)}", href=f"#{anchors[conversation, turn]}"),)
        for conversation, turn in customers.spoilt[:SHOWN]
        if (conversation, turn) in anchors
    )
    if spoilt:
        blocks.append(
            Table(name="spoilt", title="", columns=(TEXTS(language, "spoilt"),), rows=spoilt, counts=0)
        )
    return Section("customers", TEXTS(language, "title"), tuple(blocks), views=PAGE, folded=True)


def _row(key: str, each: CustomerFigure, value: float, language: Language) -> tuple[Cell, ...]:
    """One figure with what it rests on, its goal and whether it meets that; the number is in percent."""
    percent = round(100 * value, 1)
    goal = "" if each.goal is None else f"{100 * each.goal:g}"
    n = {} if each.n is None else {"n": str(each.n)}
    verdict = "" if each.met is None else TEXTS(language, "met" if each.met else "missed")
    return (
        Cell(text=TEXTS(language, f"figure_{key}")),
        Cell(text=f"{percent:g} %", number=percent, tone="alarm" if each.met is False else ""),
        Cell(text=TEXTS(language, "rests_on" if n else "mean_of", of=str(each.of), **n)),
        Cell(text=TEXTS(language, "at_most" if each.at_most else "at_least", goal=goal) if goal else ""),
        Cell(text=verdict),
    )


def _lengths(key: str, lengths: dict[str, LineLengths], words: Words) -> tuple[Block, ...]:
    """The lengths of messages in one language, in its characters or words, whatever the report's language."""
    facts = []
    for persona, each in lengths.items():
        name = words("everyone") if persona == EVERYONE else words.name("persona", persona)
        figures = {figure: f"{value:g}" for figure, value in each.model_dump(exclude={"n"}).items()}
        facts.append(Fact(name, TEXTS(words.language, "length", **figures)))
    title = TEXTS(words.language, "lengths_ja" if key == "ja" else "lengths_en")
    return Facts(tuple(facts), title), Line(TEXTS(words.language, "lengths_note"), "soft")
