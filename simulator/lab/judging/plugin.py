"""The room about judges: how far they agree with labels, what sways them, whether they still grade alike.

Also judges by rule, which need no model: politeness, the language of the answer, figures that no passage has.
"""

from simulator.core.settings import Settings
from simulator.grading.grading import read_list
from simulator.lab.judging.answer_relevancy import answer_relevancy
from simulator.lab.judging.command import calibrate
from simulator.lab.judging.drift import checking
from simulator.lab.judging.facts import facts
from simulator.lab.judging.keigo import keigo
from simulator.lab.judging.language_match import language_match
from simulator.lab.judging.panel import remarks
from simulator.lab.judging.settings import JudgingSettings
from simulator.lab.judging.trust import drift_remarks, trust_section
from simulator.plugins import Plugin


def further_models(settings: Settings) -> tuple[str, ...]:
    """The models that grade as well."""
    return JudgingSettings.of(settings).panel


def ng_words(settings: Settings) -> tuple[str, ...]:
    """The lines of `--ng-words`."""
    return read_list(JudgingSettings.of(settings).ng_words, "--ng-words")


def check(settings: Settings) -> None:
    """Raises InputError for a list that cannot be read, whether or not a judge asks for it."""
    ng_words(settings)


PLUGIN = Plugin(
    name="judging",
    commands={"calibrate": calibrate},
    judges={
        "answer_relevancy": answer_relevancy,
        "facts": facts,
        "keigo": keigo,
        "language_match": language_match,
    },
    sections=(trust_section,),
    remarks=(remarks, drift_remarks),
    preparation=checking,
    check=check,
    panel=further_models,
    arguments={"ng_words": ng_words},
)
