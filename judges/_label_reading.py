"""Reads a label from an answer: alone, else named as such, else quoted, else the only one mentioned.

A denied label (「問題」ではない, not spam) does not count, nor does a shorter label within a longer one.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from simulator import Texts, metrics, straight_pattern

TEXTS = Texts(Path(__file__).with_name("_label.toml"))
_LANGUAGES = ("ja", "en")
_JSON = re.compile(r"\{[^{}]*\}")
_OPEN, _CLOSE = "「『\"'([【<*`_ ", "」』\"')]】>*`_ "
_QUOTED = re.compile(r"「([^」]*)」|『([^』]*)』|【([^】]*)】|\"([^\"]*)\"|\*\*([^*]+)\*\*|`([^`]+)`")
# Beside these a label of the same kind goes on: it is a part of another word or number.
_KINDS = (r"[a-z]", r"[0-9]", r"[ァ-ヺー]")
_LONGEST = 4000


class Label(NamedTuple):
    """A label that was read, and how: alone, named, quoted or mentioned."""

    label: str
    how: str


class _Mention(NamedTuple):
    label: str
    form: str
    start: int
    end: int


class Reader:
    """Reads the labels of one set; `labels` gives for each the texts that may stand for it."""

    def __init__(self, labels: Mapping[str, Sequence[str]]) -> None:
        """A text that stands for several labels is that of the label which lists it earlier."""
        self.labels = labels
        self.forms: dict[str, str] = {}
        for place in range(max(map(len, labels.values()), default=0)):
            for label, texts in labels.items():
                for text in texts[place : place + 1]:
                    self.forms.setdefault(metrics.plain_form(text), label)

    def __call__(self, answer: str) -> Label | None:
        """The one label that an answer states, or None."""
        text = answer if len(answer) <= 2 * _LONGEST else f"{answer[:_LONGEST]}\n{answer[-_LONGEST:]}"
        ways = (self._alone, self._in_json, self._named, self._quoted, self._mentioned)
        return next((label for way in ways if (label := way(text))), None)

    def _alone(self, text: str) -> Label | None:
        """The whole answer; or its first line, or its last: reasons may stand below or above."""
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        parts = (text, lines[0], lines[-1])
        found = (label for part in parts if (label := self.forms.get(metrics.plain_form(part))))
        return _label(next(found, None), "alone")

    def _in_json(self, text: str) -> Label | None:
        """The value under the key `label` (ラベル, class ...) of a JSON object."""
        values = chain.from_iterable(map(_labelled_values, _JSON.findall(text)))
        return _label(self._last(values), "named")

    def _named(self, text: str) -> Label | None:
        """`ラベル: X`, `label: X`, 「答えはX」; of several the last: reasoning comes before the verdict."""
        found = []
        for match in _named_as().finditer(metrics.folded(text)):
            rest = match.string[match.end() :].split("\n", 1)[0].lstrip(_OPEN)
            mention = next(self._first_in(rest), None)
            if mention and not _denied(rest, mention):
                found.append(mention.label)
        return _label(found[-1] if found else None, "named")

    def _quoted(self, text: str) -> Label | None:
        folded = metrics.folded(text)
        found = {
            label
            for match in _QUOTED.finditer(folded)
            if (label := self.forms.get(metrics.plain_form(match[0])))
            and not _denied(folded, _Mention(label, match[0], *match.span()))
        }
        return _label(found.pop() if len(found) == 1 else None, "quoted")

    def _mentioned(self, text: str) -> Label | None:
        found = {mention.label for mention in self._mentions(metrics.folded(text))}
        return _label(found.pop() if len(found) == 1 else None, "mentioned")

    def _mentions(self, text: str) -> Iterator[_Mention]:
        """The labels that are mentioned and not denied; within a longer one no shorter one is."""
        for match in self._pattern.finditer(text):
            mention = _Mention(self.forms[metrics.plain_form(match[0])], match[0], *match.span())
            if not _denied(text, mention) and not _counts(text, mention):
                yield mention

    def _first_in(self, rest: str) -> Iterator[_Mention]:
        """The label with which a text begins."""
        if match := self._pattern.match(rest):
            yield _Mention(self.forms[metrics.plain_form(match[0])], match[0], *match.span())

    def _last(self, values: Iterable[str]) -> str | None:
        found = [label for value in values if (label := self.forms.get(metrics.plain_form(value)))]
        return found[-1] if found else None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Any form of any label, the longest first."""
        forms = sorted(filter(None, self.forms), key=lambda form: (-len(form), form))
        return re.compile("|".join(map(_whole, forms)) or r"(?!)")


def _whole(form: str) -> str:
    """A form as a whole word: not within a longer one of the same script."""
    before = next((kind for kind in _KINDS if re.match(kind, form[0])), "")
    after = next((kind for kind in _KINDS if re.match(kind, form[-1])), "")
    sign = r"(?<![0-9][.,])(?<!-)" if before == "[0-9]" else ""
    point = r"(?![.,][0-9])" if after == "[0-9]" else ""
    return f"{sign}{before and f'(?<!{before})'}{re.escape(form)}{after and f'(?!{after})'}{point}"


def _label(label: str | None, how: str) -> Label | None:
    return None if label is None else Label(label, how)


def _labelled_values(text: str) -> Iterator[str]:
    try:
        whole = json.loads(text)
    except ValueError:
        return
    for key, value in whole.items():
        if _named_as().fullmatch(f"{metrics.folded(key)}:") and isinstance(value, (str, int)):
            yield json.dumps(value) if isinstance(value, bool) else str(value)


def _denied(text: str, mention: _Mention) -> bool:
    before, after = text[max(0, mention.start - 60) : mention.start], text[mention.end : mention.end + 40]
    return any(p.search(before) for p in _patterns("denied_before")) or any(
        p.search(after) for p in _patterns("denied_after")
    )


def _counts(text: str, mention: _Mention) -> bool:
    """Whether a number is none of the labels, but counts something."""
    after = text[mention.end : mention.end + 12]
    return mention.form.isdecimal() and any(p.search(after) for p in _patterns("counted_after"))


@lru_cache(maxsize=8)
def _patterns(key: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(straight_pattern(TEXTS(language, key))) for language in _LANGUAGES)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def _named_as() -> re.Pattern[str]:
    names = "|".join(f"(?:{pattern.pattern})" for pattern in _patterns("named"))
    return re.compile(rf"(?:{names}) ?(?:[「\"'*`]*[:=：＝]|(?<=は)|(?<= is)) ?")
