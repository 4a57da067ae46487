"""Customers with a script, or with the lines of an earlier run; afterwards another customer may go on.

A replay says the same lines to a repaired bot, so that both versions are compared on the same questions. But
a line answers what the bot said before: "Yes, the 1 giga plan" makes no sense where the new bot did not ask
for the plan. So where the bot answers in other words than then, whoever plays the customer is shown the line
before it is said again, and says whether it still fits (`Follower`). The first that does not is marked, and
the customer goes on alone. Without this a repaired bot would be graded for its answers to lines
that nobody would have said to it.

A script is what follows the case's question, in order. It is found by the id of a conversation, by the id of
its case, or under `*`, which stands for every case.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from simulator.cases.files import DELIMITERS, OBJECTS, plain_suffix, read_text
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, sentences
from simulator.core.types import Answer, Case, Conversation, Language, Turn, User, Utterance
from simulator.storage.run_file import read_run

Scripts = Mapping[str, tuple[str, ...]]
EVERY_CASE = "*"
# Files of questions, whose rows nobody would say.
_TABLES = OBJECTS | DELIMITERS.keys() - {".txt"}
# Begins the reason for which a replay ended where a line no longer fitted.
DIVERGED: dict[Language, str] = {
    "ja": "前の発言が返事に合わなくなった",
    "en": "the earlier line no longer fitted the answer",
}


class MixedUser:
    """Says its lines in order; then another customer goes on, or the conversation ends."""

    def __init__(self, lines: Sequence[str] = (), then: User | None = None) -> None:
        """`lines` follow the first, which is the case's question when it is asked for."""
        self.lines, self.then = tuple(lines), then

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line of the script; after the last one that of `then`, or leaving."""
        if len(turns) > len(self.lines):
            if self.then is not None:
                return await self.then(case, turns)
            return Utterance(next="satisfied", reason="end of script")
        return Utterance(text=self.lines[len(turns) - 1] if turns else case.question)


class Follower(Protocol):
    """Who plays a customer, alone or after the lines of an earlier run."""

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line."""
        ...

    async def follow(self, case: Case, turns: tuple[Turn, ...], line: str, before: Answer) -> Utterance:
        """`line`, which replied to the answer `before`, if it fits the last answer as well.

        Else what this customer does instead, marked `diverged`.
        """
        ...


class ReplayUser:
    """Says the lines of an earlier run as long as they still fit what the bot says now.

    One fits where the bot says word for word what it said then; else the customer is asked. The first line
    that does not is marked: there the customer goes on alone.
    """

    def __init__(self, earlier: Sequence[Turn], customer: Follower) -> None:
        """`earlier` are all turns of the conversation that is replayed."""
        self.earlier, self.customer = earlier, customer

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, as it was said or as somebody says it now."""
        if any(turn.diverged for turn in turns):
            return await self.customer(case, turns)
        if len(turns) == len(self.earlier):
            return Utterance(next="over", reason="end of script")
        said = self.earlier[len(turns)].user
        if not turns:
            return Utterance(text=said)
        before = self.earlier[len(turns) - 1].answer
        if before.text and before.text == turns[-1].answer.text:
            return Utterance(text=said, reaction=self.earlier[len(turns)].reaction)
        line = await self.customer.follow(case, turns, said, before)
        if not line.diverged or line.next == "stay":
            return line
        why = DIVERGED[case.language]
        return line.model_copy(update={"reason": " / ".join(filter(None, (why, line.reason)))})


def turns_of_run(path: Path) -> dict[str, tuple[Turn, ...]]:
    """The turns of each conversation of a run that has any, by conversation id (`persona/case#repeat`)."""
    conversations = read_run(path).conversations
    return {conversation.id: conversation.turns for conversation in conversations if conversation.turns}


def read_scripts(path: Path) -> dict[str, tuple[str, ...]]:
    """The scripts of a text file, by case id: the customer's lines after the question.

    `# case-id`, and below it one line of the customer per line; lines before the first such head are for
    every case. Raises CaseFileError, which names the place and where the format stands.
    """
    try:
        return _scripts_of(path)
    except CaseFileError as error:
        raise CaseFileError(sentences(error.message, _("See docs/personas.md, A script."))) from None


def _scripts_of(path: Path) -> dict[str, tuple[str, ...]]:
    if plain_suffix(path) in _TABLES:
        msg = _(
            "{path}: a script is plain text, a line of the customer each; --cases reads tables.", path=path
        )
        raise CaseFileError(msg)
    scripts: dict[str, list[str]] = {}
    name = EVERY_CASE
    for number, line in enumerate(map(str.strip, read_text(path).split("\n")), 1):
        if line.startswith("# "):
            name = line[2:].strip()
            if name in scripts:
                where = _("{path}, line {line:d}", path=path, line=number)
                msg = _(
                    "{where}: '{name}' has a script already; give every case one.", where=where, name=name
                )
                raise CaseFileError(msg)
            scripts[name] = []
        elif line:
            scripts.setdefault(name, []).append(line)
    for name, lines in scripts.items():
        if not lines:
            raise CaseFileError(
                _("{where}: '{name}' has no lines; give at least one.", where=path, name=name)
            )
    return {name: tuple(lines) for name, lines in scripts.items()}


def script_of(scripts: Scripts, conversation: Conversation) -> tuple[str, ...] | None:
    """The script of a conversation: its own, its case's, or the one for every case; None without any."""
    names = (conversation.id, conversation.case.id, EVERY_CASE)
    return next((scripts[name] for name in names if name in scripts), None)


def unused_scripts(scripts: Scripts, plan: Iterable[Conversation]) -> tuple[str, ...]:
    """The names of scripts without a planned conversation: misspelt, or of cases that are left out."""
    planned = {EVERY_CASE}.union(*({conversation.id, conversation.case.id} for conversation in plan))
    return tuple(name for name in scripts if name not in planned)
