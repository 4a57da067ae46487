"""Whose fault a red turn is, as words: the causes, and what is said of one turn."""

from typing import Literal

from simulator.core.types import Value

Cause = Literal[
    "no_answer", "customer", "should_refuse", "should_answer", "misunderstood", "knowledge", "outdated",
    "spelling", "retrieval", "ignored", "invented", "tone", "unclear",
]  # fmt: skip


class Blame(Value):
    """The cause of one red turn; `sure` only where no matching of words decides: by rule, or by asking again.

    `evidence` is one sentence in the case's language; `articles` are the ids of the passages that the answer
    needed; `pair` is a spelling to register: as it was asked, as the article writes it. `cut` says that only
    another piece of the needed article was retrieved than the one with the answer.
    """

    conversation: str
    turn: int
    cause: Cause
    sure: bool = False
    evidence: str
    articles: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
    cut: bool = False


class Found(Value):
    """What the bot retrieves when it is asked again: in the article's own words, and with one word replaced.

    `words` is what was asked; `ids` are the retrieved passages; `hit` says whether the needed article is
    among them. `pair` is the one word whose replacement alone brings the article. Of a bot that shows no
    passages `hit` is None: nobody knows.
    """

    words: str
    hit: bool | None
    ids: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
