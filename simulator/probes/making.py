"""Probes of every kind, made from cases and knowledge: the same seed gives the same pairs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from string import Template
from typing import Any

from simulator.core.templates import read_toml, stable_int
from simulator.core.types import Case, GradingContext, Language, Passage
from simulator.data.files import language_of
from simulator.probes.figures import Flip, figure_flips
from simulator.probes.opposites import opposite_flips
from simulator.probes.plain import plainly
from simulator.probes.sources import Source, further_sentences, page_sources, sources
from simulator.stats.bias import EXPECTED, Kind, Probe, without_language

FILE = Path(__file__).with_name("manner.toml")
# Facts of one answer that are flipped, and sentences of one page: a few of each, from everywhere.
FLIPS_PER_CASE, FLIPS_PER_PAGE = 4, 2
# Pages of a language that are searched for sentences; a large knowledge base has more than enough.
PAGES = 120


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
    pages = page_sources(_pages(knowledge, known, seed), _page_question, seed)
    spoken: list[Language] = [language] if language else ["ja", "en"]
    made: list[Probe] = []
    for each in spoken:
        own = [source for source in known if source.case.language == each]
        for source in own:
            made += _of_case(source, seed)
        made += _of_pages([page for page in pages if page.case.language == each], seed)
    made += _twins(known, spoken[0])
    return tuple(made)


def _of_case(source: Source, seed: int) -> Iterator[Probe]:
    draw = _drawing(seed, source, "manner")
    yield from _flipped(source, seed)
    language, base = source.case.language, source.exhibit()
    courtesy = [draw.choice(_text(language, place)) for place in ("before", "after")]
    padded = _joined([courtesy[0], source.answer, courtesy[1]], language)
    yield _probe("padding", source, base, source.exhibit("padding", answer=padded))
    curt = plainly(source.answer, language)
    if curt == source.answer:
        curt = _joined([curt, _text(language, "curt_end")], language)
    yield _probe("curt", source, base, source.exhibit("curt", answer=curt))
    asked = Template(draw.choice(_text(language, "angry"))).substitute(question=_ended(source.case))
    yield _probe("angry", source, base, source.exhibit("angry", question=asked))
    if (order := _shuffled(source.passages, draw)) is not None:
        yield _probe("shuffled", source, base, source.exhibit("shuffled", passages=order))
    if further := further_sentences(source)[:1]:
        longer = _joined([source.answer, *further], language)
        yield _probe("longer", source, base, source.exhibit("longer", answer=longer), new=further[0])


def _flipped(source: Source, seed: int) -> Iterator[Probe]:
    """A few facts of an answer, of as many sorts as there are."""
    draw, language = _drawing(seed, source, "flips"), source.case.language
    found = figure_flips(source.answer, source.evidence, source.material, language, draw)
    found += opposite_flips(source.answer, language)
    for number, flip in enumerate(_varied(found, FLIPS_PER_CASE, draw), 1):
        yield _flip_probe(source, flip, number)


def _of_pages(pages: Sequence[Source], seed: int) -> Iterator[Probe]:
    """Sentences of the pages, turned into their opposite: the last one of an answer each time."""
    by_page: dict[str, list[tuple[Source, Flip]]] = {}
    for source in pages:
        last = source.answer.rstrip("。.")
        start = max(last.rfind("。"), last.rfind(". ")) + 1
        turned = opposite_flips(source.answer, source.case.language)
        own = [(source, flip) for flip in turned if flip.text[:start] == source.answer[:start]]
        by_page.setdefault(source.case.passages[0], []).extend(own)
    for page, found in by_page.items():
        draw = Random(stable_int(seed, without_language(page), "page"))  # noqa: S311 - no secret
        drawn = draw.sample(found, min(len(found), FLIPS_PER_PAGE))
        for number, (source, flip) in enumerate(drawn, 1):
            yield _flip_probe(source, flip, number)


def _varied(flips: Sequence[Flip], most: int, draw: Random) -> list[Flip]:
    """At most so many flips: one of each sort first."""
    drawn = draw.sample(list(flips), len(flips))
    seen: dict[str, int] = {}
    ranks = []
    for flip in drawn:
        seen[flip.sort] = seen.get(flip.sort, 0) + 1
        ranks.append(seen[flip.sort])
    ordered = [flip for _, flip in sorted(zip(ranks, drawn, strict=True), key=lambda pair: pair[0])]
    return ordered[:most]


def _flip_probe(source: Source, flip: Flip, number: int) -> Probe:
    sort = _text(source.case.language, "sorts")[flip.sort]
    changed = source.exhibit(f"flipped-{number}", answer=flip.text)
    probe = _probe("flipped_fact", source, source.exhibit(), changed, old=flip.old, new=flip.new, sort=sort)
    return probe.model_copy(update={"sort": flip.sort})


def _twins(known: Sequence[Source], first: Language) -> Iterator[Probe]:
    """A question and its twin in the other language: the same id but for the language, one each."""
    by_cluster: dict[str, dict[Language, Source]] = {}
    for source in known:
        by_cluster.setdefault(source.cluster, {})[source.case.language] = source
    other: Language = "en" if first == "ja" else "ja"
    for pair in by_cluster.values():
        if first in pair and other in pair:
            yield _probe("twin", pair[first], pair[first].exhibit(), pair[other].exhibit())


def _probe(kind: Kind, source: Source, base: GradingContext, changed: GradingContext, **words: str) -> Probe:
    expects, bound = EXPECTED[kind]
    language = source.case.language
    return Probe(
        kind=kind,
        sort=kind,
        language=language,
        cluster=source.cluster,
        base=base,
        changed=changed,
        expects=expects,
        bound=bound,
        note=Template(_text(language, f"note_{kind}")).substitute(words),
    )


def _shuffled(passages: Sequence[Passage], draw: Random) -> list[Passage] | None:
    """Another order of the passages; None when there is no other."""
    if len({passage.id for passage in passages}) < 2:
        return None
    order = list(passages)
    while order == list(passages):
        draw.shuffle(order)
    return order


def _pages(knowledge: Sequence[Passage], known: Sequence[Source], seed: int) -> list[Passage]:
    """The pages to search, those of the cases first."""
    gold = {passage.id for source in known for passage in source.passages[: source.gold]}
    draw = Random(stable_int(seed, "pages"))  # noqa: S311 - no secret
    rest = [passage for passage in knowledge if passage.id not in gold]
    ordered = [p for p in knowledge if p.id in gold] + draw.sample(rest, len(rest))
    chosen: list[Passage] = []
    for language in ("ja", "en"):
        chosen += [p for p in ordered if language_of(p.text) == language][:PAGES]
    return sorted(chosen, key=lambda passage: passage.id)


def _page_question(language: Language, heading: str) -> str:
    return Template(_text(language, "page_question")).substitute(page=heading)


def _ended(case: Case) -> str:
    """The question with an end mark, so that it stands within other sentences."""
    asked = case.question.strip()
    asked = asked[:1].upper() + asked[1:]
    if asked[-1] in "。？！?!.":
        return asked
    marks = "？。" if case.language == "ja" else "?."
    return asked + marks[0 if re.search(_text(case.language, "asks"), asked) else 1]


def _joined(said: Iterable[str], language: Language) -> str:
    return ("" if language == "ja" else " ").join(said)


def _drawing(seed: int, source: Source, what: str) -> Random:
    """A draw of its own for every question: one more case changes nothing in the others."""
    return Random(stable_int(seed, source.case.id, what))  # noqa: S311 - no secret


def _text(language: Language, key: str) -> Any:
    return _texts()[language][key]


@cache
def _texts() -> dict[str, Any]:
    return read_toml(FILE)
