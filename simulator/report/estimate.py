"""The forecast of a run: what it costs and how sure that is, by role, and how to know better."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from simulator.core.document import Block, Cell, Line, Notes, Report, Section, Table
from simulator.core.settings import JPY_PER_USD, dollars
from simulator.core.templates import Texts
from simulator.core.translations import Words
from simulator.core.types import Spending
from simulator.models.pricing import total_spending
from simulator.runner.bot_sample import QUESTIONS
from simulator.runner.estimate import Forecast, RoleModel, UnknownCost

TEXTS = Texts(Path(__file__).with_name("forecast.toml"))
# A first run of so many questions teaches what the next one takes.
PILOT = 3
_COLUMNS = ("role", "model", "calls", "tokens_in", "tokens_out", "middle", "range")


def forecast_report(forecast: Forecast, jpy_per_usd: float = JPY_PER_USD) -> Report:
    """The cost with its range, the table by role, what is not known yet, and how to find out."""
    return _Builder(forecast, jpy_per_usd).report()


class _Builder:
    """The sentences and the table of a forecast in its language."""

    def __init__(self, forecast: Forecast, jpy_per_usd: float) -> None:
        self.forecast, self.rate, self.language = forecast, jpy_per_usd, forecast.language
        self.say = partial(TEXTS, forecast.language)
        self.gap = "" if forecast.language == "ja" else " "

    def report(self) -> Report:
        """The cost first."""
        forecast, say = self.forecast, self.say
        lead: list[Block] = []
        sections: list[Section] = []
        if forecast.at_most:
            lead = [Line(self.cost(), "strong"), self.table(), *map(Line, self.assumed())]
            if forecast.unknown:
                unknown = (Line(self._unknown(each)) for each in forecast.unknown)
                advice = (Line(text, marker="→") for text in self._advice())
                sections.append(Section("unknown", say("unknown"), (Notes((*unknown, *advice)),)))
        elif forecast.samples:
            lead = [Line(self.samples())]
        end = [Line(self.gap.join([*self.unpaid(), say("nothing")]))]
        if forecast.answers:
            asked = say("bot_rows", n=forecast.answers) if forecast.rows else say("bot", n=forecast.answers)
            end.insert(0, Line(asked))
        title = say("title")
        return Report(title, self.language, tuple(lead), (*sections, Section("end", "", tuple(end))))

    def cost(self) -> str:
        """The cost with its range, in both currencies; or that it is not known."""
        forecast = self.forecast
        total = {"low": _cost(forecast.low), "usd": _cost(forecast.expected), "high": _cost(forecast.high)}
        known = {name: amount for name, amount in total.items() if amount is not None}
        like = forecast.like or ""
        if len(known) < len(total):
            return self.say("cost_unknown") + (self.gap + self.say("like", run=like) if like else "")
        usd = {name: _with_same_digits(amount, known["high"]) for name, amount in known.items()}
        yen = {name.replace("usd", "jpy"): f"{amount * self.rate:,.0f}" for name, amount in known.items()}
        yen = {name if name == "jpy" else f"{name}_jpy": amount for name, amount in yen.items()}
        key, run = ("cost_like", {"run": like}) if like else ("cost", {})
        rate = self.say("rate", rate=f"{self.rate:g}")
        return self.say(key, **usd, **yen, **run) + self.gap + rate

    def table(self) -> Table:
        """The expected calls, tokens and cost of each model, with the range of the cost."""
        forecast = self.forecast
        words = Words(self.language)
        rows = []
        for (role, model), spent in forecast.expected.items():
            ends = (each.get((role, model), Spending(cost_usd=0.0)) for each in (forecast.low, forecast.high))
            rows.append([words.name("role", role), model, *self._figures(spent, *ends)])
        if len(rows) > 1:
            ends = (_sum(each) for each in (forecast.low, forecast.high))
            rows.append([self.say("total"), "", *self._figures(_sum(forecast.expected), *ends)])
        return Table(
            name="forecast",
            title="",
            columns=tuple(map(self.say, _COLUMNS)),
            rows=tuple(tuple(Cell(text=text) for text in row) for row in rows),
            words=frozenset({1}),
        )

    def _figures(self, spent: Spending, low: Spending, high: Spending) -> list[str]:
        counts = [f"{number:,}" for number in (spent.calls, spent.tokens_in, spent.tokens_out)]
        ends = self._usd(low.cost_usd), self._usd(high.cost_usd)
        return [*counts, self._usd(spent.cost_usd), "-".join(dict.fromkeys(ends))]

    def _usd(self, amount: float | None) -> str:
        return self.say("unpriced") if amount is None else dollars(amount)

    def assumed(self) -> Iterator[str]:
        """What the expected figures assume, or which answers they rest on."""
        kinds = {each.what for each in self.forecast.unknown}
        sentences = [self.say("middle_talks")] if "leaving" in kinds else []
        sentences += [self.say("middle_half")] if "passages" in kinds else []
        if not (self.forecast.like or self.forecast.samples):
            sentences.append(self.say("middle_unheard"))
        if sentences:
            yield self.gap.join(sentences)
        if self.forecast.samples:
            yield self.samples()
        if self.forecast.sample_skipped:
            yield self.say("unheard_known", run=self.forecast.like or "")
        most, high = _cost(self.forecast.at_most), _cost(self.forecast.high)
        if most is not None and high is not None and most > high:
            yield self.say("at_most", usd=dollars(most))

    def samples(self) -> str:
        """How long the bot's answers were when it alone was asked."""
        heard = list(self.forecast.samples.values())
        mean = sum(each.answer.usual for each in heard) / len(heard)
        number = sum(each.number for each in heard) / len(heard)
        values = {
            "n": str(sum(each.asked for each in heard)),
            "answer": f"{mean:.0f}",
            "passages": f"{number:.2g}",
            "date": heard[0].on,
        }
        if heard[0].on:
            return self.say("earlier", **values) if number else self.say("earlier_untold", **values)
        return self.say("heard", **values) if number else self.say("heard_untold", **values)

    def _unknown(self, each: UnknownCost) -> str:
        """What is not known yet, with its effect on the cost."""
        if each.what == "lengths":
            return self.say("lengths_heard" if self.forecast.samples else "lengths")
        return self.say(each.what, low=self._usd(each.low), high=self._usd(each.high))

    def _advice(self) -> Iterator[str]:
        """How to find out."""
        if not self.forecast.samples and self.forecast.asks_a_bot:
            yield self.say("ask_bot", n=str(QUESTIONS))
        cost = _cost(self.forecast.expected)
        if self.forecast.cases > 2 * PILOT and cost is not None:
            yield self.say("pilot", usd=dollars(cost * PILOT / self.forecast.cases))
        elif self.forecast.cases > 2 * PILOT:
            yield self.say("pilot_unpriced")

    def unpaid(self) -> Iterator[str]:
        """Why there is nothing to pay."""
        if self.forecast.at_most:
            return
        if not self.forecast.offline:
            yield self.say("unmodelled")
        else:
            yield self.say("offline_rows") if self.forecast.rows else self.say("offline")


def _with_same_digits(amount: float, largest: float) -> str:
    """Dollars with the digits of the largest amount of a line."""
    return f"{amount:.2f}" if largest >= 0.1 else dollars(amount)


def _sum(spending: Mapping[RoleModel, Spending]) -> Spending:
    return total_spending(list(spending.values()))


def _cost(spending: Mapping[RoleModel, Spending]) -> float | None:
    return _sum(spending).cost_usd
