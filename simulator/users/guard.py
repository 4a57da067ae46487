"""The guard: checks a line of the simulated customer before the bot reads it.

A bot must not be scored on a customer who fell out of the role; each rule names one way of doing so.
Patterns and limits are data, in personas/_guard.toml.

Most rules are patterns alone. Five need more: whether a line is empty, in another language, too long for
this persona, tells what only a right answer holds, or nearly repeats an earlier one. A line that breaks a
rule is asked for once more, with the problem named; a second broken line ends the conversation as the
customer's failure.

    お問い合わせありがとうございます。担当の者がご案内いたします。      desk: the customer speaks as the desk
    月額はいくらですか？ after 月額はいくらですか                    repeat
    客：はい (next line) 店：どうぞ                               both_sides
    （ため息をつく）早くしてください                               stage
    4,180円ですよね？ where only the reference says 4,180円        reference; not if the bot has said it

Each rule sees the line in the view that it needs (`Views`): as it is written, since ① is a 1 otherwise; with
plain signs for full-width and curly ones; and without what is quoted, since "the desk said 「担当の者が...」"
is the customer's right.

Accusing falsely is worse than missing something: it costs a second call, and after two the conversation. The
patterns were tried on 2,000 lines of real customers, none of which may break a rule (`make bench-simulator`).
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import groupby, islice, takewhile
from statistics import median
from typing import Any, NamedTuple

from simulator.core.errors import PromptError
from simulator.core.messages import _
from simulator.core.templates import read_toml
from simulator.core.types import Language, PersonaText
from simulator.shelves import FOLDER
from simulator.text.typography import nfkc, straight, straight_pattern

FILE = FOLDER / "personas" / "_guard.toml"
# In the order of checking: the first that is broken is named.
RULES = (
    "empty", "reasoning", "both_sides", "list", "stage", "markdown", "emoji", "language", "too_long",
    "desk", "flip", "reference", "repeat",
)  # fmt: skip
# Characters that are too many if the persona's usual length is not known.
LONGEST = {"ja": 200, "en": 500}
# Characters of a line that the patterns see; a longer one is too long anyway.
MOST = 2000
# A line that holds this many first letters of an earlier one quotes it; what stands around the quotation
# decides then whether it says anything new.
TAKEN_UP = 30

_BLANK = re.compile(r"[^\S\n]{3,}|\s*\n\s*")
_INVISIBLE = re.compile(r"[\u034f\u115f\u1160\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0]")
# The emoji variation selector goes; ～ (U+FF5E), which NFKC makes a ~, stays a wave dash (U+301C): ～ is no ~
# in Japanese, but draws out a word.
_KEPT = {0xFE0F: None, 0xFF5E: 0x301C}
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# Addresses, file names, error codes: written the same in every language.
_CODE = re.compile(r"[!-~]*[@_/.\d][!-~]+")
_ADDRESS = re.compile(r"[a-z][\w-]*(?:[.@][\w-]+)+", re.ASCII)
_NUMBER = re.compile(r"\d(?:[\d,.:-]*\d)?")
# Anyone may come upon a small or a round number, or a year; only with what it counts does it tell something.
# Of "2024年に4,180円、10個、100円" only 4,180 tells.
_COMMON = re.compile(r"\d{1,2}|\d0+|(?:19|20)\d\d")
_COUNT = re.compile(r"\d[\d,.]* ?[^\W\d_][a-z]*")

_LIMITS = ("norm", "times", "alike", "answer", "frame", "gram", "run", "share", "fewest", "numbers")
_SCRIPT = (
    "own", "needed", "needed_from", "shares", "foreign_words", "own_words", "names", "names_up_to",
)  # fmt: skip

Patterns = tuple[re.Pattern[str], ...]


class Views(NamedTuple):
    """A line in three views.

    `written` lacks only invisible characters, `plain` also has plain signs for full-width and curly ones,
    `own` also lacks quoted words of others.
    """

    written: str
    plain: str
    own: str


@dataclass(frozen=True)
class Draft:
    """A line as it is and in its views, and what it is compared with."""

    text: str
    written: str
    plain: str
    own: str
    said: Sequence[str]
    references: Sequence[str]
    known: Sequence[str]
    norm: float | None

    @cached_property
    def told(self) -> str:
        """All that the customer may know of a reference; looked at only where a line has something of it."""
        return _seen("\n".join((*self.known, *self.said)))[1].lower()


class Guard:
    """The rules of one language: the patterns and limits of the file."""

    def __init__(self, language: Language) -> None:
        self.language, self.by_words = language, language == "en"
        tables = _tables()
        try:
            both, table = tables["both"], tables[language]
            self.limits: dict[str, float] = {key: table["limits"][key] for key in _LIMITS}
            self.script: dict[str, Any] = {key: table["language"][key] for key in _SCRIPT}
            self._others: tuple[str, ...] = (both["quoted"], table["reported"])
            self._filler = tuple(table["filler"])
            self._patterns: dict[str, tuple[str, ...]] = {
                rule: (*both["patterns"].get(rule, ()), *table["patterns"].get(rule, ())) for rule in RULES
            }
        except KeyError as error:
            msg = _(
                "{file}: {error} is missing from [{language}] or [both].",
                file=FILE,
                error=error,
                language=language,
            )
            raise PromptError(msg) from None
        # Without a model, the same phrases are looked at turn after turn.
        self._looked_at = lru_cache(maxsize=2048)(self._look_at)

    def broken_rule(
        self,
        text: str,
        said: Sequence[str],
        *,
        references: Sequence[str] = (),
        known: Sequence[str] = (),
        norm: float | None = None,
        allowed: Collection[str] = (),
    ) -> str | None:
        """The first rule that `text` breaks, given what the customer has `said` before.

        `references` are right answers, of which the customer knows only what is `known` to them: what the
        desk said, the facts, the aim. `norm` is the usual length of a line (see `norm`), None if unknown.
        `allowed` are rules that the persona's habits may break.
        """
        # Views and patterns depend on the line alone, and are kept; what it is compared with does not.
        views, matched = self._looked_at(text[:MOST])
        draft = Draft(text.strip(), *views, said, references, known, norm)
        for rule in RULES:
            if rule not in allowed and (rule in matched or (rule in _CHECKS and _CHECKS[rule](self, draft))):
                return rule
        return None

    def _look_at(self, text: str) -> tuple[Views, frozenset[str]]:
        """The views of a line, and the rules whose patterns it matches."""
        written, plain = _seen(text)
        unquoted = plain
        for pattern in compiled(self._others):
            left = pattern.sub(" ", unquoted)
            # A line that is nothing but a quotation is the customer's own words in disguise.
            unquoted = left if _LETTER.search(left) else unquoted
        views = Views(written, plain, unquoted)
        return views, frozenset(rule for rule in RULES if self._matches(rule, views))

    def norm(self, voice: PersonaText) -> float:
        """The usual length of a line of this persona: characters in Japanese, words in English.

        The median of the persona's phrases, or what is usual in the language if that is longer.
        """
        phrases = [phrase.replace("$question", "") for lines in voice.phrases.values() for phrase in lines]
        usual = median(map(self._length, phrases)) if phrases else 0
        return float(max(usual, self.limits["norm"]))

    def _length(self, text: str) -> float:
        """Characters in Japanese, words in English; ten letters at most make a word."""
        text = text.strip()
        return max(len(text.split()), len(text) / 10) if self.by_words else len(text)

    def _matches(self, rule: str, views: Views) -> bool:
        patterns = compiled(self._patterns[rule])
        if rule == "list":
            lines = straight(views.written).splitlines()
            # One dash or number begins many an honest line; two of them make a list.
            items = (line for line in lines if any(pattern.match(line) for pattern in patterns))
            return len(list(islice(items, 2))) > 1
        text = getattr(views, _VIEWS.get(rule, "plain"))
        return any(pattern.search(text) for pattern in patterns)

    def is_too_long(self, draft: Draft) -> bool:
        """Several times as long as usual."""
        if draft.norm is None:
            return len(draft.text) > LONGEST[self.language]
        return self._length(draft.text) > self.limits["times"] * draft.norm

    def is_foreign(self, draft: Draft) -> bool:
        """Mostly of another script, or with words of another language; names and codes are let through.

        `shares` are pairs: from so many letters on, at least that share has to be of the own script. A short
        line may be a name ("Galaxy S24"), so only long ones are held to a high share.
        """
        text, script = _CODE.sub(" ", draft.own), self.script
        letters, ours = len(_LETTER.findall(text)), _count(script["own"], text)
        if ours >= script["needed_from"] > 0 and not _count(script["needed"], text):
            return True
        foreign = _count(script["foreign_words"], text)
        if any(letters >= least and ours < share * letters for least, share in script["shares"]):
            is_name = letters < script["names_up_to"] and letters == ours + _count(script["names"], text)
            return foreign > 0 or not is_name
        return self.by_words and foreign > max(1, _count(script["own_words"], text))

    def is_leaked(self, draft: Draft) -> bool:
        """Says something that only a right answer holds: a number, an address, or its wording."""
        if not draft.references:
            return False
        text = draft.plain.lower()
        for reference in (_seen(answer)[1].lower() for answer in draft.references):
            numbers, addresses, counts = (
                (both := _values(pattern, reference) & _values(pattern, text))
                and both - _values(pattern, draft.told)
                for pattern in (_NUMBER, _ADDRESS, _COUNT)
            )
            # One number that nobody guesses is enough; of common ones it takes several.
            tells = any(not _COMMON.fullmatch(number) for number in numbers) or bool(addresses)
            if tells or len(counts) >= self.limits["numbers"] or self._is_worded_like(text, reference, draft):
                return True
        return False

    def _is_worded_like(self, text: str, reference: str, draft: Draft) -> bool:
        """A long run of the reference's words, or most of the line made of them.

        Both without what the customer was told or said: repeating the desk is no leak. Compared are pieces of
        `gram` words (en) or characters (ja); `run` is how long a run of them may be, `share` how much of the
        line.
        """
        size, limits = int(self.limits["gram"]), self.limits
        from_reference = _joined(reference, self.by_words)
        units = _WORD.findall(text) if self.by_words else _joined(text, False)
        parts = (units[i : i + size] for i in range(len(units) - size + 1))
        grams = [f" {' '.join(part)} " if self.by_words else str(part) for part in parts]
        # Hardly any line shares a piece with the reference; what is known is not even looked at then.
        if not any(gram in from_reference for gram in grams):
            return False
        from_known = _joined(draft.told, self.by_words)
        leaked = [gram in from_reference and gram not in from_known for gram in grams]
        runs = [len(list(run)) for is_leaked, run in groupby(leaked) if is_leaked]
        if not runs:
            return False
        many = sum(runs) >= max(limits["fewest"], limits["share"] * len(leaked))
        return many or max(runs) + size - 1 >= limits["run"]

    def is_repeated(self, draft: Draft) -> bool:
        """Nearly repeats an earlier line; short answers may recur, and questions in a new frame.

        Compared are letters and digits without filler words, by pairs of characters (Jaccard).
        「月額はいくらか と聞いているんです」 quotes the earlier question, and says with its frame that it was
        not answered.
        """
        core = _core(draft.plain, compiled(self._filler))
        # Yes, no, 3 and a customer number may be said twice.
        if len(core) < self.limits["answer"] or core.isdigit():
            return False
        earlier = [_core(line, compiled(self._filler)) for line in draft.said]
        inner = max((_quoted_part(line, core) for line in earlier), key=len, default="")
        if len(inner) < self.limits["answer"]:
            return self._is_like_one_of(earlier, core)
        frame = core.replace(inner, "")
        if len(frame) < self.limits["frame"]:
            return True
        frames = (line.replace(inner, "") for line in earlier if inner in line)
        return self._is_like_one_of(frames, frame)

    def _is_like_one_of(self, earlier: Iterable[str], text: str) -> bool:
        numbers, pairs = _values(_NUMBER, text), _pairs(text)
        for line in earlier:
            others = _pairs(line)
            is_alike = len(pairs & others) >= self.limits["alike"] * len(pairs | others)
            if is_alike and numbers <= _values(_NUMBER, line):  # another number is something new
                return True
        return False


# Rules that more than patterns decide.
_CHECKS: dict[str, Callable[[Guard, Draft], bool]] = {
    "empty": lambda _, draft: not draft.plain.strip(),
    "language": Guard.is_foreign,
    "too_long": Guard.is_too_long,
    "reference": Guard.is_leaked,
    "repeat": Guard.is_repeated,
}
# What the patterns of a rule see, where that is not the plain text.
_VIEWS = {"emoji": "written", "language": "own", "desk": "own", "flip": "own"}


guard_of = cache(Guard)  # one for all that look at the same lines


@cache
def _tables() -> dict[str, Any]:
    return read_toml(FILE)


@lru_cache(maxsize=256)
def compiled(patterns: tuple[str, ...], file: str = FILE.name) -> Patterns:
    """The patterns of a file of personas/; raises PromptError for what is no regular expression."""
    try:
        return tuple(
            re.compile(written, (re.IGNORECASE if written.upper() != written.lower() else 0) | re.MULTILINE)
            # A range of kanji is looked at sign by sign where capitals count as small letters.
            for written in map(straight_pattern, patterns)
        )
    except re.error as error:
        msg = _(
            "personas/{file}: {pattern} is not a regular expression ({problem}).",
            file=file,
            pattern=repr(error.pattern),
            problem=error.msg,
        )
        raise PromptError(msg) from None


@lru_cache(maxsize=512)
def _seen(text: str) -> tuple[str, str]:
    """The text without invisible characters; and with plain signs for full-width and curly ones."""
    if not text.replace("\n", "").isprintable():  # most lines are, and have nothing to look for
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    written = _INVISIBLE.sub("", text)
    written = _BLANK.sub(lambda gap: "\n" if "\n" in gap[0] else " ", written)
    return written, nfkc(straight(written).translate(_KEPT))


def _count(pattern: str, text: str) -> int:
    return len(compiled((pattern,))[0].findall(text)) if pattern else 0


@lru_cache(maxsize=512)
def _values(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    """What the pattern finds, without separators: 4,180 and 4180 are the same."""
    return frozenset(re.sub("[,\\- ]", "", value) for value in pattern.findall(text))


def telling_numbers(text: str) -> frozenset[str]:
    """The numbers of a text that tell something, without separators: no small or round one, and no year."""
    numbers = _values(_NUMBER, _seen(text)[1])
    return frozenset(number for number in numbers if not _COMMON.fullmatch(number))


@lru_cache(maxsize=512)
def _joined(text: str, by_words: bool) -> str:
    """Letters and digits only, with a space around each word if words are compared."""
    words = _WORD.findall(text)
    return f" {' '.join(words)} " if by_words else "".join(words)


@lru_cache(maxsize=512)
def _core(text: str, filler: Patterns) -> str:
    """The letters and digits of a line, without filler words."""
    plain = _seen(text)[1].lower()
    for pattern in filler:
        plain = pattern.sub("", plain)
    return _joined(plain, False)


def _quoted_part(line: str, core: str) -> str:
    """The line, or as much of its beginning as a draft quotes of it; empty if it does not."""
    start = core.find(line[:TAKEN_UP]) if line else -1
    if start < 0:
        return ""
    pairs = zip(line, core[start:], strict=False)
    return "".join(character for character, _unused in takewhile(lambda pair: pair[0] == pair[1], pairs))


@lru_cache(maxsize=512)
def _pairs(text: str) -> frozenset[str]:
    return frozenset(text[i : i + 2] for i in range(len(text) - 1))
