"""Tables with one message a row under any names: told by their cells, or refused with what to write."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from simulator.cases.cases import read_cases
from simulator.core.errors import InputError
from simulator.core.types import Case
from tests.commands import Command

FIRST, SECOND = "光回線の月額料金はいくらですか？", "戸建ての場合はどうですか？"
ANSWERS = ["マンションの光1ギガは月額4,180円です。", "月額5,280円です。工事費は別途かかります。"]
TEXTS = [
    FIRST,
    ANSWERS[0],
    SECOND,
    ANSWERS[1],
    "解約の手続きを教えてください。",
    "会員ページからお手続きください。",
]
CALLS = ["Q-1"] * 4 + ["Q-2"] * 2
# Columns and what stands in them beside the texts, as desks have them.
JAPANESE = {
    "問い合わせ番号": CALLS,
    "発言者区分": ["お客様", "自動応答", "お客様", "オペレーター", "お客様", "自動応答"],
}


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is named and never asked."""
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", "http://127.0.0.1:9/v1")


def written(name: str, **columns: list[Any]) -> str:
    """A table with these columns, of the kind that its name says."""
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    path = Path(name)
    if path.suffix == ".xlsx":
        workbook = Workbook()
        for cells in (columns, *(row.values() for row in rows)):
            workbook.active.append([*cells])
        workbook.save(path)
    elif path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        path.write_text("\n".join(lines), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writerows([[*columns], *(row.values() for row in rows)])
    return name


def said(cases: Any) -> list[tuple[str, list[str], list[str]]]:
    return [(each.id, [each.question, *each.script], [a.text for a in each.recorded]) for each in cases]


def read(name: str, **columns: str) -> list[Case]:
    return [*read_cases(name, columns=columns or None)]


def refusal(name: str) -> str:
    with pytest.raises(InputError) as refused:
        read(name)
    return str(refused.value)


BOTH = [("Q-1", [FIRST, SECOND], ANSWERS), ("Q-2", [TEXTS[4]], [TEXTS[5]])]


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx", "jsonl"])
def test_a_table_is_told_by_its_cells(kind: str, command: Command, capsys: Any) -> None:
    """Whatever kind of file it is; one line says what was taken for what, and what to write instead."""
    name = written(f"told.{kind}", **JAPANESE, 本文=TEXTS)

    assert said(read(name)) == BOTH
    line = next(each for each in capsys.readouterr().err.splitlines() if "recognized by" in each)
    assert line == (
        f"{name}: columns recognized by their contents; if that is wrong, rename the columns in the file to"
        " conversation_id, role and text."
        ' Or write --columns "id=問い合わせ番号,role=発言者区分,text=本文".'
    )
    done = command("--adapter", "recorded", "--cases", name, "--offline", "--json")
    assert json.loads(done.out)["conversations"]["finished"] == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("line.csv", "アカウント名,店\n\n送信者タイプ,送信日,内容\nUser,2026/4/1,a\nBot,2026/4/1,b\n"),
        (
            "bot.json",
            '[{"conversation": {"id": "c"}, "from": {"id": "u", "role": "user"}, "text": "a"},'
            ' {"conversation": {"id": "c"}, "from": {"id": "b", "role": "bot"}, "text": "b"}]',
        ),
        (
            "teams.json",
            '{"value": [{"from": {"application": null, "user": {"id": "u"}}, "body": {"content": "a"}},'
            ' {"from": {"application": {"id": "b"}, "user": null}, "body": {"content": "b"}}]}',
        ),
    ],
)  # fmt: skip
def test_speakers_of_chat_programs(tmp_path: Path, name: str, text: str) -> None:
    """Below a title, and in objects that say whose line it is."""
    (tmp_path / name).write_text(text, encoding="utf-8")

    ((_id, questions, answers),) = said(read(str(tmp_path / name)))
    assert (questions, answers) == (["a"], ["b"])


WORDS = {
    "English": ["Customer", "Bot", "Customer", "Agent", "Customer", "Bot"],
    "names behind": ["顧客", "ボット", "顧客", "オペレーター（佐藤）", "顧客", "ボット"],
    "numbered": ["Visitor 1", "Agent 1", "Visitor 1", "Agent 2", "Visitor 2", "Agent 1"],
    "sides": ["お客様側", "窓口側", "お客様側", "窓口側", "お客様側", "窓口側"],
}


@pytest.mark.parametrize("words", WORDS)
def test_words_for_speakers_of_both_languages_are_known(words: str) -> None:
    """Under headings that no list has; the finer of two columns is the conversation."""
    columns = {
        "recno": [f"r{n}" for n in range(6)], "member": ["m-1"] * 6, "thread": CALLS, "party": WORDS[words],
        "channel": ["web"] * 6, "what": TEXTS, "at": [f"2026-11-20 10:0{n}" for n in range(6)],
    }  # fmt: skip

    assert said(read(written("log.csv", **columns))) == BOTH


