"""Calls, tokens and money by role, and where the budget ends."""

import json
import sys
from dataclasses import replace
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.settings import Price, Settings
from simulator.core.types import Results, Role, Spending, Usage, usage_told
from simulator.models import pricing
from simulator.models.pricing import BudgetSpent, Ledger, Prices, check_prices, money
from tests.sample_runs import rehearsed

PRICED, UNPRICED = "gpt-4.1", "nobody-knows-this-model"
cost_usd = Prices().cost_usd


def after(spent: Spending, model: str) -> Results:
    """A run whose judge has spent this."""
    told = {"spending": {"judge": spent}, "usage": {"judge": {model: spent}}}
    return rehearsed().model_copy(update=told)


async def has_room(ledger: Ledger, body: dict[str, Any], role: Role = "judge") -> bool:
    """Whether this call may go out."""
    try:
        async with ledger.room(role, body):
            return True
    except BudgetSpent:
        return False


def used(tokens: int = 1_000_000, model: str = PRICED) -> Usage:
    """A call that read so many tokens."""
    return Usage(model=model, tokens_in=tokens)


def test_a_price_is_that_of_the_table() -> None:
    """Input and output tokens have prices of their own; nothing used costs nothing."""
    reading = cost_usd(used()) or 0.0
    writing = cost_usd(Usage(model=PRICED, tokens_out=1_000_000)) or 0.0

    assert writing > reading > 0
    assert cost_usd(Usage(model=PRICED)) == 0
    assert cost_usd(Usage(model=PRICED, tokens_in=10**6, tokens_out=10**6)) == pytest.approx(
        reading + writing
    )


def test_cached_tokens_cost_what_the_table_says() -> None:
    """They are part of the tokens in; a model without a price for them costs the full one."""
    whole, half, cached = (
        cost_usd(used().model_copy(update={"tokens_cached": n})) or 0.0 for n in (0, 500_000, 10**6)
    )
    never = [Usage(model="gpt-4", tokens_in=10**6, tokens_cached=n) for n in (0, 10**6)]

    assert cached == pytest.approx(whole / 4)
    assert half == pytest.approx((whole + whole / 4) / 2)
    assert cost_usd(never[0]) == cost_usd(never[1])
    # A bot tells its own usage: what it says of its cache makes nothing cheaper than all of it cached.
    told = cost_usd(used(10).model_copy(update={"tokens_cached": 10**9}))
    assert told == pytest.approx(10 * cached / 10**6)


def test_cached_tokens_have_a_price_of_ones_own() -> None:
    """Left out, it is that of other tokens; one that is higher is a mistake."""
    own = {UNPRICED: Price(input=4, cached_input=1), "plain": Price(input=4)}
    usages = [Usage(model=name, tokens_in=10**6, tokens_cached=10**6) for name in own]

    assert [Prices(own).cost_usd(usage) for usage in usages] == [pytest.approx(1), pytest.approx(4)]
    with pytest.raises(ValueError, match="cached_input is higher than input"):
        Price(input=1, cached_input=2)
    assert Price(input=1, cached_input=1).rates.cached == Price(input=1).rates.cached


def test_cached_tokens_are_summed_and_spare_the_budget() -> None:
    """Per role and in all, also where a run goes on; the budget counts what was charged."""
    call = used(1000).model_copy(update={"tokens_cached": 800})
    spent = Spending(calls=1, tokens_in=1000, tokens_cached=400, cost_usd=None)
    earlier = after(spent, PRICED)
    ledger = Ledger.of(Settings(budget=1), earlier)
    before = ledger.spent.cost_usd or 0
    ledger.charge("judge", call)

    assert before == pytest.approx(cost_usd(used(1000).model_copy(update={"tokens_cached": 400})))
    assert (ledger.roles["judge"].tokens_in, ledger.spent.tokens_cached) == (2000, 1200)
    assert ledger.spent.cost_usd == pytest.approx(before + (cost_usd(call) or 0))


