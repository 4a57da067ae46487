"""Customers with the script of their case, or with the lines of an earlier run.

A replay says the same lines to a repaired bot, so that both versions are compared on the same questions. But
a line answers what the bot said before: "Yes, the 1 giga plan" makes no sense where the new bot did not ask
for the plan. So the replay watches whether each new answer is of the same kind as the old one (`still_fits`),
marks the first line where it is not, and does then what --replay-diverged says:

    old: 月額990円です。      new: 月額は990円になります。            the next line fits
    old: 月額990円です。      new: 申し訳ございませんが、分かりかねます。    it does not: a refusal
    old: ご契約のプランはお分かりですか？  new: 月額990円です。          it does not: no question any more

Without this a repaired bot would be graded for its answers to lines that nobody would have said to it.
"""

from collections.abc import Sequence
from pathlib import Path

from simulator.core.types import Answer, Case, Language, Turn, User, Utterance
from simulator.storage.run_file import read_run
from simulator.text.acts import ends_with_question, is_refusal, passes_on
from simulator.text.evidence import best_agreement

# From this agreement (0..1) on, two answers are about the same matter. Low, since the same thing is said in
# many words, and a wrong "no longer fits" costs the rest of the replay.
SAME_MATTER = 0.2
# Begins the reason for which a replay ended where a line no longer fitted.
DIVERGED: dict[Language, str] = {
    "ja": "前の発言が返事に合わなくなった",
    "en": "the earlier line no longer fitted the answer",
}


class ScriptedUser:
    """Says its lines in order, then leaves."""

    def __init__(self, lines: Sequence[str] = ()) -> None:
        """`lines` follow the first, which is the case's question when it is asked for."""
        self.lines = tuple(lines)

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line of the script; after the last one, leaving."""
        if len(turns) > len(self.lines):
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
            line = Utterance(text=said.user, clean=said.clean)
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
