"""Recorded dialogues as rows: a `turns` list becomes a question with references per turn."""

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from simulator.files.columns import columns_by_field
from simulator.files.values import Cell, message, references, words
from simulator.files.quoting import shown

Record = dict[str, JsonValue]


def from_turns(value: JsonValue) -> Record:
    """The columns that a list of turns stands for.

    The question is the first one asked, references are per turn, passages are those of all turns;
    `answerable` is what every turn agrees on. Turns are {question, reference} or {role, content}.
    """
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        msg = f'{shown(value)} is no list of turns; write [{{"question": "...", "reference": "..."}}]'
        raise ValueError(msg)
    opening, turns = _exchanges([turn for turn in value if isinstance(turn, dict)])
    if not turns:
        msg = "no turn in which the customer says something"
        raise ValueError(msg)
    fields = [_fields(turn) for turn in turns]
    verdicts = {str(field["answerable"]) for field in fields if "answerable" in field}
    record: Record = {
        "question": fields[0].get("question"),
        "references": [list(_references(field)) for field in fields],
        "passages": list(dict.fromkeys(id_ for field in fields for id_ in _passages(field))),
        "answerable": verdicts.pop() if len(verdicts) == 1 else None,
    }
    return {**record, "history": opening} if opening else record


def _fields(turn: Record) -> Record:
    return {field: turn[column] for field, column in columns_by_field(turn).items()}


def _references(turn: Record) -> Iterator[JsonValue]:
    for per_turn in references(Cell("reference", turn.get("references", []))):
        yield from per_turn


def _passages(turn: Record) -> Iterable[str]:
    return words(Cell("passages", turn.get("passages", [])))


def _exchanges(turns: list[Record]) -> tuple[list[JsonValue], list[Record]]:
    """What the desk said before the customer did, and then each question with the reply to it."""
    if not any("role" in turn for turn in turns):
        return [], turns
    opening: list[JsonValue] = []
    exchanges: list[Record] = []
    for turn in turns:
        said = message(turn)
        if said.role == "user":
            exchanges.append({"question": said.content})
        elif exchanges:
            exchanges[-1] |= {"reference": said.content, "passages": turn.get("gold_passage_ids")}
        else:
            opening.append({"role": "assistant", "content": said.content})
    return opening, exchanges
