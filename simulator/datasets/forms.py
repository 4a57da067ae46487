"""What the right answers of a data set look like, which says how answers can be compared with them."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from simulator.text.segments import CJK

Form = Literal["number", "phrase", "json", "code", "sentence", "text"]

# A word or a name is at most this long: characters in Japanese, words in English.
_WORD = {True: 12, False: 4}
# From here on an answer is a text of several sentences.
_TEXT = {True: 80, False: 40}

_NUMBER = re.compile(r"[¥$€£-]?\s*\d[\d,]*(?:\.\d+)?\s*(?:%|％|[^\W\d_]{1,3})?")
_CODE = re.compile(
    r"```|[{};]\s*(?:\n|$)|(?:^|\n)\s*(?:SELECT|INSERT|UPDATE|DELETE|def|class|import|function|const|let|var"
    r"|curl|git|docker|kubectl|sudo|cd|ls|grep)\s|(?:^|\s)--?[a-z][\w-]*(?:[=\s]|$)|=>|==|\w\(\w*\)"
)
# A short Japanese sentence without its full stop: something, a particle, and a predicate at the end.
_PREDICATE = re.compile(r"[^\s]+[がをはにでもへ].*(?:[るたすいだうくむぶぬつぐ]|ません|です|ます)")
_IS_CJK = re.compile(f"[{CJK}]")
_ENDS = re.compile(r"[。．.!?！？]\s*$")
_END = re.compile(r"[。！？]|[.!?](?:\s|$)")


def form_of(text: str) -> Form:
    """What one right answer is: a number, a short phrase, JSON, code or a command, a sentence, or more."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return "number"
    if _is_json(text):
        return "json"
    if _CODE.search(text):
        return "code"
    japanese = bool(_IS_CJK.search(text))
    length = len(text) if japanese else len(text.split())
    if length <= _WORD[japanese] and not (_ENDS.search(text) or _PREDICATE.fullmatch(text)):
        return "phrase"
    return "text" if length > _TEXT[japanese] or len(_END.findall(text)) > 2 else "sentence"


def usual_form(forms: Iterable[Form]) -> Form | None:
    """The form that most have; of several as frequent, the longest; None for none."""
    counts = Counter(forms)
    order: tuple[Form, ...] = ("phrase", "number", "code", "json", "sentence", "text")
    ranked = [(counts[form], place) for place, form in enumerate(order)]
    return order[max(ranked)[1]] if counts else None


def _is_json(text: str) -> bool:
    if text[:1] not in ("{", "["):
        return False
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False
