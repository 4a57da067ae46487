"""The letters of choices, and which of them is right."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from simulator.core.types import Case
from simulator.text.typography import nfkc, straight

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(count: int) -> str:
    """The letters of so many choices: `ABCD` of four."""
    return LETTERS[:count]


def right_letter(case: Case) -> str | None:
    """The letter of the right choice; None where the case has no choices, or does not say which is right."""
    if case.label is None or not 1 < len(case.choices) <= len(LETTERS):
        return None
    place = place_of(case.label, case.choices)
    return None if place is None else LETTERS[place]


def place_of(given: str, choices: Sequence[str]) -> int | None:
    """The place (from 0) of the choice that is meant by its text, letter or number (from 0); or None."""
    by_text = place_of_text(given, choices)
    if by_text is not None:
        return by_text
    marked = folded_choice(given).strip("()[]{}.: ")
    is_number = marked.isascii() and marked.isdecimal() and len(marked) < 3
    place = int(marked) if is_number else LETTERS.find(marked.upper() or "-")
    return place if 0 <= place < len(choices) else None


def place_of_text(given: str, choices: Sequence[str]) -> int | None:
    """The place (from 0) of the first choice with this text, exactly or but for what makes no difference."""
    if given in choices:
        return list(choices).index(given)
    wanted = folded_choice(given)
    return next((place for place, choice in enumerate(choices) if folded_choice(choice) == wanted), None)


def folded_choice(text: str) -> str:
    """A text without what makes no difference: width, case, spaces, marks around it."""
    plain = " ".join(nfkc(straight(text)).casefold().split())
    return plain.strip(" 。.、,!「」『』\"'") or plain


# Statements stand at the end: of a longer reply only so many characters are looked at, and these many first.
LONGEST = 20_000
NEAR = 300

_DRAFT = re.compile(r"</?(?:think|thinking|reasoning)>", re.IGNORECASE)
_BOX = "\ue000"  # in place of \boxed{
_BOXED = re.compile(r"\\(?:boxed|fbox)\s{0,3}\{")
_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf)\s{0,3}\{|\\[()\[\]]")
_MARKS = str.maketrans("", "", "{}$*`\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_TAG = re.compile(r"<(?!/?answer)/?[a-z]{1,10}>", re.IGNORECASE)
_HEADING = re.compile(r"^[ ]?#{1,6} ?", re.MULTILINE)
_SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_BREAKS = re.compile(r"(?: \n|\n)\s*")

# What the patterns are put together from: `Λ` is a letter of the choices, the one that is stated, and `λ` any
# other; `«` and `»` are the brackets and quotation marks around it.
_PIECES = {
    "«": r"[(\[「『【〈《\"']{0,3} ?",
    "»": r" ?[)\]」』】〉》\"']{0,3}",
    # Not within a word, nor in a compound with kanji or katakana (A型, Cタイプ).
    "Λ": r"(?<![A-Za-z0-9])(?P<letter>[LETTERS])(?![A-Za-z0-9]|['-][A-Za-z]|(?!番)[一-鿿ァ-ヶー])",
    "λ": r"(?<![A-Za-z0-9])[LETTERS](?![A-Za-z0-9])",
}
_STRONG_EN = (
    r"\b(?:(?:answer|ans)(?: choice| option| letter)?"
    r"|(?:correct|right|best|final) (?:choice|option|letter|one))»"
    r"(?P<colon> ?[:=→]\s*| - | is ?:\s*)?"
    r"(?(colon)| (?:is|would be|should be|must be|will be|has to be) )"
    r"(?:(?:most likely|likely|probably|clearly|definitely|therefore|thus|simply|just|indeed|the"
    r"|option|choice|letter|answer) ?:? ?){0,5}(?:not «λ» ?,? ?(?:but|rather) )?«Λ"
)
_STRONG_JA = (
    r"(?:答え|答|解答|回答|正解|正答|(?:正しい|適切な|妥当な|最適な)(?:選択肢|記号|番号|もの))"
    r"(?:の(?:選択肢|記号|番号)|となる選択肢|選択肢)?»"
    r"(?P<colon> ?(?:は|が|:|=|→|⇒|として)[はが:、, ]{0,3}\s*| ?\n+(?=«[LETTERS]»(?:\n|$|[.:)])))?"
    r"(?:おそらく|やはり|明らかに|間違いなく|(?:次|以下)の(?:とおり|通り)(?:です)?[:。]?\s*|、| ){0,5}"
    r"(?:«λ»(?:では|でも|じゃ)(?:なくて?)?[、,]? ?){0,9}(?:«(?:選択肢|記号|番号|オプション)»(?:の|は|:)? ?)?"
    r"«Λ(?(colon)|(?! ?[はがもをとのに]))"
)
# As simple-evals reads its questions in other languages.
_STRONG_ELSEWHERE = (
    r"(?:\b(?:antwort|respuesta|risposta|réponse|resposta|jawaban)|答案|답변|정답|답|উত্তর|उत्तर|الإجابة|إجابة)"
    r"»(?P<colon> ?: ?)«Λ"
)
_STRONG_BOXED = rf"(?:{_BOX}|<answer>\s*)«Λ"
_WEAK = (
    r"«(?<!to )(?<!or )(?<!and )(?<!not )Λ» (?:is|would be|must be|seems) (?:the )?(?:(?:most|best|only) )?"
    r"(?:correct|right|best|accurate|appropriate|answer)\b",
    r"\bI(?:'d| would| will|'ll)? (?:choose|pick|select|go with|answer|say) (?:option |choice )?«Λ",
    r"\b(?:(?:therefore|thus|hence|so),?|it's|it is) (?:it's |it is |option |choice )?«Λ"
    r"(?=»[.!]?(?:$|\n))",
    # With the choice's own words between: (C) 24 is the correct answer, C（24）が正解.
    r"«Λ[.:)] ?[^\n]{1,120}? (?:is|would be) (?:the )?(?:correct|right|best) (?:answer|choice|option)\b",
    r"«Λ ?[.:)(] ?[^\n。]{1,80}?」?が(?:正解|正答|正しい|最も適切)(?!では|でな)",
    r"«Λ» ?(?:が|こそ)、?(?:最も|一番|もっとも)?"
    r"(?:正解|正答|正しい|適切|妥当|答え|当てはま|該当)(?!では|でな)",
    r"«Λ» ?(?:を(?:選び|選ぶ|選択し|選択する)|と(?:答え|回答し)ます)",
    r"(?:の|もの|選択肢|記述|説明)は、? ?(?:選択肢)?«Λ(?=» ?(?:です|だ|である|とな|にな|。|$|\n))",
    r"(?:よって|したがって|従って|ゆえに|以上より|以上から|つまり)、? ?(?:選択肢)?«Λ"
    r"(?=» ?(?:です|だ|である|とな|にな|。|$|\n))",
    r"選択肢«Λ(?=» ?(?:です|だ|である|にな|とな|。|$|\n))",
)
# A line that is nothing but a letter, with or without the choice's own text behind it.
_LINE = (
    r"[-•> ]{0,3}(?:(?:選択肢|記号|オプション|option|choice|answer|letter) ?:? ?)?«Λ»番?"
    r"(?:[.:)、] ?(?P<text>.*)| (?P<apart>.*)"
    r"|(?:です|だ|である|になります|となります|でしょう|と考えます|(?:か)?と思います)?[。.!]{0,3})"
)
# What makes it two answers, none, or the article of a sentence.
_OTHER = (
    r"» ?(?:,|、|/|・|&|~|〜|-|\+|と|か|や|または|又は|もしくは|および|及び|から|\bor\b|\band\b) ?"
    r"(?:選択肢|option )?«λ"
    r"(?=» ?(?:$|\n|[.。,、/・]|or\b|and\b|です|だ|である|の(?:どちら|いずれ|両|どれ|うち)|が正|[かと]))"
)
_DENIED = (
    r"» ?(?:では|じゃ|でも|とは)?(?:な[いくかさ]|ありません|言えな|限ら)"
    r"|»? (?:is|are) (?:not|wrong|incorrect)\b"
)
_BY_TEXT = (
    r"\banswer»(?: is)? ?[:=]\s*(?P<line>[^\n]{1,500})",
    r"(?:答え|正解|正答|解答|回答)» ?[:=は]\s*(?P<line>[^\n]{1,500})",
)
_COPULA = re.compile(r"(?:です|である|だ|になります)[。.!]?$")
_ARTICLE = re.compile(
    r" (?!(?:because|since|as|and|for|which|with|due|so|but|the|is|based|given|according)\b)[a-z]",
    re.IGNORECASE,
)


class Stated(NamedTuple):
    """A choice as an answer states it: its letter, and how it was stated.

    `how`: "answer" (said to be the answer), "letter" (nothing else is said), "text" (the choice's own text),
    "weak" (said to be right), "likelihood" (the likeliest, by the endpoint).
    """

    letter: str
    how: str


class _Patterns(NamedTuple):
    strong: tuple[re.Pattern[str], ...]
    weak: tuple[re.Pattern[str], ...]
    line: re.Pattern[str]
    other: re.Pattern[str]
    denied: re.Pattern[str]
    by_text: tuple[re.Pattern[str], ...]


def stated(answer: str, choices: Sequence[str]) -> Stated | None:
    """The choice that an answer states last; None where it states none, or leaves it open."""
    if not 1 < len(choices) <= len(LETTERS):
        return None
    text = _plain(answer)
    patterns = _patterns(len(choices))
    if whole := _whole(text, choices, patterns):
        return whole
    tail = text[-LONGEST:]
    last_lines = tail[tail.rfind("\n", 0, max(0, len(tail) - NEAR)) + 1 :]
    for how, part, kinds in (
        ("answer", last_lines, patterns.strong),
        ("answer", tail, patterns.strong),
        ("weak", tail, patterns.weak),
    ):
        found = _statements(part, kinds, patterns)
        found += _said_by_text(part, choices, patterns) if how == "answer" else []
        if found:
            letter = max(found)[1]
            return Stated(letter, how) if letter else None
    return _by_line(text, choices, patterns)


def _plain(answer: str) -> str:
    """The reply without its draft, Markdown, LaTeX and differences of width, in short lines of text."""
    parts, tags = _DRAFT.split(answer), _DRAFT.findall(answer)
    # A reply that breaks off within its draft said only what stands before that.
    said = parts[-1] if not tags or tags[-1].startswith("</") else parts[0]
    text = nfkc(straight(said))
    if "\\" in text:
        text = _LATEX.sub("", _BOXED.sub(_BOX, text))
    text = _TAG.sub("", text.translate(_MARKS).replace("__", ""))
    return _HEADING.sub("", _BREAKS.sub("\n", _SPACES.sub(" ", text))).strip()


def _whole(text: str, choices: Sequence[str], patterns: _Patterns) -> Stated | None:
    """The choice when the reply is nothing but its letter or its text."""
    bare = text.strip(f"()[]「」『』【】\"'. 。,、!:{_BOX}")
    if len(bare) == 1 and bare.upper() in LETTERS[: len(choices)]:
        return Stated(bare.upper(), "letter")
    place = _text_place(text, choices)
    return None if place is None else Stated(LETTERS[place], "text")


def _text_place(text: str, choices: Sequence[str]) -> int | None:
    """The place of the one choice whose text this is; None where two say the same."""
    if len(text) > LONGEST:
        return None
    said = folded_choice(text)
    places = [place for place, choice in enumerate(choices) if said and folded_choice(choice) == said]
    return places[0] if len(places) == 1 else None


def _statements(text: str, kinds: Sequence[re.Pattern[str]], patterns: _Patterns) -> list[tuple[int, str]]:
    """Where a choice is stated, and its letter; an empty one where the statement leaves it open."""
    found = []
    for kind in kinds:
        for match in kind.finditer(text):
            at, letter = match.end("letter"), match["letter"]
            if patterns.denied.match(text, at) or _is_article(match, text):
                continue
            found.append((at, "" if patterns.other.match(text, at) else letter.upper()))
    return found


def _is_article(match: re.Match[str], text: str) -> bool:
    """Whether the "letter" is a word of a sentence: `the answer is a matter of taste`, `Answer: I think`."""
    letter = match["letter"]
    if letter not in "aAiI" or not _ARTICLE.match(text, match.end("letter")):
        return False
    return letter != "A" or not match.groupdict().get("colon")


def _said_by_text(text: str, choices: Sequence[str], patterns: _Patterns) -> list[tuple[int, str]]:
    """Where the answer is stated by a choice's own text, to the end of the line: `Answer: the Nile`."""
    found = []
    for match in (each for kind in patterns.by_text for each in kind.finditer(text)):
        line = match["line"].strip()
        places = (_text_place(line, choices), _text_place(_COPULA.sub("", line), choices))
        place = next((each for each in places if each is not None), None)
        if place is not None and len(line) > 1:
            found.append((match.end("line"), LETTERS[place]))
    return found


def _by_line(text: str, choices: Sequence[str], patterns: _Patterns) -> Stated | None:
    """The one letter that stands in a line of its own."""
    found = set()
    for line in text[-LONGEST:].splitlines():
        if match := patterns.line.fullmatch(line):
            letter, behind = match["letter"].upper(), match["text"] or match["apart"]
            if not behind or folded_choice(behind) == folded_choice(choices[LETTERS.index(letter)]):
                found.add(letter)
    return Stated(found.pop(), "letter") if len(found) == 1 else None


@lru_cache(maxsize=32)
def _patterns(count: int) -> _Patterns:
    last = LETTERS[count - 1]
    letters = f"A-{last}a-{last.lower()}"

    def compiled(source: str) -> re.Pattern[str]:
        for piece, pattern in _PIECES.items():
            source = source.replace(piece, pattern)
        return re.compile(source.replace("LETTERS", letters), re.IGNORECASE)

    return _Patterns(
        strong=tuple(map(compiled, (_STRONG_EN, _STRONG_JA, _STRONG_ELSEWHERE, _STRONG_BOXED))),
        weak=tuple(map(compiled, _WEAK)),
        line=compiled(_LINE),
        other=compiled(_OTHER),
        denied=compiled(_DENIED),
        by_text=tuple(map(compiled, _BY_TEXT)),
    )
