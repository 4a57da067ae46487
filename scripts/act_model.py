"""`python -m scripts.act_model`: learns the wordings that refuse and hand over.

From the rows of benchmarks/detector_rows/build, from the examples and hard lines that the patterns were made
with, from the right answers of the bundled questions, and from sentences that do neither: those of the
articles of benchmarks/cause_rows and of the bundled bot.
"""

import csv
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.causes import desk_rows
from benchmarks.detectors import ACTS, LANGUAGES, labelled_lines
from simulator.core.types import Language
from simulator.text.acts import CONSTANT, FEW, FILE, WEIGHTS, pieces
from simulator.text.segments import sentences

Floats = NDArray[np.float64]
ROOT = Path(__file__).parents[1]
CAUSES, KNOWLEDGE = ROOT / "benchmarks/cause_rows", ROOT / "demo/knowledge"
FIXTURES = ROOT / "tests/fixtures"

# A piece of fewer answers is left out; so many pieces at most weigh something. How strongly weights are held
# down, and after how many steps they have settled.
FEWEST, MOST, HELD_DOWN, STEPS = 3, 4_000, 0.03, 300
# How often an example that the patterns promise, or a hard one, counts.
TIMES = 4


# Courtesies that answers begin with, whatever they go on to say.
OPENINGS = {
    "ja": (
        "お問い合わせありがとうございます。", "ご質問ありがとうございます。", "恐れ入ります。",
        "ご不便をおかけし、申し訳ございません。", "ご連絡いただき、ありがとうございます。",
    ),
    "en": (
        "Thank you for your question.", "Thanks for getting in touch!", "I am sorry for the trouble.",
        "I'm sorry to hear that.", "Thank you for asking!", "Happy to help.",
    ),
}  # fmt: skip


def main() -> None:
    """Writes the weights."""
    found = {
        f"{kind}.{language}": weights(
            [
                # Who only names somebody to turn to passes nobody on.
                *((row[2:], bool(ACTS[row[0]][at])) for row in labelled_lines("build", language)),
                *((text, labels[at]) for text, *labels in promised(language)),
                *((text, labels[at]) for text, *labels in hard(language)),
                *((text, labels[at]) for text, *labels in bundled(language)),
                *other,
            ],
            language,
        )
        for language in LANGUAGES
        for other in [[(text, False) for text in ordinary(language)]]
        for at, kind in enumerate(("refusal", "handover"))
    }
    WEIGHTS.write_text(
        json.dumps(found, ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8"
    )


def promised(language: Language) -> Iterator[tuple[str, bool | None, bool | None]]:
    """The examples of the patterns: what looks like a refusal or a handover and is none weighs most."""
    examples = tomllib.loads(FILE.read_text(encoding="utf-8"))[language]["examples"]
    for kind, refuses, hands_over in (
        ("refusal", True, None), ("answer", False, False), ("handover", True, True),
        ("contact", None, False), ("no_handover", False, False),
    ):  # fmt: skip
        for text in examples[kind]:
            yield from [(text, refuses, hands_over)] * TIMES


def hard(language: Language) -> Iterator[tuple[str, bool, bool]]:
    """Answers that say no, and refusals like them, that shaped the patterns."""
    lines = (FIXTURES / f"refusals_{language}.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        if row["part"] == "tune":
            yield from [(row["text"], row["refusal"], row["kind"] == "handover")] * TIMES


def bundled(language: Language) -> Iterator[tuple[str, bool, bool]]:
    """The right answers of the bundled questions."""
    with (ROOT / f"demo/cases/{language}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["references"], row["answerable"] != "yes", row["handover"] == "required"


def ordinary(language: Language) -> Iterator[str]:
    """Sentences that state something, and pairs of them, with a courtesy before them and without."""
    desks = (
        path for half in ("build", "held") for path in sorted((CAUSES / half).glob(f"{language}-*.toml"))
    )
    articles = [each.text for path in desks for row in desk_rows(path) for each in row.articles]
    articles += [path.read_text(encoding="utf-8") for path in sorted(KNOWLEDGE.glob(f"{language}/*.md"))]
    for text in dict.fromkeys(articles):
        said = sentences(text)
        yield from said
        for at, pair in enumerate(pairwise(said)):
            stated = " ".join(pair)
            yield stated
            yield f"{OPENINGS[language][at % len(OPENINGS[language])]} {stated}"


def weights(rows: Sequence[tuple[str, bool | None]], language: Language) -> dict[str, float]:
    """The weights of the pieces that tell most; rows without a label are left out."""
    each = [(pieces(text, language), float(label)) for text, label in rows if label is not None]
    counted = Counter(piece for found, _label in each for piece in found)
    learned = regression(each, sorted(piece for piece, count in counted.items() if count >= FEWEST))
    telling = sorted(learned.keys() - {""}, key=lambda piece: (-abs(learned[piece]), piece))[:MOST]
    return {piece: round(weight, 2) for piece, weight in regression(each, telling).items()}


def regression(rows: Sequence[tuple[frozenset[str], float]], known: Sequence[str]) -> dict[str, float]:
    """A logistic regression over known pieces, its constant under '', by Nesterov's accelerated gradient."""
    place = {piece: at for at, piece in enumerate(known)}
    found = [[place[piece] for piece in pieces if piece in place] for pieces, _label in rows]
    sizes = [len(each) for each in found]
    row, column = np.repeat(np.arange(len(rows)), sizes), np.concatenate([np.array(e, int) for e in found])
    value = np.repeat(1 / np.sqrt(np.maximum(FEW, sizes)), sizes)
    wanted = np.array([label for _pieces, label in rows])

    def told(weights: Floats) -> Floats:
        sums = np.bincount(row, value * weights[column], len(rows))
        return np.asarray(sums + CONSTANT * weights[-1], np.float64)

    def back(errors: Floats) -> Floats:
        return np.append(np.bincount(column, value * errors[row], len(known)), CONSTANT * errors.sum())

    curved = np.ones(len(known) + 1)
    for _step in range(10):  # how steep the likelihood can be: the largest eigenvalue, by power iteration
        curved = back(told(curved / np.linalg.norm(curved)))
    size = 1 / (np.linalg.norm(curved) / 4 + HELD_DOWN)
    learned = ahead = np.zeros(len(known) + 1)
    pace = 1.0
    for _step in range(STEPS):
        errors = 1 / (1 + np.exp(-told(ahead))) - wanted
        following = ahead - size * (back(errors) + HELD_DOWN * ahead)
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead = following + (pace - 1) / faster * (following - learned)
        learned, pace = following, faster
    return dict(zip((*known, ""), map(float, learned), strict=True))


if __name__ == "__main__":
    main()
