"""The room about judges: what sways them, whether they still grade as when they were calibrated.

Also judges by rule, which need no model: politeness, the language of the answer, figures that no passage has.
"""

from simulator.lab.judging.answer_relevancy import answer_relevancy
from simulator.lab.judging.command import probe
from simulator.lab.judging.drift import checking
from simulator.lab.judging.facts import facts
from simulator.lab.judging.keigo import keigo
from simulator.lab.judging.language_match import language_match
from simulator.lab.judging.panel import remarks
from simulator.plugins import Plugin

PLUGIN = Plugin(
    name="judging",
    judges={
        "answer_relevancy": answer_relevancy,
        "facts": facts,
        "keigo": keigo,
        "language_match": language_match,
    },
    remarks=(remarks,),
    preparation=checking,
    probing=probe,
)
