"""Conversations in the files that other programs write, read as they are."""

import copy
import csv
import gzip
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cases.cases import read_cases
from simulator.cases.dialogues import row_of, seconds
from simulator.cases.fields import decoded, role_of
from simulator.cases.logs import LANGFUSE, MESSAGES, TABLE, format_of, unwrapped
from simulator.cases.logs.talks import Skipped, talks_in
from simulator.cases.logs.values import asked_in
from simulator.core.errors import InputError
from simulator.core.types import Case
from simulator.runner.labelled_answers import read_labels

LOGS = Path(__file__).parent.parent / "fixtures" / "logs"
FIRST, SECOND = "光回線の料金は？", "戸建ては？"
ANSWERS = ["月額4,180円です。", "月額5,280円です。"]
RIGHT = "税込みで月額4,180円です。"
# What a file has besides: tags, ids of passages by turn, history, how many further conversations.
BESIDES: dict[str, dict[str, Any]] = {
    "langfuse.jsonl": {"tags": ["user-feedback=1", "user-feedback=0"]},
    "messages.jsonl": {"id": "1", "history": ["いらっしゃいませ"]},
    "sharegpt.json": {},
    "table.csv": {"tags": ["満足度=5", "handed-over"], "more": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDES)
def test_a_log_is_read_as_it_is(name: str) -> None:
    """Two turns in time order with answers; what was rated, found and said before; no system, no notes."""
    check_case(name, BESIDES[name])


def check_case(name: str, besides: dict[str, Any]) -> None:
    """A sample holds the conversation that all samples hold, and what it has besides."""
    case, *more = read_cases(LOGS / name)
    question, error = besides.get("third", (None, None))

    assert (case.id, case.language, len(more)) == (besides.get("id", "s-1"), "ja", besides.get("more", 0))
    assert [case.question, *case.script] == [FIRST, SECOND, *([question] if question else [])]
    assert [answer.text for answer in case.recorded][:2] == besides.get("answers", ANSWERS)
    assert [str(answer.error.message) for answer in case.recorded if answer.error] == (
        [error] if error else []
    )
    assert list(case.tags) == besides.get("tags", [])
    assert [message.content for message in case.history] == besides.get("history", [])
    found = [[passage.id for passage in answer.passages] for answer in case.recorded][:2]
    assert found == besides.get("passages", [[]] * len(besides.get("answers", ANSWERS)))
    assert case.references_at(2) == ((besides["right"],) if "right" in besides else ())


WRAPPED: dict[str, Callable[[list[Any]], str]] = {
    "page.json": lambda each: json.dumps({"object": "list", "data": each, "next_cursor": "n"}),
    "logger.jsonl": lambda each: "\n".join(json.dumps({"at": "t", "body": json.dumps(one)}) for one in each),
    "list.json.gz": json.dumps,
}  # fmt: skip


@pytest.mark.parametrize("kind", WRAPPED)
@pytest.mark.parametrize("name", BESIDES)
def test_a_log_is_read_in_whatever_it_is_wrapped(kind: str, name: str, tmp_path: Path) -> None:
    """Pages, lines of a logger, UTF-16 and gzip say the same as the file as it was exported."""
    check_wrapped(kind, name, tmp_path)


def check_wrapped(kind: str, name: str, tmp_path: Path) -> None:
    """A sample that is wrapped says what it says bare."""
    text = WRAPPED[kind](records(LOGS / name))
    data = gzip.compress(text.encode()) if kind.endswith(".gz") else text.encode("utf-16")
    (tmp_path / kind).write_bytes(data)

    assert said_in(tmp_path / kind) == said_in(LOGS / name)


def said_in(path: Path) -> list[list[str]]:
    """By conversation what was asked and answered, in a file or in several."""
    return [
        [case.question, *case.script, *(answer.text for answer in case.recorded)] for case in read_cases(path)
    ]


# By format the texts of a conversation, and what was thought of it, in a file of its own.
COMPANIONS: dict[str, tuple[str, str, str]] = {
    "langfuse": (
        "langfuse.jsonl", '{"sessionId":"s-1","name":"csat","value":5,"source":"API"}', "csat=5",
    ),
    "table": ("table.csv", '{"id":"s-1","csat":2}', "csat=2"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPANIONS)
def test_files_that_belong_together_are_joined(name: str, tmp_path: Path) -> None:
    """Ratings in a file of their own join by id, in a folder or named with a comma; alone, one line."""
    check_joined(COMPANIONS[name], tmp_path)


def check_joined(companions: tuple[str, str, str], tmp_path: Path) -> None:
    """A sample and what was thought of it are read as one log."""
    log, rating, tag = companions
    together = tmp_path / "both"
    together.mkdir()
    (together / log).write_bytes((LOGS / log).read_bytes())
    (together / "about.jsonl").write_text(rating, encoding="utf-8")

    assert tag in read_cases(together)[0].tags
    assert tag in read_cases(f"{together / log},{together / 'about.jsonl'}")[0].tags
    assert said_in(together) == said_in(LOGS / log)
    assert read_labels(together).rows
    assert said(together / "about.jsonl")


def test_a_file_without_a_conversation_does_not_keep_the_others_from_being_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder it is named and left out, for cases and for ratings; alone it is refused."""
    (tmp_path / "langfuse.jsonl").write_bytes((LOGS / "langfuse.jsonl").read_bytes())
    for name in ("._langfuse.jsonl", "~$log.xlsx"):  # which macOS and Excel leave beside files
        (tmp_path / name).write_bytes(b"\0")
    (tmp_path / "silent.jsonl").write_text('{"messages": [{"role": "system", "content": "s"}]}\n', "utf-8")

    assert said_in(tmp_path) == said_in(LOGS / "langfuse.jsonl")
    assert read_labels(tmp_path).rows
    assert "read as OpenAI messages / ShareGPT, but there is no conversation" in capsys.readouterr().err
    assert "OpenAI messages / ShareGPT" in said(tmp_path / "silent.jsonl")


def test_every_format_has_a_sample() -> None:
    """A new format comes with a file that is read by it."""
    formats = {format_of(record) for name in BESIDES for record in records(LOGS / name)[:1]}

    assert formats == {LANGFUSE, MESSAGES, TABLE}


def records(path: Path) -> list[Any]:
    """The JSON values of a file; none of a table."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return [*csv.DictReader(text.splitlines())]
    try:
        value = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]
    return value if isinstance(value, list) else [value]


SAMPLES = [records(LOGS / name) for name in BESIDES]
junk = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.just([]), st.just({}),
    st.sampled_from(["{", "[[", '"q"', "\ud800", [["a"]], {"role": 5}, [{"role": None, "content": 3}]]),
)  # fmt: skip


