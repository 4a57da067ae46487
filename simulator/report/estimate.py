"""The forecast of a run: what it costs and how sure that is, by role, and how to know better."""

from collections.abc import Iterator, Mapping

from simulator.core.document import Block, Line, Notes, Report, Section, Table, Text
from simulator.core.messages import Message, _, ngettext, sentences
from simulator.core.settings import JPY_PER_USD, dollars
from simulator.core.titles import title
from simulator.core.types import Spending
from simulator.models.pricing import total_spending
from simulator.runner.bot_sample import QUESTIONS
from simulator.runner.estimate import Forecast, RoleModel, UnknownCost

# A first run of so many questions teaches what the next one takes.
PILOT = 3


def forecast_report(forecast: Forecast, jpy_per_usd: float = JPY_PER_USD) -> Report:
    """The cost with its range, the table by role, what is not known yet, and how to find out."""
    lead: list[Block] = []
    sections: list[Section] = []
    if forecast.at_most:
        cost = Line(_cost_text(forecast, jpy_per_usd), "strong")
        lead = [cost, _table(forecast), *map(Line, _assumptions(forecast))]
        if forecast.unknown:
            unknown = (Line(_unknown(each, forecast)) for each in forecast.unknown)
            advice = (Line(text, marker="→") for text in _advice(forecast))
            sections.append(Section("unknown", _("Not known yet"), (Notes((*unknown, *advice)),)))
    elif forecast.samples:
        lead = [Line(_samples(forecast))]
    end = Line(sentences(_why_free(forecast), _("Nothing was started.")))
    sections.append(Section("end", "", (*map(Line, _answers(forecast)), end)))
    return Report(_("Forecast"), forecast.language, tuple(lead), tuple(sections))


def _cost_text(forecast: Forecast, rate: float) -> Message:
    """The cost with its range, in both currencies; or that it is not known."""
    low, usual, high = map(_cost, (forecast.low, forecast.expected, forecast.high))
    if low is None or usual is None or high is None:
        return sentences(
            _("Cost: price unknown, for nobody knows that of a model (rehearsal.toml or --prices can tell)."),
            _("Going by run {run}.", run=forecast.like) if forecast.like else None,
        )
    figures = {"usd": usual, "low": low, "high": high, "jpy": usual, "low_jpy": low, "high_jpy": high}
    texts = {
        name: f"{amount * rate:,.0f}" if name.endswith("jpy") else _with_same_digits(amount, high)
        for name, amount in figures.items()
    }
    cost = _(
        "Cost: {low} to {high} USD ({low_jpy} to {high_jpy} JPY); as in the table about {usd} USD"
        " ({jpy} JPY)."
    )
    if forecast.like:
        cost = _(
            "Cost: about {usd} USD ({jpy} JPY), probably {low} to {high} USD ({low_jpy} to {high_jpy} JPY),"
            " going by run {run}."
        )
    rates = _("Yen at {rate} JPY per USD (--jpy-per-usd).", rate=f"{rate:g}")
    return sentences(cost.format(**texts, run=forecast.like), rates)


def _table(forecast: Forecast) -> Table:
    """The expected calls, tokens and cost of each model, with the range of the cost."""
    rows = []
    for (role, model), spent in forecast.expected.items():
        ends = (each.get((role, model), Spending(cost_usd=0.0)) for each in (forecast.low, forecast.high))
        rows.append((title("role", role), model, *_figures(spent, *ends)))
    if len(rows) > 1:
        total, low, high = map(_sum, (forecast.expected, forecast.low, forecast.high))
        rows.append((_("total"), "", *_figures(total, low, high)))
    columns = (
        _("role"), _("model"), _("calls"), _("tokens in"), _("tokens out"), _("USD"), _("USD from-to"),
    )  # fmt: skip
    return Table.of("forecast", columns, rows, words=frozenset({1}))


def _figures(spent: Spending, low: Spending, high: Spending) -> tuple[Text | int, ...]:
    ends = _usd(None)
    if low.cost_usd is not None and high.cost_usd is not None:
        ends = "-".join(dict.fromkeys(map(dollars, (low.cost_usd, high.cost_usd))))
    return spent.calls, spent.tokens_in, spent.tokens_out, _usd(spent.cost_usd), ends


def _usd(amount: float | None) -> Text:
    return _("unknown") if amount is None else dollars(amount)


