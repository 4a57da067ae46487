"""Customers with a script, or with the lines of an earlier run; afterwards another customer may go on.

A replay says the same lines to a repaired bot, so that both versions are compared on the same questions. But
a line answers what the bot said before: "Yes, the 1 giga plan" makes no sense where the new bot did not ask
for the plan. So the replay watches whether each new answer is of the same kind as the old one (`still_fits`),
marks the first line where it is not, and does then what --replay-diverged says:

    old: 月額990円です。      new: 月額は990円になります。            the next line fits
    old: 月額990円です。      new: 申し訳ございませんが、分かりかねます。    it does not: a refusal
    old: ご契約のプランはお分かりですか？  new: 月額990円です。          it does not: no question any more

Without this a repaired bot would be graded for its answers to lines that nobody would have said to it.

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
from simulator.core.types import Answer, Case, Conversation, Language, Turn, User, Utterance
from simulator.data.files import plain_suffix, read_text
from simulator.storage.run_file import read_run
from simulator.text.acts import ends_with_question, is_refusal, passes_on
from simulator.text.evidence import best_agreement

Scripts = Mapping[str, tuple[str, ...]]
# Where a script was read, its name, and what are to be its lines.
Script = tuple[Message | str, str, Any]
EVERY_CASE = "*"
# From this agreement (0..1) on, two answers are about the same matter. Low, since the same thing is said in
# many words, and a wrong "no longer fits" costs the rest of the replay.
SAME_MATTER = 0.2
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


class ReplayUser:
    """Says the lines of an earlier run as long as they still fit what the bot says now.

    The first line that does not is marked. `then` says it, and goes on from there; without it the lines are
    kept all the same, or with `ends` they are over.
    """

    def __init__(self, earlier: Sequence[Turn], then: User | None = None, *, ends: bool = False) -> None:
        """`earlier` are all turns of the conversation that is replayed."""
        self.earlier, self.then, self.ends = earlier, then, ends

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, as it was said or as somebody says it now."""
        at = diverged_at(self.earlier, turns, case.language)
        if at is not None and self.ends:
            return Utterance(next="over", reason=DIVERGED[case.language])
        if at is not None and self.then is not None:
            line = await self.then(case, turns)
            if line.next != "stay" and at == len(turns):
                parts = filter(None, (DIVERGED[case.language], line.reason))
                return line.model_copy(update={"reason": " / ".join(parts)})
        elif len(turns) == len(self.earlier):
            return Utterance(next="over", reason="end of script")
        else:
            said = self.earlier[len(turns)]
            line = Utterance(text=said.user)
        return line.model_copy(update={"diverged": at == len(turns)})


def diverged_at(earlier: Sequence[Turn], turns: Sequence[Turn], language: Language) -> int | None:
    """The first of these turns after whose answer the earlier line no longer fits; None while all do."""
    pairs = zip(earlier[:-1], turns, strict=False)  # what follows the last line is nobody's
    return next((new.index for old, new in pairs if not still_fits(old.answer, new.answer, language)), None)


def still_fits(before: Answer, now: Answer, language: Language) -> bool:
    """Whether a line that replied to one answer also replies to another.

    Both must be of a kind: no answer, a refusal, a person promised, a question to the customer, or a
    statement; and questions and statements of the same matter.
    """
    kinds = {_kind(each, language) for each in (before, now)}
    if len(kinds) > 1 or kinds <= {"nothing", "refusal", "handover"}:
        return len(kinds) == 1
    return best_agreement(now.text, [before.text], language).score >= SAME_MATTER


def _kind(answer: Answer, language: Language) -> str:
    if answer.error is not None or not answer.text.strip():
        return "nothing"
    if passes_on(answer.text, language):
        return "handover"
    if is_refusal(answer.text, language):
        return "refusal"
    return "question" if ends_with_question(answer.text, language) else "statement"


def turns_of_run(path: Path) -> dict[str, tuple[Turn, ...]]:
    """The turns of each conversation of a run that has any, by conversation id (`persona/case#repeat`)."""
    conversations = read_run(path).conversations
    return {conversation.id: conversation.turns for conversation in conversations if conversation.turns}


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
