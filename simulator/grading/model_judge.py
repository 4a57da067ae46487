"""Judges that ask a model: rubrics, one by one or together; and forms of functions.

One call may fill in several rubrics (--judging combined). Its reply is a form of forms, of which each part is
read by itself:

    {"turn": {"conclusion": "...", "overall": 4}, "fluency": {"reason": "...", "grade": 7}}

Here the turn has its grade, and fluency is asked for once more, alone, in its own form and shown its own part
and what was wrong with it. What is still unreadable then is `failed`, and no other grade with it.

How a filled-in form becomes a Score:

    raw, value, scale    of the field that the rubric calls its `value` (`FieldKind.raw`), but no more than
                         its `caps` allow: what the model said stands in the detail (SAID)
    reason               its last text before the verdict
    severity             what the kind of field says of it
    response             of the field of that kind, also where the turn is then skipped
    detail               the whole form, without ids of passages that were never shown
    rubric               the hash of prompt, form and model

Where the reference contradicts the passages nobody knows which is right: the turn is skipped, with both sides
in the reason. The judge has to quote them. A conflict whose words are not in the reference and in a passage
is ignored and counted (CONFLICTS_IGNORED), for one slip of the judge would hide a wrong answer; so is a lapse
between turns whose words are not in the turn that it names (LAPSES_IGNORED), and so is a verdict on something
that is expected (EXPECTATIONS_IGNORED).

Rubrics of whole conversations share a call, too. One that is asked alone, because the case expects nothing,
is asked in its own words; either way its grades have the hash of these, for the criterion is the same.

Where several customers begin alike, their first turn is the same request: the cache answers all but one.
"""

import asyncio
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from simulator.core import replies
from simulator.core.errors import HOPELESS, MalformedReply, ModelFailure
from simulator.core.messages import encodable
from simulator.core.replies import share_of
from simulator.core.templates import fingerprint, stable_int
from simulator.core.types import (
    CONFLICTS_IGNORED,
    EXPECTATIONS_IGNORED,
    LAPSES_IGNORED,
    Case,
    GradingContext,
    Score,
)
from simulator.grading.panel import bare, by_rule, failed
from simulator.grading.rubric import (
    LONGEST_MATERIAL,
    PromptFrame,
    ReplySchema,
    Rubric,
    grades_whole,
    within,
)
from simulator.models.client import Messages, Model
from simulator.models.reading import parse_parts, parse_reply
from simulator.text.normalise import is_quoted_from

