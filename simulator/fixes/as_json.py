"""What to mend as the object that `--json` prints."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.fixes.fix import Example, Fix, Improvements

Anchors = Mapping[tuple[str, int], str]


def as_json(found: Improvements, shown: Sequence[Fix], anchors: Anchors) -> dict[str, Any]:
    """Figures rounded to 4 decimals, like those of the run; `anchors` are the turns' places on its page."""
    return {
        "score": _rounded(found.score),
        "mended": _rounded(found.mended),
        "goal": _rounded(found.goal) if found.foretells else None,
        "fixes": [_fix(fix, found, anchors) for fix in shown],
        "left_out": len(found.fixes) - len(shown),
        "customer": [_fix(fix, found, anchors) for fix in found.customer],
    }


def _fix(fix: Fix, found: Improvements, anchors: Anchors) -> dict[str, Any]:
    told = fix.model_dump(mode="json", exclude={"turns", "examples", "gain"})
    return told | {
        "gain": _rounded(fix.gain) if found.foretells else None,
        "turns": [{"conversation": talk, "turn": turn} for talk, turn in fix.turns],
        "examples": [_example(each, anchors) for each in fix.examples],
    }


def _example(each: Example, anchors: Anchors) -> dict[str, Any]:
    anchor = anchors.get((each.conversation, each.turn))
    return each.model_dump(mode="json") | {"link": f"report.html#{anchor}" if anchor else None}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
