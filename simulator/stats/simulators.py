"""Several models that play the customers of one run: where they disagree, the gate has no answer.

Nobody knows which of them is most like real customers. So the gate passes, or is missed, where it is for each
of them: what has to hold whichever is right has to be shown of all (intersection-union test: Berger, 1982).
"""

from collections.abc import Callable, Mapping

from simulator.core.document import points
from simulator.core.messages import Message, _, pgettext
from simulator.core.types import Results
from simulator.stats.figures import Summary
from simulator.stats.gate import Gate, finding

_DECISIONS: Mapping[str | None, Message] = {
    "passed": pgettext("a verdict", "passed"),
    "missed": pgettext("a verdict", "missed"),
    "undecided": pgettext("a verdict", "undecided"),
}


def agreed_gate(gate: Gate, results: Results, summary: Summary, decide: Callable[[Results], Gate]) -> Gate:
    """The gate, undecided where the simulators do not all decide alike.

    `decide` is asked for each: of the run as if it alone had played the customers, at the costs of all.
    """
    decisions = {}
    for model in summary.simulators:
        others = {each.id for each in results.conversations if each.user_model != model}
        own, scores = results.conversations.without(others), results.scores.without(others)
        alone = {"planned": len(own), "conversations": own, "scores": scores}
        decisions[model] = decide(results.model_copy(update=alone)).decision
    if len(set(decisions.values())) < 2:
        return gate
    parts = [
        _(
            "{model} {score} ({decision})",
            model=model,
            score=points(summary.simulators[model].score, against=gate.target),
            decision=_DECISIONS[decision],
        )
        for model, decision in decisions.items()
    ]
    found = finding("simulators", parts=tuple(parts))
    return gate.model_copy(
        update={"passed": False, "decision": "undecided", "findings": (*gate.findings, found)}
    )
