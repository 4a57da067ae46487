"""Dialogues, in the column `turns` and in logs, as the columns of a case.

    [{"question": "A?", "reference": "a", "answer": "x", "contexts": ["p"]}, {"question": "B?"}]
        -> question A?, script B?, references [[a], []], recorded x with the passage p
    [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "How much?"},
     {"role": "assistant", "content": "4180 yen."}, {"role": "user", "content": "And for a house?"}]
        -> history Hi, question How much?, script And for a house?, recorded 4180 yen.

What the bot said is its recorded answer and never a right one: right answers are those that the file calls so
(`reference` beside a question, or on a line of either). Programs write lines in a dozen ways, also as JSON
within JSON and as Python literals (pandas): what is no line is passed over.
"""

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.cases.fields import READERS, FileCell, decoded, role_of, speaker, text, text_of
from simulator.cases.headings import columns_by_field, is_empty
from simulator.core.messages import _, quote
from simulator.core.tool_calls import speaks_for_customer, tool_calls_in, tool_calls_of

# Keys of a message that may say who speaks, and those that hold what is said, likeliest first.
WHO = ("role", "from", "sender", "sender_type", "author", "speaker")
_SAID = ("content", "parts", "value", "text", "contents", "message")
# Who says nothing that a customer hears.
_UNSPOKEN = frozenset({"system", "developer", "tool", "function"})
# What a turn of a dialogue calls the tools that the bot used.
CALLED = "tool_calls"


class LogLine(NamedTuple):
    """One line of a conversation: `role` is user, assistant, or agent for a person at the desk.

    Without a role it says something of the whole conversation. `passages` are ids and texts, `articles` the
    ids of those that are needed, `references` right answers that the log holds; `error` is what it says of a
    failure. `tools` are the calls of tools on the way to it, as `ToolCall` has them.
    """

    role: str
    text: str
    time: float | None = None
    talk: str = ""
    ratings: Mapping[str, Any] = {}
    passages: tuple[tuple[str, str], ...] = ()
    language: str = ""
    tags: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    articles: tuple[str, ...] = ()
    error: Any = ""
    tools: list[dict[str, Any]] | None = None


@dataclass
class LogTurn:
    """A question and its answer, empty where the log has none; the rest as in `LogLine`.

    `tools` is None in a log that shows none.
    """

    question: str
    answer: str = ""
    passages: tuple[tuple[str, str], ...] = ()
    ratings: dict[str, Any] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    articles: tuple[str, ...] = ()
    error: Any = ""
    handed_over: bool = False
    tools: list[dict[str, Any]] | None = None

    def add(self, line: LogLine) -> None:
        """Adds a line of the customer to the question, one of the desk to the answer."""
        if line.role == "user":
            self.question = "\n".join(filter(None, (self.question, line.text)))
        else:
            self.answer = "\n".join(filter(None, (self.answer, line.text)))
            # From here on a person answers, whose words are no bot's; a tag says so.
            self.handed_over |= line.role == "agent"
        self.passages += tuple((id_, text) for id_, text in line.passages)
        self.references += tuple(line.references)
        self.articles += tuple(line.articles)
        self.ratings |= line.ratings
        self.error = self.error or line.error
        if line.tools:
            self.tools = [*(self.tools or ()), *line.tools]

    def recorded(self) -> dict[str, JsonValue]:
        """The answer as a question file has it."""
        answer: dict[str, JsonValue] = {"text": self.answer}
        if self.passages:
            answer["passages"] = [{"id": id_, "text": text} for id_, text in self.passages]
        if self.error:
            answer["error"] = self.error
        if self.tools is not None:
            answer["tools"] = list(self.tools)
        return answer


@dataclass
class LogTalk:
    """A conversation; `history` are roles and texts before the first question.

    `besides` is what its record says of it as a question file would, by column: its goal, its tags.
    """

    id: str
    turns: list[LogTurn] = field(default_factory=list)
    history: list[tuple[str, str]] = field(default_factory=list)
    language: str = ""
    tags: list[str] = field(default_factory=list)
    besides: dict[str, Any] = field(default_factory=dict)


