"""The forecast of a run in words: what it costs and how sure that is, by role, and how to know better."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.cells import cell_len

from simulator.core.settings import JPY_PER_USD, dollars
from simulator.core.templates import Texts
from simulator.core.translations import Words, plain
from simulator.core.types import Spending
from simulator.models.pricing import together
from simulator.runner.estimate import Forecast, UnknownCost, Who
from simulator.runner.heard import QUESTIONS

TEXT = Texts(Path(__file__).with_name("forecast.toml"))
# A first run of so many questions teaches what the next one takes.
PILOT = 3
_COLUMNS = ("role", "model", "calls", "tokens_in", "tokens_out", "middle", "range")


def forecast_lines(found: Forecast, jpy_per_usd: float = JPY_PER_USD) -> Iterator[str]:
    """One line of money with its range, the table by role, what is not known yet, and what would tell."""
    telling = _EstimateText(found, jpy_per_usd)
    if found.at_most:
        yield telling.cost()
        yield ""
        yield from telling.table()
        yield ""
        yield from telling.assumed()
        yield from telling.unknown()
    elif found.heard:
        yield telling.heard()
    if found.answers:
        yield telling("bot_rows" if found.rows else "bot", n=f"{found.answers:,}")
    yield telling.gap.join([*telling.unpaid(), telling("nothing")])


class _EstimateText:
    def __init__(self, found: Forecast, jpy_per_usd: float) -> None:
        self.found, self.rate, self.language = found, jpy_per_usd, found.language
        self.gap = "" if found.language == "ja" else " "

    def __call__(self, key: str, /, **values: str) -> str:
        return TEXT(self.language, key, **values)

    def cost(self) -> str:
        """What it costs, from what to what, in both currencies."""
        found = self.found
        whole = {"low": _cost(found.low), "usd": _cost(found.expected), "high": _cost(found.high)}
        known = {name: amount for name, amount in whole.items() if amount is not None}
        like = plain(found.like or "")
        if len(known) < len(whole):
            return self("cost_unknown") + (self.gap + self("like", run=like) if like else "")
        told = {name: _alike(amount, known["high"]) for name, amount in known.items()}
        yen = {name.replace("usd", "jpy"): f"{amount * self.rate:,.0f}" for name, amount in known.items()}
        yen = {name if name == "jpy" else f"{name}_jpy": amount for name, amount in yen.items()}
        key, run = ("cost_like", {"run": like}) if like else ("cost", {})
        rate = self("rate", rate=f"{self.rate:g}")
        return self(key, **told, **yen, **run) + self.gap + rate

    def table(self) -> Iterator[str]:
        """What is expected of each model, and from what to what its cost may be."""
        found = self.found
        words = Words(self.language)
        rows = [[self(key) for key in _COLUMNS]]
        for (role, model), spent in found.expected.items():
            ends = (each.get((role, model), Spending(cost_usd=0.0)) for each in (found.low, found.high))
            rows.append([words.name("role", role), plain(model), *self._figures(spent, *ends)])
        if len(rows) > 2:
            ends = (_sum(each) for each in (found.low, found.high))
            rows.append([self("total"), "", *self._figures(_sum(found.expected), *ends)])
        return _aligned(rows)

    def _figures(self, spent: Spending, low: Spending, high: Spending) -> list[str]:
        counts = [f"{number:,}" for number in (spent.calls, spent.tokens_in, spent.tokens_out)]
        ends = self._usd(low.cost_usd), self._usd(high.cost_usd)
        shown = "-".join(dict.fromkeys(ends))
        return [*counts, self._usd(spent.cost_usd), shown]

    def _usd(self, amount: float | None) -> str:
        return self("unpriced") if amount is None else dollars(amount)

    def assumed(self) -> Iterator[str]:
        """What the figures in the middle take for granted, or what they were learnt from."""
        kinds = {each.what for each in self.found.unknown}
        said = [self("middle_talks")] if "leaving" in kinds else []
        said += [self("middle_half")] if "passages" in kinds else []
        if not (self.found.like or self.found.heard):
            said.append(self("middle_unheard"))
        if said:
            yield self.gap.join(said)
        if self.found.heard:
            yield self.heard()
        if self.found.unheard:
            yield self("unheard_known", run=plain(self.found.like or ""))
        most, high = _cost(self.found.at_most), _cost(self.found.high)
        if most is not None and high is not None and most > high:
            yield self("at_most", usd=dollars(most))

    def heard(self) -> str:
        """What the bot answered when it alone was asked."""
        heard = list(self.found.heard.values())
        mean = sum(each.answer.usual for each in heard) / len(heard)
        number = sum(each.number for each in heard) / len(heard)
        shown = {"passages": f"{number:.2g}"} if number else {}
        asked = sum(each.asked for each in heard)
        days = {"date": heard[0].on} if heard[0].on else {}
        key = ("earlier" if days else "heard") + ("" if shown else "_untold")
        return self(key, n=str(asked), answer=f"{mean:.0f}", **shown, **days)

    def unknown(self) -> Iterator[str]:
        """What nobody knows yet, with what it comes to, and how to find out."""
        if not self.found.unknown:
            return
        yield ""
        yield self("unknown")
        for each in self.found.unknown:
            yield self._line(each)
        yield from self._advice()

    def _line(self, each: UnknownCost) -> str:
        if each.what == "lengths":
            return self("lengths_heard" if self.found.heard else "lengths")
        return self(each.what, low=self._usd(each.low), high=self._usd(each.high))

    def _advice(self) -> Iterator[str]:
        if not self.found.heard and self.found.asks_a_bot:
            yield self("ask_bot", n=str(QUESTIONS))
        cost = _cost(self.found.expected)
        if self.found.cases > 2 * PILOT and cost is not None:
            yield self("pilot", usd=dollars(cost * PILOT / self.found.cases))
        elif self.found.cases > 2 * PILOT:
            yield self("pilot_unpriced")

    def unpaid(self) -> Iterator[str]:
        """Why there is nothing to pay."""
        if not self.found.at_most:
            rows = "_rows" if self.found.rows else ""
            yield self(f"offline{rows}" if self.found.offline else "unmodelled")


def _alike(amount: float, largest: float) -> str:
    """Dollars with the digits of the largest amount of a line."""
    return f"{amount:.2f}" if largest >= 0.1 else dollars(amount)


def _sum(found: Mapping[Who, Spending]) -> Spending:
    return together(list(found.values()))


def _cost(found: Mapping[Who, Spending]) -> float | None:
    return _sum(found).cost_usd


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Names to the left, figures to the right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        pads = [" " * (width - cell_len(cell)) for width, cell in zip(widths, row, strict=True)]
        cells = [c + pad if at < 2 else pad + c for at, (c, pad) in enumerate(zip(row, pads, strict=True))]
        yield "  ".join(cells).rstrip()
