"""Probes made of questions with a right answer and its passages: it is edited, and shown in many ways.

Each probe is a pair of contexts whose difference is known, so that no person has to label anything:

    flipped_fact    解約金は4,800円です。 -> 解約金は9,600円です。    has to fall by 2, and turn red
    padding         the same answer with thanks around it            has to stay
    angry           the same question from an angry customer         has to stay
    shuffled        the passages in another order                    has to stay

Figures that are flipped are amounts, dates and durations. A flipped value must be wrong and nothing else: it
occurs nowhere in question, passages and answer, the figure stands in the gold passages, it is changed
wherever it stands, and what only makes sense with the old one (a denial, a condition, "24 hours") is left
alone. A probe that is wrong itself would be held against the judge.

All draws are by the case's id: one question more changes no other probe.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from string import Template
from typing import Any

from simulator.cases.cases import read_cases
from simulator.cases.knowledge import read_knowledge
from simulator.core import shelves
from simulator.core.templates import read_toml, stable_int
from simulator.core.types import Answer, Case, GradingContext, Language, Passage, Turn, Value
from simulator.grading.lexical import expected_response
from simulator.lab.judging.bias import Probe
from simulator.lab.judging.stored import FLIPPED, Kind
from simulator.text.numerals import KANJI, NUMERAL, value_of
from simulator.text.segments import normalise
from simulator.text.typography import language_of

_FULL = str.maketrans("0123456789,:-", "０１２３４５６７８９，：－")
_PLAIN = str.maketrans("０１２３４５６７８９，：－", "0123456789,:-")
_DIGIT = "[0-9０-９]"
# A number with its commas, in either width; not a part of a code, a decimal or a longer number.
_NUMBER = f"(?<![0-9０-９,，.．A-Za-z-])({_DIGIT}[0-9０-９,，]*)(?![.．]?{_DIGIT})"
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# Quoted labels of buttons, addresses and codes are no figures, and "24 hours" says always.
_UNTOUCHED = re.compile(r"「[^」]*」|\"[^\"]*\"|https?://\S+|\S+@\S+|\b[A-Z]+-\d+|24時間|24 hours")
# What follows a figure that is denied or changes into another one.
_DENIED = re.compile(
    r"(?:は|が|も)(?:かかり|いただき|請求し)?(?:ません|不要)|から(?=[0-9０-９])"
    r"|[^.,;]{0,40}\b(?:does|do) not apply| to (?=\d)"
)
# What stands before one that is a condition.
_CONDITION = re.compile(r"\bIf the $")
# Passages shown beside each other, the gold ones among them: as many as a retriever gives.
SHOWN = 4
# Figures of one answer that are flipped at most.
FLIPS_PER_CASE = 4


# --- Figures ---


def figure_flips(answer: str, evidence: str, material: str, language: Language, draw: Random) -> list[str]:
    """The answer with one of its figures put wrong, for every figure that `evidence` has.

    The new value is nowhere in `material`. The figure is put wrong wherever it stands in the answer, so that
    the answer does not contradict itself:

        解約金は4,800円です。返品は14日以内です。 -> 9,600円 in one, 28日 in another
    """
    # A figure that no passage has is wrong already, and changing it makes nothing worse.
    supported, taken = normalise(evidence), normalise(f"{material}\n{answer}")
    values = numbers_in(taken)

    def is_new(new: str) -> bool:
        stated = numbers_in(new)
        return normalise(new) not in taken and (not stated or not stated <= values)

    flips: dict[str, str] = {}
    for sort, match in _matches(answer, language):
        old = match[0]
        # Another figure misleads nobody where it is denied, and makes no sense in a condition.
        is_idle = _DENIED.match(answer[match.end() :]) or _CONDITION.search(answer[: match.start()])
        if old in flips or normalise(old) not in supported or is_idle:
            continue
        if others := [new for new in _other_figures(sort, match, draw) if is_new(new)]:
            whole = re.compile(rf"(?<![0-9０-９,，.]){re.escape(old)}(?![0-9０-９])")
            flips[old] = others[0].join(whole.split(answer))
    return list(flips.values())


def numbers_in(text: str) -> frozenset[Decimal]:
    """The numbers above one of a text, in digits or English words.

    "2 kayaks for four hours" -> {2, 4}. Kanji numerals are left out: 一番 and 三々五々 count nothing.
    """
    written = (match[0] for match in re.finditer(NUMERAL, normalise(text)))
    values = (value_of(number) for number in written if number[0] not in KANJI)
    return frozenset(value for value in values if value is not None and value > 1)


def _matches(answer: str, language: Language) -> Iterator[tuple[str, re.Match[str]]]:
    """The figures by their kinds; what an earlier kind has matched is no other figure."""
    spans = [match.span() for match in _UNTOUCHED.finditer(answer)]
    # Amounts before durations: 3年で3,000円 holds both, and 3,000 is no year.
    for sort, pattern in _FIGURES[language]:
        for match in re.finditer(pattern, answer):
            if all(match.end() <= start or end <= match.start() for start, end in spans):
                spans.append(match.span())
                yield sort, match


def _other_figures(sort: str, match: re.Match[str], draw: Random) -> list[str]:
    """The matched words with other values for their number, in its width and with its commas."""
    plain = match[1].translate(_PLAIN)
    value = int(plain.replace(",", ""))
    # Far enough to matter: 4,900 for 4,800 might be taken for rounding.
    values = [value * 2, value * 3, *([value // 2] if value > 3 else [])]
    if sort == "date":
        # Days that every month has, and that are not next to the right one.
        values = [day for day in (5, 8, 10, 12, 15, 18, 22, 25) if abs(day - value) >= 3]
    elif not value:
        values = [550, 1_100, 3_300, 5_500]
    head, rest = match[0].split(match[1], 1)
    texts = []
    for other in draw.sample(values, len(values)):
        text = str(other) if len(plain) > 3 and "," not in plain else f"{other:,}"
        text = text.translate(_FULL) if plain != match[1] else text
        texts.append(head + text + _ONE.sub(r"\1s", rest))
    return texts


# What has no s in English where there is but one of it.
_ONE = re.compile(r"^([ -](?:business |working )?(?:day|week|month|year|hour))$")
_JA_SPAN = "営業日|日間|週間|[かヶカヵ]月|年間|年|時間|日(?=以内|後|前|以上|ほど|を)"
_EN_SPAN = "(?:business |working )?days?|weeks?|months?|years?|hours?"
# Kinds of figures, each with where it stands; the first group is the number.
_FIGURES: dict[Language, tuple[tuple[str, str], ...]] = {
    "ja": (
        ("amount", rf"{_NUMBER}(?:万|千)?円"),
        ("date", rf"(?<=月){_NUMBER}日(?!間|目|以内)"),
        ("date", r"(?<![0-9０-９])([1-3１-３][0-9０-９])日(?=以降|まで|が|に|から)"),
        ("days", rf"(?!(?:19|20)\d\d){_NUMBER}(?:{_JA_SPAN})"),
    ),
    "en": (
        ("amount", rf"{_NUMBER} (?:yen|dollars|euros|pounds)"),
        ("amount", r"[$€£¥] ?(\d[\d,]*)(?![\d.])"),
        ("date", rf"(?<![\d.,-])(\d{{1,2}}) (?:{_MONTHS})\b"),
        ("date", rf"\b(?:{_MONTHS}) (\d{{1,2}})\b(?!,? \d{{4}})"),
        ("days", rf"{_NUMBER}[ -](?:{_EN_SPAN})\b"),
    ),
}


# --- Questions and their pairs ---


class Source(Value):
    """A case whose right answer is known, and what is retrieved for it: the gold passages first."""

    case: Case
    answer: str
    passages: tuple[Passage, ...]
    gold: int

    @property
    def evidence(self) -> str:
        """The gold passages as one text."""
        return "\n".join(passage.text for passage in self.passages[: self.gold])

    @property
    def material(self) -> str:
        """Everything that is shown beside the answer: all passages, and the question."""
        return "\n".join([self.case.question, *(passage.text for passage in self.passages)])

    def context(
        self,
        mark: str = "",
        answer: str | None = None,
        question: str | None = None,
        passages: Sequence[Passage] | None = None,
    ) -> GradingContext:
        """The turn as a judge sees it, with what is given in place of its own; `mark` names it."""
        said = self.answer if answer is None else answer
        shown = self.passages if passages is None else tuple(passages)
        turn = Turn(index=1, user=question or self.case.question, answer=Answer(text=said, passages=shown))
        name = f"probe/{self.case.id}" + (f"#{mark}" if mark else "")
        return GradingContext(conversation=name, case=self.case, persona="calm", turn=turn)

    def probe(self, kind: Kind, changed: GradingContext) -> Probe:
        """The right answer beside the changed one."""
        language, cluster = self.case.language, self.case.id
        return Probe(kind=kind, language=language, cluster=cluster, base=self.context(), changed=changed)


def bundled() -> tuple[tuple[Case, ...], tuple[Passage, ...]]:
    """The bundled questions in both languages, and the bundled knowledge."""
    cases = [*read_cases(shelves.DEMO / "cases" / "ja.csv"), *read_cases(shelves.DEMO / "cases" / "en.csv")]
    return tuple(cases), tuple(read_knowledge(shelves.DEMO / "knowledge"))


def sources(cases: Iterable[Case], knowledge: Sequence[Passage], seed: int) -> Iterator[Source]:
    """The cases that can be answered and whose right answer and passages are known."""
    by_id = {passage.id: passage for passage in knowledge}
    # Of a refusal there is no figure to turn.
    for case in (case for case in cases if expected_response(case) == "answer"):
        gold = [by_id[name] for name in case.passages if name in by_id]
        if not gold:
            gold = [Passage(id=f"{case.id}-{n}", text=text) for n, text in enumerate(case.contexts, 1)]
        answer = next((reference.strip() for reference in case.references_at(1)), "")
        if gold and answer:
            language, taken = language_of("\n".join(p.text for p in gold)), {p.id for p in gold}
            rest = [p for p in knowledge if p.id not in taken and language_of(p.text) == language]
            most = min(len(rest), max(0, SHOWN - len(gold)))
            passages = (*gold, *_draw(seed, case.id, "passages").sample(rest, most))
            yield Source(case=case, answer=answer, passages=passages, gold=len(gold))


def probes(
    cases: Iterable[Case],
    knowledge: Sequence[Passage] = (),
    *,
    language: Language | None = None,
    seed: int = 42,
) -> tuple[Probe, ...]:
    """Every pair that these cases and passages give, in a language or in both.

    A case gives pairs when it can be answered, and its right answer and passages are known: `knowledge`
    has its gold passages, or the case its contexts.
    """
    usable = sources((case for case in cases if language in (None, case.language)), knowledge, seed)
    return tuple(probe for source in usable for probe in _of_case(source, seed))


def _of_case(source: Source, seed: int) -> Iterator[Probe]:
    case, language = source.case, source.case.language
    # A draw of its own for every question: one more case changes nothing in the others.
    draw, flips = _draw(seed, case.id, "manner"), _draw(seed, case.id, "flips")
    flipped = figure_flips(source.answer, source.evidence, source.material, language, flips)
    for number, text in enumerate(flips.sample(flipped, min(len(flipped), FLIPS_PER_CASE)), 1):
        yield source.probe(FLIPPED, source.context(f"flipped-{number}", answer=text))
    before, after = (draw.choice(_text(language, place)) for place in ("before", "after"))
    padded = ("" if language == "ja" else " ").join((before, source.answer, after))
    yield source.probe("padding", source.context("padding", answer=padded))
    asked = Template(draw.choice(_text(language, "angry"))).substitute(question=_ended(case))
    yield source.probe("angry", source.context("angry", question=asked))
    if len({passage.id for passage in source.passages}) > 1:
        order = list(source.passages)
        # Two passages are in order half of the time.
        while order == list(source.passages):
            draw.shuffle(order)
        yield source.probe("shuffled", source.context("shuffled", passages=order))


def _ended(case: Case) -> str:
    """The question with an end mark, so that it stands within other sentences."""
    asked = case.question.strip()
    asked = asked[:1].upper() + asked[1:]
    if asked[-1] in "。？！?!.":
        return asked
    marks = "？。" if case.language == "ja" else "?."
    return asked + marks[0 if re.search(_text(case.language, "asks"), asked) else 1]


def _draw(seed: int, *parts: str) -> Random:
    return Random(stable_int(seed, *parts))  # noqa: S311 - no secret


@cache
def _manner() -> dict[str, Any]:
    return read_toml(Path(__file__).with_name("manner.toml"))


def _text(language: Language, key: str) -> Any:
    return _manner()[language][key]
