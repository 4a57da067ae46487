"""questions.toml: what a model is asked to write, and what to check. Passages are quoted as data."""

import asyncio
import json
import random
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from string import Template
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from simulator.addons.testset.plan import (
    MADE,
    OUT_OF_SCOPE,
    PAIRED,
    Acceptance,
    Article,
    Check,
    Comparison,
    DialogueSummary,
    Draft,
    FollowUpCheck,
    FollowUpDraft,
    Index,
    Kind,
    OutsideCheck,
    PairCheck,
    Plan,
    RejectedQuestion,
    Speaker,
    Speakers,
    StatedQuestion,
    Task,
    TestSet,
    Why,
    Wording,
    asked_of,
    chosen_kinds,
    chosen_wordings,
    company,
    fitting,
    in_context,
    outside,
    quotas,
    read_articles,
    save_personas,
    tags,
)
from simulator.core import shelves
from simulator.core.errors import AccessDenied, ModelFailure
from simulator.core.roles import LEXICAL, endpoints
from simulator.core.settings import Settings
from simulator.core.templates import check_languages, fingerprint, quote, read_toml, render, stable_int
from simulator.core.types import Case, Facts, Language, Message, Role, Spending
from simulator.data.cases import read_cases
from simulator.data.files import language_of
from simulator.data.values import NO_QUESTION
from simulator.grading.lexical import grade_of
from simulator.models.client import Connections, Messages, Model
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger, Prices, together
from simulator.models.providers import Models
from simulator.privacy.redactor import Redactor, redacted_case
from simulator.runner.estimate import ANSWER
from simulator.runner.estimate import tokens as prompt_tokens
from simulator.runner.labelled import worst_of
from simulator.text.acts import parts
from simulator.text.evidence import STOP_WORDS, best_agreement
from simulator.text.numerals import quantities, unmatched
from simulator.text.segments import normalise, tokens
from simulator.users.typing_variation import vary

FILE = Path(__file__).with_name("questions.toml")
_VARIABLES: dict[str, set[str]] = {
    "write_system": set(),
    "write": {"kind", "wording", "passages", "focus", "form"},
    "focus": {"sentence"},
    "nothing": set(),
    "check_system": set(),
    "check": {"passages", "history", "question", "form"},
    "compare_system": set(),
    "compare": {"question", "first", "second", "form"},
    "again": {"problem"},
    "distil_system": set(),
    "distil": {"dialogue", "form"},
    "speakers": {"manners", "form"},
}