def test_rows_that_stand_apart_are_put_together_in_time() -> None:
    """The newest first, and two conversations at a time; an empty line, or what nobody sees, is no turn."""
    rows = [
        ("A-1", "お客様", "料金はいくらですか？", "2026/11/20 10:01", ""),
        ("A-2", "お客様", "解約したいのですが。", "2026/11/20 10:02", ""),
        ("A-1", "お客様", "", "2026/11/20 10:02", ""),
        ("A-1", "ボット", "月額4,180円になります。", "2026/11/20 10:03", ""),
        ("A-2", "システム", "オペレーターへ転送しました。", "2026/11/20 10:04", ""),
        ("A-2", "担当者", "この方は前にも解約している。", "2026/11/20 10:05", "はい"),
        ("A-2", "担当者", "会員ページからお手続きください。", "2026/11/20 10:06", ""),
    ]
    names = ("管理コード", "発言した人", "発言の中身", "登録", "内部メモ")
    columns = {name: [row[at] for row in reversed(rows)] for at, name in enumerate(names)}

    assert sorted(said(read(written("log.csv", **columns)))) == [
        ("A-1", ["料金はいくらですか？"], ["月額4,180円になります。"]),
        ("A-2", ["解約したいのですが。"], ["会員ページからお手続きください。"]),
    ]


def test_cells_win_over_a_heading_that_misleads() -> None:
    """A column that may be called so for speakers holds topics; another one has the speakers."""
    name = written("log.csv", 区分=["料金"] * 4 + ["解約"] * 2, **JAPANESE, 本文=TEXTS)

    assert said(read(name)) == BOTH


QUESTIONS = [
    f"{what}はどうすればよいですか？" for what in ("解約", "支払い", "引っ越し", "工事", "変更", "再発行")
]
SIDES = ["お客様", "担当者"] * 3


@pytest.mark.parametrize(
    "columns",
    [
        {"分類番号": CALLS, "対象": SIDES, "ご質問": QUESTIONS, "模範": QUESTIONS},
        {"会話ID": CALLS, "発言者": SIDES, "質問": QUESTIONS, "正解": QUESTIONS},
        {"id": [*"123456"], "category": ["user", "bot"] * 3, "question": QUESTIONS},
        {"id": [*"123456"], "text": QUESTIONS, "label": ["user", "bot"] * 3},
    ],
)
def test_a_table_of_questions_is_no_log(columns: dict[str, Any]) -> None:
    """Though its cells name customers and the desk: each row is asked."""
    assert [case.question for case in read(written("q.csv", **columns))] == QUESTIONS


CODES = {"session_id": CALLS, "speaker": [*"121212"], "text": TEXTS}
NAMES = {"会話番号": CALLS, "発言者": ["お客様", "佐藤", "お客様", "鈴木", "お客様", "佐藤"], "本文": TEXTS}
UNCLEAR: dict[str, dict[str, Any]] = {
    "everything is a question": {"分類番号": CALLS, "対象": SIDES, "中身": QUESTIONS},
    "two texts": {"番": CALLS, "担当区分": SIDES, "原文": TEXTS, "整形文": [f"{text}。" for text in TEXTS]},
    "two columns of speakers": {"会話": CALLS, "発": SIDES, "受": SIDES[1:] + SIDES[:1], "中身": TEXTS},
    "two columns of conversations": {
        "会話番": CALLS, "案件番": ["m-1"] * 2 + ["m-2"] * 4, "発言者種類": SIDES, "中身": TEXTS,
    },
    "no conversation": {"発言者種類": SIDES, "中身": TEXTS},
    "one side": {"会話番": [*"123456"], "発言者種類": SIDES, "中身": TEXTS},
}  # fmt: skip


@pytest.mark.parametrize("kind", UNCLEAR)
def test_what_cannot_be_told_is_no_log(kind: str, command: Command) -> None:
    """It is refused as a question file, in one line that says what to write instead."""
    name = written("log.csv", **UNCLEAR[kind])

    assert "no question column" in refusal(name)
    done = command("--adapter", "recorded", "--cases", name, "--offline")
    assert (done.code, done.err.count("error:")) == (2, 1)


@pytest.mark.parametrize(
    ("columns", "words", "option"),
    [(CODES, "'1', '2'", "user=1,agent=*"), (NAMES, "'佐藤', '鈴木'", "agent=*")],
)
def test_words_of_nobody_known_are_named(columns: dict[str, Any], words: str, option: str) -> None:
    """No line is left out of a log silently; and what is to be written is read."""
    name = written("log.csv", **columns)

    said_so = refusal(name)
    assert f"{name}: who speaks is not clear: {words}." in said_so
    assert said_so.endswith(f'Or write --columns "{option}".')
    assert said(read(name, **dict(part.split("=") for part in option.split(",")))) == BOTH


