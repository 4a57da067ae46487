"""The public names: calls that run a rehearsal, and types for your bots, judges and adapters.

    from simulator import rehearse             has customers talk with a bot, as the command does
    from simulator import Answer, Score        what a bot and a judge may return

`dir(simulator)` lists them; other modules may change. Importing them loads no engine, the first call does
(simulator/api/). Further helpers for judges and adapters are in simulator/extending.py.
"""

from simulator.api import (
    RunResults,
    acompare,
    adiff,
    aevaluate,
    agrade,
    alearn,
    arehearse,
    areview,
    compare,
    diff,
    evaluate,
    grade,
    learn,
    open_run,
    rehearse,
    review,
)
from simulator.core.answers import passages_of
from simulator.core.errors import BotFailure, InputError, RehearsalError, Transient
from simulator.core.run_options import RehearsalOptions, RowOptions
from simulator.core.types import (
    Answer,
    Bot,
    Case,
    ChatMessage,
    GradingContext,
    Passage,
    Query,
    Score,
    ToolCall,
    Traits,
    Turn,
    Usage,
)
from simulator.core.version import __version__

__all__ = [
    "Answer",
    "Bot",
    "BotFailure",
    "Case",
    "ChatMessage",
    "GradingContext",
    "InputError",
    "Passage",
    "Query",
    "RehearsalError",
    "RehearsalOptions",
    "RowOptions",
    "RunResults",
    "Score",
    "ToolCall",
    "Traits",
    "Transient",
    "Turn",
    "Usage",
    "__version__",
    "acompare",
    "adiff",
    "aevaluate",
    "agrade",
    "alearn",
    "arehearse",
    "areview",
    "compare",
    "diff",
    "evaluate",
    "grade",
    "learn",
    "open_run",
    "passages_of",
    "rehearse",
    "review",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
