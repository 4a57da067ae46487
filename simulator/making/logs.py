"""Recorded dialogues as test questions: what customers wanted, how they put it, and who they were like.

Everything is redacted before anything else is done with it: no model and no file sees personal data.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from simulator.core.errors import AccessDenied, ModelFailure
from simulator.core.templates import stable_int
from simulator.core.types import Case, Facts, Language, Message
from simulator.data.cases import read_cases
from simulator.data.values import NO_QUESTION
from simulator.making.acceptance import Acceptance
from simulator.making.asking import Prompts
from simulator.making.forms import Distilled, Speaker, Speakers
from simulator.making.kinds import MADE, Made
from simulator.making.writing import each_of
from simulator.models.client import Model
from simulator.privacy.redactor import Redactor, redacted_case
from simulator.runner.estimate import tokens
from simulator.text.acts import parts

FROM_LOGS = "from-logs"
_GREETING = re.compile(
    r"(?:こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|はじめまして|初めまして|もしもし|すみません|はい"
    r"|(?:よろしく|宜しく)お(?:願い|ねがい)(?:いた)?します"
    r"|hello|hi|hey|good (?:morning|afternoon|evening)|yes|[\s、。,.!！ー〜])+",
    re.IGNORECASE,
)
# Ways to speak that are put before a model at once, and lines of one dialogue.
MOST_MANNERS, MOST_LINES = 80, 40


class Logs:
    """The dialogues of one file, redacted; `counts` says how much of each kind was masked."""

    def __init__(
        self, path: str | Path, language: Language | None = None, patterns: Sequence[str] = ()
    ) -> None:
        """Reads whatever is read as questions with a history, turns, or recorded answers."""
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
        self._taken = Acceptance()

    @property
    def made(self) -> Made:
        """What there is so far."""
        return self._taken.made()

    def by_rule(self) -> Made:
        """The first question of every dialogue as it was put; what it was about is not known."""
        for id_, language, lines in self.dialogues:
            question = _first(lines, language)
            self._taken.consider(
                Case(id=id_, question=question, language=language, goal=question, tags=(MADE, FROM_LOGS))
            )
        return self.made

    async def distil(
        self, model: Model, prompts: Prompts, *, seed: int, calls: int, progress: Callable[[], None]
    ) -> Made:
        """The same with goal, facts and wording, as a model reads the dialogues.

        Raises AccessDenied and BudgetSpent, after which `made` has what was finished before.
        """
        found: dict[str, Distilled | str] = {}

        async def one(dialogue: tuple[str, Language, tuple[Message, ...]]) -> None:
            id_, language, lines = dialogue
            try:
                found[id_] = await model.ask(
                    prompts.distil(lines, language, Distilled), Distilled,
                    lambda problem: prompts.again(language, problem), seed=stable_int(seed, id_),
                )  # fmt: skip
            except AccessDenied:
                raise
            except ModelFailure as error:
                found[id_] = error.failure.kind
            progress()

        try:
            await each_of(self.dialogues, one, calls)
        finally:
            self._take(found)
        return self.made

    async def speakers(
        self, model: Model, prompts: Prompts, names: Sequence[str], seed: int
    ) -> list[Speaker]:
        """The kinds of customers behind the dialogues; none where nothing is known of their ways.

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
        for _, language, lines in self.dialogues:
            messages = prompts.distil(lines, language, Distilled)
            yield language, sum(tokens(message["content"]) for message in messages)

    def _take(self, found: dict[str, Distilled | str]) -> None:
        for id_, language, lines in self.dialogues:
            outcome = found.get(id_)
            if isinstance(outcome, str):
                self._taken.failed(id_, outcome)
            elif outcome is not None:
                if outcome.manner.strip():
                    self.manners[language].append(" ".join(outcome.manner.split()))
                self._taken.consider(_case(id_, language, lines, outcome))


def _case(id_: str, language: Language, lines: Sequence[Message], known: Distilled) -> Case:
    return Case(
        id=id_,
        question=_first(lines, language),
        language=language,
        goal=known.goal.strip() or None,
        facts=Facts(
            knows=tuple(filter(None, map(str.strip, known.knows))),
            unknown=tuple(filter(None, map(str.strip, known.unknown))),
        ),
        tags=(MADE, FROM_LOGS, known.wording),
    )


def _first(lines: Sequence[Message], language: Language) -> str:
    """The first thing that the customer wants: a greeting alone is none, where more is said later."""
    said = [line.content.strip() for line in lines if line.role == "user" and line.content.strip()]
    meant = (text for text in said if any(part.act != "courtesy" for part in parts(text, language)))
    return next((text for text in meant if not _GREETING.fullmatch(text)), said[0])


def _lines(case: Case) -> Iterator[Message]:
    """The whole dialogue in its order, as far as a case keeps it."""
    yield from case.history
    said = [line for line in (case.question, *case.script) if line.strip() and line != NO_QUESTION]
    answers = [answer.text for answer in case.recorded] or ([case.answer] if case.answer else [])
    for at, line in enumerate(said[:MOST_LINES]):
        yield Message(role="user", content=line)
        if at < len(answers) and answers[at].strip():
            yield Message(role="assistant", content=answers[at])
