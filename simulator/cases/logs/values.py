"""What stands in the values of logs: texts, roles, times, questions, answers and passages.

Every format writes these in a dozen ways, also as JSON within JSON and as Python literals (pandas). The
functions here take any value and find what is looked for, or nothing; none of them raises.

    role_of("HumanMessage"), role_of("End User")            -> user
    seconds("2026-01-05T09:05:00Z"), seconds(1767603900000) -> 1767603900.0
    at({"a": {"b": ""}, "a.c": 3}, "a.b|a.c")               -> 3, the first path with a value
    text_of([{"type": "text", "text": "a"}, {"type": "image_url"}])     -> "a"
    asked_in({"messages": [user "Hi", assistant "Yes?", user "How much?"]})
        -> the two lines before, and "How much?"
    answered_in({"generations": [[{"text": "5 yen"}]]})     -> "5 yen"
    passages_in([{"page_content": "It costs 5.", "metadata": {"source": "fees.md"}}])
        -> (("fees.md", "It costs 5."),)
"""

import ast
import contextlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from simulator.cases.fields import READERS, FileCell, role_of, text_of
from simulator.cases.headings import columns_by_field
from simulator.cases.web import web_document
from simulator.core.tool_calls import speaks_for_customer, tool_calls_in

# JSON within JSON is decoded so often, and a Python literal (of a table made by pandas) is at most so long.
_LAYERS, _LONGEST_LITERAL = 3, 2_000_000
# Lists and objects within each other deeper than this hold no text of a conversation.
_DEEPEST = 12
# Keys that hold a question or an answer, likeliest first.
_ASKED = (
    "question", "query", "user_input", "user_message", "input", "prompt", "message", "text", "content",
    "inputs", "messages", "contents", "human_input", "chat_input",
)  # fmt: skip
_ANSWERED = (
    "answer", "output", "response", "output_text", "text", "content", "result", "completion", "reply",
    "message", "messages", "outputs", "generations", "choices", "candidates",
)  # fmt: skip
# What makes a text HTML: a tag of a message or a mail, or an entity, not any sign between words.
_HTML = re.compile(
    r"</?(?:p|br|div|span|li|ul|ol|a|b|i|em|strong|h\d|table|tr|td|blockquote)\b[^<>]{0,2000}>"
    r"|&(?:amp|lt|gt|quot|nbsp|#\d{1,6});",
    re.IGNORECASE,
)


class LogLine(NamedTuple):
    """One line of a conversation: `role` is user, assistant, or agent for a person at the desk.

    Without a role it says something of the whole conversation.
    `reference` is a right answer that the log holds, or several; `error` is what it says of a failure.
    `tools` are the calls of tools on the way to it, as `ToolCall` has them.
    """

    role: str
    text: str
    time: float | None = None
    talk: str = ""
    ratings: Mapping[str, Any] = {}
    passages: tuple[tuple[str, str], ...] = ()
    language: str = ""
    tags: tuple[str, ...] = ()
    reference: str | list[str] = ""
    error: Any = ""
    tools: list[dict[str, Any]] | None = None


