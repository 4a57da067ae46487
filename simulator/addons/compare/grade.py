"""Verdicts that were paid for, line by line beside the later run: pairwise.jsonl. Nothing is asked twice."""

import asyncio
import json
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator

from simulator.addons.compare.figures import (
    WORDS,
    Apart,
    Ballot,
    Outcome,
    Pair,
    PairwiseFigures,
    Read,
    Side,
    TurnPairs,
    Verdict,
    compared,
    matched,
    outcome,
    settled,
)
from simulator.core import shelves
from simulator.core.errors import AccessDenied, InputError, ModelFailure, PromptError, RehearsalError
from simulator.core.replies import Reply, encodable, skeleton
from simulator.core.roles import LEXICAL, endpoints
from simulator.core.settings import Settings
from simulator.core.templates import (
    LANGUAGES,
    check_languages,
    fingerprint,
    quote,
    read_toml,
    render,
    stable_int,
)
from simulator.core.types import GradingContext, Language, Results, Spending
from simulator.grading.lexical import turn
from simulator.grading.rubric import LONGEST_EARLIER, LONGEST_MATERIAL, read_guidelines
from simulator.models.client import Connections, Model
from simulator.models.limiter import GRADING
from simulator.models.pricing import BudgetSpent, Ledger
from simulator.models.providers import Models
from simulator.runner.estimate import tokens
from simulator.runner.run import first_of
from simulator.storage.run_file import find_run, read_run
from simulator.text.evidence import Reading, content_units, share, topic_units

NAME = "pairwise.jsonl"


class VerdictCache:
    """What one folder holds of one rubric; a verdict is filed under a hash of all that the model was sent."""

    def __init__(self, folder: Path, rubric: str) -> None:
        """Reads what is there; lines of other rubrics stay where they are."""
        self.path, self.rubric = folder / NAME, rubric
        self._known = dict(self._read())

    def get(self, key: str) -> Read | None:
        """The verdict of an earlier sitting."""
        return self._known.get(key)

    def put(self, key: str, read: Read, **about: object) -> None:
        """Keeps a verdict at once; `about` is for people who read the file."""
        self._known[key] = read
        line = {"key": key, "rubric": self.rubric, **about, **read.model_dump(mode="json")}
        try:
            self.path.touch(mode=0o600)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            msg = f"{self.path}: cannot be written ({error.strerror})."
            raise InputError(msg) from None

    def _read(self) -> list[tuple[str, Read]]:
        if not self.path.is_file():
            return []
        found = []
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                kept = json.loads(line)
                if kept["rubric"] == self.rubric:
                    found.append((str(kept["key"]), Read(verdict=kept["verdict"], reason=kept["reason"])))
            except (ValueError, KeyError, TypeError):  # the last line may be cut off
                continue
        return found


_TEXTS: dict[str, set[str]] = {
    "title": set(),
    "system": {"guidelines"},
    "task": {"history", "question", "reference", "passages", "answer_1", "answer_2", "form"},
    "again": {"problem"},
    "nothing": set(),
    "cut": {"count"},
}
_MEANT = {
    "1": "1", "2": "2", "tie": "tie", "draw": "tie", "equal": "tie", "both": "tie", "neither": "tie",
    "同点": "tie", "引き分け": "tie", "同等": "tie", "0": "tie",
}  # fmt: skip