class Prompts:
    """The prompts in both languages; checked when they are read."""

    def __init__(self, path: Path = FILE) -> None:
        """Reads the file."""
        self._tables = read_toml(path)
        check_languages(path, self._tables, _VARIABLES)
        for table, variables in (("kinds", {"name"}), ("wordings", set[str]())):
            parts = {language: self._tables[language][table] for language in ("ja", "en")}
            check_languages(path, parts, dict.fromkeys(parts["ja"], variables))

    def text(self, language: Language, key: str, /, **values: str) -> str:
        """A rendered text."""
        return render(self._tables[language][key], **values)

    def again(self, language: Language, problem: str) -> str:
        """What is said about a reply that could not be read."""
        return self.text(language, "again", problem=problem)

    def write(self, task: Task) -> Messages:
        """Asks for one question."""
        language = task.language
        texts = [f"[{number}] {article.text}" for number, article in enumerate(task.articles, 1)]
        seal = fingerprint(*texts)
        focus = quote("sentence", task.sentence, seal) if task.sentence else ""
        # A mistyped question is written plainly first; what is typed wrongly is the program's part.
        wording = "casual" if task.wording == "typed" else task.wording
        user = self.text(
            language,
            "write",
            passages="\n".join(quote("document", text, seal) for text in texts),
            focus=self.text(language, "focus", sentence=focus) + "\n" if focus else "",
            kind=Template(self._tables[language]["kinds"][task.kind]).substitute(name=task.name),
            wording=self._tables[language]["wordings"][wording],
            form=self.form(language, "fields", draft_form(task.kind)),
        )
        return _messages(self.text(language, "write_system"), user)

    def check(self, case: Case, kind: Kind, articles: Sequence[Article]) -> Messages:
        """Asks whether these articles answer the question; the right answer is not shown."""
        language = case.language
        texts = [f"[{number}] {article.text}" for number, article in enumerate(articles, 1)]
        said = [f"{line.role}: {line.content}" for line in case.history]
        seal = fingerprint(*texts, *said, case.question)
        nothing = self.text(language, "nothing")
        user = self.text(
            language,
            "check",
            passages="\n".join(quote("document", text, seal) for text in texts) or nothing,
            history="\n".join(_line(line, f"{seal}{at}") for at, line in enumerate(case.history)) or nothing,
            question=quote("question", case.question, seal),
            form=self.form(language, "check_fields", check_form(kind)),
        )
        return _messages(self.text(language, "check_system"), user)

    def compare(self, case: Case, answer: str) -> Messages:
        """Asks whether the right answer and that of the check say the same."""
        language, reference = case.language, "|".join(case.references_at(1))
        seal = fingerprint(case.question, reference, answer)
        user = self.text(
            language,
            "compare",
            question=quote("question", case.question, seal),
            first=quote("answer", answer, seal),
            second=quote("answer", reference, f"{seal}2"),
            form=self.form(language, "check_fields", Comparison),
        )
        return _messages(self.text(language, "compare_system"), user)

    def distil(self, lines: Sequence[Message], language: Language, form: type[BaseModel]) -> Messages:
        """Asks what a recorded dialogue was about."""
        seal = fingerprint(*(line.content for line in lines))
        dialogue = "\n".join(_line(line, f"{seal}{at}") for at, line in enumerate(lines))
        meant = self.form(language, "distil_fields", form)
        return _messages(
            self.text(language, "distil_system"),
            self.text(language, "distil", dialogue=dialogue, form=meant),
        )

    def speakers(
        self, manners: Sequence[str], language: Language, form: type[BaseModel], names: Sequence[str]
    ) -> Messages:
        """Asks for the kinds of customers behind these ways to speak."""
        one = json.loads(self.form(language, "speaker_fields", form, names=", ".join(names)))
        return _messages(
            self.text(language, "distil_system"),
            self.text(
                language,
                "speakers",
                manners=quote("manners", "\n".join(f"- {manner}" for manner in manners)),
                form=json.dumps({"personas": [one]}, ensure_ascii=False, indent=1),
            ),
        )

    def form(self, language: Language, table: str, form: type[BaseModel], **values: str) -> str:
        """The form as JSON, with what each key means."""
        meanings: Mapping[str, str | list[str]] = self._tables[language][table]
        shown = {
            key: Template(meaning).safe_substitute(values) if isinstance(meaning, str) else meaning
            for key, meaning in ((key, meanings[key]) for key in form.model_fields)
        }
        return json.dumps(shown, ensure_ascii=False, indent=1)

    def fingerprint(self) -> str:
        """Changes whenever a word of the prompts changes."""
        return fingerprint(repr(self._tables))


def draft_form(kind: Kind) -> type[Draft | FollowUpDraft]:
    """What is filled in to write a question of this kind."""
    return FollowUpDraft if kind == "follow-up" else Draft


def check_form(kind: Kind) -> type[Check | OutsideCheck]:
    """What is filled in to check a question of this kind."""
    if kind in OUT_OF_SCOPE:
        return OutsideCheck
    if kind in PAIRED:
        return PairCheck
    return FollowUpCheck if kind == "follow-up" else Check


def _line(line: Message, seal: str) -> str:
    return quote("customer" if line.role == "user" else "desk", line.content, seal)


def _messages(system: str, user: str) -> Messages:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


CHECKS_FILE = Path(__file__).with_name("checks.toml")
LONGEST = {"ja": 160, "en": 400}
# So many characters (Japanese) or words in a row from a passage, and more than this share of the question,
# are a copy: names of products are shorter.
RUN = {"ja": 16, "en": 9}
COPIED = 0.6
# From which grade (1..5) of agreement on an answer from the passages alone says what the right answer says.
AGREES = 3


def fault_of_form(
    case: Case, kind: Kind, articles: Sequence[Article], *, name: str = "", by_rule: bool = False
) -> RejectedQuestion | None:
    """What is wrong with a question as it stands, before anybody is asked; None for nothing.

    Questions by rule are made of the articles' own words, so these are not looked for in them.
    """
    why = _form(case) or _figures(case, kind, articles)
    if why is None and not by_rule and _copies(case.question, articles, case.language):
        why = "copied"
    if why is None and kind == "competitor" and name and name not in case.question:
        why = "no_name"
    return RejectedQuestion(case=case, why=why) if why else None


def fault_of_check(case: Case, check: Check | OutsideCheck) -> RejectedQuestion | None:
    """What a reader of the gold passages found wrong; None when they answer it as the right answer does."""
    why = _against_passages(check)
    if why is None and isinstance(check, Check):
        if says_the_same(check.answer, case.references_at(1), case.language):
            return None
        return RejectedQuestion(case=case, why="differs", detail=check.answer.strip())
    return RejectedQuestion(case=case, why=why, detail=check.reason.strip()) if why else None


