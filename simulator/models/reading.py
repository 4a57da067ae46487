r"""Reading the form in a model's reply: strictly if it can be, repaired if it must be.

Endpoints with strict schemas send nothing but the form. Others wrap it in prose and code fences, think aloud
before it, write it as Python would or with the keys of a function call, and break off. With the form
{"reason": text, "grade": 1..5}:

    <think>{"grade": 1}?</think>{"reason": "ok", "grade": 4}     4: what is thought is not said
    {"reason": "a", "grade": 2} No: {"reason": "b", "grade": 3}  refused: two verdicts, and one is meant
    {"reason": "a", "grade": 2} So: {"reason": "a", "grade": 2}  2: the same said twice
    {"reason": "a", "grade": 2, "grade": 3}                      refused
    {'reason': 'ok', 'grade': '4/5',}                            4: Python's quotes, a trailing comma
    {{"reason": "ok", "grade": 4}}                               4: doubled braces, from a template's example
    ｛"reason"： "ok"， "grade"： 4｝                               4: full-width signs outside strings
    {"arguments": {"reason": "ok", "Grade": 4}}                  4: the form within another object
    {"reason": "it says "yes"", "grade": 4}                      4: bare quotation marks, in pairs
    {"reason": "costs \$30", "grade": 4}                         4: an escape that JSON does not know
    {"reason": "ok", "grade": 4, "note": "un                     4: what is missing is not part of the form
    {"reason": "ok", "grade": 4                                  refused: the 4 may be half of something
    {"reason": "ok", "grade": 4 or 5}                            refused
    {"reason": "a 5" screen", "grade": 4}                        refused: where the reason ends is a guess
    {"reason": "it says {"grade": 5}", "grade": 1}               refused: whose grade is whose, too
    {"answer": {"reason": "x", "grade": 5}}                      refused: the bot's answer, quoted

The rule behind it: whatever is repaired must have one meaning only. A judge that is read wrongly is worse
than one that is asked again, and a bot's answer, which a judge quotes, may hold a verdict of its own on
purpose: before the judge's or after it. So of two whole verdicts neither counts, unless both say the same.

In order: cut off what was thought (`_objects`), take whole objects (`_values`), repair what is left
(`_repaired`) and take objects again, if need be with bare quotation marks escaped (`_escaped`), choose the
binding one (`_binding`), have pydantic check it, and see that no other one says something else (`_is_torn`).

Repeats that could backtrack are possessive (`*+`): a model can write 200 kB of blanks or brackets, on which
others would take minutes.
"""

import functools
import json
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from simulator.core.errors import MalformedReply, value_problem
from simulator.core.messages import Message, _, encodable
from simulator.core.patterns import LazyPattern
from simulator.core.replies import Model, Reply, as_key, under_keys
from simulator.models.forms import strict_schema

# Reasoning before the first object, closed or cut off; and up to a mark whose opening was in the prompt. Tags
# as DeepSeek and Qwen (<think>), Seed (<seed:think>), Mistral ([THINK]) and Kimi (◁think▷) write them.
_THOUGHT = r"(?:seed:)?(?:think(?:ing)?|thought|reasoning|analysis|reflection|scratchpad)"


