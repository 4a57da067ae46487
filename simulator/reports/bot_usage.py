"""What the bot's own models took, for reports: answers, tokens and dollars as its endpoint told them."""

from collections.abc import Mapping
from pathlib import Path

from simulator.core.settings import dollars
from simulator.core.templates import Texts
from simulator.core.translations import plain
from simulator.core.types import Language, Results, Spending
from simulator.models.pricing import together
from simulator.reports.section import Section
from simulator.reports.table import Cell, Table, count
from simulator.stats.summary import bot_usage

TEXT = Texts(Path(__file__).with_suffix(".toml"))
_COLUMNS = ("model", "calls", "tokens_in", "tokens_out", "usd")


def section(results: Results, language: Language) -> Section | None:
    """The bot's own models; None where no answer told what it took."""
    used = bot_usage(results)
    if not used:
        return None
    whole = together(list(used.values()))
    told = {"calls": whole.calls, "tokens_in": whole.tokens_in, "tokens_out": whole.tokens_out}
    line = TEXT(language, "line", usd=_money(whole, language), **{k: f"{n:,}" for k, n in told.items()})
    return Section(
        key="bot",
        title=TEXT(language, "title"),
        line=line,
        tables=(_table(used, language),),
        notes=(TEXT(language, "apart"),),
        figures={
            "calls": whole.calls,
            "tokens": {"in": whole.tokens_in, "out": whole.tokens_out},
            "cost_usd": None if whole.cost_usd is None else round(whole.cost_usd, 6),
        },
    )


def _table(used: Mapping[str, Spending], language: Language) -> Table:
    rows = tuple(
        (
            Cell(text=plain(model) or TEXT(language, "unnamed")),
            *map(count, (spent.calls, spent.tokens_in, spent.tokens_out)),
            Cell(text=_money(spent, language), number=spent.cost_usd),
        )
        for model, spent in used.items()
    )
    return Table(name="bot", title="", columns=tuple(TEXT(language, key) for key in _COLUMNS), rows=rows)


def _money(spent: Spending, language: Language) -> str:
    if spent.cost_usd is None:
        return TEXT(language, "unknown")
    return TEXT(language, "dollars", amount=dollars(spent.cost_usd))
