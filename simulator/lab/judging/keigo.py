"""Keigo: is the answer as polite as a Japanese support desk must be? By patterns, without a model.

First the grade; then what is wrong by its form alone (the patterns of the TOML files), what shows only in the
answer as a whole (its register, its repeats, what it owes a complaint), and how an answer is cut into
sentences, quotations blanked out and prose told from lists.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple

from simulator.extending import GradingContext, Score, Texts, nfkc, straight, straight_pattern

TEXTS = Texts(Path(__file__).with_name("_keigo.toml"))
GRAVITY = ("major", "moderate", "minor")
# So many findings are named in the reason, and so many are kept.
NAMED, KEPT = 3, 30
Severity = Literal["major", "moderate", "minor"]
# So many characters of the answer are quoted on either side of what was found.
AROUND = 8
_ARROW = re.compile("[=＝][>＞]")
# A sentence is quoted by so many of its last characters.
TAIL = 24

# Stands for each character that is somebody else's word: patterns cannot match it, positions stay.
BLANK = "\ue000"
_QUOTED = re.compile(
    r"```.{0,4000}?```|`[^`\n]{0,400}`|https?://[!-~]{1,400}|[\w.+-]{1,64}@[\w.-]{1,255}"
    r"|『[^『』]{0,400}』|\"[^\"\n]{0,400}\"",
    re.DOTALL,
)
_CORNERED = re.compile(r"「[^「」]{0,400}」")
_BRACKETED = re.compile(r"[（(][^（）()\n]{0,400}[）)]")
_ENDS = str.maketrans(dict.fromkeys("。！？!?", BLANK))
# Headings, list items, tables, quotations, notes: what may stand in plain form.
_MARK = re.compile(
    r"\s*(?:#{1,6}\s|>|[-*+・•●○◎◆◇■□▪▶►→⇒※✓✔★☆–—]|[（(]?(?:\d{1,2}|[a-zA-Zア-ン])[.)）．、:：]|[①-⑳❶-❿]"
    r"|(?:手順|ステップ|STEP|Step|第|その|Q|A)\s*\d|\*\*|【)[\s　]*"
)
_LABELLED = re.compile(r"\s*[^。、\n]{1,20}[:：]")
_SENTENCE = re.compile(r"[^。！？!?]+(?:[。！？!?]+[」』）)]*)?|[。！？!?]+")
_CJK = re.compile("[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]")
_FINAL_MARKS = "。！？!?」』）)…～〜ー♪☆★ 　\t\r*_"


class KeigoFinding(NamedTuple):
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


class Sentence(NamedTuple):
    """A sentence with quotations blanked out; `start` is where it stands in the answer."""

    start: int
    text: str
    prose: bool

    @property
    def core(self) -> str:
        """The sentence without its final marks; empty when it ends with a quotation."""
        bare = self.text.rstrip(_FINAL_MARKS)
        return "" if bare.endswith(BLANK) else bare


def keigo(context: GradingContext, ng_words: tuple[str, ...] = ()) -> Score:
    """A grade of the politeness language, 5 (nothing found) to 1 (rude, or plain form throughout).

    4: one minor fault; 3: one moderate or several minor ones; 2: several moderate or a major one.
    What is right follows 『敬語の指針』 (Agency for Cultural Affairs, 2007). Quotations are not read;
    headings, list items and tables may be in plain form. An English answer is read for rude wording, a
    complaint without an apology and words of the NG list only.
    """
    faults = findings(context, ng_words)
    grade = graded(faults)
    return Score(
        state="scored",
        value=grade / 5,
        raw=grade,
        severity=faults[0].severity if faults else None,
        reason=_reason(context, faults),
        detail={
            "findings": [
                {key: getattr(fault, key) for key in ("kind", "severity", "quote", "better")}
                for fault in faults[:KEPT]
            ]
        },
    )


def findings(context: GradingContext, ng_words: tuple[str, ...] = ()) -> list[KeigoFinding]:
    """All faults of an answer, the gravest first, then as they stand in it."""
    answer = context.turn.answer.text
    parts = sentences(answer)
    language_of_answer = "ja" if is_japanese(answer) else "en"
    faults = [match for sentence in parts for match in matches(answer, sentence, language_of_answer)]
    if language_of_answer == "ja":
        faults += [*plain_forms(answer, parts), *repeats(answer, parts)]
        faults += blunt_refusal(answer, context.turn.user, parts)
    faults += missing_apology(context)
    faults += listed(answer, ng_words, TEXTS(context.case.language, "ng_better"))
    return sorted(faults, key=lambda fault: (GRAVITY.index(fault.severity), fault.start))


def graded(faults: list[KeigoFinding]) -> int:
    """The grade 1..5 by the gravest faults and their number."""
    if any(fault.severity == "major" and fault.kind in ("rude", "plain_form") for fault in faults):
        return 1
    number = Counter(fault.severity for fault in faults)
    if number["major"] or number["moderate"] > 1:
        return 2
    if number["moderate"] or number["minor"] > 1:
        return 3
    return 5 - number["minor"]


def _reason(context: GradingContext, faults: list[KeigoFinding]) -> str:
    """One line that names the first few faults, with the better wording."""
    language = context.case.language
    if not faults:
        return TEXTS(language, "none")
    items = [
        TEXTS(
            language,
            "item" if fault.quote else "bare",
            severity=TEXTS(language, fault.severity),
            kind=TEXTS(language, fault.kind),
            **({"quote": " ".join(fault.quote.split())} if fault.quote else {}),
            better=fault.better,
        )
        for fault in faults[:NAMED]
    ]
    rest = TEXTS(language, "more", count=str(len(faults) - NAMED)) if len(faults) > NAMED else ""
    return TEXTS(language, "some", items=TEXTS(language, "between").join(items) + rest)


# --- What is wrong by its form ---


@cache
def tables(language: str) -> dict[str, Any]:
    """The patterns of a language as they stand in the file."""
    path = Path(__file__).with_name(f"_keigo_{language}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def pattern(language: str, kind: str, key: str) -> re.Pattern[str]:
    """A pattern of a table; a list of them matches where any does."""
    form = tables(language)[kind][key]
    return compiled(language, form if isinstance(form, str) else "|".join(f"(?:{word})" for word in form))


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


def matches(answer: str, sentence: Sentence, language: str) -> Iterator[KeigoFinding]:
    """What is wrong in a sentence by its form, each kind once per place."""
    taken: list[tuple[str, int, int]] = []
    for form in forms(language):
        for match in form.find.finditer(sentence.text):
            start, end = match.span()
            if any(form.kind == kind and start < b and a < end for kind, a, b in taken):
                continue
            if form.unless and form.unless.search(sentence.text):
                break
            taken.append((form.kind, start, end))
            better = form.better.substitute(match.groupdict(default=""))
            quote = quoted(answer, sentence, start, end)
            yield KeigoFinding(form.kind, form.severity, quote, better, sentence.start + start)


def quoted(answer: str, sentence: Sentence, start: int, end: int) -> str:
    """The words of the answer from `start` to `end` of a sentence, with a little of what is around them."""
    first = max(start - AROUND, 0)
    last = min(end + AROUND, len(sentence.text))
    return answer[sentence.start + first : sentence.start + last].strip()


def listed(answer: str, ng_words: tuple[str, ...], otherwise: str) -> Iterator[KeigoFinding]:
    """The words of the team's list that the answer holds, compared after NFKC and case folding.

    A line is the word, or `word => better`. A word that begins or ends with a Latin letter or a digit is
    found as a whole word only; a Japanese one wherever it stands.
    """
    plain, origin = _folded(answer)
    for line in dict.fromkeys(ng_words):
        word, *better = (part.strip() for part in _ARROW.split(line, maxsplit=1))
        match = _whole(_folded(word)[0]).search(plain) if word else None
        if match:
            start, end = origin[match.start()], origin[match.end()]
            quote = answer[max(start - AROUND, 0) : end + AROUND].strip()
            yield KeigoFinding("ng_word", "major", quote, "".join(better) or otherwise, start)


def _whole(word: str) -> re.Pattern[str]:
    before = r"(?<![a-z0-9])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"(?![a-z0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
    return re.compile(before + re.escape(word) + after)


# --- What shows in the answer as a whole ---


def plain_forms(answer: str, sentences: Sequence[Sentence]) -> Iterator[KeigoFinding]:
    """Sentences of prose that do not end politely; major when the answer has no polite one at all."""
    table = tables("ja")["plain_form"]
    ends = pattern("ja", "plain_form", "ends")
    plain = [sentence for sentence in sentences if sentence.prose and ends.search(sentence.core[-40:])]
    polite = pattern("ja", "plain_form", "polite")
    throughout = bool(plain) and not any(polite.search(sentence.text) for sentence in sentences)
    severity: Severity = "major" if throughout else table["severity"]
    for part in plain:
        yield _tail("plain_form", severity, answer, part, table["throughout" if throughout else "better"])


def repeats(answer: str, sentences: Sequence[Sentence]) -> Iterator[KeigoFinding]:
    """More させていただく than an answer bears, and orders (…てください) in a row."""
    sasete, order = tables("ja")["excess_sasete"], tables("ja")["commanding"]
    causative = pattern("ja", "excess_sasete", "one")
    places = [(sentence, match) for sentence in sentences for match in causative.finditer(sentence.text)]
    if len(places) > sasete["most"]:
        part, match = places[sasete["most"]]
        quote = quoted(answer, part, *match.span())
        yield KeigoFinding(
            "excess_sasete", sasete["severity"], quote, sasete["better"], part.start + match.start()
        )
    row, end = 0, pattern("ja", "commanding", "row")
    for part in sentences:
        row = row + 1 if part.prose and end.search(part.text) else 0
        if row == order["most"] + 1:
            yield _tail("commanding", "minor", answer, part, order["better"])


def missing_apology(context: GradingContext) -> Iterator[KeigoFinding]:
    """A complaint that is answered without a word of apology, and without a softening one."""
    answer = straight(context.turn.answer.text)
    spoken = "ja" if is_japanese(answer) else "en"
    if any(pattern(spoken, "complaint", key).search(answer) for key in ("apology", "cushion")):
        return
    table = tables(spoken)["complaint"]
    if complains(context.turn.user):
        yield KeigoFinding("missing_apology", table["severity"], "", table["better"])
    elif context.persona in table["upset_personas"] and _shouts(context):
        yield KeigoFinding("missing_apology", table["shouted_severity"], "", table["shouted_better"])


def complains(said: str) -> bool:
    """Whether the customer is upset, by their words."""
    language = "ja" if is_japanese(said) else "en"
    kept = pattern(language, "complaint", "not_cues").sub("", straight(said[:4000]))
    return bool(pattern(language, "complaint", "cues").search(kept))


def _shouts(context: GradingContext) -> bool:
    """An upset customer's exclamation mark, unless somebody has apologised to them before."""
    answers = [straight(turn.answer.text) for turn in context.earlier]
    soothed = any(
        pattern("ja" if is_japanese(text) else "en", "complaint", "apology").search(text) for text in answers
    )
    return not soothed and bool(pattern("ja", "complaint", "shouting").search(context.turn.user))


