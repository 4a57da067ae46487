"""Which of two answers is better: a model is asked in both orders; what needs no model is decided by rule.

Turns of two runs can be compared as long as both customers said the same.
Nothing is kept but in the response cache, so that a repetition pays for nothing twice.

From two runs to outcomes:

1. `matched` pairs turns of the same case, persona and repeat, up to the line in which the customers differ.
2. `by_rule` decides what needs nobody: no answer loses, equal answers are a tie.
3. `distinct` leaves one pair of those that are alike: eleven customers who open with one question and get the
   same two answers are judged once.
4. `PairModelJudge` reads each pair twice, with either answer first. Only a verdict that survives the swap is
   a win, because models tend to prefer what stands first (Zheng et al., 2023).

    first order prefers A, second order A -> A wins      first A, second B -> tie
"""

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator

from simulator.core import replies
from simulator.core.concurrency import for_each
from simulator.core.errors import HOPELESS, ModelFailure, PromptError
from simulator.core.messages import _, encodable, shown
from simulator.core.replies import Reply, skeleton
from simulator.core.templates import (
    LANGUAGES,
    Prompts,
    fingerprint,
    quote,
    quote_lines,
    request,
    seal_of,
    stable_int,
)
from simulator.core.types import Conversation, GradingContext, Language, Results, Value
from simulator.grading.rubric import LONGEST_EARLIER, LONGEST_MATERIAL, read_guidelines, within
from simulator.models.client import Messages, Model
from simulator.results.comparison import begun_conversations
from simulator.runner.conversation import grading_context


class Pair(NamedTuple):
    """One turn of two runs, `a` and `b` (their ids), with what each of them answered.

    `one` and `other` are what a judge of a single answer would see; both have the same case and customer's
    line.
    """

    a: str
    b: str
    one: GradingContext
    other: GradingContext
    repeat: int = 1

    @property
    def answers(self) -> tuple[str, str]:
        """The texts of both answers."""
        return self.one.turn.answer.text, self.other.turn.answer.text


class TurnPairs(NamedTuple):
    """The comparable turns of two runs, and how many turns cannot be compared.

    `differing` turns exist in both runs, but the customer said something else; `alone` were answered in one
    run only, because the other one ends before, or is a log without an answer to them.
    """

    pairs: tuple[Pair, ...]
    differing: int = 0
    alone: int = 0


def matched(first: Results, other: Results) -> TurnPairs:
    """Pairs by case, persona, repeat, who plays and turn, as long as the customer's lines are the same.

    Both answers are graded by the case of the later run: its references may have been corrected since.
    """
    partners = begun_conversations(other, first)
    one_is_later = (first.run.created, first.run.id) > (other.run.created, other.run.id)
    pairs: list[Pair] = []
    differing = alone = 0
    for key, conversation in begun_conversations(first, other).items():
        partner = partners.pop(key, None)
        if partner is None:
            alone += len(conversation.turns)
            continue
        # From the first line that differs on, the bots answered different things.
        same = _turns_after_same_lines(conversation, partner)
        case = {"case": (conversation if one_is_later else partner).case}
        a, b = (held.model_copy(update=case) for held in (conversation, partner))
        # A log that ends after a customer's line has no answer to compare.
        answered = [
            Pair(first.run.id, other.run.id, grading_context(a, at), grading_context(b, at), a.repeat)
            for at in range(1, same + 1)
            if not (a.turns[at - 1].unrecorded or b.turns[at - 1].unrecorded)
        ]
        shorter, longer = sorted((len(conversation.turns), len(partner.turns)))
        pairs += answered
        differing += shorter - same
        alone += longer - shorter + same - len(answered)
    alone += sum(len(conversation.turns) for conversation in partners.values())
    return TurnPairs(tuple(pairs), differing, alone)


def _turns_after_same_lines(first: Conversation, other: Conversation) -> int:
    """How many turns come before the customer says something else; none where what went before differs."""
    if first.case.history != other.case.history:
        return 0
    same = takewhile(
        lambda turns: (turns[0].index, turns[0].user) == (turns[1].index, turns[1].user),
        zip(first.turns, other.turns, strict=False),
    )
    return sum(1 for _ in same)