_REASONING = LazyPattern(
    rf"\A(?:[^{{｛\[<◁]++|[<\[◁]{_THOUGHT}[>\]▷].*?(?:[<\[◁]/{_THOUGHT}[>\]▷]|\Z)|[<◁]|\[(?!\s*+\{{))*",
    re.DOTALL | re.IGNORECASE,
)
_CHANNEL = LazyPattern(
    r"\A\s*+<\|channel\|>analysis<\|message\|>.*?<\|channel\|>final<\|message\|>", re.DOTALL
)
_REASONED = LazyPattern(r"\A.*[<\[◁]/think(?:ing)?[>\]▷][ \t]*+(?:\r?\n|\Z)", re.DOTALL | re.IGNORECASE)
# What stands for a space in a form: wide and zero-width ones, a byte order mark.
_BLANKS = "\u00a0\u3000\u200b\u200c\u200d\u2060\ufeff"
# Where an object, or a list of objects, may begin: a brace before a quotation mark, another brace, a comment
# or a Python key. One in a sentence ("the set {a, b}") does not.
_OPENING = LazyPattern(rf"""[{{｛][\s{_BLANKS}]*+(?:["“”„＂{{}}｛｝]|/[/*]|'\w++'\s*+[:：])|\[\s*+\{{""")
# A whole reply that is the text of an object as JSON writes it within a string.
_ENCODED = LazyPattern(r'\s*+(?:```\w*+\s*+)?"?(\{(?:\s|\\n)*\\".*\})"?\s*+(?:```)?\s*+', re.DOTALL)
# A whole reply that is an object, perhaps in a fence.
_LONE = LazyPattern(r"\s*+(?:```\w*+\s*+)?[{｛].*[}｝]\s*+(?:```)?\s*+", re.DOTALL)
# Strings by the mark that a form's keys begin with; and comments, which may hold marks. "//" after a colon is
# an address (https://...), and no comment.
_COMMENT = r"(?:(?<!:)//|(?<=\s)#)[^\n]*+\n?|/\*[^*]*+\*/"
_QUOTED = {
    '"': LazyPattern(rf'(")((?:[^"\\]++|\\.?)*)("|\Z)|{_COMMENT}', re.DOTALL),
    "'": LazyPattern(rf"""(["'])((?:(?!\1)[^\\]|\\.?)*)(\1|\Z)|{_COMMENT}""", re.DOTALL),
    "“": LazyPattern(rf"([“”„＂])([^“”„＂]*+)([“”„＂]|\Z)|{_COMMENT}", re.DOTALL),
}
_MARK = LazyPattern(rf"[{{｛\[\s{_BLANKS}]*+(['“”„＂]?)")
# Escapes that JSON does not know. Before a letter or digit the backslash is meant: paths of Windows, LaTeX's
# \\sqrt, the yen sign of Japanese keyboards. Before a sign it is not: \\$30, \\_, \\'.
_ESCAPE = LazyPattern(r'\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|"', re.DOTALL)
_ESCAPES = {'"': '\\"'} | {f"\\{sign}": f"\\{sign}" for sign in '"\\/bfnrt'}
_STRING = LazyPattern(r'("(?:[^"\\]++|\\.?)*(?:"|\Z))', re.DOTALL)
_TRAILING_COMMA = LazyPattern(r",(?=\s*+[}\]])")
_PYTHON = LazyPattern(r"\b(?:True|False|None)\b")
_SYNTAX = dict.fromkeys(map(ord, _BLANKS), " ") | str.maketrans(
    "０１２３４５６７８９：，、｛｝［］", "0123456789:,,{}[]"
)
# Of text with bare quotation marks (`_escaped`): what is no content, by the mark of the first key; marks with
# what escapes them; an apostrophe within a word, which is none; a key; what ends a key, a text in an object
# and one in a list; and what an opening mark stands before.
_GAP = rf"[\s{_BLANKS}]*+"
_TOKENS = {
    '"': LazyPattern(rf'{_COMMENT}|["{{}}\[\],:｛｝［］，：]'),
    "'": LazyPattern(rf"""{_COMMENT}|["'{{}}\[\],:｛｝［］，：]"""),
}
_MARKS = {mark: LazyPattern(rf"\\.|{mark}", re.DOTALL) for mark in ("'", '"')}
_APOSTROPHE = LazyPattern(r"(?<=[A-Za-z])'(?=[A-Za-z])")
_KEY = r"""(?P<mark>["'])(?P<key>[^"'\\\n]{1,60})(?P=mark)""" + rf"{_GAP}[:：]"
_WRITTEN_KEY = LazyPattern(rf"(?={_KEY})")
_ENDS = {
    "key": LazyPattern(rf"{_GAP}[:：]"),
    "{": LazyPattern(rf"{_GAP}(?:[}}｝]|[,，]{_GAP}(?:[}}｝]|{_KEY}))"),
    "[": LazyPattern(rf"""{_GAP}(?:[\]］]|[,，]{_GAP}["'\[{{\]\d.-])"""),
}
_INNER = LazyPattern(rf"(?!{_GAP}[}}\],:｝］，：])\S")
_CONTROLS = {code: f"\\u{code:04x}" for code in range(32)}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that it has twice, with different values, has the list of them, and so no grade."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    values: dict[str, list[Any]] = {}
    for key, value in pairs:
        if value not in values.setdefault(key, []):
            values[key].append(value)
    return {key: different if different[1:] else different[0] for key, different in values.items()}


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once)  # line breaks within strings are common
# Keys of an object around a form that say that somebody else's words are quoted in it.
_MATERIAL = {"answer", "question", "history", "passage", "passages", "reference", "quote"}