@given(st.data())
def test_no_value_breaks_a_reader(data: st.DataObject) -> None:
    """Whatever stands in the place of a value, conversations come out, or nothing does."""
    check_reader(data, SAMPLES)


def check_reader(data: st.DataObject, samples: list[list[Any]]) -> None:
    """One of the samples, with other values in some places."""
    sample = copy.deepcopy(data.draw(st.sampled_from(samples)))
    for _ in range(data.draw(st.integers(1, 4))):
        inside: Any = sample
        while True:
            keys = list(inside) if isinstance(inside, dict) else range(len(inside))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(inside[key], (dict, list)) and inside[key] and data.draw(st.booleans()):
                inside = inside[key]
            else:
                inside[key] = copy.deepcopy(data.draw(junk))
                break
    format_ = format_of(sample[0])
    bare = (
        deep for each in sample if isinstance(each, dict) and format_ for deep in unwrapped(each, format_)
    )
    for talk in talks_in(format_.parts(bare), Skipped(), format_.gap, format_.one_sided) if format_ else ():
        assert all(isinstance(turn.question, str) for turn in talk.turns)
        assert talk.turns == [] or row_of(talk)["id"] == talk.id


def said(path: Path, read: Callable[[Path], object] = read_cases) -> str:
    """The one line of a refusal."""
    with pytest.raises(InputError) as refused:
        read(path)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[{"traceId": "t", "dataType": "NUMERIC", "source": "API", "value": 1}]',
            "read as Langfuse, but there is no conversation in it (ratings without what they are about",
        ),
        ('{"messages": [{"role": "system", "content": "s"}]}', "read as OpenAI messages / ShareGPT"),
        ('[{"colour": "red"}]', "no question column. Found: 'colour'"),
    ],
    ids=["ratings alone", "nobody but the system speaks", "no log at all"],
)
def test_what_holds_no_conversation_is_refused_with_its_format(tmp_path: Path, text: str, told: str) -> None:
    """In one line, which also says what is missing."""
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")

    assert told in said(path)


def test_what_was_read_is_said_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The format, what is in the file, and what was left out and why."""
    log = tmp_path / "log.jsonl"
    log.write_bytes((LOGS / "langfuse.jsonl").read_bytes())
    read_cases(log)
    read_cases(log)
    told = capsys.readouterr().err

    assert told.count("\n") == 1
    assert told.endswith(
        "read as Langfuse; conversations 1, messages 2, answers 2. Not read: traces without a question: 1.\n"
    )


def test_a_trace_whose_steps_are_records_of_their_own_is_one_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They may come in any order and in pieces; a correction is a right answer, and counts alone are none."""
    about: dict[str, Any] = {"traceId": "t", "sessionId": "s-9"}
    step = about | {"type": "GENERATION", "id": "o-1", "parentObservationId": None}
    found = [{"id": "fees", "page_content": "4,180円"}, {"id": "empty"}]
    pieces = [
        step | {"startTime": "2026-11-20T01:00:01Z", "output": ANSWERS[0]},
        step | {"startTime": "2026-11-20T01:00:00Z", "input": [{"role": "user", "content": FIRST}]},
        step
        | {"id": "o-2", "parentObservationId": "o-1", "type": "SPAN", "name": "Retriever", "output": found},
        {"traceId": "t", "dataType": "CORRECTION", "source": "API", "value": 0, "stringValue": RIGHT},
        {"id": "s-9", "countTraces": 1, "projectId": "p"},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, pieces)), encoding="utf-8")
    [case] = read_cases(path)

    assert (case.id, case.question, case.references) == ("s-9", FIRST, ((RIGHT,),))
    [answer] = case.recorded
    assert (answer.text, [(p.id, p.text) for p in answer.passages]) == (ANSWERS[0], [("fees", "4,180円")])
    assert "Not read: sessions without texts (the export of traces has them): 1." in capsys.readouterr().err


