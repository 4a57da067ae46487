"""A cross-examination: follow-up questions about an answer, the bot's answers, and whether they agree.

The user's model writes the questions, the judge's compares the answers. Answers with most details are taken
up first.

For each examined turn (LM vs LM: Cohen et al., 2023):

1. The examiner sees dialogue and answer, and writes at most three questions (`--questions`), each about words
   of the answer.
2. The bot is asked each of them in a session of its own, after the same dialogue: it cannot see the others.
3. The comparer holds the new answer against the old one. A contradiction counts only with a quotation from
   both.
4. The turn is stored in the run's notes at once, so that an interrupted examination goes on where it stopped.

    old   "The fee is 1,100 yen."
    asked "Is the 1,100 yen fee charged to students, too?"
    new   "There is no such fee."                            contradicts, if both are quoted word for word
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from simulator.core import replies
from simulator.core.concurrency import for_each
from simulator.core.errors import HOPELESS, ModelFailure
from simulator.core.messages import shown
from simulator.core.replies import Reply, skeleton
from simulator.core.settings import Settings
from simulator.core.templates import Prompts as PromptFile
from simulator.core.templates import quote, quote_lines, request, seal_of, stable_int
from simulator.core.types import (
    CONVERSATION,
    Bot,
    ChatMessage,
    GradingContext,
    Language,
    Query,
    Results,
    Role,
    Spending,
    Value,
)
from simulator.grading.rubric import LONGEST_EARLIER, earlier_lines
from simulator.lab.consistency.across import Question
from simulator.lab.consistency.figures import stored_rows
from simulator.models.client import Messages, Model
from simulator.models.pricing import Prices, total_spending
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask, grading_context
from simulator.runner.estimate import ANSWER, grading_estimate, prompt_tokens
from simulator.storage.run_file import RunFile
from simulator.text.figures import figures
from simulator.text.typography import half_width, straight

# `unproven`: a model named a disagreement whose quotes are not in the answers. `no_answer`: the bot failed.
Outcome = Literal["consistent", "contradicts", "corrects", "evades", "unproven", "no_answer"]
OUTCOMES: tuple[Outcome, ...] = ("contradicts", "corrects", "evades", "unproven", "no_answer", "consistent")
# The note of a run with its examined turns.
NOTE = "cross_examination"


class FollowUp(Value):
    """A question about a part of an answer; `claim` is that part, word for word as the answer has it."""

    claim: str
    question: str


class ClaimVerdict(Value):
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
    verdict: ClaimVerdict


class TurnFollowUps(Value):
    """An examined turn as it is stored; `by` names the models that asked and compared."""

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
    examined = stored_rows(results, NOTE, TypeAdapter(tuple[TurnFollowUps, ...]))
    # Turns are stored as they come, several at a time; shown in the order of the run.
    order = {conversation.id: place for place, conversation in enumerate(results.conversations)}
    return tuple(sorted(examined, key=lambda turn: (order.get(turn.conversation, -1), turn.turn)))


def kept_in(file: RunFile, earlier: Iterable[TurnFollowUps]) -> Callable[[TurnFollowUps], None]:
    """What writes an examined turn to the run file, beside the `earlier` ones or in place of one.

    The whole note each time: it is small, and a kill never leaves half of it.
    """
    turns = {(turn.conversation, turn.turn): turn for turn in earlier}

    def keep(examined: TurnFollowUps) -> None:
        turns[examined.conversation, examined.turn] = examined
        body = [turn.model_dump(mode="json") for turn in turns.values()]
        file.save_note(NOTE, json.dumps(body, ensure_ascii=False))

    return keep


# --- what models are asked ---

# The texts that prompts.toml has in both languages, with the variables of each.
_VARIABLES: dict[str, set[str]] = {
    "examiner_system": set(),
    "examiner": {"history", "question", "answer", "count", "form"},
    "comparer_system": set(),
    "comparer": {"history", "question", "answer", "claim", "followup", "later", "form"},
    "again": {"problem"},
}
# What models put around a quotation.
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


class ClaimComparison(Reply):
    """What the comparer fills in."""

    reasoning: replies.Text
    first_quote: replies.Text
    later_quote: replies.Text
    verdict: Literal["consistent", "contradicts", "corrects", "evades"]


class ExaminerPrompts(PromptFile):
    """The prompts of prompts.toml."""

    def __init__(self) -> None:
        super().__init__(Path(__file__).with_name("prompts.toml"), _VARIABLES)

    def examiner(self, target: GradingContext, count: int) -> Messages:
        """The request for `count` follow-up questions about one answer."""
        shapes = {key: f'"<{text}>"' for key, text in self.tables[target.case.language]["fields"].items()}
        claim = f'{{ "claim": {shapes["claim"]}, "question": {shapes["question"]} }}'
        form = f'{{\n  "thoughts": {shapes["thoughts"]},\n  "questions": [{claim}]\n}}'
        return self._messages("examiner", target, {}, count=str(count), form=form)

    def comparer(self, target: GradingContext, follow_up: FollowUp, later: str) -> Messages:
        """The request to compare the answer with the `later` one, to a follow-up question."""
        fields = self.tables[target.case.language]["fields"]
        form = skeleton({key: ("text", fields[key]) for key in ClaimComparison.model_fields})
        material = {"claim": follow_up.claim, "followup": follow_up.question, "later": later}
        return self._messages("comparer", target, material, form=form)

    def _messages(
        self, prompt: str, target: GradingContext, material: dict[str, str], **plain: str
    ) -> Messages:
        """The material under tags whose codes depend on all of it, so that nothing quoted can forge one.

        Each piece is cut at `LONGEST_EARLIER` characters; a question about what was cut off finds no
        quotation.
        """
        language, lines = target.case.language, earlier_lines(target)
        material = {"question": target.turn.user, "answer": target.turn.answer.text, **material}
        seal = seal_of(*(text for line in lines for text in line), *material.values())
        quoted = {key: quote(key, text[:LONGEST_EARLIER], seal) for key, text in material.items()}
        user = self.text(language, prompt, history=quote_lines(lines, seal) or "-", **quoted, **plain)
        return request(self.text(language, f"{prompt}_system"), user)


def follow_ups(reply: Questions, answer: str, count: int) -> tuple[FollowUp, ...]:
    """The usable questions: about words that are in the answer, none twice, `count` at most."""
    # By the question, so that one that is asked twice about different words is one.
    usable: dict[str, FollowUp] = {}
    for row in reply.questions:
        question, claim = row.question.strip(), verbatim(row.claim, answer)
        # A question that is not about the answer's own words asks something new, to which any answer is
        # right.
        if question and claim and len(question) <= LONGEST_EARLIER:
            usable.setdefault(question, FollowUp(claim=claim, question=question))
    return tuple(usable.values())[:count]


def verdict_of(reply: ClaimComparison, first: str, later: str) -> ClaimVerdict:
    """The verdict with its quotes; a disagreement without both quotes is `unproven`, and not counted."""
    first_quote, later_quote = verbatim(reply.first_quote, first), verbatim(reply.later_quote, later)
    outcome: Outcome = reply.verdict
    if outcome in ("contradicts", "corrects") and not (first_quote and later_quote):
        outcome = "unproven"
    return ClaimVerdict(
        outcome=outcome, first_quote=first_quote, later_quote=later_quote, reason=reply.reasoning.strip()
    )


def verbatim(quoted: str, text: str) -> str:
    """The quoted words where the text has them, in whatever width and spaces; '' where it does not.

    「1,100 円」 in 手数料は１,１００円です is 1,100 円, and 2,200円 in the same is ''.
    """

    def bare(words: str) -> str:
        return "".join(half_width(straight(words)).lower().split())

    words = quoted.strip().strip(_QUOTATION)
    return words if bare(words) and bare(words) in bare(text) else ""


# --- asking the bot ---

Form = TypeVar("Form", Questions, ClaimComparison)


class Examiner:
    """Has the user's model write the questions, and the judge's compare the answers."""

    def __init__(self, questions: int, settings: Settings, asking: Model, comparing: Model) -> None:
        """At most `questions` are asked about one answer."""
        self.questions, self.settings = questions, settings
        self.asking, self.comparing = asking, comparing
        self.prompts = ExaminerPrompts()

    @property
    def name(self) -> str:
        """The models that ask and compare."""
        return " / ".join(dict.fromkeys(model.endpoint.model for model in (self.asking, self.comparing)))

    async def examine(
        self, targets: Sequence[GradingContext], bot: Bot, keep: Callable[[TurnFollowUps], None]
    ) -> list[ModelFailure]:
        """Examines these turns, several at a time; `keep` gets each as soon as it is complete.

        Turns are independent; the questions about one are asked one after the other, as a customer would.
        Returns models' failures, each of which costs its turn. Raises AccessDenied, Outage and BudgetSpent.
        """
        failures: list[ModelFailure] = []

        async def examined(target: GradingContext) -> None:
            try:
                keep(await self._examined(target, bot))
            except HOPELESS:
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
            # A bot that fails says nothing about its claims, and no model is paid for comparing it.
            if answer.error is None:
                verdict = await self._compare(target, follow_up, answer.text)
            else:
                reason = shown(answer.error.message, target.case.language)
                verdict = ClaimVerdict(outcome="no_answer", reason=reason)
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
        messages = self.prompts.examiner(target, self.questions)
        reply = await self._ask(self.asking, messages, Questions, target, "questions")
        return follow_ups(reply, target.turn.answer.text, self.questions)

    async def _compare(self, target: GradingContext, follow_up: FollowUp, later: str) -> ClaimVerdict:
        messages = self.prompts.comparer(target, follow_up, later)
        reply = await self._ask(self.comparing, messages, ClaimComparison, target, follow_up.question)
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
        history.append(ChatMessage(role="user", content=turn.user))
        history.append(ChatMessage(role="assistant", content=turn.answer.text))
    return Query(
        text=question,
        history=tuple(history),
        session=f"cross-examine/{target.conversation}/{target.turn.index}/{number}",
        case=case.id,
        language=case.language,
    )


# Tokens of a reply: each question of an examiner, the verdict of a comparer. For the forecast alone.
QUESTION, VERDICT = 90, 220


def targets(results: Results, limit: int) -> tuple[GradingContext, ...]:
    """At most `limit` answered turns, those with most amounts, dates and numbers first.

    Every question's best answer comes before any second one, and an answer that was given word for word
    twice is examined once.
    """
    candidates: list[tuple[int, GradingContext]] = []
    seen: set[tuple[str, str]] = set()
    for conversation in results.conversations:
        for turn in conversation.turns:
            said = (conversation.case.id, turn.answer.text)
            if turn.answer.error or said in seen or not turn.answer.text.strip():
                continue
            seen.add(said)
            if details := {figure.value for figure in figures(turn.answer.text)}:
                candidates.append((len(details), grading_context(conversation, turn.index)))
    # The answers with most details first, within a question and between questions; then, level by level, the
    # best answer of each, the second best of each, ...
    by_case: dict[str, list[GradingContext]] = {}
    for _details, target in sorted(candidates, key=lambda candidate: -candidate[0]):
        by_case.setdefault(target.case.id, []).append(target)
    levels = zip_longest(*by_case.values())
    return tuple(target for level in levels for target in level if target is not None)[:limit]


def estimate(
    context: RunContext, examiner: Examiner, chosen: Sequence[GradingContext], compared: Sequence[Question]
) -> dict[Role, Spending]:
    """Calls, tokens and dollars of customer and judge, when every answer gets all its questions.

    `compared` are the questions whose answers a judge compares.
    """
    totals: dict[Role, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(role: Role, calls: int, tokens_in: int, tokens_out: int) -> None:
        for place, amount in enumerate((calls, calls * tokens_in, calls * tokens_out)):
            totals[role][place] += amount

    count = examiner.questions
    for target in chosen:
        language = target.case.language
        # What the bot will say nobody knows; an answer of usual length stands for it.
        answer = ("あ" if language == "ja" else "a") * ANSWER[language]
        add("user", 1, prompt_tokens(examiner.prompts.examiner(target, count)), count * QUESTION)
        claim = FollowUp(claim=target.turn.user, question=target.turn.user)
        add("judge", count, prompt_tokens(examiner.prompts.comparer(target, claim, answer)), VERDICT)
    prices, models = Prices.of(context.settings), context.models()
    if examiner.asking is not None:  # of several customers' models, the first
        models = models | {"user": examiner.asking.endpoint.model}
    spending = {role: prices.spending(models[role], *total) for role, total in totals.items()}
    if compared:
        judging = grading_estimate(context, {CONVERSATION}, [question.context for question in compared])
        spending["judge"] = total_spending([spending.get("judge", Spending()), judging])
    return spending
