"""What the bot's own models took, by what its answers tell of it; the program's own models stand apart."""

from collections.abc import Iterable, Iterator

from simulator.core.settings import from_run
from simulator.core.types import Results, Spending, Usage
from simulator.models.pricing import Prices
from simulator.storage.results import StoredConversations

# Its model is one of the run's own roles: what its answers took stands with those.
_OWN = "demo"


def bot_usage(results: Results) -> dict[str, Spending]:
    """Calls, tokens and dollars by model; empty where no answer told its tokens."""
    if results.run.settings.get("adapter", _OWN) == _OWN:
        return {}
    used: dict[str, tuple[int, int, int]] = {}
    for told in _told(results):
        calls, tokens_in, tokens_out = used.get(told.model, (0, 0, 0))
        used[told.model] = calls + 1, tokens_in + told.tokens_in, tokens_out + told.tokens_out
    if not used:
        return {}
    prices = Prices.of(from_run(results.run.settings))
    return {model: _spent(model, figures, prices) for model, figures in used.items()}


def _told(results: Results) -> Iterator[Usage]:
    talks = results.conversations
    if isinstance(talks, StoredConversations):  # a large data set: nothing of its rows is needed but this
        return talks.usages()
    return _usages(turn.answer.usages for talk in talks for turn in talk.turns)


def _usages(answers: Iterable[Iterable[Usage]]) -> Iterator[Usage]:
    for told in answers:
        yield from told


def _spent(model: str, figures: tuple[int, int, int], prices: Prices) -> Spending:
    """Without its model's name nobody knows a price; it is not free as a stand-in is."""
    calls, tokens_in, tokens_out = figures
    cost = prices.cost_usd(Usage(model=model, tokens_in=tokens_in, tokens_out=tokens_out)) if model else None
    return Spending(calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost)
