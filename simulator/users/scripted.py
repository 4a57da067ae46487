"""Customers with a script, or with the lines of an earlier run; afterwards another customer may go on.

A script is what follows the case's question, in order. It is found by the id of a conversation, by the id of
its case, or under `*`, which stands for every case.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.core.errors import CaseFileError
from simulator.core.messages import Message, _, encodable
from simulator.core.templates import read_toml
from simulator.core.types import Case, Conversation, Turn, User, Utterance
from simulator.data.files import plain_suffix, read_text
from simulator.storage.run_file import read_run

Scripts = Mapping[str, tuple[str, ...]]
# Where a script was read, its name, and what are to be its lines.
Script = tuple[Message | str, str, Any]
# A line as it is, or with what was meant by it.
Line = str | Utterance
EVERY_CASE = "*"
ACCEPTED = ".txt, .jsonl or .toml"


class MixedUser:
    """Says its lines in order; then another customer goes on, or the conversation ends."""

    def __init__(self, lines: Sequence[Line] = (), then: User | None = None, *, opening: Line = "") -> None:
        """`lines` follow the first; that is `opening`, or the case's question when it is asked for."""
        self.lines, self.then, self.opening = tuple(lines), then, opening

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line of the script; after the last one that of `then`, or leaving."""
        if len(turns) > len(self.lines):
            if self.then is not None:
                return await self.then(case, turns)
            return Utterance(next="satisfied", reason="end of script")
        line = self.lines[len(turns) - 1] if turns else self.opening or case.question
        return line if isinstance(line, Utterance) else Utterance(text=line)


def lines_of_run(path: Path) -> dict[str, tuple[Utterance, ...]]:
    """The customer's lines in each conversation of a run, by conversation id (`persona/case#repeat`).

    Lines are as the bot read them; mistyped ones also have the clean text. Conversations without a turn are
    left out.
    """
    return {
        conversation.id: tuple(Utterance(text=turn.user, clean=turn.clean) for turn in conversation.turns)
        for conversation in read_run(path).conversations
        if conversation.turns
    }


def read_scripts(path: Path) -> dict[str, tuple[str, ...]]:
    """The scripts of a file, by case id: the customer's lines after the question.

    Text: `# case-id`, and below it one line of the customer per line; without such a head the script is for
    every case. JSONL: `{"id": "case-id", "lines": ["...", "..."]}`. TOML: `"case-id" = ["...", "..."]`.
    """
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
