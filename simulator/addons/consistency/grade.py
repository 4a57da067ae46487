"""A cross-examination: follow-up questions about an answer, the bot's answers, and whether they agree.

Models write the questions and compare the answers; without them rules do (`stand_in_follow_ups`, `compare`).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from simulator.addons.consistency.disagreement import (
    YES_NO,
    Disagreement,
    checkable,
    denies,
    disagreement,
    is_in,
    stated_clauses,
    takes_up,
    unit_of,
)
from simulator.core.concurrency import for_each
from simulator.core.errors import AccessDenied, ModelFailure, RunFileError
from simulator.core.messages import Message as Sentence
from simulator.core.messages import _, shown
from simulator.core.replies import Reply, skeleton
from simulator.core.templates import Prompts as PromptFile
from simulator.core.templates import fingerprint, quote, quote_lines, request, stable_int
from simulator.core.types import Bot, GradingContext, Language, Message, Query, Results, Value
from simulator.grading.rubric import LONGEST_EARLIER, earlier_lines
from simulator.models.client import Messages, Model
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask
from simulator.storage.run_file import RunFile
from simulator.text.acts import claims, is_handover, is_refusal
from simulator.text.evidence import share, topic_units
from simulator.text.segments import sentences
from simulator.text.typography import half_width, straight

# `unproven`: a model named a disagreement whose quotes are not in the answers. `no_answer`: the bot failed.
Outcome = Literal["consistent", "contradicts", "corrects", "evades", "unproven", "no_answer"]
OUTCOMES: tuple[Outcome, ...] = ("contradicts", "corrects", "evades", "unproven", "no_answer", "consistent")
NOTE = "cross_examination"


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


def kept_in(file: RunFile, earlier: Iterable[TurnFollowUps]) -> Callable[[TurnFollowUps], None]:
    """What writes an examined turn to the run file, beside the `earlier` ones or in place of one."""
    turns = {(turn.conversation, turn.turn): turn for turn in earlier}

    def keep(examined: TurnFollowUps) -> None:
        turns[examined.conversation, examined.turn] = examined
        body = [turn.model_dump(mode="json") for turn in turns.values()]
        file.save_note(NOTE, json.dumps(body, ensure_ascii=False))

    return keep


# --- what models are asked ---

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


class Prompts(PromptFile):
    """The prompts of prompts.toml."""

    def __init__(self) -> None:
        super().__init__(Path(__file__).with_name("prompts.toml"), _VARIABLES)

    def examiner(self, target: GradingContext, count: int) -> Messages:
        """The request for `count` follow-up questions about one answer."""
        shapes = {key: f'"<{text}>"' for key, text in self.tables[target.case.language]["fields"].items()}
        one = f'{{ "claim": {shapes["claim"]}, "question": {shapes["question"]} }}'
        form = f'{{\n  "thoughts": {shapes["thoughts"]},\n  "questions": [{one}]\n}}'
        return self._messages("examiner", target, {}, count=str(count), form=form)

    def comparer(self, target: GradingContext, follow_up: FollowUp, later: str) -> Messages:
        """The request to compare the answer with the `later` one, to a follow-up question."""
        fields = self.tables[target.case.language]["fields"]
        form = skeleton({key: ("text", fields[key]) for key in Comparison.model_fields})
        material = {"claim": follow_up.claim, "followup": follow_up.question, "later": later}
        return self._messages("comparer", target, material, form=form)

    def _messages(
        self, prompt: str, target: GradingContext, material: dict[str, str], **plain: str
    ) -> Messages:
        """The material under tags whose codes depend on all of it, so that nothing quoted can forge one."""
        language, lines = target.case.language, earlier_lines(target)
        material = {"question": target.turn.user, "answer": target.turn.answer.text, **material}
        seal = fingerprint(*(text for line in lines for text in line), *material.values())
        quoted = {key: quote(key, text[:LONGEST_EARLIER], seal) for key, text in material.items()}
        user = self.text(language, prompt, history=quote_lines(lines, seal) or "-", **quoted, **plain)
        return request(self.text(language, f"{prompt}_system"), user)


def follow_ups(reply: Questions, answer: str, count: int) -> tuple[FollowUp, ...]:
    """The usable questions: about words that are in the answer, none twice, `count` at most."""
    usable: dict[str, FollowUp] = {}
    for row in reply.questions:
        question, claim = row.question.strip(), verbatim(row.claim, answer)
        if question and claim and len(question) <= LONGEST_EARLIER:
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
_IS_NOT = r"\s*(?:(?:で|じゃ)は(?:なく|ありません|ない|ございません)|じゃない)"
_ENDS = "。.．!！?？ 　"


def stand_in_follow_ups(target: GradingContext, count: int) -> tuple[FollowUp, ...]:
    """Questions about the figures of an answer, then about what it denies, else about its first claim.

    The first figure of each kind comes before any second one.
    """
    answer, language = target.turn.answer.text, target.case.language
    asked: dict[str, FollowUp] = {}

    def ask_about(claim: str, question: Sentence, **values: str) -> None:
        short = claim.strip().rstrip(_ENDS)
        if len(short) > LONGEST[language]:
            short = short[: LONGEST[language]].rstrip() + "…"
        text = shown(question.format(claim=short, **values), language)
        asked[text] = FollowUp(claim=claim, question=text)

    figures = [(figure, sentence) for sentence in sentences(answer) for figure in checkable(sentence)]
    kinds = [figure.kind for figure, _sentence in figures]
    for at in sorted(range(len(figures)), key=lambda at: kinds[at] in kinds[:at]):
        figure, sentence = figures[at]
        ask_about(sentence, _('You said: "{claim}". Is {figure} right?'), figure=figure.text)
    for clause in stated_clauses(answer):
        if denies(clause):
            ask_about(clause, _('You said: "{claim}". Are there no exceptions?'))
    for claim in () if asked else claims(answer, language)[:1]:
        ask_about(claim, _('You said: "{claim}". Is that right?'))
    return tuple(asked.values())[:count]


def compare(target: GradingContext, follow_up: FollowUp, later: str) -> Verdict:
    """Whether the later answer agrees with the claim: by its figures, by yes and no, or not at all."""
    language = target.case.language
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
    outcome, reason = "consistent", _("No figure and no negation in the later answer goes against it.")
    if not any(is_in(detail, later) for detail in checkable(follow_up.claim)):
        refuses = is_refusal(later, language) or is_handover(later, language)
        if refuses or share(topic_units(follow_up.claim), topic_units(later)) < ON_TOPIC:
            outcome, reason = "evades", _("The later answer does not touch on what was checked.")
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
        if (said := YES_NO.match(later)) and said[2]:
            return Disagreement(what="polarity", one=follow_up.claim, other=lines[0])
    repeated = {unit_of(detail) for detail in details if is_in(detail, later)}
    changed = {unit_of(detail): detail.text for detail in reversed(details)}
    for line in lines:
        for other in checkable(line):
            first = changed.get(unit_of(other))
            if first and unit_of(other) not in repeated and takes_up(line, follow_up.claim):
                pair = (first, other.text)
                return Disagreement(what="detail", one=follow_up.claim, other=line, details=pair)
    return None


# --- asking the bot ---

# Plays both parts where there is no model.
STAND_IN = "stand-in"
Form = TypeVar("Form", Questions, Comparison)


class Examiner:
    """Writes the questions and compares the answers: by models, or by rule where there are none."""

    def __init__(self, context: RunContext, questions: int) -> None:
        """At most `questions` are asked about one answer."""
        self.questions, self.settings = questions, context.settings
        self.prompts = Prompts()
        # As a customer would: in the customer model's words. The judge's model reads both answers.
        self.asking = context.model("user", temperature=context.settings.user_temperature)
        self.comparing = context.model("judge", temperature=context.settings.judge_temperature)

    @property
    def name(self) -> str:
        """The models that ask and compare, or `stand-in`."""
        models = (self.asking, self.comparing)
        return " / ".join(dict.fromkeys(model.endpoint.model if model else STAND_IN for model in models))

    async def examine(
        self, targets: Sequence[GradingContext], bot: Bot, keep: Callable[[TurnFollowUps], None]
    ) -> list[ModelFailure]:
        """Examines these turns, several at a time; `keep` gets each as soon as it is complete.

        Returns models' failures, each of which costs its turn. Raises AccessDenied and BudgetSpent.
        """
        failures: list[ModelFailure] = []

        async def examined(target: GradingContext) -> None:
            try:
                keep(await self._examined(target, bot))
            except AccessDenied:
                raise
            except ModelFailure as error:
                failures.append(error)

        await for_each(targets, examined, self.settings.concurrency)
        return failures

    async def _examined(self, target: GradingContext, bot: Bot) -> TurnFollowUps:
        """One turn: every follow-up question in a session of its own, after the same earlier dialogue."""
        about = {"conversation": target.conversation, "turn": target.turn.index}
        checks = []
        for number, follow_up in enumerate(await self._follow_ups(target), 1):
            answer = await ask(bot, query(target, follow_up.question, number), self.settings.timeout)
            if answer.error is None:
                verdict = await self._compare(target, follow_up, answer.text)
            else:
                reason = shown(answer.error.message, target.case.language)
                verdict = Verdict(outcome="no_answer", reason=reason)
            check = FollowUpCheck(
                **about,
                number=number,
                language=target.case.language,
                asked=follow_up,
                answer=answer.text,
                verdict=verdict,
            )
            checks.append(check)
        return TurnFollowUps(**about, by=self.name, crossings=tuple(checks))

    async def _follow_ups(self, target: GradingContext) -> tuple[FollowUp, ...]:
        if self.asking is None:
            return stand_in_follow_ups(target, self.questions)
        messages = self.prompts.examiner(target, self.questions)
        reply = await self._ask(self.asking, messages, Questions, target, "questions")
        return follow_ups(reply, target.turn.answer.text, self.questions)

    async def _compare(self, target: GradingContext, follow_up: FollowUp, later: str) -> Verdict:
        if self.comparing is None:
            return compare(target, follow_up, later)
        messages = self.prompts.comparer(target, follow_up, later)
        reply = await self._ask(self.comparing, messages, Comparison, target, follow_up.question)
        return verdict_of(reply, target.turn.answer.text, later)

    async def _ask(
        self, model: Model, messages: Messages, form: type[Form], target: GradingContext, about: str
    ) -> Form:
        seed = stable_int(self.settings.seed, target.conversation, target.turn.index, about)
        return await model.ask(messages, form, self.prompts.again(target.case.language), seed=seed)


def query(target: GradingContext, question: str, number: int) -> Query:
    """The query to the bot: the dialogue up to and including the examined answer, then the question."""
    case, history = target.case, list(target.case.history)
    for turn in (*target.earlier, target.turn):
        history.append(Message(role="user", content=turn.user))
        history.append(Message(role="assistant", content=turn.answer.text))
    return Query(
        text=question,
        history=tuple(history),
        session=f"cross-examine/{target.conversation}/{target.turn.index}/{number}",
        case=case.id,
        language=case.language,
    )