def _preferred(value: Any) -> Any:
    """1, "１", "回答1" and "Answer 1" are "1"; a draw is a tie; anything else is left for the check."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    said = unicodedata.normalize("NFKC", str(value)).strip().casefold().strip("[]()「」。.\"'")
    bare = said.removeprefix("answer").removeprefix("回答").strip(" _:#")
    return _MEANT.get(bare, value)


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
        check_languages(path, self._tables, _TEXTS)
        for language in LANGUAGES:
            meanings = self._tables[language].get("fields", {})
            if list(meanings) != list(Preference.model_fields):
                fields = ", ".join(Preference.model_fields)
                msg = f"{path}: [{language}.fields] must be {fields}, in this order."
                raise PromptError(msg)
        self._guidelines = read_guidelines(guidelines)

    def text(self, language: Language, key: str, /, **values: str) -> str:
        """A rendered text."""
        return render(self._tables[language][key], **values)

    def fingerprint(self, model: str) -> str:
        """Stands for everything but the material: texts in both languages, guidelines, model."""
        texts = [
            text
            for language in LANGUAGES
            for text in (
                *(self._tables[language][key] for key in _TEXTS),
                self._form(language),
                self._guidelines[language],
            )
        ]
        return fingerprint(*texts, model)

    def messages(self, pair: Pair, first: Side) -> list[dict[str, str]]:
        """What the model is sent, with the answer of `first` as answer 1."""
        language = pair.one.case.language
        shown = (pair.one, pair.other) if first == "a" else (pair.other, pair.one)
        system = self.text(language, "system", guidelines=self._guidelines[language])
        return [
            {"role": "system", "content": system},
            {"role": "user", "content": self._task(language, pair, shown)},
        ]

    def _task(self, language: Language, pair: Pair, shown: tuple[GradingContext, GradingContext]) -> str:
        nothing = self.text(language, "nothing")
        said = _said_before(shown)
        passages, left_out = _passages(pair)
        references = pair.one.references or (nothing,)
        answers = [context.turn.answer.text for context in shown]
        question = shown[0].turn.user
        # Neither bot can know the code of any block: it depends on what the other one said.
        seal = fingerprint(
            *(text for line in said for text in line), question, *answers, *passages, *references
        )
        quoted = [quote("passage", text, seal) for text in passages or [nothing]]
        if left_out:
            quoted.append(self.text(language, "cut", count=str(left_out)))
        return self.text(
            language,
            "task",
            history="\n".join(quote(who, text, f"{seal}{at}") for at, (who, text) in enumerate(said))
            or nothing,
            question=quote("question", question, seal),
            reference="\n".join(quote("reference", text, seal) for text in references),
            passages="\n".join(quoted),
            answer_1=quote("answer_1", answers[0], seal),
            answer_2=quote("answer_2", answers[1], seal),
            form=self._form(language),
        )

    def _form(self, language: Language) -> str:
        return skeleton({key: ("text", said) for key, said in self._tables[language]["fields"].items()})


def _said_before(shown: tuple[GradingContext, GradingContext]) -> list[tuple[str, str]]:
    """Who said what before; where the two desks differ, both are shown under their answer's number."""
    one, two = shown
    lines = [("customer" if m.role == "user" else "desk", m.content) for m in one.case.history]
    for mine, theirs in zip(one.earlier, two.earlier, strict=True):
        lines.append(("customer", mine.user))
        texts = (mine.answer.text, theirs.answer.text)
        lines += (
            [("desk", texts[0])] if len(set(texts)) == 1 else [("desk_1", texts[0]), ("desk_2", texts[1])]
        )
    return [(who, text[:LONGEST_EARLIER]) for who, text in lines]


def _passages(pair: Pair) -> tuple[list[str], int]:
    """What either run retrieved, once each and in one order for all readings, and how many do not fit."""
    sides = sorted([(pair.a, pair.one), (pair.b, pair.other)], key=lambda side: side[0])
    found = [passage for _, context in sides for passage in context.turn.answer.passages]
    texts = list(dict.fromkeys(passage.text for passage in found))
    shown: list[str] = []
    used = 0
    for text in texts:
        used += len(text)
        if used > LONGEST_MATERIAL and shown:
            break
        shown.append(text[:LONGEST_MATERIAL])
    return shown, len(texts) - len(shown)


PairJudging = Callable[[Pair], Awaitable[Outcome]]
ORDERS: tuple[Side, Side] = ("a", "b")


