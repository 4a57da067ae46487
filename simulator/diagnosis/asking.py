"""What is asked about red turns: the bot once more, in the article's own words; or a model, for the cause.

How the bot searches then tells another spelling from a failing search. The judge's model names a cause from
the evidence that the rules have, once per run. What a rule proves is not asked. A verdict that cannot be had
leaves the rule's cause, and says so.

`fixes --ask-again` (`ask_again`): for each article that red turns of a case missed, at most 20 of them,

1. the bot is asked with the article's first 200 characters, in a session of its own;
2. if the article comes now, up to three likely pairs of words are tried, one at a time, in the customer's own
   question: the pair that alone brings the article is the one to register;
3. the checks are stored in the run's notes, and never asked again.

That costs one to four questions to the bot for each article, and no model.

`fixes --ask-judge` (`ask_judge`): one call to the judge's model for each red turn whose cause is only likely.
It sees the turn, the retrieved passages, the nearest other articles and what ids have shown
(judges/_cause.toml). Verdicts are stored as they come: what was paid for survives a spent budget and a kill.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simulator.core import shelves
from simulator.core.concurrency import for_each
from simulator.core.errors import HOPELESS, InputError, ModelFailure
from simulator.core.messages import _, encodable
from simulator.core.replies import Reply, Text
from simulator.core.roles import GRADING, endpoints
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES, Prompts, fingerprint, quote, quote_lines, request, stable_int
from simulator.core.types import Answer, Bot, Query, Results
from simulator.diagnosis.evidence import (
    JudgedCause,
    RedTurnEvidence,
    RetrievalCheck,
    RootCause,
    article_of,
    is_of,
)
from simulator.diagnosis.root_cause import (
    JUDGED_NOTE,
    NOTE,
    Articles,
    articles_of,
    as_note,
    root_causes,
    stored_checks,
    stored_judgements,
    turn_evidence,
)
from simulator.grading.rubric import LONGEST_MATERIAL, earlier_lines, within
from simulator.models.by_role import Models
from simulator.models.pricing import JUDGE, BudgetSpent, Ledger
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask
from simulator.stats.figures import Summary
from simulator.stats.red import LAPSES
from simulator.stats.summary import figures_of
from simulator.storage.run_file import RunFile, add_note, read_run
from simulator.text.spelling import spelling_pairs

if TYPE_CHECKING:
    from simulator.models.client import Model

At = tuple[str, int]
# Likely pairs of words that are tried for an article, after one question in its own words. A bot's answer can
# take half a minute, and the likeliest pairs come first.
MOST_PAIRS = 3
# As many characters of an article are asked: its title, and what it is about.
BEGINNING = 200


@dataclass(frozen=True)
class RetriedSearches:
    """Turns of one case that missed the same articles; `look` is the gravest, whose words are tried."""

    look: RedTurnEvidence
    turns: tuple[At, ...]


async def ask_again(path: Path, settings: Settings, *, limit: int = 20) -> Mapping[At, RetrievalCheck]:
    """Asks the bot of a run about at most `limit` missed articles, and stores the checks in the run.

    `settings` are the run's own. Earlier checks are not repeated; they are returned with the new ones. The
    note is written once, when all are there: an interrupted round is asked again as a whole.
    """
    results = read_run(path)
    summary = figures_of(results, settings)
    known = stored_checks(results)
    # Asked once per run: with new articles or judges only what is new is asked.
    unasked = [
        each
        for each in missed_searches(results, summary, articles_of(settings))
        if not set(each.turns) <= set(known)
    ]
    if not unasked:
        return known
    context = RunContext(
        settings, endpoints(settings, strict=False), results.personas, Ledger.of(settings, results)
    )
    # As in a run: what is wrong with the adapter shows here, and whatever was opened is closed.
    bot: Bot | None = None
    try:
        bot = await context.bot(results.conversations)
        known = known | await check_again(bot, unasked[:limit], settings.timeout)
    finally:
        await context.close(bot)
    add_note(path, NOTE, json.dumps(as_note(known), ensure_ascii=False))
    return known


async def check_again(
    bot: Bot, unasked: Iterable[RetriedSearches], timeout: float
) -> dict[At, RetrievalCheck]:
    """The checks of these articles, by conversation and turn; the bot is asked one question at a time."""
    known: dict[At, RetrievalCheck] = {}
    for each in unasked:
        known |= dict.fromkeys(each.turns, await _ask(bot, each.look, timeout))
    return known


def missed_searches(
    results: Results, summary: Summary, articles: Articles | None
) -> tuple[RetriedSearches, ...]:
    """The red turns whose needed article is in the knowledge but was not retrieved, by case and article.

    Gravest first, so that a limit leaves out the least. A cut article is left out: the question found it, and
    how it is cut is known without asking.
    """
    groups: dict[tuple[str, ...], list[RedTurnEvidence]] = {}
    place = {(red.conversation, red.turn): at for at, red in enumerate(summary.reddest)}
    looks = turn_evidence(results, summary, articles=articles)
    for look in sorted(looks, key=lambda look: place[look.red.conversation, look.red.turn]):
        # Only where the article is known to be there: else its words could not be asked.
        if look.need.place != "not_retrieved" or look.need.cut:
            continue
        if not look.customer_fault and not look.red.failure:
            groups.setdefault((look.case.id, *look.need.articles), []).append(look)
    return tuple(
        RetriedSearches(first[0], tuple((each.red.conversation, each.red.turn) for each in first))
        for first in groups.values()
    )


def own_words(texts: Iterable[str]) -> str:
    """A question in an article's own words: how it begins, which is its title and what it is about."""
    return " ".join(" ".join(texts).split())[:BEGINNING]


