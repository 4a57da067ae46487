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

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from simulator.cases.files import plain_suffix, read_text
from simulator.core.errors import CaseFileError
from simulator.core.messages import Message, _, encodable, sentences
from simulator.core.templates import read_toml
from simulator.core.types import Answer, Case, Conversation, Language, Turn, User, Utterance
from simulator.storage.run_file import read_run

Scripts = Mapping[str, tuple[str, ...]]
# Where a script was read, its name, and what are to be its lines.
Script = tuple[Message | str, str, Any]
EVERY_CASE = "*"
# Begins the reason for which a replay ended where a line no longer fitted.
DIVERGED: dict[Language, str] = {
    "ja": "前の発言が返事に合わなくなった",
    "en": "the earlier line no longer fitted the answer",
}
ACCEPTED = ".txt, .jsonl or .toml"


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
    """The scripts of a file, by case id: the customer's lines after the question.

    Text: `# case-id`, and below it one line of the customer per line; without such a head the script is for
    every case. JSONL: `{"id": "case-id", "lines": ["...", "..."]}`. TOML: `"case-id" = ["...", "..."]`.
    Raises CaseFileError, which names the place and where the format stands.
    """
    try:
        return _scripts_of(path)
    except CaseFileError as error:
        raise CaseFileError(sentences(error.message, _("See docs/personas.md, A script."))) from None


def _scripts_of(path: Path) -> dict[str, tuple[str, ...]]:
    readers: dict[str, Callable[[Path], Iterable[Script]]] = {
        ".txt": _from_text,
        ".jsonl": _from_records,
        ".toml": lambda path: ((str(path), name, lines) for name, lines in read_toml(path).items()),
    }
    reader = readers.get(plain_suffix(path))
    if reader is None:
        msg = _(
            "{path}: '{suffix}' is not a kind of script; save it as {kinds}.",
            path=path,
            suffix=path.suffix or path.name,
            kinds=ACCEPTED,
        )
        raise CaseFileError(msg)
    scripts: dict[str, tuple[str, ...]] = {}
    for where, name, lines in reader(path):
        if name in scripts:
            msg = _("{where}: '{name}' has a script already; give every case one.", where=where, name=name)
            raise CaseFileError(msg)
        if not isinstance(lines, list) or not lines:
            msg = _("{where}: '{name}' has no lines; give at least one.", where=where, name=name)
            raise CaseFileError(msg)
        for line in lines:
            if not isinstance(line, str) or not line.strip() or encodable(line) != line:
                msg = _("{where}: '{name}' has a line that is empty or not text.", where=where, name=name)
                raise CaseFileError(msg)
        scripts[name] = tuple(line.strip() for line in lines)
    return scripts


def script_of(scripts: Scripts, conversation: Conversation) -> tuple[str, ...] | None:
    """The script of a conversation: its own, its case's, or the one for every case; None without any."""
    names = (conversation.id, conversation.case.id, EVERY_CASE)
    return next((scripts[name] for name in names if name in scripts), None)


def unused_scripts(scripts: Scripts, plan: Iterable[Conversation]) -> tuple[str, ...]:
    """The names of scripts without a planned conversation: misspelt, or of cases that are left out."""
    planned = {EVERY_CASE}.union(*({conversation.id, conversation.case.id} for conversation in plan))
    return tuple(name for name in scripts if name not in planned)


def _from_text(path: Path) -> Iterator[Script]:
    where: Message | str = str(path)
    name = EVERY_CASE
    lines: list[str] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.startswith("# "):
            if lines or name != EVERY_CASE:
                yield where, name, lines
            where, name, lines = _("{path}, line {line:d}", path=path, line=number), line[2:].strip(), []
        elif line.strip():
            lines.append(line.strip())
    yield where, name, lines


def _from_records(path: Path) -> Iterator[Script]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        where = _("{path}, line {line:d}", path=path, line=number)
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            msg = _("{where}: not valid JSON ({error}); write one script per line.", where=where, error=error)
            raise CaseFileError(msg) from None
        if not isinstance(record, dict) or not isinstance(record.get("id"), str):
            msg = _('{where}: not a script; write {{"id": "case-id", "lines": ["...", "..."]}}.', where=where)
            raise CaseFileError(msg)
        yield where, record["id"], record.get("lines")
