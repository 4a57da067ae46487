"""A form of several forms, of which one that is broken costs the others nothing."""

import asyncio
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from statistics import median, median_low
from typing import Any

from pydantic import JsonValue

from simulator.core import replies
from simulator.core import replies as kinds
from simulator.core.concurrency import Worker, is_async, on_a_thread
from simulator.core.errors import AccessDenied, InputError, MalformedReply, ModelFailure, RunFileError
from simulator.core.replies import FIFTHS, SHARE, checked, encodable, score_of, share_of
from simulator.core.templates import stable_int
from simulator.core.types import GradingContext, Score, State
from simulator.data.datasets import labels_of
from simulator.grading.rubric import LONGEST_MATERIAL, PromptFrame, ReplySchema, Rubric, within
from simulator.models.client import Messages, Model
from simulator.models.pricing import JUDGE, BudgetSpent

Parts = dict[str, replies.Reply | ModelFailure]
# The problems by part, and the whole reply; the messages and the form that ask for these parts once more.
Again = Callable[[Mapping[str, ModelFailure], str], tuple[Messages, type[replies.Reply]]]


async def ask_parts(
    model: Model, messages: Messages, reply_form: type[replies.Reply], again: Again, *, seed: int
) -> Parts:
    """The parts of the form, each filled in or why it is not: what cannot be read is asked for once more."""
    said = await model.complete(messages, seed, reply_form)
    parts: Parts = {**replies.read_parts(said.text, reply_form)}
    broken = _failed(parts)
    if not broken:
        return parts
    retry, retry_form = again(broken, said.text)
    try:
        second = await model.complete(retry, seed, retry_form)
    except AccessDenied:
        raise
    except ModelFailure as error:
        return parts | dict.fromkeys(broken, error)
    repaired = parts | _repaired(second.text, list(broken), retry_form)
    if _failed(repaired):
        # As in `Model.ask`; the first reply stays where it has been of use.
        useless = [said.request] if len(broken) == len(parts) else []
        model.connections.cache.forget(*useless, second.request)
    return repaired


def _failed(parts: Parts) -> dict[str, ModelFailure]:
    return {name: part for name, part in parts.items() if isinstance(part, ModelFailure)}


def _repaired(text: str, names: Sequence[str], reply_form: type[replies.Reply]) -> Parts:
    """The parts that were asked for once more: one by itself is read with and without its name."""
    if reply_form.model_fields.keys() == set(names):
        return {**replies.read_parts(text, reply_form)}
    [name] = names
    named = replies.read_parts(text, replies.form("grades", {name: reply_form}))
    if not isinstance(named[name], MalformedReply):
        return {**named}
    try:
        return {name: replies.read(text, reply_form)}
    except MalformedReply as error:
        return {name: error}


# Votes further apart than this share of the scale disagree: two grades of five.
DISAGREEMENT = 0.4


def settled(votes: Sequence[Score]) -> Score:
    """The votes as one score: the median of those that could be read, in the words of the vote nearest to it.

    `detail` has all `votes`, their `spread` on the scale, and `disagreement`; grades within the form
    (the turn judge's categories) are medians, too. Failed only when every vote failed; skipped when most
    votes that could be read found nothing to grade by.
    """
    skipped = [vote for vote in votes if vote.state == "skipped"]
    if 2 * len(skipped) > sum(vote.state != "failed" for vote in votes):
        return skipped[0]
    read = [vote for vote in votes if vote.state == "scored" and vote.raw is not None]
    if not read:
        return votes[0]
    raws = [vote.raw or 0.0 for vote in read]
    middle = median(raws)
    spoken = min(read, key=lambda vote: abs((vote.raw or 0.0) - middle))
    values = [vote.value or 0.0 for vote in read]
    told: dict[str, JsonValue] = {
        "votes": [*raws],
        "failed_votes": sum(vote.state == "failed" for vote in votes),
        "spread": max(raws) - min(raws),
        "disagreement": max(values) - min(values) >= DISAGREEMENT - 1e-9,
    }
    detail = {**spoken.detail, **_medians(read, spoken), **told}
    changes = {"raw": middle, "value": share_of(middle, spoken.scale), "detail": detail}
    return spoken.model_copy(update=changes)


def _medians(votes: Sequence[Score], spoken: Score) -> dict[str, JsonValue]:
    """The lower median of every grade in the form: no category hangs on one vote."""
    found: dict[str, JsonValue] = {}
    for key, value in spoken.detail.items():
        if isinstance(value, int) and not isinstance(value, bool):
            given = [vote.detail.get(key) for vote in votes]
            found[key] = median_low([number for number in given if isinstance(number, int)])
    return found