def blunt_refusal(answer: str, user: str, sentences: Sequence[Sentence]) -> Iterator[KeigoFinding]:
    """A wish refused in the first sentence of an answer that has no softening word anywhere."""
    if any(pattern("ja", "complaint", key).search(straight(answer)) for key in ("apology", "cushion")):
        return
    skipped = pattern("ja", "blunt_refusal", "skipped")
    first = next((sentence for sentence in sentences if not skipped.search(sentence.text)), None)
    if first is None or not first.prose:
        return
    before = answer[: first.start + len(first.text)]
    welcome = pattern("ja", "blunt_refusal", "unless").search(before)
    if not welcome and _refuses(first.core[-120:], user):
        table = tables("ja")["blunt_refusal"]
        yield _tail("blunt_refusal", table["severity"], answer, first, table["better"])


def _refuses(core: str, user: str) -> bool:
    """Whether a sentence refuses, and refuses what this customer spoke of."""
    if not user.strip() or not pattern("ja", "blunt_refusal", "ends").search(core):
        return False
    named, unnamed = (pattern("ja", "blunt_refusal", key) for key in ("named", "unnamed"))
    shared = set(named.findall(unnamed.sub("", core))) & set(named.findall(user))
    return bool(shared) or bool(pattern("ja", "blunt_refusal", "of_answer").search(core))


