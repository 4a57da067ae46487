"""A failure becomes a test: what the team marks in its review is written to a question file, masked."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cases.cases import read_cases
from simulator.core.messages import shown
from simulator.core.types import Answer, HumanVerdict
from simulator.results.review import ReviewedTurn, ReviewFindings
from simulator.sheets.excel import newest_first
from simulator.sheets.model import COLUMNS, LATER, RED, TABS, answer_key
from simulator.storage.words import Edit, save_words
from simulator.testset.failures import save_tests
from simulator.web.review import RunReview
from tests.excel import Person, read

TAB = shown(TABS["review"], "ja")
TESTS = Path("tests.jsonl")


@pytest.fixture
def finished(short_run_with_workbook: Path) -> Path:
    """A run whose workbook the team fills in."""
    return short_run_with_workbook


def workbook(key_part: str = "", **texts: str) -> tuple[str, str]:
    """The workbook, in which somebody fills in the first red row with that in its key; and the row's key."""
    path = newest_first([Path("runs", open_run().run.id)])[0]
    row = next(r for r in read(path)["review"] if r.key.endswith(RED) and key_part in r.key)
    with Person(path) as person:
        for name, text in texts.items():
            person.type(TAB, row.number, shown(COLUMNS[name].title, "ja"), text)
    return str(path), row.key


def lines() -> list[dict[str, Any]]:
    """The lines of the file of tests."""
    return [json.loads(line) for line in TESTS.read_text(encoding="utf-8").splitlines()]


def test_a_marked_answer_becomes_a_test_once_and_cases_reads_it_back(run: Any) -> None:
    """With the team's right answer; one line says so, and reading the review again adds nothing."""
    path, _key = workbook("-first-", make_test="する", correct_answer="4,800円です。")
    first, again = (run("review", "latest", "--from", path) for _ in range(2))

    assert (first.code, first.err) == (0, "")
    assert "tests.jsonl のテスト：追加1件、登録済み0件" in first.out
    assert "tests.jsonl のテスト：追加0件、登録済み1件" in again.out
    (case,) = read_cases(TESTS)
    asked = {talk.case.question: talk.case for talk in open_run().conversations}[case.question]
    assert case.references == (("4,800円です。",),)
    assert (case.history, case.expect, case.handover) == (asked.history, asked.expect, asked.handover)
    assert "must-not-break" not in case.tags
    done = run(
        "--offline", "--cases", str(TESTS), "--adapter", "demo", "--persona", "calm", "--turns", "1", "--json"
    )
    assert done.json["conversations"]["finished"] == 1


def test_what_the_team_expects_on_the_page_is_in_the_test(run: Any) -> None:
    """Beside what the case expects, and in the column of the sheet; what people wrote in the line stays."""
    path, key = workbook("-first-", make_test="する")
    file = Path("runs", open_run().run.id, "run.sqlite")
    reading = RunReview(file).reading
    place = next(iter(reading.turns[key]))
    change = Edit("", "解約金の額を言う\n\n謝る")
    save_words(file, reading.turns[key] | {place: True}, {"expect": change}, "佐藤")
    run("review", "latest", "--from", path)
    first = lines()[0]["expect"]
    TESTS.write_text(json.dumps(lines()[0] | {"expect": ["自分の文"]}), encoding="utf-8")
    run("review", "latest", "--from", path)
    run("report", "latest", "--to", "xlsx")
    newest = newest_first([file.parent])[0]
    row = next(r for r in read(newest)["review"] if r.key == key)

    assert first[-2:] == ["解約金の額を言う", "謝る"]
    assert lines()[0]["expect"] == ["自分の文", "解約金の額を言う", "謝る"]
    assert row.cells["expect"].splitlines()[-2:] == ["解約金の額を言う（チーム）", "謝る（チーム）"]


def test_a_later_turn_is_asked_after_the_dialogue_so_far(run: Any) -> None:
    """Without a right answer of the team's the test has that of the case at this turn, which may be none."""
    path, _key = workbook(LATER, make_test="○")
    assert run("review", "latest", "--from", path, "--json").json["tests"] == {
        "path": "tests.jsonl", "added": 1, "known": 0, "guarded": 0
    }  # fmt: skip
    (case,) = read_cases(TESTS)
    turns = [
        (talk, turn) for talk in open_run().conversations for turn in talk.turns if turn.user == case.question
    ]
    said = [
        [
            line
            for before in talk.turns[: turn.index - 1]
            for line in (before.user, before.answer.text)
            if line
        ]
        for talk, turn in turns
    ]
    assert [line.content for line in case.history] in said
    assert case.history


