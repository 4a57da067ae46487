"""The user's own documents as articles that questions are made of: title, sentences, steps."""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from simulator.core.errors import InputError
from simulator.core.types import Language, Passage
from simulator.data.files import language_of
from simulator.data.knowledge import read_knowledge
from simulator.text.segments import sentences

# Shorter texts hold no fact to ask about: a heading, a link.
SHORTEST = {"ja": 25, "en": 60}
# What of an article a model is shown, and a rule looks at.
LONGEST = 6000
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_STEP = re.compile(
    r"^\s{0,4}(?:[(（]?(\d{1,2})[.)）．、]|([①-⑳])|手順\s?(\d{1,2})[:：]?)\s*(.+)$", re.MULTILINE
)
_ITEM = re.compile(r"^\s{0,4}[-*・•●]\s*(.+)$", re.MULTILINE)
# A path or an address is where a text comes from, and no title of it.
_PLACE = re.compile(r"://|[/\\]|\.[A-Za-z0-9]{1,5}(?:#.*)?$")
_MARKUP = re.compile(r"<[^>]{0,200}>|\*\*|__|`|\[[^\]]{0,80}\]\([^)]{0,200}\)")
_LABEL = re.compile(r"^\s*(?:Internal|FAQ|Q|社内|【[^】]{0,12}】)\s*[:：]?\s+|^【[^】]{0,12}】")


class Article:
    """One passage of the knowledge base, as questions are made of it."""

    def __init__(self, passage: Passage) -> None:
        """Nothing is looked up yet."""
        self.id, self.text = passage.id, passage.text[:LONGEST]
        self.language: Language = language_of(passage.text)
        self._source = passage.source or ""

    @cached_property
    def title(self) -> str:
        """Its heading, or the name that its row has; empty where there is neither."""
        found = _HEADING.search(self.text)
        heading = found[1] if found and not self.text[: found.start()].strip() else ""
        source = "" if _PLACE.search(self._source) else self._source
        if self._source and source and heading:
            heading = source  # the row has a name; its first heading is one of many
        return _LABEL.sub("", _plain(heading or source))

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The items of its first list that counts 1, 2, 3; empty with fewer than two."""
        found: list[str] = []
        for match in _STEP.finditer(self.text):
            number = int(match[1] or match[3] or ord(match[2] or "①") - ord("①") + 1)
            if number != len(found) + 1:
                if len(found) > 1:
                    break
                found = []
                if number != 1:
                    continue
            found.append(_plain(match[4]))
        return tuple(found) if len(found) > 1 else ()

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The items of its lists that do not count."""
        return tuple(_plain(match[1]) for match in _ITEM.finditer(self.text))

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """Its whole sentences, items of lists among them; no headings, no steps, no tables."""
        kept = [line for line in self.text.splitlines() if not _is_apart(line)]
        return tuple(_plain(each) for each in sentences("\n".join(kept)) if _is_whole(each))


def read_articles(path: str | Path, language: Language | None = None) -> tuple[Article, ...]:
    """What of a knowledge base holds enough text to ask about, in its order.

    Raises InputError where nothing is left.
    """
    read = [Article(passage) for passage in read_knowledge(path)]
    found = [each for each in read if language in (None, each.language)]
    long = [each for each in found if len(each.text.strip()) >= SHORTEST[each.language]]
    if not long:
        why = f"none of its {len(read)} passages is in --language {language}" if read and not found else ""
        msg = f"{path}: nothing to ask about in it ({why or 'its passages are too short'})."
        raise InputError(msg)
    return tuple(long)


def by_id(articles: Sequence[Article]) -> dict[str, Article]:
    """The articles by the ids of their passages."""
    return {article.id: article for article in articles}


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(lambda found: _named(found[0]), text).split())


def _named(mark: str) -> str:
    """A link keeps its name."""
    return mark[1 : mark.index("]")] if mark.startswith("[") else ""


def _is_apart(line: str) -> bool:
    """Headings, steps, rows of tables, marks of code."""
    plain = line.strip()
    return plain.startswith(("#", "|", "<", "```", ">")) or bool(_STEP.match(line)) or "\t" in plain


def _is_whole(sentence: str) -> bool:
    return sentence.endswith(("。", ".", "です", "ます")) and len(sentence) < 300