# What of a malformed reply is shown to the model that is asked once more.
SHOWN_REPLY = 4000
# What of a malformed reply is kept beside the failed score.
KEPT_REPLY = 2000
# What of a reference and of passages that contradict each other is quoted in the reason.
LONGEST_SIDE = 200
# What a function judge may ask for by parameter, and the need it stands for.
_NEED = {"references": "reference", "passages": "passages"}
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

# Not a judge's failures, though they may pass through it: after these nothing else can succeed.
_STOPPING = (AccessDenied, BudgetSpent, RunFileError)

# Where whatever grades by counting does it: one after the other, and never while a bot's time is taken.
counting = Worker("counting judges")

JudgeCall = Callable[[GradingContext, Collection[str]], Awaitable[list[Score]]]


class Panel:
    """All judges of a run. Their order is the order of their columns."""

    def __init__(self, judgings: Sequence[JudgeCall]) -> None:
        """Each judging grades with one or more judges."""
        self.judgings = tuple(judgings)

    async def grade(
        self,
        context: GradingContext,
        done: Collection[str] = (),
        keep: Callable[[list[Score]], None] = lambda _: None,
    ) -> list[Score]:
        """The scores of a turn, without those of judges in `done`; `keep` is told of each as it arrives.

        Raises BudgetSpent when the calls in flight have arrived, for they are paid for; and, at once
        and in an exception group, AccessDenied: then nothing else can be graded either.
        """
        spent: list[BudgetSpent] = []

        async def graded(judging: JudgeCall) -> list[Score]:
            try:
                scores = await judging(context, done)
            except BudgetSpent as error:
                spent.append(error)
                return []
            keep(scores)
            return scores

        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(graded(judging)) for judging in self.judgings]
        if spent:
            raise spent[0]
        return [score for task in running for score in task.result()]


class ModelJudge:
    """One model call that fills in one rubric, or several that share their material."""

    def __init__(
        self,
        rubrics: Sequence[Rubric],
        frame: PromptFrame,
        model: Model,
        *,
        seed: int,
        alone: bool,
        votes: int = 1,
        filed: str = "",
    ) -> None:
        """`alone`: one rubric, asked in its own words (`--judging separate`).

        `votes` calls are made of every turn, and their median counts. `filed` follows the judge's name
        in its scores: a second model's grades stand beside the first one's.
        """
        self.rubrics, self.frame, self.model, self.seed, self.alone = rubrics, frame, model, seed, alone
        self.votes, self.filed = votes, filed
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
        return rubric.name + self.filed

    async def _vote(self, context: GradingContext, asked: Sequence[Rubric]) -> dict[str, Score]:
        if self.votes == 1:
            return await self._ask(context, asked, 0)
        async with asyncio.TaskGroup() as tasks:
            voting = [tasks.create_task(self._ask(context, asked, vote)) for vote in range(self.votes)]
        ballots = [vote.result() for vote in voting]
        return {rubric.name: settled([ballot[rubric.name] for ballot in ballots]) for rubric in asked}

    async def _ask(self, context: GradingContext, asked: Sequence[Rubric], vote: int) -> dict[str, Score]:
        messages = self.frame.prompt(context, asked, alone=self.alone)
        seed = stable_int(self.seed, context.conversation, context.turn.index, *([vote] if vote else []))
        again = functools.partial(self._again, context, asked, messages)
        parts: Parts
        try:
            if self.alone:
                form, text = self._form(asked), functools.partial(self._told_again, context)
                parts = {asked[0].name: await self.model.ask(messages, form, text, seed=seed)}
            else:
                parts = await ask_parts(self.model, messages, self._form(asked), again, seed=seed)
        except AccessDenied:
            raise
        except ModelFailure as error:
            parts = dict.fromkeys((rubric.name for rubric in asked), error)
        return {rubric.name: self._scored(rubric, parts[rubric.name], context) for rubric in asked}

    def _again(
        self,
        context: GradingContext,
        asked: Sequence[Rubric],
        messages: Messages,
        problems: Mapping[str, ModelFailure],
        reply: str,
    ) -> tuple[Messages, type[replies.Reply]]:
        """What asks once more for the rubrics with problems: a single one of several in its own form."""
        broken = [rubric for rubric in asked if rubric.name in problems]
        alone = len(broken) == 1 and len(asked) > 1
        if alone:
            problem = problems[broken[0].name]
            reply = problem.raw if isinstance(problem, MalformedReply) else reply
        if len(broken) < len(asked):
            messages = self.frame.prompt(context, broken, alone=alone)
        said = "; ".join(dict.fromkeys(map(str, problems.values())))
        told = [
            {"role": "assistant", "content": reply[:SHOWN_REPLY] or "-"},
            {"role": "user", "content": self._told_again(context, said)},
        ]
        return [*messages, *told], broken[0].form if alone else self._form(broken)

    def _told_again(self, context: GradingContext, problem: str) -> str:
        return self.frame.text(context.case.language, "again", problem=problem)

    def _form(self, asked: Sequence[Rubric]) -> type[replies.Reply]:
        if self.alone:
            return asked[0].form
        names = tuple(rubric.name for rubric in asked)
        if names not in self._forms:
            self._forms[names] = replies.form("grades", {rubric.name: rubric.form for rubric in asked})
        return self._forms[names]

    def _scored(self, rubric: Rubric, filled: replies.Reply | ModelFailure, context: GradingContext) -> Score:
        """A filled-in form as a score: its last text before the verdict is the reason."""
        if isinstance(filled, ModelFailure):
            return failed(self._name(rubric), context, filled, self.rubric_hash)
        verdict = rubric.kind.kept(getattr(filled, rubric.value), context)
        detail = encodable(kinds.told(filled.model_copy(update={rubric.value: verdict})))
        if conflicts := _conflicts(rubric, detail, context):
            told = {side: " ".join(text.split())[:LONGEST_SIDE] for side, text in conflicts[0].items()}
            reason = self.frame.text(context.case.language, "disagree", **told)
            skipped = _bare(self._name(rubric), context, "skipped", reason)
            return skipped.model_copy(update={"detail": {"conflicts": conflicts}, "rubric": self.rubric_hash})
        texts = [key for key, kind in rubric.fields.items() if kind == "text"]
        raw = rubric.kind.raw(verdict, context)
        score = Score(
            judge=self._name(rubric),
            conversation=context.conversation,
            turn=context.turn.index,
            state="scored",
            value=kinds.share_of(raw, rubric.scale),
            raw=raw,
            scale=rubric.scale,
            severity=rubric.kind.severity(verdict),
            reason=str(detail[texts[-1]]) if texts else "",
            detail=detail,
            rubric=self.rubric_hash,
        )
        _, left_out = within(context, LONGEST_MATERIAL)
        return _unseen(score, left_out, context, self.frame) if left_out else score


