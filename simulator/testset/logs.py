"""Recorded dialogues as test questions, and as personas of the customers who speak in them.

    cases make --from-logs chats.jsonl
        each dialogue, masked         -> its goal, facts, wording, how the customer told things and left
        the ways of speaking in all   -> one to six kinds of customers, a persona file each
        who belongs to which kind     -> mix.toml: how often each comes, and how they leave

Nothing of a dialogue leaves this module unmasked: redaction comes before the first request, and ids of logs,
which are often customers' numbers, become the place in the file (log-0001). Personas are written for a person
to read over, and never over a file that is there.
"""

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from simulator.cases.case import NO_QUESTION
from simulator.cases.cases import QUESTIONS, read_dataset
from simulator.core.errors import InputError
from simulator.core.messages import _, system_error
from simulator.core.templates import LANGUAGES, stable_int
from simulator.core.types import Case, ChatMessage, Facts, Language, Persona, PersonaText
from simulator.grading.desk import toml_value
from simulator.models.client import Model
from simulator.privacy.patterns import masks
from simulator.privacy.redactor import Redactor, redacted_case
from simulator.testset.checks import TestSet, bare
from simulator.testset.plan import MADE
from simulator.testset.prompts import DialogueSummary, QuestionPrompts, Speaker, Speakers
from simulator.text.overlap import coverage
from simulator.text.phrases import is_courtesy

FROM_LOGS = "from-logs"
_GREETING = re.compile(
    r"(?:こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|はじめまして|初めまして|もしもし|すみません|はい"
    r"|(?:よろしく|宜しく)お(?:願い|ねがい)(?:いた)?します"
    r"|hello|hi|hey|good (?:morning|afternoon|evening)|yes|[\s、。,.!！ー〜])+",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^。！？!?\n.]*(?:[。！？!?\n]+|\.+(?=\s|$)|\.|$)\s*")
# A phrase that says this share (0..1) of a circumstance speaks of it.
_TAKEN_UP = 0.5
# So many ways of speaking are put before a model at once, and so many lines of one dialogue.
MOST_MANNERS, MOST_LINES = 80, 40
HEADER = "# Made from recorded dialogues: how such customers speak. Read it over before it is used."
# The mix of these personas, and what is written at its top.
MIX = "mix"
MIX_HEADER = (
    "# How often each kind of customer comes, in {n} recorded dialogues: --persona draws from it by --seed.\n"
    "# A row may set what a persona can (docs/personas.md); that goes before what the persona's file says."
)


class Dialogue(NamedTuple):
    """A recorded dialogue, redacted."""

    id: str
    language: Language
    lines: tuple[ChatMessage, ...]


class Talk(NamedTuple):
    """A dialogue, and what a model read in it."""

    dialogue: Dialogue
    summary: DialogueSummary


class Kind(NamedTuple):
    """Customers who speak alike."""

    speaker: Speaker
    talks: list[Talk]