def parse_reply(text: str, reply_form: type[Model]) -> Model:
    """The form in what a model wrote: the last complete object that fills it in, else the cut-off one.

    What is said last is binding: an unusable last verdict is no reason to take an earlier one, and an earlier
    one that is whole and says something else is a second meaning. Raises MalformedReply with one sentence
    that can be given back to the model.
    """
    # `rests` is the broken end as it is, and repaired; what counts is the repaired one.
    objects, *rests = _objects(text, reply_form)
    return _filled(*_binding(objects, rests[-1], reply_form), text, reply_form)


def _filled(value: Any, attempts: Sequence[Any], text: str, reply_form: type[Model]) -> Model:
    """The form with the binding value of all that is about it; a message is why there is none."""
    if isinstance(value, Message):
        raise MalformedReply("malformed", value, raw=text)
    try:
        filled = reply_form.model_validate(value)
    except ValidationError as error:
        raise MalformedReply("malformed", _problem(error), raw=text) from None
    if _is_torn(attempts, reply_form):
        raise MalformedReply("malformed", TORN, raw=text)
    return filled


# What a model is told that wrote, or quoted, a second verdict which says something else.
TORN = _("there is more than one verdict in the reply, and they differ; write one")


def _is_torn(values: Sequence[Any], reply_form: type[BaseModel]) -> bool:
    """Whether several of these fill in the form, and not all in the same way."""
    if len(values) < 2:
        return False
    filled: list[BaseModel] = []
    for value in values:
        try:
            filled.append(reply_form.model_validate(value))
        except ValidationError:
            continue
    return any(other != filled[0] for other in filled[1:])


def parse_parts(text: str, reply_form: type[BaseModel]) -> dict[str, Reply | MalformedReply]:
    """Each part of a form of forms by itself: filled in, or why it is not.

    What is off the scale, missing, no JSON, cut off or said in two ways costs no other part anything.
    """
    objects, *rests = _objects(text, reply_form)
    value, attempts = _binding(objects, rests[-1], reply_form)
    broken = _whole_parts(rests, reply_form) if rests[0] else {}
    whole: MalformedReply | None = None
    try:
        _filled(value, attempts, text, reply_form)
    except MalformedReply as error:
        whole = error
    found = {name: each[-1] for name, each in broken.items() if each}
    values = value if isinstance(value, dict) else found
    parts: dict[str, Reply | MalformedReply] = {}
    for name, field in reply_form.model_fields.items():
        form: type[Reply] = field.annotation  # type: ignore[assignment]
        said = [each[name] for each in attempts if isinstance(each, dict) and name in each]
        said += broken.get(name, ())
        # An object that is about another part alone takes nothing back of this one.
        if name not in values and said and isinstance(value, dict):
            values = {**values, name: said[-1]}
        # "missing" only where there was an object; else the reason is that of the whole.
        if name not in values:
            missing = _("{name}: {problem}", name=name, problem=_("missing"))
            reason = missing if isinstance(value, dict) or whole is None else whole.message
            parts[name] = MalformedReply("malformed", reason, raw=text)
        elif _is_torn(said, form):
            torn = _("{name}: {problem}", name=name, problem=TORN)
            parts[name] = MalformedReply("malformed", torn, raw=_shown(said, text))
        else:
            try:
                parts[name] = form.model_validate(values[name])
            except ValidationError as error:
                raw = _shown([values[name]], text)
                parts[name] = MalformedReply("malformed", _problem(error, name), raw=raw)
    # With nothing readable, one problem for all says more than the same one four times.
    read_any = any(not isinstance(part, MalformedReply) for part in parts.values())
    return parts if read_any or whole is None else dict.fromkeys(parts, whole)


def _shown(values: Sequence[Any], text: str) -> str:
    """Values as JSON, a line each; the whole text where they are nested too deep to be shown."""
    try:
        return "\n".join(str(encodable(json.dumps(value, ensure_ascii=False))) for value in values)
    except RecursionError:
        return text


