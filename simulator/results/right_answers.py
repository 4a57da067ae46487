"""Whether two runs call the same answer to a question right.

A team corrects its questions from week to week. Where what is right was changed between two runs, the grades
of both are held against different answers: they do not say whether the bot got better.

Texts are compared without case, width, spaces, marks of Markdown and surrounding punctuation. A run that
masks personal data is held against one that does not: a mask stands for any text.

    "It costs 1,100 yen."                "It costs  1100 yen"        the same
    "Call 0120-000-371."                 "Call [phone number]."      the same
    "It costs 1,100 yen."                "It costs 1,300 yen."       another one
"""

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from glob import escape
from itertools import zip_longest

from simulator.core.types import Case
from simulator.privacy.patterns import masks
from simulator.results.article_changes import plain_text
from simulator.text.normalise import plain_form

# The ids that articles go by since, by those that they had.
Renamed = Mapping[str, Collection[str]]


def has_other_answer(earlier: Case, later: Case, renamed: Renamed) -> bool:
    """Whether what is right was changed: a reference, expectation, mark, label, tool, article or attack."""
    if (earlier.answerable, earlier.handover) != (later.answerable, later.handover):
        return True
    if not _needs_same_articles(earlier, later, renamed):
        return True
    texts, texts_now = (
        (case.expect, case.tools, case.choices, (case.label or "",), _attack(case), *case.references)
        for case in (earlier, later)
    )
    return not all(_same_texts(*pair) for pair in zip_longest(texts, texts_now, fillvalue=()))


def _attack(case: Case) -> tuple[str, ...]:
    return (case.attack.text,) if case.attack else ()


def _needs_same_articles(earlier: Case, later: Case, renamed: Renamed) -> bool:
    """Whether both name the same articles, by the ids that these had or go by since."""
    named = [{id_, *renamed.get(id_, ())} for id_ in earlier.passages]
    now = set(later.passages)
    return all(names & now for names in named) and now <= set().union(*named)


def same_text(one: str, other: str) -> bool:
    """Whether two texts say the same, either of them masked or not."""
    return _plain(one) == _plain(other) or same_but_masked(one, other)


def same_but_masked(one: str, other: str) -> bool:
    """Whether one of the texts is what the other becomes where personal data is masked."""
    return _is_masked_form(one, other) or _is_masked_form(other, one)


def _same_texts(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether each text of one side stands on the other; their order and empty ones do not matter."""
    if some == others:
        return True
    one, two = (list(filter(_plain, side)) for side in (some, others))
    return all(
        any(same_text(text, other) for other in there)
        for here, there in ((one, two), (two, one))
        for text in here
    )


def _plain(text: str) -> str:
    return plain_text(plain_form(text))


def _is_masked_form(masked: str, text: str) -> bool:
    """Whether a text may be what was masked here."""
    pieces = masks().split(masked)
    return len(pieces) > 1 and fnmatchcase(_plain(text), "*".join(escape(_plain(piece)) for piece in pieces))