def test_a_sum_is_known_where_both_sides_are() -> None:
    """Then nothing stands beside it; else what is known of either does."""
    one, two, unknown = Spending(cost_usd=1), Spending(cost_usd=2), Spending(cost_usd=None, known_usd=4)

    assert one + two == Spending(cost_usd=3)
    assert one + unknown == unknown + one == Spending(cost_usd=None, known_usd=5)


def test_an_unknown_price_stays_unknown() -> None:
    """It is never counted as nothing, and makes the whole unknown."""
    ledger = Ledger({})
    ledger.charge("user", used())
    assert ledger.spent.cost_usd is not None
    ledger.charge("judge", used(model=UNPRICED))

    assert cost_usd(used(model=UNPRICED)) is None
    assert ledger.roles["judge"].cost_usd is ledger.spent.cost_usd is None
    ledger.charge("judge", used())
    assert ledger.roles["judge"].cost_usd is None


def test_a_call_that_told_no_tokens_is_of_unknown_cost() -> None:
    """It is counted, and the rest stays known; where a model is free, nothing is unknown."""
    ledger = Ledger({}, prices=Prices({"free": Price(input=0, output=0)}))
    ledger.charge("user", used())
    ledger.charge("judge", used(0))
    ledger.charge("judge", used(0, "free"))
    known = cost_usd(used()) or 0

    assert (ledger.spent.calls, ledger.spent.cost_usd, ledger.spent.uncounted) == (3, None, 2)
    assert ledger.spent.least_usd == ledger.spent.known_usd == pytest.approx(known)
    assert Ledger({}, prices=ledger.prices).spent.least_usd == 0
    alone = Ledger({}, prices=ledger.prices)
    alone.charge("judge", used(0, "free"))
    assert alone.spent.cost_usd == 0


async def test_a_call_without_a_reply_is_held_against_the_budget() -> None:
    """As one whose reply tells no tokens: it may have cost as much as it could, the next one has no room."""
    body = {"model": PRICED, "messages": [{"role": "user", "content": "x" * 100}]}
    ledger = Ledger({}, budget=0.03)
    async with ledger.room("judge", body):
        ledger.charge("judge", Usage(model=PRICED), sent=body)

    assert (ledger.spent.calls, ledger.spent.cost_usd) == (1, None)
    assert not await has_room(ledger, body)
    answered = Ledger({}, budget=0.03)
    answered.charge("judge", used(10))
    assert await has_room(answered, body)


def test_a_cached_call_costs_nothing() -> None:
    """It is counted, but neither its tokens nor its price are, known or not."""
    ledger = Ledger({})
    ledger.charge("judge", used(model=UNPRICED), cached=True)

    assert ledger.roles["judge"] == Spending(cached=1, cost_usd=0.0)
    assert ledger.spent.cost_usd == 0


BODY = {"model": PRICED, "messages": [{"role": "user", "content": "?" * 1000}]}


async def test_a_call_that_could_exceed_the_budget_is_not_made() -> None:
    """Its worst case counts: every byte it sends a token, and a long reply."""
    sent = len(json.dumps(BODY, separators=(",", ":")))
    most = cost_usd(Usage(model=PRICED, tokens_in=sent, tokens_out=2000)) or 0.0
    before = Ledger({"user": Spending(calls=1, cost_usd=0.5)}, budget=0.5 + most / 2)

    assert await has_room(Ledger({}, budget=most), BODY)
    assert not await has_room(Ledger({}, budget=most - 1e-9), BODY)
    for limit in ("max_tokens", "max_completion_tokens"):
        assert await has_room(Ledger({}, budget=most / 5), BODY | {limit: 10})
    assert await has_room(Ledger({}), BODY)
    assert not await has_room(before, BODY, "user"), "what was spent before an interruption counts"
    told = r"too little is left of the budget of 0\.0100 USD \(0\.00 USD paid, and the next call"
    with pytest.raises(BudgetSpent, match=told):
        async with Ledger({}, budget=0.01).room("judge", BODY):
            pytest.fail("nothing may go out")