def test_a_fixed_one_must_not_break_and_a_later_right_answer_is_taken_over(run: Any) -> None:
    """What people wrote into the line meanwhile stays as it is."""
    path, _key = workbook("-first-", make_test="する")
    run("review", "latest", "--from", path)
    line = lines()[0] | {"goal": "解約したい", "tags": ["解約"]}
    own = '{"question":  "自分の質問"}'
    TESTS.write_text(f"{own}\n{json.dumps(line)}\n", encoding="utf-8")
    assert run("report", "latest", "--to", "xlsx").code == 0
    path, _key = workbook("-first-", make_test="する", correct_answer="5,500円です。", status="反映済み")
    done = run("review", "latest", "--from", path, "--json").json

    assert (done["tests"]["added"], done["tests"]["known"], done["tests"]["guarded"]) == (0, 1, 1)
    assert TESTS.read_text(encoding="utf-8").splitlines()[0] == own
    assert lines()[1] == line | {"references": [["5,500円です。"]], "tags": ["解約", "must-not-break"]}
    assert run("review", "latest", "--from", path, "--json").json["tests"]["guarded"] == 0


def test_of_several_answers_to_one_question_all_have_to_be_fixed(run: Any) -> None:
    """They are one test, which must not break once the last of them is mended."""
    results = open_run()
    talk = results.conversations[0]
    turns = [
        talk.turns[0].model_copy(update={"answer": Answer(text=text)})
        for text in ("9,999円です。", "無料です。")
    ]
    for statuses, guarded in ((("mended", ""), 0), (("", "mended"), 0), (("mended", "mended"), 1)):
        said = [
            HumanVerdict(conversation=talk.id, turn=1, source="page", make_test=True, status=status)
            for status in statuses
        ]
        rows = tuple(
            ReviewedTurn(answer_key(talk.case, turn), talk, turn, red=True, value=0.0, said=word)
            for turn, word in zip(turns, said, strict=True)
        )
        saved = save_tests(results, ReviewFindings(rows, rows, 2), (), TESTS)

        assert saved is not None
        assert (len(lines()), saved.guarded) == (1, guarded)


def test_what_is_written_is_masked_whatever_redact_says(command: Any) -> None:
    """A logged conversation becomes a test like any other, and keeps nothing of what the bot said in it."""
    logged = {
        "id": "tanaka@example.jp", "question": "田中太郎です。090-1234-5678に電話をください。",
        "answer": "存じません。", "reference": "田中太郎様、折り返します。", "expect": ["田中太郎様と呼ぶ"],
        "tags": ["電話"],
    }  # fmt: skip
    Path("logs.jsonl").write_text(json.dumps(logged), encoding="utf-8")
    assert command("--offline", "--cases", "logs.jsonl", "--adapter", "recorded", "--persona", "calm",
                   "--turns", "1", "--language", "ja", "--to", "xlsx").code in (0, 1, 2)  # fmt: skip
    path, _key = workbook(make_test="はい", correct_answer="佐藤花子さんが090-1234-5678に掛けます。")
    assert command("review", "latest", "--from", path).code == 0
    text = TESTS.read_text(encoding="utf-8")

    assert not [word for word in ("田中", "花子", "1234", "tanaka", "存じません") if word in text]
    (case,) = read_cases(TESTS)
    assert case.question == "[氏名]です。[電話番号]に電話をください。"
    assert case.references == (("[氏名]さんが[電話番号]に掛けます。",),)
    assert (case.recorded, case.answer, case.tags) == ((), None, ("電話",))


def test_a_file_that_is_no_file_of_tests_stays_as_it_is(run: Any) -> None:
    """One line, exit code 2."""
    path, _key = workbook(make_test="する")
    for name, content, said in (
        (
            "tests.jsonl",
            "{}\nkein JSON\n",
            "tests.jsonl, line 2: not a JSON object; fix it, no test was added.",
        ),
        ("tests.csv", "question\n", "--tests tests.csv: give a name that ends in .jsonl."),
    ):
        Path(name).write_text(content, encoding="utf-8")
        done = run("review", "latest", "--from", path, "--tests", name)
        assert (done.code, done.err.splitlines()[-1]) == (2, f"error: {said}")
        assert Path(name).read_text(encoding="utf-8") == content


def test_a_word_that_is_no_choice_is_named(run: Any) -> None:
    """Nothing becomes a test by mistake, and no file is made."""
    path, _key = workbook(make_test="いつか")
    done = run("review", "latest", "--from", path)
    assert done.code == 0
    assert "column Make it a test: 'いつか' is none of the choices (Yes, No); skipped." in done.err
    assert not TESTS.exists()
