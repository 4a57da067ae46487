"""Which articles a bot has, by the settings of its run: those that causes and fixes name."""

from collections.abc import Iterable

from simulator.cases.knowledge import read_knowledge
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.shelves import DEMO
from simulator.core.types import Passage
from simulator.results.articles import Shelf
from simulator.runner.masking import redactor_of
from simulator.text.typography import language_of


def articles_of(settings: Settings) -> Shelf:
    """The bot's own articles: what `--knowledge` names, or what the bundled bot answers from; else none.

    Personal data in them is masked where the run masks it. Raises InputError where what `--knowledge` names
    cannot be read.
    """
    passages: Iterable[Passage] = ()
    if settings.knowledge:
        passages = read_knowledge(settings.knowledge)
    elif settings.adapter == "demo":
        try:
            passages = tuple(read_knowledge(settings.set.get("knowledge") or DEMO / "knowledge"))
        except InputError:  # moved since the run: the run can still be shown
            passages = ()
    if settings.redacts:
        redactor = redactor_of(settings)
        masked = (
            (passage, redactor.redact(passage.text, language_of(passage.text)).text) for passage in passages
        )
        passages = [passage.model_copy(update={"text": text}) for passage, text in masked]
    return Shelf(passages)
