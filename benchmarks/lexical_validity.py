"""How the offline judges, which only count, agree with people: public label sets, beside a plainer count.

Below them the text metrics on short answers, beside what is known of these labels.

The sets are not part of this checkout (some are share-alike); the folder is `../shared/data`, or
REHEARSAL_BENCH_DATA. Nothing here was fitted to them beyond choosing the formula.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks import DATA
from simulator.extending import metrics
from simulator.grading.lexical import INVENTED, agreement
from simulator.lab.judging.agreement import auroc
from simulator.results.significance import average_ranks
from simulator.text.figures import differing
from simulator.text.overlap import coverage
from simulator.text.segments import tokens

# What JHARS calls a sentence that is borne out, and those that are not; disputed sentences are left out.
SENTENCE_LABELS = ("No_hallucination", "Unverifiable", "Contradictory")

Row = dict[str, Any]
Scorer = Callable[[Row], float]


@dataclass(frozen=True)
class LabelSet:
    """A file of labelled rows, what to score them with, and what people said (higher is better)."""

    name: str
    file: str
    ours: Scorer
    plain: Scorer
    label: Callable[[Row], float]
    good_from: float
    usable: Callable[[Row], bool] = lambda row: True
    split: Callable[[Row], Iterable[Row]] = lambda row: [row]


def groundedness(row: Row) -> float:
    """Our share of the answer that its contexts bear out."""
    invented = differing(row["answer"], (*row["contexts"], row["question"]))
    return coverage(row["answer"], row["contexts"]) * (INVENTED if invented else 1)


def sentences_of(row: Row) -> Iterable[Row]:
    """A row per sentence on which the annotators agree, with the sentence as answer and its label."""
    for sentence in row["sentences"]:
        if sentence["label"] in SENTENCE_LABELS:
            yield row | {"answer": sentence["text"], "labels": {"label": sentence["label"]}}


def similarity(row: Row) -> float:
    """Our agreement with the nearest of the acceptable answers."""
    return max((agreement(row["answer"], each).score for each in references(row)), default=0.0)


def token_precision(row: Row) -> float:
    """The plainer count: the share of the answer's tokens (Japanese: pairs of characters) in its contexts."""
    answer, known = units(row, row["answer"]), set(units(row, "\n".join(row["contexts"])))
    return mean(unit in known for unit in answer) if answer else 0.0


def token_recall(row: Row) -> float:
    """The plainer count: the share of the reference's tokens that are in the answer."""
    said = set(units(row, row["answer"]))
    wanted = [units(row, reference) for reference in references(row)]
    return max((mean(unit in said for unit in each) for each in wanted if each), default=0.0)


def references(row: Row) -> list[str]:
    """The acceptable answers, written in one line with strokes between them."""
    return [part for part in row["reference"].split("/") if part.strip()]


def units(row: Row, text: str) -> list[Any]:
    """Words, or pairs of characters."""
    words = tokens(text)
    return list(pairwise(words)) if row["language"] == "ja" else words


SETS = (
    LabelSet(
        "MTRAG faithfulness (en)",
        "mtrag_human/judge_labels_mtrag_human_dev.jsonl.gz",
        groundedness,
        token_precision,
        lambda row: mean(row["labels"]["faithfulness"]),
        3.5,
        lambda row: bool(row["contexts"]),
    ),
    LabelSet(
        "JHARS answers (ja)",
        "jhars/judge_labels_jhars_dev.jsonl.gz",
        groundedness,
        token_precision,
        lambda row: 1 - row["labels"]["hallucinated"],
        1,
    ),
    LabelSet(
        "JHARS sentences (ja)",
        "jhars/judge_labels_jhars_dev.jsonl.gz",
        groundedness,
        token_precision,
        lambda row: row["labels"]["label"] == SENTENCE_LABELS[0],
        1,
        split=sentences_of,
    ),
    LabelSet(
        "BEGIN attribution (en)",
        "begin/judge_labels_begin_dev.jsonl.gz",
        groundedness,
        token_precision,
        lambda row: row["labels"]["attribution"] == "Fully attributable",
        1,
    ),
    LabelSet(
        "ASDC crowd (ja)",
        "asdc/judge_labels_asdc_scud_crowd_dev.jsonl.gz",
        groundedness,
        token_precision,
        lambda row: row["labels"]["correct"],
        1,
    ),
    LabelSet(
        "EVOUNA correct (en)",
        "evouna/judge_labels_evouna_dev.jsonl.gz",
        similarity,
        token_recall,
        lambda row: row["labels"]["correct"],
        1,
    ),
)

