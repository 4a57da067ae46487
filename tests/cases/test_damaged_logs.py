"""What of a log cannot be read is counted and named; a log that was cut off is refused."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.cases.row import MAX_CELL
from tests.commands import Command

NUMBERS = itertools.count(1)
# A log of messages, one of rated traces, and a file of recorded dialogues, as their records.
Record = Callable[[int], dict[str, Any]]


def messages(number: int) -> dict[str, Any]:
    said = [("user", f"How much is plan {number}?"), ("assistant", f"Plan {number} is {number} yen.")]
    return {"id": f"c-{number}", "messages": [{"role": role, "content": text} for role, text in said]}


def trace(number: int) -> dict[str, Any]:
    scores = [{"name": "good", "value": number % 2}]
    told = {"input": f"How much is plan {number}?", "output": "5 yen.", "observations": [], "scores": scores}
    return {"id": f"t-{number}", "sessionId": f"s-{number}", **told}


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is named and never asked."""
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", "http://127.0.0.1:9/v1")


def lines(record: Record, n: int = 40) -> list[str]:
    return [json.dumps(record(number)) for number in range(1, n + 1)]


def write(name: str, text: str) -> str:
    """The name of a new file: what is said of a file is said once."""
    path = Path(name)
    path = path.with_stem(f"{path.stem}-{next(NUMBERS)}")
    path.write_text(text, encoding="utf-8")
    return str(path)


def graded(command: Command, path: str) -> Any:
    """What becomes of a log that is graded as it was recorded."""
    options = ("--adapter", "recorded", "--persona", "calm", "--offline", "--dry-run")
    return command("simulate", "--cases", path, *options)


def made(command: Command, path: str) -> Any:
    """What becomes of it as a source of questions; no model reads it."""
    return command("cases", "make", "--from-logs", path, "--dry-run")


def calibrated(command: Command, path: str) -> Any:
    return command("calibrate", path, "--judge", "fluency", "--label", "good", "--offline", "--dry-run")


READERS: dict[str, tuple[Callable[[Command, str], Any], Record]] = {
    "--adapter recorded": (graded, messages),
    "--from-logs": (made, messages),
    "calibrate": (calibrated, trace),
}


@pytest.mark.parametrize("reader", READERS)
def test_lines_that_cannot_be_read_are_counted_and_named(reader: str, command: Command) -> None:
    """The others are read: half an object, words, a list."""
    reads, record = READERS[reader]
    rows = lines(record)
    rows[4], rows[9], rows[14] = rows[4][:30], "no JSON", "[1, 2]"
    told = reads(command, write("log.jsonl", "\n".join(rows) + "\n"))

    assert told.code == 0
    assert "conversations 37, messages 37, answers 37." in told.err
    assert "lines that cannot be read (line 5, line 10, line 15): 3" in told.err


def jsonl(rows: list[str]) -> str:
    return "\n".join(rows)


def listed(rows: list[str]) -> str:
    return "[" + ",\n".join(rows) + "]"


def page(rows: list[str]) -> str:
    return '{"data": [\n' + ",\n".join(rows) + "\n]}"


@pytest.mark.parametrize(
    ("reader", "form", "missing"),
    [
        ("--adapter recorded", jsonl, 1),
        ("--adapter recorded", listed, 45),
        ("--adapter recorded", page, 3),
        ("calibrate", page, 1),
    ],
)
def test_a_log_that_was_cut_off_is_refused(
    reader: str, form: Callable[[list[str]], str], missing: int, command: Command
) -> None:
    """Wherever it was, and also where what is left would be more than enough."""
    reads, record = READERS[reader]
    name = "log.jsonl" if form is jsonl else "log.json"
    told = reads(command, write(name, form(lines(record))[:-missing]))

    assert told.code == 2
    assert "cut off" in told.err
    assert len([line for line in told.err.splitlines() if line.startswith("error:")]) == 1


@pytest.mark.parametrize(
    "rest",
    ['{"a', '{"a": tr', '{"a": 1', '{"a": "\\u12', '{"a": [1,'],
)
def test_a_last_line_that_ends_too_early_was_cut_off(rest: str, command: Command) -> None:
    """In a name, a word, a number, an escape or between them; with a line end behind it, too."""
    told = graded(command, write("log.jsonl", "\n".join([*lines(messages, 3), rest]) + " \n\n"))

    assert (told.code, "line 4" in told.err, "cut off" in told.err) == (2, True, True)


@pytest.mark.parametrize("rest", ["nope", '{"a": 1,}', "[1]", '{"a": 1} x'])
def test_a_last_line_that_is_wrong_by_itself_is_damaged(rest: str, command: Command) -> None:
    """It ends where it should: nothing is missing."""
    told = graded(command, write("log.jsonl", "\n".join([*lines(messages, 3), rest]) + "\n"))

    assert told.code == 0
    assert "lines that cannot be read (line 4): 1" in told.err


def table(n: int = 20) -> list[str]:
    """A table with one message a row."""
    said = [f'c-{at},{who},"Text {at}, of ""{who}"""' for at in range(n) for who in ("user", "assistant")]
    return ["conversation_id,role,content", *said]


def test_a_table_that_was_cut_off_is_refused(command: Command) -> None:
    """In a text with quotation marks, over one line or several."""
    for cut in ("\n".join(table())[:-4], "\n".join([*table(), 'c-9,user,"a\nb'])):
        told = graded(command, write("log.csv", cut))
        assert (told.code, "cut off" in told.err) == (2, True)


def test_a_row_with_too_many_cells_is_named(command: Command) -> None:
    """A text with a comma lacks its quotation marks, and would be read by half."""
    rows = table()
    rows[3] = "c-1,user,Text, of the customer"
    told = graded(command, write("log.csv", "\n".join(rows) + "\n"))

    assert told.code == 0
    assert "lines that cannot be read (line 4): 1" in told.err


def test_a_second_format_in_a_file_is_said(command: Command) -> None:
    """How many records of it, and of which."""
    told = graded(command, write("log.jsonl", "\n".join([*lines(messages, 10), *lines(trace, 5)])))

    assert told.code == 0
    assert "conversations 10, messages 10, answers 10." in told.err
    assert "records of another format (Langfuse); put them in another file: 5" in told.err


def test_a_file_of_a_folder_that_is_no_log_is_named(command: Command) -> None:
    """The logs beside it are read."""
    Path("logs").mkdir()
    write("logs/a.jsonl", jsonl(lines(messages)))
    notes = write("logs/notes.csv", "name,place\nA,B\n")
    told = graded(command, "logs")

    assert told.code == 0
    assert f"{notes}: no log of conversations of a known format; left out." in told.err
    assert "conversations 40" in told.err
    write("logs/b.json", '[{"name": "A"}, {"na')
    assert graded(command, "logs").code == 2


def test_a_conversation_with_an_endless_text_is_counted(command: Command) -> None:
    """The others are read."""
    record = messages(2)
    record["messages"][1]["content"] = "x" * (MAX_CELL + 1)
    told = graded(command, write("log.jsonl", jsonl([*lines(messages, 1), json.dumps(record)])))

    assert told.code == 0
    assert "conversations of more than 10,000 messages, or with an endless one: 1" in told.err
