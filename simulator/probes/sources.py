"""Where probes come from: questions with a right answer and the passages that bear it out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random

from simulator.core import shelves
from simulator.core.templates import stable_int
from simulator.core.types import Answer, Case, GradingContext, Language, Passage, Turn, Value
from simulator.data.cases import read_cases
from simulator.data.files import language_of
from simulator.data.knowledge import read_knowledge
from simulator.stats.bias import without_language
from simulator.text.evidence import content_units, coverage, expected, share
from simulator.text.segments import sentences

# Passages shown beside each other, the gold ones among them: as many as a retriever gives.
SHOWN = 4
# A sentence of which more than this is in the answer adds nothing to it.
KNOWN = 0.75
# An answer taken from a passage: so many sentences at most.
TAKEN = 2


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

    def exhibit(
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
    found = (_source(case, knowledge, by_id, seed) for case in cases if expected(case) == "answer")
    return [source for source in found if source is not None]


def page_sources(
    knowledge: Sequence[Passage], asks: Callable[[Language, str], str], seed: int
) -> list[Source]:
    """Every statement of a headed passage as an answer to a question about that page.

    The statement before it in its paragraph goes along, so that it is clear what is spoken of.
    """
    found: list[Source] = []
    for passage in knowledge:
        heading, _, rest = passage.text.partition("\n")
        if heading.startswith("#") and rest.strip():
            found += _of_page(passage, heading.strip("# "), knowledge, asks, seed)
    return found


def _of_page(
    passage: Passage,
    heading: str,
    knowledge: Sequence[Passage],
    asks: Callable[[Language, str], str],
    seed: int,
) -> Iterator[Source]:
    language = _language_of([passage])
    told = [
        (line, at, text) for line in passage.text.splitlines() for at, text in enumerate(statements(line))
    ]
    for number, (line, at, text) in enumerate(told, 1):
        said = [told[number - 2][2], text] if at and told[number - 2][0] == line else [text]
        answer = _joined(said, language)
        case = Case(
            id=f"{passage.id}:{number}", question=asks(language, heading), language=language,
            references=((answer,),), passages=(passage.id,),
        )  # fmt: skip
        others = _others(case, [passage], knowledge, seed)
        yield Source(case=case, answer=answer, passages=(passage, *others), gold=1)


def _joined(said: Iterable[str], language: Language) -> str:
    return ("" if language == "ja" else " ").join(said)


def further_sentences(source: Source) -> list[str]:
    """Whole sentences of the gold passages that the answer does not hold, nearest to the question first."""
    answer = content_units(source.answer)
    found = [text for text in statements(source.evidence) if share(content_units(text), answer) < KNOWN]
    return sorted(found, key=lambda text: -coverage(source.case.question, [text]))


def _source(
    case: Case, knowledge: Sequence[Passage], by_id: Mapping[str, Passage], seed: int
) -> Source | None:
    gold = [by_id[name] for name in case.passages if name in by_id]
    if not gold:
        gold = [Passage(id=f"{case.id}-{n}", text=text) for n, text in enumerate(case.contexts, 1)]
    if not gold:
        return None
    known = case.references_at(1)
    answer = known[0].strip() if known else _taken(case, gold)
    others = _others(case, gold, knowledge, seed)
    return Source(case=case, answer=answer, passages=(*gold, *others), gold=len(gold)) if answer else None


def _taken(case: Case, gold: Sequence[Passage]) -> str:
    """The sentences of the gold passages that take up most of the question, in their order."""
    need = f"{case.question}\n{case.goal or ''}"
    told = statements("\n".join(passage.text for passage in gold))
    best = sorted(told, key=lambda text: -coverage(need, [text]))[:TAKEN]
    return _joined((text for text in told if text in best), case.language)


def statements(text: str) -> list[str]:
    """The whole sentences of a text: no headings, no items of a list, no steps."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    plain = [line for line in lines if not line.lstrip()[:1].isdigit() and line.lstrip()[:1] not in "-*・•"]
    told = [sentence for line in plain for sentence in sentences(line)]
    return [text for text in told if text.endswith(("。", ".")) and "次の" not in text]


def _others(case: Case, gold: Sequence[Passage], knowledge: Sequence[Passage], seed: int) -> list[Passage]:
    """Passages of the same language that do not answer: the same ones for a question and its twin."""
    taken = {passage.id for passage in gold}
    language = _language_of(gold)
    rest = [p for p in knowledge if p.id not in taken and _language_of([p]) == language]
    rest.sort(key=lambda passage: without_language(passage.id))
    draw = Random(stable_int(seed, without_language(case.id), "passages"))  # noqa: S311 - no secret
    return draw.sample(rest, min(len(rest), max(0, SHOWN - len(gold))))


def _language_of(passages: Sequence[Passage]) -> Language:
    return language_of("\n".join(passage.text for passage in passages))
