"""The words of a cross-examination: a follow-up question, the bot's answer to it, and how the two agree."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from simulator.addons.consistency.figures import Disagreement, checkable, disagreement, takes_up, unit_of
from simulator.core import replies
from simulator.core.errors import AccessDenied, ModelFailure, RunFileError
from simulator.core.replies import Reply
from simulator.core.templates import Texts, check_languages, fingerprint, quote, read_toml, render, stable_int
from simulator.core.types import Bot, Conversation, Language, Message, Query, Results, Turn, Value
from simulator.models.client import Messages, Model
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask
from simulator.storage.run_file import RunFile
from simulator.text.acts import claims, is_handover, is_refusal
from simulator.text.entities import Specific, located
from simulator.text.entity_meaning import half_width
from simulator.text.evidence import share, stated, topic_units
from simulator.text.segments import sentences
from simulator.text.typography import straight

# `unproven`: a disagreement was named whose quotes do not stand in the answers. `no_answer`: the bot failed.
Outcome = Literal["consistent", "contradicts", "corrects", "evades", "unproven", "no_answer"]
OUTCOMES: tuple[Outcome, ...] = ("contradicts", "corrects", "evades", "unproven", "no_answer", "consistent")


class FollowUp(Value):
    """A question about a part of an answer; `claim` is that part, word for word."""

    claim: str
    question: str


class Verdict(Value):
    """How a later answer goes with an earlier one; the quotes are word for word, or empty."""

    outcome: Outcome
    first_quote: str = ""
    later_quote: str = ""
    reason: str = ""


class FollowUpCheck(Value):
    """One follow-up question about a turn, the bot's answer to it, and the verdict on both answers."""

    conversation: str
    turn: int
    number: int
    language: Language
    asked: FollowUp
    answer: str
    verdict: Verdict


class TurnFollowUps(Value):
    """What is kept of an examined turn: its crossings, and who asked and compared: models, or a stand-in."""

    conversation: str
    turn: int
    by: str
    crossings: tuple[FollowUpCheck, ...] = ()


class Target(Value):
    """A turn to be examined, within its conversation."""

    conversation: Conversation
    turn: Turn

    @property
    def key(self) -> tuple[str, int]:
        """What the turn is known by."""
        return self.conversation.id, self.turn.index

    @property
    def earlier(self) -> tuple[Turn, ...]:
        """The turns before it."""
        return self.conversation.turns[: self.turn.index - 1]


FILE = Path(__file__).with_name("prompts.toml")
LONGEST_SAID = 4000
_VARIABLES: dict[str, set[str]] = {
    "examiner_system": set(),
    "examiner": {"history", "question", "answer", "count", "form"},
    "comparer_system": set(),
    "comparer": {"history", "question", "answer", "claim", "followup", "later", "form"},
    "again": {"problem"},
}
_QUOTATION = "\"'「」『』"


class FollowUpReply(Reply):
    """One follow-up question, and the words of the answer that it comes from."""

    claim: str
    question: str


class Questions(Reply):
    """What the examiner fills in."""

    thoughts: str
    questions: list[FollowUpReply]


class Comparison(Reply):
    """What the comparer fills in."""

    reasoning: str
    first_quote: str
    later_quote: str
    verdict: Literal["consistent", "contradicts", "corrects", "evades"]


