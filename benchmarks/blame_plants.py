"""Red turns whose cause is known, because the fault was planted: on the bundled bot and its own articles."""

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import cycle
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from simulator.shelves.rag_adapters.demo import connect

from simulator.core.shelves import DEMO
from simulator.core.templates import read_toml
from simulator.core.types import Answer, Case, Failure, Language, Message, Passage, Query, Turn
from simulator.data.cases import read_cases
from simulator.data.knowledge import read_knowledge
from simulator.diagnosis.evidence import Cause
from simulator.text.acts import claims

WORDS = read_toml(Path(__file__).with_name("blame.toml"))
# The articles that so many cases need are deleted.
DELETED = 20
_NUMBER = re.compile(r"\d[\d,]*")
Bot = Callable[[Query], Answer]


class Plant(NamedTuple):
    """A conversation whose last turn is spoilt; `asked_again` says that the bot is asked again about it.

    `pair` is the spelling to be named, and `knowledge` which of the knowledge bases the bot had.
    """

    cause: Cause
    case: Case
    turns: tuple[Turn, ...]
    bot: Bot
    knowledge: str = "whole"
    pair: tuple[str, str] | None = None


class Ground:
    """The bot, its cases and its articles in one language."""

    def __init__(self, language: Language, bot: Bot, poor: Bot, deleted: frozenset[str]) -> None:
        """`poor` is the bot without the `deleted` articles."""
        self.language, self.bot, self.poor, self.deleted = language, bot, poor, deleted
        self.words: dict[str, Any] = WORDS[language]
        cases = read_cases(DEMO / "cases" / f"{language}.csv")
        self.answerable = [case for case in cases if case.answerable]
        self.unanswerable = [case for case in cases if case.answerable is False]
        self.articles = [p for p in read_knowledge(DEMO / "knowledge") if p.id.startswith(f"{language}/")]
        self.broken: Bot = _broken(bot, self.articles)

    def ask(self, question: str, bot: Bot | None = None, *earlier: Turn) -> Answer:
        """The bot's own answer."""
        said = [m for t in earlier for m in (_message("user", t.user), _message("assistant", t.answer.text))]
        return (bot or self.bot)(Query(text=question, history=tuple(said), language=self.language))

    @cache  # noqa: B019 - a handful of grounds, for as long as the benchmark runs
    def found(self) -> tuple[tuple[Case, Answer], ...]:
        """The answerable cases of which the bot retrieves every gold passage, with its answers."""
        both = [(case, self.ask(case.question)) for case in self.answerable]
        return tuple((c, a) for c, a in both if {*c.passages} <= {passage.id for passage in a.passages})

    def without_courtesy(self, case: Case) -> str:
        """A right answer."""
        return case.references[0][0]


@contextmanager
def grounds() -> Iterator[list[Ground]]:
    """Both languages; what the first cases need is missing from the poor knowledge base."""
    everything = list(read_knowledge(DEMO / "knowledge"))
    deleted = frozenset(
        passage
        for language in ("ja", "en")
        for case in [c for c in read_cases(DEMO / "cases" / f"{language}.csv") if c.answerable][:DELETED]
        for passage in case.passages
    )
    with tempfile.TemporaryDirectory() as folder:
        for passage in everything:
            if passage.id not in deleted:
                path = Path(folder, f"{passage.id}.md")
                path.parent.mkdir(exist_ok=True)
                path.write_text(passage.text, encoding="utf-8")
        whole, poor = _waited_for(connect()), _waited_for(connect(knowledge=folder))
        yield [Ground(language, whole, poor, deleted) for language in ("ja", "en")]


def _waited_for(bot: Any) -> Bot:
    return lambda query: asyncio.run(bot(query))


def plants(ground: Ground, most: int = 20) -> list[Plant]:
    """At most so many plants of every cause."""
    return [plant for maker in MAKERS for plant in _first(maker(ground), most)]


