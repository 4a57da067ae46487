"""`make bench-blame`: how often the cause of a red turn is found, for planted (so known) causes.

Every planted turn is made red; what else is known of it (passages, the stand-ins' grades, what the bot finds
in the article's own words) is what a run would know.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, get_args

from benchmarks.blame_plants import Plant, grounds, plants
from simulator.core.settings import Settings
from simulator.core.shelves import DEMO
from simulator.core.types import Conversation, Ended, GradingContext, RedRules, Results, Run, Score
from simulator.data.knowledge import read_knowledge
from simulator.diagnosis.asking import At, check_again, missed_searches
from simulator.diagnosis.evidence import Cause, RetrievalCheck, RootCause
from simulator.diagnosis.root_cause import Articles, root_causes
from simulator.grading.judge import Panel
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.stats.figures import Summary
from simulator.stats.summary import summarise

CAUSES: tuple[Cause, ...] = get_args(Cause)
JUDGES = ("turn", "relevance", "groundedness", "similarity", "fluency", "claims", "keigo")
# The deciding grade of a planted turn that the stand-in would let pass: two of five.
RED, PASSES = 0.4, 0.7


class Judged(NamedTuple):
    """A planted turn with the cause that was found."""

    plant: Plant
    root_cause: RootCause


def main(most: int = 20) -> None:
    """Prints the confusion matrix of both languages, the accuracy of each cause and the trivial baseline."""
    started = time.perf_counter()
    with grounds() as both:
        for ground in both:
            for asks in (True, False):
                found = asyncio.run(judged(plants(ground, most), ground.deleted, asks=asks))
                how = "asked again" if asks else "not asked again"
                print(f"\nCauses of planted faults, {ground.language}, {how}: {len(found)} red turns")
                print(matrix(found) if asks else accuracy(found))
    print(f"\n{time.perf_counter() - started:.0f} s")


async def judged(planted: Sequence[Plant], deleted: frozenset[str], *, asks: bool = True) -> list[Judged]:
    """The causes found for these plants; with `asks` the bot is asked again, as `--ask-again` does."""
    everything = tuple(read_knowledge(DEMO / "knowledge"))
    shelves = {"whole": everything, "poor": tuple(p for p in everything if p.id not in deleted)}
    panel = _panel()
    found: list[Judged] = []
    for knowledge, articles in shelves.items():
        here = [plant for plant in planted if plant.knowledge == knowledge]
        if here:
            found += await _judged(here, articles, panel, asks=asks)
    return found


async def _judged(planted: Sequence[Plant], articles: Articles, panel: Panel, *, asks: bool) -> list[Judged]:
    results = await _results(planted, panel)
    summary = summarise(results, rules=RedRules(), judges=JUDGES, seed=1)
    by_id = {
        conversation.id: plant for conversation, plant in zip(results.conversations, planted, strict=True)
    }
    again = await _asked_again(results, summary, articles, by_id) if asks else {}
    last = {conversation.id: len(conversation.turns) for conversation in results.conversations}
    causes = root_causes(results, summary, articles=articles, found=again)
    return [Judged(by_id[b.conversation], b) for b in causes if b.turn == last[b.conversation]]


async def _asked_again(
    results: Results, summary: Summary, articles: Articles, by_id: Mapping[str, Plant]
) -> dict[At, RetrievalCheck]:
    """What each plant's own bot retrieves in the article's own words."""
    found: dict[At, RetrievalCheck] = {}
    for each in missed_searches(results, summary, articles):
        found |= await check_again(by_id[each.turns[0][0]].bot, [each], 10.0)
    return found


async def _results(planted: Sequence[Plant], panel: Panel) -> Results:
    conversations = [_talk(number, plant) for number, plant in enumerate(planted)]
    scores = [score for conversation in conversations for score in await _scores(conversation, panel)]
    settings = {"turns": 3, "judges": list(JUDGES), "offline": True}
    run = Run(id="planted", created=datetime(2026, 1, 1, tzinfo=UTC), settings=settings, status="finished")
    return Results(
        run=run, planned=len(conversations), conversations=tuple(conversations), scores=tuple(scores)
    )


def _talk(number: int, plant: Plant) -> Conversation:
    key = f"angry/{plant.cause}-{number}#1"
    return Conversation(id=key, case=plant.case, persona="angry", turns=plant.turns, ended=Ended.TURN_LIMIT)


async def _scores(conversation: Conversation, panel: Panel) -> list[Score]:
    """The stand-ins' grades; the deciding one of the planted turn is made red where it is not."""
    found: list[Score] = []
    for number, turn in enumerate(conversation.turns):
        context = GradingContext(
            conversation=conversation.id,
            case=conversation.case,
            persona="angry",
            turn=turn,
            earlier=conversation.turns[:number],
        )
        last = number == len(conversation.turns) - 1
        found += [_reddened(score) if last else score for score in await panel.grade(context)]
    return found


def _reddened(score: Score) -> Score:
    if score.judge != "turn" or score.value is None or score.value < PASSES:
        return score
    return score.model_copy(update={"value": RED, "raw": 5 * RED, "rubric": "planted", "detail": {}})


def _panel() -> Panel:
    settings = Settings(judges=JUDGES, offline=True, cache="off")
    roles = dict.fromkeys(("user", "judge", "embed", "demo"))
    return RunContext(settings, roles, (), Ledger({}, None)).panel  # type: ignore[arg-type]


def matrix(found: Sequence[Judged]) -> str:
    """Planted (rows) by found (columns), then the accuracies."""
    counts = Counter((each.plant.cause, each.root_cause.cause) for each in found)
    planted = [cause for cause in CAUSES if any(each.plant.cause == cause for each in found)]
    shown = [
        cause for cause in CAUSES if any(each.root_cause.cause == cause for each in found) or cause in planted
    ]
    head = f"{'planted/found':<16}" + "".join(f"{cause[:11]:>12}" for cause in shown)
    rows = [
        f"{row:<16}" + "".join(f"{counts[row, column] or '.':>12}" for column in shown) for row in planted
    ]
    return "\n".join([head, *rows, accuracy(found)])


def accuracy(found: Sequence[Judged]) -> str:
    """The share of each cause that is found, the whole, the sure ones, and what guessing one cause gives."""
    total = Counter(each.plant.cause for each in found)
    right = Counter(each.plant.cause for each in found if each.plant.cause == each.root_cause.cause)
    each_of = ", ".join(f"{cause} {right[cause]}/{n}" for cause, n in total.items())
    sure = [each for each in found if each.root_cause.sure]
    right_sure = sum(each.plant.cause == each.root_cause.cause for each in sure)
    pairs = [each for each in found if each.plant.pair and each.root_cause.cause == "spelling"]
    named = sum(each.root_cause.pair == each.plant.pair for each in pairs)
    lines = [
        f"by cause: {each_of}",
        f"accuracy {sum(right.values()) / len(found):.3f} ({sum(right.values())}/{len(found)});"
        f" sure ones {right_sure / max(1, len(sure)):.3f} ({right_sure}/{len(sure)});"
        f" always the commonest cause {max(total.values()) / len(found):.3f}",
        f"pair of spellings named: {named}/{len(pairs)}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