def by_rule(pair: Pair) -> Outcome | None:
    """No answer loses against an answer, and two equal answers are a tie; nobody has to be asked."""
    language, failed = pair.one.case.language, [_failed(side) for side in (pair.one, pair.other)]
    if any(failed):
        verdict: Verdict = "tie" if all(failed) else "b" if failed[0] else "a"
        reason = WORDS(language, "no_answers" if all(failed) else "no_answer")
        return outcome(pair, "rule", verdict, reason=reason, margin=float(not all(failed)))
    one, other = (" ".join(text.split()) for text in pair.answers)
    return outcome(pair, "rule", "tie", reason=WORDS(language, "same_answer")) if one == other else None


def _failed(context: GradingContext) -> bool:
    return context.turn.answer.error is not None or not context.turn.answer.text.strip()


class PairModelJudge:
    """Asks a model in both orders; ballots are kept as they arrive."""

    def __init__(
        self, prompt: PairPrompt, model: Model, seed: int, kept: Callable[[Pair], VerdictCache]
    ) -> None:
        """`kept` says where the ballots of a pair are kept."""
        self.prompt, self.model, self.seed, self.kept = prompt, model, seed, kept

    async def __call__(self, pair: Pair) -> Outcome:
        """The outcome of both orders; without a verdict when one of them gave nothing usable.

        Raises, when the other order's call has arrived and is kept, what makes further calls pointless.
        """
        both = await asyncio.gather(*(self._ballot(pair, first) for first in ORDERS), return_exceptions=True)
        wrong = [each for each in both if isinstance(each, BaseException)]
        ballots = tuple(each for each in both if isinstance(each, Ballot))
        for error in wrong:
            if isinstance(error, AccessDenied) or not isinstance(error, ModelFailure):
                raise error
        if wrong:
            return outcome(pair, "model", None, ballots=ballots, problem=" ".join(str(wrong[0]).split()))
        verdict = settled(ballots)
        return outcome(pair, "model", verdict, reason=ballots[0].reason, ballots=ballots)

    def open_calls(self, pair: Pair) -> list[list[dict[str, str]]]:
        """The messages that would have to be paid for."""
        kept = self.kept(pair)
        asked = [self.prompt.messages(pair, first) for first in ORDERS]
        return [messages for messages in asked if kept.get(self._key(messages)) is None]

    async def _ballot(self, pair: Pair, first: Side) -> Ballot:
        messages, kept = self.prompt.messages(pair, first), self.kept(pair)
        key = self._key(messages)
        if known := kept.get(key):
            return known.ballot(first)
        language, turn = pair.one.case.language, pair.one.turn.index
        seed = stable_int(self.seed, pair.one.conversation, turn, first)

        def again(problem: str) -> str:
            return self.prompt.text(language, "again", problem=problem)

        filled = await self.model.ask(messages, Preference, again, seed=seed)
        read = Read(verdict=filled.verdict, reason=encodable(filled.reason))
        shown = (pair.a, pair.b) if first == "a" else (pair.b, pair.a)
        kept.put(key, read, shown=shown, conversation=pair.one.conversation, turn=turn)
        return read.ballot(first)

    def _key(self, messages: list[dict[str, str]]) -> str:
        return fingerprint(
            self.model.endpoint.model, str(self.model.temperature), str(self.seed),
            *(message["content"] for message in messages),
        )  # fmt: skip


async def judged(
    pairs: Sequence[Pair], judge: PairJudging, at_once: int, told: Callable[[Outcome], None]
) -> list[Outcome]:
    """The outcome of every pair, in their order; raises what makes going on pointless (no money, no access).

    When the budget is spent, the calls in flight still arrive and are kept: they are paid for.
    """
    found: dict[int, Outcome] = {}
    waiting, spent = iter(range(len(pairs))), list[BudgetSpent]()
    stopped: BaseException | None

    async def work() -> None:
        for at in waiting:
            await asyncio.sleep(0)  # judges that never wait would keep Ctrl-C waiting
            try:
                found[at] = by_rule(pairs[at]) or await judge(pairs[at])
            except BudgetSpent as error:
                spent.append(error)
            if spent:
                return
            told(found[at])

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(len(pairs), at_once)):
                tasks.create_task(work())
    except* RehearsalError as group:
        stopped = first_of(group)
    else:
        stopped = spent[0] if spent else None
    if stopped is not None:
        raise stopped
    return [found[at] for at in range(len(pairs))]


