"""The panel of a run and its judges: rubrics asked of a model or played by counting, and functions."""

import asyncio
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from statistics import median, median_low
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import JsonValue

from simulator.core import replies
from simulator.core.concurrency import Worker, is_async, on_a_thread
from simulator.core.errors import AccessDenied, InputError, MalformedReply, ModelFailure, RunFileError
from simulator.core.messages import _, encodable
from simulator.core.replies import FIFTHS, SHARE, revalidated, score_of, share_of
from simulator.core.shelves import describe_error
from simulator.core.templates import stable_int
from simulator.core.types import RETEST, WHOLE, GradingContext, Score, State
from simulator.data.datasets import labels_of
from simulator.grading.rubric import LONGEST_MATERIAL, PromptFrame, ReplySchema, Rubric, grades_whole, within
from simulator.models.pricing import JUDGE, BudgetSpent

if TYPE_CHECKING:
    from simulator.models.client import Messages, Model

# Votes further apart than this share of the scale disagree: two grades of five.
DISAGREEMENT = 0.4
# Characters of a malformed reply that the model is shown when it is asked once more.
SHOWN_REPLY = 4000
# Characters of a malformed reply that are stored with the failed score.
KEPT_REPLY = 2000
# Characters of a reference and of passages that contradict each other, as quoted in the reason.
LONGEST_SIDE = 200
# Parameters by which a function judge asks for evidence, and the need that each stands for.
_NEEDS = {"references": "reference", "passages": "passages"}
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# What a rubric may grade beside the answer, and then has nothing to say of a missing one.
_BESIDE = ("customer", "retrieval")
# What is kept of a second grading.
_IN_RETEST = {"state", "value", "raw", "severity", "reason", "detail"}
# Not a judge's failures, though they may pass through it: after these nothing else can succeed.
_STOPPING = (AccessDenied, BudgetSpent, RunFileError)

# Where all grading by counting happens: one after the other, and never while a bot's time is measured.
counting = Worker("counting judges")

# Grades a turn with one or more judges; scores whose names are in the collection exist already.
JudgeCall = Callable[[GradingContext, Collection[str]], Awaitable[list[Score]]]
# The reply to each rubric, by the rubric's name.
Parts = dict[str, replies.Reply | ModelFailure]


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
    both = await asyncio.gather(first(context, done), second(context, done), return_exceptions=True)
    gradings = []
    for each in both:
        if isinstance(each, BaseException):
            raise each
        gradings.append({score.judge: score for score in each})
    once, again = gradings
    for name, score in once.items():
        if score.state == "scored" and not score.by_rule:
            verdict = again[name].model_dump(mode="json", include=_IN_RETEST)
            once[name] = score.model_copy(update={"detail": {**score.detail, RETEST: verdict}})
    return list(once.values())