async def test_the_budget_counts_bytes_not_characters() -> None:
    """A Japanese character may be three tokens, so three are held for it; escaped it would be six."""
    body = {"model": PRICED, "messages": [{"role": "user", "content": "解" * 10_000}]}
    most = cost_usd(Usage(model=PRICED, tokens_in=30_100, tokens_out=2000)) or 0.0

    assert await has_room(Ledger({}, budget=most), body)
    assert not await has_room(Ledger({}, budget=most * 0.9), body), "less than a token for each byte"


async def test_a_long_reply_makes_room_for_longer_ones() -> None:
    """Twice the longest reply seen is held from then on; embeddings have no reply."""
    ledger = Ledger({}, budget=1.0)
    ledger.charge("judge", Usage(model=PRICED, tokens_out=50_000))
    assert not await has_room(ledger, BODY), "0.40 USD are spent, and 0.80 may follow"
    enough = Ledger({}, budget=1.25)
    enough.charge("judge", Usage(model=PRICED, tokens_out=50_000))
    assert await has_room(enough, BODY)
    assert await has_room(Ledger({}, budget=0.003), {"model": PRICED, "input": ["?" * 1000]}, "embed")


async def test_an_unknown_price_is_no_price_within_a_budget() -> None:
    """Nobody can keep a budget with it: the line says which model, and how to give its price."""
    with pytest.raises(BudgetSpent, match=f"price of {UNPRICED} .judge."):
        async with Ledger({}, budget=5).room("judge", {"model": UNPRICED, "messages": []}):
            pytest.fail("nothing may go out")
    told = Settings(budget=5)
    check_prices(told, [("user", PRICED), ("judge", "lexical")])
    check_prices(Settings(), [("judge", UNPRICED)])
    needed = rf"^--budget needs the price of {UNPRICED} \(judge\).*--prices file"
    with pytest.raises(InputError, match=needed):
        check_prices(told, [("user", PRICED), ("judge", UNPRICED)])


def test_the_provider_before_a_name_says_whose_price_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of embedding models, too; what was looked up is kept for the hour, beside the compiled modules."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept = Path(cache_from_source(pricing.__file__)).with_name("prices.json")
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"{")  # of a process that was killed
    told = {
        "groq:llama-3.3-70b-versatile": [0.59e-6, 0.79e-6, 0.59e-6],
        "llama-3.3-70b-versatile": None,
        "google_genai:gemini-2.0-flash": [0.1e-6, 0.4e-6, 0.025e-6],
        "openai:text-embedding-3-small": [0.02e-6, 0.0, 0.02e-6],
    }
    for name, rates in told.items():
        assert Prices().rates(name) == (rates and pytest.approx(rates))
    table = json.loads(kept.read_bytes())

    assert table["prices"] == {name: rates and pytest.approx(rates) for name, rates in told.items()}
    table["prices"]["kept-by-another-process"] = [1, 2, 1]
    kept.write_text(json.dumps(table), encoding="utf-8")
    assert Prices().rates("kept-by-another-process") == (1, 2, 1)
    table["prices"]["kept-an-hour-ago"] = [1, 2, 1]
    kept.write_text(json.dumps(table | {"of": "an hour ago"}), encoding="utf-8")
    assert Prices().rates("kept-an-hour-ago") is None
    assert json.loads(kept.read_bytes()) == {"of": table["of"], "prices": {"kept-an-hour-ago": None}}


def figures(ledger: Ledger) -> Any:
    """What is left of its budget, and what a call held beyond its cost at most."""
    return ledger.left, ledger.excess