# What differs by less is a tie.
LEVEL = 0.02
# How much the question counts beside the passages: enough that a faithful quotation of the wrong one loses.
TAKES_UP = 0.25


class Merit(NamedTuple):
    """How good (0..1) an answer looks, and the shares (0..1) that this was made of, by name."""

    value: float
    parts: tuple[tuple[str, float], ...]


def merit(context: GradingContext) -> Merit:
    """By its reference and passages; without a reference by passages and question, or by the question alone.

    Where a right answer declines or comforts, by the rules of the turn judge's stand-in.
    """
    reading = Reading(context)
    if reading.expected != "answer":
        score = turn(reading).detail["score"]
        return _mean(("conduct", float(score) if isinstance(score, (int, float)) else 0.0, 1))
    if context.references and reading.passages:
        return _mean(("agreement", reading.agreement.score, 1), ("support", _supported(reading), 1))
    if context.references:
        return _mean(("agreement", reading.agreement.score, 1))
    if reading.passages:
        return _mean(("support", _supported(reading), 1), ("question", reading.covered, TAKES_UP))
    return _mean(("question", shared(context.turn.user, context.turn.answer.text), 1))


def shared(question: str, answer: str) -> float:
    """The F1 (0..1) of what question and answer have in common by content: more words alone gain nothing."""
    recall = share(topic_units(question), content_units(answer))
    precision = share(topic_units(answer), content_units(question))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _supported(reading: Reading) -> float:
    """The share (0..1) of what is claimed that the passages bear out; of every sentence where nothing is."""
    found = reading.support
    return found.claimed if found.claims else found.score


def _mean(*weighed: tuple[str, float, float]) -> Merit:
    whole = sum(weight for _, _, weight in weighed)
    value = sum(share * weight for _, share, weight in weighed) / whole
    return Merit(value, tuple((name, share) for name, share, _ in weighed))


def preferred(one: Merit, other: Merit) -> Verdict:
    """The better one; a tie when they are about level."""
    difference = other.value - one.value
    return "tie" if abs(difference) < LEVEL else "b" if difference > 0 else "a"


class PairLexicalJudge:
    """Plays the judge of pairs by counting."""

    async def __call__(self, pair: Pair) -> Outcome:
        """The same verdict in either order, by construction: it casts no ballots."""
        one, other = merit(pair.one), merit(pair.other)
        margin, reason = abs(other.value - one.value), _reason(pair, one, other)
        return outcome(pair, "stand_in", preferred(one, other), reason=reason, margin=margin)


def _reason(pair: Pair, one: Merit, other: Merit) -> str:
    """The shares of both, answer 1 being that of the first run."""
    language = pair.one.case.language
    names = dict.fromkeys(name for name, _ in (*one.parts, *other.parts))
    parts = []
    for name in names:
        shares = [dict(each.parts).get(name) for each in (one, other)]
        told = ["-" if share is None else f"{100 * share:.0f}%" for share in shares]
        parts.append(WORDS(language, f"part_{name}", one=told[0], two=told[1]))
    return WORDS(language, "counted", parts=WORDS(language, "comma").join(parts))


# Runs are shown as A, B, C ...
MOST = 10
# Tokens of a filled-in form.
REPLY = 320