def talk_of(id_: str, lines: Sequence[LogLine], *, one_sided: bool = False) -> LogTalk:
    """The conversation of these lines in their order; lines of one side that follow each other are one.

    What is said before the first question is history. In a log that may be `one_sided` (a webhook gets the
    customer's lines only) each line is a turn of its own, unless the desk says anything at all.
    """
    talk = LogTalk(id_, language=next((line.language for line in lines if line.language), ""))
    # One answer is enough to show that the log has both sides.
    one_sided = one_sided and not any(line.role in ("assistant", "agent") for line in lines)
    of_all: dict[str, Any] = {}
    for line in lines:
        talk.tags += line.tags
        last = talk.turns[-1] if talk.turns else None
        # It says something of the whole conversation: its rating, its language, its tags.
        if not line.role:
            of_all |= line.ratings
        elif line.role == "user" and (last is None or last.answer or last.error or one_sided):
            talk.turns.append(LogTurn(""))
            talk.turns[-1].add(line)
        elif last:
            last.add(line)
        else:
            talk.history.append(("assistant", line.text))
    if talk.turns:
        talk.turns[-1].ratings |= of_all
    show_tools(talk)
    return talk


def show_tools(talk: LogTalk, *, offered: bool = False) -> None:
    """Where tools are called in a conversation, or offered to its model, other turns have called none."""
    if offered or any(turn.tools is not None for turn in talk.turns):
        for turn in talk.turns:
            turn.tools = turn.tools or []


def row_of(talk: LogTalk) -> dict[str, JsonValue]:
    """The columns of a conversation with at least one turn; ratings are tags.

    user-feedback=1, for one; `handed-over` where a person took over. A language that is neither ja nor en is
    left to the question's script.
    """
    first, *later = talk.turns
    row: dict[str, JsonValue] = {"id": talk.id} if talk.id else {}
    # An answer whose question the log does not have is one alone.
    row |= {"question": first.question} if first.question else {"question": None, "answer": first.answer}
    if first.question and later:
        row["script"] = [turn.question for turn in later]
    # Answers are by turn: one that is missing keeps its place, and is skipped when it is graded.
    last = max((n for n, turn in enumerate(talk.turns, 1) if turn.answer or turn.error), default=0)
    if first.question and last:
        row["recorded"] = [turn.recorded() for turn in talk.turns[:last]]
    if any(turn.references for turn in talk.turns):
        row["references"] = [list(dict.fromkeys(turn.references)) for turn in talk.turns]
    if articles := list(dict.fromkeys(chain.from_iterable(turn.articles for turn in talk.turns))):
        row["passages"] = [*articles]
    tags = [*talk.tags, *(f"{name}={value}" for turn in talk.turns for name, value in turn.ratings.items())]
    if any(turn.handed_over for turn in talk.turns):
        tags.append("handed-over")
    if tags:
        row["tags"] = list(dict.fromkeys(tags))
    if talk.history:
        row["history"] = [_message(*line) for line in talk.history]
    language = str(talk.language or "").lower().replace("_", "-").partition("-")[0]
    if language in ("ja", "en"):
        row["language"] = language
    return row | talk.besides


def _message(role: str, content: str) -> JsonValue:
    return {"role": role, "content": content}


def is_dialogue(cell: FileCell) -> bool:
    """Whether a cell holds turns, rather than their number or something of another program."""
    return any(_who(turn) or _column(turn, "question") for turn in objects(cell.value))


def columns_of_turns(cell: FileCell, question: str = "", *, has_answer: bool = False) -> dict[str, JsonValue]:
    """The columns that a list of turns stands for.

    `question` is that of the row's own column, if there is one, and `has_answer` whether the row has an
    answer to it. One that the dialogue has is a line of it; one with its own answer comes after the dialogue;
    one that the bot's first line answers comes before it; any other says what the dialogue is about.

    The first question is the question, later ones are the script. References and recorded answers are per
    turn, passages are those of all turns, `answerable` is that of the first question. Raises ValueError.
    """
    held = decoded(cell.value)
    # MT-Bench has the customer's lines alone.
    turns = (
        objects([{"question": turn} if isinstance(turn, str) else turn for turn in held])
        if isinstance(held, list)
        else []
    )
    if not turns:
        msg = _(
            '{value} is not a list of questions; write [{{"question": "...", "reference": "..."}}]',
            value=quote(cell.value),
        )
        raise ValueError(msg)
    talk = _talk_of_lines(turns) if any(map(_who, turns)) else _talk_of_pairs(turns)
    if not question or question in [turn.question for turn in talk.turns]:
        pass
    elif has_answer:
        said = [*talk.history]
        for turn in talk.turns:
            said += [("user", turn.question), ("assistant", turn.answer)]
        return {"question": question, "history": [_message(*line) for line in said if line[1]]}
    elif talk.history:
        opening = "\n".join(line for _role, line in talk.history)
        talk.history, talk.turns = [], [LogTurn(question, opening), *talk.turns]
    else:
        talk.besides["goal"] = question
    if not talk.turns:
        raise ValueError(_("the customer says nothing"))
    return row_of(talk)