async def test_what_is_left_of_a_budget_and_what_a_call_holds_beyond_its_cost() -> None:
    """Where no tokens are told, the most is gone; half of it in a batch."""
    prices = Prices({"m": Price(input=100, output=1000)})
    body = {"model": "m", "messages": [], "max_tokens": 500}
    most = 0.0001 * len(json.dumps(body, separators=(",", ":"))) + 0.5
    ledger = Ledger({}, budget=2.0, prices=prices)
    assert (*figures(ledger), str(ledger.paid)) == (2.0, 0.0, "0.00 USD paid")
    ledger.charge("judge", Usage(model="m", tokens_in=1000, tokens_out=100), sent=body)
    assert figures(ledger) == (pytest.approx(1.8), pytest.approx(most - 0.2))
    ledger.charge("judge", Usage(model="m", tokens_in=1000, tokens_out=100), share=0.5)
    assert figures(ledger) == (pytest.approx(1.7), pytest.approx(most - 0.2))
    assert str(ledger.paid) == "0.30 USD paid"
    ledger.charge("judge", Usage(model="m"), sent=body, share=0.5)

    assert figures(ledger) == (pytest.approx(1.7 - most / 2), pytest.approx(most - 0.2))
    assert str(ledger.paid) == f"at most {0.3 + most / 2:.2f} USD paid"
    assert (ledger.spent.calls, ledger.spent.uncounted) == (3, 1)
    assert ledger.spent.known_usd == pytest.approx(0.3)
    assert Ledger({}).left is None
    # In a batch a call holds half as much; a text that cannot be sent holds nothing.
    left = ledger.left or 0.0
    assert (await has_room(ledger, body), most < left) == (True, True)
    async with ledger.room("judge", body):
        assert not await has_room(Ledger({}, budget=0.75 * most, prices=prices), body)
    async with Ledger({}, budget=0.75 * most, prices=prices).room("judge", body, 0.5):
        pass
    unsent = body | {"messages": [{"role": "user", "content": "\ud800"}]}
    assert await has_room(Ledger({}, budget=0.0, prices=prices), unsent)
    # Vectors have no tokens of their own.
    texts = {"model": "m", "input": ["a"]}
    size = 0.0001 * len(json.dumps(texts, separators=(",", ":")))
    assert await has_room(Ledger({}, budget=size, prices=prices), texts, "embed")
    assert not await has_room(Ledger({}, budget=size - 1e-9, prices=prices), texts, "embed")


def test_an_amount_is_shown_as_far_as_it_is_known() -> None:
    """Of calls whose price nobody knows the rest is said."""
    amounts = [Spending(cost_usd=0.5), Spending(cost_usd=None, known_usd=0.25), Spending(cost_usd=None)]

    assert [str(money(spent)) for spent in amounts] == ["0.50 USD", "at least 0.25 USD", "cost unknown"]


@pytest.mark.parametrize(("model", "uncounted", "amount"), [
    ("m", 0, "0.20 USD"), ("m", 1, "at least 0.20 USD"), ("x", 0, "cost unknown"), ("x", 1, "cost unknown"),
])  # fmt: skip
def test_what_a_resumed_run_has_spent_is_priced_anew(model: str, uncounted: int, amount: str) -> None:
    """By a price that is known now; nothing is made up for a call that told no tokens, or has no price."""
    spent = Spending(calls=2, tokens_in=1000, tokens_out=100, cost_usd=None, uncounted=uncounted)

    assert str(money(Prices({"m": Price(input=100, output=1000)}).completed(model, spent))) == amount


def test_what_a_number_of_calls_costs() -> None:
    """Tokens are whole ones; a stand-in costs nothing, and an unknown model nobody knows what."""
    prices = Prices({"m": Price(input=1, output=2)})

    spent = prices.spending("m", 3, 1000.6, 100)
    assert spent.cost_usd == pytest.approx(0.001201)
    assert replace(spent, cost_usd=0.0) == Spending(calls=3, tokens_in=1001, tokens_out=100)
    assert prices.spending("", 3, 10, 10).cost_usd == 0
    assert prices.spending(UNPRICED, 3, 10, 10).cost_usd is None


def test_own_prices_go_before_the_table() -> None:
    """In dollars or yen per million tokens; 0 is a price."""
    yen = Price(input=150, output=300, currency="JPY")
    own = {UNPRICED: Price(input=1, output=2), PRICED: yen, "qwen3:8b": Price(input=0)}
    prices = Prices(own)
    used = {name: prices.cost_usd(Usage(model=name, tokens_in=10**6, tokens_out=10**6)) for name in own}

    assert used == {UNPRICED: pytest.approx(3), PRICED: pytest.approx(3), "qwen3:8b": 0.0}
    assert Prices().cost_usd(Usage(model=UNPRICED)) is None


