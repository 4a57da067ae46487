"""The forecast of a run in words: what it costs and how sure that is, by role, and how to know better."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.cells import cell_len

from simulator.core.settings import JPY_PER_USD, dollars
from simulator.core.templates import Texts
from simulator.core.translations import Words, safe_text
from simulator.core.types import Spending
from simulator.models.pricing import total_spending
from simulator.runner.bot_sample import QUESTIONS
from simulator.runner.estimate import Forecast, RoleModel, UnknownCost

TEXTS = Texts(Path(__file__).with_name("forecast.toml"))
# A first run of so many questions teaches what the next one takes.
PILOT = 3
_COLUMNS = ("role", "model", "calls", "tokens_in", "tokens_out", "middle", "range")


def forecast_lines(forecast: Forecast, jpy_per_usd: float = JPY_PER_USD) -> Iterator[str]:
    """The cost with its range, the table by role, what is not known yet, and how to find out."""
    text = _ForecastText(forecast, jpy_per_usd)
    if forecast.at_most:
        yield text.cost()
        yield ""
        yield from text.table()
        yield ""
        yield from text.assumed()
        yield from text.unknown()
    elif forecast.samples:
        yield text.samples()
    if forecast.answers:
        yield text("bot_rows" if forecast.rows else "bot", n=f"{forecast.answers:,}")
    yield text.gap.join([*text.unpaid(), text("nothing")])


class _ForecastText:
    """The sentences and the table of a forecast in its language."""

    def __init__(self, forecast: Forecast, jpy_per_usd: float) -> None:
        self.forecast, self.rate, self.language = forecast, jpy_per_usd, forecast.language
        self.gap = "" if forecast.language == "ja" else " "

    def __call__(self, key: str, /, **values: str) -> str:
        return TEXTS(self.language, key, **values)

    def cost(self) -> str:
        """The cost with its range, in both currencies; or that it is not known."""
        forecast = self.forecast
        total = {"low": _cost(forecast.low), "usd": _cost(forecast.expected), "high": _cost(forecast.high)}
        known = {name: amount for name, amount in total.items() if amount is not None}
        like = safe_text(forecast.like or "")
        if len(known) < len(total):
            return self("cost_unknown") + (self.gap + self("like", run=like) if like else "")
        usd = {name: _with_same_digits(amount, known["high"]) for name, amount in known.items()}
        yen = {name.replace("usd", "jpy"): f"{amount * self.rate:,.0f}" for name, amount in known.items()}
        yen = {name if name == "jpy" else f"{name}_jpy": amount for name, amount in yen.items()}
        key, run = ("cost_like", {"run": like}) if like else ("cost", {})
        rate = self("rate", rate=f"{self.rate:g}")
        return self(key, **usd, **yen, **run) + self.gap + rate

    def table(self) -> Iterator[str]:
        """The expected calls, tokens and cost of each model, with the range of the cost."""
        forecast = self.forecast
        words = Words(self.language)
        rows = [[self(key) for key in _COLUMNS]]
        for (role, model), spent in forecast.expected.items():
            ends = (each.get((role, model), Spending(cost_usd=0.0)) for each in (forecast.low, forecast.high))
            rows.append([words.name("role", role), safe_text(model), *self._figures(spent, *ends)])
        if len(rows) > 2:
            ends = (_sum(each) for each in (forecast.low, forecast.high))
            rows.append([self("total"), "", *self._figures(_sum(forecast.expected), *ends)])
        return _aligned(rows)

    def _figures(self, spent: Spending, low: Spending, high: Spending) -> list[str]:
        counts = [f"{number:,}" for number in (spent.calls, spent.tokens_in, spent.tokens_out)]
        ends = self._usd(low.cost_usd), self._usd(high.cost_usd)
        return [*counts, self._usd(spent.cost_usd), "-".join(dict.fromkeys(ends))]

    def _usd(self, amount: float | None) -> str:
        return self("unpriced") if amount is None else dollars(amount)

    def assumed(self) -> Iterator[str]:
        """What the expected figures assume, or which answers they rest on."""
        kinds = {each.what for each in self.forecast.unknown}
        sentences = [self("middle_talks")] if "leaving" in kinds else []
        sentences += [self("middle_half")] if "passages" in kinds else []
        if not (self.forecast.like or self.forecast.samples):
            sentences.append(self("middle_unheard"))
        if sentences:
            yield self.gap.join(sentences)
        if self.forecast.samples:
            yield self.samples()
        if self.forecast.sample_skipped:
            yield self("unheard_known", run=safe_text(self.forecast.like or ""))
        most, high = _cost(self.forecast.at_most), _cost(self.forecast.high)
        if most is not None and high is not None and most > high:
            yield self("at_most", usd=dollars(most))

    def samples(self) -> str:
        """How long the bot's answers were when it alone was asked."""
        heard = list(self.forecast.samples.values())
        mean = sum(each.answer.usual for each in heard) / len(heard)
        number = sum(each.number for each in heard) / len(heard)
        passages = {"passages": f"{number:.2g}"} if number else {}
        asked = sum(each.asked for each in heard)
        days = {"date": heard[0].on} if heard[0].on else {}
        key = ("earlier" if days else "heard") + ("" if passages else "_untold")
        return self(key, n=str(asked), answer=f"{mean:.0f}", **passages, **days)

    def unknown(self) -> Iterator[str]:
        """What is not known yet, with its effect on the cost, and how to find out."""
        if not self.forecast.unknown:
            return
        yield ""
        yield self("unknown")
        for each in self.forecast.unknown:
            yield self._line(each)
        yield from self._advice()

    def _line(self, each: UnknownCost) -> str:
        if each.what == "lengths":
            return self("lengths_heard" if self.forecast.samples else "lengths")
        return self(each.what, low=self._usd(each.low), high=self._usd(each.high))

    def _advice(self) -> Iterator[str]:
        if not self.forecast.samples and self.forecast.asks_a_bot:
            yield self("ask_bot", n=str(QUESTIONS))
        cost = _cost(self.forecast.expected)
        if self.forecast.cases > 2 * PILOT and cost is not None:
            yield self("pilot", usd=dollars(cost * PILOT / self.forecast.cases))
        elif self.forecast.cases > 2 * PILOT:
            yield self("pilot_unpriced")

    def unpaid(self) -> Iterator[str]:
        """Why there is nothing to pay."""
        if not self.forecast.at_most:
            rows = "_rows" if self.forecast.rows else ""
            yield self(f"offline{rows}" if self.forecast.offline else "unmodelled")


def _with_same_digits(amount: float, largest: float) -> str:
    """Dollars with the digits of the largest amount of a line."""
    return f"{amount:.2f}" if largest >= 0.1 else dollars(amount)


def _sum(spending: Mapping[RoleModel, Spending]) -> Spending:
    return total_spending(list(spending.values()))


def _cost(spending: Mapping[RoleModel, Spending]) -> float | None:
    return _sum(spending).cost_usd


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Names to the left, figures to the right."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        pads = [" " * (width - cell_len(cell)) for width, cell in zip(widths, row, strict=True)]
        cells = [c + pad if at < 2 else pad + c for at, (c, pad) in enumerate(zip(row, pads, strict=True))]
        yield "  ".join(cells).rstrip()
