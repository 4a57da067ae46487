"""What a model is asked about a pair: judges/_pairwise.toml, every quotation sealed, no run named."""

import unicodedata
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from simulator.core.errors import PromptError
from simulator.core.replies import Reply, skeleton
from simulator.core.templates import LANGUAGES, check_languages, fingerprint, quote, read_toml, render
from simulator.core.types import GradingContext, Language
from simulator.grading.rubric import LONGEST_EARLIER, LONGEST_MATERIAL, read_guidelines
from simulator.pairwise.outcome import Side
from simulator.pairwise.pairs import Pair

_TEXTS: dict[str, set[str]] = {
    "title": set(),
    "system": {"guidelines"},
    "task": {"history", "question", "reference", "passages", "answer_1", "answer_2", "form"},
    "again": {"problem"},
    "nothing": set(),
    "cut": {"count"},
}
_MEANT = {
    "1": "1", "2": "2", "tie": "tie", "draw": "tie", "equal": "tie", "both": "tie", "neither": "tie",
    "同点": "tie", "引き分け": "tie", "同等": "tie", "0": "tie",
}  # fmt: skip


def _preferred(value: Any) -> Any:
    """1, "１", "回答1" and "Answer 1" are "1"; a draw is a tie; anything else is left for the check."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    said = unicodedata.normalize("NFKC", str(value)).strip().casefold().strip("[]()「」。.\"'")
    bare = said.removeprefix("answer").removeprefix("回答").strip(" _:#")
    return _MEANT.get(bare, value)


class Preference(Reply):
    """The reply: what is needed, what each answer lacks, the reason, and the verdict last."""

    needed: str
    answer_1: str
    answer_2: str
    reason: str
    verdict: Annotated[Literal["1", "2", "tie"], BeforeValidator(_preferred)]


class PairPrompt:
    """The prompt of a pair, in the language of its case."""

    def __init__(self, path: Path, guidelines: Path) -> None:
        """Reads and checks both files."""
        self._tables = read_toml(path)
        check_languages(path, self._tables, _TEXTS)
        for language in LANGUAGES:
            meanings = self._tables[language].get("fields", {})
            if list(meanings) != list(Preference.model_fields):
                fields = ", ".join(Preference.model_fields)
                msg = f"{path}: [{language}.fields] must be {fields}, in this order."
                raise PromptError(msg)
        self._guidelines = read_guidelines(guidelines)

    def text(self, language: Language, key: str, /, **values: str) -> str:
        """A rendered text."""
        return render(self._tables[language][key], **values)

    def fingerprint(self, model: str) -> str:
        """Stands for everything but the material: texts in both languages, guidelines, model."""
        texts = [
            text
            for language in LANGUAGES
            for text in (
                *(self._tables[language][key] for key in _TEXTS),
                self._form(language),
                self._guidelines[language],
            )
        ]
        return fingerprint(*texts, model)

    def messages(self, pair: Pair, first: Side) -> list[dict[str, str]]:
        """What the model is sent, with the answer of `first` as answer 1."""
        language = pair.one.case.language
        shown = (pair.one, pair.other) if first == "a" else (pair.other, pair.one)
        system = self.text(language, "system", guidelines=self._guidelines[language])
        return [
            {"role": "system", "content": system},
            {"role": "user", "content": self._task(language, pair, shown)},
        ]

    def _task(self, language: Language, pair: Pair, shown: tuple[GradingContext, GradingContext]) -> str:
        nothing = self.text(language, "nothing")
        said = _said_before(shown)
        passages, left_out = _passages(pair)
        references = pair.one.references or (nothing,)
        answers = [exhibit.turn.answer.text for exhibit in shown]
        question = shown[0].turn.user
        # Neither bot can know the code of any block: it depends on what the other one said.
        seal = fingerprint(
            *(text for line in said for text in line), question, *answers, *passages, *references
        )
        quoted = [quote("passage", text, seal) for text in passages or [nothing]]
        if left_out:
            quoted.append(self.text(language, "cut", count=str(left_out)))
        return self.text(
            language,
            "task",
            history="\n".join(quote(who, text, f"{seal}{at}") for at, (who, text) in enumerate(said))
            or nothing,
            question=quote("question", question, seal),
            reference="\n".join(quote("reference", text, seal) for text in references),
            passages="\n".join(quoted),
            answer_1=quote("answer_1", answers[0], seal),
            answer_2=quote("answer_2", answers[1], seal),
            form=self._form(language),
        )

    def _form(self, language: Language) -> str:
        return skeleton({key: ("text", said) for key, said in self._tables[language]["fields"].items()})


def _said_before(shown: tuple[GradingContext, GradingContext]) -> list[tuple[str, str]]:
    """Who said what before; where the two desks differ, both are shown under their answer's number."""
    one, two = shown
    lines = [("customer" if m.role == "user" else "desk", m.content) for m in one.case.history]
    for mine, theirs in zip(one.earlier, two.earlier, strict=True):
        lines.append(("customer", mine.user))
        texts = (mine.answer.text, theirs.answer.text)
        lines += (
            [("desk", texts[0])] if len(set(texts)) == 1 else [("desk_1", texts[0]), ("desk_2", texts[1])]
        )
    return [(who, text[:LONGEST_EARLIER]) for who, text in lines]


def _passages(pair: Pair) -> tuple[list[str], int]:
    """What either run retrieved, once each and in one order for all readings, and how many do not fit."""
    sides = sorted([(pair.a, pair.one), (pair.b, pair.other)], key=lambda side: side[0])
    found = [passage for _, exhibit in sides for passage in exhibit.turn.answer.passages]
    texts = list(dict.fromkeys(passage.text for passage in found))
    shown: list[str] = []
    used = 0
    for text in texts:
        used += len(text)
        if used > LONGEST_MATERIAL and shown:
            break
        shown.append(text[:LONGEST_MATERIAL])
    return shown, len(texts) - len(shown)