EVOUNA = SETS[-1]
# AUROC of the text metrics on EVOUNA as a study of its labels gives it, over these rows and as many others.
KNOWN = {"exact match": 0.596, "gold answer contained": 0.900, "ROUGE-L recall": 0.948}


def text_metrics(row: Row) -> dict[str, float]:
    """The values of these metrics, each for the reference that gives the most."""
    answer, accepted = row["answer"], references(row)
    recalls = (metrics.rouge_l(answer, [each]).parts.recall for each in accepted)
    values = (
        metrics.exact_match(answer, accepted).value,
        metrics.contains(answer, accepted).value,
        max(recalls),
    )
    return dict(zip(KNOWN, values, strict=True))


def read(path: Path) -> list[Row]:
    """The rows of a packed JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main(data: Path = DATA) -> None:
    """One line per set: Spearman's rho and AUROC, ours and the plainer count on the same rows."""
    if not data.is_dir():
        print(
            f"lexical validity    skipped: no label sets; put them into {data} (or set REHEARSAL_BENCH_DATA)."
        )
        return
    print(f"{'lexical validity':26}{'rows':>6}{'rho':>8}{'plain':>8}{'AUROC':>8}{'plain':>8}")
    for each in SETS:
        if (data / each.file).is_file():
            print(line(each, rows_of(each, data)))
        else:
            print(f"{each.name:26}skipped: not there; put it into {(data / each.file).parent}")
    if (data / EVOUNA.file).is_file():
        print("\n".join(lines_of_text_metrics(rows_of(EVOUNA, data))))


def lines_of_text_metrics(rows: Sequence[Row]) -> Iterable[str]:
    """AUROC of each text metric, beside what is known."""
    values, good = list(map(text_metrics, rows)), [EVOUNA.label(row) >= EVOUNA.good_from for row in rows]
    yield f"{'text metrics, EVOUNA':26}{'rows':>6}{'AUROC':>8}{'known':>8}"
    for name, known in KNOWN.items():
        yield f"{name:26}{len(rows):>6}" + "".join(formatted((auroc([v[name] for v in values], good), known)))


def rows_of(each: LabelSet, data: Path) -> list[Row]:
    """The rows of a set as they are scored."""
    return [part for row in read(data / each.file) if each.usable(row) for part in each.split(row)]


def line(each: LabelSet, rows: Sequence[Row]) -> str:
    """The figures of one set."""
    labels = [float(each.label(row)) for row in rows]
    good = [label >= each.good_from for label in labels]
    ours, plain = list(map(each.ours, rows)), list(map(each.plain, rows))
    figures = (rho(ours, labels), rho(plain, labels), auroc(ours, good), auroc(plain, good))
    return f"{each.name:26}{len(rows):>6}" + "".join(formatted(figures))


def rho(scores: Sequence[float], labels: Sequence[float]) -> float | None:
    """Spearman's rho (-1..1): Pearson's correlation of the average ranks; None where one side is constant."""
    if min(len(set(scores)), len(set(labels))) < 2:
        return None
    return float(np.corrcoef(average_ranks(scores), average_ranks(labels))[0, 1])


def formatted(figures: Iterable[float | None]) -> Iterable[str]:
    """Three decimals, right-aligned."""
    return (f"{'-' if figure is None else format(figure, '.3f'):>8}" for figure in figures)


if __name__ == "__main__":
    main()
