"""Recorded dialogues as test questions, and as personas of the customers who speak in them."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from simulator.addons.testset.checks import Acceptance, TestSet
from simulator.addons.testset.plan import MADE
from simulator.addons.testset.prompts import DialogueSummary, Prompts, Speaker, Speakers
from simulator.core.errors import AccessDenied, InputError, ModelFailure
from simulator.core.messages import _
from simulator.core.templates import stable_int
from simulator.core.types import Case, Facts, Language, Message, Persona
from simulator.data.cases import read_cases
from simulator.data.values import NO_QUESTION
from simulator.models.client import Model
from simulator.privacy.redactor import Redactor, redacted_case
from simulator.runner.estimate import tokens as prompt_tokens
from simulator.runner.labelled_answers import worst_error
from simulator.text.acts import parts

Item = TypeVar("Item")
FROM_LOGS = "from-logs"
_GREETING = re.compile(
    r"(?:こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|はじめまして|初めまして|もしもし|すみません|はい"
    r"|(?:よろしく|宜しく)お(?:願い|ねがい)(?:いた)?します"
    r"|hello|hi|hey|good (?:morning|afternoon|evening)|yes|[\s、。,.!！ー〜])+",
    re.IGNORECASE,
)
# So many ways of speaking are put before a model at once, and so many lines of one dialogue.
MOST_MANNERS, MOST_LINES = 80, 40
HEADER = "# Made from recorded dialogues: how such customers speak. Read it over before it is used."


class Logs:
    """The dialogues of one file, redacted; `counts` says how much of each kind was masked."""

    def __init__(
        self, path: str | Path, language: Language | None = None, patterns: Sequence[str] = ()
    ) -> None:
        """Reads any file of cases: questions with a history, scripts, or recorded answers."""
        redactor = Redactor(patterns)
        counts: Counter[str] = Counter()
        self.dialogues: list[tuple[str, Language, tuple[Message, ...]]] = []
        for number, case in enumerate(read_cases(path), 1):
            if language not in (None, case.language):
                continue
            masked, masks = redacted_case(case, redactor)
            lines = tuple(_lines(masked))
            if any(line.role == "user" and line.content.strip() for line in lines):
                counts.update(masks)
                # Ids of logs are often customers' numbers; the place in the file is not.
                self.dialogues.append((f"log-{number:04}", case.language, lines))
        self.counts = dict(counts)
        self.manners: dict[Language, list[str]] = {"ja": [], "en": []}
        self._acceptance = Acceptance()

    @property
    def made(self) -> TestSet:
        """The questions so far."""
        return self._acceptance.test_set()

    def by_rule(self) -> TestSet:
        """The first question of every dialogue, word for word, which is also taken for its goal."""
        for id_, language, lines in self.dialogues:
            question = _first(lines, language)
            self._acceptance.consider(
                Case(id=id_, question=question, language=language, goal=question, tags=(MADE, FROM_LOGS))
            )
        return self.made

    async def distil(
        self, model: Model, prompts: Prompts, *, seed: int, calls: int, progress: Callable[[], None]
    ) -> TestSet:
        """The first question of every dialogue with goal, facts and wording, as a model reads them.

        Raises AccessDenied and BudgetSpent, after which `made` has what was finished before.
        """
        results: dict[str, DialogueSummary | str] = {}

        async def one(dialogue: tuple[str, Language, tuple[Message, ...]]) -> None:
            id_, language, lines = dialogue
            try:
                results[id_] = await model.ask(
                    prompts.distil(lines, language, DialogueSummary), DialogueSummary,
                    lambda problem: prompts.again(language, problem), seed=stable_int(seed, id_),
                )  # fmt: skip
            except AccessDenied:
                raise
            except ModelFailure as error:
                results[id_] = error.failure.kind
            progress()

        try:
            await for_each(self.dialogues, one, calls)
        finally:
            for id_, language, lines in self.dialogues:
                result = results.get(id_)
                if isinstance(result, str):
                    self._acceptance.failed(id_, result)
                elif result is not None:
                    if result.manner.strip():
                        self.manners[language].append(" ".join(result.manner.split()))
                    self._acceptance.consider(_case(id_, language, lines, result))
        return self.made

    async def speakers(
        self, model: Model, prompts: Prompts, names: Sequence[str], seed: int
    ) -> list[Speaker]:
        """The kinds of customers behind the dialogues; empty where nothing is known of how they speak.

        Raises ModelFailure.
        """
        language: Language = "ja" if self.manners["ja"] else "en"
        manners = list(dict.fromkeys([*self.manners["ja"], *self.manners["en"]]))[:MOST_MANNERS]
        if not manners:
            return []
        messages = prompts.speakers(manners, language, Speaker, names)
        reply = await model.ask(
            messages,
            Speakers,
            lambda problem: prompts.again(language, problem),
            seed=stable_int(seed, "speakers"),
        )
        return reply.personas

    def sizes(self, prompts: Prompts) -> Iterator[tuple[Language, int]]:
        """Language and tokens of each request."""
        for _unused, language, lines in self.dialogues:
            messages = prompts.distil(lines, language, DialogueSummary)
            yield language, sum(prompt_tokens(message["content"]) for message in messages)


async def for_each(items: Iterable[Item], work: Callable[[Item], Awaitable[None]], at_once: int) -> None:
    """Works on every item, so many at once; the first unexpected error ends all and is raised."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _unused in range(max(1, at_once)):
                group.create_task(worker())
    except BaseExceptionGroup as group_error:
        raise worst_error(group_error) from None


