"""Rows that hold a whole dialogue: what a list of turns says about its case and its recorded answers.

    [{"question": "A?", "reference": "a", "answer": "x", "contexts": ["p"]}, {"question": "B?"}]
        -> question A?, script B?, references (a), (), recorded x with the passage p

    [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "How much?"},
     {"role": "assistant", "content": "4180 yen."}, {"role": "user", "content": "And for a house?"}]
        -> history Hi, question How much?, script And for a house?, recorded 4180 yen.

What the bot said is its recorded answer and never a right one: right answers are those that the file calls so
(`reference` beside a question, or on a line of either). A column `question` beside the turns loses none of
them, wherever in the dialogue that question stands.
"""

from itertools import chain

from pydantic import JsonValue

from simulator.cases.logs.values import role_of, text_of
from simulator.cases.values import (
    FileCell,
    Record,
    columns_by_field,
    contexts,
    error,
    is_empty,
    message,
    references,
    text,
    words,
)
from simulator.core.messages import _, quote
from simulator.core.tool_calls import tool_calls_of
from simulator.core.types import ChatMessage

# Keys of a line that say who speaks, and those that hold what is said, likeliest first; and who says nothing.
_WHO, _SAID = ("role", "speaker", "from", "sender"), ("content", "text", "value", "message")
_UNSPOKEN = frozenset({"system", "developer", "tool", "function"})
# What a turn of a log calls the tools that the bot used.
CALLED = "tool_calls"


def is_dialogue(value: JsonValue) -> bool:
    """Whether a value is a list of turns, rather than their number or something of another program."""
    if not isinstance(value, list) or not value or not all(isinstance(turn, dict) for turn in value):
        return False
    return any(_speaker(turn) or "question" in _fields(turn) for turn in value if isinstance(turn, dict))


def fields_of_turns(cell: FileCell, question: str = "", *, has_answer: bool = False) -> Record:
    """The columns that a list of turns stands for.

    `question` is that of the row's own column, if there is one, and `has_answer` whether the row has an
    answer to it. One that the dialogue has is a line of it; one with its own answer comes after the dialogue;
    one that the bot's first line answers comes before it; any other says what the dialogue is about.

    The first question is the question, later ones are the script. References and recorded answers are per
    turn, passages are those of all turns, `answerable` is that of the first question. Turns are
    {question, reference} or {role, content}. Raises ValueError.
    """
    value = cell.value
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        msg = _(
            '{value} is not a list of turns; write [{{"question": "...", "reference": "..."}}]',
            value=quote(value),
        )
        raise ValueError(msg)
    opening, turns = _exchanges([turn for turn in value if isinstance(turn, dict)])
    asked = [text(FileCell("question", _fields(turn).get("question"))) for turn in turns]
    about = ""
    if question and question not in asked:
        if has_answer:
            return {"question": question, "history": [*opening, *_lines(turns)]}
        if opening:
            first = "\n".join(str(line["content"]) for line in opening)
            opening, turns = [], [{"question": question, "answer": first}, *turns]
        else:
            about = question
    if not turns:
        raise ValueError(_("no turn in which the customer says something"))
    fields = [_fields(turn) for turn in turns]
    # The first turn may be without one: a conversation that the bot began.
    for number, field in enumerate(fields[1:], 2):
        if "question" not in field:
            raise ValueError(_("turn {number:d} has no question", number=number))
    record: Record = {
        "question": fields[0].get("question"),
        "script": [text(FileCell("question", field["question"])) for field in fields[1:]],
        "references": [
            list(chain(*references(FileCell("reference", field.get("references", []))))) for field in fields
        ],
        "passages": list(dict.fromkeys(id_ for field in fields for id_ in _passages(field))),
        "answerable": fields[0].get("answerable"),
        "recorded": _recorded(fields),
        **({"goal": about} if about else {}),
    }
    return {**record, "history": [*opening]} if opening else record


def _fields(turn: Record) -> Record:
    fields = {field: turn[column] for field, column in columns_by_field(turn).items()}
    # What somebody says is a line, also where an empty cell would be written like it: "None", "nan".
    fields |= {field: turn[field] for field in ("question", "answer") if not is_empty(turn.get(field))}
    return fields | ({CALLED: turn[CALLED]} if CALLED in turn else {})


