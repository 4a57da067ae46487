"""The forecast of a run: what it costs, by role.

Figures are those of `runner/estimate.py`. The range is wide, for what a run costs depends on how long
customers stay and how much a bot says. Nothing has been started when this is shown.
"""

from simulator.core.document import Block, Line, Report, Section, Table, Text
from simulator.core.messages import Message, _, sentences
from simulator.core.settings import JPY_PER_USD, dollars
from simulator.core.titles import title
from simulator.core.types import Spending
from simulator.models.pricing import total_spending
from simulator.runner.estimate import Forecast


def forecast_report(forecast: Forecast) -> Report:
    """The cost with its range, the table by role, and what the range means."""
    # Without a model nothing is paid, and there is no table to show.
    lead: list[Block] = []
    if forecast.high:
        lead = [Line(_cost_text(forecast), "strong"), _table(forecast)]
        lead.append(Line(_assumptions(forecast)))
    end = Line(sentences(_why_free(forecast), _("Nothing was started.")))
    answers = _(
        "Questions to the bot: {n} at most; this forecast does not include the bot's own model.",
        n=forecast.answers,
    )
    sections = (Section("end", "", (Line(answers), end) if forecast.answers else (end,)),)
    return Report(_("Forecast"), forecast.language, tuple(lead), sections)


def _cost_text(forecast: Forecast) -> Message:
    """The cost with its range, in both currencies; or that it is not known."""
    low, high = (total_spending([*end.values()]).cost_usd for end in (forecast.low, forecast.most))
    if low is None or high is None:
        return _("Cost: unknown, a model has no known price (set it in rehearsal.toml or with --prices).")
    # Dollars have the digits of the largest amount of the line.
    usd = {
        name: f"{amount:.2f}" if high >= 0.1 else dollars(amount)
        for name, amount in (("low", low), ("high", high))
    }
    jpy = {name: f"{amount * JPY_PER_USD:,.0f}" for name, amount in (("low_jpy", low), ("high_jpy", high))}
    cost = _("Cost: {low} to {high} USD ({low_jpy} to {high_jpy} JPY).")
    rates = _("Yen at {rate} JPY per USD.", rate=f"{JPY_PER_USD:g}")
    return sentences(cost.format(**usd, **jpy), rates)


def _table(forecast: Forecast) -> Table:
    """Calls, tokens and cost of each model."""
    ends = (forecast.low, forecast.most)
    rows: list[tuple[Text, ...]] = []
    for role, model in ends[-1]:
        spent = [end.get((role, model), Spending(cost_usd=0.0)) for end in ends]
        rows.append((title("role", role), model, *_figures(spent)))
    if len(rows) > 1:
        rows.append((_("total"), "", *_figures([total_spending(list(end.values())) for end in ends])))
    columns = _("role"), _("model"), _("calls"), _("tokens in"), _("tokens out"), _("USD")
    return Table.of("forecast", columns, rows, words=frozenset({1}))


def _figures(ends: list[Spending]) -> tuple[Text, ...]:
    """Calls, tokens in and out, and dollars; `12-36` where the ends differ, "unknown" without a price."""
    counts = ([f"{getattr(end, key):,}" for end in ends] for key in ("calls", "tokens_in", "tokens_out"))
    costs = [dollars(end.cost_usd) for end in ends if end.cost_usd is not None]
    figures = ["-".join(dict.fromkeys(figure)) for figure in (*counts, costs)]
    return tuple(figures) if len(costs) == len(ends) else (*figures[:-1], _("unknown"))


def _assumptions(forecast: Forecast) -> Message:
    """What the figures rest on."""
    ends = _(
        "At least, if every customer leaves after the first answer and texts are short; at "
        "most, if all stay to the last answer and texts are long."
    )
    if forecast.rows:
        ends = _("At least, if answers and grades are short; at most, if they are long.")
    causes = _(
        "The maximum includes the calls about answers to review, as if all needed review and "
        "all were different: what caused each, and which share a fault (--causes ids: no "
        "such calls)."
    )
    return sentences(ends, causes if forecast.causes else "")


def _why_free(forecast: Forecast) -> Message | None:
    """Why there is nothing to pay; None where there is."""
    if forecast.high:
        return None
    played = _("No model configured: simple versions play customer and judges (no AI, no cost).")
    if forecast.rows:
        played = _("No model configured: simple scoring (no AI, no cost).")
    return played if forecast.offline else _("Apart from the bot, no model is used.")
