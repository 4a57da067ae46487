"""Which of two answers is better: a model is asked in both orders; what needs no model is decided by rule.

Verdicts that were paid for are kept line by line beside the later run (pairwise.jsonl), so that nothing is
asked twice.
"""

import asyncio
import json
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator

from simulator.addons.compare.plan import Pair
from simulator.core.errors import AccessDenied, InputError, ModelFailure, PromptError, RehearsalError
from simulator.core.messages import Message, _, shown
from simulator.core.replies import Reply, encodable, skeleton
from simulator.core.templates import (
    LANGUAGES,
    check_languages,
    fingerprint,
    quote,
    read_toml,
    render,
    stable_int,
)
from simulator.core.types import GradingContext, Language, Value
from simulator.grading.lexical import turn
from simulator.grading.rubric import LONGEST_EARLIER, LONGEST_MATERIAL, read_guidelines
from simulator.models.client import Model
from simulator.models.pricing import BudgetSpent
from simulator.runner.run import first_error
from simulator.text.evidence import TurnEvidence

NAME = "pairwise.jsonl"

Side = Literal["a", "b"]
Verdict = Literal["a", "b", "tie"]
DecidedBy = Literal["model", "stand_in", "rule"]
ORDERS: tuple[Side, Side] = ("a", "b")


class Ballot(Value):
    """One reading of a pair: whose answer was shown first, and whose was preferred."""

    first: Side
    verdict: Verdict
    reason: str = ""

    @property
    def position(self) -> Literal["first", "second", "tie"]:
        """The place of the preferred answer."""
        return "tie" if self.verdict == "tie" else "first" if self.verdict == self.first else "second"


class OrderedVerdict(Value):
    """What a model said of two answers in the order shown, whichever runs they are from."""

    verdict: Literal["1", "2", "tie"]
    reason: str = ""

    def ballot(self, first: Side) -> Ballot:
        """The verdict by run, where the answer of `first` was answer 1."""
        by_run: dict[str, Verdict] = {"1": first, "2": "b" if first == "a" else "a", "tie": "tie"}
        return Ballot(first=first, verdict=by_run[self.verdict], reason=self.reason)


class Outcome(Value):
    """One compared turn. `verdict` is None where the judging failed; `problem` then says why.

    `margin` says how clear it is, as far as that is known: the stand-in gives the difference of its measures.
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
    margin: float = 0.0
    problem: str = ""

    @property
    def share(self) -> float:
        """What `b` has of this pair: 1 for a win, 0.5 for a tie."""
        return {"b": 1.0, "a": 0.0}.get(self.verdict or "tie", 0.5)

    @property
    def disagreed(self) -> bool:
        """Whether the two orders led to different verdicts."""
        return len({ballot.verdict for ballot in self.ballots}) > 1


PairJudge = Callable[[Pair], Awaitable[Outcome]]


def outcome(pair: Pair, how: DecidedBy, verdict: Verdict | None, **more: object) -> Outcome:
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
    return Outcome.model_validate({**turn, "how": how, "verdict": verdict, **more})


def settled(ballots: Sequence[Ballot]) -> Verdict:
    """The verdict that both orders share; a tie when they differ."""
    verdicts = {ballot.verdict for ballot in ballots}
    return verdicts.pop() if len(verdicts) == 1 else "tie"


def by_rule(pair: Pair) -> Outcome | None:
    """A missing answer loses, and two equal answers are a tie; None where somebody has to judge."""
    answers = (pair.one.turn.answer, pair.other.turn.answer)
    missing = [answer.error is not None or not answer.text.strip() for answer in answers]
    verdict: Verdict = "tie"
    one, other = (" ".join(text.split()) for text in pair.answers)
    if all(missing):
        reason = _("By rule: neither gave an answer.")
    elif any(missing):
        verdict, reason = "b" if missing[0] else "a", _("By rule: one of them gave no answer.")
    elif one == other:
        reason = _("By rule: the same answer.")
    else:
        return None
    text = shown(reason, pair.one.case.language)
    return outcome(pair, "rule", verdict, reason=text, margin=float(verdict != "tie"))


async def judge_pairs(
    pairs: Sequence[Pair], judge: PairJudge, at_once: int, on_outcome: Callable[[Outcome], None]
) -> list[Outcome]:
    """The outcome of every pair, in their order; raises what makes going on pointless (no money, no access).

    When the budget is spent, the calls in flight still arrive and are kept: they are paid for.
    """
    outcomes: dict[int, Outcome] = {}
    waiting, spent = iter(range(len(pairs))), list[BudgetSpent]()
    stopped: BaseException | None

    async def work() -> None:
        for at in waiting:
            await asyncio.sleep(0)  # judges that never wait would keep Ctrl-C waiting
            try:
                outcomes[at] = by_rule(pairs[at]) or await judge(pairs[at])
            except BudgetSpent as error:
                spent.append(error)
            if spent:
                return
            on_outcome(outcomes[at])

    try:
        async with asyncio.TaskGroup() as tasks:
            for _unused in range(min(len(pairs), at_once)):
                tasks.create_task(work())
    except* RehearsalError as group:
        stopped = first_error(group)
    else:
        stopped = spent[0] if spent else None
    if stopped is not None:
        raise stopped
    return [outcomes[at] for at in range(len(pairs))]


# --- asking a model ---

_VARIABLES: dict[str, set[str]] = {
    "title": set(),
    "system": {"guidelines"},
    "task": {"history", "question", "reference", "passages", "answer_1", "answer_2", "form"},
    "again": {"problem"},
    "nothing": set(),
    "cut": {"count"},
}
_VERDICT_WORDS = {
    "1": "1", "2": "2", "tie": "tie", "draw": "tie", "equal": "tie", "both": "tie", "neither": "tie",
    "同点": "tie", "引き分け": "tie", "同等": "tie", "0": "tie",
}  # fmt: skip


def _preferred(value: Any) -> Any:
    """1, "１", "回答1" and "Answer 1" are "1"; a draw is a tie; anything else is left for the check."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    word = unicodedata.normalize("NFKC", str(value)).strip().casefold().strip("[]()「」。.\"'")
    bare = word.removeprefix("answer").removeprefix("回答").strip(" _:#")
    return _VERDICT_WORDS.get(bare, value)