def _first(found: Iterator[Plant], most: int) -> list[Plant]:
    return [plant for _, plant in zip(range(most), found, strict=False)]


def _no_answer(ground: Ground) -> Iterator[Plant]:
    kinds = cycle(("timeout", "error", "empty"))
    for case, kind in zip(ground.answerable, kinds, strict=False):
        failure = Failure(kind=kind, message=kind)
        yield _single("no_answer", ground, case, Answer(text="", error=failure))


def _knowledge(ground: Ground) -> Iterator[Plant]:
    """The articles that hold the answer are deleted; the bot answers from the others, or declines."""
    for case in ground.answerable:
        if {*case.passages} <= ground.deleted:
            answer = ground.ask(case.question, ground.poor)
            yield _single("knowledge", ground, case, answer, ground.poor)._replace(knowledge="poor")


def _outdated(ground: Ground) -> Iterator[Plant]:
    """The retrieved article has another amount than the right answer, and the bot says what it reads."""
    for case, answer in ground.found():
        right = ground.without_courtesy(case)
        if not (amount := _NUMBER.search(right)):
            continue
        other = f"{int(amount[0].replace(',', '')) + 3:,}"
        whole = re.compile(rf"(?<![\d,.-]){amount[0]}(?![\d,]|-\d)")
        changed = tuple(
            passage.model_copy(update={"text": whole.sub(other, passage.text)}) for passage in answer.passages
        )
        if changed != answer.passages:
            told = answer.model_copy(update={"text": whole.sub(other, right), "passages": changed})
            yield _single("outdated", ground, case, told)


def _retrieval(ground: Ground) -> Iterator[Plant]:
    """The index is broken: each passage that belongs there is replaced by another one."""
    for case in ground.answerable:
        answer = ground.ask(case.question, ground.broken)
        if not {*case.passages} & {passage.id for passage in answer.passages}:
            yield _single("retrieval", ground, case, answer, ground.broken)


def _spelling(ground: Ground) -> Iterator[Plant]:
    """A word is written in a way that does not retrieve the article; the article's own way does."""
    for asked, written, article in ground.words["spelling"]:
        question = Template(ground.words["ask"]).substitute(word=asked)
        right = ground.ask(question.replace(asked, written))
        answer = ground.ask(question)
        ids = [{passage.id for passage in each.passages} for each in (answer, right)]
        if article in ids[0] or article not in ids[1]:
            continue
        text = next(each.text for each in ground.articles if each.id == article)
        reference = next((c for c in _stated(text, ground) if written.lower() in c.lower()), text)
        case = Case(
            id=f"spelling-{asked}", question=question, language=ground.language, answerable=True,
            references=((reference,),), passages=(article,),
        )  # fmt: skip
        yield _single("spelling", ground, case, answer)._replace(pair=(asked, written))


def _ignored(ground: Ground) -> Iterator[Plant]:
    """The right passages, and the answer of another question, or one that says nothing."""
    found, empty = ground.found(), cycle(ground.words["brush_off"])
    shifted = found[7:] + found[:7]
    for number, ((case, answer), (_, other)) in enumerate(zip(found, shifted, strict=True)):
        text = next(empty) if number % 3 == 2 else other.text
        if text == other.text and _refuses(text, ground):
            text = next(empty)
        yield _single("ignored", ground, case, answer.model_copy(update={"text": text}))


def _invented(ground: Ground) -> Iterator[Plant]:
    """The right passages and answer, and a fact beside it that nobody wrote."""
    for (case, answer), invention in zip(ground.found(), cycle(ground.words["inventions"]), strict=False):
        text = _spaced(ground, ground.without_courtesy(case), invention)
        yield _single("invented", ground, case, answer.model_copy(update={"text": text}))


def _should_answer(ground: Ground) -> Iterator[Plant]:
    for (case, answer), refusal in zip(ground.found(), cycle(ground.words["refusals"]), strict=False):
        yield _single("should_answer", ground, case, answer.model_copy(update={"text": refusal}))


