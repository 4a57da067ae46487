"""The text metrics give the values that other implementations published, row by row."""

import unicodedata
from collections.abc import Iterator, Sequence

import pytest
from simulator.shelves.judges.meteor import compared, synonyms

from simulator.text.metrics import Overlap, exact_match, f_measure, lcs_overlap, ngram_overlap
from tests.metric_references import Row, ascii_words, committed

# What a computed row was rounded to.
ROUNDED = 1e-6

Check = tuple[str, float, float, float]


def wrong(checks: Iterator[Check]) -> list[Check]:
    """The checks whose value is not the expected one, within its tolerance."""
    return [check for check in checks if check[1] != pytest.approx(check[2], abs=check[3])]


def rouge(metric: str, answer: str, reference: str) -> Overlap:
    """ROUGE as the row calls it: rouge1, rouge2, rougeL."""
    pair = ascii_words(answer), ascii_words(reference)
    return lcs_overlap(*pair) if metric.startswith("rougeL") else ngram_overlap(*pair, int(metric[5]))


def coco_rouge(answers: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """COCO's ROUGE-L: of the best precision and the best recall over the references, beta 1.2; the mean."""
    values = []
    for answer, several in zip(answers, references, strict=True):
        found = [lcs_overlap(answer.lower().split(), each.lower().split(), beta=1.2) for each in several]
        values.append(f_measure(max(o.precision for o in found), max(o.recall for o in found), 1.2))
    return sum(values) / len(values)


def characters(text: str) -> list[str]:
    return list("".join(unicodedata.normalize("NFKC", text).lower().split()))


def published(rows: list[Row]) -> Iterator[Check]:
    for row in rows:
        answer, references, expected = row["candidate"], row["references"], row["expected"]
        if row["id"].startswith("nlg-eval/"):
            several = [answer] if isinstance(answer, str) else answer
            nested = [references] if isinstance(answer, str) else references
            value = coco_rouge(several, nested)
            yield row["id"], value, expected["ROUGE_L_beta1_2"], row["tolerance"]
        elif row["metric"] == "METEOR":
            value = compared(answer, references, lambda text: text.lower().split()).value
            yield row["id"], value, expected["METEOR"], row["tolerance"]
        elif "stem" not in row["metric"]:
            found = rouge(row["metric"], answer, references[0])
            for part, value in expected.items():
                yield f"{row['id']} {part}", getattr(found, part), value, row["tolerance"]


def english(rows: list[Row]) -> Iterator[Check]:
    for row in rows:
        answer, reference, expected = row["candidate"], row["references"][0], row["expected"]
        for metric in (name for name in expected if name in ("rouge1", "rouge2", "rougeL")):
            for value, right in zip(rouge(metric, answer, reference), expected[metric], strict=False):
                yield f"{row['id']} {metric}", value, right, ROUNDED
        value = compared(answer, [reference], ascii_words).value
        known = "meteor_nltk_wordnet30" if "wordnet" in synonyms()[0] else "meteor_nltk_exact_stem"
        yield f"{row['id']} METEOR", value, expected[known], ROUNDED


def japanese(rows: list[Row]) -> Iterator[Check]:
    for row in rows:
        answer, reference, expected = row["candidate"], row["references"][0], row["expected"]
        cut = {"char": (characters(answer), characters(reference))}
        if expected["tokens_mecab"]:
            cut["mecab_unidic_lite"] = expected["tokens_mecab"]
        for tokens, pair in cut.items():
            for metric, measure in (("rouge1", ngram_overlap), ("rougeL", lcs_overlap)):
                for value, right in zip(measure(*pair), expected[tokens][metric], strict=False):
                    yield f"{row['id']} {tokens} {metric}", value, right, ROUNDED
        emptied = rouge("rougeL", answer, reference).f
        yield row["id"], emptied, expected["rouge_score_default_tokenizer_rougeL_f"], ROUNDED
        same = exact_match(answer, [reference]).value
        yield f"{row['id']} exact match", same, expected["exact_match_nfkc"], 0


def test_published_values_are_reproduced() -> None:
    """ROUGE-1.5.5, rouge_score, IBM's RougeL, COCO's ROUGE_L and NLTK's METEOR."""
    assert wrong(published(committed("published"))) == []


def test_english_values_are_reproduced() -> None:
    """rouge_score without stems, and NLTK's METEOR."""
    assert wrong(english(committed("en"))) == []


def test_japanese_values_are_reproduced() -> None:
    """ROUGE by character and by given words; what rouge_score makes of Japanese."""
    assert wrong(japanese(committed("ja"))) == []
