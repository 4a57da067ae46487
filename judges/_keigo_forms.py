"""What the judge `keigo` finds: the patterns of its TOML files, compiled, and what they match."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple

from judges._keigo_reading import Sentence, nfkc
from simulator import straight_pattern

Severity = Literal["major", "moderate", "minor"]
# So many characters of the answer are quoted on either side of what was found.
AROUND = 8
_ARROW = re.compile("[=＝][>＞]")


class Finding(NamedTuple):
    """A fault: `quote` is copied from the answer, `better` says what to write instead."""

    kind: str
    severity: Severity
    quote: str
    better: str
    start: int = 0


class Form(NamedTuple):
    """One wrong form; nothing is wrong in a sentence that holds `unless`."""

    kind: str
    severity: Severity
    find: re.Pattern[str]
    unless: re.Pattern[str] | None
    better: Template


@cache
def tables(language: str) -> dict[str, Any]:
    """The patterns of a language as they stand in the file."""
    path = Path(__file__).with_name(f"_keigo_{language}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def pattern(language: str, kind: str, key: str) -> re.Pattern[str]:
    """A pattern of a table; a list of them matches where any does."""
    found = tables(language)[kind][key]
    return compiled(language, found if isinstance(found, str) else "|".join(f"(?:{one})" for one in found))


def compiled(language: str, text: str) -> re.Pattern[str]:
    """The pattern with the words that it names in braces; they may name each other."""
    words: dict[str, str] = tables(language).get("words", {})
    for _ in range(2):
        for name, alternatives in words.items():
            text = text.replace(f"{{{name}}}", alternatives)
    return re.compile(straight_pattern(text), re.IGNORECASE)


@cache
def forms(language: str) -> tuple[Form, ...]:
    """All wrong forms of a language."""
    return tuple(
        Form(
            kind,
            form.get("severity", table["severity"]),
            compiled(language, form["find"]),
            compiled(language, form["unless"]) if "unless" in form else None,
            Template(form["better"]),
        )
        for kind, table in tables(language).items()
        for form in table.get("forms", ())
    )


def matches(answer: str, sentence: Sentence, language: str) -> Iterator[Finding]:
    """What is wrong in a sentence by its form, each kind once per place."""
    taken: list[tuple[str, int, int]] = []
    for form in forms(language):
        for found in form.find.finditer(sentence.text):
            start, end = found.span()
            if any(form.kind == kind and start < b and a < end for kind, a, b in taken):
                continue
            if form.unless and form.unless.search(sentence.text):
                break
            taken.append((form.kind, start, end))
            better = form.better.substitute(found.groupdict(default=""))
            quote = quoted(answer, sentence, start, end)
            yield Finding(form.kind, form.severity, quote, better, sentence.start + start)


def quoted(answer: str, sentence: Sentence, start: int, end: int) -> str:
    """The words of the answer from `start` to `end` of a sentence, with a little of what is around them."""
    first = max(start - AROUND, 0)
    last = min(end + AROUND, len(sentence.text))
    return answer[sentence.start + first : sentence.start + last].strip()


def listed(answer: str, ng_words: tuple[str, ...], otherwise: str) -> Iterator[Finding]:
    """The words of the team's list that the answer holds, compared after NFKC and case folding.

    A line is the word, or `word => better`. A word that begins or ends with a Latin letter or a digit is
    found as a whole word only; a Japanese one wherever it stands.
    """
    plain, origin = nfkc(answer)
    for line in dict.fromkeys(ng_words):
        word, *better = (part.strip() for part in _ARROW.split(line, maxsplit=1))
        found = _whole(nfkc(word)[0]).search(plain) if word else None
        if found:
            start, end = origin[found.start()], origin[found.end()]
            quote = answer[max(start - AROUND, 0) : end + AROUND].strip()
            yield Finding("ng_word", "major", quote, "".join(better) or otherwise, start)


def _whole(word: str) -> re.Pattern[str]:
    before = r"(?<![a-z0-9])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"(?![a-z0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
    return re.compile(before + re.escape(word) + after)
