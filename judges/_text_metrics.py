"""What the judges that compare texts have in common: their Score, and the line that says what was counted."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from simulator import GradingContext, Score, Texts, metrics

TEXTS = Texts(Path(__file__).with_name("_text_metrics.toml"))

Compare = Callable[[str, Sequence[str]], metrics.Measured]


def graded(judge: str, context: GradingContext, references: Sequence[str], compare: Compare) -> Score:
    """The measure (0..1) of the answer against the nearest reference; skipped without one of this turn."""
    wanted = [each for each in references or context.references if each.strip()]
    if not wanted:
        return _score(judge, context, state="skipped", reason=_say(context, "no_reference"))
    found = compare(context.turn.answer.text, wanted)
    outcome = _outcome(judge, found)
    reason = _say(context, outcome, **(_counts(found) if outcome == judge else {}))
    return _score(
        judge,
        context,
        state="scored",
        value=found.value,
        raw=found.value,
        reason=reason,
        detail=_detail(found) | {"reference": wanted[found.nearest]},
    )


def _outcome(judge: str, found: metrics.Measured) -> str:
    """Which text says it: yes or no has one for each, and these count nothing."""
    return f"{judge}_{'yes' if found.value else 'no'}" if judge in ("exact_match", "contains") else judge


def _counts(found: metrics.Measured) -> dict[str, str]:
    counts = {name: f"{getattr(found, name):d}" for name in ("answer", "reference", "chunks")}
    shares = {name: f"{getattr(found.parts, name):.2f}" for name in ("precision", "recall")}
    return counts | shares | {"matched": str(found.parts.matched)}


def _detail(found: metrics.Measured) -> dict[str, Any]:
    parts = {name: round(getattr(found.parts, name), 4) for name in ("precision", "recall", "f")}
    return parts | {"tokenizer": found.tokenizer, "variant": found.variant}


def _say(context: GradingContext, key: str, **values: str) -> str:
    return TEXTS(context.case.language, key, **values, turn=str(context.turn.index))


def _score(judge: str, context: GradingContext, **fields: Any) -> Score:
    return Score(
        judge=judge, conversation=context.conversation, turn=context.turn.index, scale=(0, 1), **fields
    )
