"""`doctor --customers`: every persona with six bots whose behaviour is known."""

from simulator.api.progress import stdout_to_stderr
from simulator.cli.show import show_report
from simulator.cli.terminal import ExitCode
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.roles import check_one_player
from simulator.core.settings import Settings
from simulator.core.titles import Titles
from simulator.lab.likeness.reactions import problems, react, turns_of
from simulator.lab.likeness.report import reactions_report
from simulator.results.figures import rounded
from simulator.runner.context import RunContext
from simulator.runner.plan import read_plan


async def reacting(settings: Settings) -> int:
    """A table of personas and bots, and what is wrong with whom.

    It takes as many turns as the most patient persona has, whatever --turns says: who never leaves a useless
    bot should not look as if it had run out of turns.
    """
    check_one_player(settings)
    plan, personas, *_rest = read_plan(settings)
    turns = max(turns_of(persona) for persona in personas)
    no_cache = settings.model_copy(update={"cache": "off", "turns": turns})
    context = RunContext(no_cache, personas)
    try:
        with stdout_to_stderr():
            reactions = await react(context, plan, personas)
    finally:
        await context.close(None)
    if not reactions:
        raise InputError(_("None of the questions has a reference answer: nothing to react to."))
    wrong = list(problems(personas, reactions))
    figures = {
        "reactions": [
            {
                "persona": reaction.persona,
                "bot": reaction.bot,
                "ended": reaction.conversation.ended,
                "turns": len(reaction.conversation.turns),
                "feelings": reaction.feelings,
                "told": reaction.told,
                "grade": rounded(reaction.grade),
            }
            for reaction in reactions
        ],
        "problems": [{"persona": who, "problem": str(what)} for who, what in wrong],
    }
    language = reactions[0].conversation.case.language
    names = Titles({persona.id: persona.speaks(language).name for persona in personas})
    show_report(reactions_report(reactions, wrong, names, language), figures, as_json=settings.json_output)
    return ExitCode.MISSED if wrong else ExitCode.DONE
