"""The judge's model is asked about a run's red answers, when its grading is over.

    ask_about_red       in a run, in `grade` and in a resumed run: whatever has no verdict yet
      is it one fault?    answers of one question, each with the first of every fault of that question
      is it disputed?     the first of each fault, with the answers of earlier runs that people disputed
      what caused it?     the first of each fault, the gravest first

Answers with equal texts are one without a question. What ids and marks prove of a cause (results/causes.py)
is not asked about. Each verdict is stored as it comes, under the key of its fault, so that a run which was
killed pays only for what is missing. A call that fails costs nothing but its verdict; why not all could be
asked is noted in the run, and `grade RUN` asks for the rest.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from simulator.core.concurrency import for_each
from simulator.core.errors import HOPELESS, InputError
from simulator.core.messages import _, say
from simulator.core.roles import JUDGE_TEMPERATURE
from simulator.core.settings import Settings
from simulator.core.types import Dispute, Language, Results
from simulator.grading.cause import NEAREST, CauseJudge
from simulator.grading.same_fault import MOST_DISPUTES, MOST_FAULTS, FaultyAnswer, SameFaultJudge
from simulator.models.by_role import Models
from simulator.models.client import Model
from simulator.models.limiter import GRADING
from simulator.models.pricing import BudgetSpent
from simulator.results.articles import Shelf
from simulator.results.causes import NOTE, STOPPED_NOTE, RedAnswer, red_answers, searched, stored_verdicts
from simulator.results.disputes import with_disputes
from simulator.results.figures import Summary
from simulator.results.knowledge import articles_of
from simulator.results.red_answers import MAX_QUOTED
from simulator.results.same_faults import DISPUTED, SAME, kind_of, pair_note
from simulator.results.summary import figures_of
from simulator.runner.context import RunContext
from simulator.sheets.model import answer_key
from simulator.storage.results import select_turns
from simulator.storage.run_file import RunFile


class QuestionFaults(NamedTuple):
    """The red answers of a question by key, the gravest first, and the disputed ones, the newest first."""

    language: Language
    answers: dict[str, FaultyAnswer]
    disputes: tuple[Dispute, ...]


def open_answers(results: Results, summary: Summary, shelf: Shelf, *, again: bool = False) -> list[RedAnswer]:
    """The gravest answer of each fault whose cause is missing, the gravest first.

    With `again` also of those that have one.
    """
    known = {fault for fault, verdict in stored_verdicts(results).items() if verdict.cause and not again}
    rank = {place: at for at, place in enumerate(summary.red.by_turn)}
    answers = (a for a in red_answers(results, summary, shelf) if a.is_open and a.fault not in known)
    firsts: dict[str, RedAnswer] = {}
    for answer in sorted(answers, key=lambda answer: rank[answer.red.key]):
        firsts.setdefault(answer.fault, answer)
    return list(firsts.values())


def faults_by_question(results: Results, summary: Summary) -> list[QuestionFaults]:
    """The red answers of each question; answers to later lines stand by themselves.

    Missing answers are alike by their failure. Of a large run it is the gravest.
    """
    reds = {red.key: red for red in summary.red.answers[:MAX_QUOTED] if not red.failure}
    answers: dict[tuple[str, int], tuple[str, Language, FaultyAnswer]] = {}
    for conversation, turn in select_turns(results, reds):
        case, red = conversation.case, reds[conversation.id, turn.index]
        answer = FaultyAnswer(turn.user, turn.answer.text, red.reason)
        answers[red.key] = answer_key(case, turn), case.language, answer
    questions: dict[str, QuestionFaults] = {}
    for key, language, answer in (answers[place] for place in reds if place in answers):
        if (kind := kind_of(key)) not in questions:
            disputes = [dispute for dispute in results.disputes if kind_of(dispute.key) == kind]
            questions[kind] = QuestionFaults(language, {}, tuple(reversed(disputes))[:MOST_DISPUTES])
        questions[kind].answers.setdefault(key, answer)
    return [faults for faults in questions.values() if len(faults.answers) > 1 or faults.disputes]


async def ask_about_red(file: RunFile, settings: Settings, models: Models, *, again: bool = False) -> None:
    """Asks the judge's model about the run's red answers, and stores what it says.

    Nothing is asked with `causes = "ids"`, or without a model. A spent budget, a refused key or an endpoint
    that is away end it; which of them it was is noted, and the run is as good as before.
    """
    model = models.role("judge", temperature=JUDGE_TEMPERATURE, priority=GRADING)
    if settings.causes != "model" or model is None:
        return
    results = with_disputes(file.results(), file.path)
    summary = figures_of(results, settings)
    if not summary.red.answers:
        return
    stopped = ""
    try:
        await _ask_for_same(file, settings, model, results, summary, again=again)
        if searched(results, summary):
            await _ask_for_causes(file, settings, model, summary, again=again)
    except BudgetSpent:
        stopped = "budget"
    except HOPELESS:
        stopped = "endpoint"
    if stopped or STOPPED_NOTE in results.notes:
        file.save_note(STOPPED_NOTE, json.dumps(stopped))


async def _ask_for_same(
    file: RunFile, settings: Settings, model: Model, results: Results, summary: Summary, *, again: bool
) -> None:
    """Which red answers of a question are one fault, and which faults are disputed."""
    questions = faults_by_question(results, summary)
    if questions:
        n = sum(len(question.answers) for question in questions)
        say(_("Answers to review compared with others to their question, by the judge's model: {n}.", n=n))
    pairs = _Pairs(file, SameFaultJudge(model, settings.seed), {} if again else results.notes)
    await for_each(questions, pairs.compare, settings.calls)


class _Pairs(NamedTuple):
    """Pairs of answers, of which a model says whether they are one fault; `stored` is what it said before."""

    file: RunFile
    judge: SameFaultJudge
    stored: Mapping[str, JsonValue]

    async def compare(self, question: QuestionFaults) -> None:
        """Joins the answers of a question to faults, and compares the first of each with disputed ones."""
        faults: dict[str, list[str]] = {}
        for key, answer in question.answers.items():
            for first in [*faults][:MOST_FAULTS]:
                note = pair_note(SAME, first, key)
                if await self._is_same(note, question.answers[first], answer, question.language):
                    faults[first].append(key)
                    break
            else:
                faults[key] = [key]
        for first, keys in faults.items():
            for dispute in question.disputes:
                disputed = FaultyAnswer(dispute.line, dispute.answer, dispute.objection)
                note, answer = pair_note(DISPUTED, dispute.key, first), question.answers[first]
                is_known = dispute.key in keys
                if is_known or await self._is_same(note, disputed, answer, question.language):
                    break

    async def _is_same(
        self, note: str, first: FaultyAnswer, second: FaultyAnswer, language: Language
    ) -> bool:
        if (stored := self.stored.get(note)) is not None:
            return stored is True
        is_same = await self.judge(first, second, language)
        if is_same is not None:
            self.file.save_note(note, json.dumps(is_same))
            self.file.commit()
        return bool(is_same)


async def _ask_for_causes(
    file: RunFile, settings: Settings, model: Model, summary: Summary, *, again: bool
) -> None:
    """What caused the red answers, of each fault."""
    results = file.results()
    try:
        shelf = articles_of(settings)
    except InputError as error:  # the folder of --knowledge is gone
        say(_("{error} Causes are given without it.", error=error))
        shelf = Shelf(())
    judge, answers = CauseJudge(model, settings.seed), open_answers(results, summary, shelf, again=again)
    if answers:
        say(_("Causes of answers to review, asked of the judge's model: {n}.", n=len(answers)))

    async def ask(answer: RedAnswer) -> None:
        verdict = await judge(answer.material(NEAREST))
        file.save_note(f"{NOTE}{answer.fault}", verdict.model_dump_json(exclude_defaults=True))
        file.commit()

    await for_each(answers, ask, settings.calls)


async def ask_after_run(file: RunFile, context: RunContext) -> None:
    """`ask_about_red` of a run in this process, where a model judges in it."""
    if context.models().get("judge") and context.is_played("judge"):
        await ask_about_red(file, context.settings, context.model_factory)
