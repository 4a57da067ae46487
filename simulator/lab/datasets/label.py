"""Label: whether the label that the bot gave is the row's own.

It is read from the answer where it stands alone, else named as such, else where the first or last line
begins with it ("No, it is not."), else quoted, else as the only one mentioned. A denied label does not count
(「問題」ではない, not spam), nor a shorter one within a longer one.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from simulator.extending import GradingContext, Score, Texts, normalise, straight_pattern
from simulator.lab.datasets.likelihood import likeliest

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_label.toml"))
_LANGUAGES = ("ja", "en")
_JSON = re.compile(r"\{[^{}]*\}")
_OPEN = "「『\"'([{【<*`_ "
# An underscore, also one that Markdown keeps, is a space: card\_arrival, card_arrival, card arrival.
_UNDERSCORE = re.compile(r"\\?_")
# A box or a tag around a label: \boxed{\text{spam}}, <answer>spam</answer>.
_BOXED = re.compile(r"\\(?:boxed|fbox) ?\{(?:\\text\w* ?\{)?|<answer>\s*")
# Between two labels of which it is either: "label: refund or cancel".
_EITHER = re.compile(r"[」\"'*`]? ?(?:/|・|または|もしくは|か|or |and ) ?[「\"'*`]?")
_CLAUSE = re.compile(r"[,.:;、。!—](?!\d)| - ")
_QUOTED = re.compile(r"「([^」]*)」|『([^』]*)』|【([^】]*)】|\"([^\"]*)\"|\*\*([^*]+)\*\*|`([^`]+)`")
# Beside these a label of the same kind goes on: it is a part of another word or number.
_KINDS = (r"[a-z]", r"[0-9]", r"[ァ-ヺー]")
_LONGEST = 4000
_AGREEMENT = {"true": ("yes", "はい"), "false": ("no", "いいえ")}


class Label(NamedTuple):
    """A label that was read, and how: alone, named, quoted or mentioned."""

    label: str
    how: str


def label(context: GradingContext, labels: Mapping[str, Sequence[str]]) -> Score:
    """1 when the label read from the answer is the row's, else 0; one that cannot be read is wrong.

    If the endpoint says how likely each label is, the likeliest counts. Rows without a label are skipped; one
    whose label is among its own choices is read for these alone.
    """
    expected, language = context.case.label, context.case.language
    if expected is None:
        return Score(state="skipped", reason=TEXTS(language, "no_label"))
    choices = context.case.choices if expected in context.case.choices else (*labels, expected)
    forms = {choice: labels.get(choice, (choice,)) for choice in choices}
    frozen = tuple((name, tuple(texts)) for name, texts in forms.items())
    read = _likeliest(context, forms) or _reader(frozen)(context.turn.answer.text)
    if read is None:
        reason = TEXTS(language, "not_extracted", expected=expected)
        missing = {"expected": expected, "predicted": None, "not_extracted": "label"}
        return Score(state="scored", value=0, raw=0, by_rule=True, reason=reason, detail=missing)
    right = read.label == expected
    key = ("right" if right else "wrong") + ("_likelihood" if read.how == "likelihood" else "")
    values = {"predicted": read.label} if right else {"predicted": read.label, "expected": expected}
    detail = {"expected": expected, "predicted": read.label, "read": read.how}
    reason = TEXTS(language, key, **values)
    return Score(state="scored", value=int(right), raw=int(right), reason=reason, detail=detail)


def _likeliest(context: GradingContext, labels: Mapping[str, Sequence[str]]) -> Label | None:
    """The label whose text is the likeliest; None without probabilities, or on a tie."""
    forms = {form: name for name, texts in reversed([*labels.items()]) for form in reversed(texts)}
    form = likeliest(context.turn.answer.logprobs, forms)
    return Label(forms[form], "likelihood") if form is not None else None


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
                    self.forms.setdefault(_plain(text), label)

    def __call__(self, answer: str) -> Label | None:
        """The one label that an answer states, or None."""
        text = answer if len(answer) <= 2 * _LONGEST else f"{answer[:_LONGEST]}\n{answer[-_LONGEST:]}"
        text = _UNDERSCORE.sub(" ", text)
        ways = (self._alone, self._in_json, self._named, self._leading, self._quoted, self._mentioned)
        said = next((label for way in ways if (label := way(text))), None)
        if said is None and self.forms.keys() == _AGREEMENT.keys():  # of a question, "Yes" is true
            agreed = _reader(tuple(_AGREEMENT.items()))(answer)
            return agreed and Label(self.forms[agreed.label], agreed.how)
        return said

    def _alone(self, text: str) -> Label | None:
        """The whole answer; or its first line, or its last: reasons may stand below or above."""
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        parts = (text, lines[0], lines[-1])
        matches = (label for part in parts if (label := self._label_of(part)))
        return _label(next(matches, None), "alone")

    def _label_of(self, text: str) -> str | None:
        """The label that this is, of numbers also with a unit: 4点, 4/5, ★4."""
        plain = _plain(text)
        rated = next((match["value"] for p in _patterns("rated") if (match := p.fullmatch(plain))), plain)
        return self.forms.get(plain) or self.forms.get(rated)

    def _leading(self, text: str) -> Label | None:
        """What the first or last line begins with: "False. The passage ..."; not "World, Sports"."""
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        labels = set()
        for line in (lines[0], lines[-1]):
            begun = _CLAUSE.split(normalise.folded(line), maxsplit=1)
            label = self._label_of(begun[0])
            is_number = begun[0].strip().isdecimal()  # of an item: "1. It is rude."
            if label and not is_number and not self._pattern.match(begun[-1].lstrip(_OPEN)):
                labels.add(label)
        return _label(labels.pop() if len(labels) == 1 else None, "alone")

    def _in_json(self, text: str) -> Label | None:
        """The value under the key `label` (ラベル, class ...) of a JSON object."""
        values = [value for match in _JSON.findall(text) for value in _labelled_values(match)]
        readings = [label for value in values if (label := self.forms.get(_plain(value)))]
        return _label(readings[-1] if readings else None, "named")

    def _named(self, text: str) -> Label | None:
        """`ラベル: X`, `label: X`, 「答えはX」; of several the last: reasoning comes before the verdict."""
        names = []
        folded = normalise.folded(text)
        matches = chain(_named_as().finditer(folded), _BOXED.finditer(folded))
        for match in sorted(matches, key=re.Match.end):
            rest = match.string[match.end() :].split("\n", 1)[0].lstrip(_OPEN)
            begins = self._pattern.match(rest)
            also = begins and _EITHER.match(rest, begins.end())
            is_open = also and self._pattern.match(rest, also.end())
            if begins and not is_open and not _denied(rest, mention := self._mention(begins)):
                names.append(mention.label)
        return _label(names[-1] if names else None, "named")

    def _quoted(self, text: str) -> Label | None:
        folded = normalise.folded(text)
        quoted = {
            label
            for match in _QUOTED.finditer(folded)
            if (label := self.forms.get(_plain(match[0])))
            and not _denied(folded, _Mention(label, match[0], *match.span()))
        }
        return _label(quoted.pop() if len(quoted) == 1 else None, "quoted")

    def _mentioned(self, text: str) -> Label | None:
        """Within a longer label no shorter one is mentioned."""
        folded = normalise.folded(text)
        mentions = map(self._mention, self._pattern.finditer(folded))
        mentioned = {
            mention.label
            for mention in mentions
            if not _denied(folded, mention) and not _counts(folded, mention)
        }
        return _label(mentioned.pop() if len(mentioned) == 1 else None, "mentioned")

    def _mention(self, match: re.Match[str]) -> _Mention:
        return _Mention(self.forms[_plain(match[0])], match[0], *match.span())

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Any form of any label, the longest first."""
        forms = sorted(filter(None, self.forms), key=lambda form: (-len(form), form))
        return re.compile("|".join(map(_whole, forms)) or r"(?!)")