# Characters of a malformed reply that the model is shown when it is asked once more.
SHOWN_REPLY = 4000
# Characters of a reference and of passages that contradict each other, as quoted in the reason.
LONGEST_SIDE = 200
# In the detail of a score: the model's own verdict where the rubric's caps allow less.
SAID = "said"
# The reply to each rubric, by the rubric's name.
Parts = dict[str, replies.Reply | ModelFailure]


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
        suffix: str = "",
    ) -> None:
        """`alone`: one rubric, asked in its own words (`--judging separate`).

        `suffix` follows the judge's name in its scores, so that a second model's grades stand beside the
        first one's.
        """
        self.rubrics, self.frame, self.model, self.seed, self.alone = rubrics, frame, model, seed, alone
        self.suffix = suffix
        # Which of those of whole conversations are asked depends on the case: each is a judge of its own.
        self.hashes = {
            rubric.name: frame.fingerprint(
                [rubric] if grades_whole(rubric) else rubrics,
                model.endpoint.model,
                alone=alone or grades_whole(rubric),
            )
            for rubric in rubrics
        }
        self._forms: dict[tuple[str, ...], type[replies.Reply]] = {}
        # By the seed: of those who ask the same at once, the cache answers all but the first.
        self._asking: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, context: GradingContext, done: Collection[str]) -> list[Score]:
        """Scores of the rubrics not yet done."""
        # For the ledger: what this task spends from here on is spent on these judges.
        open_rubrics = [rubric for rubric in self.rubrics if self._name(rubric) not in done]
        ruled = {r.name: by_rule(r, context, self.frame, self._name(r)) for r in open_rubrics}
        asked = [rubric for rubric in open_rubrics if ruled[rubric.name] is None]
        verdicts = await self._ask(context, asked) if asked else {}
        return [ruled[r.name] or verdicts[r.name] for r in open_rubrics]

    def _name(self, rubric: Rubric) -> str:
        return rubric.name + self.suffix

    async def _ask(self, context: GradingContext, asked: Sequence[Rubric]) -> dict[str, Score]:
        """One call, with the seed of the conversation; of a first turn, with that of its repeat and words."""
        messages = self.frame.prompt(context, asked, alone=self._is_alone(asked))
        key = context.conversation
        if context.turn.index == 1 and context.closing is None:
            # Who begins alike asks the same, in a resumed run as well; repeats are there to see what changes.
            key = fingerprint(key.rpartition("#")[2], *(message["content"] for message in messages))
        seed = stable_int(self.seed, key, context.turn.index)
        parts: Parts
        try:
            async with self._asking.setdefault(seed, asyncio.Lock()):
                if self._is_alone(asked):
                    form, text = self._form(asked), functools.partial(self._again_text, context)
                    parts = {asked[0].name: await self.model.ask(messages, form, text, seed=seed)}
                else:
                    parts = await self._ask_parts(context, asked, messages, seed)
        except HOPELESS:
            raise
        except ModelFailure as error:
            parts = dict.fromkeys((rubric.name for rubric in asked), error)
        return {rubric.name: self._scored(rubric, parts[rubric.name], context) for rubric in asked}

    async def _ask_parts(
        self, context: GradingContext, asked: Sequence[Rubric], messages: Messages, seed: int
    ) -> Parts:
        """The parts of a form of forms; those that cannot be read are asked for once more, and only those.

        A single one of several is asked for in its own form, and shown its own part of the reply.
        """
        form = self._form(asked)
        first = await self.model.complete(messages, seed, form)
        parts: Parts = {**parse_parts(first.text, form)}
        problems = _failed(parts)
        if not problems:
            return parts
        broken = [rubric for rubric in asked if rubric.name in problems]
        alone = len(broken) == 1 and len(asked) > 1
        # Asked in its own form, the model is shown its own part: the whole reply would be answered as a
        # whole.
        reply = first.text
        if alone and isinstance(failure := problems[broken[0].name], MalformedReply):
            reply = failure.raw
        # What is readable is not asked for again, so the prompt is that of the broken ones.
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
        except HOPELESS:
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
            self.model.cache.forget(*unreadable, second.request)
        return repaired

    def _again_text(self, context: GradingContext, problem: str) -> str:
        return self.frame.text(context.case.language, "again", problem=problem)

    def _is_alone(self, asked: Sequence[Rubric]) -> bool:
        """Whether a rubric is asked in its own words; of whole conversations also where no other is asked."""
        return self.alone or (len(asked) == 1 and grades_whole(asked[0]))

    def _form(self, asked: Sequence[Rubric]) -> type[replies.Reply]:
        if self._is_alone(asked):
            return asked[0].form
        names = tuple(rubric.name for rubric in asked)
        if names not in self._forms:
            self._forms[names] = replies.create_form("grades", {rubric.name: rubric.form for rubric in asked})
        return self._forms[names]

    def _scored(self, rubric: Rubric, filled: replies.Reply | ModelFailure, context: GradingContext) -> Score:
        """A filled-in form as a score: its last text before the verdict is the reason."""
        if isinstance(filled, ModelFailure):
            return failed(self._name(rubric), context, filled, self.hashes[rubric.name])
        # Words that do not stand where they should are ignored, ids of passages that were never shown and
        # turns that do not exist are dropped; both are counted.
        said, ignored = _quoted(rubric, filled, context)
        kept = {
            key: replies.FIELD_KINDS[kind].kept(said[key], context) for key, kind in rubric.fields.items()
        }
        did = next((kept[key] for key, kind in rubric.fields.items() if kind == "response"), None)
        conflicts = [key for key, kind in rubric.fields.items() if kind == "conflicts"]
        verdict = kept[rubric.value]
        changed = {key: value for key, value in kept.items() if value is not getattr(filled, key)}
        shown = filled.model_copy(update=changed) if changed else filled  # a copy costs as much as a dump
        detail = encodable(shown.model_dump(mode="json"))
        dropped = sum(
            len(said[key]) - len(entries) for key, entries in kept.items() if isinstance(entries, list)
        )
        if dropped:
            detail["dropped"] = dropped
        detail |= ignored
        if conflicting := [conflict for key in conflicts for conflict in detail[key]]:
            sides = {side: " ".join(text.split())[:LONGEST_SIDE] for side, text in conflicting[0].items()}
            reason = self.frame.text(context.case.language, "disagree", **sides)
            skipped = bare(self._name(rubric), context, "skipped", reason)
            detail_of_skipped = {"conflicts": conflicting, **ignored}
            return skipped.model_copy(
                update={"response": did, "detail": detail_of_skipped, "rubric": self.hashes[rubric.name]}
            )
        # The form has the verdict's sentence last, after the steps that led to it.
        texts = [key for key, kind in rubric.fields.items() if kind == "text"]
        if rubric.fields[rubric.value] == "expectations":
            return self._expected(rubric, verdict, detail, context)
        raw = rubric.kind.raw(verdict, context)
        assert raw is not None  # noqa: S101 - only what is expected may not have come up
        if rubric.kind.counted:
            detail[rubric.kind.counted] = raw
        reason = str(detail[texts[-1]]) if texts else ""
        if (capped := self._capped(rubric, detail, raw, context)) is not None:
            raw, note = capped
            # The figure of the form, so that the grade and what stands beside it agree.
            detail |= {rubric.value: type(detail[rubric.value])(raw), SAID: detail[rubric.value]}
            reason = f"{reason} {note}".strip()
        score = Score(
            judge=self._name(rubric),
            conversation=context.conversation,
            turn=context.turn.index,
            state="scored",
            value=share_of(raw, rubric.scale),
            raw=raw,
            scale=rubric.scale,
            severity=rubric.kind.severity(verdict),
            reason=reason,
            response=did,
            detail=detail,
            rubric=self.hashes[rubric.name],
        )
        if context.closing is not None or "passages" not in rubric.material:
            return score
        _unused, left_out = within(context.turn.answer.passages, LONGEST_MATERIAL)
        return _unseen(score, left_out, context, self.frame) if left_out else score

    def _expected(
        self,
        rubric: Rubric,
        verdicts: Sequence[replies.Expectation],
        detail: dict[str, Any],
        context: GradingContext,
    ) -> Score:
        """The share of what is expected that was met; skipped where nothing of it came up.

        In the detail stands each sentence with its verdict. Those without one that counts are counted, and
        where nothing else is left the grade failed.
        """
        name, text, case = self._name(rubric), self.frame.text, context.case
        detail[rubric.value] = encodable(
            [{"sentence": case.expect[v.number - 1], **v.model_dump(mode="json")} for v in verdicts]
        )
        judged = {verdict.number for verdict in verdicts}
        missing = [case.expect[at] for at in range(len(case.expect)) if at + 1 not in judged]
        detail.pop(EXPECTATIONS_IGNORED, None)
        if missing:
            detail[EXPECTATIONS_IGNORED] = len(missing)
        notes = [text(case.language, "no_verdict", sentence=sentence) for sentence in missing]
        share = replies.met_share(verdicts)
        if share is None and missing:
            score = failed(
                name, context, ModelFailure("malformed", " ".join(notes)), self.hashes[rubric.name]
            )
            return score.model_copy(update={"detail": {**score.detail, **detail}})
        unmet = [
            text(
                case.language,
                "sentence_unmet",
                sentence=case.expect[verdict.number - 1],
                why=verdict.why or verdict.quote or "–",
            )
            for verdict in verdicts
            if verdict.state == "unmet"
        ]
        met = sum(verdict.state == "met" for verdict in verdicts)
        said = unmet or [text(case.language, "sentences_met", count=str(met))]
        if share is None:
            said = [text(case.language, "none_came_up")]
        score = bare(name, context, "skipped" if share is None else "scored", " ".join((*said, *notes)))
        figures = {"value": share, "raw": share, "scale": rubric.scale, "detail": detail}
        return score.model_copy(update=figures | {"rubric": self.hashes[rubric.name]})

    def _capped(
        self, rubric: Rubric, detail: Mapping[str, Any], raw: float, context: GradingContext
    ) -> tuple[float, str] | None:
        """What a verdict that is higher than the rubric allows becomes, and a note on it; None for others."""
        reached = [
            (cap, key) for key, caps in rubric.caps.items() for cap in caps if detail[key] <= cap < raw
        ]
        if not reached:
            return None
        cap, key = min(reached)
        figures = {"grade": detail[key], "said": raw, "limit": cap}
        shown = {name: f"{figure:g}" for name, figure in figures.items()}
        return cap, self.frame.text(context.case.language, "capped", field=key, **shown)