def _talk_of_lines(turns: Sequence[Mapping[str, JsonValue]]) -> LogTalk:
    for turn in turns:
        if str(_who(turn)).strip().lower() not in _UNSPOKEN:
            speaker(_who(turn))
    return talk_of("", lines_of(turns))


def _talk_of_pairs(turns: Sequence[Mapping[str, JsonValue]]) -> LogTalk:
    talk = LogTalk("")
    for number, turn in enumerate(turns, 1):
        question = _said(turn, "question")
        if question is None:
            raise ValueError(_("entry {number:d} has no question", number=number))
        talk.turns.append(LogTurn(question))
        answer = with_besides(LogLine("assistant", _said(turn, "answer") or ""), turn)
        if isinstance(called := turn.get(CALLED), list):
            answer = answer._replace(tools=[call.model_dump() for call in tool_calls_of(called)])
        talk.turns[-1].add(answer)
    columns = columns_by_field(turns[0])
    if "answerable" in columns:
        talk.besides["answerable"] = turns[0][columns["answerable"]]
    return talk


def _who(turn: Mapping[str, JsonValue]) -> JsonValue:
    """Who speaks in a turn that is one line, as it is written; None in one that holds question and answer."""
    return next((turn[key] for key in WHO if turn.get(key)), None)


def _said(turn: Mapping[str, JsonValue], name: str) -> str | None:
    """The text of a field of a turn; None where it has none. Raises ValueError for what is no text."""
    column = _column(turn, name)
    return None if column is None else text(FileCell(name, turn[column]))


def _column(turn: Mapping[str, JsonValue], name: str) -> str | None:
    return name if not is_empty(turn.get(name)) else columns_by_field(turn).get(name)


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
        names = (*map(kwargs.get, WHO), kind, kwargs.get("type"), said.get("type"))
        author = inner(said, "author")
        role = next(filter(None, map(role_of, (*names, author.get("role"), author.get("type")))), "")
        text = next(filter(None, map(text_of, map(parts_of, map(kwargs.get, _SAID)))), "")
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


def parts_of(content: Any) -> Any:
    """The parts of a message that stand as JSON in its text, as attributes of spans have them."""
    if isinstance(content, str) and content.lstrip().startswith("[{"):
        parts = decoded(content)
        if isinstance(parts, list) and all(isinstance(part, dict) and "type" in part for part in parts):
            return parts
    return content


def with_besides(line: LogLine, record: Mapping[str, Any]) -> LogLine:
    """The line with what its record has in columns of a question file: right answers, passages, an error."""
    columns = columns_by_field({key: value for key, value in record.items() if isinstance(key, str)})

    def texts(name: str) -> tuple[Any, ...]:
        """Those in the column of a field; none where it has something else, or is not there."""
        with contextlib.suppress(ValueError, KeyError):
            return tuple(READERS[name](FileCell(name, record[columns[name]])))
        return ()

    ids, contexts = texts("passages"), texts("contexts")
    # Ids of other passages than the texts would name the wrong ones.
    names = ids if len(ids) == len(contexts) else tuple(str(n) for n, _text in enumerate(contexts, 1))
    return line._replace(
        references=tuple(chain.from_iterable(texts("references"))),
        articles=ids,
        passages=tuple(zip(names, contexts, strict=True)),
        error=record[columns["error"]] if "error" in columns else line.error,
    )


def inner(value: Any, key: str) -> dict[str, Any]:
    """The object under a key; an empty one where there is none."""
    inside = value.get(key) if isinstance(value, dict) else None
    return inside if isinstance(inside, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, which may stand in a text; none of anything else."""
    value = decoded(value)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


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