def test_a_log_without_speakers_says_how_its_columns_are_named() -> None:
    """And a name of a column cannot become a command of the shell."""
    name = written("log.csv", **{"message`id`": TEXTS, "conversation_id": CALLS, "message": TEXTS})

    assert refusal(name).endswith(
        "Or write --columns 'question=message`id`'. Of a log with one message a row, write --columns"
        ' "id=case,role=who,text=what,user=Customer,agent=*".'
    )


def test_where_columns_cannot_be_named_they_are_to_be_renamed(command: Command) -> None:
    """`calibrate` and `thresholds` have no --columns: what they advise can be done."""
    log = written("log.csv", **CODES)
    table = written("table.csv", wording=TEXTS, answer=TEXTS)
    for name, advice in ((log, "In the file, write user for the customer"),
                         (table, "Rename one of them to one of: ")):  # fmt: skip
        for line in (("calibrate", name, "--judge", "turn", "--label", "good"),
                     ("thresholds", "suggest", name, "--judges", "rougeL")):  # fmt: skip
            done = command(*line, "--offline")
            assert done.code == 2
            assert advice in done.err
            assert "--columns" not in done.err


@pytest.mark.parametrize(
    ("columns", "given"),
    [
        (CODES, {"id": "session_id", "role": "speaker", "text": "text", "user": "1", "assistant": "2"}),
        (NAMES, {"agent": "佐藤|鈴木"}),
    ],
)
def test_codes_are_said_in_columns(columns: dict[str, Any], given: dict[str, str]) -> None:
    """Each word with who it is."""
    assert said(read(written("log.csv", **columns), **given)) == BOTH


def test_columns_know_the_others_by_their_names(command: Command) -> None:
    """Named ones aside, a column of internal notes hides, and one of times sorts; roles have to be said."""
    name = written(
        "log.csv", k=["1"] * 3, w=["お客様", "窓口", "窓口"], x=["送料は？", "550円です。", "常連の方。"],
        内部メモ=["", "", "1"], 日時=["2026/1/5 9:00", "2026/1/5 9:01", "2026/1/5 8:00"],
    )  # fmt: skip

    assert said(read(name, id="k", role="w", text="x", visible="内部メモ")) == [
        ("1", ["送料は？"], ["550円です。"])
    ]
    done = command("--adapter", "recorded", "--cases", name, "--columns", "id=k,text=x,user=1", "--offline")
    assert (done.code, "role=COLUMN" in done.err) == (2, True)


def test_lines_that_are_not_public_are_no_turns() -> None:
    """As a ticket system exports its comments: the desk's own are not for the customer."""
    columns = {
        "ticket_id": ["1"] * 3,
        "author_role": ["customer", "agent", "agent"],
        "public": ["true", "false", "true"],
    }
    name = written("log.csv", **columns, body=["How much?", "An old customer.", "5 yen."])

    assert said(read(name)) == [("1", ["How much?"], ["5 yen."])]


def test_a_table_of_customers_alone_has_a_turn_for_each_line(capsys: pytest.CaptureFixture[str]) -> None:
    """With a column of speakers or with user=*; nobody answers, and that is said."""
    columns = {
        "セッションID": ["c1", "c1", "c2"],
        "発言内容": ["料金はいくらですか", "戸建ての場合は", "解約したい"],
    }
    expected: list[tuple[str, list[str], list[str]]] = [
        ("c1", ["料金はいくらですか", "戸建ての場合は"], []),
        ("c2", ["解約したい"], []),
    ]

    assert said(read(written("alone-a.csv", **columns, 発言者=["お客様"] * 3))) == expected
    assert (
        said(read(written("alone-b.csv", **columns), id="セッションID", text="発言内容", user="*"))
        == expected
    )
    assert capsys.readouterr().err.count("answers, which the file does not hold: 2") == 2


def test_lines_that_nobody_answers_stay_one_question_where_the_desk_speaks_elsewhere() -> None:
    """A log with both sides does not lack the answers."""
    columns = {
        "会話ID": ["1", "1", "2", "2"],
        "話者": ["客", "ボット", "客", "客"],
        "本文": ["あの", "はい", "もし", "もし？"],
    }

    assert said(read(written("log.csv", **columns)))[1] == ("2", ["もし\nもし？"], [])


def test_cases_are_made_from_named_columns(command: Command) -> None:
    """`cases make --from-logs` takes --columns, and asks for a log with them."""
    name = written("log.csv", **CODES)

    refused = command("cases", "make", "--from-logs", name, "--dry-run")
    assert (refused.code, "user=1,agent=*" in refused.err) == (2, True)
    given = ("--columns", "user=1,assistant=2")
    assert command("cases", "make", "--from-logs", name, "--dry-run", *given).code == 0
    assert command("cases", "make", "docs", "--dry-run", *given).code == 2