def test_ratings_are_labels() -> None:
    """Each rated answer is a row with what was said before it, and its ratings by name."""
    first, second = read_labels(LOGS / "langfuse.jsonl").rows

    assert [dict(row.labels) for row in (first, second)] == [{"user-feedback": (1,)}, {"user-feedback": (0,)}]
    assert (first.case.answer, second.case.answer) == tuple(ANSWERS)
    assert [message.content for message in second.case.history] == [FIRST, ANSWERS[0]]
    assert first.group == second.group == "s-1"


def test_columns_of_a_table_can_be_named(tmp_path: Path) -> None:
    """--columns says which column holds what; what there is not is named."""
    table = tmp_path / "t.csv"
    table.write_text("k,w,x\n1,お客様,送料は？\n1,窓口,550円です。\n", encoding="utf-8")

    def read(**columns: str) -> tuple[Case, ...]:
        return tuple(read_cases(table, columns=columns))

    [case] = read(id="k", role="w", text="x")
    assert (case.question, case.recorded[0].text) == ("送料は？", "550円です。")
    with pytest.raises(InputError, match="'y'"):
        read(role="y", text="x")
    with pytest.raises(InputError, match="field of a message in --columns: 'rolle'"):
        read(role="w", rolle="x")


def test_a_page_names_the_conversation_of_its_messages(tmp_path: Path) -> None:
    """Where the messages themselves do not."""
    path = tmp_path / "log.jsonl"
    said = [{"sender": "customer", "body": FIRST}, {"sender": "bot", "body": ANSWERS[0]}]
    path.write_text("\n".join(json.dumps({"id": f"c-{n}", "messages": said}) for n in (1, 2)), "utf-8")

    assert [case.id for case in read_cases(path)] == ["c-1", "c-2"]
    assert said_in(path) == [[FIRST, ANSWERS[0]]] * 2


def test_the_first_lines_of_a_log_may_be_of_the_system(tmp_path: Path) -> None:
    """Twenty of them at most tell the format."""
    said, path = {"messages": [{"role": "user", "content": FIRST}]}, tmp_path / "log.jsonl"
    for pings in (19, 20):
        path.write_text('{"event": "ping"}\n' * pings + json.dumps(said), "utf-8")
        if pings == 19:
            assert [case.question for case in read_cases(path)] == [FIRST]
    with pytest.raises(InputError, match="no question column"):
        read_cases(path)


def test_a_question_file_stays_one(tmp_path: Path) -> None:
    """Columns that logs have as well make no log of rows with a question and an answer."""
    table = tmp_path / "t.csv"
    table.write_text(
        "question,answer,role,created_at\n送料は？,550円です。,user,2026-11-20\n", encoding="utf-8"
    )

    assert [(case.question, case.answer) for case in read_cases(table)] == [("送料は？", "550円です。")]


@pytest.mark.parametrize(
    ("value", "moment"),
    [("2025-11-20T10:00:00+09:00", 1763600400),
     ("2025/11/20 01:00:00+0000", 1763600400), (1763600400, 1763600400),
     ("1/5/2026 9:05 PM", datetime(2026, 1, 5, 21, 5).timestamp()),
     ("25/1/2026 12:05 PM", datetime(2026, 1, 25, 12, 5).timestamp()),
     ("2026年1月5日 午後9時5分7秒", datetime(2026, 1, 5, 21, 5, 7).timestamp()), ("2026/13/5", None),
     (1763600400123, 1763600400.123), ("1763600400000000000", 1763600400), (1763600400.5, 1763600400.5),
     ("soon", None), (None, None), ([], None)],
)  # fmt: skip
def test_times_of_every_unit(value: Any, moment: float | None) -> None:
    """ISO, seconds, milliseconds and nanoseconds, as numbers and as texts."""
    assert seconds(value) == (pytest.approx(moment) if moment else None)


def test_what_stands_in_texts() -> None:
    """JSON in JSON is decoded, and a plain 42 or "yes" stays text; roles have many names."""
    assert decoded(json.dumps(json.dumps({"a": 1}))) == {"a": 1}
    assert [*map(decoded, ("42", "yes", "[1, 'a']", "{oops", '"oops'))] == [
        "42", "yes", [1, "a"], "{oops", '"oops',
    ]  # fmt: skip
    assert [*map(role_of, ("AIMessage", "Human", "お客様", "オペレーター", "system", None))] == [
        "assistant", "user", "user", "agent", "", "",
    ]  # fmt: skip
    assert asked_in({"messages": [{"role": "assistant", "content": "hello"}]}) == ([], "")