def _against_passages(check: Check | OutsideCheck) -> Why | None:
    """What the reader of the passages said, the first thing first."""
    if isinstance(check, OutsideCheck):
        found: tuple[tuple[bool, Why], ...] = ((check.settled != "no", "answered"),)
    else:
        found = (
            (check.answerable != "yes", "unanswerable"),
            (isinstance(check, PairCheck) and check.needed < 2, "one_passage"),
            (isinstance(check, FollowUpCheck) and check.clear_alone, "alone"),
        )
    return next((why for holds, why in ((check.names_document, "document"), *found) if holds), None)


def says_the_same(answer: str, references: Sequence[str], language: Language) -> bool:
    """Whether an answer agrees with the right one: same figures, no opposite, and most of its content.

    An answer may leave out figures, or add some that are no answer to the same question.
    """
    found = best_agreement(answer, references, language)
    if found.contradicted or (found.instead and not _shares_figure(answer, references)):
        return False
    # Figures were looked at above: one that stands for another thing beside it is no reason.
    lenient = max(found.score, found.recall) if _shares_figure(answer, references) else found.score
    return grade_of(lenient, "similarity") >= AGREES


def _shares_figure(answer: str, references: Sequence[str]) -> bool:
    """Whether every figure of some right answer is in the answer, and there is one."""
    given = quantities(answer)
    for reference in references:
        wanted = quantities(reference)
        if wanted and not unmatched(wanted, given):
            return True
    return False


def _form(case: Case) -> Why | None:
    question = case.question
    first = case.history[:1]
    if not any(map(str.isalnum, question)) or not any(map(str.strip, case.references_at(1))):
        return "empty"
    if len(question) > LONGEST[case.language] or question.count("\n") > 2:
        return "long"
    # Keywords may be a product's name in Latin letters.
    said = "\n".join([question, *case.references_at(1), *(line.content for line in first)])
    if language_of(said) != case.language:
        return "language"
    return "document" if _names_document(case.language).search(question) else None