def _should_refuse(ground: Ground) -> Iterator[Plant]:
    """Unanswerable questions, answered by the bot, and with an answer to another question."""
    others = [answer for _, answer in ground.found() if not _refuses(answer.text, ground)]
    for case in ground.unanswerable:
        own = ground.ask(case.question)
        if not _refuses(own.text, ground):
            yield _single("should_refuse", ground, case, own)
    for case, other in zip(ground.unanswerable, others, strict=False):
        answer = ground.ask(case.question)
        yield _single("should_refuse", ground, case, answer.model_copy(update={"text": other.text}))


def _tone(ground: Ground) -> Iterator[Plant]:
    for (case, answer), rude in zip(ground.found(), cycle(ground.words["rude"]), strict=False):
        text = Template(rude).substitute(answer=ground.without_courtesy(case))
        yield _single("tone", ground, case, answer.model_copy(update={"text": text}))


def _customer(ground: Ground) -> Iterator[Plant]:
    """A good first turn, and then a line that no customer of this case could say, as a bot may answer it."""
    for (case, answer), line in zip(ground.found(), cycle(ground.words["customer"]), strict=False):
        first = Turn(index=1, user=case.question, answer=_with(answer, ground.without_courtesy(case)))
        second = Turn(index=2, user=line, answer=ground.ask(line, None, first))
        yield Plant("customer", case, (first, second), ground.bot)


def _misunderstood(ground: Ground) -> Iterator[Plant]:
    """Two questions in a row; the second gets the first one's answer, with or without its passages."""
    found = ground.found()
    for number, ((one, first), (two, second)) in enumerate(zip(found, found[5:] + found[:5], strict=True)):
        case = one.model_copy(
            update={
                "id": f"{one.id}+{two.id}",
                "script": (two.question,),
                "references": (one.references[0], two.references[0]),
                "goal": None,
            }
        )
        told = _with(first, ground.without_courtesy(one))
        again = told if number % 2 else second.model_copy(update={"text": told.text})
        turns = (
            Turn(index=1, user=one.question, answer=told),
            Turn(index=2, user=two.question, answer=again),
        )
        yield Plant("misunderstood", case, turns, ground.bot)


MAKERS: Sequence[Callable[[Ground], Iterator[Plant]]] = (
    _no_answer, _customer, _should_refuse, _should_answer, _misunderstood, _knowledge, _outdated, _spelling,
    _retrieval, _ignored, _invented, _tone,
)  # fmt: skip


def _single(cause: Cause, ground: Ground, case: Case, answer: Answer, bot: Bot | None = None) -> Plant:
    return Plant(cause, case, (Turn(index=1, user=case.question, answer=answer),), bot or ground.bot)


def _broken(bot: Bot, articles: Sequence[Passage]) -> Bot:
    """The bot over an index whose vectors belong to other passages: it finds always something else."""
    places = {passage.id: place for place, passage in enumerate(articles)}

    def answer(query: Query) -> Answer:
        found = bot(query)
        wrong = [articles[(places[p.id] + len(articles) // 2) % len(articles)] for p in found.passages]
        said = [each for p in wrong for each in claims(p.text, query.language) if each.endswith(("。", "."))]
        text = " ".join(said[:2]) or found.text
        return Answer(text=text, passages=tuple(wrong))

    return answer


def _stated(text: str, ground: Ground) -> list[str]:
    """The sentences of an article, without its headings."""
    return [each for each in claims(text, ground.language) if each.endswith(("。", "."))]


def _refuses(text: str, ground: Ground) -> bool:
    return not claims(text, ground.language)


def _with(answer: Answer, text: str) -> Answer:
    return answer.model_copy(update={"text": text})


def _spaced(ground: Ground, *texts: str) -> str:
    return ("" if ground.language == "ja" else " ").join(texts)


def _message(role: Any, text: str) -> Message:
    return Message(role=role, content=text)
