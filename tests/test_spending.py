"""Calls, tokens and money by role, and where the budget ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.spending import BudgetSpent, Ledger, cost_usd
from simulator.types import Role, Spending, Usage

PRICED, UNPRICED = "gpt-4.1", "nobody-knows-this-model"


def used(tokens: int = 1_000_000, model: str = PRICED) -> Usage:
    """A call that read so many tokens."""
    return Usage(model=model, tokens_in=tokens)


def test_a_price_is_that_of_the_table() -> None:
    """Input and output tokens have prices of their own; nothing used costs nothing."""
    reading, writing = cost_usd(used()), cost_usd(Usage(model=PRICED, tokens_out=1_000_000))

    assert reading is not None
    assert writing is not None
    assert writing > reading > 0
    assert cost_usd(Usage(model=PRICED)) == 0
    assert cost_usd(Usage(model=PRICED, tokens_in=10**6, tokens_out=10**6)) == pytest.approx(
        reading + writing
    )


def test_an_unknown_price_stays_unknown() -> None:
    """It is never counted as nothing, and makes the whole unknown."""
    ledger = Ledger({})
    ledger.charge("user", used())
    assert ledger.cost_usd is not None
    ledger.charge("judge", used(model=UNPRICED))

    assert cost_usd(used(model=UNPRICED)) is None
    assert ledger.roles["judge"].cost_usd is ledger.cost_usd is None
    ledger.charge("judge", used())
    assert ledger.roles["judge"].cost_usd is None


def test_roles_are_counted_apart() -> None:
    """Calls, tokens and money of each role, on top of what an interrupted run had spent."""
    ledger = Ledger({"user": Spending(calls=2, tokens_in=5, tokens_out=1, cost_usd=0.5)})
    ledger.charge("user", Usage(model=PRICED, tokens_in=10, tokens_out=3))
    ledger.charge("judge", Usage(model=PRICED, tokens_in=7, tokens_out=2))

    user = ledger.roles["user"]
    assert (user.calls, user.tokens_in, user.tokens_out) == (3, 15, 4)
    assert user.cost_usd == pytest.approx(
        0.5 + (cost_usd(Usage(model=PRICED, tokens_in=10, tokens_out=3)) or 0)
    )
    assert ledger.roles["judge"].calls == 1


def test_a_cached_call_costs_nothing() -> None:
    """It is counted, but neither its tokens nor its price are, known or not."""
    ledger = Ledger({})
    ledger.charge("judge", used(model=UNPRICED), cached=True)

    assert ledger.roles["judge"] == Spending(cached=1, cost_usd=0.0)
    assert ledger.cost_usd == 0


def test_every_charge_is_recorded() -> None:
    """The run file is told of each call as it happens."""
    told: list[tuple[Role, Usage, bool, float | None]] = []
    ledger = Ledger({})
    ledger.record = lambda *call: told.append(call)
    ledger.charge("embed", used(model=UNPRICED))
    ledger.charge("embed", used(), cached=True)

    assert told == [("embed", used(model=UNPRICED), False, None), ("embed", used(), True, 0.0)]


def test_the_budget_ends_when_it_is_reached() -> None:
    """Not before, and also when the money was spent before an interruption."""
    Ledger({}, budget=0.01).check()
    Ledger({}).check()
    with pytest.raises(BudgetSpent, match=r"the budget of 0\.5 USD is spent"):
        Ledger({"user": Spending(calls=1, cost_usd=0.5)}, budget=0.5).check()


def test_the_budget_counts_what_is_known() -> None:
    """An unknown price neither ends a run nor hides what the other roles have spent."""
    ledger = Ledger({"user": Spending(calls=1, cost_usd=None)}, budget=1)
    ledger.check()
    ledger.charge("judge", used(1_000_000))
    with pytest.raises(BudgetSpent):
        ledger.check()


@given(st.lists(st.tuples(st.sampled_from(["user", "judge"]), st.integers(0, 9999), st.booleans())))
def test_nothing_is_lost(calls: list[tuple[Role, int, bool]]) -> None:
    """Every call is counted once, as asked or as cached."""
    ledger = Ledger({})
    for role, tokens, cached in calls:
        ledger.charge(role, used(tokens), cached=cached)
    totals = ledger.roles.values()

    assert sum(role.calls + role.cached for role in totals) == len(calls)
    assert sum(role.tokens_in for role in totals) == sum(tokens for _, tokens, cached in calls if not cached)