def _whole_parts(rests: Sequence[str], reply_form: type[BaseModel]) -> dict[str, list[Any]]:
    """What can be read of a broken object's parts, in their order; `rests` are its readings.

    Of {"turn": {...}, "fluency": {"grade": 4 or 5}} the turn's part is whole. A part whose last place cannot
    be read has none: what was said last is binding.
    """
    forms = [field.annotation for field in reply_form.model_fields.values()]
    inner = {key for each in forms for key in getattr(each, "model_fields", ())}
    parts: dict[str, list[Any]] = {}
    for rest, name in product(rests, reply_form.model_fields):
        # A key of the same name within another part holds no object.
        # Not after a backslash: there it stands within a string, which quotes a reply.
        key = rf'(?<!\\)"{re.escape(name)}"\s*+:\s*+' + (r"(?=\{)" if name in inner else "")
        places = [_decode(rest, place.end()) for place in re.finditer(key, rest, re.IGNORECASE)]
        if name not in parts and places and places[-1]:
            parts[name] = [decoded[0] for decoded in places if decoded]
    return parts


def _objects(text: str, reply_form: type[BaseModel]) -> tuple[list[Any], str, str]:
    """The complete objects of a reply, and the broken rest: as it is, and repaired as far as it can be."""
    reasoned = _REASONED.match(text) or _CHANNEL.match(text)
    said = text[reasoned.end() :] if reasoned else text
    said = said[_REASONING.match(said).end() :]  # type: ignore[union-attr]
    # Some gateways encode the reply twice.
    encoded = _ENCODED.fullmatch(said)
    decoded = encoded and _decode(f'"{encoded[1]}"')
    keys = _keys(reply_form)
    objects, rest = _values(decoded[0] if decoded else said, keys)
    # Nothing is broken, as nearly always.
    if not rest:
        return objects, "", ""
    if not _OPENING.match(rest):
        return objects, rest, rest
    repaired, left = _values(_repaired(rest), keys)
    if left and (escaped := _escaped(rest, keys)):
        again, still_left = _values(_repaired(escaped), keys)
        if not still_left:
            return objects + again, "", ""
    return objects + repaired, rest, left


def _problem(error: ValidationError, *within: str) -> Message:
    first = error.errors(include_url=False, include_input=True)[0]
    where = ".".join(map(str, (*within, *first["loc"]))) or "reply"
    value = first["input"]
    # Lists and objects are not quoted: they may be nested too deep for that.
    shown = type(value).__name__ if isinstance(value, (dict, list)) else repr(str(value)[:20])
    problem = value_problem(first)
    if first["type"] == "missing":
        return _("{name}: {problem}", name=where, problem=problem)
    return _("{name}: {problem} (it was {value})", name=where, problem=problem, value=shown)