def _tail(kind: str, severity: Severity, answer: str, sentence: Sentence, better: str) -> KeigoFinding:
    start = sentence.start + max(len(sentence.text.rstrip()) - TAIL, 0)
    quote = answer[start : sentence.start + len(sentence.text)].strip()
    return KeigoFinding(kind, severity, quote, better, start)


# --- How an answer is read ---


def is_japanese(text: str) -> bool:
    """Whether any kana or kanji is in it."""
    return bool(_CJK.search(text))


def blanked(text: str) -> str:
    """The text, as long as before, with quotations, code and addresses blanked out."""
    masked = _QUOTED.sub(_blank, text)
    masked = _CORNERED.sub(_blank, masked)
    if masked.count(BLANK) * 5 > len(text) * 4:  # an answer that is one quotation is the answer
        masked = text
    return _BRACKETED.sub(lambda match: match[0].translate(_ENDS), masked)


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if character == "\n" else BLANK for character in match[0])


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of an answer in order; a line break ends one."""
    parts: list[Sentence] = []
    position, listing = 0, False
    lines = blanked(straight(text)).split("\n")
    unended = _prose_without_end(lines)
    for number, line in enumerate(lines):
        # What is indented below a list item belongs to it.
        mark = _MARK.match(line)
        listing = bool(mark) or (listing and line.startswith((" ", "\t", "　")))
        offset = mark.end() if mark else 0
        loose = not listing and "|" not in line and not _LABELLED.match(line)
        for piece in _SENTENCE.finditer(line, offset):
            ended = piece[0].rstrip("」』）)")[-1:] in "。！？!?" or number == unended
            kept = piece[0].lstrip(" 　\t")
            parts.append(Sentence(position + piece.end() - len(kept), kept, loose and ended))
        position += len(line) + 1
    return tuple(part for part in parts if part.text.strip())


def _prose_without_end(lines: list[str]) -> int:
    """The number of the last line, if what is above it ends its sentences (or nothing is): else -1."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    above = [lines[number].rstrip()[-1] in "。！？!?" for number in filled[:-1]]
    return filled[-1] if filled and all(above) else -1


def _folded(text: str) -> tuple[str, list[int]]:
    """The text after NFKC and case folding, and for each of its characters where it comes from."""
    plain: list[str] = []
    origin: list[int] = []
    marked, start = straight(text), 0
    while start < len(text):
        end = start + 1
        while end < len(text) and (unicodedata.combining(text[end]) or text[end] in "\uff9e\uff9f"):
            end += 1
        folded = nfkc(marked[start:end]).casefold()
        plain.append(folded)
        origin += [start] * len(folded)
        start = end
    return "".join(plain), [*origin, len(text)]