# Whose answer it is. In the prompt they are 1 and 2, and which is which changes with the order.
Side = Literal["a", "b"]
Verdict = Literal["a", "b", "tie"]
DecidedBy = Literal["model", "rule"]
ORDERS: tuple[Side, Side] = ("a", "b")


class Ballot(Value):
    """One reading of a pair: whose answer was shown first, and whose was preferred, both by run."""

    first: Side
    verdict: Verdict
    reason: str = ""


class PairOutcome(Value):
    """One compared turn. `verdict` is None where the judging failed; `problem` then says why.

    `answers` are those of `a` and `b`, `ballots` both readings of a model, `reason` that of the first
    reading, in which the answer of `a` is answer 1.
    """

    a: str
    b: str
    conversation: str
    case: str
    persona: str
    repeat: int
    turn: int
    question: str
    answers: tuple[str, str]
    how: DecidedBy
    verdict: Verdict | None
    reason: str = ""
    ballots: tuple[Ballot, ...] = ()
    problem: str = ""

    @property
    def share(self) -> float:
        """What `b` has of this pair: 1 for a win, 0.5 for a tie."""
        return {"b": 1.0, "a": 0.0}.get(self.verdict or "tie", 0.5)

    def same_texts(self, other: "PairOutcome") -> bool:
        """Whether the same was asked at this turn, and the same answered."""
        return (self.turn, self.question, self.answers) == (other.turn, other.question, other.answers)

    @property
    def disagreed(self) -> bool:
        """Whether the two orders led to different verdicts."""
        return len({ballot.verdict for ballot in self.ballots}) > 1


PairJudge = Callable[[Pair], Awaitable[PairOutcome]]


def outcome(pair: Pair, how: DecidedBy, verdict: Verdict | None, **more: object) -> PairOutcome:
    """The outcome of a pair, with what identifies the turn."""
    turn = {
        "a": pair.a,
        "b": pair.b,
        "conversation": pair.one.conversation,
        "case": pair.one.case.id,
        "persona": pair.one.persona,
        "repeat": pair.repeat,
        "turn": pair.one.turn.index,
        "question": pair.one.turn.user,
        "answers": pair.answers,
    }
    return PairOutcome.model_validate({**turn, "how": how, "verdict": verdict, **more})


def settled(ballots: Sequence[Ballot]) -> Verdict:
    """The verdict that both orders share; a tie when they differ."""
    verdicts = {ballot.verdict for ballot in ballots}
    return verdicts.pop() if len(verdicts) == 1 else "tie"


def by_rule(pair: Pair) -> PairOutcome | None:
    """A missing answer loses, and two equal answers are a tie; None where somebody has to judge."""
    # An error and an empty answer are the same to whoever waits for one.
    answers = (pair.one.turn.answer, pair.other.turn.answer)
    missing = [answer.error is not None or not answer.text.strip() for answer in answers]
    verdict: Verdict = "tie"
    first, other = (" ".join(text.split()) for text in pair.answers)
    if all(missing):
        reason = _("By rule: neither gave an answer.")
    elif any(missing):
        verdict, reason = "b" if missing[0] else "a", _("By rule: one of them gave no answer.")
    elif first == other:
        reason = _("By rule: the same answer.")
    else:
        return None
    return outcome(pair, "rule", verdict, reason=shown(reason, pair.one.case.language))


async def judge_pairs(
    pairs: Sequence[Pair], judge: PairJudge, at_once: int, on_outcome: Callable[[PairOutcome], None]
) -> list[PairOutcome]:
    """The outcome of every pair, in their order. Raises BudgetSpent, AccessDenied and Outage.

    Customers who begin alike and get the same answers share an outcome: one of them is judged.
    """

    async def judged(pair: Pair) -> PairOutcome:
        result = by_rule(pair) or await judge(pair)
        on_outcome(result)
        return result

    # One of those that are alike is judged; the others get its outcome, under their own names.
    firsts = distinct(pairs)
    outcomes = dict(zip(firsts, await for_each(list(firsts.values()), judged, at_once), strict=True))
    made = []
    for pair in pairs:
        result = outcomes[_sameness(pair)]
        if firsts[_sameness(pair)] is not pair:
            ids = {"conversation": pair.one.conversation, "persona": pair.one.persona}
            result = result.model_copy(update=ids)
            on_outcome(result)
        made.append(result)
    return made