class Prompts:
    """prompts.toml, checked when it is read."""

    def __init__(self, path: Path = FILE) -> None:
        self._tables = read_toml(path)
        check_languages(path, self._tables, _VARIABLES)

    def again(self, language: Language, problem: str) -> str:
        """What is said to a model whose reply could not be read."""
        return render(self._tables[language]["again"], problem=problem)

    def examiner(self, target: Target, count: int) -> Messages:
        """The order to write follow-up questions about one answer."""
        fields = self._tables[target.conversation.case.language]["fields"]
        form = _form({"thoughts": fields["thoughts"]}, fields)
        return self._messages("examiner", target, {}, count=str(count), form=form)

    def comparer(self, target: Target, asked: FollowUp, later: str) -> Messages:
        """The order to compare the answer with the one that a follow-up question got."""
        fields = self._tables[target.conversation.case.language]["fields"]
        keys = ("reasoning", "first_quote", "later_quote", "verdict")
        form = replies.skeleton({key: ("text", str(fields[key])) for key in keys})
        said = {"claim": asked.claim, "followup": asked.question, "later": later}
        return self._messages("comparer", target, said, form=form)

    def fingerprint(self) -> str:
        """Changes whenever a word that the models read changes."""
        return fingerprint(repr(self._tables))

    def _messages(self, order: str, target: Target, said: dict[str, str], **plain: str) -> Messages:
        """The material under tags whose codes depend on all of it, so that nothing quoted can forge one."""
        language = target.conversation.case.language
        lines = _before(target)
        said = {"question": target.turn.user, "answer": target.turn.answer.text, **said}
        seal = fingerprint(*(text for line in lines for text in line), *said.values())
        shown = {key: quote(key, text[:LONGEST_SAID], seal) for key, text in said.items()}
        history = "\n".join(quote(who, text, f"{seal}{at}") for at, (who, text) in enumerate(lines)) or "-"
        system = render(self._tables[language][f"{order}_system"])
        asked = render(self._tables[language][order], history=history, **shown, **plain)
        return [{"role": "system", "content": system}, {"role": "user", "content": asked}]


def follow_ups(reply: Questions, answer: str, count: int) -> tuple[FollowUp, ...]:
    """The usable questions: asked about words that stand in the answer, none twice."""
    found: dict[str, FollowUp] = {}
    for each in reply.questions:
        asked, claim = each.question.strip(), verbatim(each.claim, answer)
        if asked and claim and len(asked) <= LONGEST_SAID:
            found.setdefault(asked, FollowUp(claim=claim, question=asked))
    return tuple(found.values())[:count]


def verdict_of(reply: Comparison, first: str, later: str) -> Verdict:
    """The verdict with its quotes; one that rests on words which nobody said is not counted."""
    here, there = verbatim(reply.first_quote, first), verbatim(reply.later_quote, later)
    outcome: Outcome = reply.verdict
    if outcome in ("contradicts", "corrects") and not (here and there):
        outcome = "unproven"
    return Verdict(outcome=outcome, first_quote=here, later_quote=there, reason=reply.reasoning.strip())


def verbatim(quoted: str, text: str) -> str:
    """The quoted words as they stand in the text; '' when they do not. Spaces and width are free."""
    wanted = _letters(straight(quoted).strip().strip(_QUOTATION))
    there = _letters(text)
    sought = "".join(letter for letter, _ in wanted)
    place = "".join(letter for letter, _ in there).find(sought) if sought else -1
    if place < 0:
        return ""
    return text[there[place][1] : there[place + len(sought) - 1][1] + 1].strip()


def _letters(text: str) -> list[tuple[str, int]]:
    """The letters of a text that are no space, plain and in lower case, and where they stand."""
    lower = ((letter.lower(), at) for at, letter in enumerate(half_width(text)) if not letter.isspace())
    return [(letter if len(letter) == 1 else letter[0], at) for letter, at in lower]


def _before(target: Target) -> list[tuple[str, str]]:
    who = {"user": "customer", "assistant": "desk"}
    lines = [(who[message.role], message.content) for message in target.conversation.case.history]
    for turn in target.earlier:
        lines += [("customer", turn.user), ("desk", turn.answer.text)]
    return [(who, text[:LONGEST_SAID]) for who, text in lines]


def _form(first: dict[str, str], fields: dict[str, str]) -> str:
    """The examiner's form: a list of claims with questions has no kind of its own."""
    head = replies.skeleton({key: ("text", text) for key, text in first.items()}).rstrip().removesuffix("}")
    one = replies.skeleton({key: ("text", str(fields[key])) for key in ("claim", "question")}).strip()
    return f'{head.rstrip().rstrip(",")},\n  "questions": [{" ".join(one.split())}]\n}}'


