"""The panel of a run, rubrics played by counting, functions, and the grades that take no model.

A JudgeCall takes a GradingContext and the names of the scores that exist already, and returns the missing
ones. It raises only what ends the run: whatever else goes wrong in a judge becomes a `failed` score.

Before any judge is asked, rules decide (`by_rule`, `_ruled`), in this order:

    a line of a log without an answer           skipped: there is nothing to grade
    a judge that needs a reference, and none    skipped; so is one of what a case expects, where it does not
    an answer that failed                       the lowest grade, `by_rule`, major: silence must not look good
    a judge that needs passages, and none       skipped
    anything else                               the judge decides

A judge of the customer grades a turn without an answer all the same, one of the retrieval skips it, and one
of whole conversations gives the lowest grade only where no turn was answered.
"""

import asyncio
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from simulator.core.concurrency import Worker, is_async, on_a_thread
from simulator.core.errors import HOPELESS, InputError, MalformedReply, ModelFailure, RunFileError
from simulator.core.loading import describe_error
from simulator.core.messages import _, encodable, shown
from simulator.core.replies import FIFTHS, SHARE, revalidated, score_of, share_of
from simulator.core.templates import stable_int
from simulator.core.titles import title
from simulator.core.types import RETEST, WHOLE, GradingContext, Score, State
from simulator.grading.rubric import PromptFrame, Rubric, grades_whole
from simulator.models.pricing import BudgetSpent

# Characters of a malformed reply that are stored with the failed score.
KEPT_REPLY = 2000
# Marks in its detail a grade that is skipped because it takes a model.
NO_MODEL = "no_model"
# Parameters by which a function judge asks for evidence, and the need that each stands for: `def
# judge(context, references)` is skipped where there are none.
_NEEDS = {"references": "reference", "passages": "passages"}
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# What a rubric may grade beside the answer, and then has nothing to say of a missing one.
_BESIDE = ("customer", "retrieval")
# What is kept of a second grading: not the names of turn and judge, which are those of the first.
_IN_RETEST = {"state", "value", "raw", "severity", "reason", "response", "detail"}
# Not a judge's failures, though they may pass through it: after these nothing else can succeed.
_STOPPING = (*HOPELESS, BudgetSpent, RunFileError)

# Where all grading by counting happens: one after the other, and never while a bot's time is measured.
counting = Worker("counting judges")
# Where functions of ours that grade stand.
_OURS = (["simulator", "shelves"], ["simulator", "lab"])

# Grades a turn with one or more judges; scores whose names are in the collection exist already.
JudgeCall = Callable[[GradingContext, Collection[str]], Awaitable[list[Score]]]


class Retest(NamedTuple):
    """Which turns are graded twice: a `share` (0..1) of them, drawn by the seed; and by what.

    `calls` has for each call that asks a model the one that asks again, with another seed: the reply to the
    first one, which is in the cache, is no answer to it. Other judges would say the same again.
    """

    share: float
    seed: int
    calls: Mapping[JudgeCall, JudgeCall]

    def draws(self, conversation: str, turn: int) -> bool:
        """Whether this turn is graded twice, and with a last turn the whole conversation."""
        return bool(self.calls) and stable_int(self.seed, RETEST, conversation, turn) < self.share * 2**31


NO_RETEST = Retest(0.0, 0, {})


class Panel:
    """All judges of a run."""

    def __init__(
        self,
        judge_calls: Sequence[JudgeCall],
        conversation_calls: Sequence[JudgeCall] = (),
        retest: Retest = NO_RETEST,
    ) -> None:
        """`judge_calls` are in the order of the columns; each grades a turn with one or more judges.

        `conversation_calls` grade a whole conversation.
        """
        self.judge_calls, self.conversation_calls = tuple(judge_calls), tuple(conversation_calls)
        self.retest = retest

    async def grade(
        self,
        context: GradingContext,
        done: Collection[str] = (),
        keep: Callable[[list[Score]], None] = lambda _: None,
    ) -> list[Score]:
        """The scores of a turn, or of a whole conversation, without those in `done`; `keep` gets each.

        Raises BudgetSpent once the calls in flight have arrived, for they are paid for. AccessDenied is
        raised at once, in an exception group: nothing else can be graded either.
        """
        spent: list[BudgetSpent] = []
        whole = context.closing is not None
        again = self.retest.calls if self.retest.draws(context.conversation, context.turn.index) else {}

        async def graded(call: JudgeCall) -> list[Score]:
            try:
                twice = await _graded_twice(call, again[call], context, done) if call in again else None
                scores = await call(context, done) if twice is None else twice
            except BudgetSpent as error:
                spent.append(error)
                return []
            if whole:
                scores = [
                    s.model_copy(update={"detail": {**s.detail, WHOLE: context.turn.index}}) for s in scores
                ]
            keep(scores)
            return scores

        # All judges at once; the first AccessDenied cancels the others, for they would be refused as well.
        async with asyncio.TaskGroup() as tasks:
            calls = self.conversation_calls if whole else self.judge_calls
            running = [tasks.create_task(graded(call)) for call in calls]
        if spent:
            raise spent[0]
        return [score for task in running for score in task.result()]


