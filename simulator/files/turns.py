"""Recorded dialogues as rows: a `turns` list becomes a question, a script and what belongs to each turn."""

from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue

from simulator.core.types import Message
from simulator.files.columns import columns_by_field
from simulator.files.quoting import shown
from simulator.files.values import Cell, contexts, error, message, references, text, words

Record = dict[str, JsonValue]

# Stands where a data set of graded answers keeps no question.
NO_QUESTION = "-"


def question_of(history: Sequence[Message]) -> tuple[str, tuple[Message, ...]]:
    """The question and the history before it, of a dialogue whose last line was graded.

    The question is the customer's line that the dialogue ends with; without one it is `-`.
    """
    if history and history[-1].role == "user" and history[-1].content.strip():
        return history[-1].content.strip(), tuple(history[:-1])
    return NO_QUESTION, tuple(history)


def from_turns(value: JsonValue) -> Record:
    """The columns that a list of turns stands for.

    The question is the first one asked, the later ones are the script; references and recorded
    answers are per turn, passages are those of all turns; `answerable` is what every turn agrees
    on. Turns are {question, reference} or {role, content}.
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
        "script": list(_script(fields)),
        "references": [list(_references(field)) for field in fields],
        "passages": list(dict.fromkeys(id_ for field in fields for id_ in _passages(field))),
        "answerable": verdicts.pop() if len(verdicts) == 1 else None,
        "recorded": _recorded(fields),
    }
    return {**record, "history": opening} if opening else record


def _fields(turn: Record) -> Record:
    return {field: turn[column] for field, column in columns_by_field(turn).items()}


def _script(turns: list[Record]) -> Iterator[JsonValue]:
    for number, turn in enumerate(turns[1:], 2):
        if "question" not in turn:
            msg = f"turn {number} has no question"
            raise ValueError(msg)
        yield text(Cell("question", turn["question"]))


def _references(turn: Record) -> Iterator[JsonValue]:
    for per_turn in references(Cell("reference", turn.get("references", []))):
        yield from per_turn


def _passages(turn: Record) -> tuple[str, ...]:
    return words(Cell("passages", turn.get("passages", [])))


def _contexts(turn: Record) -> tuple[str, ...]:
    return contexts(Cell("contexts", turn.get("contexts", [])))


def _recorded(turns: list[Record]) -> list[JsonValue]:
    """What the bot answered, up to the last answer; a turn without one in between gets an empty text."""
    answers: list[Record] = []
    for number, turn in enumerate(turns, 1):
        failed = error(Cell("error", turn["error"])) if "error" in turn else None
        if "answer" in turn or failed:
            said = text(Cell("answer", turn.get("answer")))
            answers += [{"text": ""}] * (number - 1 - len(answers))
            answers.append({"text": said, "passages": _retrieved(turn)})
            answers[-1] |= {"error": failed.model_dump()} if failed else {}
    return list(answers)


def _retrieved(turn: Record) -> list[JsonValue]:
    """The passages behind an answer where the dialogue has their texts; ids alone are no passages."""
    texts = _contexts(turn)
    ids = _passages(turn)
    if len(ids) != len(texts):
        ids = tuple(map(str, range(1, len(texts) + 1)))
    return [{"id": id_, "text": passage} for id_, passage in zip(ids, texts, strict=True)]


def _exchanges(turns: list[Record]) -> tuple[list[JsonValue], list[Record]]:
    """What the desk said before the customer did, and then each question with the reply to it.

    Several lines of one speaker in a row are one turn.
    """
    if not any("role" in turn for turn in turns):
        return [], turns
    opening: list[JsonValue] = []
    exchanges: list[Record] = []
    for turn in turns:
        said = message(turn if "error" not in turn else {**turn, "content": turn.get("content") or ""})
        if said.role == "assistant" and not exchanges:
            opening.append({"role": "assistant", "content": said.content})
        elif said.role == "assistant":
            _reply(exchanges[-1], said.content, turn)
        elif exchanges and "answer" not in exchanges[-1]:
            exchanges[-1]["question"] = f"{exchanges[-1]['question']}\n{said.content}"
        else:
            exchanges.append({"question": said.content})
    return opening, exchanges


def _reply(exchange: Record, content: str, turn: Record) -> None:
    """Adds a line of the desk: it is what was answered, and what a right answer would be."""
    given = _fields(turn)
    said = f"{exchange['answer']}\n{content}" if exchange.get("answer") else content
    exchange |= {"answer": said, "reference": said}
    exchange |= {"error": given["error"]} if "error" in given else {}
    exchange["passages"] = _together(exchange.get("passages"), _passages(given))
    exchange["contexts"] = _together(exchange.get("contexts"), _contexts(given))


def _together(before: JsonValue, now: Iterable[str]) -> list[JsonValue]:
    return [*(before if isinstance(before, list) else ()), *now]