def _decode(text: str, at: int = 0) -> tuple[Any, int] | None:
    """The value that begins there and where it ends; None when it is not JSON."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def _values(text: str, keys: frozenset[str]) -> tuple[list[Any], str]:
    """The complete objects (or lists) in order, and the rest, not looked into: it may hold quotations.

    The rest begins with a broken object; or it is what follows the last one, if that names any of `keys`:
    in {"reason": "it says x", "grade": 5} to me", "grade": 1} the reason ended too early.
    """
    values: list[Any] = []
    at = 0
    while opening := _OPENING.search(text, at):
        decoded = _decode(text, opening.start())
        if decoded is None:
            return values, text[opening.start() :]
        value, at = decoded
        values.append(_only(value))
    return values, text[at:] if values and _named(text[at:], keys) else ""


def _only(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _repaired(text: str) -> str:
    """Without doubled braces, trailing commas, full-width signs and a closing fence outside its strings.

    Strings are parted from the rest first, so that "９,８００円、送料込み" within one stays as it is.
    """
    # As in the examples of prompts for str.format; a single {{ within would be an object in an object.
    doubled = text.startswith("{{")
    # Python's and typographic quotation marks become JSON's, and comments go.
    # The first key tells how strings are marked in all of the object.
    mark = _MARK.match(text)[1] or '"'  # type: ignore[index]
    requoted = _QUOTED.get(mark, _QUOTED["“"]).sub(_as_json, text)
    parts = _STRING.split(requoted)
    for place, part in enumerate(parts):
        if place % 2:
            parts[place] = part.translate(_CONTROLS)
        else:
            syntax = part.translate(_SYNTAX).replace("```", "\n")
            syntax = syntax.replace("{{", "{").replace("}}", "}") if doubled else syntax
            syntax = _PYTHON.sub(lambda word: {"None": "null"}.get(word[0], word[0].lower()), syntax)
            parts[place] = _TRAILING_COMMA.sub("", syntax)
    return "".join(parts)


def _as_json(found: re.Match[str]) -> str:
    if not found[1]:  # what holds an object, or ends the text, is no comment
        return found[0] if "{" in found[0] or found.end() == len(found.string) else " "
    body = _ESCAPE.sub(_as_escape, found[2])
    return f'"{body}"' if found[3] else f'"{body}'


def _as_escape(found: re.Match[str]) -> str:
    escape = found[0]
    if escape in _ESCAPES or len(escape) > 2:
        return _ESCAPES.get(escape) or escape.replace("\\x", "\\u00")
    return f"\\{escape}" if escape[1].isalnum() else escape[1]


def names_key_of(text: str, reply_form: type[BaseModel]) -> bool:
    """Whether the text has a key of this form, with marks and a colon."""
    return _named(text, _keys(reply_form)) > 0


def lone_form(text: str) -> str:
    """The text, behind a closing mark of reasoning, if it is an object from end to end; else ""."""
    reasoned = _REASONED.match(text)
    said = text[reasoned.end() :] if reasoned else text
    return said if _LONE.fullmatch(said) else ""


@functools.lru_cache(maxsize=512)
def _keys(reply_form: type[BaseModel]) -> frozenset[str]:
    """All keys of a form, and of the forms within it, as they are compared."""
    schema = strict_schema(reply_form)
    forms = [schema, *schema.get("$defs", {}).values()]
    return frozenset(as_key(name) for form in forms for name in form.get("properties", ()))


def _escaped(text: str, keys: frozenset[str]) -> str:
    """Broken objects with their bare quotation marks escaped; "" where a mark could mean two things.

    Small models write {"reason": "it says "yes", and "no"", "grade": 4}. A string ends at the first mark
    behind which the object goes on, not counting marks within pairs. To be certain of it, no mark may stand
    where it would be an end by its place and none by its pair, and all of `keys` that are written anywhere
    have to be keys of these objects: what is quoted from a bot or follows as prose names none of them.
    """
    pieces: list[str] = []
    at, text = 0, _APOSTROPHE.sub(r"\\'", text)
    while opening := _OPENING.search(text, at):
        if not (taken := _taken(text, opening.start(), keys)):
            return ""
        pieces += [text[at : opening.start()], taken[0]]
        at = taken[1]
    return "".join(pieces) + text[at:] if not _named(text[at:], keys) else ""


def _taken(text: str, start: int, keys: frozenset[str]) -> tuple[str, int] | None:
    """The object or list that begins at `start`, with its bare marks escaped, and where it ends."""
    # The first key tells which marks there are; Python writes a string with an apostrophe in the other ones.
    first = _MARK.match(text, start)
    token = _TOKENS["'" if first and first[1] == "'" else '"']
    pieces: list[str] = []
    brackets: list[str] = []
    at, is_key, named = start, False, 0
    while met := token.search(text, at):
        pieces.append(text[at : met.end()])
        at, sign = met.end(), met[0].translate(_SYNTAX)
        if sign in "{[":
            brackets.append(sign)
        elif sign in "}]":
            brackets.pop()
            if not brackets:
                return ("".join(pieces), at) if _named(text[start:at], keys) == named else None
        elif sign in ("'", '"'):
            ends = _ENDS["key" if is_key else brackets[-1]]
            if (string := _string(text, at, sign, ends, whole=is_key)) is None:
                return None
            named += is_key and as_key(string[0]) in keys
            pieces.append(string[0] + sign)
            at = string[1]
        # Comments change nothing.
        if sign in "{},:[]":
            is_key = brackets[-1] == "{" and sign in "{,"
    return None


def _string(text: str, at: int, mark: str, ends: LazyPattern, *, whole: bool) -> tuple[str, int] | None:
    """The content of the string that begins at `at`, with its marks escaped, and where it ends.

    None where it has no certain end, or marks of its own though it has to be `whole`.
    """
    pieces: list[str] = []
    is_open = False
    for met in _MARKS[mark].finditer(text, at):
        if met[0] == mark:
            is_end = ends.match(text, met.end())
            if is_end and not is_open:
                return "".join(pieces) + text[at : met.start()], met.end()
            # A pair may hold what looks like an end, "like this", but no key; and it hugs what is quoted.
            is_pair = not (is_end and is_end.groupdict().get("key")) and not text[met.start() - 1].isspace()
            if whole or not (is_pair if is_open else _INNER.match(text, met.end())):
                return None
            pieces += [text[at : met.start()], "\\", mark]
            at, is_open = met.end(), not is_open
    return None


def _named(text: str, keys: frozenset[str]) -> int:
    """How many of these keys are written there, with marks and a colon."""
    return sum(as_key(met["key"]) in keys for met in _WRITTEN_KEY.finditer(text))


def _binding(objects: list[Any], rest: str, reply_form: type[BaseModel]) -> tuple[Any, list[Any]]:
    """The value that counts, or one sentence on why there is none; and all values that are about the form.

    From the last object to the first, the first that is about the form at all; a broken end that names one of
    the form's keys goes before all of them, since it was said last.
    """
    cut, folded = None, rest.casefold().replace("'", '"')
    if folded and any(f'"{name.casefold()}"' in folded for name in reply_form.model_fields):
        cut = _cut_off(rest)
        if cut is None:
            again = _restarted(rest)
            if not again:
                attempts = [attempt for value in objects if (attempt := _attempt(value, reply_form))]
                return _("the JSON object in the reply is broken"), attempts
            objects = [*objects, *again]
    attempts = [attempt for value in objects if (attempt := _attempt(value, reply_form))]
    ending = _whole(cut, reply_form) if cut is not None else None
    if attempts:
        return attempts[-1], [*attempts, *([ending] if ending else [])]
    if cut is not None:
        return ending or _("the JSON object in the reply is cut off"), []
    return (objects or [_("there is no JSON object in the reply")])[-1], []


def _attempt(value: Any, reply_form: type[BaseModel]) -> Any:
    """The value under the form's own keys, out of an object around it; None if it is about something else."""
    if isinstance(value, list):
        return value if any(_attempt(item, reply_form) for item in value if isinstance(item, dict)) else None
    fields = reply_form.model_fields
    named = under_keys(value, fields) if isinstance(value, dict) else {}
    if not fields.keys().isdisjoint(named):
        return named
    needed = {name for name, field in fields.items() if field.is_required()}
    inner = [_only(part) for key, part in named.items() if as_key(key) not in _MATERIAL]
    forms = [under_keys(part, fields) for part in inner if isinstance(part, dict)]
    whole = [part for part in forms if needed <= part.keys()]
    return whole[0] if len(whole) == 1 else None