TEXTS = Texts(Path(__file__).with_name("examination.toml"))
# A quoted sentence is cut beyond so many characters.
LONGEST = {"ja": 60, "en": 140}
# A later answer that shares so much (0..1) of the topic of what was asked takes it up.
TAKEN_UP = 0.35
_ADMITS = re.compile(
    r"訂正|先ほど(?:の|は)[^。]{0,20}(?:誤|間違)|誤ったご案内|誤りでした|間違いでした|正しくは|失礼いたしました"
    r"|\b(?:correct myself|my mistake|i was wrong|that was (?:wrong|incorrect)|sorry for the mistake)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\s*(?:いいえ|いえ、|no\b(?=[,.]| ))", re.IGNORECASE)
_IS_NOT = r"\s*(?:(?:で|じゃ)は(?:なく|ありません|ない|ございません)|じゃない)"
_ENDS = "。.．!！?？ 　"


def stand_in_follow_ups(target: Target, count: int) -> tuple[FollowUp, ...]:
    """Questions about the figures of an answer, then about what it says is not so."""
    answer, language = target.turn.answer.text, target.conversation.case.language
    asked = (*_by_figure(answer, language), *_by_denial(answer, language)) or _by_claim(answer, language)
    found = {each.question: each for each in asked}
    return tuple(found.values())[:count]


def compare(target: Target, asked: FollowUp, later: str) -> Verdict:
    """How the later answer goes with the claim: by its figures, by yes and no, or not at all."""
    language = target.conversation.case.language
    # An admission is told apart from what is then said.
    admits = [bool(_ADMITS.search(sentence)) for sentence in sentences(later)]
    said = "\n".join(
        _ADMITS.sub("", sentence).lstrip("、。, ") if admitted else sentence
        for sentence, admitted in zip(sentences(later), admits, strict=True)
        if not admitted or checkable(sentence)
    )
    if found := disagreement(asked.claim, said) or _replied(asked, said):
        outcome: Outcome = "corrects" if any(admits) else "contradicts"
        key = "other_figure" if found.what == "detail" else "other_side"
        reason = TEXTS(language, key, one=found.details[0], other=found.details[1])
        return Verdict(outcome=outcome, first_quote=found.one, later_quote=found.other, reason=reason)
    repeated = next((each for each in checkable(asked.claim) if located(each, (later,)) is not None), None)
    if repeated:
        reason = TEXTS(language, "same_figure", one=repeated.text)
        return Verdict(outcome="consistent", first_quote=asked.claim, reason=reason)
    refuses = is_refusal(later, language) or is_handover(later, language)
    if refuses or share(topic_units(asked.claim), topic_units(later)) < TAKEN_UP:
        return Verdict(outcome="evades", first_quote=asked.claim, reason=TEXTS(language, "not_taken_up"))
    return Verdict(outcome="consistent", first_quote=asked.claim, reason=TEXTS(language, "nothing_against"))


def _replied(asked: FollowUp, later: str) -> Disagreement | None:
    """What only a reply can say: いいえ, "not 9,500 yen", or a short answer with another figure."""
    mine = checkable(asked.claim)
    said = sentences(later)
    figure = next((each.text for each in mine if each.text in asked.question), "")
    told = re.escape(straight(figure))
    denied = figure and re.search(f"{told}{_IS_NOT}|\\bnot {told}", straight(later), re.IGNORECASE)
    if said and figure and (denied or _NO.match(later)):
        quote = next((each for each in said if figure in each), said[0]) if denied else said[0]
        return Disagreement(what="polarity", one=asked.claim, other=quote)
    units = {unit_of(each) for each in mine if located(each, (later,)) is None}
    units -= {unit_of(each) for each in mine if located(each, (later,)) is not None}
    for sentence in said:
        other = next((each for each in checkable(sentence) if unit_of(each) in units), None)
        if other and takes_up(sentence, asked.claim):
            first = next(each for each in mine if unit_of(each) == unit_of(other))
            return Disagreement(
                what="detail", one=asked.claim, other=sentence, details=(first.text, other.text)
            )
    return None