class FormFiller:
    """`fill` of a function judge: a model call that fills in the form of judges/_NAME.toml."""

    def __init__(
        self, forms: Callable[[str], ReplySchema], frame: PromptFrame, model: Model, seed: int
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
    """A rubric played by a lexical stand-in, where there is no model."""

    def __init__(
        self, rubric: Rubric, stand_in: Callable[[GradingContext], Score] | None, frame: PromptFrame
    ) -> None:
        """Without a stand-in of that name every turn is skipped, and says so."""
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
    """A judge that is a Python function; it is given what its parameters name."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        given: Mapping[str, Any],
        frame: PromptFrame,
        rubric: str,
    ) -> None:
        """A parameter `references` or `passages` skips the turns that have none; `labels` are a row's own."""
        self.name, self.function, self.frame, self.rubric = name, function, frame, rubric
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.parameters = tuple(parameter.name for parameter in parameters)
        self.scale = scale_of(function)
        self.one_at_a_time = asyncio.Lock()
        self.given = {key: value for key, value in given.items() if key in self.parameters}
        for parameter in parameters:
            required = parameter.default is parameter.empty and parameter.kind not in _VARIADIC
            if required and parameter.name not in {*given, *_NEED}:
                msg = (
                    f"judge {name} wants '{parameter.name}', which nothing fills."
                    f" It may ask for: {', '.join(sorted({*given, *_NEED}))}."
                )
                raise InputError(msg)

    async def __call__(self, context: GradingContext, done: Collection[str]) -> list[Score]:
        """The one score, unless it is done."""
        if self.name in done:
            return []
        JUDGE.set(self.name)
        material = {"references": context.references, "passages": context.turn.answer.passages}
        known = {"labels": labels_of(context.case, self.given["labels"])} if "labels" in self.given else {}
        wanted = {key: value for key, value in material.items() if key in self.parameters}
        absent = next((_NEED[key] for key, value in wanted.items() if not value), None)
        ruled = _ruled(self.name, absent, context, self.frame, self.scale)
        if ruled is not None:
            return [ruled]
        try:
            result = await self._called(context, wanted | self.given | known)
            return [self._filed(await result if inspect.isawaitable(result) else result, context)]
        except _STOPPING:
            raise
        except ModelFailure as error:
            return [failed(self.name, context, error, self.rubric)]
        except (Exception, SystemExit) as error:  # a judge may be the user's own: it fails its grade only
            failure = ModelFailure("error", f"{type(error).__name__}: {error}")
            return [failed(self.name, context, failure, self.rubric)]

    async def _called(self, context: GradingContext, given: Mapping[str, Any]) -> Any:
        """What the function gives; it may block: never on the loop, where bots are timed."""
        call = functools.partial(self.function, context, **given)
        if is_async(self.function):
            return await call()
        if _is_of_the_shelf(self.function):
            return await counting(call)
        async with self.one_at_a_time:  # code of the user's own need not stand to be called twice at once
            return await on_a_thread(call, name=self.name)

    def _filed(self, verdict: Any, context: GradingContext) -> Score:
        """The verdict under the judge's own name and turn, whatever it says of them itself."""
        score = score_of(verdict, self.scale, declared=declared_scale(self.function) is not None)
        own = {"judge": self.name, "conversation": context.conversation, "turn": context.turn.index}
        return checked(Score, score.model_copy(update=own | {"rubric": self.rubric}))


def _is_of_the_shelf(function: Callable[..., Any]) -> bool:
    return str(getattr(function, "__module__", "")).startswith("judges.")


def scale_of(function: Callable[..., Any]) -> tuple[float, float]:
    """The scale of a function judge: SCALE of its module; else 0 to 1 for `-> bool`, and grades 1 to 5."""
    gives = getattr(function, "__annotations__", {}).get("return")
    return declared_scale(function) or (SHARE if gives is bool or gives == "bool" else FIFTHS)


def declared_scale(function: Callable[..., Any]) -> tuple[float, float] | None:
    """SCALE of the module that a function judge is from; raises InputError for what is none."""
    module = sys.modules.get(getattr(function, "__module__", ""))
    scale = getattr(module, "SCALE", None)
    if scale is None:
        return None
    try:
        low, high = map(float, scale)
    except (TypeError, ValueError):
        msg = f"{getattr(module, '__file__', module)}: SCALE must be two numbers, such as (0, 1)."
        raise InputError(msg) from None
    return low, high


def by_rule(rubric: Rubric, context: GradingContext, frame: PromptFrame, name: str = "") -> Score | None:
    """What needs no model: what is missing skips, and no answer gets the lowest grade."""
    name = name or rubric.name
    if context.turn.answer.error is not None and rubric.grades != "answer" and not context.turn.unrecorded:
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
        lowest = {"value": kinds.share_of(scale[0], scale), "raw": scale[0], "scale": scale, "by_rule": True}
        return _bare(judge, context, "scored", reason).model_copy(update=lowest | {"severity": "major"})
    if missing in ("passages", "retrieval"):
        return _bare(judge, context, "skipped", frame.text(language, "no_passages"))
    return None


def _conflicts(rubric: Rubric, detail: Mapping[str, Any], context: GradingContext) -> list[dict[str, str]]:
    """Where reference and passages contradict each other, both of which the judge must have seen."""
    if not context.turn.answer.passages or not (context.references or context.case_references):
        return []
    return [each for key, kind in rubric.fields.items() if kind == "conflicts" for each in detail[key]]


def _unseen(score: Score, left_out: int, context: GradingContext, frame: PromptFrame) -> Score:
    """The score with a note that some passages were too long to be shown to the judge."""
    note = frame.text(context.case.language, "left_out", count=str(left_out))
    detail = {**score.detail, "passages_left_out": left_out}
    return score.model_copy(update={"reason": f"{score.reason} {note}".strip(), "detail": detail})


def failed(judge: str, context: GradingContext, error: ModelFailure, rubric: str) -> Score:
    """The judging itself failed: not the bot's fault, so no grade, but counted."""
    kept: dict[str, str] = {"kind": error.failure.kind}
    if isinstance(error, MalformedReply):
        kept["reply"] = encodable(error.raw[:KEPT_REPLY])
    reason = " ".join(encodable(str(error)).split())
    return _bare(judge, context, "failed", reason).model_copy(update={"detail": kept, "rubric": rubric})


def _bare(judge: str, context: GradingContext, state: State, reason: str) -> Score:
    return Score(
        judge=judge, conversation=context.conversation, turn=context.turn.index, state=state, reason=reason
    )
