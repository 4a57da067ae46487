"""Articles as people know them: the whole document behind a passage, and its title."""

import re
from collections.abc import Iterable

from simulator.core.types import Passage, Results
from simulator.stats.summary import excerpt

_PART = re.compile(r"#\d+\Z")
_HEADING = re.compile(r"\s*#{1,6}\s+(\S.*)")
# A first line that is longer than this is a sentence rather than a title.
_LONGEST_TITLE = 60
_SHOWN = 40


class Library:
    """The articles that a run knows of: what its bot retrieved, what its questions need, and `articles`."""

    def __init__(self, results: Results, articles: Iterable[Passage] = ()) -> None:
        """The titles of `articles`, the knowledge base itself, go before those of what was retrieved."""
        self._titles: dict[str, str] = {}
        self._ids = {key for talk in results.conversations for key in talk.case.passages}
        for passage in articles:
            self._add(passage)
        for talk in results.conversations:
            for turn in talk.turns:
                for passage in turn.answer.passages:
                    self._add(passage)

    def _add(self, passage: Passage) -> None:
        if passage.id not in self._titles:
            self._titles[passage.id] = heading_of(passage.text)
            self._ids.add(passage.id)

    def whole(self, passage: str) -> str:
        """The article of a passage: `ja/01-plans` of `ja/01-plans#2`; a row of a table is one by itself."""
        bare = _PART.sub("", passage)
        return bare if bare in self._ids else passage

    def title(self, article: str) -> str:
        """What the article is called; empty when nobody knows."""
        return self._titles.get(article, "")


def heading_of(text: str) -> str:
    """The heading that a text begins with, or its first line where that is short and more follows."""
    first, _, rest = text.lstrip().partition("\n")
    if heading := _HEADING.match(first):
        return excerpt(heading[1].rstrip("# "), _SHOWN)
    return excerpt(first, _SHOWN) if rest.strip() and len(first) <= _LONGEST_TITLE else ""
