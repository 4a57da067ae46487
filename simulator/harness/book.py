"""The run file of an evaluation by lm_eval: made when the first requests are there, and gone on with later.

Every answer is committed as it arrives, so that nothing is asked twice after an interruption. lm_eval's own
cache is not used for it: it knows neither a dialogue nor a failure, and outlives the bot it was made with.
"""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from simulator.core.errors import RunFileError
from simulator.core.settings import Settings
from simulator.core.types import Answer, Conversation, Ended, Score, Status, Utterance
from simulator.harness.naming import NOTE
from simulator.harness.session import Session
from simulator.runner.run import create_run
from simulator.storage.run_file import RunFile


class RunBook:
    """Writes one run."""

    def __init__(self, session: Session, settings: Settings, asked: dict[str, Any]) -> None:
        """`settings` are stored with the run; `asked` says what is needed to go on with it."""
        self.session, self.settings, self.asked = session, settings, asked
        self.file: RunFile | None = None
        self._pending: dict[str, tuple[int, Utterance]] = {}
        self._known: dict[str, Conversation] = {}
        self._started = time.monotonic()

    def go_on(self, path: Path) -> None:
        """With a run that was interrupted."""
        self.file = RunFile.reopen(path)
        self.file.reopened()
        self._pending = self.file.unanswered()
        self._known = {talk.id: talk for talk in self.file.talks()}
        self.session.ledger.record = self.file.called

    @property
    def path(self) -> Path | None:
        """The run file, as soon as there is one."""
        return self.file.path if self.file else None

    def begun(self, talks: Sequence[Conversation]) -> list[Conversation]:
        """The conversations as far as they have come; raises RunFileError when the task has changed since."""
        new = [talk for talk in talks if talk.id not in self._known]
        if self.file is None:
            self._create(tuple(new))
        elif new:
            self.file.also_planned(new)
        self._known |= {talk.id: talk for talk in new}
        for talk in talks:
            if self._known[talk.id].case != talk.case:
                msg = f"{talk.case.id} is not what it was when this run began: its task changed. Begin anew."
                raise RunFileError(msg)
        return [self._known[talk.id] for talk in talks]

    def _create(self, plan: tuple[Conversation, ...]) -> None:
        present = {talk.persona for talk in plan}
        personas = tuple(each for each in self.session.whole.personas.values() if each.id in present)
        self.file = create_run(self.settings, self.session.whole, plan, personas)
        self.file.noted(NOTE, json.dumps(self.asked, ensure_ascii=False))
        self.session.ledger.record = self.file.called

    @property
    def _open(self) -> RunFile:
        if self.file is None:
            msg = "no conversation has begun."
            raise RunFileError(msg)
        return self.file

    @property
    def name(self) -> str:
        """What conversations of this run are called where a bot keeps them apart."""
        return self._open.path.parent.name

    def pending(self, talk: Conversation) -> Utterance | None:
        """A line that the bot had not answered yet."""
        turn, line = self._pending.get(talk.id, (0, None))
        return line if turn == len(talk.turns) + 1 else None

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line of a turn."""
        self._open.said(conversation, turn, utterance)

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer of a turn."""
        self._open.answered(conversation, turn, answer)

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Why a conversation stopped."""
        self._open.ended(conversation, ended, reason, closing)

    def graded(self, scores: Iterable[Score], measured: dict[str, Any]) -> None:
        """The grades of all documents, and what lm_eval made of them."""
        self._open.graded(scores)
        self._open.noted(NOTE, json.dumps({**self.asked, **measured}, ensure_ascii=False))

    def close(self, status: Status) -> None:
        """How this sitting ended; nothing when nothing had begun."""
        if self.file is not None:
            self.file.settle()
            self.file.finish(status, time.monotonic() - self._started)
            self.file.close()