def distinct(pairs: Iterable[Pair]) -> dict[Hashable, Pair]:
    """Of pairs that are alike the first, by what makes them alike."""
    first_of: dict[Hashable, Pair] = {}
    for pair in pairs:
        first_of.setdefault(_sameness(pair), pair)
    return first_of


def _sameness(pair: Pair) -> Hashable:
    """The same for first turns in which a case's question was asked in the same words and answered alike.

    Later turns have a dialogue before them, and are alike only within one conversation.
    """
    turn = pair.one.turn
    # The repeat is in it: the second time a question is asked is meant as an independent try.
    who = pair.one.conversation if turn.index > 1 else (pair.one.case.id, turn.user, pair.answers)
    return pair.a, pair.b, pair.repeat, turn.index, who


# --- asking a model ---

# The texts that judges/_pairwise.toml has in both languages, with the variables of each.
_VARIABLES: dict[str, set[str]] = {
    "title": set(),
    "system": {"guidelines", "form"},
    "task": {"history", "question", "reference", "passages", "answer_1", "answer_2"},
    "again": {"problem"},
    "nothing": set(),
    "cut": {"count"},
}
# What models write instead of "1", "2" and "tie" where the endpoint does not hold them to the schema.
_VERDICT_WORDS = {
    "1": "1", "2": "2", "tie": "tie", "draw": "tie", "equal": "tie", "both": "tie", "neither": "tie",
    "同点": "tie", "引き分け": "tie", "同等": "tie", "0": "tie",
}  # fmt: skip


