"""Sections on what was asked more than once: by several models, by the same one again, and in a replay.

simulators    --user-model A,B    the score by who played the customers, and how far these are apart
reliability   --repeats 3         which questions passed always, sometimes and never; pass^k
replay        --replay RUN        conversations in which the customers' earlier lines no longer fitted
"""

from collections.abc import Mapping

from simulator.core.document import Cell, Section, Table, Text, figures_section, points
from simulator.core.messages import Message, _, ngettext, pgettext
from simulator.core.types import Results
from simulator.report.tables import LISTED
from simulator.results.figures import Summary, rounded
from simulator.results.flips import Flip, flips
from simulator.users.scripted import DIVERGED

_FLIPS: Mapping[Flip, Message] = {
    "wording": _("the answer: the same passages came"),
    "retrieval": _("the search: other passages came"),
}


def simulators_section(summary: Summary) -> Section | None:
    """What each of several models that play the customers says of the bot; None with one of them."""
    spread = summary.scores.spread
    if spread is None:
        return None
    models = summary.scores.simulators
    table = Table.listing(
        "simulators",
        models,
        {
            _("Model"): lambda model: model,
            _("Score"): lambda model: points(models[model].score),
            _("Conversations"): lambda model: models[model].n,
        },
    )
    scores = [_("{name} {n}", name=model, n=points(mean.score)) for model, mean in models.items()]
    return figures_section(
        key="simulators",
        title=_("Who plays the customers"),
        line=_("{scores}; spread {spread}.", scores=scores, spread=points(spread)),
        tables=[table],
        figures={model: rounded(mean.model_dump(include={"score", "n"})) for model, mean in models.items()},
    )


def reliability_section(summary: Summary) -> Section | None:
    """Which questions passed always, sometimes and never; None where none was repeated.

    Listed are those that did not always pass, never first. pass^k (tau-bench, Yao et al., 2024) is the chance
    that k conversations about a question all pass, C(passed, k) / C(n, k), averaged over questions: a bot
    that is right two times of three has pass^1 67 % and pass^3 0 % on such a question.
    """
    reliability = summary.scores.reliability
    if reliability is None:
        return None
    # By id in the figures, by words for people.
    asked = {case.case: case.question for case in summary.scores.cases}

    def share(case: str) -> Cell:
        passed, of = reliability.counts[case]
        share = 100 * passed / of
        text = _("{n} of {of}", n=passed, of=of)
        return Cell(text=_chance(passed / of), number=round(share, 1), note=text)

    flipped = flips(summary.record)

    def flip(case: str) -> Text:
        return _FLIPS[flipped[case]] if case in flipped else ""

    unsure = [*reliability.never, *reliability.sometimes]
    table = Table.listing(
        "reliability",
        unsure[:LISTED],
        {
            _("Question"): lambda case: case,
            _("Asked"): lambda case: asked[case],
            pgettext("a share", "Passed"): share,
            **({_("What flipped"): flip} if flipped else {}),
        },
        words=frozenset({1, 3}),
    )
    notes = [
        _("A conversation passes when none of its answers needs review."),
        _(
            "pass^{k}: the chance that {k} conversations about a question all pass, averaged over questions.",
            k=reliability.k,
        ),
    ]
    if reliability.lost:
        notes.append(_("Ended early or not graded, so neither: {n} conversations.", n=reliability.lost))
    return figures_section(
        key="reliability",
        title=_("Repeated questions (× {k})", k=reliability.k),
        line=_(
            "Always passed {always}, sometimes {sometimes}, never {never} of {n} questions; pass^1 {once},"
            " pass^{k} {every}.",
            always=len(reliability.always),
            sometimes=len(reliability.sometimes),
            never=len(reliability.never),
            n=len(reliability.enough),
            k=reliability.k,
            once=_chance(reliability.mean(1)),
            every=_chance(reliability.mean(reliability.k)),
        ),
        tables=[table] if unsure else [],
        notes=notes,
        figures=reliability.as_json() | {"flips": flipped},
    )


def _chance(value: float | None) -> Text:
    return "–" if value is None else _("{n} %", n=f"{100 * value:.0f}")


def replay_section(results: Results) -> Section | None:
    """In how many conversations the earlier lines no longer fitted; None where every one did.

    A replay says the earlier lines as long as they make sense after what the bot says now; from the first
    that does not, a model plays on.
    """
    # A conversation that diverged at its end has no turn to say so, but a reason that begins with ours.
    diverged = sum(
        any(turn.diverged for turn in conversation.turns)
        or conversation.reason.startswith(DIVERGED[conversation.case.language])
        for conversation in results.conversations
    )
    if not diverged:
        return None
    return figures_section(
        key="replay",
        title=_("Replay"),
        line=ngettext(
            "In {n} conversation the customer said something else than before, from some message on.",
            "In {n} conversations the customers said something else than before, from some message on.",
            n=diverged,
        ),
        figures={"diverged": diverged},
    )
