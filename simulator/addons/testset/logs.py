"""Recorded dialogues as test questions, and as personas of the customers who speak in them."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.addons.testset.checks import TestSet, bare
from simulator.addons.testset.plan import MADE
from simulator.addons.testset.prompts import DialogueSummary, Prompts, Speaker, Speakers
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.templates import LANGUAGES, stable_int
from simulator.core.types import Case, Facts, Language, Message, Persona
from simulator.data.cases import read_cases
from simulator.data.values import NO_QUESTION
from simulator.models.client import Model
from simulator.privacy.redactor import Redactor, redacted_case
from simulator.text.acts import parts

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


class Dialogue(NamedTuple):
    """A recorded dialogue, redacted."""

    id: str
    language: Language
    lines: tuple[Message, ...]


class Logs:
    """The dialogues of one file, redacted; `counts` says how much of each kind was masked."""

    def __init__(
        self, path: str | Path, language: Language | None = None, patterns: Sequence[str] = ()
    ) -> None:
        """Reads any file of cases: questions with a history, scripts, or recorded answers."""
        redactor = Redactor(patterns)
        counts: Counter[str] = Counter()
        self.dialogues: list[Dialogue] = []
        for number, case in enumerate(read_cases(path), 1):
            if language not in (None, case.language):
                continue
            masked, masks = redacted_case(case, redactor)
            lines = tuple(_lines(masked))
            if any(line.role == "user" and line.content.strip() for line in lines):
                counts.update(masks)
                # Ids of logs are often customers' numbers; the place in the file is not.
                self.dialogues.append(Dialogue(f"log-{number:04}", case.language, lines))
        self.counts = dict(counts)
        self.made = TestSet()
        self._summaries: dict[str, DialogueSummary] = {}

    async def distil(
        self, model: Model, prompts: Prompts, *, seed: int, calls: int, progress: Callable[[int, int], None]
    ) -> None:
        """Adds the first question of every dialogue to `made`, with the goal and facts that a model reads.

        Raises AccessDenied and BudgetSpent, after which `made` has what was finished before.
        """

        async def question(dialogue: Dialogue) -> tuple[Case, None]:
            id_, language, lines = dialogue
            messages, again = prompts.distil(lines, language), prompts.again(language)
            summary = await model.ask(messages, DialogueSummary, again, seed=stable_int(seed, id_))
            self._summaries[id_] = summary
            case = Case(
                id=id_,
                question=bare(_first(lines, language)) or "-",
                language=language,
                goal=bare(summary.goal) or None,
                facts=Facts(
                    knows=tuple(filter(None, map(str.strip, summary.knows))),
                    unknown=tuple(filter(None, map(str.strip, summary.unknown))),
                ),
                tags=(MADE, FROM_LOGS, summary.wording),
            )
            return case, None

        await self.made.collect({each.id: each for each in self.dialogues}, question, calls, progress)

    async def speakers(
        self, model: Model, prompts: Prompts, names: Sequence[str], seed: int
    ) -> list[Speaker]:
        """The kinds of customers behind the dialogues; empty where nothing is known of how they speak.

        Raises ModelFailure.
        """
        manners: dict[Language, list[str]] = {"ja": [], "en": []}
        for id_, language, _lines_unused in self.dialogues:
            if id_ in self._summaries and (manner := " ".join(self._summaries[id_].manner.split())):
                manners[language].append(manner)
        language = "ja" if manners["ja"] else "en"
        different = list(dict.fromkeys([*manners["ja"], *manners["en"]]))[:MOST_MANNERS]
        if not different:
            return []
        messages = prompts.speakers(different, language, names)
        again, seed = prompts.again(language), stable_int(seed, "speakers")
        return (await model.ask(messages, Speakers, again, seed=seed)).personas


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


def save_personas(speakers: Sequence[Speaker], folder: Path, shelf: Mapping[str, Persona]) -> list[Path]:
    """Writes a file for each, never over another; the most similar persona lends its phrases, or `calm`.

    Raises InputError where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_save(s, folder, shelf.get(s.like.strip(), shelf["calm"])) for s in speakers]
    except OSError as error:
        msg = _("{folder}: personas cannot be written ({strerror}).", folder=folder, strerror=error.strerror)
        raise InputError(msg) from None


def _save(speaker: Speaker, folder: Path, like: Persona) -> Path:
    stem = re.sub(r"[^a-z0-9]+", "-", speaker.id.lower()).strip("-")[:40] or "customer"
    text = toml_of(speaker, like)
    names = (f"{stem}.toml" if number == 1 else f"{stem}-{number}.toml" for number in itertools.count(1))
    paths = (folder / name for name in names)
    path = next(path for path in paths if not path.exists() or path.read_text(encoding="utf-8") == text)
    path.write_text(text, encoding="utf-8")
    return path


def toml_of(speaker: Speaker, like: Persona) -> str:
    """The persona file's text."""
    lines = [HEADER, f"patience = {speaker.patience}"]
    said = speaker.model_dump()
    for language in LANGUAGES:
        own, name, voice = like.speaks(language), said[f"name_{language}"], said[f"voice_{language}"]
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