def _figures(case: Case, kind: Kind, articles: Sequence[Article]) -> Why | None:
    if kind in OUT_OF_SCOPE:
        return None
    stated = quantities("\n".join(chain.from_iterable(case.references)))
    if kind == "number" and not stated and not re.search(r"\d", "".join(case.references_at(1))):
        return "no_number"
    known = quantities("\n".join([case.question, *(article.text for article in articles)]))
    # A sum of figures is a right answer, too, and a reader of the passages checks it.
    return "unsupported" if len(unmatched(stated, known)) > max(1, len(stated) // 2) else None


def _copies(question: str, articles: Sequence[Article], language: Language) -> bool:
    said = tokens(question)
    longest = max((_longest_run(said, tokens(article.text)) for article in articles), default=0)
    return longest >= RUN[language] and longest > COPIED * len(said)


def _longest_run(said: list[str], known: list[str]) -> int:
    """How many tokens in a row stand in both."""
    best, before = 0, [0] * (len(known) + 1)
    for token in said:
        row = [0] * (len(known) + 1)
        for at, other in enumerate(known, 1):
            if token == other:
                row[at] = before[at - 1] + 1
                best = max(best, row[at])
        before = row
    return best


@cache
def _names_document(language: Language) -> re.Pattern[str]:
    return re.compile("|".join(read_toml(CHECKS_FILE)[language]["document"]), re.IGNORECASE)


def names_document(question: str, language: Language) -> bool:
    """Whether a question speaks of the document it was made from."""
    return bool(_names_document(language).search(normalise(question)))


WORDING_FILE = Path(__file__).with_name("wordings.toml")
# Keywords that say less than this are no question any more.
FEWEST_WORDS = 2


def worded(
    asked: StatedQuestion, wording: Wording, language: Language, rng: random.Random
) -> tuple[str, Wording]:
    """The question in this wording; where it cannot be put so, as it is, and then it is `plain`."""
    said = ""
    if wording == "keywords":
        said = _keywords(asked, language)
    elif wording == "typed":
        said = mistyped(asked.question, language, rng)
    elif wording in ("keigo", "casual"):
        said = _reworded(asked.question, _tables(language)[wording], rng)
        if language == "en" and wording == "casual":
            said = _small(said)
    return (said, wording) if said and said != asked.question else (asked.question, "plain")


def mistyped(question: str, language: Language, rng: random.Random) -> str:
    """The question as somebody in a hurry types it; as it is where nothing can be changed."""
    return vary(question, language, rng, share=1.0).text


def _reworded(question: str, table: dict[str, Any], rng: random.Random) -> str:
    """With another ending, and words before it; empty where no ending fits and it would sound mixed."""
    for pattern, replacement in table["ends"]:
        said, count = re.subn(pattern, replacement, question)
        if count:
            break
    else:
        if table["strict"]:
            return ""
        said = question
    before = rng.choice(table["before"])
    # Two openings in one question would be one too many.
    return said if "質問です。" in said or said.startswith("I am writing") else before + said


def _keywords(asked: StatedQuestion, language: Language) -> str:
    words = asked.keywords.split()
    if language == "en":
        # My Page keeps its My.
        words = [
            word
            for at, word in enumerate(words)
            if (at and word[:1].isupper()) or word.lower() not in STOP_WORDS
        ]
        words = [word.strip('?,."') for word in words]
    return " ".join(words[:7]).strip() if len(words) >= FEWEST_WORDS else ""


def _small(said: str) -> str:
    """As people type to a chat: small, without the last mark; names in the middle keep their letters."""
    said = re.sub(r"(?<=[.,?!] )[A-Z](?=[a-z']+ )", lambda found: found[0].lower(), said.removesuffix("?"))
    said = re.sub(r"\bI\b", "i", said)
    first = said.split(" ", 1)[0]
    return said[:1].lower() + said[1:] if first[1:] == first[1:].lower() else said


@cache
def _tables(language: Language) -> dict[str, Any]:
    tables: dict[str, Any] = read_toml(WORDING_FILE)[language]
    return {name: {**table, "strict": language == "ja"} for name, table in tables.items()}


# A language that fewer than this share of the articles are in is no language of the desk.
SPOKEN = 0.1


class RuleBasedTestSet:
    """One set of questions by rule; the same for the same articles and seed."""

    def __init__(
        self, articles: Sequence[Article], index: Index, wordings: Sequence[Wording], seed: int
    ) -> None:
        """Asks every article once what can be asked of it."""
        self.index, self.wordings, self.seed = index, wordings, seed
        self.names = Plan(articles, index, wordings, seed)
        written = Counter(article.language for article in articles)
        least = SPOKEN * len(articles)
        self.languages = sorted((each for each, count in written.items() if count >= least), reverse=True)
        draw = random.Random(stable_int(seed, "rules"))  # noqa: S311 - an order, no secret
        self._asked = {
            article.id: (article, list(asked_of(article)))
            for article in draw.sample(list(articles), len(articles))
        }
        self._tell_apart()
        self.barren = sum(not found for _, found in self._asked.values())
        self._number = 0

    def _tell_apart(self) -> None:
        """What several articles answer differently is asked with their titles; the rest is ambiguous."""
        for retold in (True, False):
            self._answers: dict[str, set[str]] = {}
            for _, found in self._asked.values():
                for asked in found:
                    self._answers.setdefault(asked.question, set()).add(asked.reference)
            for article, found in self._asked.values() if retold else ():
                found[:] = [
                    in_context(asked, article) if len(self._answers[asked.question]) > 1 else asked
                    for asked in found
                ]

    def make(self, kinds: Sequence[Kind], number: int) -> TestSet:
        """At most so many questions of these kinds; what one kind lacks, the simple ones make up for."""
        taken = Acceptance()
        wanted = quotas(kinds, number)
        waiting = {kind: self._of_kind(kind) for kind in kinds}
        for kind in kinds:
            self._take(taken, kind, waiting[kind], wanted[kind])
        for kind in (kind for kind in kinds if kind not in OUT_OF_SCOPE):
            self._take(taken, kind, waiting[kind], number - len(taken.cases))
        return taken.made()

    def _take(
        self,
        taken: Acceptance,
        kind: Kind,
        waiting: Iterator[tuple[Article | None, StatedQuestion, Language]],
        most: int,
    ) -> None:
        count = 0
        while count < most and (found := next(waiting, None)) is not None:
            count += self._considered(taken, kind, *found)

    def _considered(
        self,
        taken: Acceptance,
        kind: Kind,
        article: Article | None,
        asked: StatedQuestion,
        language: Language,
    ) -> bool:
        wording = fitting(kind, self.wordings, self._number)
        self._number += 1
        draw = random.Random(stable_int(self.seed, asked.question))  # noqa: S311 - a choice, no secret
        question, wording = worded(asked, wording, language, draw)
        case = Case(
            id=self.names.name([article] if article else (), kind),
            question=question,
            language=language,
            references=((asked.reference,),),
            passages=(article.id,) if article else (),
            answerable=article is not None,
            tags=tags(kind, wording, "rule-made"),
        )
        articles = [article] if article else []
        fault = fault_of_form(case, kind, articles, by_rule=True)
        if fault is None and article and len(self._answers[asked.question]) > 1:
            fault = RejectedQuestion(case=case, why="ambiguous")
        return taken.consider(case, fault)

    def _of_kind(self, kind: Kind) -> Iterator[tuple[Article | None, StatedQuestion, Language]]:
        if kind in OUT_OF_SCOPE:
            yield from self._outside(kind)
            return
        # One question of each article first, then a second of each.
        of_kind = (
            (article, [each for each in found if each.kind == kind])
            for article, found in self._asked.values()
        )
        rows = deque((article, deque(found)) for article, found in of_kind)
        while rows:
            article, found = rows.popleft()
            if found:
                yield article, found.popleft(), article.language
                rows.append((article, found))

    def _outside(self, kind: Kind) -> Iterator[tuple[None, StatedQuestion, Language]]:
        rows = [deque(self._out_of_scope(kind, language)) for language in self.languages]
        while any(rows):
            for row, language in zip(rows, self.languages, strict=True):
                if row:
                    yield None, row.popleft(), language

    def _out_of_scope(self, kind: Kind, language: Language) -> list[StatedQuestion]:
        table = outside()[language]
        draw = random.Random(stable_int(self.seed, kind, language))  # noqa: S311 - an order, no secret
        if kind == "neighbour":
            pairs = [
                (each["question"], each["matter"])
                for each in table["neighbours"]
                if not any(map(self.index.holds, each["words"]))
            ]
        else:
            pairs = [(question, matter) for question, matter in table[kind]]
        refusal = Template(table.get(f"refusal_{kind}", table["refusal"]))
        chosen = draw.sample(pairs, len(pairs))
        return [
            StatedQuestion(
                kind,
                Template(question).substitute(name=company(language, number + self.seed)),
                "",
                refusal.substitute(matter=matter),
            )
            for number, (question, matter) in enumerate(chosen)
        ]


Item = TypeVar("Item")
# What an out-of-scope question is checked against: its own article and the nearest of all others.
NEAREST = 4


class Writer:
    """Makes and checks questions; what is made is kept, also when the rest cannot be."""

    def __init__(
        self, writes: Model, checks: Model, index: Index, prompts: Prompts, *, seed: int, calls: int
    ) -> None:
        """`writes` and `checks` may be different models; `calls` are in flight at most."""
        self.writes, self.checks, self.index, self.prompts = writes, checks, index, prompts
        self.seed, self.calls = seed, calls
        self._taken = Acceptance()

    @property
    def made(self) -> TestSet:
        """What there is so far."""
        return self._taken.made()

    async def make(self, tasks: Sequence[Task], progress: Callable[[], None] = lambda: None) -> TestSet:
        """Every task, in any order; what comes of them is taken in theirs, so that it is always the same.

        Raises AccessDenied and BudgetSpent, after which `made` has what was finished before.
        """
        found: dict[str, tuple[Case, RejectedQuestion | None] | str] = {}

        async def one(task: Task) -> None:
            try:
                found[task.id] = await self._one(task)
            except AccessDenied:
                raise
            except ModelFailure as error:
                found[task.id] = error.failure.kind
            progress()

        try:
            await each_of(tasks, one, self.calls)
        finally:
            self._take(tasks, found)
        return self.made

    def _take(
        self, tasks: Sequence[Task], found: dict[str, tuple[Case, RejectedQuestion | None] | str]
    ) -> None:
        for task in tasks:
            outcome = found.get(task.id)
            if isinstance(outcome, str):
                self._taken.failed(task.id, outcome)
            elif outcome is not None:
                self._taken.consider(*outcome)

    async def _one(self, task: Task) -> tuple[Case, RejectedQuestion | None]:
        def again(problem: str) -> str:
            return self.prompts.again(task.language, problem)

        seed = stable_int(self.seed, task.id)
        draft = await self.writes.ask(self.prompts.write(task), draft_form(task.kind), again, seed=seed)
        case = case_of(task, draft)
        fault = fault_of_form(case, task.kind, task.articles, name=task.name)
        if fault is not None:
            return case, fault
        articles = self._before_the_reader(case, task)
        messages = self.prompts.check(case, task.kind, articles)
        check = await self.checks.ask(messages, check_form(task.kind), again, seed=seed)
        fault = fault_of_check(case, check)
        if fault is not None and fault.why == "differs" and isinstance(check, Check) and check.answer.strip():
            # Counting knows few ways to say the same: a reader of both answers has the last word.
            messages = self.prompts.compare(case, check.answer.strip())
            if (await self.checks.ask(messages, Comparison, again, seed=seed)).same:
                fault = None
        return self._typed(case, task), fault

    def _before_the_reader(self, case: Case, task: Task) -> tuple[Article, ...]:
        """The gold passages; for what should be out of scope, all that might answer it after all."""
        if task.kind not in OUT_OF_SCOPE:
            return task.articles
        near = self.index.nearest(case.question, NEAREST)
        return tuple({article.id: article for article in (*task.articles, *near)}.values())

    def _typed(self, case: Case, task: Task) -> Case:
        """Mistyped last: what is checked is what is meant."""
        if task.wording != "typed":
            return case
        draw = random.Random(stable_int(self.seed, task.id, "typed"))  # noqa: S311 - a choice, no secret
        return case.model_copy(update={"question": mistyped(case.question, case.language, draw)})


async def each_of(items: Iterable[Item], work: Callable[[Item], Awaitable[None]], at_once: int) -> None:
    """Works on every item, so many at once; the first unexpected error ends all and is raised."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, at_once)):
                group.create_task(worker())
    except BaseExceptionGroup as group_error:
        raise worst_of(group_error) from None


def case_of(task: Task, draft: Draft | FollowUpDraft) -> Case:
    """The draft as a case of a question file."""
    inside = task.kind not in OUT_OF_SCOPE
    history: tuple[Message, ...] = ()
    if isinstance(draft, FollowUpDraft):
        history = (
            Message(role="user", content=_writing_line(draft.earlier_question)),
            Message(role="assistant", content=draft.earlier_answer.strip()),
        )
    return Case(
        id=task.id,
        question=_writing_line(draft.question) or "-",
        language=task.language,
        history=history,
        references=((draft.reference.strip(),),) if draft.reference.strip() else (),
        passages=tuple(article.id for article in task.articles) if inside else (),
        answerable=inside,
        goal=draft.goal.strip() or None,
        facts=Facts(knows=tuple(filter(None, map(str.strip, draft.knows)))),
        tags=tags(task.kind, task.wording),
    )


def _writing_line(text: str) -> str:
    """A question without the quotation marks that models put around it."""
    plain = text.strip()
    for opening, closing in ("「」", '""', "“”", "''"):
        inside = plain[1:-1]
        if len(plain) > 2 and plain[0] == opening and plain[-1] == closing and closing not in inside:
            plain = inside.strip()
    return plain


FROM_LOGS = "from-logs"
_GREETING = re.compile(
    r"(?:こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|はじめまして|初めまして|もしもし|すみません|はい"
    r"|(?:よろしく|宜しく)お(?:願い|ねがい)(?:いた)?します"
    r"|hello|hi|hey|good (?:morning|afternoon|evening)|yes|[\s、。,.!！ー〜])+",
    re.IGNORECASE,
)
# Ways to speak that are put before a model at once, and lines of one dialogue.
MOST_MANNERS, MOST_LINES = 80, 40


class Logs:
    """The dialogues of one file, redacted; `counts` says how much of each kind was masked."""

    def __init__(
        self, path: str | Path, language: Language | None = None, patterns: Sequence[str] = ()
    ) -> None:
        """Reads whatever is read as questions with a history, turns, or recorded answers."""
        redactor = Redactor(patterns)
        counts: Counter[str] = Counter()
        self.dialogues: list[tuple[str, Language, tuple[Message, ...]]] = []
        for number, case in enumerate(read_cases(path), 1):
            if language not in (None, case.language):
                continue
            masked, masks = redacted_case(case, redactor)
            lines = tuple(_lines(masked))
            if any(line.role == "user" and line.content.strip() for line in lines):
                counts.update(masks)
                # Ids of logs are often customers' numbers; the place in the file is not.
                self.dialogues.append((f"log-{number:04}", case.language, lines))
        self.counts = dict(counts)
        self.manners: dict[Language, list[str]] = {"ja": [], "en": []}
        self._taken = Acceptance()

    @property
    def made(self) -> TestSet:
        """What there is so far."""
        return self._taken.made()

    def by_rule(self) -> TestSet:
        """The first question of every dialogue as it was put; what it was about is not known."""
        for id_, language, lines in self.dialogues:
            question = _first(lines, language)
            self._taken.consider(
                Case(id=id_, question=question, language=language, goal=question, tags=(MADE, FROM_LOGS))
            )
        return self.made

    async def distil(
        self, model: Model, prompts: Prompts, *, seed: int, calls: int, progress: Callable[[], None]
    ) -> TestSet:
        """The same with goal, facts and wording, as a model reads the dialogues.

        Raises AccessDenied and BudgetSpent, after which `made` has what was finished before.
        """
        found: dict[str, DialogueSummary | str] = {}

        async def one(dialogue: tuple[str, Language, tuple[Message, ...]]) -> None:
            id_, language, lines = dialogue
            try:
                found[id_] = await model.ask(
                    prompts.distil(lines, language, DialogueSummary), DialogueSummary,
                    lambda problem: prompts.again(language, problem), seed=stable_int(seed, id_),
                )  # fmt: skip
            except AccessDenied:
                raise
            except ModelFailure as error:
                found[id_] = error.failure.kind
            progress()

        try:
            await each_of(self.dialogues, one, calls)
        finally:
            self._take(found)
        return self.made

    async def speakers(
        self, model: Model, prompts: Prompts, names: Sequence[str], seed: int
    ) -> list[Speaker]:
        """The kinds of customers behind the dialogues; none where nothing is known of their ways.

        Raises ModelFailure.
        """
        language: Language = "ja" if self.manners["ja"] else "en"
        manners = list(dict.fromkeys([*self.manners["ja"], *self.manners["en"]]))[:MOST_MANNERS]
        if not manners:
            return []
        messages = prompts.speakers(manners, language, Speaker, names)
        reply = await model.ask(
            messages,
            Speakers,
            lambda problem: prompts.again(language, problem),
            seed=stable_int(seed, "speakers"),
        )
        return reply.personas

    def sizes(self, prompts: Prompts) -> Iterator[tuple[Language, int]]:
        """Language and tokens of each request."""
        for _, language, lines in self.dialogues:
            messages = prompts.distil(lines, language, DialogueSummary)
            yield language, sum(prompt_tokens(message["content"]) for message in messages)

    def _take(self, found: dict[str, DialogueSummary | str]) -> None:
        for id_, language, lines in self.dialogues:
            outcome = found.get(id_)
            if isinstance(outcome, str):
                self._taken.failed(id_, outcome)
            elif outcome is not None:
                if outcome.manner.strip():
                    self.manners[language].append(" ".join(outcome.manner.split()))
                self._taken.consider(_case(id_, language, lines, outcome))


def _case(id_: str, language: Language, lines: Sequence[Message], known: DialogueSummary) -> Case:
    return Case(
        id=id_,
        question=_first(lines, language),
        language=language,
        goal=known.goal.strip() or None,
        facts=Facts(
            knows=tuple(filter(None, map(str.strip, known.knows))),
            unknown=tuple(filter(None, map(str.strip, known.unknown))),
        ),
        tags=(MADE, FROM_LOGS, known.wording),
    )


def _first(lines: Sequence[Message], language: Language) -> str:
    """The first thing that the customer wants: a greeting alone is none, where more is said later."""
    said = [line.content.strip() for line in lines if line.role == "user" and line.content.strip()]
    meant = (text for text in said if any(part.act != "courtesy" for part in parts(text, language)))
    return next((text for text in meant if not _GREETING.fullmatch(text)), said[0])


def _lines(case: Case) -> Iterator[Message]:
    """The whole dialogue in its order, as far as a case keeps it."""
    yield from case.history
    said = [line for line in (case.question, *case.script) if line.strip() and line != NO_QUESTION]
    answers = [answer.text for answer in case.recorded] or ([case.answer] if case.answer else [])
    for at, line in enumerate(said[:MOST_LINES]):
        yield Message(role="user", content=line)
        if at < len(answers) and answers[at].strip():
            yield Message(role="assistant", content=answers[at])


# How often what was rejected or failed is made up for with further tasks.
ROUNDS = 3
# A model that writes speaks freely, one that checks does not.
WRITING, CHECKING = 0.8, 0.0


class TestSetRequest(NamedTuple):
    """What the user asks for; one of `knowledge` and `logs` there is."""

    knowledge: str | None = None
    number: int = 40
    kinds: Sequence[str] = ()
    wordings: Sequence[str] = ()
    language: Language | None = None
    logs: str | None = None
    patterns: Sequence[str] = ()


class TestSetRun:
    """One order for test questions; whatever is wrong with it shows before anything is paid."""

    def __init__(self, wish: TestSetRequest, settings: Settings) -> None:
        """Reads the articles and the logs; connects to nothing yet."""
        self.wish, self.settings = wish, settings
        self.prompts = Prompts()
        self.ledger = Ledger.of(settings)
        known = endpoints(settings)
        roles: tuple[Role, ...] = ("user", "judge")
        self.endpoints = {role: known[role] for role in roles}
        self.by_rule = self.endpoints["user"] is None or self.endpoints["judge"] is None
        self.kinds: tuple[Kind, ...] = chosen_kinds(wish.kinds, by_rule=self.by_rule)
        self.wordings: tuple[Wording, ...] = chosen_wordings(wish.wordings)
        self.articles: tuple[Article, ...] = ()
        if wish.knowledge is not None:
            self.articles = read_articles(wish.knowledge, wish.language)
        self.index = Index(self.articles)
        self.logs = Logs(wish.logs, wish.language, wish.patterns) if wish.logs else None
        self.barren = 0
        self._ruled = TestSet(())
        connections = Connections.of(settings)
        self._models = Models(known, connections, self.ledger)

    @property
    def models(self) -> dict[str, str]:
        """Who writes and who checks."""
        return {role: at.model if at else LEXICAL for role, at in self.endpoints.items()}

    def forecast(self) -> Spending:
        """Calls, tokens and dollars, from the real prompts, if every question is made at the first go."""
        if self.by_rule:
            return Spending()
        totals: Counter[tuple[str, str]] = Counter()
        for task in self._plan().take(self.kinds, self.wish.number) if self.articles else ():
            self._count(totals, task)
        for language, size in self.logs.sizes(self.prompts) if self.logs else ():
            totals["judge", "calls"] += 1
            totals["judge", "in"] += size
            totals["judge", "out"] += prompt_tokens(_letters(language))
        return _together(totals, self.models, self.ledger.prices)

    async def make(self, progress: Callable[[int, int], None] = lambda *_: None) -> TestSet:
        """All questions from the articles, in rounds until there are enough.

        Raises AccessDenied and BudgetSpent; `made` then has what there is.
        """
        if not self.articles:
            return TestSet(())
        if self.by_rule:
            ruled = RuleBasedTestSet(self.articles, self.index, self.wordings, self.settings.seed)
            self.barren = ruled.barren
            self._ruled = ruled.make(self.kinds, self.wish.number)
            return self._ruled
        plan = self._plan()
        tasks = plan.take(self.kinds, self.wish.number)
        for number in range(ROUNDS):
            total = len(self.writer.made.cases) + len(tasks)
            done = Counter[str]()

            def step(total: int = total, done: Counter[str] = done) -> None:
                done["done"] += 1
                progress(done["done"], total)

            made = await self.writer.make(tasks, step)
            short = self._short(made, tasks) if number < ROUNDS - 1 else {}
            if not short:
                break
            tasks = plan.take_each(short)
        return self.writer.made

    @property
    def made(self) -> TestSet:
        """What there is so far, also after an interruption."""
        return self._ruled if self.by_rule or not self.articles else self.writer.made

    async def distil(self, progress: Callable[[int, int], None] = lambda *_: None) -> TestSet:
        """All questions from the logs. Raises AccessDenied and BudgetSpent."""
        if self.logs is None:
            return TestSet(())
        model = self._model("judge", CHECKING)
        if model is None:
            return self.logs.by_rule()
        done = Counter[str]()
        total = len(self.logs.dialogues)

        def step() -> None:
            done["done"] += 1
            progress(done["done"], total)

        seed, calls = self.settings.seed, self.settings.calls
        return await self.logs.distil(model, self.prompts, seed=seed, calls=calls, progress=step)

    async def personas(self, folder: Path) -> tuple[list[Path], str]:
        """Persona files of those who speak in the logs, or why there are none. Raises AccessDenied."""
        model = self._model("judge", CHECKING)
        if model is None or self.logs is None:
            return [], "no model"
        shelf = {name: shelves.persona(name) for name in shelves.persona_names()}
        try:
            speakers = await self.logs.speakers(model, self.prompts, sorted(shelf), self.settings.seed)
        except AccessDenied:
            raise
        except ModelFailure as error:
            return [], error.failure.kind
        return save_personas(
            speakers, folder, shelf
        ), "" if speakers else "nothing is known of how they speak"

    def _model(self, role: Role, temperature: float) -> Model | None:
        return None if self.by_rule else self._models.role(role, temperature=temperature, priority=GRADING)

    @property
    def writer(self) -> Writer:
        """Who writes and checks by model."""
        if not hasattr(self, "_writer"):
            writes, checks = self._model("user", WRITING), self._model("judge", CHECKING)
            if writes is None or checks is None:
                msg = "there is no model; rules make the questions"
                raise RuntimeError(msg)
            calls, seed = self.settings.calls, self.settings.seed
            self._writer = Writer(writes, checks, self.index, self.prompts, seed=seed, calls=calls)
        return self._writer

    async def close(self) -> None:
        """Closes the models' connections."""
        await self._models.connections.close()

    def _plan(self) -> Plan:
        return Plan(self.articles, self.index, self.wordings, self.settings.seed)

    def _short(self, made: TestSet, tasks: Sequence[Task]) -> dict[Kind, int]:
        """What was rejected of these tasks, by kind: failures are not tried again, they stay failures."""
        good = {case.id for case in made.cases} | {id_ for id_, _ in made.failures}
        return dict(Counter(task.kind for task in tasks if task.id not in good))

    def _count(self, totals: Counter[tuple[str, str]], task: Task) -> None:
        letters = prompt_tokens(_letters(task.language))
        asked = sum(prompt_tokens(message["content"]) for message in self.prompts.write(task))
        totals["user", "calls"] += 1
        totals["user", "in"] += asked
        totals["user", "out"] += 2 * letters
        totals["judge", "calls"] += 1
        totals["judge", "in"] += asked
        totals["judge", "out"] += letters


def _letters(language: Language) -> str:
    return ("あ" if language == "ja" else "a") * ANSWER[language]


def _together(totals: Counter[tuple[str, str]], models: dict[str, str], prices: Prices) -> Spending:
    return together(
        [
            prices.spending(model, totals[role, "calls"], totals[role, "in"], totals[role, "out"])
            for role, model in models.items()
            if totals[role, "calls"]
        ]
    )