def _by_figure(answer: str, language: Language) -> Iterator[FollowUp]:
    """The sentence of a figure quoted back; a figure of each kind first."""
    told = [(each, sentence) for sentence in sentences(answer) for each in checkable(sentence)]
    kinds: set[str] = set()
    for first in (True, False):
        for figure, sentence in told:
            if first == (figure.kind not in kinds):
                kinds.add(figure.kind)
                yield FollowUp(claim=sentence, question=_question(figure, sentence, language))


def _by_denial(answer: str, language: Language) -> Iterator[FollowUp]:
    for clause in stated(answer):
        if clause.denies:
            question = TEXTS(language, "ask_denied", claim=_short(clause.text, language))
            yield FollowUp(claim=clause.text, question=question)


def _by_claim(answer: str, language: Language) -> tuple[FollowUp, ...]:
    """The first thing that an answer without figures and denials says is so."""
    told = claims(answer, language)[:1]
    return tuple(
        FollowUp(claim=each, question=TEXTS(language, "ask_claim", claim=_short(each, language)))
        for each in told
    )


def _question(figure: Specific, sentence: str, language: Language) -> str:
    return TEXTS(language, f"ask_{figure.kind}", claim=_short(sentence, language), figure=figure.text)


def _short(sentence: str, language: Language) -> str:
    bare = sentence.strip().rstrip(_ENDS)
    longest = LONGEST[language]
    return bare if len(bare) <= longest else bare[:longest].rstrip() + "…"


# What plays both parts where there is no model.
STAND_IN = "stand-in"
Form = TypeVar("Form", Questions, Comparison)


class Examiner:
    """Writes the questions and compares the answers: by models, or by rule where there are none."""

    def __init__(self, context: RunContext, questions: int) -> None:
        """`questions` is the most that are asked about one answer."""
        self.questions, self.seed = questions, context.settings.seed
        self.prompts = Prompts()
        # As a customer would: in the customer model's words. The judge's model reads both answers.
        self.asking = context.model("user", temperature=context.settings.user_temperature)
        self.comparing = context.model("judge", temperature=context.settings.judge_temperature)

    @property
    def name(self) -> str:
        """Who asks and who compares."""
        parts = [model.endpoint.model if model else STAND_IN for model in (self.asking, self.comparing)]
        return parts[0] if parts[0] == parts[1] else " / ".join(parts)

    async def follow_ups(self, target: Target) -> tuple[FollowUp, ...]:
        """The questions about one answer; raises ModelFailure."""
        if self.asking is None:
            return stand_in_follow_ups(target, self.questions)
        messages = self.prompts.examiner(target, self.questions)
        reply = await self._ask(self.asking, messages, Questions, target, "questions")
        return follow_ups(reply, target.turn.answer.text, self.questions)

    async def compare(self, target: Target, asked: FollowUp, later: str) -> Verdict:
        """How the answer to a follow-up question goes with the examined one; raises ModelFailure."""
        if self.comparing is None:
            return compare(target, asked, later)
        messages = self.prompts.comparer(target, asked, later)
        reply = await self._ask(self.comparing, messages, Comparison, target, asked.question)
        return verdict_of(reply, target.turn.answer.text, later)

    async def _ask(
        self, model: Model, messages: list[dict[str, str]], form: type[Form], target: Target, about: str
    ) -> Form:
        language = target.conversation.case.language
        return await model.ask(
            messages,
            form,
            lambda problem: self.prompts.again(language, problem),
            seed=stable_int(self.seed, *target.key, about),
        )


