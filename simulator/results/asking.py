"""The judge's model is asked for the causes of a run's red answers, when its grading is over.

    ask_for_causes      in a run, in `grade` and in a resumed run: whatever has no verdict yet
    open_answers        what it asks about: each distinct answer once, the gravest first

Customers who got the same answer to the same question from the same passages share one call. What ids and
marks prove (results/causes.py) is not asked about. Each verdict is stored as it comes, under the key of
its answer, so that a run which was killed pays only for what is missing. A call that fails costs nothing
but its cause; why not all could be asked is noted in the run, and `grade RUN` asks for the rest.
"""

import json

from simulator.core.concurrency import for_each
from simulator.core.errors import HOPELESS, InputError
from simulator.core.messages import _, say
from simulator.core.roles import JUDGE_TEMPERATURE
from simulator.core.settings import Settings
from simulator.core.types import Results
from simulator.grading.cause import NEAREST, CauseJudge, CauseMaterial, answer_key
from simulator.models.by_role import Models
from simulator.models.limiter import GRADING
from simulator.models.pricing import BudgetSpent
from simulator.results.articles import Shelf
from simulator.results.causes import NOTE, STOPPED_NOTE, red_answers, searched, stored_verdicts
from simulator.results.figures import Summary
from simulator.results.knowledge import articles_of
from simulator.results.summary import figures_of
from simulator.runner.context import RunContext
from simulator.storage.results import without_superseded
from simulator.storage.run_file import RunFile


def open_answers(
    results: Results, summary: Summary, shelf: Shelf, *, again: bool = False
) -> list[CauseMaterial]:
    """The red answers that a model has to be asked about, each once, the gravest first.

    With `again` also those that it was asked about before.
    """
    answered = {} if again else {key for key, verdict in stored_verdicts(results).items() if verdict.cause}
    place = {(red.conversation, red.turn): at for at, red in enumerate(summary.red.answers)}
    first_of_answer: dict[str, tuple[int, CauseMaterial]] = {}
    for answer in red_answers(results, summary, shelf):
        at = place[answer.red.conversation, answer.red.turn]
        if (
            answer.is_open
            and answer.key not in answered
            and at < first_of_answer.get(answer.key, (len(place),))[0]
        ):
            first_of_answer[answer.key] = at, answer.material(NEAREST)
    return [material for _at, material in sorted(first_of_answer.values(), key=lambda placed: placed[0])]


async def ask_for_causes(file: RunFile, settings: Settings, models: Models, *, again: bool = False) -> None:
    """Asks the judge's model about the run's red answers, and stores what it says.

    Nothing is asked with `causes = "ids"`, or without a model. A spent budget, a refused key or an endpoint
    that is away end it; which of them it was is noted, and the run is as good as before.
    """
    results = without_superseded(file.results())
    model = models.role("judge", temperature=JUDGE_TEMPERATURE, priority=GRADING)
    if settings.causes != "model" or model is None:
        return
    summary = figures_of(results, settings)
    if not summary.red.answers or not searched(results, summary):
        return
    try:
        shelf = articles_of(settings)
    except InputError as error:  # the folder of --knowledge is gone
        say(_("{error} Causes are given without it.", error=error))
        shelf = Shelf(())
    judge = CauseJudge(model, settings.seed)
    materials = open_answers(results, summary, shelf, again=again)
    if materials:
        say(_("Causes of red answers, asked of the judge's model: {n}.", n=len(materials)))

    async def ask(material: CauseMaterial) -> None:
        verdict = await judge(material)
        file.save_note(
            f"{NOTE}{answer_key(material.context)}", verdict.model_dump_json(exclude_defaults=True)
        )
        file.commit()

    stopped = ""
    try:
        await for_each(materials, ask, settings.calls)
    except BudgetSpent:
        stopped = "budget"
    except HOPELESS:
        stopped = "endpoint"
    if stopped or STOPPED_NOTE in results.notes:
        file.save_note(STOPPED_NOTE, json.dumps(stopped))


async def ask_after_run(file: RunFile, context: RunContext) -> None:
    """`ask_for_causes` of a run in this process, where a model judges in it."""
    if context.models().get("judge") and context.is_played("judge"):
        await ask_for_causes(file, context.settings, context.model_factory)
