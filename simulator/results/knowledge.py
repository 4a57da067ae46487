"""Which articles a bot has, by the settings of its run: those that causes and fixes name."""

from collections.abc import Iterable
from functools import cache

from simulator.cases.knowledge import read_knowledge
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.shelves import DEMO
from simulator.core.types import Passage, StoredArticle
from simulator.results.articles import Shelf, heading_of
from simulator.runner.masking import redactor_of
from simulator.text.typography import language_of


def stored_articles(settings: Settings) -> tuple[StoredArticle, ...]:
    """The articles of `articles_of` as a run keeps them, the pieces of one joined.

    Raises InputError where what `--knowledge` names cannot be read.
    """
    shelf = articles_of(settings)
    texts: dict[str, list[str]] = {}
    sources: dict[str, str] = {}
    for passage in shelf.passages:
        texts.setdefault(id_ := shelf.article(passage.id), []).append(passage.text)
        sources.setdefault(id_, passage.source or "")
    return tuple(
        StoredArticle.of(id_, heading_of(pieces[0]) or sources[id_], "\n".join(pieces))
        for id_, pieces in texts.items()
    )


@cache
def _bundled() -> tuple[Passage, ...]:
    """The articles of the bundled bot, read once for all runs of a process."""
    return tuple(read_knowledge(DEMO / "knowledge"))


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
            other = settings.set.get("knowledge")
            passages = tuple(read_knowledge(other)) if other else _bundled()
        except InputError:  # moved since the run: the run can still be shown
            passages = ()
    if settings.redacts:
        redactor = redactor_of(settings)
        masked = (
            (passage, redactor.redact(passage.text, language_of(passage.text)).text) for passage in passages
        )
        passages = [passage.model_copy(update={"text": text}) for passage, text in masked]
    return Shelf(passages)