class CrossExamination:
    """The turns of one sitting; `kept` is told of each as soon as it is whole."""

    def __init__(
        self, examiner: Examiner, bot: Bot, context: RunContext, kept: Callable[[TurnFollowUps], None]
    ) -> None:
        self.examiner, self.bot, self.kept = examiner, bot, kept
        self.timeout = context.settings.timeout
        self._places = asyncio.Semaphore(context.settings.concurrency)

    async def all(self, chosen: Sequence[Target]) -> list[ModelFailure]:
        """Examines these turns, several at a time; gives the failures of models, which cost only their turn.

        Raises AccessDenied and BudgetSpent.
        """
        failures: list[ModelFailure] = []

        async def one(target: Target) -> None:
            async with self._places:
                try:
                    self.kept(await self.examined(target))
                except AccessDenied:
                    raise
                except ModelFailure as error:
                    failures.append(error)

        try:
            async with asyncio.TaskGroup() as tasks:
                for target in chosen:
                    tasks.create_task(one(target))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return failures

    async def examined(self, target: Target) -> TurnFollowUps:
        """One turn: every follow-up question in a session of its own, after the same earlier dialogue."""
        crossings = []
        for number, asked in enumerate(await self.examiner.follow_ups(target), 1):
            answer = await ask(self.bot, query(target, asked.question, number), self.timeout)
            if answer.error is None:
                verdict = await self.examiner.compare(target, asked, answer.text)
            else:
                verdict = Verdict(outcome="no_answer", reason=answer.error.message)
            crossings.append(
                FollowUpCheck(
                    conversation=target.conversation.id,
                    turn=target.turn.index,
                    number=number,
                    language=target.conversation.case.language,
                    asked=asked,
                    answer=answer.text,
                    verdict=verdict,
                )
            )
        conversation, turn = target.key
        return TurnFollowUps(
            conversation=conversation, turn=turn, by=self.examiner.name, crossings=tuple(crossings)
        )


def query(target: Target, question: str, number: int) -> Query:
    """What the bot is asked: the dialogue up to and with the examined answer, then the question."""
    history = list(target.conversation.case.history)
    for turn in (*target.earlier, target.turn):
        history.append(Message(role="user", content=turn.user))
        history.append(Message(role="assistant", content=turn.answer.text))
    return Query(
        text=question,
        history=tuple(history),
        session=f"cross-examine/{target.conversation.id}/{target.turn.index}/{number}",
        case=target.conversation.case.id,
        language=target.conversation.case.language,
    )


def crossings(examined: Iterable[TurnFollowUps]) -> tuple[FollowUpCheck, ...]:
    """All questions of all examined turns."""
    return tuple(crossing for each in examined for crossing in each.crossings)


NOTE = "cross_examination"
_LIST = TypeAdapter(tuple[TurnFollowUps, ...])


def examined_of(results: Results) -> tuple[TurnFollowUps, ...]:
    """The turns that have been examined, in the order of the run; raises RunFileError for a foreign note."""
    try:
        found = _LIST.validate_python(results.notes.get(NOTE, []))
    except ValidationError:
        msg = "the cross-examination in this run file is of another version: cross-examine RUN --again."
        raise RunFileError(msg) from None
    order = {conversation.id: place for place, conversation in enumerate(results.conversations)}
    return tuple(sorted(found, key=lambda each: (order.get(each.conversation, -1), each.turn)))


class FollowUpStore:
    """Writes each examined turn to the run file as soon as it is whole."""

    def __init__(self, file: RunFile, known: Iterable[TurnFollowUps] = ()) -> None:
        """`known` is what was examined before."""
        self.file = file
        self.known = {(each.conversation, each.turn): each for each in known}

    def __call__(self, examined: TurnFollowUps) -> None:
        """Keeps one turn, in place of what was kept of it."""
        self.known[examined.conversation, examined.turn] = examined
        body = [each.model_dump(mode="json") for each in self.known.values()]
        self.file.noted(NOTE, json.dumps(body, ensure_ascii=False))


def still_open(targets: Iterable[Target], known: Iterable[TurnFollowUps]) -> list[Target]:
    """The turns of these that nobody has examined yet."""
    done = {(each.conversation, each.turn) for each in known}
    return [target for target in targets if target.key not in done]