def _restarted(rest: str) -> list[Any]:
    """The object that begins a line after a broken one and ends the text."""
    start = rest.rfind("\n{")
    decoded = _decode(rest, start + 1) if start >= 0 and not rest.startswith("[") else None
    return [decoded[0]] if decoded and not rest[decoded[1] :].strip() else []


def _cut_off(text: str) -> dict[str, Any] | None:
    """What is whole of an object that ends too early; None if it is broken in another way."""
    text = text.rstrip(" \t").rstrip("0123456789.+-")  # which may be half a number
    if _repeats_a_key(text):
        return None
    try:
        value = from_json(text, allow_partial=True) if _ends_too_early(text) else None
    except ValueError:
        return None
    # Brackets within strings are no brackets.
    syntax = "".join(_STRING.split(text)[::2])
    may_go_on = syntax.count("[") > syntax.count("]")  # a list without its end has lost nobody knows what
    return ({} if may_go_on else value) if isinstance(value, dict) else None


def _repeats_a_key(text: str) -> bool:
    """Whether an object of a cut-off JSON text has a key twice: one of the two may be quoted."""
    keys: list[set[str]] = [set()]
    string = ""
    for place, part in enumerate(_STRING.split(text)):
        if place % 2:
            string = part
            continue
        for sign in part:
            if sign in "{[":
                keys.append(set())
            elif sign in "}]" and len(keys) > 1:
                keys.pop()
            elif sign == ":":
                if string in keys[-1]:
                    return True
                keys[-1].add(string)
    return False


def _whole(cut: dict[str, Any], reply_form: type[BaseModel]) -> Any:
    """What was cut off if nothing is lost with it: a default must not stand in for what was cut away."""
    value = _attempt(cut, reply_form) or {}
    # A text that may be empty was perhaps never going to be written; everything else has to be there.
    needed = {name for name, field in reply_form.model_fields.items() if field.default != ""}
    return value if needed <= value.keys() else None


def _ends_too_early(text: str) -> bool:
    """Whether the end is all that is missing: "4/5" or "4 or 5" without quotes is not a cut-off 4.

    Where the decoder stops for another reason than the end of the text, something is wrong before it.
    """
    try:
        _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        return error.msg.startswith("Unterminated string") or not text[error.pos :].strip()
    except (ValueError, RecursionError):
        pass
    return False