@lru_cache(maxsize=256)
def _reader(labels: tuple[tuple[str, tuple[str, ...]], ...]) -> Reader:
    """One reader for all rows of a data set; rows with choices of their own have more."""
    return Reader(dict(labels))


def _whole(form: str) -> str:
    """A form as a whole word: not within a longer one of the same script."""
    before = next((kind for kind in _KINDS if re.match(kind, form[0])), "")
    after = next((kind for kind in _KINDS if re.match(kind, form[-1])), "")
    sign = r"(?<![0-9][.,])(?<!-)" if before == "[0-9]" else ""
    point = r"(?![.,][0-9])" if after == "[0-9]" else ""
    return f"{sign}{before and f'(?<!{before})'}{re.escape(form)}{after and f'(?!{after})'}{point}"


def _label(label: str | None, how: str) -> Label | None:
    return None if label is None else Label(label, how)


def _plain(text: str) -> str:
    return normalise.plain_form(_UNDERSCORE.sub(" ", text))


def _labelled_values(text: str) -> Iterator[str]:
    try:
        whole = json.loads(text)
    except ValueError:
        return
    for key, value in whole.items():
        if _named_as().fullmatch(f"{normalise.folded(key)}:") and isinstance(value, (str, int)):
            yield json.dumps(value) if isinstance(value, bool) else str(value)


def _denied(text: str, mention: _Mention) -> bool:
    before, after = text[max(0, mention.start - 60) : mention.start], text[mention.end : mention.end + 40]
    return any(p.search(before) for p in _patterns("denied_before")) or any(
        p.search(after) for p in _patterns("denied_after")
    )


def _counts(text: str, mention: _Mention) -> bool:
    """Whether it is a number that counts something or ends a scale, or the "no" of "no idea"."""
    before, after = text[max(0, mention.start - 12) : mention.start], text[mention.end : mention.end + 12]
    if not mention.form.isdecimal():
        return mention.form == "no" and any(p.search(after) for p in _patterns("noun_after"))
    return any(p.search(after) for p in _patterns("counted_after")) or any(
        p.search(before) for p in _patterns("counted_before")
    )


@lru_cache(maxsize=8)
def _patterns(key: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(straight_pattern(TEXTS(language, key))) for language in _LANGUAGES)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def _named_as() -> re.Pattern[str]:
    names = "|".join(f"(?:{pattern.pattern})" for pattern in _patterns("named"))
    return re.compile(rf"(?:{names}) ?(?:[「\"'*`]*[:=：＝]|(?<=は)|(?<= is)) ?")