async def _ask(bot: Bot, look: RedTurnEvidence, timeout: float) -> RetrievalCheck:
    """What the bot retrieves in the article's own words, and the pair of words that alone is enough."""
    texts = look.corpus.texts(look.need.articles) if look.corpus else ()
    question = own_words(texts)
    answer = await ask(bot, _query(look, question, 0), timeout)
    hit = _hit(answer, look)
    check = RetrievalCheck(words=question, hit=hit, ids=tuple(passage.id for passage in answer.passages))
    # Not found in its own words either, or nobody knows: no pair of words can explain that.
    if not hit:
        return check
    for number, pair in enumerate(spelling_pairs(look.words, texts)[:MOST_PAIRS], 1):
        replaced = look.words.replace(pair.asked, pair.written)
        if _hit(await ask(bot, _query(look, replaced, number), timeout), look):
            return check.model_copy(update={"pair": (pair.asked, pair.written)})
    return check


def _query(look: RedTurnEvidence, text: str, number: int) -> Query:
    """A question in a session of its own: a bot with a memory must not know the one before."""
    session = f"{look.red.conversation}/{look.red.turn}/again{number}"
    return Query(text=text, session=session, case=look.case.id, language=look.language)


def _hit(answer: Answer, look: RedTurnEvidence) -> bool | None:
    """Whether the needed article came; None when the bot failed or does not show its passages."""
    if answer.error or not answer.shows_passages:
        return None
    articles = look.need.articles
    return any(is_of(passage, article, look.corpus) for passage in answer.passages for article in articles)


# What the calls are counted under, beside the judges: `usage` and the cost of a run have a row of that name.
NAME = "cause"
# Articles beside the retrieved ones that a model is shown.
NEAREST = 4
# The texts that judges/_cause.toml has in both languages, with the variables of each.
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

    reason: Text
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
        # Verdicts of another prompt or model are told apart by this.
        texts = (self.prompts.text(language, key) for language in LANGUAGES for key in ("system", "nothing"))
        self.rubric = fingerprint(*texts, model.endpoint.model)

    async def __call__(self, look: RedTurnEvidence) -> JudgedCause:
        """The cause of a turn, or why there is none. Raises AccessDenied, Outage and BudgetSpent.

        Any other failure of the model costs this turn alone.
        """
        JUDGE.set(NAME)
        try:
            reply = await self.model.ask(
                self.messages(look),
                CauseReply,
                self.prompts.again(look.language),
                seed=stable_int(self.seed, look.red.conversation, look.red.turn),
            )
        except HOPELESS:
            raise
        except ModelFailure as error:
            return JudgedCause(cause=None, reason=" ".join(str(encodable(str(error))).split()))
        reason = " ".join(str(encodable(reply.reason)).split())
        return JudgedCause(cause=reply.cause, reason=reason, rubric=self.rubric)

    def messages(self, look: RedTurnEvidence) -> list[dict[str, str]]:
        """The request: what never changes first, then the material of the turn, quoted as data."""
        language, text = look.language, self.prompts.text
        nothing = text(language, "nothing")
        # Cut by whole passages, as judges have them.
        passages, _unused = within(look.turn.answer.passages, LONGEST_MATERIAL)
        articles, _unused = within(look.nearest(NEAREST), LONGEST_MATERIAL)
        history = earlier_lines(look.context)
        references = look.context.references or look.context.case_references
        parts = [look.asked, look.said, look.red.reason, *references]
        # The tags' code depends on all that is quoted, so that no answer and no article can forge one.
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
        """What ids, the case and the bot asked again have shown: facts that a model need not guess at."""
        language, text = look.language, self.prompts.text
        if look.answerable is not None:
            yield text(language, "answerable" if look.answerable else "unanswerable")
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

    async def judged(look: RedTurnEvidence) -> None:
        found[look.red.conversation, look.red.turn] = await judge(look)
        keep(found)

    # What came before the budget was spent is returned with why it ended.
    try:
        await for_each(looks, judged, at_once)
    except BudgetSpent as error:
        return found, error
    return found, None


def open_turns(
    looks: Iterable[RedTurnEvidence], causes: Iterable[RootCause], known: Mapping[At, JudgedCause]
) -> list[RedTurnEvidence]:
    """The turns whose cause no rule proves and no model has named yet.

    A turn without an answer, of a spoilt customer, of a broken rule or of a lapse has its cause by what it
    is.
    """
    likely = {
        (each.conversation, each.turn)
        for each in causes
        if not each.sure and each.cause not in {"no_answer", "customer", "forbidden", *LAPSES}
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
        # The same evidence that reports go by, so that what is open is what they call likely.
        articles = articles or articles_of(settings)
        checks = stored_checks(results)
        looks = list(turn_evidence(results, summary, articles=articles, found=checks))
        causes = root_causes(results, summary, articles=articles, found=checks)
        # Each call stands in the run file before its reply is used: the ledger survives a kill.
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
