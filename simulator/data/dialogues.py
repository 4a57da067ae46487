"""Rows that hold a whole dialogue: what a list of turns says about its case and its recorded answers.

    [{"question": "A?", "reference": "a", "answer": "x", "contexts": ["p"]}, {"question": "B?"}]
        -> question A?, script B?, references (a), (), recorded x with the passage p

    [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "How much?"},
     {"role": "assistant", "content": "4180 yen."}, {"role": "user", "content": "And for a house?"}]
        -> history Hi, question How much?, script And for a house?, recorded 4180 yen.

In the second form what the bot said is both its recorded answer and the right one: whoever plays the dialogue
with another bot wants to know whether that says the same.
"""

from itertools import chain

from pydantic import JsonValue

from simulator.core.messages import _
from simulator.data.files import quote
from simulator.data.values import (
    Cell,
    Record,
    columns_by_field,
    contexts,
    error,
    message,
    references,
    text,
    words,
)


def fields_of_turns(cell: Cell) -> Record:
    """The columns that a list of turns stands for.

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
    if not turns:
        raise ValueError(_("no turn in which the customer says something"))
    fields = [_fields(turn) for turn in turns]
    # The first turn may be without one: a conversation that the bot began.
    for number, field in enumerate(fields[1:], 2):
        if "question" not in field:
            raise ValueError(_("turn {number:d} has no question", number=number))
    record: Record = {
        "question": fields[0].get("question"),
        "script": [text(Cell("question", field["question"])) for field in fields[1:]],
        "references": [
            list(chain(*references(Cell("reference", field.get("references", []))))) for field in fields
        ],
        "passages": list(dict.fromkeys(id_ for field in fields for id_ in _passages(field))),
        "answerable": fields[0].get("answerable"),
        "recorded": _recorded(fields),
    }
    return {**record, "history": opening} if opening else record


def _fields(turn: Record) -> Record:
    return {field: turn[column] for field, column in columns_by_field(turn).items()}


def _passages(turn: Record) -> tuple[str, ...]:
    return words(Cell("passages", turn.get("passages", [])))


def _contexts(turn: Record) -> tuple[str, ...]:
    return contexts(Cell("contexts", turn.get("contexts", [])))


def _recorded(turns: list[Record]) -> list[JsonValue]:
    """The bot's answers up to the last one; a turn before it without an answer has an empty text.

    Their passages are those whose texts the dialogue has; ids alone do not count.
    """
    answers: list[Record] = []
    for number, turn in enumerate(turns, 1):
        failed = error(Cell("error", turn["error"])) if "error" in turn else None
        if "answer" in turn or failed:
            texts, ids = _contexts(turn), _passages(turn)
            # Ids of other passages than the texts would name the wrong ones.
            if len(ids) != len(texts):
                ids = tuple(map(str, range(1, len(texts) + 1)))
            # Answers are by turn: one that is missing keeps its place, and is skipped when it is graded.
            answers += [{"text": ""}] * (number - 1 - len(answers))
            answers.append(
                {
                    "text": text(Cell("answer", turn.get("answer"))),
                    "passages": [
                        {"id": id_, "text": passage} for id_, passage in zip(ids, texts, strict=True)
                    ],
                }
            )
            answers[-1] |= {"error": failed.model_dump()} if failed else {}
    return list(answers)


def _exchanges(turns: list[Record]) -> tuple[list[JsonValue], list[Record]]:
    """The bot's lines before the first question, and then each question with its answer.

    Consecutive lines of one speaker are one turn.
    """
    if not any("role" in turn for turn in turns):
        return [], turns
    opening: list[JsonValue] = []
    exchanges: list[Record] = []
    for turn in turns:
        line = message(turn if "error" not in turn else {**turn, "content": turn.get("content") or ""})
        if line.role == "assistant" and not exchanges:
            opening.append({"role": "assistant", "content": line.content})
        elif line.role == "assistant":
            _add_answer(exchanges[-1], line.content, turn)
        # Two lines of the customer in a row: one turn, for a bot that answers once.
        elif exchanges and "answer" not in exchanges[-1]:
            exchanges[-1]["question"] = f"{exchanges[-1]['question']}\n{line.content}"
        else:
            exchanges.append({"question": line.content})
    return opening, exchanges


def _add_answer(exchange: Record, content: str, turn: Record) -> None:
    """Adds a line of the bot, which is both the recorded answer and the reference."""
    fields = _fields(turn)
    answer_text = f"{exchange['answer']}\n{content}" if exchange.get("answer") else content
    exchange |= {"answer": answer_text, "reference": answer_text}
    exchange |= {"error": fields["error"]} if "error" in fields else {}
    for column, items in (("passages", _passages(fields)), ("contexts", _contexts(fields))):
        earlier = exchange.get(column)
        exchange[column] = [*(earlier if isinstance(earlier, list) else ()), *items]