def _case(id_: str, language: Language, lines: Sequence[Message], summary: DialogueSummary) -> Case:
    return Case(
        id=id_,
        question=_first(lines, language),
        language=language,
        goal=summary.goal.strip() or None,
        facts=Facts(
            knows=tuple(filter(None, map(str.strip, summary.knows))),
            unknown=tuple(filter(None, map(str.strip, summary.unknown))),
        ),
        tags=(MADE, FROM_LOGS, summary.wording),
    )


def _first(lines: Sequence[Message], language: Language) -> str:
    """The customer's first line that is more than a greeting; without one the first line."""
    texts = [line.content.strip() for line in lines if line.role == "user" and line.content.strip()]
    requests = (text for text in texts if any(part.act != "courtesy" for part in parts(text, language)))
    return next((text for text in requests if not _GREETING.fullmatch(text)), texts[0])


def _lines(case: Case) -> Iterator[Message]:
    """The dialogue of a case in its order, at most MOST_LINES of the customer's lines."""
    yield from case.history
    questions = [line for line in (case.question, *case.script) if line.strip() and line != NO_QUESTION]
    answers = [answer.text for answer in case.recorded] or ([case.answer] if case.answer else [])
    for at, line in enumerate(questions[:MOST_LINES]):
        yield Message(role="user", content=line)
        if at < len(answers) and answers[at].strip():
            yield Message(role="assistant", content=answers[at])


def save_personas(
    speakers: Sequence[Speaker], folder: Path, shelf: Mapping[str, Persona], usual: str = "calm"
) -> list[Path]:
    """Writes a file for each, never over another; the most similar persona lends its phrases.

    Raises InputError where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_save(s, folder, shelf.get(s.like.strip(), shelf[usual])) for s in speakers]
    except OSError as error:
        msg = _("{folder}: personas cannot be written ({strerror}).", folder=folder, strerror=error.strerror)
        raise InputError(msg) from None


def _save(speaker: Speaker, folder: Path, like: Persona) -> Path:
    stem = re.sub(r"[^a-z0-9]+", "-", speaker.id.lower()).strip("-")[:40] or "customer"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    for name in names:
        path = folder / f"{name}.toml"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(toml_of(speaker, like))
        except FileExistsError:
            if path.read_text(encoding="utf-8") == toml_of(speaker, like):
                return path
            continue
        return path
    raise FileExistsError(0, _("too many personas of that name"), str(folder))


def toml_of(speaker: Speaker, like: Persona) -> str:
    """The persona file's text."""
    lines = [HEADER, f"patience = {speaker.patience}"]
    voices: tuple[tuple[Language, str, str], ...] = (
        ("ja", speaker.name_ja, speaker.voice_ja),
        ("en", speaker.name_en, speaker.voice_en),
    )
    for language, name, voice in voices:
        own = like.speaks(language)
        lines += ["", f"[{language}]", f"name = {_text(name)}", f"voice = {_text(voice)}"]
        lines += [f"knows = {_list(own.knows)}", f"unknown = {_list(own.unknown)}"]
        lines += ["", f"[{language}.phrases]"]
        lines += [f"{situation} = {_list(phrases)}" for situation, phrases in own.phrases.items()]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """A TOML string; JSON's is one, except for DEL."""
    return json.dumps(text.strip() or "-", ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(_text, texts)) + "]"