class Chosen(NamedTuple):
    """The runs in the order given, with where they are."""

    paths: tuple[Path, ...]
    results: tuple[Results, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(each.run.id for each in self.results)


class Comparison:
    """One comparison; whatever is wrong with the input shows when it is made."""

    def __init__(self, names: Sequence[str], settings: Settings, *, anchor: bool = False) -> None:
        """Every run against every other; with `anchor` the first one against the others."""
        self.settings = settings
        self.runs = _runs(names, Path(settings.runs))
        ids = self.runs.ids
        self.matches = {
            (ids[i], ids[j]): matched(self.runs.results[i], self.runs.results[j])
            for i, j in combinations(range(len(ids)), 2)
            if not anchor or i == 0
        }
        if not self.pairs:
            raise InputError(_nothing(self.matches))
        guidelines = Path(settings.guidelines or shelves.JUDGES / "_guidelines.toml")
        self.prompt = PairPrompt(shelves.JUDGES / "_pairwise.toml", guidelines)
        self.ledger = Ledger.of(settings)
        self._connections = Connections.of(settings)
        self._models = Models(endpoints(settings), self._connections, self.ledger)

    @property
    def pairs(self) -> list[Pair]:
        """All comparable turns."""
        return [pair for match in self.matches.values() for pair in match.pairs]

    @property
    def model(self) -> str:
        """Who judges; `lexical` for the stand-in."""
        endpoint = self._models.endpoints["judge"]
        return endpoint.model if endpoint else LEXICAL

    @property
    def rubric(self) -> str:
        """Stands for the prompt, the form and the model."""
        return self.prompt.fingerprint(self.model)

    @property
    def language(self) -> Language:
        """The language most turns are in; Japanese on a tie."""
        english = sum(pair.one.case.language == "en" for pair in self.pairs)
        return "en" if english > len(self.pairs) / 2 else "ja"

    @cached_property
    def judge(self) -> PairJudging:
        """A model, or the stand-in where there is none."""
        model = self._models.role("judge", temperature=self.settings.judge_temperature, priority=GRADING)
        if model is None:
            return PairLexicalJudge()
        return PairModelJudge(self.prompt, model, self.settings.seed, self._kept)

    def forecast(self) -> Spending:
        """What is still to be paid at most: what earlier sittings kept is paid already."""
        judge = self.judge
        if not isinstance(judge, PairModelJudge):
            return Spending()
        asked = [messages for p in self.pairs if by_rule(p) is None for messages in judge.open_calls(p)]
        tokens_in = sum(tokens(message["content"]) for messages in asked for message in messages)
        return self.ledger.prices.spending(self.model, len(asked), tokens_in, REPLY * len(asked))

    async def judged(self, told: Callable[[Outcome], None]) -> list[Outcome]:
        """The outcome of every pair."""
        try:
            return await judged(self.pairs, self.judge, self.settings.calls, told)
        finally:
            await self._connections.close()

    def figures(self, outcomes: Sequence[Outcome]) -> PairwiseFigures:
        """What the outcomes say."""
        apart = {names: Apart(match.differing, match.alone) for names, match in self.matches.items()}
        return compared(self.runs.ids, outcomes, apart, self.settings.seed)

    def overall(self, run: str) -> dict[tuple[str, int], float]:
        """The run's own Overall (0..1) by conversation and turn: which wins are clear."""
        results = self.runs.results[self.runs.ids.index(run)]
        return {
            (s.conversation, s.turn): s.value
            for s in results.scores
            if s.judge == "turn" and s.value is not None
        }

    def _kept(self, pair: Pair) -> VerdictCache:
        """Beside the run that was held later; ids sort by time."""
        return self._files[max(pair.a, pair.b)]

    @cached_property
    def _files(self) -> Mapping[str, VerdictCache]:
        places = zip(self.runs.ids, self.runs.paths, strict=True)
        return {run: VerdictCache(path.parent, self.rubric) for run, path in places}


def _runs(names: Sequence[str], folder: Path) -> Chosen:
    if not 2 <= len(names) <= MOST:
        msg = f"compare takes 2 to {MOST} runs, and was given {len(names)}: compare A B."
        raise InputError(msg)
    paths = tuple(find_run(name, folder) for name in names)
    found = Chosen(paths, tuple(read_run(path) for path in paths))
    twice = next((run for run in found.ids if found.ids.count(run) > 1), None)
    if twice:
        msg = f"run {twice} is named twice; compare different runs."
        raise InputError(msg)
    return found


def _nothing(matches: Mapping[tuple[str, str], TurnPairs]) -> str:
    one, other = next(iter(matches))
    return (
        f"no turn of {one} and {other} can be compared: other questions, personas, or customers who said "
        f"something else. Hold the second with --replay {one}."
    )
