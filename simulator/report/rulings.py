"""What judges that read closely say of a run: references that passages contradict, and broken rules.

Both are for people to settle. A conflict is a fault of the material, not of the bot: as long as it stands,
its turns count neither for nor against it. A rule is the desk's own sentence (`--rules`), and the judge
`risk` says of each answer whether it was kept, broken, or not put to the test.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from simulator.core.document import Cell, Section, Table, Text, figures_section
from simulator.core.messages import Message, _, pgettext
from simulator.core.types import Results
from simulator.report.tables import LISTED, SEVERITIES
from simulator.results.attacks import Attack, Outcome, attacks_of
from simulator.results.red import RULE_VERDICTS, RuleTally, UndecidedTurn, rule_tallies
from simulator.text.wording import quoted


def conflicts_section(undecided: Iterable[UndecidedTurn]) -> Section:
    """Questions whose reference contradicts what was retrieved, those with most turns first.

    Such turns are left undecided: nobody but the team knows which of the two is out of date.
    """
    by_case: dict[str, list[UndecidedTurn]] = {}
    for turn in undecided:
        by_case.setdefault(turn.case.id, []).append(turn)
    # A question that many customers asked is a conflict that many met.
    ranked = sorted(by_case.values(), key=lambda turns: -len(turns))
    cases: list[dict[str, Any]] = [
        {
            "case": turns[0].case.id,
            "reference": turns[0].reference,
            "passages": turns[0].passages,
            # The ids of the passages that these turns retrieved.
            "retrieved": list(dict.fromkeys(p.id for turn in turns for p in turn.turn.answer.passages)),
            "turns": len(turns),
        }
        for turns in ranked
    ]
    table = Table.listing(
        "conflicts",
        cases[:LISTED],
        {
            _("Question"): lambda case: case["case"],
            _("Asked"): lambda case: by_case[case["case"]][0].case.question,
            _("The reference says"): lambda case: case["reference"],
            _("The passages say"): lambda case: case["passages"],
            _("Retrieved passages"): lambda case: ", ".join(case["retrieved"]),
            _("Answers"): lambda case: case["turns"],
        },
    )
    return figures_section(
        key="conflicts",
        title=_("Reference and passages disagree"),
        line=_(
            "Undecided: {n} answers ({cases} questions), whose reference answer contradicts the "
            "passages. Correct one of the two.",
            cases=len(ranked),
            n=sum(map(len, ranked)),
        ),
        tables=[table],
        figures={"cases": cases},
    )


# Rules of the desk


def risk_section(results: Results) -> Section | None:
    """How often each rule of the desk was kept, broken and not put to the test, broken ones first.

    An example is the judge's quotation, checked against the answer.
    """
    tallies, lost = rule_tallies(results)
    if not tallies:
        return None

    def example(tally: RuleTally) -> Cell | None:
        if not tally.example:
            return None
        conversation, turn, quote = tally.example
        where: Text = conversation
        if not results.run.asks_once:
            where = _("{first} · {second}", first=conversation, second=_("answer {n}", n=turn))
        return Cell(text=_('"{text}"', text=quoted(quote)), note=where)

    table = Table.listing(
        "rules",
        tallies,
        {
            _("Rule"): lambda tally: tally.rule,
            _("Severity"): lambda tally: SEVERITIES[tally.severity],
            pgettext("of a rule", "Broken"): lambda tally: tally.counts["broken"],
            pgettext("of a rule", "Kept"): lambda tally: tally.counts["kept"],
            pgettext("of a rule", "Untested"): lambda tally: tally.counts["untested"],
            _("Example"): example,
        },
    )
    uncounted = _("Not counted, on unknown rules or with words that are not in the answer: {n} verdicts.")
    return figures_section(
        key="risk",
        title=_("Rules of the desk"),
        line=_(
            "Rules broken: {broken} of {rules}. Breaches: {n}.",
            rules=len(tallies),
            broken=sum(tally.counts["broken"] > 0 for tally in tallies),
            n=sum(tally.counts["broken"] for tally in tallies),
        ),
        tables=[table],
        notes=[uncounted.format(n=lost)] if lost else [],
        figures={
            tally.rule: {verdict: tally.counts[verdict] for verdict in RULE_VERDICTS} for tally in tallies
        },
    )


# Attacks

_OUTCOMES: Mapping[Outcome, Message] = {
    "broken": _("Gave it"),
    "held": _("Held"),
    "not_reached": _("Not put to the test"),
}


def attacks_section(results: Results) -> Section | None:
    """What became of each attack, those that the bot gave in to first; None where nobody attacked it."""
    attacks = attacks_of(results)
    if not attacks:
        return None

    def outcome(attack: Attack) -> Cell:
        return Cell(text=_OUTCOMES[attack.outcome], red=attack.outcome == "broken")

    def answer(attack: Attack) -> Cell | None:
        if not attack.turn:
            return None
        where = _("{first} · {second}", first=attack.conversation, second=_("answer {n}", n=attack.turn))
        return Cell(text=_('"{text}"', text=quoted(attack.quote)) if attack.quote else "", note=where)

    table = Table.listing(
        "attacks",
        attacks,
        {
            _("Attack"): lambda attack: attack.goal,
            _("What it is after"): lambda attack: attack.aim,
            _("Severity"): lambda attack: SEVERITIES[attack.severity],
            pgettext("of an attack", "Outcome"): outcome,
            _("Answer"): answer,
        },
    )
    counts = Counter(attack.outcome for attack in attacks)
    return figures_section(
        key="attacks",
        title=_("Attacks"),
        line=_(
            "{broken} of {n} attacks got what they were after, {held} were held off, {rest} were not put to"
            " the test.",
            n=len(attacks),
            broken=counts["broken"],
            held=counts["held"],
            rest=counts["not_reached"],
        ),
        tables=[table],
        figures={
            **{outcome: counts[outcome] for outcome in _OUTCOMES},
            "goals": [attack._asdict() for attack in attacks],
        },
    )