def _preferred(value: Any) -> Any:
    """1, "１", "回答1" and "Answer 1." are "1"; 引き分け and 0 are a tie; the check sees anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    word = unicodedata.normalize("NFKC", str(value)).strip().casefold().strip("[]()「」。.\"'")
    bare = word.removeprefix("answer").removeprefix("回答").strip(" _:#")
    return _VERDICT_WORDS.get(bare, value)


# A model is sent the docstring of this class, as the description in the JSON schema.
class Preference(Reply):
    """The reply: what is needed, what each answer lacks, the reason, and the verdict last."""

    needed: replies.Text
    answer_1: replies.Text
    answer_2: replies.Text
    reason: replies.Text
    verdict: Annotated[Literal["1", "2", "tie"], BeforeValidator(_preferred)]


class PairPrompt(Prompts):
    """The prompt of a pair, in the language of its case."""

    def __init__(self, path: Path, guidelines: Path) -> None:
        """Reads and checks both files; raises PromptError for fields that are not those of the reply."""
        super().__init__(path, _VARIABLES)
        for language in LANGUAGES:
            if list(self.tables[language].get("fields", {})) != list(Preference.model_fields):
                msg = _(
                    "{path}: [{language}.fields] must be {fields}, in this order.",
                    path=path,
                    language=language,
                    fields=", ".join(Preference.model_fields),
                )
                raise PromptError(msg)
        self._guidelines = read_guidelines(guidelines)

    def fingerprint(self, model: str) -> str:
        """Stands for everything but the material: texts in both languages, guidelines, model."""
        # Both languages, whichever the run is in: a run may have cases in either.
        texts: list[str] = []
        for language in LANGUAGES:
            texts += [self.tables[language][key] for key in _VARIABLES]
            texts += [self._form(language), self._guidelines[language]]
        return fingerprint(*texts, model)

    def messages(self, pair: Pair, first: Side) -> Messages:
        """What the model is sent, with the answer of `first` as answer 1.

        But for the two answers both orders are word for word the same, so that only their order can make a
        difference, and the endpoint's own cache has most of the second one.
        """
        language = pair.one.case.language
        contexts = (pair.one, pair.other) if first == "a" else (pair.other, pair.one)
        nothing = self.text(language, "nothing")
        dialogue = _dialogue(*contexts)
        # What either run retrieved, once each and in one order for all readings.
        sides = sorted([(pair.a, pair.one), (pair.b, pair.other)], key=lambda side: side[0])
        retrieved = [passage for _run, context in sides for passage in context.turn.answer.passages]
        different = {passage.text: passage for passage in retrieved}
        fitting, left_out = within(tuple(different.values()), LONGEST_MATERIAL)
        passages = [passage.text for passage in fitting]
        references = pair.one.references or (nothing,)
        answer, other = (context.turn.answer.text for context in contexts)
        question = contexts[0].turn.user
        # Neither bot can know the code: it depends on what the other one said. Both orders have the same.
        lines = (text for line in dialogue for text in line)
        seal = seal_of(*lines, question, *sorted((answer, other)), *passages, *references)
        quoted = [quote("passage", text, seal) for text in passages or [nothing]]
        if left_out:
            quoted.append(self.text(language, "cut", count=str(left_out)))
        task = self.text(
            language,
            "task",
            history=quote_lines(dialogue, seal) or nothing,
            question=quote("question", question, seal),
            reference="\n".join(quote("reference", text, seal) for text in references),
            passages="\n".join(quoted),
            answer_1=quote("answer_1", answer, seal),
            answer_2=quote("answer_2", other, seal),
        )
        guidelines, form = self._guidelines[language], self._form(language)
        return request(self.text(language, "system", guidelines=guidelines, form=form), task)

    def _form(self, language: Language) -> str:
        return skeleton({key: ("text", text) for key, text in self.tables[language]["fields"].items()})


def _dialogue(first: GradingContext, other: GradingContext) -> list[tuple[str, str]]:
    """The earlier lines as (tag, text); where the bots differ, both are shown under their answer's number.

    The customers said the same in both, or the turns would not have been paired.
    """
    lines = [("customer" if m.role == "user" else "desk", m.content) for m in first.case.history]
    for turn_1, turn_2 in zip(first.earlier, other.earlier, strict=True):
        lines.append(("customer", turn_1.user))
        if turn_1.answer.text == turn_2.answer.text:
            lines.append(("desk", turn_1.answer.text))
        else:
            lines += [("desk_1", turn_1.answer.text), ("desk_2", turn_2.answer.text)]
    return [(tag, text[:LONGEST_EARLIER]) for tag, text in lines]


class PairModelJudge:
    """Asks a model in both orders."""

    def __init__(self, prompt: PairPrompt, model: Model, seed: int) -> None:
        """The seed makes the same requests in every comparison of the same runs."""
        self.prompt, self.model, self.seed = prompt, model, seed

    async def __call__(self, pair: Pair) -> PairOutcome:
        """The outcome of both orders; without a verdict when one of them gave nothing usable.

        What makes further calls pointless is raised only when the other order's call has arrived.
        """
        both = await asyncio.gather(*(self._ballot(pair, first) for first in ORDERS), return_exceptions=True)
        ballots = tuple(result for result in both if isinstance(result, Ballot))
        # Both calls have arrived: what the second one cost is in the ledger, whatever the first one raised.
        errors = [result for result in both if isinstance(result, BaseException)]
        for error in errors:
            if isinstance(error, HOPELESS) or not isinstance(error, ModelFailure):
                raise error
        if errors:
            return outcome(pair, "model", None, ballots=ballots, problem=" ".join(str(errors[0]).split()))
        return outcome(pair, "model", settled(ballots), reason=ballots[0].reason, ballots=ballots)

    async def _ballot(self, pair: Pair, first: Side) -> Ballot:
        """The verdict by run, where the answer of `first` was answer 1."""
        reply = await self.model.ask(
            self.prompt.messages(pair, first),
            Preference,
            self.prompt.again(pair.one.case.language),
            # The same whichever run was named first, and whichever of the customers who begin alike.
            seed=stable_int(self.seed, pair.one.case.id, pair.repeat, pair.one.turn.index),
        )
        # The reply speaks of answers 1 and 2; whose these were depends on the order.
        by_run: dict[str, Verdict] = {"1": first, "2": "b" if first == "a" else "a", "tie": "tie"}
        return Ballot(first=first, verdict=by_run[reply.verdict], reason=str(encodable(reply.reason)))
