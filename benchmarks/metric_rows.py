"""The answers that the text metrics are measured with: the same ones on every machine."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from string import Template
from typing import Any, NamedTuple

from benchmarks import DATA
from benchmarks.lexical_validity import read, references
from simulator.text.normalise import words

EVOUNA = DATA / "evouna" / "judge_labels_evouna_dev.jsonl.gz"
TOKENS = 60
# How an answer came to differ from its reference, and how many of a hundred did.
KINDS = {"marks": 30, "reworded": 40, "reordered": 15, "other": 15}

Pairs = Sequence[tuple[str, str]]


class Row(NamedTuple):
    """An answer and what would have been right."""

    answer: str
    references: tuple[str, ...]


def japanese(count: int) -> list[Row]:
    """A desk's answers of 60 tokens (kana and kanji each one), most of them much like their reference."""
    phrases: Pairs = [(said, reworded) for said, reworded in _texts()["ja"]["phrases"]]
    lots = Random(0)
    kinds = lots.choices(list(KINDS), list(KINDS.values()), k=count)
    return [_japanese(kind, phrases, lots) for kind in kinds]


def english() -> tuple[str, list[Row]]:
    """Short and long answers to questions with several right answers: EVOUNA's, or else made-up ones."""
    if EVOUNA.is_file():
        return "EVOUNA dev", [Row(row["answer"], tuple(references(row))) for row in read(EVOUNA)]
    return "in the manner of EVOUNA", list(made_up(4000))


def made_up(count: int) -> Iterator[Row]:
    """English answers that name places; five answers to each question, as EVOUNA has them."""
    texts, lots = _texts()["en"], Random(0)
    for _ in range(count // len(texts["answers"])):
        kinds, names = lots.sample(texts["kinds"], 3), lots.sample(texts["names"], 3)
        right, wrong, other = (f"{kind} {name}" for kind, name in zip(kinds, names, strict=True))
        known = {"right": right, "wrong": wrong, "other": other, "year": str(lots.randrange(1700, 2025))}
        for answer in texts["answers"]:
            yield Row(Template(answer).substitute(known), (right, names[0]))


def _japanese(kind: str, phrases: Pairs, lots: Random) -> Row:
    """An order number makes every row another."""
    number = f"ご注文番号は{lots.randrange(10000, 100000)}です。"
    pairs = [(number, number), *lots.sample(phrases, 5)]
    reference = _cut("".join(said for said, _ in pairs))
    if kind == "marks":  # the same, written otherwise
        return Row(f"「{reference}」".replace("。", "。 ").replace("8", "８"), (reference,))
    if kind == "reworded":
        pairs = [(lots.choice(pair), "") for pair in pairs]
    elif kind == "reordered":
        pairs[:3] = lots.sample(pairs[:3], 3)
    else:
        pairs = [pairs[0], *lots.sample(phrases, 5)]
    return Row(_cut("".join(said for said, _ in pairs)), (reference,))


def _cut(text: str) -> str:
    """Its beginning, as far as the sixtieth token."""
    cut, end = words, TOKENS
    while len(cut(text[:end])) < TOKENS:
        end += 1
    return text[:end]


def _texts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("metrics.toml").read_text(encoding="utf-8"))
