"""Probes made of questions with a right answer and its passages: it is edited, and shown in many ways.

Figures that are changed are amounts, dates and durations. The rules for statements that are turned into
their opposite are in flips.toml.

Each probe is a pair of contexts whose difference is known, so that no person has to label anything:

    flipped_fact    解約金は4,800円です。 -> 解約金は9,600円です。    has to fall by 2, and turn red
                    返品できます。 -> 返品できません。
    padding         the same answer with thanks around it            has to stay
    angry           the same question from an angry customer         has to stay
    twin            the same question in the other language          has to stay
    shuffled        the passages in another order                    has to stay

A flipped value must be wrong and nothing else: it occurs nowhere in question, passages and answer, the figure
stands in the gold passages, it is changed wherever it stands, and what only makes sense with the old one (a
denial, a condition, "24 hours") is left alone. A probe that is wrong itself would be held against the judge.

All draws are by the case's id: one question more changes no other probe.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from string import Template
from typing import Any, NamedTuple

from simulator.cases.cases import read_cases
from simulator.cases.knowledge import read_knowledge
from simulator.core import shelves
from simulator.core.templates import read_toml, stable_int
from simulator.core.types import Answer, Case, GradingContext, Language, Passage, Turn, Value
from simulator.grading.lexical import expected_response
from simulator.lab.judging.bias import EXPECTED, Probe, without_language
from simulator.lab.judging.stored import Kind
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
# Labels of buttons and questions that are quoted keep their words.
_QUOTED = re.compile(r"「[^」]*」|\"[^\"]*\"")
_ENDED = re.compile(r"[。！？\n]|[.!?](?=\s|$)")
# Nothing, or one sentence with a telephone number.
_ONLY_CONTACT = re.compile(r"|[^。\n]*\d{3}-\d{3,4}[^。\n]*。?")


class Flip(NamedTuple):
    """An answer with one thing put wrong: `text` is it, `old` became `new` in it."""

    sort: str
    old: str
    new: str
    text: str


@cache
def table(name: str) -> dict[str, Any]:
    """A file of words and rules beside this one."""
    return read_toml(Path(__file__).with_name(name))


# --- Figures ---


def figure_flips(answer: str, evidence: str, material: str, language: Language, draw: Random) -> list[Flip]:
    """Every figure of the answer that `evidence` has, put wrong once: by a value nowhere in `material`.

    It is put wrong wherever it stands in the answer, so that the answer does not contradict itself:

        解約金は4,800円です。返品は14日以内です。 -> 9,600円 in one flip, 28日 in another
    """
    # A figure that no passage has is wrong already, and changing it makes nothing worse.
    supported, taken = normalise(evidence), normalise(f"{material}\n{answer}")
    values = numbers_in(taken)

    def is_new(new: str) -> bool:
        stated = numbers_in(new)
        return normalise(new) not in taken and (not stated or not stated <= values)

    flips: dict[str, Flip] = {}
    for sort, match in _matches(answer, language):
        old = match[0]
        # Another figure misleads nobody where it is denied, and makes no sense in a condition.
        is_idle = _DENIED.match(answer[match.end() :]) or _CONDITION.search(answer[: match.start()])
        if old in flips or normalise(old) not in supported or is_idle:
            continue
        if others := [new for new in _other_figures(sort, match, draw) if is_new(new)]:
            whole = re.compile(rf"(?<![0-9０-９,，.]){re.escape(old)}(?![0-9０-９])")
            flips[old] = Flip(sort, old, others[0], others[0].join(whole.split(answer)))
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


# --- Statements ---


def opposite_flips(answer: str, language: Language) -> list[Flip]:
    """Every turnable sentence of the answer, turned once, each in an answer of its own.

    返品できます。 -> 返品できません。 Where the answer begins with "Yes," the yes goes, too.
    """
    rules = table("flips.toml")[language]
    # What no longer fits: "no" before a yes, "yes" before a no.
    openings = {"yes": rules["opening_of_no"], "no": rules["opening_of_yes"]}
    spans = [match.span() for match in _QUOTED.finditer(answer)]
    flips: list[Flip] = []
    for rule in rules["rules"]:
        for match in re.finditer(rule["find"], answer):
            if any(start < match.end() and match.start() < end for start, end in spans):
                continue
            spans.append(match.span())
            if _is_kept(rule, answer, match):
                continue
            # English needs another article or ending where a word changes.
            new = _agreeing(match.expand(rule["put"]))
            text = answer[: match.start()] + new + answer[match.end() :]
            opening = re.search(openings[rule["turns"]], answer) if rule["turns"] in openings else None
            if opening and not _ENDED.search(answer[: match.start()]):
                text = text[opening.end() :]
                text = text[:1].upper() + text[1:]
            flips.append(Flip(rule["sort"], match[0].strip(), new.strip(), text))
    return flips


def _is_kept(rule: Mapping[str, str], answer: str, match: re.Match[str]) -> bool:
    """Whether the sentence must stay: a condition states nothing, and what follows may presuppose a "yes"."""
    opening = _ENDED.split(answer[: match.start()])[-1]
    rest, *following = _ENDED.split(answer[match.end() :], maxsplit=1)
    if rule["turns"] == "no" and following and not _ONLY_CONTACT.fullmatch(following[0].strip()):
        return True
    searched = {"unless": opening, "beside": opening + match[0] + rest}
    return any(key in rule and re.search(rule[key], text) for key, text in searched.items())


def _agreeing(text: str) -> str:
    """`a(n) early` as an early, `a(n) fee` as a fee; `apply+s` as applies, `roll+s` as rolls."""
    text = re.sub(r"\ba\(n\) +(?=[aeiou])", "an ", text)
    text = re.sub(r"\ba\(n\) *", "a ", text)
    text = re.sub(r"(?<=[^aeiou])y\+s\b", "ies", text)
    return re.sub(r"\+s\b", "s", text)


# Passages shown beside each other, the gold ones among them: as many as a retriever gives.
SHOWN = 4
# Facts of one answer that are flipped: a few, of different sorts.
FLIPS_PER_CASE = 4


class Source(Value):
    """A case whose right answer is known, and what is retrieved for it: the gold passages first."""

    case: Case
    answer: str
    passages: tuple[Passage, ...]
    gold: int

    @property
    def cluster(self) -> str:
        """What the pairs of one question share, in both languages."""
        return without_language(self.case.id)

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


def bundled() -> tuple[tuple[Case, ...], tuple[Passage, ...]]:
    """The bundled questions in both languages, and the bundled knowledge."""
    cases = [*read_cases(shelves.DEMO / "cases" / "ja.csv"), *read_cases(shelves.DEMO / "cases" / "en.csv")]
    return tuple(cases), tuple(read_knowledge(shelves.DEMO / "knowledge"))


def sources(cases: Iterable[Case], knowledge: Sequence[Passage], seed: int) -> list[Source]:
    """The cases that can be answered and whose right answer and passages are known."""
    by_id = {passage.id: passage for passage in knowledge}
    usable: list[Source] = []
    # Of a refusal there is no figure and no statement to turn.
    for case in (case for case in cases if expected_response(case) == "answer"):
        gold = [by_id[name] for name in case.passages if name in by_id]
        if not gold:
            gold = [Passage(id=f"{case.id}-{n}", text=text) for n, text in enumerate(case.contexts, 1)]
        answer = next((reference.strip() for reference in case.references_at(1)), "")
        if gold and answer:
            passages = (*gold, *_others(case, gold, knowledge, seed))
            usable.append(Source(case=case, answer=answer, passages=passages, gold=len(gold)))
    return usable


def _others(case: Case, gold: Sequence[Passage], knowledge: Sequence[Passage], seed: int) -> list[Passage]:
    """Passages of the same language that do not answer: the same ones for a question and its twin."""
    taken = {passage.id for passage in gold}
    language = _language_of(gold)
    rest = [p for p in knowledge if p.id not in taken and _language_of([p]) == language]
    rest.sort(key=lambda passage: without_language(passage.id))
    # Without the language in the id, so that a question and its twin are shown the same articles.
    draw = _draw(seed, without_language(case.id), "passages")
    return draw.sample(rest, min(len(rest), max(0, SHOWN - len(gold))))


def _language_of(passages: Sequence[Passage]) -> Language:
    return language_of("\n".join(passage.text for passage in passages))


def probes(
    cases: Iterable[Case],
    knowledge: Sequence[Passage] = (),
    *,
    language: Language | None = None,
    seed: int = 42,
) -> tuple[Probe, ...]:
    """Every pair that these cases and passages give, in a language or in both.

    A case gives pairs when it can be answered, and its right answer and passages are known: `knowledge`
    has its gold passages, or the case its contexts. Twins are made once, from the first language.
    """
    usable = sources(cases, knowledge, seed)
    spoken: list[Language] = [language] if language else ["ja", "en"]
    made: list[Probe] = []
    for code in spoken:
        in_language = [source for source in usable if source.case.language == code]
        for source in in_language:
            made += _of_case(source, seed)
    made += _twins(usable, spoken[0])
    return tuple(made)


def _of_case(source: Source, seed: int) -> Iterator[Probe]:
    language, base = source.case.language, source.context()
    # A draw of its own for every question: one more case changes nothing in the others.
    draw, flips = _draw(seed, source.case.id, "manner"), _draw(seed, source.case.id, "flips")
    changes = figure_flips(source.answer, source.evidence, source.material, language, flips)
    changes += opposite_flips(source.answer, language)
    for number, flip in enumerate(_varied(changes, FLIPS_PER_CASE, flips), 1):
        yield _flip_probe(source, flip, number)
    before, after = (draw.choice(_text(language, place)) for place in ("before", "after"))
    padded = ("" if language == "ja" else " ").join((before, source.answer, after))
    yield _probe("padding", source, base, source.context("padding", answer=padded))
    asked = Template(draw.choice(_text(language, "angry"))).substitute(question=_ended(source.case))
    yield _probe("angry", source, base, source.context("angry", question=asked))
    if len({passage.id for passage in source.passages}) > 1:
        order = list(source.passages)
        # Two passages are in order half of the time.
        while order == list(source.passages):
            draw.shuffle(order)
        yield _probe("shuffled", source, base, source.context("shuffled", passages=order))


def _varied(flips: Sequence[Flip], most: int, draw: Random) -> list[Flip]:
    """At most so many flips: one of each sort first."""
    drawn, seen = draw.sample(list(flips), len(flips)), Counter[str]()
    ranked: list[tuple[int, Flip]] = []
    # First the first of each sort, then the second: amounts are so frequent that dates would never come.
    for flip in drawn:
        seen[flip.sort] += 1
        ranked.append((seen[flip.sort], flip))
    return [flip for _, flip in sorted(ranked, key=lambda pair: pair[0])][:most]


def _flip_probe(source: Source, flip: Flip, number: int) -> Probe:
    name = _text(source.case.language, "sorts")[flip.sort]
    changed = source.context(f"flipped-{number}", answer=flip.text)
    words = {"old": flip.old, "new": flip.new, "sort": name}
    return _probe("flipped_fact", source, source.context(), changed, **words).model_copy(
        update={"sort": flip.sort}
    )


def _twins(usable: Sequence[Source], first: Language) -> Iterator[Probe]:
    """A question and its twin in the other language: the same id but for the language, one each."""
    by_cluster: dict[str, dict[Language, Source]] = {}
    for source in usable:
        by_cluster.setdefault(source.cluster, {})[source.case.language] = source
    other: Language = "en" if first == "ja" else "ja"
    for pair in by_cluster.values():
        if first in pair and other in pair:
            yield _probe("twin", pair[first], pair[first].context(), pair[other].context())


def _probe(kind: Kind, source: Source, base: GradingContext, changed: GradingContext, **words: str) -> Probe:
    expects, bound = EXPECTED[kind]
    language = source.case.language
    note = Template(_text(language, f"note_{kind}")).substitute(words)
    return Probe(
        kind=kind, sort=kind, language=language, cluster=source.cluster, base=base, changed=changed,
        expects=expects, bound=bound, note=note,
    )  # fmt: skip


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


def _text(language: Language, key: str) -> Any:
    return table("manner.toml")[language][key]
