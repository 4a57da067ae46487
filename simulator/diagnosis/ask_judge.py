"""Asks the judge's model what caused each red turn, from the evidence that the rules have; once per run.

What a rule proves is not asked. A verdict that cannot be had leaves the rule's cause, and says so.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simulator.core import shelves
from simulator.core.concurrency import for_each
from simulator.core.errors import AccessDenied, InputError, ModelFailure
from simulator.core.messages import _, encodable
from simulator.core.replies import Reply
from simulator.core.roles import GRADING, endpoints
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES, Prompts, fingerprint, quote, quote_lines, request, stable_int
from simulator.diagnosis.evidence import JudgedCause, RedTurnEvidence, RootCause, article_of
from simulator.diagnosis.root_cause import (
    JUDGED_NOTE,
    Articles,
    articles_of,
    as_note,
    root_causes,
    stored_checks,
    stored_judgements,
    turn_evidence,
)
from simulator.grading.rubric import LONGEST_MATERIAL, earlier_lines, within
from simulator.models import Models
from simulator.models.pricing import JUDGE, BudgetSpent, Ledger
from simulator.stats.summary import figures_of
from simulator.storage.run_file import RunFile

if TYPE_CHECKING:
    from simulator.models.client import Model

At = tuple[str, int]
# What the calls are counted under, beside the judges.
NAME = "cause"
# Articles beside the retrieved ones that a model is shown.
NEAREST = 4
_VARIABLES: dict[str, set[str]] = {
    "system": set(),
    "material": {
        "history", "question", "reference", "answer", "verdict", "passages", "articles", "findings",
    },
    "again": {"problem"},
    "nothing": set(),
    "answerable": set(),
    "unanswerable": set(),
    "needed": {"ids"},
    "came": {"ids"},
    "missed": {"ids"},
    "found_again": set(),
    "missed_again": set(),
    "unknown": set(),
}  # fmt: skip


class CauseReply(Reply):
    """What a model answers with: the reason first."""

    reason: str
    cause: Literal[
        "should_refuse", "should_answer", "invented", "ignored", "knowledge", "outdated", "retrieval",
        "spelling", "misunderstood", "tone", "unclear",
    ]  # fmt: skip


class CauseJudge:
    """A model that is asked for the causes of red turns."""

    def __init__(self, model: "Model", seed: int) -> None:
        """Reads the prompt; asks nothing yet."""
        self.model, self.seed = model, seed
        self.prompts = Prompts(shelves.JUDGES / "_cause.toml", _VARIABLES)
        texts = (self.prompts.text(language, key) for language in LANGUAGES for key in ("system", "nothing"))
        self.rubric = fingerprint(*texts, model.endpoint.model)

    async def __call__(self, look: RedTurnEvidence) -> JudgedCause:
        """The cause of a turn, or why there is none. Raises AccessDenied and BudgetSpent."""
        JUDGE.set(NAME)
        try:
            reply = await self.model.ask(
                self.messages(look),
                CauseReply,
                self.prompts.again(look.language),
                seed=stable_int(self.seed, look.red.conversation, look.red.turn),
            )
        except AccessDenied:
            raise
        except ModelFailure as error:
            return JudgedCause(cause=None, reason=" ".join(str(encodable(str(error))).split()))
        reason = " ".join(str(encodable(reply.reason)).split())
        return JudgedCause(cause=reply.cause, reason=reason, rubric=self.rubric)

    def messages(self, look: RedTurnEvidence) -> list[dict[str, str]]:
        """The request: what never changes first, then the material of the turn, quoted as data."""
        language, text = look.language, self.prompts.text
        nothing = text(language, "nothing")
        passages, _unused = within(look.turn.answer.passages, LONGEST_MATERIAL)
        articles, _unused = within(look.nearest(NEAREST), LONGEST_MATERIAL)
        history = earlier_lines(look.context)
        references = look.context.references or look.context.case_references
        parts = [look.asked, look.said, look.red.reason, *references]
        seal = fingerprint(*parts, *(p.text for p in (*passages, *articles)), *(t for _tag, t in history))
        reference = [quote("reference", each, seal) for each in references]
        found = [quote("passage", f"[{each.id}] {each.text}", seal) for each in passages]
        near = [quote("article", f"[{each.id}] {each.text}", seal) for each in articles]
        material = text(
            language,
            "material",
            history=quote_lines(history, seal) or nothing,
            question=quote("question", look.asked, seal),
            reference="\n".join(reference) or nothing,
            answer=quote("answer", look.said, seal),
            verdict=quote("verdict", look.red.reason, seal),
            passages="\n".join(found) or nothing,
            articles="\n".join(near) or nothing,
            findings=quote("findings", "\n".join(self._findings(look)) or nothing, seal),
        )
        return request(text(language, "system"), material)

    def _findings(self, look: RedTurnEvidence) -> Iterable[str]:
        """What ids, the case and the bot asked again have shown."""
        language, text = look.language, self.prompts.text
        if look.case.answerable is not None:
            yield text(language, "answerable" if look.case.answerable else "unanswerable")
        came = {article_of(passage.id) for passage in look.turn.answer.passages}
        needed = [article_of(each) for each in look.case.passages] if look.turn.index == 1 else []
        for key, ids in (
            ("needed", needed),
            ("came", [each for each in needed if each in came]),
            ("missed", [each for each in needed if each not in came]),
        ):
            if ids:
                yield text(language, key, ids=", ".join(dict.fromkeys(ids)))
        if look.check and look.check.hit is not None:
            yield text(language, "found_again" if look.check.hit else "missed_again")
        if look.corpus is None:
            yield text(language, "unknown")


async def judge_causes(
    judge: CauseJudge,
    looks: Sequence[RedTurnEvidence],
    at_once: int,
    keep: Callable[[Mapping[At, JudgedCause]], None] = lambda _: None,
) -> tuple[dict[At, JudgedCause], BudgetSpent | None]:
    """The verdicts on these turns, and why not all of them were asked; what was paid for is among them.

    `keep` gets all verdicts so far whenever one has come, so that none is lost to what ends the others.
    """
    found: dict[At, JudgedCause] = {}

    async def ask(look: RedTurnEvidence) -> None:
        found[look.red.conversation, look.red.turn] = await judge(look)
        keep(found)

    try:
        await for_each(looks, ask, at_once)
    except BudgetSpent as error:
        return found, error
    return found, None


def open_turns(
    looks: Iterable[RedTurnEvidence], causes: Iterable[RootCause], known: Mapping[At, JudgedCause]
) -> list[RedTurnEvidence]:
    """The turns whose cause no rule proves and no model has named yet."""
    likely = {
        (each.conversation, each.turn)
        for each in causes
        if not each.sure and each.cause not in {"no_answer", "customer", "forbidden"}
    }
    named = {at for at, verdict in known.items() if verdict.cause}
    return [each for each in looks if (each.red.conversation, each.red.turn) in likely - named]


async def ask_judge(path: Path, settings: Settings, articles: Articles | None = None) -> tuple[int, int]:
    """Asks about the red turns of a run, and stores the verdicts in it.

    Returns how many were asked about, and for how many no cause could be had.

    `settings` are the run's own. Raises InputError without a model, and BudgetSpent when the budget does not
    do for all of them; what came before is kept.
    """
    with contextlib.closing(RunFile.reopen(path)) as file:
        results = file.results()
        ledger = Ledger.of(settings, results)
        models = Models(endpoints(settings), settings, ledger)
        model = models.role("judge", temperature=settings.judge_temperature, priority=GRADING)
        if model is None:
            raise InputError(_("--ask-judge: there is no model to ask (it was judged by counting)."))
        summary, known = figures_of(results, settings), stored_judgements(results)
        articles = articles or articles_of(settings)
        checks = stored_checks(results)
        looks = list(turn_evidence(results, summary, articles=articles, found=checks))
        causes = root_causes(results, summary, articles=articles, found=checks)
        ledger.record = file.save_call

        def keep(verdicts: Mapping[At, JudgedCause]) -> None:
            file.save_note(JUDGED_NOTE, json.dumps(as_note({**known, **verdicts}), ensure_ascii=False))
            file.commit()

        try:
            judge = CauseJudge(model, settings.seed)
            open_ones = open_turns(looks, causes, known)
            verdicts, spent = await judge_causes(judge, open_ones, settings.calls, keep)
        finally:
            await models.close()
        if spent:
            raise spent
        return len(verdicts), sum(verdict.cause is None for verdict in verdicts.values())
