"""Labelled answers for tests of calibration: of every product a right, a half right and a wrong answer."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.core.types import Language

Rows = list[dict[str, Any]]
_GOODS = (
    "kettle", "toaster", "lamp", "chair", "desk", "clock", "radio", "heater", "fan", "shelf", "sofa", "rug",
)  # fmt: skip
_JAPANESE = (
    "湯沸かし", "焼き器", "照明", "椅子", "机", "時計", "ラジオ", "暖房", "扇風機", "本棚", "ソファ", "敷物",
)  # fmt: skip
_SAYS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "question": "How long is the guarantee of the {goods}?",
        "context": "The guarantee of the {goods} is {years} years from delivery. Keep the receipt.",
        "right": "The guarantee of the {goods} is {years} years from delivery.",
        "half": "The guarantee of the {goods} is {years} years, and we collect broken ones on Sundays.",
        "wrong": "We replace every product for free whenever you ask, even after a decade of use.",
    },
    "ja": {
        "question": "{goods}の保証は何年ですか",
        "context": "{goods}の保証期間は、お届けから{years}年間です。領収書を保管してください。",
        "right": "{goods}の保証期間は、お届けから{years}年間です。",
        "half": "{goods}の保証期間は{years}年間です。故障品は日曜日にも引き取りに伺います。",
        "wrong": "当社では、何年お使いになった後でも、すべて無料で新品とお取り替えいたします。",
    },
}
_VOTES = {"right": (4, 4, 3), "half": (3, 2, 3), "wrong": (1, 2, 1)}


def labelled(language: Language = "en", **changes: Any) -> Rows:
    """36 answers of 12 groups: for every product a right, a half right and a wrong one."""
    return [
        _row(language, number, kind) | changes
        for number in range(len(_GOODS))
        for kind in _SAYS["en"]
        if kind in _VOTES
    ]


def _row(language: Language, number: int, kind: str) -> dict[str, Any]:
    told = {"goods": (_JAPANESE if language == "ja" else _GOODS)[number], "years": number % 4 + 2}
    says = {key: text.format(**told) for key, text in _SAYS[language].items()}
    votes = [vote - (number % 5 == 0 and vote > 1) for vote in _VOTES[kind]]
    return {
        "id": f"shop/{number:02}/{kind}",
        "dataset": "shop",
        "language": language,
        "group": f"g{number}",
        "history": [],
        "question": says["question"],
        "contexts": [says["context"]],
        "answer": says[kind],
        "reference": says["right"],
        "labels": {"faithfulness": votes, "correct": int(kind == "right"), "verdict": f"{kind} one"},
        "scale": {"faithfulness": "1-4"},
        "meta": {"domain": "kitchen" if number < 5 else "room"},
    }


def written(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as a JSONL file."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def written_csv(path: Path, header: Sequence[str], *rows: Sequence[str]) -> Path:
    """A table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path
