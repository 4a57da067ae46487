"""A model as judge of pairs: two calls, one for each order; and what needs no call at all."""

import asyncio
from collections.abc import Awaitable, Callable

from simulator.core.errors import AccessDenied, ModelFailure
from simulator.core.replies import encodable
from simulator.core.templates import fingerprint, stable_int
from simulator.core.types import GradingContext
from simulator.models.client import Model
from simulator.pairwise.kept import Kept
from simulator.pairwise.outcome import Ballot, Outcome, Read, Side, Verdict, outcome, settled
from simulator.pairwise.pairs import Pair
from simulator.pairwise.prompt import PairPrompt, Preference
from simulator.pairwise.words import WORDS

PairJudging = Callable[[Pair], Awaitable[Outcome]]
ORDERS: tuple[Side, Side] = ("a", "b")


def by_rule(pair: Pair) -> Outcome | None:
    """No answer loses against an answer, and two equal answers are a tie; nobody has to be asked."""
    language, failed = pair.one.case.language, [_failed(side) for side in (pair.one, pair.other)]
    if any(failed):
        verdict: Verdict = "tie" if all(failed) else "b" if failed[0] else "a"
        reason = WORDS(language, "no_answers" if all(failed) else "no_answer")
        return outcome(pair, "rule", verdict, reason=reason, margin=float(not all(failed)))
    one, other = (" ".join(text.split()) for text in pair.answers)
    return outcome(pair, "rule", "tie", reason=WORDS(language, "same_answer")) if one == other else None


def _failed(exhibit: GradingContext) -> bool:
    return exhibit.turn.answer.error is not None or not exhibit.turn.answer.text.strip()


class ModelJudging:
    """Asks a model in both orders; ballots are kept as they arrive."""

    def __init__(self, prompt: PairPrompt, model: Model, seed: int, kept: Callable[[Pair], Kept]) -> None:
        """`kept` says where the ballots of a pair are kept."""
        self.prompt, self.model, self.seed, self.kept = prompt, model, seed, kept

    async def __call__(self, pair: Pair) -> Outcome:
        """The outcome of both orders; without a verdict when one of them gave nothing usable.

        Raises, when the other order's call has arrived and is kept, what makes further calls pointless.
        """
        both = await asyncio.gather(*(self._ballot(pair, first) for first in ORDERS), return_exceptions=True)
        wrong = [each for each in both if isinstance(each, BaseException)]
        ballots = tuple(each for each in both if isinstance(each, Ballot))
        for error in wrong:
            if isinstance(error, AccessDenied) or not isinstance(error, ModelFailure):
                raise error
        if wrong:
            return outcome(pair, "model", None, ballots=ballots, problem=" ".join(str(wrong[0]).split()))
        verdict = settled(ballots)
        return outcome(pair, "model", verdict, reason=ballots[0].reason, ballots=ballots)

    def open_calls(self, pair: Pair) -> list[list[dict[str, str]]]:
        """The messages that would have to be paid for."""
        kept = self.kept(pair)
        asked = [self.prompt.messages(pair, first) for first in ORDERS]
        return [messages for messages in asked if kept.get(self._key(messages)) is None]

    async def _ballot(self, pair: Pair, first: Side) -> Ballot:
        messages, kept = self.prompt.messages(pair, first), self.kept(pair)
        key = self._key(messages)
        if known := kept.get(key):
            return known.ballot(first)
        language, turn = pair.one.case.language, pair.one.turn.index
        seed = stable_int(self.seed, pair.one.conversation, turn, first)

        def again(problem: str) -> str:
            return self.prompt.text(language, "again", problem=problem)

        filled = await self.model.ask(messages, Preference, again, seed=seed)
        read = Read(verdict=filled.verdict, reason=encodable(filled.reason))
        shown = (pair.a, pair.b) if first == "a" else (pair.b, pair.a)
        kept.put(key, read, shown=shown, conversation=pair.one.conversation, turn=turn)
        return read.ballot(first)

    def _key(self, messages: list[dict[str, str]]) -> str:
        return fingerprint(
            self.model.endpoint.model, str(self.model.temperature), str(self.seed),
            *(message["content"] for message in messages),
        )  # fmt: skip