class ModelJudge:
    """One model call that fills in one rubric, or several that share their material."""

    def __init__(
        self,
        rubrics: Sequence[Rubric],
        frame: PromptFrame,
        model: "Model",
        *,
        seed: int,
        alone: bool,
        votes: int = 1,
        suffix: str = "",
    ) -> None:
        """`alone`: one rubric, asked in its own words (`--judging separate`).

        `votes` calls are made for every turn, and their median counts. `suffix` follows the judge's name
        in its scores, so that a second model's grades stand beside the first one's.
        """
        self.rubrics, self.frame, self.model, self.seed, self.alone = rubrics, frame, model, seed, alone
        self.votes, self.suffix = votes, suffix
        self.rubric_hash = frame.fingerprint(rubrics, model.endpoint.model, alone=alone)
        self._forms: dict[tuple[str, ...], type[replies.Reply]] = {}

    async def __call__(self, context: GradingContext, done: Collection[str]) -> list[Score]:
        """Scores of the rubrics not yet done."""
        JUDGE.set(",".join(map(self._name, self.rubrics)))
        open_rubrics = [rubric for rubric in self.rubrics if self._name(rubric) not in done]
        ruled = {r.name: by_rule(r, context, self.frame, self._name(r)) for r in open_rubrics}
        asked = [rubric for rubric in open_rubrics if ruled[rubric.name] is None]
        verdicts = await self._vote(context, asked) if asked else {}
        return [ruled[r.name] or verdicts[r.name] for r in open_rubrics]

    def _name(self, rubric: Rubric) -> str:
        return rubric.name + self.suffix

    async def _vote(self, context: GradingContext, asked: Sequence[Rubric]) -> dict[str, Score]:
        if self.votes == 1:
            return await self._ask(context, asked, 0)
        async with asyncio.TaskGroup() as tasks:
            voting = [tasks.create_task(self._ask(context, asked, vote)) for vote in range(self.votes)]
        ballots = [vote.result() for vote in voting]
        return {rubric.name: median_score([ballot[rubric.name] for ballot in ballots]) for rubric in asked}

    async def _ask(self, context: GradingContext, asked: Sequence[Rubric], vote: int) -> dict[str, Score]:
        messages = self.frame.prompt(context, asked, alone=self.alone)
        seed = stable_int(self.seed, context.conversation, context.turn.index, *([vote] if vote else []))
        parts: Parts
        try:
            if self.alone:
                form, text = self._form(asked), functools.partial(self._again_text, context)
                parts = {asked[0].name: await self.model.ask(messages, form, text, seed=seed)}
            else:
                parts = await self._ask_parts(context, asked, messages, seed)
        except AccessDenied:
            raise
        except ModelFailure as error:
            parts = dict.fromkeys((rubric.name for rubric in asked), error)
        return {rubric.name: self._scored(rubric, parts[rubric.name], context) for rubric in asked}

    async def _ask_parts(
        self, context: GradingContext, asked: Sequence[Rubric], messages: "Messages", seed: int
    ) -> Parts:
        """The parts of a form of forms; those that cannot be read are asked for once more, and only those.

        A single one of several is asked for in its own form, and shown its own part of the reply.
        """
        form = self._form(asked)
        first = await self.model.complete(messages, seed, form)
        parts: Parts = {**replies.parse_parts(first.text, form)}
        problems = _failed(parts)
        if not problems:
            return parts
        broken = [rubric for rubric in asked if rubric.name in problems]
        alone = len(broken) == 1 and len(asked) > 1
        reply = first.text
        if alone and isinstance(failure := problems[broken[0].name], MalformedReply):
            reply = failure.raw
        if len(broken) < len(asked):
            messages = self.frame.prompt(context, broken, alone=alone)
        problem = str(first.cut_off or "; ".join(dict.fromkeys(map(str, problems.values()))))
        correction = [
            {"role": "assistant", "content": reply[:SHOWN_REPLY] or "-"},
            {"role": "user", "content": self._again_text(context, problem)},
        ]
        form = broken[0].form if alone else self._form(broken)
        try:
            second = await self.model.complete(
                [*messages, *correction], seed, form, longer=first.cut_off is not None
            )
        except AccessDenied:
            raise
        except ModelFailure as error:
            return parts | dict.fromkeys(problems, error)
        if second.cut_off:
            repaired = parts | dict.fromkeys(problems, second.cut_off)
        else:
            repaired = parts | _read_again(second.text, list(problems), form)
        if _failed(repaired):
            # As in `Model.ask`; the first reply stays in the cache if any part of it was readable.
            unreadable = [first.request] if len(problems) == len(parts) else []
            self.model.connections.cache.forget(*unreadable, second.request)
        return repaired

    def _again_text(self, context: GradingContext, problem: str) -> str:
        return self.frame.text(context.case.language, "again", problem=problem)

    def _form(self, asked: Sequence[Rubric]) -> type[replies.Reply]:
        if self.alone:
            return asked[0].form
        names = tuple(rubric.name for rubric in asked)
        if names not in self._forms:
            self._forms[names] = replies.create_form("grades", {rubric.name: rubric.form for rubric in asked})
        return self._forms[names]

    def _scored(self, rubric: Rubric, filled: replies.Reply | ModelFailure, context: GradingContext) -> Score:
        """A filled-in form as a score: its last text before the verdict is the reason."""
        if isinstance(filled, ModelFailure):
            return failed(self._name(rubric), context, filled, self.rubric_hash)
        kept = {
            key: replies.FIELD_KINDS[kind].kept(getattr(filled, key), context)
            for key, kind in rubric.fields.items()
        }
        verdict = kept[rubric.value]
        detail = encodable(filled.model_copy(update=kept).model_dump(mode="json"))
        dropped = sum(
            len(getattr(filled, key)) - len(each) for key, each in kept.items() if isinstance(each, list)
        )
        if dropped:
            detail["dropped"] = dropped
        if conflicts := _conflicts(rubric, detail, context):
            sides = {side: " ".join(text.split())[:LONGEST_SIDE] for side, text in conflicts[0].items()}
            reason = self.frame.text(context.case.language, "disagree", **sides)
            skipped = _bare(self._name(rubric), context, "skipped", reason)
            return skipped.model_copy(update={"detail": {"conflicts": conflicts}, "rubric": self.rubric_hash})
        texts = [key for key, kind in rubric.fields.items() if kind == "text"]
        raw = rubric.kind.raw(verdict, context)
        score = Score(
            judge=self._name(rubric),
            conversation=context.conversation,
            turn=context.turn.index,
            state="scored",
            value=share_of(raw, rubric.scale),
            raw=raw,
            scale=rubric.scale,
            severity=rubric.kind.severity(verdict),
            reason=str(detail[texts[-1]]) if texts else "",
            detail=detail,
            rubric=self.rubric_hash,
        )
        if context.closing is not None or "passages" not in rubric.material:
            return score
        _unused, left_out = within(context.turn.answer.passages, LONGEST_MATERIAL)
        return _unseen(score, left_out, context, self.frame) if left_out else score