# A model is sent the docstring of this class, as the description in the JSON schema.
class Preference(Reply):
    """The reply: what is needed, what each answer lacks, the reason, and the verdict last."""

    needed: str
    answer_1: str
    answer_2: str
    reason: str
    verdict: Annotated[Literal["1", "2", "tie"], BeforeValidator(_preferred)]


class PairPrompt:
    """The prompt of a pair, in the language of its case."""

    def __init__(self, path: Path, guidelines: Path) -> None:
        """Reads and checks both files."""
        self._tables = read_toml(path)
        check_languages(path, self._tables, _VARIABLES)
        for language in LANGUAGES:
            meanings = self._tables[language].get("fields", {})
            if list(meanings) != list(Preference.model_fields):
                fields = ", ".join(Preference.model_fields)
                msg = _(
                    "{path}: [{language}.fields] must be {fields}, in this order.",
                    path=path,
                    language=language,
                    fields=fields,
                )
                raise PromptError(msg)
        self._guidelines = read_guidelines(guidelines)

    def text(self, language: Language, key: str, /, **values: str) -> str:
        """A rendered text."""
        return render(self._tables[language][key], **values)

    def fingerprint(self, model: str) -> str:
        """Stands for everything but the material: texts in both languages, guidelines, model."""
        texts: list[str] = []
        for language in LANGUAGES:
            texts += [self._tables[language][key] for key in _VARIABLES]
            texts += [self._form(language), self._guidelines[language]]
        return fingerprint(*texts, model)

    def messages(self, pair: Pair, first: Side) -> list[dict[str, str]]:
        """What the model is sent, with the answer of `first` as answer 1."""
        language = pair.one.case.language
        contexts = (pair.one, pair.other) if first == "a" else (pair.other, pair.one)
        nothing = self.text(language, "nothing")
        dialogue = _dialogue(*contexts)
        passages, left_out = _passages(pair)
        references = pair.one.references or (nothing,)
        one, other = (context.turn.answer.text for context in contexts)
        question = contexts[0].turn.user
        # Neither bot can know the code of any block: it depends on what the other one said.
        lines = (text for line in dialogue for text in line)
        seal = fingerprint(*lines, question, one, other, *passages, *references)
        quoted = [quote("passage", text, seal) for text in passages or [nothing]]
        if left_out:
            quoted.append(self.text(language, "cut", count=str(left_out)))
        task = self.text(
            language,
            "task",
            history="\n".join(quote(who, text, f"{seal}{at}") for at, (who, text) in enumerate(dialogue))
            or nothing,
            question=quote("question", question, seal),
            reference="\n".join(quote("reference", text, seal) for text in references),
            passages="\n".join(quoted),
            answer_1=quote("answer_1", one, seal),
            answer_2=quote("answer_2", other, seal),
            form=self._form(language),
        )
        system = self.text(language, "system", guidelines=self._guidelines[language])
        return [{"role": "system", "content": system}, {"role": "user", "content": task}]

    def _form(self, language: Language) -> str:
        return skeleton({key: ("text", text) for key, text in self._tables[language]["fields"].items()})


