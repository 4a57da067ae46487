"""The names that the articles have for judges, and the judges of ours that they mean."""

from collections.abc import Mapping

# Wherever judges are named: --judges, rehearsal.toml, the files of outputs and their metrics.
# `cosine_similarity` is the cosine itself (0..1), not the grades from 1 to 5 of `cosine`.
ARTICLE_NAMES: Mapping[str, str] = {
    "em": "exact_match",
    "rougeL": "rouge_l",
    "meteor": "meteor",
    "cosine_similarity": "cosine_similarity",
    "gpt_similarity": "llm_similarity",
    "gpt_correctness": "llm_correctness",
}
# Only with --scoring contest, in the order in which its result is printed; there all of them are grades 1..5.
CONTEST_NAMES: Mapping[str, str] = {
    "gpt_relevance": "relevance",
    "gpt_groundedness": "groundedness",
    "gpt_similarity": "similarity",
    "gpt_fluency": "fluency",
    "ada_cosine_similarity": "cosine",
}


def our_name(given: str) -> str:
    """The judge of ours that an article's name means; every other name means itself."""
    return ARTICLE_NAMES.get(given, given)