def _failed(parts: Parts) -> dict[str, ModelFailure]:
    return {name: part for name, part in parts.items() if isinstance(part, ModelFailure)}


def _read_again(text: str, names: Sequence[str], reply_form: type[replies.Reply]) -> Parts:
    """The parts that were asked for once more; a single one is read with and without its name around it."""
    if reply_form.model_fields.keys() == set(names):
        return {**replies.parse_parts(text, reply_form)}
    [name] = names
    named = replies.parse_parts(text, replies.create_form("grades", {name: reply_form}))
    if not isinstance(named[name], MalformedReply):
        return {**named}
    try:
        return {name: replies.parse_reply(text, reply_form)}
    except MalformedReply as error:
        return {name: error}


def median_score(votes: Sequence[Score]) -> Score:
    """The median of the votes that could be read, with the reason of the vote nearest to it.

    `detail` has all `votes`, their `spread` on the scale, and `disagreement`; grades within the form
    (the turn judge's categories) are medians, too. Failed only when every vote failed; skipped when most
    votes that could be read were skipped.
    """
    skipped = [vote for vote in votes if vote.state == "skipped"]
    if 2 * len(skipped) > sum(vote.state != "failed" for vote in votes):
        return skipped[0]
    scored = [vote for vote in votes if vote.state == "scored" and vote.raw is not None]
    if not scored:
        return votes[0]
    raws = [vote.raw or 0.0 for vote in scored]
    middle = median(raws)
    nearest = min(scored, key=lambda vote: abs((vote.raw or 0.0) - middle))
    values = [vote.value or 0.0 for vote in scored]
    figures: dict[str, JsonValue] = {
        "votes": [*raws],
        "failed_votes": sum(vote.state == "failed" for vote in votes),
        "spread": max(raws) - min(raws),
        "disagreement": max(values) - min(values) >= DISAGREEMENT - 1e-9,
    }
    detail = {**nearest.detail, **_medians(scored, nearest), **figures}
    changes = {"raw": middle, "value": share_of(middle, nearest.scale), "detail": detail}
    return nearest.model_copy(update=changes)


def _medians(votes: Sequence[Score], nearest: Score) -> dict[str, JsonValue]:
    """The lower median of every grade in the form, so that no category hangs on one vote."""
    medians: dict[str, JsonValue] = {}
    for key, value in nearest.detail.items():
        if isinstance(value, int) and not isinstance(value, bool):
            grades = [vote.detail.get(key) for vote in votes]
            medians[key] = median_low([grade for grade in grades if isinstance(grade, int)])
    return medians


class FormFiller:
    """`fill` of a function judge: a model call that fills in the form of judges/_NAME.toml."""

    def __init__(
        self, forms: Callable[[str], ReplySchema], frame: PromptFrame, model: "Model", seed: int
    ) -> None:
        """`forms` reads a form by its name."""
        self.forms, self.frame, self.model, self.seed = forms, frame, model, seed

    async def __call__(self, context: GradingContext, name: str) -> replies.Reply:
        """The filled-in form; raises ModelFailure, which fails the grade."""
        form, language = self.forms(name), context.case.language
        seed = stable_int(self.seed, context.conversation, context.turn.index)
        return await self.model.ask(
            self.frame.prompt(context, [form], alone=True),
            form.form,
            lambda problem: self.frame.text(language, "again", problem=problem),
            seed=seed,
        )


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
            reason = self.frame.text(context.case.language, "no_stand_in", judge=name)
            ruled = _bare(name, context, "skipped", reason)
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
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.parameters = tuple(parameter.name for parameter in parameters)
        self.scale = scale_of(function)
        self.one_at_a_time = asyncio.Lock()
        self.arguments = {key: value for key, value in arguments.items() if key in self.parameters}
        known = {*arguments, *_NEEDS}
        for parameter in parameters:
            required = parameter.default is parameter.empty and parameter.kind not in _VARIADIC
            if required and parameter.name not in known:
                msg = _(
                    "judge {name} wants '{parameter}', which nothing fills. It may ask for: {known}.",
                    name=name,
                    parameter=parameter.name,
                    known=", ".join(sorted(known)),
                )
                raise InputError(msg)

    async def __call__(self, context: GradingContext, done: Collection[str]) -> list[Score]:
        """The one score, unless it is done."""
        if self.name in done:
            return []
        JUDGE.set(self.name)
        material = {"references": context.references, "passages": context.turn.answer.passages}
        evidence = {key: value for key, value in material.items() if key in self.parameters}
        missing = next((_NEEDS[key] for key, value in evidence.items() if not value), None)
        ruled = _ruled(self.name, missing, context, self.frame, self.scale)
        if ruled is not None:
            return [ruled]
        arguments = evidence | self.arguments
        if "labels" in arguments:
            arguments["labels"] = labels_of(context.case, arguments["labels"])
        try:
            verdict = await self._call(context, arguments)
            return [self._score(await verdict if inspect.isawaitable(verdict) else verdict, context)]
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
        if str(getattr(self.function, "__module__", "")).startswith("judges."):
            return await counting(call)
        async with self.one_at_a_time:  # a user's own code need not be safe to call from two threads
            return await on_a_thread(call, name=self.name)

    def _score(self, verdict: Any, context: GradingContext) -> Score:
        """The verdict under the judge's own name and turn, whatever it says of them itself."""
        score = score_of(verdict, self.scale, declared=declared_scale(self.function) is not None)
        own = {"judge": self.name, "conversation": context.conversation, "turn": context.turn.index}
        return revalidated(Score, score.model_copy(update=own | {"rubric": self.rubric}))