def _passages(turn: Record) -> tuple[str, ...]:
    return words(FileCell("passages", turn.get("passages", [])))


def _contexts(turn: Record) -> tuple[str, ...]:
    return contexts(FileCell("contexts", turn.get("contexts", [])))


def _recorded(turns: list[Record]) -> list[JsonValue]:
    """The bot's answers up to the last one; a turn before it without an answer has an empty text.

    Their passages are those whose texts the dialogue has; ids alone do not count.
    """
    answers: list[Record] = []
    for number, turn in enumerate(turns, 1):
        failed = error(FileCell("error", turn["error"])) if "error" in turn else None
        if "answer" in turn or failed:
            texts, ids = _contexts(turn), _passages(turn)
            # Ids of other passages than the texts would name the wrong ones.
            if len(ids) != len(texts):
                ids = tuple(map(str, range(1, len(texts) + 1)))
            # Answers are by turn: one that is missing keeps its place, and is skipped when it is graded.
            answers += [{"text": ""}] * (number - 1 - len(answers))
            answers.append(
                {
                    "text": text(FileCell("answer", turn.get("answer"))),
                    "passages": [
                        {"id": id_, "text": passage} for id_, passage in zip(ids, texts, strict=True)
                    ],
                }
            )
            answers[-1] |= {"error": failed.model_dump()} if failed else {}
            if isinstance(called := turn.get(CALLED), list):
                answers[-1]["tools"] = [call.model_dump() for call in tool_calls_of(called)]
    return list(answers)


def _speaker(turn: Record) -> JsonValue:
    """Who speaks in a turn that is one line, as it is written; None in one that holds question and answer."""
    return next((turn[key] for key in _WHO if turn.get(key)), None)


def _line(turn: Record) -> ChatMessage:
    """A line, by any of the names that logs have for who speaks and for what is said. Raises ValueError."""
    said: JsonValue = next((turn[key] for key in _SAID if turn.get(key) is not None), None)
    if isinstance(said, (list, dict)):
        said = text_of(said)
    if said is None and "error" in turn:
        said = ""
    speaker = role_of(who := _speaker(turn))
    role = "assistant" if speaker == "agent" else speaker or who
    return message({"role": role, "content": said})


def _exchanges(turns: list[Record]) -> tuple[list[Record], list[Record]]:
    """The bot's lines before the first question, and then each question with its answer.

    Consecutive lines of one speaker are one turn; what the system or a tool says is left out.
    """
    if not any(map(_speaker, turns)):
        return [], turns
    opening: list[Record] = []
    exchanges: list[Record] = []
    for turn in turns:
        if str(_speaker(turn)).strip().lower() in _UNSPOKEN:
            continue
        line = _line(turn)
        if line.role == "assistant" and not exchanges:
            opening.append({"role": "assistant", "content": line.content})
            continue
        if line.role == "assistant":
            _join(exchanges[-1], "answer", line.content)
        # Two lines of the customer in a row: one turn, for a bot that answers once.
        elif exchanges and "answer" not in exchanges[-1]:
            _join(exchanges[-1], "question", line.content)
        else:
            exchanges.append({"question": line.content})
        _add_fields(exchanges[-1], _fields(turn))
    return opening, exchanges


def _join(exchange: Record, field: str, content: str) -> None:
    exchange[field] = f"{exchange[field]}\n{content}" if exchange.get(field) else content


def _add_fields(exchange: Record, fields: Record) -> None:
    """Adds what a line says beside its text: how the bot failed, right answers, passages."""
    exchange |= {field: fields[field] for field in ("error", "answerable") if field in fields}
    right = list(chain(*references(FileCell("reference", fields.get("references", [])))))
    columns = (("references", right), ("passages", _passages(fields)), ("contexts", _contexts(fields)))
    for column, items in columns:
        earlier = exchange.get(column)
        exchange[column] = [*(earlier if isinstance(earlier, list) else ()), *items]


def _lines(turns: list[Record]) -> list[JsonValue]:
    """The turns as lines of a history."""
    lines: list[JsonValue] = []
    for turn in map(_fields, turns):
        for role, field in (("user", "question"), ("assistant", "answer")):
            if said := text(FileCell(field, turn.get(field))):
                lines.append({"role": role, "content": said})
    return lines
