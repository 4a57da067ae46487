"""Answer relevancy: how near the questions that the answer would answer are to the one asked."""

from pathlib import Path

from simulator.extending import Embed, Fill, GradingContext, Score, Texts
from simulator.shelves.judges._angle import cosine_of

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_answer_relevancy.toml"))


async def answer_relevancy(context: GradingContext, embed: Embed, fill: Fill | None = None) -> Score:
    """Mean cosine (0..1) of the customer's words and three questions that the answer would answer.

    The answer relevancy of RAGAS (Es et al., 2023): a model writes the questions from the answer alone,
    embeddings compare them; an evasive answer has 0. Negative cosines count as 0. Skipped without a model.
    """
    language = context.case.language
    if fill is None:
        return Score(state="skipped", reason=TEXTS(language, "no_model"))
    filled = await fill(context, "answer_relevancy")
    questions = [question for question in filled.questions if question.strip()]
    if filled.evasive or not questions:
        reason = TEXTS(language, "evasive")
        return Score(state="scored", value=0, raw=0, reason=reason, detail={"evasive": 1})
    asked, *vectors = await embed([context.turn.user, *questions])
    nearness = [max(0.0, cosine_of(asked, vector)) for vector in vectors]
    value = sum(nearness) / len(nearness)
    detail = {"questions": questions, "cosines": [round(cosine, 4) for cosine in nearness], "evasive": 0}
    reason = TEXTS(language, "nearest", value=f"{value:.2f}")
    return Score(state="scored", value=value, raw=value, reason=reason, detail=detail)
