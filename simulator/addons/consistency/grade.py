"""A cross-examination: follow-up questions about an answer, the bot's answers, and whether they agree.

Models write the questions and compare the answers; without them rules do (`stand_in_follow_ups`, `compare`).
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from simulator.addons.consistency.disagreement import (
    Disagreement,
    checkable,
    denies,
    disagreement,
    stated_clauses,
    takes_up,
    unit_of,
)
from simulator.core import replies
from simulator.core.errors import AccessDenied, ModelFailure, RunFileError
from simulator.core.messages import Message as Sentence
from simulator.core.messages import _, shown
from simulator.core.replies import Reply
from simulator.core.templates import check_languages, fingerprint, quote, read_toml, render, stable_int
from simulator.core.types import Bot, Conversation, Language, Message, Query, Results, Turn, Value
from simulator.models.client import Messages, Model
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask
from simulator.storage.run_file import RunFile
from simulator.text.acts import claims, is_handover, is_refusal
from simulator.text.entities import Specific, located
from simulator.text.evidence import share, topic_units
from simulator.text.segments import sentences
from simulator.text.typography import half_width, straight

# `unproven`: a model named a disagreement whose quotes are not in the answers. `no_answer`: the bot failed.
Outcome = Literal["consistent", "contradicts", "corrects", "evades", "unproven", "no_answer"]
OUTCOMES: tuple[Outcome, ...] = ("contradicts", "corrects", "evades", "unproven", "no_answer", "consistent")


class FollowUp(Value):
    """A question about a part of an answer; `claim` is that part, word for word."""

    claim: str
    question: str


class Verdict(Value):
    """Whether a later answer agrees with an earlier one; the quotes are word for word, or empty."""

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
    """An examined turn as it is stored; `by` names the models, or the stand-in, that asked and compared."""

    conversation: str
    turn: int
    by: str
    crossings: tuple[FollowUpCheck, ...] = ()


def outcome_counts(checks: Iterable[FollowUpCheck]) -> dict[Outcome, int]:
    """How many follow-up questions came to each outcome, the worst first."""
    counts = Counter(check.verdict.outcome for check in checks)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def examined_json(examined: Sequence[TurnFollowUps]) -> dict[str, Any]:
    """The examined turns for `--json`, with nothing left out."""
    checks = [check for turn in examined for check in turn.crossings]
    return {
        "turns": len(examined),
        "questions": len(checks),
        "outcomes": outcome_counts(checks),
        "crossings": [check.model_dump(mode="json") for check in checks],
        "by": sorted({turn.by for turn in examined}),
    }


class Target(Value):
    """A turn to be examined, within its conversation."""

    conversation: Conversation
    turn: Turn

    @property
    def key(self) -> tuple[str, int]:
        """The ids of conversation and turn."""
        return self.conversation.id, self.turn.index

    @property
    def earlier(self) -> tuple[Turn, ...]:
        """The turns before it."""
        return self.conversation.turns[: self.turn.index - 1]


# --- what models are asked ---

LONGEST_TEXT = 4000
_VARIABLES: dict[str, set[str]] = {
    "examiner_system": set(),
    "examiner": {"history", "question", "answer", "count", "form"},
    "comparer_system": set(),
    "comparer": {"history", "question", "answer", "claim", "followup", "later", "form"},
    "again": {"problem"},
}
_QUOTATION = "\"'「」『』"


# Models are sent the names and docstrings of these replies, in the JSON schema.
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
    """The prompts of prompts.toml; checked when they are read."""

    def __init__(self) -> None:
        path = Path(__file__).with_name("prompts.toml")
        self._tables = read_toml(path)
        check_languages(path, self._tables, _VARIABLES)

    def text(self, language: Language, key: str, /, **values: str) -> str:
        """A rendered text."""
        return render(self._tables[language][key], **values)

    def examiner(self, target: Target, count: int) -> Messages:
        """The request for `count` follow-up questions about one answer."""
        fields = self._tables[target.conversation.case.language]["fields"]
        head = replies.skeleton({"thoughts": ("text", fields["thoughts"])}).rstrip().removesuffix("}")
        one = replies.skeleton({key: ("text", str(fields[key])) for key in ("claim", "question")}).strip()
        # A list of claims with questions has no kind of its own in a skeleton.
        form = f'{head.rstrip().rstrip(",")},\n  "questions": [{" ".join(one.split())}]\n}}'
        return self._messages("examiner", target, {}, count=str(count), form=form)

    def comparer(self, target: Target, follow_up: FollowUp, later: str) -> Messages:
        """The request to compare the answer with the `later` one, to a follow-up question."""
        fields = self._tables[target.conversation.case.language]["fields"]
        keys = ("reasoning", "first_quote", "later_quote", "verdict")
        form = replies.skeleton({key: ("text", str(fields[key])) for key in keys})
        material = {"claim": follow_up.claim, "followup": follow_up.question, "later": later}
        return self._messages("comparer", target, material, form=form)

    def _messages(self, prompt: str, target: Target, material: dict[str, str], **plain: str) -> Messages:
        """The material under tags whose codes depend on all of it, so that nothing quoted can forge one."""
        case, language = target.conversation.case, target.conversation.case.language
        tags = {"user": "customer", "assistant": "desk"}
        lines = [(tags[message.role], message.content) for message in case.history]
        for turn in target.earlier:
            lines += [("customer", turn.user), ("desk", turn.answer.text)]
        lines = [(tag, text[:LONGEST_TEXT]) for tag, text in lines]
        material = {"question": target.turn.user, "answer": target.turn.answer.text, **material}
        seal = fingerprint(*(text for line in lines for text in line), *material.values())
        quoted = {key: quote(key, text[:LONGEST_TEXT], seal) for key, text in material.items()}
        history = "\n".join(quote(tag, text, f"{seal}{at}") for at, (tag, text) in enumerate(lines)) or "-"
        user = self.text(language, prompt, history=history, **quoted, **plain)
        system = self.text(language, f"{prompt}_system")
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def follow_ups(reply: Questions, answer: str, count: int) -> tuple[FollowUp, ...]:
    """The usable questions: about words that are in the answer, none twice, `count` at most."""
    usable: dict[str, FollowUp] = {}
    for row in reply.questions:
        question, claim = row.question.strip(), verbatim(row.claim, answer)
        if question and claim and len(question) <= LONGEST_TEXT:
            usable.setdefault(question, FollowUp(claim=claim, question=question))
    return tuple(usable.values())[:count]


def verdict_of(reply: Comparison, first: str, later: str) -> Verdict:
    """The verdict with its quotes; a disagreement without both quotes is `unproven`, and not counted."""
    first_quote, later_quote = verbatim(reply.first_quote, first), verbatim(reply.later_quote, later)
    outcome: Outcome = reply.verdict
    if outcome in ("contradicts", "corrects") and not (first_quote and later_quote):
        outcome = "unproven"
    return Verdict(
        outcome=outcome, first_quote=first_quote, later_quote=later_quote, reason=reply.reasoning.strip()
    )


def verbatim(quoted: str, text: str) -> str:
    """The quoted words as the text has them, whatever their spaces and width; '' when they are not in it."""
    wanted = "".join(letter for letter, _unused in _letters(straight(quoted).strip().strip(_QUOTATION)))
    letters = _letters(text)
    start = "".join(letter for letter, _unused in letters).find(wanted) if wanted else -1
    if start < 0:
        return ""
    return text[letters[start][1] : letters[start + len(wanted) - 1][1] + 1].strip()


def _letters(text: str) -> list[tuple[str, int]]:
    """The letters of a text without spaces, half-width and in lower case, and their places."""
    lower = ((letter.lower(), at) for at, letter in enumerate(half_width(text)) if not letter.isspace())
    return [(letter if len(letter) == 1 else letter[0], at) for letter, at in lower]


# --- without a model ---

# A quoted sentence is cut beyond so many characters.
LONGEST = {"ja": 60, "en": 140}
# A later answer with this share (0..1) of the claim's topic is about it; one with less evades.
ON_TOPIC = 0.35
_ADMITS = re.compile(
    r"訂正|先ほど(?:の|は)[^。]{0,20}(?:誤|間違)|誤ったご案内|誤りでした|間違いでした|正しくは|失礼いたしました"
    r"|\b(?:correct myself|my mistake|i was wrong|that was (?:wrong|incorrect)|sorry for the mistake)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\s*(?:いいえ|いえ、|no\b(?=[,.]| ))", re.IGNORECASE)
_IS_NOT = r"\s*(?:(?:で|じゃ)は(?:なく|ありません|ない|ございません)|じゃない)"
_ENDS = "。.．!！?？ 　"


def stand_in_follow_ups(target: Target, count: int) -> tuple[FollowUp, ...]:
    """Questions about the figures of an answer, then about what it denies, else about its first claim.

    The first figure of each kind comes before any second one.
    """
    answer, language = target.turn.answer.text, target.conversation.case.language
    asked: dict[str, FollowUp] = {}

    def ask_about(claim: str, question: Sentence) -> None:
        text = shown(question, language)
        asked[text] = FollowUp(claim=claim, question=text)

    figures = [(figure, sentence) for sentence in sentences(answer) for figure in checkable(sentence)]
    kinds = [figure.kind for figure, _sentence in figures]
    for at in sorted(range(len(figures)), key=lambda at: kinds[at] in kinds[:at]):
        figure, sentence = figures[at]
        about = {"claim": _short(sentence, language), "figure": figure.text}
        questions = {
            "amount": _('You said: "{claim}". Is {figure} right?', **about),
            "date": _('You said: "{claim}". Is {figure} the right date?', **about),
            "time": _('You said: "{claim}". Is {figure} the right time?', **about),
            "hours": _('You said: "{claim}". Are the hours {figure} right?', **about),
            "phone": _('You said: "{claim}". Is {figure} the right number to call?', **about),
            "number": _('You said: "{claim}". Are you sure about {figure}?', **about),
        }
        ask_about(sentence, questions[figure.kind])
    for clause in stated_clauses(answer):
        if denies(clause):
            claim = _short(clause, language)
            ask_about(clause, _('You said: "{claim}". Are there no exceptions?', claim=claim))
    for claim in () if asked else claims(answer, language)[:1]:
        ask_about(claim, _('You said: "{claim}". Is that right?', claim=_short(claim, language)))
    return tuple(asked.values())[:count]


def compare(target: Target, follow_up: FollowUp, later: str) -> Verdict:
    """Whether the later answer agrees with the claim: by its figures, by yes and no, or not at all."""
    language = target.conversation.case.language
    # An admission of a mistake is taken out; what then follows is compared.
    admits = [bool(_ADMITS.search(sentence)) for sentence in sentences(later)]
    statement = "\n".join(
        _ADMITS.sub("", sentence).lstrip("、。, ") if admitted else sentence
        for sentence, admitted in zip(sentences(later), admits, strict=True)
        if not admitted or checkable(sentence)
    )
    outcome: Outcome
    if found := disagreement(follow_up.claim, statement) or _disagreeing_reply(follow_up, statement):
        outcome = "corrects" if any(admits) else "contradicts"
        reason = _("One of the two answers affirms what the other denies.")
        if found.what == "detail":
            reason = _(
                'About the same thing, the earlier answer says "{one}" and the later one "{other}".',
                one=found.details[0],
                other=found.details[1],
            )
        why = shown(reason, language)
        return Verdict(outcome=outcome, first_quote=found.one, later_quote=found.other, reason=why)
    details = checkable(follow_up.claim)
    repeated = next((detail for detail in details if located(detail, (later,)) is not None), None)
    refuses = is_refusal(later, language) or is_handover(later, language)
    outcome = "consistent"
    if repeated:
        reason = _('The later answer also says "{one}".', one=repeated.text)
    elif refuses or share(topic_units(follow_up.claim), topic_units(later)) < ON_TOPIC:
        outcome, reason = "evades", _("The later answer does not touch on what was checked.")
    else:
        reason = _("No figure and no negation in the later answer goes against it.")
    return Verdict(outcome=outcome, first_quote=follow_up.claim, reason=shown(reason, language))


def _disagreeing_reply(follow_up: FollowUp, later: str) -> Disagreement | None:
    """What only a reply can say: いいえ, "not 9,500 yen", or a short answer with another figure."""
    details, lines = checkable(follow_up.claim), sentences(later)
    figure = next((detail.text for detail in details if detail.text in follow_up.question), "")
    if lines and figure:
        escaped = re.escape(straight(figure))
        if re.search(f"{escaped}{_IS_NOT}|\\bnot {escaped}", straight(later), re.IGNORECASE):
            quote = next((line for line in lines if figure in line), lines[0])
            return Disagreement(what="polarity", one=follow_up.claim, other=quote)
        if _NO.match(later):
            return Disagreement(what="polarity", one=follow_up.claim, other=lines[0])
    repeated = {unit_of(detail) for detail in details if located(detail, (later,)) is not None}
    by_unit: dict[str, Specific] = {}
    for detail in details:
        by_unit.setdefault(unit_of(detail), detail)
    for line in lines:
        other = next((d for d in checkable(line) if unit_of(d) in by_unit.keys() - repeated), None)
        if other and takes_up(line, follow_up.claim):
            first = by_unit[unit_of(other)]
            return Disagreement(
                what="detail", one=follow_up.claim, other=line, details=(first.text, other.text)
            )
    return None


def _short(sentence: str, language: Language) -> str:
    bare = sentence.strip().rstrip(_ENDS)
    longest = LONGEST[language]
    return bare if len(bare) <= longest else bare[:longest].rstrip() + "…"


# --- asking the bot ---

# Plays both parts where there is no model.
STAND_IN = "stand-in"
Form = TypeVar("Form", Questions, Comparison)


class Examiner:
    """Writes the questions and compares the answers: by models, or by rule where there are none."""

    def __init__(self, context: RunContext, questions: int) -> None:
        """At most `questions` are asked about one answer."""
        self.questions, self.seed = questions, context.settings.seed
        self.prompts = Prompts()
        # As a customer would: in the customer model's words. The judge's model reads both answers.
        self.asking = context.model("user", temperature=context.settings.user_temperature)
        self.comparing = context.model("judge", temperature=context.settings.judge_temperature)

    @property
    def name(self) -> str:
        """The models that ask and compare, or `stand-in`."""
        parts = [model.endpoint.model if model else STAND_IN for model in (self.asking, self.comparing)]
        return parts[0] if parts[0] == parts[1] else " / ".join(parts)

    async def follow_ups(self, target: Target) -> tuple[FollowUp, ...]:
        """The questions about one answer; raises ModelFailure."""
        if self.asking is None:
            return stand_in_follow_ups(target, self.questions)
        messages = self.prompts.examiner(target, self.questions)
        reply = await self._ask(self.asking, messages, Questions, target, "questions")
        return follow_ups(reply, target.turn.answer.text, self.questions)

    async def compare(self, target: Target, follow_up: FollowUp, later: str) -> Verdict:
        """Whether the answer to a follow-up question agrees with the examined one; raises ModelFailure."""
        if self.comparing is None:
            return compare(target, follow_up, later)
        messages = self.prompts.comparer(target, follow_up, later)
        reply = await self._ask(self.comparing, messages, Comparison, target, follow_up.question)
        return verdict_of(reply, target.turn.answer.text, later)

    async def _ask(
        self, model: Model, messages: Messages, form: type[Form], target: Target, about: str
    ) -> Form:
        language = target.conversation.case.language
        return await model.ask(
            messages,
            form,
            lambda problem: self.prompts.text(language, "again", problem=problem),
            seed=stable_int(self.seed, *target.key, about),
        )


class CrossExamination:
    """Examines turns against a bot; each examined turn is handed to `keep` as soon as it is complete."""

    def __init__(
        self, examiner: Examiner, bot: Bot, context: RunContext, keep: Callable[[TurnFollowUps], None]
    ) -> None:
        self.examiner, self.bot, self.keep = examiner, bot, keep
        self.timeout = context.settings.timeout
        self._places = asyncio.Semaphore(context.settings.concurrency)

    async def all(self, chosen: Sequence[Target]) -> list[ModelFailure]:
        """Examines these turns, several at a time; returns models' failures, each of which costs its turn.

        Raises AccessDenied and BudgetSpent.
        """
        failures: list[ModelFailure] = []

        async def one(target: Target) -> None:
            async with self._places:
                try:
                    self.keep(await self.examine(target))
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

    async def examine(self, target: Target) -> TurnFollowUps:
        """One turn: every follow-up question in a session of its own, after the same earlier dialogue."""
        (conversation, turn), language = target.key, target.conversation.case.language
        checks = []
        for number, follow_up in enumerate(await self.examiner.follow_ups(target), 1):
            answer = await ask(self.bot, query(target, follow_up.question, number), self.timeout)
            if answer.error is None:
                verdict = await self.examiner.compare(target, follow_up, answer.text)
            else:
                verdict = Verdict(outcome="no_answer", reason=shown(answer.error.message, language))
            check = FollowUpCheck(
                conversation=conversation,
                turn=turn,
                number=number,
                language=language,
                asked=follow_up,
                answer=answer.text,
                verdict=verdict,
            )
            checks.append(check)
        by = self.examiner.name
        return TurnFollowUps(conversation=conversation, turn=turn, by=by, crossings=tuple(checks))


def query(target: Target, question: str, number: int) -> Query:
    """The query to the bot: the dialogue up to and including the examined answer, then the question."""
    case, history = target.conversation.case, list(target.conversation.case.history)
    for turn in (*target.earlier, target.turn):
        history.append(Message(role="user", content=turn.user))
        history.append(Message(role="assistant", content=turn.answer.text))
    return Query(
        text=question,
        history=tuple(history),
        session=f"cross-examine/{target.conversation.id}/{target.turn.index}/{number}",
        case=case.id,
        language=case.language,
    )


# --- the note in the run file ---

NOTE = "cross_examination"


def examined_of(results: Results) -> tuple[TurnFollowUps, ...]:
    """The examined turns, in the order of the run; raises RunFileError for an unreadable note."""
    try:
        stored: Any = results.notes.get(NOTE, [])
        examined = TypeAdapter(tuple[TurnFollowUps, ...]).validate_python(stored)
    except ValidationError:
        msg = _("the cross-examination in this run file is of another version: cross-examine RUN --again.")
        raise RunFileError(msg) from None
    order = {conversation.id: place for place, conversation in enumerate(results.conversations)}
    return tuple(sorted(examined, key=lambda turn: (order.get(turn.conversation, -1), turn.turn)))


class FollowUpStore:
    """Writes each examined turn to the run file as soon as it is complete."""

    def __init__(self, file: RunFile, earlier: Iterable[TurnFollowUps] = ()) -> None:
        """`earlier` are the turns that were examined before."""
        self.file = file
        self._turns = {(turn.conversation, turn.turn): turn for turn in earlier}

    def __call__(self, examined: TurnFollowUps) -> None:
        """Stores one turn, and replaces an earlier examination of it."""
        self._turns[examined.conversation, examined.turn] = examined
        body = [turn.model_dump(mode="json") for turn in self._turns.values()]
        self.file.save_note(NOTE, json.dumps(body, ensure_ascii=False))


def still_open(targets: Iterable[Target], examined: Iterable[TurnFollowUps]) -> list[Target]:
    """The targets that have not been examined yet."""
    done = {(turn.conversation, turn.turn) for turn in examined}
    return [target for target in targets if target.key not in done]
