"""Cosine similarity: how near the answer's embedding is to that of the reference, not as a grade."""

from simulator.extending import Embed, GradingContext, Score

from ._angle import cosine_of
from ._text_metrics import TEXTS

SCALE = (0, 1)


async def cosine_similarity(context: GradingContext, embed: Embed, references: tuple[str, ...] = ()) -> Score:
    """The cosine of the embeddings of answer and nearest reference, 0 to 1: opposite directions are 0 too.

    a·b / (|a| |b|), for thresholds per output. Needs a reference of the very turn; skipped without one.
    """
    language, wanted = context.case.language, references or context.references
    if not wanted:
        return Score(state="skipped", reason=TEXTS(language, "no_reference", turn=str(context.turn.index)))
    answer, *others = await embed([context.turn.answer.text, *wanted])
    near = max(0.0, *(cosine_of(answer, other) for other in others))
    return Score(state="scored", value=near, raw=near, reason=TEXTS(language, "cosine", value=f"{near:.2f}"))
