"""What stands in the values of logs: questions, answers and passages.

Every format writes these in a dozen ways. The functions here take any value and find what is looked for, or
nothing; none of them raises.

    at({"a": {"b": ""}, "a.c": 3}, "a.b|a.c")               -> 3, the first path with a value
    asked_in({"messages": [user "Hi", assistant "Yes?", user "How much?"]})
        -> the two lines before, and "How much?"
    answered_in({"generations": [[{"text": "5 yen"}]]})     -> "5 yen"
    passages_in([{"page_content": "It costs 5.", "metadata": {"source": "fees.md"}}])
        -> (("fees.md", "It costs 5."),)
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from simulator.cases.dialogues import WHO, LogLine, inner, lines_of, objects, parts_of
from simulator.cases.fields import decoded, role_of, text_of
from simulator.cases.headings import NAMES
from simulator.cases.web import HTML, web_document

# Lists and objects within each other deeper than this hold no text of a conversation.
_DEEPEST = 12
# Keys that hold a question or an answer, likeliest first.
_ASKED, _ANSWERED = NAMES["logs"]["asked"], NAMES["logs"]["answered"]


def plain(text: str) -> str:
    """A text as it is, or what an HTML one says, without empty lines."""
    shown = web_document(text).text if HTML.search(text) else text
    return re.sub(r"\n{2,}", "\n", shown).strip()


def camelled(record: dict[str, Any]) -> dict[str, Any]:
    """An object whose keys are written `sessionId`, also where they were `session_id`."""
    return {_camel(str(key)): value for key, value in record.items()}


@lru_cache(1000)
def _camel(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])_([a-z])", lambda letter: letter[1].upper(), key)


def get(value: Any, path: str) -> Any:
    """What stands in nested objects under a dotted path, which may be one key; None where nothing does.

    "a.c" is looked up as a key first: dataframes and OpenTelemetry have such names.
    """
    value = decoded(value)
    # The whole path may be one key: {"session.id": ...}.
    if not isinstance(value, dict) or path in value:
        return value.get(path) if isinstance(value, dict) else None
    key, _dot, rest = path.partition(".")
    return get(value.get(key), rest) if rest else None


def at(value: Any, paths: str) -> Any:
    """What stands under the first of some dotted paths, with a bar between them, where something does."""
    values = (decoded(get(value, path)) for path in paths.split("|"))
    return next((inside for inside in values if inside not in (None, "", [], {})), None)


def words(value: Any) -> list[str]:
    """The texts of a list; none of anything else."""
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def asked_in(value: Any, depth: int = 0) -> tuple[list[LogLine], str]:  # noqa: PLR0911 - one for each kind of value
    """The question in what went into a call, and the lines before it where they are all there.

    Of a list of messages the last one of the customer; of an object the first of the keys that usually hold a
    question (`_ASKED`), or the one object in it. ([], "") where there is none.
    """
    value = decoded(value)
    if isinstance(value, str) or depth > _DEEPEST:
        return [], value.strip() if isinstance(value, str) else ""
    if isinstance(value, list):
        while len(value) == 1 and isinstance(value[0], list):  # batches of messages
            value = value[0]
        lines = lines_of(value)
        asked = next((at for at in reversed(range(len(lines))) if lines[at].role == "user"), None)
        if asked is not None:
            return lines[:asked], lines[asked].text
        only: Any = value[0] if len(value) == 1 and not lines else None
        # One prompt without a role is what was asked.
        is_prompt = isinstance(only, dict) and "content" in only and not any(map(only.get, WHO))
        return [], text_of(parts_of(only["content"]) if is_prompt else only if isinstance(only, str) else "")
    if isinstance(value, dict):
        if role_of(value.get("role") or value.get("type")) == "user":
            return [], text_of(value)
        for key in _ASKED:
            if key in value:
                earlier, question = asked_in(value[key], depth + 1)
                if question:
                    return earlier or lines_of(value.get("history") or value.get("chat_history")), question
        # Under a name that nobody can know, if it is the only list or object there.
        others = [inside for inside in value.values() if isinstance(inside, (dict, list))]
        return asked_in(others[0], depth + 1) if len(others) == 1 else ([], "")
    return [], ""


def answered_in(value: Any, depth: int = 0) -> str:
    """The answer in what came out of a call."""
    value = decoded(value)
    if isinstance(value, str) or depth > _DEEPEST:
        return value.strip() if isinstance(value, str) else ""
    if isinstance(value, list):
        lines = lines_of(value)
        if lines:
            text = next((line.text for line in reversed(lines) if line.role != "user"), "")
            return answered_in(text, depth + 1) if text.startswith("{") and '"generations"' in text else text
        return next(filter(None, (answered_in(item, depth + 1) for item in value)), "")
    if isinstance(value, dict):
        if role_of(value.get("role") or value.get("type")) == "user":
            return ""
        if isinstance(value.get("kwargs"), dict):
            value = value["kwargs"]
        texts = (answered_in(value[key], depth + 1) for key in _ANSWERED if key in value)
        return next(filter(None, texts), "")
    return ""


# Keys under which a search's result holds its documents; then those of a document's text and name.
_FOUND, _PASSAGE, _NAMED = (NAMES["logs"][name] for name in ("documents", "passage", "passage_id"))


def passages_in(value: Any) -> tuple[tuple[str, str], ...]:
    """Ids and texts of the documents that a search gave; those without a text do not count.

    The id is what the knowledge base calls a document, where it is there (segment, id, source), else its
    place from 1 on.
    """
    value = decoded(value)
    if isinstance(value, dict):
        value = next((decoded(value[key]) for key in _FOUND if key in value), [])
    passages = []
    for number, item in enumerate(objects(value), 1):
        document = inner(item, "document") or inner(item, "kwargs") or item
        metadata = decoded(document.get("metadata"))
        metadata = metadata if isinstance(metadata, dict) else {}
        text = next(filter(None, (text_of(document.get(key)) for key in _PASSAGE)), "")
        places = (
            *map(document.get, ("segment_id", "id", "document_id")), *map(metadata.get, _NAMED),
            *map(document.get, ("filename", "document_name")),
        )  # fmt: skip
        name = next((str(place) for place in places if isinstance(place, (str, int)) and place != ""), number)
        if text:
            passages.append((str(name), text))
    return tuple(passages)


def unflattened(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes with dotted names as objects, and lists where the names are numbers: a.0.b is {a: [{b}]}."""
    whole: dict[str, Any] = {}
    for name, value in attributes.items():
        place, *deeper = str(name).split(".")[:_DEEPEST]
        here = whole
        for key in deeper:
            here = here.setdefault(place, {})
            if not isinstance(here, dict):
                break
            place = key
        if isinstance(here, dict):
            here[place] = value
    return {key: _listed(value) for key, value in whole.items()}


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    parts = {key: _listed(part) for key, part in value.items()}
    # At most six digits: a number of seven is an id, and a list with a million holes.
    if parts and all(key.isdecimal() and len(key) < 7 for key in parts):
        return [parts[key] for key in sorted(parts, key=int)]
    return parts
