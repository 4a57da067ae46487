"""How the simulated customers were played: sentences, and a section of figures."""

from collections.abc import Iterator, Mapping

from simulator.core.document import PAGE, Block, Cell, Fact, Facts, Line, Section, Table, Text, points
from simulator.core.messages import Message, _, ngettext
from simulator.core.titles import Titles
from simulator.stats.figures import CustomerFigure, LineLengths, SimulatorSummary

EVERYONE = "all"
# Links to spoilt turns that a page shows at most.
SHOWN = 30
_FAULTS: dict[str, Message] = {
    "invented": _("made-up details"),
    "off_goal": _("beside the matter"),
    "left_early": _("left too early"),
    "left_late": _("stayed too long"),
    "repeated": _("repetition"),
    "broke_role": _("out of the role"),
    "impatient": _("gave up too soon"),
}
_FIGURES: dict[str, Message] = {
    "questions": _("Messages that ask"),
    "goal_coverage": _("Goal raised"),
    "early": _("Satisfied after a refusal"),
    "prompt": _("Leaves within a turn of a complete answer"),
    "invented": _("Turns with made-up details"),
    "thanks": _("Angry and unanswered, yet thanks"),
    "persona": _("Persona recognised from the messages alone"),
    "repeated": _("Turns that repeat"),
    "openings": _("Variety of first messages"),
}


def sentences(simulator: SimulatorSummary) -> tuple[Message, ...]:
    """What stands out, or that nothing does; empty where the customers were not examined."""
    if not simulator.customers.figures:
        return ()
    return tuple(_remarks(simulator)) or (_("nothing amiss in how they were played"),)


def _remarks(simulator: SimulatorSummary) -> Iterator[Message]:
    customers = simulator.customers
    if customers.superseded:
        yield ngettext(
            "Held once more because of the customer: {n} conversation. The first ones do not count, but are"
            " kept in the run file.",
            "Held once more because of the customer: {n} conversations. The first ones do not count, but are"
            " kept in the run file.",
            n=len(customers.superseded),
        )
    if customers.faults:
        kinds = [_("{name} {n}", name=_FAULTS[kind], n=n) for kind, n in customers.faults.items()]
        yield _("turns with a fault: {kinds}", kinds=kinds)
    if customers.spoilt and simulator.with_spoilt is not None:
        scores = {"with": points(simulator.with_spoilt), "without": points(simulator.without_spoilt)}
        scores["n"] = f"{len(customers.spoilt):,}"
        yield (
            _("score {without}, leaving out what a customer spoilt (turns: {n}); {with} with it", **scores)
            if customers.handling == "exclude"
            else _("score {with}; {without} without what a customer spoilt (turns: {n})", **scores)
        )
    if names := [_FIGURES[name] for name, each in customers.figures.items() if each.met is False]:
        yield _("off the mark: {names}", names=names)


def customers_section(
    simulator: SimulatorSummary, titles: Titles, anchors: Mapping[tuple[str, int], str]
) -> Section | None:
    """What stands out, figures, lengths of messages, and links to spoilt turns; None where nobody looked.

    `anchors` are where a page has its turns, by conversation and number.
    """
    customers = simulator.customers
    if not customers.figures:
        return None
    first, *others = sentences(simulator)
    for each in others:
        first = _("{first} / {second}", first=first, second=each)
    note = _("How the customers were played, counted from the conversations; no part of the bot's score.")
    columns = (_("Figure"), _("Measured"), _("Counted"), _("Goal"), _("Verdict"))
    rows = [_row(key, each, each.value) for key, each in customers.figures.items() if each.value is not None]
    blocks: list[Block] = [Line(first), Line(note, "soft"), Table.of("figures", columns, rows)]
    for key, lengths in customers.lengths.items():
        if lengths:
            blocks += _lengths(key, lengths, titles)
    spoilt = []
    for conversation, turn in customers.spoilt[:SHOWN]:
        if anchor := anchors.get((conversation, turn)):
            where = _("{first} · {second}", first=conversation, second=_("turn {n}", n=turn))
            spoilt.append([Cell(text=where, href=f"#{anchor}")])
    if spoilt:
        blocks.append(Table.of("spoilt", [_("Turns that a customer spoilt")], spoilt, counts=0))
    return Section("customers", _("The simulated customers"), tuple(blocks), views=PAGE, folded=True)


def _row(key: str, each: CustomerFigure, value: float) -> tuple[Text | Cell, ...]:
    """One figure with what it rests on, its goal and whether it meets that; the number is in percent."""
    percent = round(100 * value, 1)
    verdict: Text = "" if each.met is None else "○" if each.met else _("▲ off the mark")
    counted = _("{n} of {of}", n=each.n, of=each.of)
    if each.n is None:
        counted = ngettext("mean of {n} conversation", "mean of {n} conversations", n=each.of)
    measured = Cell(text=f"{percent:g} %", number=percent, tone="alarm" if each.met is False else "")
    return _FIGURES[key], measured, counted, _goal_text(each), verdict


def _goal_text(each: CustomerFigure) -> Text:
    if each.goal is None:
        return ""
    goal = f"{100 * each.goal:g}"
    return _("at most {goal} %", goal=goal) if each.at_most else _("at least {goal} %", goal=goal)


def _lengths(key: str, lengths: Mapping[str, LineLengths], titles: Titles) -> tuple[Block, ...]:
    """The lengths of messages in one language, in its characters or words, whatever the report's language."""
    facts = []
    for persona, each in lengths.items():
        name = _("All") if persona == EVERYONE else titles("persona", persona)
        figures = {figure: f"{value:g}" for figure, value in each.model_dump(exclude={"n"}).items()}
        facts.append(Fact(name, _("{median} ({low}–{high})", **figures)))
    title = _("Length of English messages (words)")
    if key == "ja":
        title = _("Length of Japanese messages (characters)")
    note = _("Median and quartiles of the customers' messages after the first.")
    return Facts(tuple(facts), title), Line(note, "soft")