def _dialogue(one: GradingContext, other: GradingContext) -> list[tuple[str, str]]:
    """The earlier lines as (tag, text); where the bots differ, both are shown under their answer's number."""
    lines = [("customer" if m.role == "user" else "desk", m.content) for m in one.case.history]
    for turn_1, turn_2 in zip(one.earlier, other.earlier, strict=True):
        lines.append(("customer", turn_1.user))
        if turn_1.answer.text == turn_2.answer.text:
            lines.append(("desk", turn_1.answer.text))
        else:
            lines += [("desk_1", turn_1.answer.text), ("desk_2", turn_2.answer.text)]
    return [(tag, text[:LONGEST_EARLIER]) for tag, text in lines]


def _passages(pair: Pair) -> tuple[list[str], int]:
    """What either run retrieved, once each and in one order for all readings, and how many do not fit."""
    sides = sorted([(pair.a, pair.one), (pair.b, pair.other)], key=lambda side: side[0])
    texts = dict.fromkeys(
        passage.text for _unused, context in sides for passage in context.turn.answer.passages
    )
    lengths = accumulate(map(len, texts))
    fitting = [
        text[:LONGEST_MATERIAL]
        for at, (text, length) in enumerate(zip(texts, lengths, strict=True))
        if length <= LONGEST_MATERIAL or at == 0
    ]
    return fitting, len(texts) - len(fitting)


class VerdictCache:
    """The verdicts in one folder by one rubric, each under a hash of all that the model was sent."""

    def __init__(self, folder: Path, rubric: str) -> None:
        """Reads the file; lines of other rubrics stay where they are."""
        self.path, self.rubric = folder / NAME, rubric
        self._verdicts = dict(self._read())

    def get(self, key: str) -> OrderedVerdict | None:
        """The verdict of an earlier comparison."""
        return self._verdicts.get(key)

    def put(self, key: str, verdict: OrderedVerdict, **about: object) -> None:
        """Writes a verdict at once; `about` is for people who read the file."""
        self._verdicts[key] = verdict
        line = {"key": key, "rubric": self.rubric, **about, **verdict.model_dump(mode="json")}
        try:
            self.path.touch(mode=0o600)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            msg = _("{path}: cannot be written ({strerror}).", path=self.path, strerror=error.strerror)
            raise InputError(msg) from None

    def _read(self) -> Iterator[tuple[str, OrderedVerdict]]:
        if not self.path.is_file():
            return
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
                if row["rubric"] == self.rubric:
                    yield str(row["key"]), OrderedVerdict(verdict=row["verdict"], reason=row["reason"])
            except (ValueError, KeyError, TypeError):  # the last line may be cut off
                continue