def decoded(value: Any) -> Any:
    """What stands as JSON in a text, at most three layers deep; a text that is no object or list stays one.

    A table made by pandas holds Python literals, which are read as safely.
    """
    for _layer in range(_LAYERS):
        if not isinstance(value, str) or value.strip()[:1] not in ("{", "[", '"'):
            break
        text = value.strip()
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if text[:1] == '"' or len(text) > _LONGEST_LITERAL:
                break
            try:
                value = ast.literal_eval(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                break
    return value


def plain(text: str) -> str:
    """A text as it is, or what an HTML one says, without empty lines."""
    shown = web_document(text).text if _HTML.search(text) else text
    return re.sub(r"\n{2,}", "\n", shown).strip()


# What is no ISO: 2026/1/5 9:05, 2026年1月5日 午後9時5分, 1/5/2026 9:05 PM.
_DATE = re.compile(
    r"(?:(\d{4})\D(\d{1,2})\D(\d{1,2})|(\d{1,2})/(\d{1,2})/(\d{4}))日?"
    r"(?:[\sT,(]\D*(\d{1,2})\D(\d{1,2})(?:\D(\d{1,2}))?)?"
)


def seconds(value: Any) -> float | None:
    """A time in seconds since 1970, of texts with a date and of numbers in s, ms, µs or ns; else None.

    Which unit a number is in shows in its size: 1e11 and more are milliseconds, and so on by thousands. A
    text without a zone is in that of this machine.
    """
    if isinstance(value, str) and not re.fullmatch(r"\d{9,20}(?:\.\d+)?", value.strip()):
        return _moment(value.strip())
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    # 1e17 and more are nanoseconds, 1e14 microseconds, 1e11 milliseconds: in seconds, that would be the year
    # 5138.
    for unit in (1e17, 1e14, 1e11):
        if abs(number) >= unit:
            return number / (unit / 1e8)
    return number


def _moment(text: str) -> float | None:
    iso = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", text.replace("/", "-").removesuffix(" UTC"))
    with contextlib.suppress(ValueError, OverflowError):
        return datetime.fromisoformat(iso).timestamp()
    if match := _DATE.match(text):
        year, month, day, first, second, last, hour, *rest = (int(digits or 0) for digits in match.groups())
        if last:  # the month is first, where it can be
            year, month, day = (last, second, first) if first > 12 else (last, first, second)
        if hour < 12 and re.search(r"PM|午後", text, re.IGNORECASE):
            hour += 12
        with contextlib.suppress(ValueError, OverflowError):
            return datetime(year, month, day, hour, *rest).timestamp()  # type: ignore[arg-type]
    return None


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


def inner(value: Any, key: str) -> dict[str, Any]:
    """The object under a key; an empty one where there is none."""
    inside = value.get(key) if isinstance(value, dict) else None
    return inside if isinstance(inside, dict) else {}


def words(value: Any) -> list[str]:
    """The texts of a list; none of anything else."""
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, which may stand in a text; none of anything else."""
    value = decoded(value)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


# Keys of a message that may say who speaks, likeliest first.
_WHO = ("role", "from", "sender", "sender_type", "author", "speaker")


def lines_of(messages: Any) -> list[LogLine]:
    """The lines of a list of messages in any of the chat formats; tools and the system have none.

    What tools were called since the customer spoke stands with the last line of the answer.
    """
    lines: list[LogLine] = []
    since: list[dict[str, Any]] = []
    start = 0
    for message in objects(messages):
        said = inner(message, "message") or message
        kwargs = inner(said, "kwargs") or inner(said, "data") or said
        fields = {"type": said.get("type"), **kwargs}
        if speaks_for_customer(fields):
            _add_tools(lines, start, since)
            since, start = [], len(lines)
        else:
            since.append(fields)
        kind = said["id"][-1] if isinstance(said.get("id"), list) and said["id"] else None
        names = (*map(kwargs.get, _WHO), kind, kwargs.get("type"), said.get("type"))
        author = inner(said, "author")
        role = next(filter(None, map(role_of, (*names, author.get("role"), author.get("type")))), "")
        texts = map(_parts, map(kwargs.get, ("content", "parts", "value", "text", "contents", "message")))
        text = next(filter(None, map(text_of, texts)), "")
        if role and (text or kwargs.get("error")):
            lines.append(with_besides(LogLine(role, text, seconds(kwargs.get("created_at"))), kwargs))
        elif {"user", "assistant"} <= (
            both := {role_of(key): text_of(value) for key, value in said.items()}
        ).keys():
            lines += [LogLine(role, both[role]) for role in ("user", "assistant")]
    _add_tools(lines, start, since)
    return lines


def _add_tools(lines: list[LogLine], start: int, messages: list[dict[str, Any]]) -> None:
    """Adds the calls of tools in these messages to the last line of the assistant from `start` on."""
    calls = tool_calls_in(messages)
    at = next((at for at in range(len(lines) - 1, start - 1, -1) if lines[at].role == "assistant"), None)
    if calls and at is not None:
        lines[at] = lines[at]._replace(tools=[call.model_dump() for call in calls])


def _parts(content: Any) -> Any:
    """The parts of a message that stand as JSON in its text, as attributes of spans have them."""
    if isinstance(content, str) and content.lstrip().startswith("[{"):
        parts = decoded(content)
        if isinstance(parts, list) and all(isinstance(part, dict) and "type" in part for part in parts):
            return parts
    return content


def with_besides(line: LogLine, record: dict[str, Any]) -> LogLine:
    """The line with what its record has in columns of a question file: right answers, passages, an error.

    A right answer may be a text or a list of them; what is neither is none.
    """
    columns = columns_by_field({key: value for key, value in record.items() if isinstance(key, str)})
    if "references" in columns:
        value = record[columns["references"]]
        line = line._replace(reference=value if isinstance(value, str) else words(value))
    if "contexts" in columns:
        texts, ids = _texts(record, columns, "contexts"), _texts(record, columns, "passages")
        # Ids of other passages than the texts would name the wrong ones.
        if len(ids) != len(texts):
            ids = tuple(map(str, range(1, len(texts) + 1)))
        line = line._replace(passages=tuple(zip(ids, texts, strict=True)))
    return line._replace(error=record[columns["error"]]) if "error" in columns else line


def _texts(record: dict[str, Any], columns: Mapping[str, str], field: str) -> tuple[str, ...]:
    """The texts in a column of a field; none where it has something else, or is not there."""
    if field not in columns:
        return ()
    try:
        return tuple(READERS[field](FileCell(columns[field], record[columns[field]])))
    except ValueError:
        return ()


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
        is_prompt = isinstance(only, dict) and "content" in only and not any(map(only.get, _WHO))
        return [], text_of(_parts(only["content"]) if is_prompt else only if isinstance(only, str) else "")
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
_FOUND = (
    "documents", "results", "nodes", "source_documents", "retriever_resources", "chunks", "matches",
    "output",
)  # fmt: skip
_PASSAGE, _NAMED = ("page_content", "content", "text", "chunk"), ("id", "source", "doc_uri", "document_id")


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