def _assumptions(forecast: Forecast) -> Iterator[Message]:
    """What the expected figures assume, or which answers they rest on."""
    kinds = {each.what for each in forecast.unknown}
    assumed = []
    if "leaving" in kinds:
        assumed.append(_("The table takes every customer to stay to the last turn."))
    if "passages" in kinds:
        assumed.append(_("It is half-way between a bot that shows passages and one that shows none."))
    if not (forecast.like or forecast.samples):
        assumed.append(_("Answers are taken to be as long as the references."))
    if assumed:
        yield sentences(*assumed)
    if forecast.samples:
        yield _samples(forecast)
    if forecast.sample_skipped:
        yield _("The bot was not asked: run {run} tells.", run=forecast.like or "")
    most, high = _cost(forecast.at_most), _cost(forecast.high)
    if most is not None and high is not None and most > high:
        yield _("At most {usd} USD, if everything turns out long.", usd=dollars(most))


def _samples(forecast: Forecast) -> Message:
    """How long the bot's answers were when it alone was asked."""
    samples = list(forecast.samples.values())
    tokens = f"{sum(each.answer.usual for each in samples) / len(samples):.0f}"
    number = sum(each.number for each in samples) / len(samples)
    n, date = sum(each.asked for each in samples), samples[0].on
    if date:
        asked = _(
            "The bot as on {date}, when it was asked {n} questions (--ask-bot asks anew)", date=date, n=n
        )
    else:
        asked = _("The bot alone was asked {n} questions (only its own costs)", n=n)
    text = _("{asked}: on average {answer} tokens an answer, and it showed no passages.")
    if number:
        text = _("{asked}: on average {answer} tokens an answer, passages: {passages}.")
    return text.format(asked=asked, answer=tokens, passages=f"{number:.2g}")


def _unknown(each: UnknownCost, forecast: Forecast) -> Message:
    """What is not known yet, with its effect on the cost."""
    text = _("how long answers, and the reasons of grades, are")
    if each.what == "passages":
        text = _("whether the bot shows its passages: {low} USD if not, {high} USD if it does")
    elif each.what == "leaving":
        text = _(
            "when customers leave: {low} USD if all do after the first answer, {high} USD if all stay to the"
            " end"
        )
    elif forecast.samples:
        text = _("how long the reasons of grades are")
    return text.format(low=_usd(each.low), high=_usd(each.high))


def _advice(forecast: Forecast) -> Iterator[Message]:
    """How to find out."""
    if not forecast.samples and forecast.asks_a_bot:
        yield _(
            "To know better, --ask-bot asks the bot alone the first {n} questions of each language (only its"
            " own costs).",
            n=QUESTIONS,
        )
    cost = _cost(forecast.expected)
    if forecast.cases > 2 * PILOT and cost is None:
        yield _("To know best, run it with --limit 3 first: forecasts then go by that run.")
    elif forecast.cases > 2 * PILOT and cost is not None:
        yield _(
            "To know best, run it with --limit 3 first (about {usd} USD): forecasts then go by that run.",
            usd=dollars(cost * PILOT / forecast.cases),
        )


def _answers(forecast: Forecast) -> list[Message]:
    """How often the bot is asked."""
    text = ngettext(
        "The bot is asked for at most {n} answer; what its own model takes is no part of this forecast.",
        "The bot is asked for at most {n} answers; what its own model takes is no part of this forecast.",
        n=1,
    )
    if forecast.rows:
        text = ngettext(
            "The bot is asked for {n} answer; what its own model takes is no part of this forecast.",
            "The bot is asked for {n} answers; what its own model takes is no part of this forecast.",
            n=1,
        )
    return [text.format(n=forecast.answers)] if forecast.answers else []


def _why_free(forecast: Forecast) -> Message | None:
    """Why there is nothing to pay; None where there is."""
    if forecast.at_most:
        return None
    if not forecast.offline:
        return _("No model takes part beside the bot.")
    if forecast.rows:
        return _("No model configured: lexical stand-ins play the judges (no language model, no cost).")
    return _("No model configured: lexical stand-ins play customer and judges (no language model, no cost).")


def _with_same_digits(amount: float, largest: float) -> str:
    """Dollars with the digits of the largest amount of a line."""
    return f"{amount:.2f}" if largest >= 0.1 else dollars(amount)


def _sum(spending: Mapping[RoleModel, Spending]) -> Spending:
    return total_spending(list(spending.values()))


def _cost(spending: Mapping[RoleModel, Spending]) -> float | None:
    return _sum(spending).cost_usd
