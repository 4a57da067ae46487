"""What the judges that compare texts have in common: their Score, and the line that says what was counted."""

from collections.abc import Callable, Sequence
from pathlib import Path

from simulator.extending import GradingContext, Score, Texts, metrics

TEXTS = Texts(Path(__file__).with_name("_text_metrics.toml"))


def graded(
    judge: str,
    context: GradingContext,
    references: Sequence[str],
    compare: Callable[[str, Sequence[str]], metrics.Measured],
) -> Score:
    """The measure (0..1) of the answer against the nearest reference; skipped without one of this turn."""
    language, turn = context.case.language, str(context.turn.index)
    wanted = [reference for reference in references or context.references if reference.strip()]
    if not wanted:
        return Score(state="skipped", reason=TEXTS(language, "no_reference", turn=turn))
    comparison = compare(context.turn.answer.text, wanted)
    if judge in ("exact_match", "contains"):  # yes or no has a text for each, and these count nothing
        reason = TEXTS(language, f"{judge}_{'yes' if comparison.value else 'no'}", turn=turn)
    else:
        counts = {name: f"{getattr(comparison, name):d}" for name in ("answer", "reference", "chunks")}
        shares = {name: f"{getattr(comparison.parts, name):.2f}" for name in ("precision", "recall")}
        reason = TEXTS(language, judge, turn=turn, matched=str(comparison.parts.matched), **counts, **shares)
    parts = {name: round(getattr(comparison.parts, name), 4) for name in ("precision", "recall", "f")}
    of_measure = {"tokenizer": comparison.tokenizer, "variant": comparison.variant}
    detail = parts | of_measure | {"reference": wanted[comparison.nearest]}
    return Score(state="scored", value=comparison.value, raw=comparison.value, reason=reason, detail=detail)