def _failed(parts: Parts) -> dict[str, ModelFailure]:
    return {name: part for name, part in parts.items() if isinstance(part, ModelFailure)}


def _read_again(text: str, names: Sequence[str], reply_form: type[replies.Reply]) -> Parts:
    """The parts that were asked for once more; a single one is read with and without its name around it."""
    # Several, in a form of forms; or one, alone in its own form.
    if reply_form.model_fields.keys() == set(names):
        return {**parse_parts(text, reply_form)}
    [name] = names
    named = parse_parts(text, replies.create_form("grades", {name: reply_form}))
    if not isinstance(named[name], MalformedReply):
        return {**named}
    try:
        return {name: parse_reply(text, reply_form)}
    except MalformedReply as error:
        return {name: error}


class FormFiller:
    """`fill` of a function judge: a model call that fills in the form of judges/_NAME.toml."""

    def __init__(
        self, forms: Callable[[str, Case], ReplySchema], frame: PromptFrame, model: Model, seed: int
    ) -> None:
        """`forms` reads a form by its name, for a case."""
        self.forms, self.frame, self.model, self.seed = forms, frame, model, seed

    async def __call__(self, context: GradingContext, name: str) -> replies.Reply:
        """The filled-in form; raises ModelFailure, which fails the grade."""
        form, language = self.forms(name, context.case), context.case.language
        seed = stable_int(self.seed, context.conversation, context.turn.index)
        return await self.model.ask(
            self.frame.prompt(context, [form], alone=True),
            form.form,
            lambda problem: self.frame.text(language, "again", problem=problem),
            seed=seed,
        )


