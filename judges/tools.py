"""Tools: whether the bot called the tools that the question names, and none that it must not call."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from simulator.extending import GradingContext, Score, Texts, nfkc

SCALE = (0, 1)
# A tool may be called on any turn, so that only the whole says whether one is missing.
GRADES = "conversation"
TEXTS = Texts(Path(__file__).with_name("_tools.toml"))
# "!refund", "not refund"; what must be called is written as it is called, with * for any letters.
_NOT = re.compile(r"(?:[!！]|not[\s:]|禁止[\s:：])\s*", re.IGNORECASE)


def tools(context: GradingContext) -> Score:
    """1 when every tool that the case names was called, and none of those that it forbids; else 0.

    Which turn called it does not matter, and neither do case and width of names. A case that names none is
    skipped, and so is a bot that does not show its tools. No model is asked.
    """
    language, wanted = context.case.language, context.case.tools
    if not wanted:
        return Score(state="skipped", reason=TEXTS(language, "none_named"))
    if all(turn.answer.tools is None for turn in context.turns):
        return Score(state="skipped", reason=TEXTS(language, "not_shown"))
    called = [(call.name, turn.index) for turn in context.turns for call in turn.answer.tools or ()]
    forbidden = [_NOT.sub("", name, count=1) for name in wanted if _NOT.match(name)]
    required = [name for name in wanted if not _NOT.match(name)]
    missing = [name for name in required if not any(_is(name, tool) for tool, _turn in called)]
    wrong = [(tool, turn) for tool, turn in called if any(_is(name, tool) for name in forbidden)]
    parts = []
    if wrong:
        tool, turn = wrong[0]
        parts.append(TEXTS(language, "forbidden", tool=tool, turn=str(turn)))
    if missing:
        parts.append(TEXTS(language, "missing", tools=", ".join(missing)))
    names = ", ".join(dict.fromkeys(tool for tool, _turn in called))
    parts.append(TEXTS(language, "called", tools=names) if names else TEXTS(language, "none_called"))
    right = not (wrong or missing)
    turn = wrong[0][1] if wrong else context.turn.index
    return Score(
        state="scored",
        value=float(right),
        raw=float(right),
        severity=None if right else "major",
        reason=" ".join(parts) if language == "en" else "".join(parts),
        detail={"missing": list(missing), "forbidden": [tool for tool, _turn in wrong], "turn": turn},
    )


def _is(named: str, called: str) -> bool:
    return fnmatchcase(nfkc(called).casefold(), nfkc(named).strip().casefold())
