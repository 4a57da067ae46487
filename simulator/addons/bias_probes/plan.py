"""Probes made of questions with a right answer and its passages."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from string import Template
from typing import Any

from simulator.addons.bias_probes.edits import Flip, figure_flips, opposite_flips, table
from simulator.core import shelves
from simulator.core.templates import stable_int
from simulator.core.types import Answer, Case, GradingContext, Language, Passage, Turn, Value
from simulator.data.cases import read_cases
from simulator.data.files import language_of
from simulator.data.knowledge import read_knowledge
from simulator.stats.bias import EXPECTED, Kind, Probe, without_language
from simulator.text.evidence import expected_response

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
    found: list[Source] = []
    for case in (case for case in cases if expected_response(case) == "answer"):
        gold = [by_id[name] for name in case.passages if name in by_id]
        if not gold:
            gold = [Passage(id=f"{case.id}-{n}", text=text) for n, text in enumerate(case.contexts, 1)]
        answer = next((known.strip() for known in case.references_at(1)), "")
        if gold and answer:
            passages = (*gold, *_others(case, gold, knowledge, seed))
            found.append(Source(case=case, answer=answer, passages=passages, gold=len(gold)))
    return found


def _others(case: Case, gold: Sequence[Passage], knowledge: Sequence[Passage], seed: int) -> list[Passage]:
    """Passages of the same language that do not answer: the same ones for a question and its twin."""
    taken = {passage.id for passage in gold}
    language = _language_of(gold)
    rest = [p for p in knowledge if p.id not in taken and _language_of([p]) == language]
    rest.sort(key=lambda passage: without_language(passage.id))
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
    known = sources(cases, knowledge, seed)
    spoken: list[Language] = [language] if language else ["ja", "en"]
    made: list[Probe] = []
    for each in spoken:
        own = [source for source in known if source.case.language == each]
        for source in own:
            made += _of_case(source, seed)
    made += _twins(known, spoken[0])
    return tuple(made)


def _of_case(source: Source, seed: int) -> Iterator[Probe]:
    language, base = source.case.language, source.context()
    # A draw of its own for every question: one more case changes nothing in the others.
    draw, flips = _draw(seed, source.case.id, "manner"), _draw(seed, source.case.id, "flips")
    found = figure_flips(source.answer, source.evidence, source.material, language, flips)
    found += opposite_flips(source.answer, language)
    for number, flip in enumerate(_varied(found, FLIPS_PER_CASE, flips), 1):
        yield _flip_probe(source, flip, number)
    before, after = (draw.choice(_text(language, place)) for place in ("before", "after"))
    padded = ("" if language == "ja" else " ").join((before, source.answer, after))
    yield _probe("padding", source, base, source.context("padding", answer=padded))
    asked = Template(draw.choice(_text(language, "angry"))).substitute(question=_ended(source.case))
    yield _probe("angry", source, base, source.context("angry", question=asked))
    if len({passage.id for passage in source.passages}) > 1:
        order = list(source.passages)
        while order == list(source.passages):
            draw.shuffle(order)
        yield _probe("shuffled", source, base, source.context("shuffled", passages=order))


def _varied(flips: Sequence[Flip], most: int, draw: Random) -> list[Flip]:
    """At most so many flips: one of each sort first."""
    drawn, seen = draw.sample(list(flips), len(flips)), Counter[str]()
    ranked: list[tuple[int, Flip]] = []
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


def _twins(known: Sequence[Source], first: Language) -> Iterator[Probe]:
    """A question and its twin in the other language: the same id but for the language, one each."""
    by_cluster: dict[str, dict[Language, Source]] = {}
    for source in known:
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