def _is_said(lapse: replies.Lapse, context: GradingContext) -> bool:
    """Whether its words stand in the turn that it names, in the customer's line or the desk's.

    In any turn where it names none. One that does not exist says nothing against the words: the turn is what
    is wrong with such a lapse.
    """
    turns = [turn for turn in context.turns if lapse.turn in (0, turn.index)]
    lines = [line for turn in turns for line in (turn.user, turn.answer.text)]
    return not turns or any(is_quoted_from(lapse.quote, line) for line in lines)


def _came_up(verdict: replies.Expectation, context: GradingContext) -> bool:
    """Whether the words of a verdict stand where it says, as those of a lapse do.

    What did not come up has none, and neither has what was never said, where that is what is amiss.
    """
    if verdict.state == "open" or (verdict.state == "unmet" and not verdict.quote.strip()):
        return True
    before = [line.content for line in context.case.history] if not verdict.turn else []
    last = [context.closing or ""] if verdict.turn in (0, context.turn.index) else []
    turns = [turn for turn in context.turns if verdict.turn in (0, turn.index)]
    lines = [line for turn in turns for line in (turn.user, turn.answer.text)]
    return any(is_quoted_from(verdict.quote, line) for line in (*before, *lines, *last))


def _is_quoted(conflict: replies.Conflict, context: GradingContext) -> bool:
    """Whether the words of both sides stand in a reference of the turn and in one of its passages."""
    passages = (f"[{passage.id}] {passage.text}" for passage in context.turn.answer.passages)
    return any(is_quoted_from(conflict.reference, text) for text in context.right_answers) and any(
        is_quoted_from(conflict.passages, text) for text in passages
    )


# The kinds of fields whose items quote: whether the words stand where they should, and what is counted of
# those that do not.
_QUOTED: Mapping[str, tuple[Callable[[Any, GradingContext], bool], str]] = {
    "conflicts": (_is_quoted, CONFLICTS_IGNORED),
    "lapses": (_is_said, LAPSES_IGNORED),
    "expectations": (_came_up, EXPECTATIONS_IGNORED),
}


def _quoted(
    rubric: Rubric, filled: replies.Reply, context: GradingContext
) -> tuple[dict[str, Any], dict[str, int]]:
    """What was filled in, without what is quoted from nowhere; and how many items that is, by name."""
    said, ignored = {key: getattr(filled, key) for key in rubric.fields}, dict[str, int]()
    for key, kind in rubric.fields.items():
        if kind in _QUOTED:
            is_quoted, name = _QUOTED[kind]
            kept = [entry for entry in said[key] if is_quoted(entry, context)]
            if n := len(said[key]) - len(kept):
                ignored[name] = n
            said[key] = kept
    return said, ignored


def _unseen(score: Score, left_out: int, context: GradingContext, frame: PromptFrame) -> Score:
    """The score with a note that some passages were too long to be shown to the judge."""
    note = frame.text(context.case.language, "left_out", count=str(left_out))
    detail = {**score.detail, "passages_left_out": left_out}
    return score.model_copy(update={"reason": f"{score.reason} {note}".strip(), "detail": detail})
