"""What is asked of a whole run again and again; of a large data set it is told without reading every row."""

import functools
import weakref
from collections.abc import Callable, Container, Iterator, Sequence
from typing import TypeVar

from simulator.core.types import SUPERSEDED, Conversation, Results, Score
from simulator.reading import Talks

Told = TypeVar("Told")


def once(look: Callable[[Results], Told]) -> Callable[[Results], Told]:
    """The same function, which does not look twice at the run that it looked at last."""
    latest: list[tuple[weakref.ref[Results], Told]] = []

    @functools.wraps(look)
    def looked(results: Results) -> Told:
        if not latest or latest[0][0]() is not results:
            latest[:] = [(weakref.ref(results), look(results))]
        return latest[0][1]

    return looked


def counted(results: Results) -> Results:
    """The run without the conversations that were held once more because of their customer."""
    held_again = results.notes.get(SUPERSEDED)
    if not isinstance(held_again, dict) or not held_again:
        return results
    talks = tuple(talk for talk in results.conversations if talk.id not in held_again)
    scores = tuple(score for score in results.scores if score.conversation not in held_again)
    gone = len(results.conversations) - len(talks)
    left = {"planned": results.planned - gone, "conversations": talks, "scores": scores}
    return results.model_copy(update=left) if gone else results


def english_share(results: Results) -> float:
    """The share (0..1) of conversations that are in English; 0 of none."""
    talks = results.conversations
    if not talks:
        return 0.0
    if isinstance(talks, Talks):
        return talks.count("""json_extract("case", '$.language') = 'en'""") / len(talks)
    return sum(talk.case.language == "en" for talk in talks) / len(talks)


def retrieves(results: Results) -> bool:
    """Whether any answer came with passages."""
    talks = results.conversations
    if isinstance(talks, Talks):
        some = "SELECT conversation FROM turns WHERE json_array_length(answer, '$.passages') > 0"
        return talks.count(f"id IN ({some})") > 0
    return any(turn.answer.passages for talk in talks for turn in talk.turns)


def marks(results: Results) -> bool:
    """Whether any row says that it can, or cannot, be answered, or whether it is to be handed over."""
    talks = results.conversations
    if isinstance(talks, Talks):
        answerable = """json_extract("case", '$.answerable') IS NOT NULL"""
        handover = """coalesce(json_extract("case", '$.handover'), 'optional') <> 'optional'"""
        return talks.count(f"{answerable} OR {handover}") > 0
    return any(talk.case.answerable is not None or talk.case.handover != "optional" for talk in talks)


def begun(results: Results) -> int:
    """How many conversations have a turn."""
    talks = results.conversations
    if isinstance(talks, Talks):
        return talks.count("id IN (SELECT conversation FROM turns WHERE answer IS NOT NULL)")
    return sum(bool(talk.turns) for talk in talks)


def picked(results: Results, keys: Container[str]) -> Iterator[tuple[int, Conversation]]:
    """The conversations with these ids, in the plan's order, each with its number in it, from 1."""
    talks = results.conversations
    if isinstance(talks, Talks):
        numbers = [number for number, key in enumerate(talks.ids, 1) if key in keys]
        yield from zip(numbers, talks.some([talks.ids[number - 1] for number in numbers]), strict=True)
        return
    yield from ((number, talk) for number, talk in enumerate(talks, 1) if talk.id in keys)


def scores_of(results: Results, keys: Container[str]) -> Iterator[Score]:
    """The scores of the conversations with these ids."""
    talks = results.conversations
    if isinstance(talks, Talks):
        wanted: Sequence[str] = [key for key in talks.ids if key in keys]
        for _, by_turn in talks.with_scores(wanted):
            yield from (score for by_judge in by_turn.values() for score in by_judge.values())
        return
    yield from (score for score in results.scores if score.conversation in keys)