def test_a_price_given_later_counts_what_was_spent_before() -> None:
    """An earlier sitting whose price was unknown is priced when the run goes on."""
    spent = Spending(calls=1, tokens_in=10**6, cost_usd=None)
    earlier = after(spent, UNPRICED)
    settings = Settings(prices={UNPRICED: {"input": 2}})

    assert Ledger.of(Settings(), earlier).spent.cost_usd is None
    assert Ledger.of(settings, earlier).spent.cost_usd == pytest.approx(2)
    silent = replace(spent, calls=2, uncounted=1)
    of_two = earlier.model_copy(update={"usage": {"judge": {UNPRICED: silent}}})
    assert Ledger.of(settings, of_two).spent.cost_usd is None
    assert Ledger.of(settings, of_two).spent.least_usd == pytest.approx(2)


@pytest.mark.parametrize("counted", [
    # OpenAI, Azure, Gemini and Grok at their OpenAI-compatible addresses, LiteLLM.
    {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}},
    # DeepSeek.
    {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_cache_hit_tokens": 400,
     "prompt_cache_miss_tokens": 600},
    # Kimi.
    {"prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 400},
    # Gemini's own word, as gateways pass it on.
    {"prompt_tokens": 1000, "completion_tokens": 100, "cachedContentTokenCount": 400},
    # Anthropic's own counts, which are beside each other; and as a gateway adds them up.
    {"input_tokens": 500, "output_tokens": 100, "cache_read_input_tokens": 400,
     "cache_creation_input_tokens": 100},
    {"prompt_tokens": 1000, "completion_tokens": 100, "cache_read_input_tokens": 400,
     "cache_creation_input_tokens": 100},
    # Both names of one thing.
    {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_cache_hit_tokens": 400,
     "prompt_tokens_details": {"cached_tokens": 400}},
])  # fmt: skip
def test_cached_tokens_are_priced_whatever_a_provider_calls_them(counted: dict[str, Any]) -> None:
    """1,000 tokens in, of them 400 from the cache, and 100 out: 0.00044 dollars and not 0.00056."""
    told = usage_told(counted, "gpt-4.1-mini")

    assert told is not None
    assert (told.tokens_in, told.tokens_cached, told.tokens_out) == (1000, 400, 100)
    assert Prices().cost_usd(told) == pytest.approx(0.00044)


@pytest.mark.parametrize(("counted", "tokens"), [
    ({"prompt_tokens": 9, "completion_tokens": 502}, (9, 502)),
    ({"prompt_tokens": 9, "completion_tokens": 502, "total_tokens": 511}, (9, 502)),
    # Of the reply, as OpenAI tells it.
    ({"prompt_tokens": 9, "completion_tokens": 502, "total_tokens": 511,
      "completion_tokens_details": {"reasoning_tokens": 500}}, (9, 502)),
    # Beside it: in the total alone, in the details alone, in both, or at the top.
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 511}, (9, 502)),
    ({"prompt_tokens": 9, "completion_tokens": 2,
      "completion_tokens_details": {"reasoning_tokens": 500}}, (9, 502)),
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 511,
      "completion_tokens_details": {"reasoning_tokens": 500}}, (9, 502)),
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "reasoning_tokens": 500}, (9, 502)),
    ({"prompt_tokens": 9, "total_tokens": 9}, (9, 0)),
    ({"total_tokens": 9}, (9, 0)),
    ({"prompt_tokens": 9, "completion_tokens": 2, "completion_tokens_details": [5]}, (9, 2)),
    # Some gateways write counts as texts; what is no count counts nothing.
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": "511"}, (9, 502)),
    ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": "many"}, (9, 2)),
])  # fmt: skip
def test_reasoning_is_paid_for_wherever_it_is_told(counted: dict[str, Any], tokens: tuple[int, int]) -> None:
    """Within the tokens of the reply or beside them."""
    told = usage_told(counted, PRICED)

    assert told is not None
    assert (told.tokens_in, told.tokens_out) == tokens