async def _graded_twice(
    first: JudgeCall, second: JudgeCall, context: GradingContext, done: Collection[str]
) -> list[Score]:
    """The scores of the first call, with what the second one says in their detail; neither waits.

    A grade that a rule gave stays alone. Raises what either raised once both have arrived: both are paid for.
    """
    # gather and no TaskGroup: the other one is paid for, whatever became of this one.
    both = await asyncio.gather(first(context, done), second(context, done), return_exceptions=True)
    gradings = []
    for outcome in both:
        if isinstance(outcome, BaseException):
            raise outcome
        gradings.append({score.judge: score for score in outcome})
    once, again = gradings
    for name, score in once.items():
        if score.state == "scored" and not score.by_rule:
            verdict = again[name].model_dump(mode="json", include=_IN_RETEST)
            once[name] = score.model_copy(update={"detail": {**score.detail, RETEST: verdict}})
    return list(once.values())


class LexicalStandIn:
    """A rubric played by a lexical stand-in because there is no model."""

    def __init__(
        self, rubric: Rubric, stand_in: Callable[[GradingContext], Score] | None, frame: PromptFrame
    ) -> None:
        """Without a stand-in every turn is skipped, with that as the reason."""
        self.rubric, self.stand_in, self.frame = rubric, stand_in, frame

    async def __call__(self, context: GradingContext, done: Collection[str]) -> list[Score]:
        """The one score, unless it is done."""
        name = self.rubric.name
        if name in done:
            return []
        ruled = by_rule(self.rubric, context, self.frame)
        if ruled is None and self.stand_in is None:
            language = context.case.language
            reason = self.frame.text(language, "no_stand_in", judge=shown(title("judge", name), language))
            ruled = _for_want_of_a_model(bare(name, context, "skipped", reason))
        return [ruled or await counting(self.stand_in, context)]  # type: ignore[arg-type]


class FunctionJudge:
    """A judge that is a Python function; its parameters name the arguments that it is called with."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        frame: PromptFrame,
        rubric: str,
    ) -> None:
        """`arguments` are what parameters may name, beside `references` and `passages`; `rubric` is a hash.

        Turns without references or passages are skipped if the function asks for them. Raises InputError
        for a required parameter that nothing fills.
        """
        self.name, self.function, self.frame, self.rubric = name, function, frame, rubric
        # The first is the context, whatever it is called.
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.parameters = tuple(parameter.name for parameter in parameters)
        self.scale = scale_of(function)
        self.one_at_a_time = asyncio.Lock()
        self.arguments = {key: value for key, value in arguments.items() if key in self.parameters}
        parameters_offered = {*arguments, *_NEEDS}
        for parameter in parameters:
            required = parameter.default is parameter.empty and parameter.kind not in _VARIADIC
            if required and parameter.name not in parameters_offered:
                msg = _(
                    "judge {name} wants '{parameter}', which nothing fills. It may ask for: {known}.",
                    name=name,
                    parameter=parameter.name,
                    known=", ".join(sorted(parameters_offered)),
                )
                raise InputError(msg)

    async def __call__(self, context: GradingContext, done: Collection[str]) -> list[Score]:
        """The one score, unless it is done."""
        if self.name in done:
            return []
        material = {"references": context.references, "passages": context.turn.answer.passages}
        evidence = {key: value for key, value in material.items() if key in self.parameters}
        # Asked for and not there: the function is not called, so that it need not check.
        missing = next((_NEEDS[key] for key, value in evidence.items() if not value), None)
        # What a whole conversation came to does not hang on the answer to its last line.
        whole = grades_whole(self.function)
        ruled = None if whole else _ruled(self.name, missing, context, self.frame, self.scale)
        if ruled is not None:
            return [ruled]
        try:
            verdict = await self._call(context, evidence | self.arguments)
            score = self._score(await verdict if inspect.isawaitable(verdict) else verdict, context)
            lacks_model = "fill" in self.arguments and self.arguments["fill"] is None
            return [_for_want_of_a_model(score) if lacks_model and score.state == "skipped" else score]
        except _STOPPING:
            raise
        except ModelFailure as error:
            return [failed(self.name, context, error, self.rubric)]
        except (Exception, SystemExit) as error:  # a judge may be the user's own: it fails its grade only
            failure = ModelFailure("error", describe_error(error))
            return [failed(self.name, context, failure, self.rubric)]

    async def _call(self, context: GradingContext, arguments: Mapping[str, Any]) -> Any:
        """What the function returns; it may block, so it never runs on the loop, where bots are timed."""
        call = functools.partial(self.function, context, **arguments)
        if is_async(self.function):
            return await call()
        # Ours only count, so one after the other is quickest.
        if str(getattr(self.function, "__module__", "")).split(".")[:2] in _OURS:
            return await counting(call)
        async with self.one_at_a_time:  # a user's own code need not be safe to call from two threads
            return await on_a_thread(call, name=self.name)

    def _score(self, verdict: Any, context: GradingContext) -> Score:
        """The verdict under the judge's own name and turn, whatever it says of them itself."""
        score = score_of(verdict, self.scale)
        place = {"judge": self.name, "conversation": context.conversation, "turn": context.turn.index}
        return revalidated(Score, score.model_copy(update=place | {"rubric": self.rubric}))