class PairModelJudge:
    """Asks a model in both orders; ballots are kept as they arrive."""

    def __init__(
        self, prompt: PairPrompt, model: Model, seed: int, cache_for: Callable[[Pair], VerdictCache]
    ) -> None:
        """`cache_for` gives the cache in which the verdicts on a pair are kept."""
        self.prompt, self.model, self.seed, self.cache_for = prompt, model, seed, cache_for

    async def __call__(self, pair: Pair) -> Outcome:
        """The outcome of both orders; without a verdict when one of them gave nothing usable.

        What makes further calls pointless is raised only when the other order's call has arrived and is kept.
        """
        both = await asyncio.gather(*(self._ballot(pair, first) for first in ORDERS), return_exceptions=True)
        ballots = tuple(result for result in both if isinstance(result, Ballot))
        errors = [result for result in both if isinstance(result, BaseException)]
        for error in errors:
            if isinstance(error, AccessDenied) or not isinstance(error, ModelFailure):
                raise error
        if errors:
            return outcome(pair, "model", None, ballots=ballots, problem=" ".join(str(errors[0]).split()))
        return outcome(pair, "model", settled(ballots), reason=ballots[0].reason, ballots=ballots)

    def open_calls(self, pair: Pair) -> list[list[dict[str, str]]]:
        """The messages that would have to be paid for."""
        cache = self.cache_for(pair)
        both = [self.prompt.messages(pair, first) for first in ORDERS]
        return [messages for messages in both if cache.get(self._key(messages)) is None]

    async def _ballot(self, pair: Pair, first: Side) -> Ballot:
        messages, cache = self.prompt.messages(pair, first), self.cache_for(pair)
        key = self._key(messages)
        if cached := cache.get(key):
            return cached.ballot(first)
        language, turn = pair.one.case.language, pair.one.turn.index
        reply = await self.model.ask(
            messages,
            Preference,
            lambda problem: self.prompt.text(language, "again", problem=problem),
            seed=stable_int(self.seed, pair.one.conversation, turn, first),
        )
        verdict = OrderedVerdict(verdict=reply.verdict, reason=encodable(reply.reason))
        shown = (pair.a, pair.b) if first == "a" else (pair.b, pair.a)
        cache.put(key, verdict, shown=shown, conversation=pair.one.conversation, turn=turn)
        return verdict.ballot(first)

    def _key(self, messages: list[dict[str, str]]) -> str:
        return fingerprint(
            self.model.endpoint.model, str(self.model.temperature), str(self.seed),
            *(message["content"] for message in messages),
        )  # fmt: skip


# --- without a model ---

# What differs by less is a tie.
LEVEL = 0.02
_MEASURES: dict[str, Message] = {
    "agreement": _("agreement with the reference"),
    "support": _("support by the passages"),
    "conduct": _("declining or handing over"),
}


class Merit(NamedTuple):
    """How good (0..1) an answer looks, and the shares (0..1) that this was made of, by name."""

    value: float
    parts: Mapping[str, float]


def has_evidence(pair: Pair) -> bool:
    """Whether anything is known that two answers can be held against without a model."""
    one, other = TurnEvidence(pair.one), TurnEvidence(pair.other)
    known = pair.one.references or (one.passages and other.passages) or one.expected != "answer"
    return bool(known) or by_rule(pair) is not None


def merit(context: GradingContext) -> Merit:
    """By its reference and passages, as far as there are any.

    Where the right answer declines or comforts, by the rules of the turn judge's stand-in.
    """
    reading, parts = TurnEvidence(context), dict[str, float]()
    if reading.expected != "answer":
        parts["conduct"] = (turn(reading).raw or 0) / 5
    else:
        if context.references:
            parts["agreement"] = reading.agreement.score
        if reading.passages:
            parts["support"] = reading.support.score
    return Merit(sum(parts.values()) / max(1, len(parts)), parts)


class PairLexicalJudge:
    """Plays the judge of pairs by counting."""

    async def __call__(self, pair: Pair) -> Outcome:
        """The same verdict in either order, by construction: it casts no ballots."""
        if not has_evidence(pair):
            problem = _("There is neither a reference nor passages to hold the answers against.")
            return outcome(pair, "stand_in", None, problem=shown(problem, pair.one.case.language))
        one, other = merit(pair.one), merit(pair.other)
        difference = other.value - one.value
        verdict: Verdict = "tie" if abs(difference) < LEVEL else "b" if difference > 0 else "a"
        parts = []
        for name in {**one.parts, **other.parts}:
            shares = [merit.parts.get(name) for merit in (one, other)]
            texts = ["-" if share is None else f"{100 * share:.0f}%" for share in shares]
            measure = _MEASURES[name]
            parts.append(_("{measure} {one} to {other}", measure=measure, one=texts[0], other=texts[1]))
        reason = shown(_("Lexical stand-in: {parts}", parts=parts), pair.one.case.language)
        return outcome(pair, "stand_in", verdict, reason=reason, margin=abs(difference))
