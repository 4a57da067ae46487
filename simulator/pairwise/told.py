"""A comparison as `--json` tells it: figures rounded to 4 decimals, every pair with its verdict."""

from typing import Any

from simulator.core.roles import LEXICAL
from simulator.core.types import Value
from simulator.pairwise.outcome import Outcome
from simulator.pairwise.sections import Shown


def as_json(shown: Shown) -> dict[str, Any]:
    """Figures first; then every pair that was compared."""
    found = shown.compared
    return {
        "runs": list(found.runs),
        "judge": shown.model,
        "offline": shown.model == LEXICAL,
        "pairs": found.pairs,
        "asked": found.asked,
        "failed": found.failed,
        "duels": [{**_plain(duel), "lead": duel.lead} for duel in found.duels],
        "ratings": [_plain(rating) for rating in found.ratings],
        "position": found.position and _plain(found.position),
        "length": _plain(found.length),
        "outcomes": [_outcome(each) for each in shown.outcomes],
    }


def _outcome(each: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = _plain(each)
    told |= {"disagreed": each.disagreed, "lengths": [len("".join(text.split())) for text in each.answers]}
    return {key: value for key, value in told.items() if key not in ("question", "answers")}


def _plain(value: Value) -> Any:
    return _rounded(value.model_dump(mode="json"))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