def scale_of(function: Callable[..., Any]) -> tuple[float, float]:
    """The scale of a function judge: SCALE of its module; else 0 to 1 for `-> bool`, and grades 1 to 5."""
    returned = getattr(function, "__annotations__", {}).get("return")
    return declared_scale(function) or (SHARE if returned is bool or returned == "bool" else FIFTHS)


def declared_scale(function: Callable[..., Any]) -> tuple[float, float] | None:
    """SCALE of a function judge's module, None without one; raises InputError if it is not two numbers."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    scale = getattr(module, "SCALE", None)
    if scale is None:
        return None
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
    if grades_whole(rubric) and any(turn.answer.error is None for turn in context.turns):
        return None
    if context.turn.answer.error is not None and rubric.grades in _BESIDE and not context.turn.unrecorded:
        if rubric.grades == "customer":
            return None
        return _bare(name, context, "skipped", frame.text(context.case.language, "no_passages"))
    return _ruled(name, rubric.missing(context), context, frame, rubric.scale)


def _ruled(
    judge: str, missing: str | None, context: GradingContext, frame: PromptFrame, scale: tuple[float, float]
) -> Score | None:
    language, error = context.case.language, context.turn.answer.error
    if context.turn.unrecorded:
        return _bare(judge, context, "skipped", frame.text(language, "unrecorded"))
    if missing == "reference":
        return _bare(
            judge, context, "skipped", frame.text(language, "no_reference", turn=str(context.turn.index))
        )
    if error is not None:
        reason = frame.text(language, "no_answer", kind=error.kind)
        lowest = {"value": share_of(scale[0], scale), "raw": scale[0], "scale": scale, "by_rule": True}
        return _bare(judge, context, "scored", reason).model_copy(update=lowest | {"severity": "major"})
    if missing in ("passages", "retrieval"):
        return _bare(judge, context, "skipped", frame.text(language, "no_passages"))
    return None


def _conflicts(rubric: Rubric, detail: Mapping[str, Any], context: GradingContext) -> list[dict[str, str]]:
    """Where reference and passages contradict each other; none unless the judge has seen both."""
    if not context.turn.answer.passages or not (context.references or context.case_references):
        return []
    return [each for key, kind in rubric.fields.items() if kind == "conflicts" for each in detail[key]]


def _unseen(score: Score, left_out: int, context: GradingContext, frame: PromptFrame) -> Score:
    """The score with a note that some passages were too long to be shown to the judge."""
    note = frame.text(context.case.language, "left_out", count=str(left_out))
    detail = {**score.detail, "passages_left_out": left_out}
    return score.model_copy(update={"reason": f"{score.reason} {note}".strip(), "detail": detail})


def failed(judge: str, context: GradingContext, error: ModelFailure, rubric: str) -> Score:
    """A score of a judge that failed: no grade, for it is not the bot's fault, but it is counted."""
    detail: dict[str, str] = {"kind": error.failure.kind}
    if isinstance(error, MalformedReply):
        detail["reply"] = encodable(error.raw[:KEPT_REPLY])
    reason = " ".join(encodable(str(error)).split())
    return _bare(judge, context, "failed", reason).model_copy(update={"detail": detail, "rubric": rubric})


def _bare(judge: str, context: GradingContext, state: State, reason: str) -> Score:
    return Score(
        judge=judge, conversation=context.conversation, turn=context.turn.index, state=state, reason=reason
    )
