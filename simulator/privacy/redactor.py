"""Texts without the personal data in them; every other character stays as it is.

    田中です。090-1234-5678に電話をください。  -> [氏名]です。[電話番号]に電話をください。
    My name is Jane Doe, order #88412.         -> My name is [name], order #[reference number].
    山口さんは山口県から                        -> [氏名]さんは山口県から
    part number 12345, order number 12345      -> part number 12345, order number [reference number]

In this order: what is masked already becomes one sign per character, that no pattern has (so masking twice
changes nothing); the team's own patterns; all patterns of patterns.toml, on a text with plain forms in the
same places; then further mentions of the names that were found (佐藤花子様 makes 佐藤さん a name). Of spans
that overlap the whole is masked once, under the kind of the first pattern. All of it is repeated until
nothing new is found, for a mask can lay bare what was part of something longer.

Not finding is no proof: docs/privacy.md says how much of new lines was found. Masked text goes to the run
file, to reports and to every model, and to the tested bot as well.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeVar
from urllib.parse import unquote_plus

from pydantic import BaseModel, JsonValue

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.patterns import LazyPattern
from simulator.core.types import Case, Language
from simulator.privacy.names import Span, word_list
from simulator.privacy.patterns import mask, masks, patterns, scripts_in
from simulator.text.typography import straight

# So many parts of names are looked for again in a text, so that one made of names is still read in linear
# time.
_MOST = 20
_KANJI, _KANA = "一-鿿々", "ァ-ヺーｦ-ﾟ"
# Two kanji may be part of a longer word; 佐々木 is not.
_LONG = LazyPattern(f"[{_KANJI}]{{3,}}")
_BEGINS = LazyPattern(f"(?<![A-Za-z{_KANJI}{_KANA}])")
# 山口さん、山口県: the place is not the person. 佐々木様, 佐々木宛, 佐々木家 are.
_ENDS = LazyPattern(rf"(?![A-Za-z{_KANA}]|(?![様宛家殿氏君方])[{_KANJI}])")


def repeated_names(text: str, names: Sequence[str]) -> Iterator[Span]:
    """Where the text has these names, or a part of one that stands apart by a space, as whole words.

    Of at most `_MOST` parts, the longest first: after 山本 大輔さん both 大輔 and 山本 are names. A part that
    is a common word as well is not looked for.
    """
    parts = sorted({part for name in names for part in _parts(name)}, key=lambda part: (-len(part), part))
    del parts[_MOST:]
    # A pattern with the kanji of `_ENDS` in it would take longer to compile than the text takes to read.
    somewhere, place = re.compile("|".join(map(re.escape, parts))), 0
    while parts and (match := somewhere.search(text, place)):
        start = match.start()
        end = next((start + len(part) for part in parts if _is_whole(text, start, part)), 0)
        if end:
            yield start, end
        place = end or start + 1


def _is_whole(text: str, start: int, part: str) -> bool:
    """Whether this part of a name stands there, and not as a part of another word."""
    if not text.startswith(part, start) or not _ENDS.match(text, start + len(part)):
        return False
    return bool(_LONG.fullmatch(part) or _BEGINS.match(text, start))


def _parts(name: str) -> Iterator[str]:
    for part in {name, *re.split("[ ・]", name)}:
        is_name = _latin_name(part) if part.isascii() else _japanese_name(part)
        if is_name:
            yield part


def _latin_name(part: str) -> bool:
    is_word = part.lower() in word_list("no_english") or part in word_list("doubtful_given")
    return len(part) > 2 and not part.islower() and not is_word


def _japanese_name(part: str) -> bool:
    return len(part) > 1 + bool(re.match("[ぁ-ん]", part)) and part not in word_list("doubtful")


# Plain signs for full-width ones, and a hyphen for a half-width ー, each in its old place.
_PLAIN = str.maketrans(
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {ord("ｰ"): "-", 0x3000: " ", 0xA0: " "}
)
# What is masked already is one sign that no pattern has, repeated: places stay the same.
_TAKEN = "\ue000"
_FREE = re.compile(f"[^{_TAKEN}]+")


class RedactedText(NamedTuple):
    """A text with masks in place of personal data, and how many of each kind were masked."""

    text: str
    counts: dict[str, int]


class _Span(NamedTuple):
    """A span to be masked; of overlapping ones the lowest `rank` names the mask."""

    start: int
    end: int
    rank: int
    kind: str


# So many texts are remembered.
_LATEST = 256


class Redactor:
    """Masks personal data; of further regular expressions, `patterns`, the first group or all is masked.

    What stands in `public` as well (a desk's own contacts) is not masked, unless a team's pattern says so:
    with the contact 03-1234-5678 that number stays in every answer, and 03-9999-8888 does not. Numbers are
    compared by their digits, other texts without spaces and capitals.
    """

    def __init__(self, patterns: Sequence[str] = (), public: Sequence[str] = ()) -> None:
        """A broken pattern is an `InputError`."""
        self._own = tuple(map(_compiled, patterns))
        self._public = frozenset(_public(public))
        self._remembered = lru_cache(_LATEST)(self._redacted)

    def redact(self, text: str, language: Language) -> RedactedText:
        """The text with its personal data as masks of the language; of a masked text, the same.

        `counts` are by kind (name, phone, reference ...), "custom" for a team's own pattern. The last
        `_LATEST` texts are remembered: an answer is often its reference, word for word.
        """
        return self._remembered(text, language)

    def _redacted(self, text: str, language: Language) -> RedactedText:
        counts: Counter[str] = Counter()
        # A mask can lay bare what was part of something longer: until nothing more is found.
        while spans := _joined(self._found(text)):
            counts.update(span.kind for span in spans)
            text = _masked(text, spans, language)
        return RedactedText(text, dict(counts))

    def _found(self, text: str) -> Iterator[_Span]:
        original = masks().sub(lambda mask: _TAKEN * len(mask[0]), text)
        # Of a pattern that would reach over a mask, what stands before or behind it may match by itself.
        gaps = [gap.span() for gap in _FREE.finditer(original)] if self._own else []
        for pattern in self._own:
            for match in chain.from_iterable(pattern.finditer(original, *gap) for gap in gaps):
                start, end = match.span(1 if pattern.groups else 0)
                if start < end:
                    yield _Span(start, end, 0, "custom")
        plain = straight(original).translate(_PLAIN)
        spans = [span for span in self._known(plain) if not self._is_public(plain[span.start : span.end])]
        yield from spans
        names = [plain[span.start : span.end] for span in spans if span.kind == "name"]
        for start, end in repeated_names(plain, names):
            if not self._is_public(plain[start:end]):
                yield _Span(start, end, len(patterns()) + 1, "name")

    def _known(self, plain: str) -> Iterator[_Span]:
        present = scripts_in(plain)
        for rank, pattern in enumerate(patterns(), start=1):
            for place in pattern.spans(plain) if pattern.needs <= present else ():
                if span := _bare(plain, place):
                    yield _Span(*span, rank, pattern.kind)

    def _is_public(self, text: str) -> bool:
        return bool(self._public) and _essence(text) in self._public


def _public(texts: Sequence[str]) -> Iterator[str]:
    """All that a redactor would mask in what is public."""
    for text in texts:
        plain = straight(text).translate(_PLAIN)
        for pattern in patterns():
            yield from (_essence(plain[start:end]) for start, end in pattern.spans(plain))


def _essence(text: str) -> str:
    """A number without the signs between its digits; other texts without spaces and capitals.

    "03-1234-5678" and "(03) 1234 5678" are one contact; so are "Mizunara Telecom" and "mizunara telecom".
    """
    digits = re.sub(r"\D", "", text)
    is_number = len(digits) >= 3 and not re.search(r"[^\W\d_]", text)
    return digits if is_number else "".join(text.casefold().split())


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        msg = _(
            "{pattern}: invalid regular expression ({error}). Fix the pattern of what to mask.",
            pattern=pattern,
            error=error,
        )
        raise InputError(msg) from None


def _bare(text: str, span: Span) -> Span | None:
    """The span without spaces at its ends and, where it reaches a mask, only up to that."""
    start, end = span
    if (taken := text.find(_TAKEN, start, end)) >= 0:
        end = taken
    end = start + len(text[start:end].rstrip())
    start = end - len(text[start:end].lstrip())
    return (start, end) if start < end else None


def _joined(spans: Iterator[_Span]) -> list[_Span]:
    """In order and without overlaps: what overlaps is masked as one."""
    kept: list[_Span] = []
    for span in sorted(spans):
        if kept and span.start < kept[-1].end:
            last = kept[-1]
            first = min(last, span, key=lambda part: part.rank)
            kept[-1] = first._replace(start=last.start, end=max(last.end, span.end))
        else:
            kept.append(span)
    return kept


def _masked(text: str, spans: Sequence[_Span], language: Language) -> str:
    pieces, reached = [], 0
    for span in spans:
        pieces += [text[reached : span.start], mask(span.kind, language)]
        reached = span.end
    return "".join((*pieces, text[reached:]))


V = TypeVar("V", bound=BaseModel)

# What things are known by, and words of the program: no texts. Masked, a case would lose the id that reports,
# resumed runs and sheets find it by.
UNMASKED_KEYS = frozenset(
    (
        "id", "case", "conversation", "session", "persona", "role", "language", "tags", "kind", "judge",
        "handover", "next", "ended", "model", "source", "label", "broken_rules", "rubric", "state",
        "severity", "link", "got", "overruled",
    )
)  # fmt: skip

# What of a passage is no text, and may still tell of a person.
_LINKS: Mapping[str, frozenset[str]] = {
    "passages": frozenset(("id", "source")),
    "tools": frozenset(("name",)),
}
_PARTS_OF_A_LINK = re.compile(r"([/?&=#;,]|:(?!//))")

# What a tool was given and gave back, which is most often JSON with keys of its own.
_JSON_TEXTS = frozenset(("arguments", "result"))

# What our own words call their texts says nothing about these; any other key may: {"会員番号": 12345678}.
_SAYS_NOTHING = frozenset(
    (
        "question", "references", "expect", "history", "content", "goal", "facts", "knows", "unknown",
        "choices", "answer", "contexts", "script", "recorded", "text", "user", "reason", "closing", "message",
        "reaction", "why", "arguments", "result",
    )
)  # fmt: skip


def redacted_json(
    value: JsonValue, redactor: Redactor, language: Language, *, kept: frozenset[str] = frozenset()
) -> tuple[JsonValue, dict[str, int]]:
    """JSON with masks in its texts. A key tells what its value is: {"会員番号": 12345678}; keys stay.

    A value that shows nothing by itself is read once more behind its key, as "会員番号: 12345678" would be,
    unless the key is one of our own words. A whole number that is masked becomes a text. Under a key in
    `kept` nothing is looked at, except for id and source of passages: see `redacted_link`. What a tool was
    given and gave back is read as the JSON that it is.
    """
    counts: Counter[str] = Counter()

    def walk(part: JsonValue, key: str) -> JsonValue:
        if isinstance(part, Mapping):
            links = _LINKS.get(key, frozenset())
            return {
                name: link(item) if name in links else item if name in kept else walk(item, name)
                for name, item in part.items()
            }
        if isinstance(part, list):
            return [
                link(item) if key in _LINKS and isinstance(item, str) else walk(item, key) for item in part
            ]
        if key in _JSON_TEXTS and isinstance(part, str) and part.lstrip()[:1] in ("{", "["):
            try:
                inside = json.loads(part)
            except (ValueError, RecursionError):
                inside = None  # cut, or no JSON after all
            if isinstance(inside, (dict, list)):
                masked, counts_inside = redacted_json(inside, redactor, language)
                counts.update(counts_inside)
                return part if masked == inside else json.dumps(masked, ensure_ascii=False)
        if isinstance(part, str) or (isinstance(part, int) and not isinstance(part, bool)):
            label = "" if key in _SAYS_NOTHING else key.replace("_", " ")
            done = _behind(label, str(part), redactor, language)
            counts.update(done.counts)
            return done.text if done.counts else part
        return part

    def link(part: JsonValue) -> JsonValue:
        if not isinstance(part, str):
            return part
        link = redacted_link(part, redactor, language)
        counts.update(link.counts)
        return link.text

    return walk(value, ""), dict(counts)


def redacted_link(text: str, redactor: Redactor, language: Language) -> RedactedText:
    """An id, a path or an address without personal data; the same one becomes the same again.

        https://crm.example/u/tanaka%40example.jp?tel=090-1234-5678
        -> https://crm.example/u/[e-mail address]?tel=[phone number]

    Each part of it is read by itself, decoded, for a number behind a slash looks like no number of a person.
    """
    counts: Counter[str] = Counter()
    pieces = _PARTS_OF_A_LINK.split(text)
    for at in range(0, len(pieces), 2):
        name = unquote_plus(pieces[at - 2]) if at and pieces[at - 1] == "=" else ""
        done = _behind(name, unquote_plus(pieces[at]), redactor, language)  # order=12345
        if done.counts:
            pieces[at] = done.text
            counts.update(done.counts)
    # And as it stands, for what the parts lose: 会員番号:12345678.
    whole = redactor.redact("".join(pieces), language)
    counts.update(whole.counts)
    return RedactedText(whole.text, dict(counts))


def redacted_value(value: V, redactor: Redactor, language: Language) -> tuple[V, dict[str, int]]:
    """A case, message, answer, turn or conversation with masks in its texts; ids and words of ours stay.

    Not so the ids and sources of passages, which may be a customer's address: they are masked, in the case as
    in the answer, so that they still agree. Counts are by kind, of all texts together.
    """
    masked, counts = redacted_json(value.model_dump(mode="json"), redactor, language, kept=UNMASKED_KEYS)
    return type(value).model_validate(masked), counts


def redacted_case(case: Case, redactor: Redactor | None = None) -> tuple[Case, dict[str, int]]:
    """A case with masks in question, history, references, facts and recorded answers, in its own language."""
    return redacted_value(case, redactor or Redactor(), case.language)


def _behind(name: str, text: str, redactor: Redactor, language: Language) -> RedactedText:
    """The text, which is read once more behind its name where it shows nothing by itself: order: 12345."""
    done = redactor.redact(text, language)
    if name and not done.counts:
        labelled = redactor.redact(f"{name}: {text}", language)
        if labelled.text.startswith(f"{name}: "):
            return labelled._replace(text=labelled.text.removeprefix(f"{name}: "))
    return done