class Logs:
    """The dialogues of one file, redacted; `counts` says how much of each kind was masked."""

    def __init__(
        self,
        path: str | Path,
        language: Language | None = None,
        patterns: Sequence[str] = (),
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Reads any file of cases: questions with a history, scripts, or recorded answers.

        `columns` are those of `--columns`.
        """
        redactor = Redactor(patterns)
        counts: Counter[str] = Counter()
        self.dialogues: list[Dialogue] = []
        # One at a time: a log may be much larger than what is kept of it.
        cases = read_dataset(Path(path), QUESTIONS._replace(columns=columns)).rows()
        for number, case in enumerate(cases, 1):
            if language not in (None, case.language):
                continue
            masked, masks = redacted_case(case, redactor)
            lines = tuple(_lines(masked))
            # A dialogue in which only the desk speaks is nobody's question.
            if any(line.role == "user" and line.content.strip() for line in lines):
                counts.update(masks)
                # Ids of logs are often customers' numbers; the place in the file is not.
                self.dialogues.append(Dialogue(f"log-{number:04}", case.language, lines))
        if not self.dialogues:
            msg = _(
                "--from-logs {path}: no customer says anything in it (--language {language}).",
                path=path,
                language=language or "ja|en",
            )
            raise InputError(msg)
        self.counts = dict(counts)
        self._summaries: dict[str, DialogueSummary] = {}

    def requests(self) -> dict[str, str]:
        """What each customer asks first, by dialogue, masked; without those who only greet or thank."""
        first = {d.id: (_first(d.lines, d.language), d.language) for d in self.dialogues}
        return {
            id_: text
            for id_, (text, language) in first.items()
            if not _GREETING.fullmatch(text) and not is_courtesy(text, language)
        }

    async def distil(
        self,
        model: Model,
        prompts: QuestionPrompts,
        made: TestSet,
        *,
        seed: int,
        calls: int,
        progress: Callable[[int, int], None],
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
                facts=Facts(knows=tuple(_unmasked(summary.knows)), unknown=tuple(_unmasked(summary.unknown))),
                tags=(MADE, FROM_LOGS, summary.wording),
            )
            return case, None

        await made.collect({dialogue.id: dialogue for dialogue in self.dialogues}, question, calls, progress)

    async def kinds(
        self, model: Model, prompts: QuestionPrompts, names: Sequence[str], seed: int
    ) -> list[Kind]:
        """The kinds of customers behind the dialogues; empty where nothing is known of how they speak.

        Of very many ways of speaking some are put before the model, by lot: frequencies rest on these.
        Raises ModelFailure.
        """
        ways: dict[str, list[Talk]] = {}
        for dialogue in self.dialogues:
            summary = self._summaries.get(dialogue.id)
            if summary and (manner := " ".join(summary.manner.split())):
                ways.setdefault(manner, []).append(Talk(dialogue, summary))
        manners = list(ways)
        if not manners:
            return []
        if len(manners) > MOST_MANNERS:
            manners = random.Random(seed).sample(manners, MOST_MANNERS)  # noqa: S311 - a sample, not a secret
        spoken = {talk.dialogue.language for talks in ways.values() for talk in talks}
        language: Language = "ja" if "ja" in spoken else "en"
        messages = prompts.speakers(manners, language, names)
        again, seed = prompts.again(language), stable_int(seed, "speakers")
        speakers = (await model.ask(messages, Speakers, again, seed=seed)).personas
        # Numbers that the model makes up belong to nobody.
        free = dict(enumerate(manners, 1))  # whom two claim belongs to the first
        return [
            Kind(speaker, [talk for n in speaker.members if n in free for talk in ways[free.pop(n)]])
            for speaker in speakers
        ]


def _first(lines: Sequence[ChatMessage], language: Language) -> str:
    """The customer's first line that is more than a greeting; without one the first line."""
    texts = [line.content.strip() for line in lines if line.role == "user" and line.content.strip()]
    requests = (text for text in texts if not is_courtesy(text, language))
    return next((text for text in requests if not _GREETING.fullmatch(text)), texts[0])


def _lines(case: Case) -> Iterator[ChatMessage]:
    """The dialogue of a case in its order, at most MOST_LINES of the customer's lines."""
    yield from case.history
    questions = [line for line in (case.question, *case.script) if line.strip() and line != NO_QUESTION]
    answers = [answer.text for answer in case.recorded] or ([case.answer] if case.answer else [])
    for at, line in enumerate(questions[:MOST_LINES]):
        yield ChatMessage(role="user", content=line)
        if at < len(answers) and answers[at].strip():
            yield ChatMessage(role="assistant", content=answers[at])


class SavedPersonas(NamedTuple):
    """The files of personas, and that of their mix, None where no dialogue was said to be of any of them."""

    paths: list[Path]
    mix: Path | None = None


def save_personas(kinds: Sequence[Kind], folder: Path, shelf: Mapping[str, Persona]) -> SavedPersonas:
    """Writes a file for each, never over another; the most similar persona lends its phrases, or `calm`.

    Beside them stands the mix of them. A file with the same text is taken for the one that would be written,
    so the same logs give the same files twice. Raises InputError where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [
            _save(
                folder,
                kind.speaker.id,
                toml_of(kind.speaker, shelf.get(kind.speaker.like.strip(), shelf["calm"])),
            )
            for kind in kinds
        ]
        text = mix_of(list(zip(kinds, paths, strict=True)))
        return SavedPersonas(paths, _save(folder, MIX, text) if text else None)
    except OSError as error:
        msg = _(
            "{folder}: customers cannot be written ({strerror}).", folder=folder, strerror=system_error(error)
        )
        raise InputError(msg) from None


def _save(folder: Path, name: str, text: str) -> Path:
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "customer"
    names = (f"{stem}.toml" if number == 1 else f"{stem}-{number}.toml" for number in itertools.count(1))
    paths = (folder / name for name in names)
    # customer.toml, customer-2.toml ...: the first that is free, or says the same.
    path = next(path for path in paths if not path.exists() or path.read_text(encoding="utf-8") == text)
    path.write_text(text, encoding="utf-8")
    return path


def toml_of(speaker: Speaker, like: Persona) -> str:
    """The persona file's text: name and voice of the speaker, and phrases that `like` lends.

    What the lending persona knows of itself, and phrases that speak of it, are not this customer's.
    """
    lines = [HEADER, f"patience = {speaker.patience}"]
    said = speaker.model_dump()
    for language in LANGUAGES:
        wording, name, voice = like.speaks(language), said[f"name_{language}"], said[f"voice_{language}"]
        # What was masked in the dialogues is nobody's name, and no way of speaking.
        name = speaker.id if masks().search(name) else name
        voice = next(_unmasked([voice]), masks().sub("", voice))
        lines += ["", f"[{language}]", f"name = {_text(name)}", f"voice = {_text(voice)}"]
        lines += ["", f"[{language}.phrases]"]
        lines += [f"{situation} = {toml_value([*phrases])}" for situation, phrases in _lent(wording)]
    return "\n".join(lines) + "\n"


def _unmasked(texts: Iterable[str]) -> Iterator[str]:
    """The texts without those sentences in which something was masked."""
    for text in texts:
        if kept := "".join(part for part in _SENTENCE.findall(text) if not masks().search(part)).strip():
            yield kept


def _lent(wording: PersonaText) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The phrases by situation, without those about the circumstances of who lends them."""
    for situation, phrases in wording.phrases.items():
        general = tuple(
            phrase
            for phrase in phrases
            if all(coverage(known, [phrase]) < _TAKEN_UP for known in wording.knows)
        )
        if general:
            yield situation, general


def mix_of(kinds: Sequence[tuple[Kind, Path]]) -> str:
    """The text of the mix file; empty where nothing is known of who comes how often.

    A row for each kind with its share of the dialogues that were told apart; `--persona mix.toml` draws from
    it.
    """
    with_talks = [(kind, path) for kind, path in kinds if kind.talks]
    total = sum(len(kind.talks) for kind, _path in with_talks)
    rows = [_row(kind, path, len(kind.talks) / total) for kind, path in with_talks]
    return "\n".join([MIX_HEADER.format(n=total), *rows]) if rows else ""


def _row(kind: Kind, path: Path, frequency: float) -> str:
    left = Counter(talk.summary.left for talk in kind.talks)
    manners = Counter(talk.summary.told for talk in kind.talks if talk.summary.told != "none")
    # Patience is how many useless answers those who gave up had taken.
    useless = [t.summary.useless for t in kind.talks if t.summary.left == "gave_up" and t.summary.useless]
    settings: dict[str, Any] = {}
    if manners:
        settings["discloses"] = max(manners, key=lambda manner: manners[manner])
    if useless:
        settings["patience"] = round(median(useless))
    # More than half: a customer who always asks for a person is another customer.
    if left["person"] * 2 > len(kind.talks):
        settings["asks_for_person"] = True
    ends = ", ".join(f"{how} {n}" for how, n in left.most_common())
    values = {"persona": path.name, "frequency": round(frequency, 3), **settings}
    rows = (f"{key} = {toml_value(value)}" for key, value in values.items())
    return "\n".join(
        ["", f"# Dialogues: {len(kind.talks)}. How they ended: {ends}.", "[[customers]]", *rows, ""]
    )


def _text(text: str) -> str:
    return toml_value(text.strip() or "-")
