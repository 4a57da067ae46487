"""Cosine: how near the answer's embedding is to that of the reference."""

from simulator.extending import Embed, GradingContext, Score

from ._angle import cosine_of
from ._text_metrics import TEXTS

# From which cosine on the grades 2, 3, 4 and 5 are given.
LIMITS = (0.2, 0.4, 0.6, 0.8)


async def cosine(context: GradingContext, embed: Embed, references: tuple[str, ...] = ()) -> Score:
    """The cosine (-1..1) of the embeddings of answer and nearest reference, as a grade from 1 to 5.

    a·b / (|a| |b|), binned at 0.2, 0.4, 0.6 and 0.8 (0.8 and above is 5): the embedding distance score of the
    LangChain demo that this program grew from. Needs a reference of the very turn; skipped without one.
    """
    language, wanted = context.case.language, references or context.references
    if not wanted:
        return Score(state="skipped", reason=TEXTS(language, "no_reference", turn=str(context.turn.index)))
    answer, *others = await embed([context.turn.answer.text, *wanted])
    nearest = max(cosine_of(answer, other) for other in others)
    grade = 1 + sum(nearest >= limit for limit in LIMITS)
    reason, detail = TEXTS(language, "cosine", value=f"{nearest:.2f}"), {"cosine": round(nearest, 4)}
    return Score(state="scored", value=grade / 5, raw=grade, reason=reason, detail=detail)