def scale_of(function: Callable[..., Any]) -> tuple[float, float]:
    """The scale of a function judge: SCALE of its module; else 0 to 1 for `-> bool`, and grades 1 to 5.

    Raises InputError for a SCALE that is not two numbers.
    """
    module = sys.modules.get(getattr(function, "__module__", ""))
    scale = getattr(module, "SCALE", None)
    if scale is None:
        # As text where the user's file has `from __future__ import annotations`.
        returned = getattr(function, "__annotations__", {}).get("return")
        return SHARE if returned is bool or returned == "bool" else FIFTHS
    try:
        low, high = map(float, scale)
    except (TypeError, ValueError):
        msg = _(
            "{judge}: SCALE must be two numbers, such as (0, 1).",
            judge=getattr(module, "__file__", module),
        )
        raise InputError(msg) from None
    return low, high


def by_rule(rubric: Rubric, context: GradingContext, frame: PromptFrame, name: str = "") -> Score | None:
    """The score that takes no model: skipped without evidence, lowest without an answer; else None."""
    name = name or rubric.name
    if "expect" in rubric.needs and not context.case.expect:
        return bare(name, context, "skipped", frame.text(context.case.language, "none_expected"))
    if grades_whole(rubric) and any(turn.answer.error is None for turn in context.turns):
        return None
    if context.turn.answer.error is not None and rubric.grades in _BESIDE and not context.turn.unrecorded:
        if rubric.grades == "customer":
            return None
        return bare(name, context, "skipped", frame.text(context.case.language, "no_passages"))
    return _ruled(name, rubric.missing(context), context, frame, rubric.scale)


def _ruled(
    judge: str, missing: str | None, context: GradingContext, frame: PromptFrame, scale: tuple[float, float]
) -> Score | None:
    language, error = context.case.language, context.turn.answer.error
    if context.turn.unrecorded:
        return bare(judge, context, "skipped", frame.text(language, "unrecorded"))
    if missing == "reference":
        return bare(
            judge, context, "skipped", frame.text(language, "no_reference", turn=str(context.turn.index))
        )
    if error is not None:
        kind = shown(title("failure", error.kind), language)
        reason = frame.text(language, "no_answer", kind=kind)
        lowest = {"value": share_of(scale[0], scale), "raw": scale[0], "scale": scale, "by_rule": True}
        return bare(judge, context, "scored", reason).model_copy(update=lowest | {"severity": "major"})
    if missing in ("passages", "retrieval"):
        return bare(judge, context, "skipped", frame.text(language, "no_passages"))
    return None


def failed(judge: str, context: GradingContext, error: ModelFailure, rubric: str) -> Score:
    """A score of a judge that failed: no grade, for it is not the bot's fault, but it is counted."""
    detail: dict[str, str] = {"kind": error.failure.kind}
    if isinstance(error, MalformedReply):
        detail["reply"] = encodable(error.raw[:KEPT_REPLY])
    said = shown(error.failure.message, context.case.language)
    reason = " ".join(encodable(said).split())
    return bare(judge, context, "failed", reason).model_copy(update={"detail": detail, "rubric": rubric})


def _for_want_of_a_model(score: Score) -> Score:
    return score.model_copy(update={"detail": {**score.detail, NO_MODEL: True}})


def bare(judge: str, context: GradingContext, state: State, reason: str) -> Score:
    """A score without a value, and why."""
    return Score(
        judge=judge, conversation=context.conversation, turn=context.turn.index, state=state, reason=reason
    )
