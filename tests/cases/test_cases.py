"""A team's question file becomes cases without conversion, or the first mistake is named."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.cases.cases import QUESTIONS, read_cases, read_dataset
from simulator.cases.headings import COLUMNS, NAMES, field_of
from simulator.core.errors import CaseFileError
from simulator.core.types import Answer, Case, ChatMessage, Facts, Passage
from tests.case_files import as_csv, one, refusal, saved
from tests.paths import ROOT
from tests.properties import examples

SAME_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None
)
# Text as people write it: no control characters, no blanks around it, which are trimmed, and no word that
# stands for a missing value.
MISSING = frozenset(NAMES["words"]["missing"] + NAMES["words"]["excel_errors"])
VISIBLE = st.characters(codec="utf-8", exclude_categories=["C", "Z"])
TEXT = (
    st.text(VISIBLE | st.sampled_from(" \n"), min_size=1)
    .map(str.strip)
    .filter(lambda text: text and text not in MISSING)
)
WORD = st.text(VISIBLE, min_size=1).filter(lambda word: word not in MISSING)
WORDS = st.lists(WORD, unique=True, max_size=2).map(tuple)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
MESSAGES = st.builds(ChatMessage, role=st.sampled_from(["user", "assistant"]), content=TEXT)
PASSAGES = st.builds(Passage, id=WORD, text=TEXT, score=st.none() | st.floats(0, 1))
ANSWERS = st.builds(Answer, text=TEXT | st.just(""), passages=st.lists(PASSAGES, max_size=2).map(tuple))
CASES = st.lists(
    st.builds(
        Case,
        id=WORD,
        question=TEXT,
        language=st.sampled_from(["ja", "en"]),
        history=st.lists(MESSAGES, max_size=2).map(tuple),
        references=st.lists(TEXTS, max_size=2).map(lambda turns: tuple(turns) if any(turns) else ()),
        passages=WORDS,
        answerable=st.sampled_from([True, False, None]),
        handover=st.sampled_from(["required", "forbidden", "optional"]),
        goal=st.none() | TEXT,
        facts=st.builds(Facts, knows=TEXTS, unknown=TEXTS),
        choices=TEXTS,
        label=st.none() | TEXT,
        answer=st.none() | TEXT,
        contexts=TEXTS,
        tags=WORDS,
        script=TEXTS,
        recorded=st.lists(ANSWERS, max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda case: case.id,
).map(tuple)  # fmt: skip


def as_cells(case: Case) -> dict[str, str]:
    """A case as one table row, its lists as JSON; an attack comes with a persona, never from a file."""
    values = case.model_dump(mode="json", exclude={"attack", "details"})
    return {
        key: ""
        if value is None
        else value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False)
        for key, value in values.items()
    }


@given(cases=CASES, delimiter=st.sampled_from(",;\t"))
@SAME_FOLDER
def test_round_trip(tmp_path: Path, cases: tuple[Case, ...], delimiter: str) -> None:
    """A case is read back as it was: from a JSON line, gzipped or not, and from a table with JSON lists."""
    text = "\n".join(case.model_dump_json() for case in cases)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_cases(path) == cases
    assert read_cases(saved(tmp_path, text, "a.jsonl")) == cases

    table = as_csv([as_cells(case) for case in cases], delimiter)
    assert read_cases(saved(tmp_path, table)) == cases
    assert read_dataset(tmp_path / "cases.csv", QUESTIONS).columns.unused == ()


def test_a_japanese_spreadsheet(tmp_path: Path) -> None:
    """Japanese headers out of Excel are understood, in the encoding it saves."""
    header = "番号,質問,正解,根拠ID,分類,回答可否,言語,有人対応,目的,履歴,回答,根拠"
    row = (
        '001,解約したい①,"はい\nできます",doc/1|doc/2,料金｜手続き,○,日本語,不要,解約する,'
        '"ユーザー: こんにちは\nボット: はい",承ります,解約は20日まで|髙い'
    )

    (case,) = read_cases(saved(tmp_path, f"{header}\r\n{row}\r\n", encoding="cp932"))

    assert case == Case(
        id="001",
        question="解約したい①",
        references=(("はい\nできます",),),
        passages=("doc/1", "doc/2"),
        tags=("料金", "手続き"),
        answerable=True,
        language="ja",
        handover="forbidden",
        goal="解約する",
        history=(
            ChatMessage(role="user", content="こんにちは"),
            ChatMessage(role="assistant", content="はい"),
        ),
        answer="承ります",
        contexts=("解約は20日まで", "髙い"),
    )


@pytest.mark.parametrize("header", [" ＱＵＥＳＴＩＯＮ ", "質問（必須）", "User_Input", "【質問】"])
def test_headers_are_matched_loosely(tmp_path: Path, header: str) -> None:
    """Width, case, blanks and notes in brackets do not matter."""
    assert read_cases(saved(tmp_path, as_csv([{header: "料金は?"}])))[0].question == "料金は?"


def test_graded_answers_without_a_question(tmp_path: Path) -> None:
    """In JSON an answer may come without a question: it answered the customer's last line, or is `-`."""
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    last = {"role": "user", "content": "料金は?"}

    conversation = one(tmp_path, question=None, history=[*said, last], answer="c")
    bare = one(tmp_path, question=None, history=[], answer="猫が鳴く。", reference="犬/猫")
    open_ended = one(tmp_path, question="", history=said, answer="c")

    assert (conversation.question, len(conversation.history), conversation.answer) == ("料金は?", 2, "c")
    assert (bare.question, bare.language, bare.references) == ("-", "ja", (("犬/猫",),))
    assert (open_ended.question, len(open_ended.history)) == ("-", 2)
    with pytest.raises(CaseFileError, match="column 'question' is empty"):
        one(tmp_path, question=None, history=said)
    with pytest.raises(CaseFileError, match="column 'question' is empty"):
        read_cases(saved(tmp_path, "question,answer\n,a\n"))


def test_ids_and_names_of_columns(tmp_path: Path) -> None:
    """Ids are as written, else the padded number; of two columns for one thing the first filled counts."""
    rows = read_cases(saved(tmp_path, "id,question\n007,a\n,b\nx/y,c\n"))

    assert [case.id for case in rows] == ["007", "002", "x/y"]
    assert [case.id for case in read_cases(saved(tmp_path, "question\na\nb\n"))] == ["001", "002"]
    cases = read_cases(saved(tmp_path, "question,expected,reference\na,x,y\nb,x,\n"))
    assert [case.references for case in cases] == [(("y",),), (("x",),)]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("質問,担当\n回答は来ますか,田中\n言語は選べますか,鈴木\n", "回答は来ますか"),
        ("質問,メモ\n回答,なし\n送料は？,あり\n返品は？,あり\n", "回答"),
        ("質問\n回答\nタグ\n", "回答"),
        ("question,reference\nanswer,input\n", "answer"),
    ],
)
def test_questions_may_be_called_like_columns(tmp_path: Path, text: str, asked: str) -> None:
    """Such a table is not taken for one whose names stand below each other."""
    assert read_cases(saved(tmp_path, text))[0].question == asked


def test_unused_columns(tmp_path: Path) -> None:
    """Columns that mean nothing here are named, in the order of the file."""
    path = saved(
        tmp_path, '{"question": "a", "担当": 1}\n{"question": "b", "memo": "m", "meta": {}}', "a.jsonl"
    )

    assert read_dataset(path, QUESTIONS).columns.unused == ("担当", "memo")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "\n問,正解\n料金は?,4180円\n",
            "line 2: no question column. Found: '問', '正解'. Rename one of them to one of:"
            ' question, user_input, query, input, prompt, q. Or write --columns "question=問".',
        ),
        (
            "How much?,5 yen\nWhen?,Now\n",
            "input, prompt, q. The first row has to name the columns; in a CSV, put commas between them.",
        ),
        ("text,source\na,b\n", "line 1: no question column. Found: 'text', 'source'"),
        *(
            (text, "and each column is a question. Copy the table and paste it transposed")
            for text in (
                "質問,送料は？,返品は？\n模範回答,550円,14日\n備考,,要確認\n",
                "質問の一覧\n\n,1,2\n質問,送料は？,返品は？\n模範回答,550円,14日\n",
                "項目,1,2\nquestion,How much?,When?\nreference,5 yen,Now\n",
            )
        ),
        ("声,種別\n高い,要望\n料金は,質問\n", "line 1: no question column. Found: '声', '種別'"),
        ("label,source\na,b\n", "line 1: no question column. Found: 'label', 'source'"),
        ("question," * 20_000 + "x\na\n", "line 1: 20,001 columns; at most 16,384 are read."),
        (
            "question,expect\na," + "|".join(map(str, range(21))),
            "21 sentences of what is expected; at most 20",
        ),
        ('question,facts\na,"{""known"": [""b""]}"', "'known' is not known here; use knows and unknown"),
        ("question,reference\n,1\n", "line 2: column 'question' is empty"),
        ("id,question\n1,a\n2,b\n1,c\n", "line 4: the id '1' is already on line 2"),
        (
            "question,回答可否\na,maybe\n",
            "line 2: column '回答可否': 'maybe' is not understood; write one of: yes, no, 可, 不可",
        ),
        (
            "question,history\na,こんにちは\n",
            "column 'history': 'こんにちは' does not say who speaks; write \"User: ...",
        ),
        (
            'question,reference\na,"[""b"", c]"\n',
            "column 'reference': begins like a JSON list but is not one",
        ),
        ('question,"回答\n可否"\na,maybe\n', "line 3: column '回答 可否': 'maybe'"),
    ],
)
def test_mistakes_in_tables(tmp_path: Path, text: str, message: str) -> None:
    """The first mistake is one line: file, line, column, what is wrong, what is accepted."""
    with pytest.raises(CaseFileError) as caught:
        read_cases(saved(tmp_path, text))

    assert str(caught.value).startswith(str(tmp_path / "cases.csv"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"questions": [["a"]]}, 'Write a list of rows: [{"question": "..."}].'),
        ({"question": ["a", "b"]}, "column 'question': a list is not a text"),
        ({"question": "a", "history": ["b"]}, "column 'history': 'b' is not a line of a conversation"),
        (
            {"question": "a", "history": [{"role": "system", "content": "b"}]},
            "'system' is not a known speaker",
        ),
        ({"turns": "a"}, "column 'turns': 'a' is not a list of questions"),
        ({"turns": [{"role": "assistant", "content": "a"}]}, "the customer says nothing"),
        ({"turns": [{"reference": "a"}]}, "column 'turns': entry 1 has no question"),
        (
            {"id": "a\u001b[2J", "question": "a"},
            "column 'id': an id cannot hold line breaks or control characters",
        ),
        ({"question": "a", "language": "\u001b]0;" + "x" * 99}, "column 'language': ' ]0;xxx"),
    ],
)
def test_mistakes_in_json(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    """Values of the wrong kind are named with line and column, without control characters."""
    with pytest.raises(CaseFileError) as caught:
        one(tmp_path, **columns)

    assert message in str(caught.value)
    assert "line 1" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("https://docs.google.com/spreadsheets/d/KEY", "not a file here; download it"),
        ("cases.xls", "an old Excel file; open it in Excel and save it as .xlsx"),
        ("cases", "cases: no such file"),
    ],
)
def test_what_is_no_question_file(name: str, message: str) -> None:
    """Other kinds and other places are refused with what can be read instead."""
    assert message in refusal(Path(name))


@pytest.mark.parametrize("name", ["questions.md", "questions.ja.md"])
def test_documentation(tmp_path: Path, name: str) -> None:
    """Every example of the documentation is read, and every column is named in its lists."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    examples = re.findall(r"```(csv|jsonl)\n(.*?)```", text, re.DOTALL)
    columns = re.findall(r"^- ([^（：`\n]*)（?`(\w+)`）?[:：]", text, re.MULTILINE)

    assert len(examples) == 4
    assert all(read_cases(saved(tmp_path, example, f"a.{kind}")) for kind, example in examples)
    assert {field_of(column) for _, column in columns} == set(COLUMNS)
    assert all(field_of(title) == field_of(column) for title, column in columns if title)


@pytest.mark.parametrize("word", ["nan", "#N/A", "－"])
def test_a_word_for_a_missing_value_is_none(tmp_path: Path, word: str) -> None:
    """What pandas or Excel writes into an empty cell is no right answer, nor is a bare NaN of JSON."""
    table = saved(tmp_path, f"question,reference,goal\nFee?,{word},{word}\n")
    bare = saved(tmp_path, '{"question": "Fee?", "reference": NaN}', "q.jsonl")

    for path in (table, bare):
        (case,) = read_cases(path)
        assert (case.question, case.references, case.goal) == ("Fee?", (), None)


def test_an_error_of_excel_in_a_table_is_named(tmp_path: Path) -> None:
    """A CSV of a sheet whose formula failed is refused as the sheet is."""
    with pytest.raises(CaseFileError, match="line 2: column 'reference': it shows '#DIV/0!'; fix"):
        read_cases(saved(tmp_path, "question,reference\nFee?,#DIV/0!\n"))


FEE = {"question": "料金は?", "references": (("5円", "6円"),)}
SAID = (ChatMessage(role="user", content="a"), ChatMessage(role="assistant", content="b"))
LAST = '{"role": "user", "content": "料金は?"}'
MESSAGES_BEFORE = (
    '{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"type": "ai", "content": "b"}'
)
ANSWERS_OF_SQUAD = '[{"text": "5円", "answer_start": 0}, {"text": "6円", "answer_start": 2}]'


@pytest.mark.parametrize(
    ("name", "text", "fields"),
    [
        # Tables: titles above, the heading again, other separators, signs that nobody sees, two languages.
        ("titles.csv", "FAQ一覧\n作成,佐藤\n\nNo,質問,正解\n7,料金は?,5円|6円\n", FEE | {"id": "7"}),
        ("again.csv", "質問,正解\n料金は?,5円|6円\n質問 ,正解\n", FEE),
        ("bars.csv", "質問|正解\n料金は?|5円\n", {"question": "料金は?", "references": (("5円",),)}),
        ("table.txt", "| 質問 | 正解 |\n|---|:-:|\n| 料金は? | 5円 |\n", {"question": "料金は?"}),
        ("spaces.csv", '質問, 正解\n"料金は?", "5,000円"\n', {"references": (("5,000円",),)}),
        ("zeros.csv", '番号,質問,正解\n="007",料金は?,5円|6円\n', FEE | {"id": "007"}),
        ("unseen.csv", "\ufeff\ufeff質問,正解\u200b\n料金は?,5円|6円\n\u200b\n\x1a\n", FEE),
        ("both.csv", "質問 / Question,正解／Reference\n料金は?,5円|6円\n", FEE),
        # Objects in cells, and in the place of texts; objects and lists around rows.
        ("promptfoo.csv", "question,__expected\nHow much?,contains:5\n", {"references": ()}),
        ("langfuse.csv", 'input,expected_output\n"{""question"": ""料金は?""}",5円|6円\n', FEE),
        ("ragas.csv", "user_input,retrieved_contexts\n料金は?,\"['a', 'b']\"\n", {"contexts": ("a", "b")}),
        ("arrays.csv", "question,contexts\na,\"['a'\n 'b']\"\n", {"contexts": ("a", "b")}),
        ("numbered.csv", "①質問,2) 正解※\n料金は?,5円|6円\n", FEE),
        ("lines.txt", '{"question": "料金は?", "answers": ["5円", "6円"]}\n', FEE),
        ("wrapped.json", '{"n": 1, "faqs": [{"q": "料金は?", "ideal": ["5円", "6円"]}]}', FEE),
        (
            "squad.json",
            f'{{"data": [{{"qas": [{{"question": "料金は?", "answers": {ANSWERS_OF_SQUAD}}}]}}]}}',
            FEE,
        ),
        (
            "squad.jsonl",
            '{"question": "料金は?", "answers": {"text": ["5円", "6円"], "answer_start": [0]}}',
            FEE,
        ),
        ("no.jsonl", '{"question": "a", "answers": {"text": [], "answer_start": []}}', {"references": ()}),
        ("vars.json", '{"vars": {"question": "料金は?"}, "id": "7"}', {"question": "料金は?", "id": "7"}),
        (
            "last.jsonl",
            f'{{"input": [{MESSAGES_BEFORE}, {LAST}], "target": ["5円", "6円"]}}',
            FEE | {"history": SAID},
        ),
        ("lines.jsonl", '{"turns": ["a", "料金は?"]}', {"question": "a", "script": ("料金は?",)}),
        ("answered.jsonl", f'{{"input": [{MESSAGES_BEFORE}]}}', {"question": "a", "answer": "b"}),
    ],
)
def test_files_as_teams_and_other_programs_have_them(
    tmp_path: Path, name: str, text: str, fields: dict[str, Any]
) -> None:
    """Nothing is asked that is no question, and right answers are those that the file calls so."""
    (case,) = read_cases(saved(tmp_path, text, name))

    assert {name: getattr(case, name) for name in fields} == fields


def test_rows_prepared_without_a_question_are_left_out(tmp_path: Path) -> None:
    """A number, a tick box and a category alone are no question; the ids of the others stay as they are."""
    rows = ["No.,分類,質問,正解,回答可否", "1,料金,月額は?,4180円,TRUE", "2,料金,,,FALSE", "3,,nan,,"]
    rows.append("4,解約,いつ?,3日,TRUE")
    text = "\n".join(rows)
    data = read_dataset(saved(tmp_path, text), QUESTIONS)

    assert [case.id for case in data.rows()] == ["1", "4"]
    assert str(data.skipped.left_out_message("q.csv")) == "q.csv: left out: 2 rows without a question."


def test_a_column_that_fills_nothing_may_occur_twice(tmp_path: Path) -> None:
    """Notes beside the questions are nobody's business; two columns of right answers are."""
    (case,) = read_cases(saved(tmp_path, "質問,正解,備考,備考\n料金は?,4180円,a,b\n"))
    assert case.references == (("4180円",),)

    with pytest.raises(CaseFileError, match="the column '正解' occurs twice; rename one of them"):
        read_cases(saved(tmp_path, "質問,正解,正解\n料金は?,4180円,b\n"))
    with pytest.raises(CaseFileError, match="the column '備考' occurs twice; rename one of them"):
        read_cases(saved(tmp_path, "備考,備考\n料金は?,a\n"), columns={"question": "備考"})
    with pytest.raises(CaseFileError, match="line 3: 3 cells under 2 column names"):
        read_cases(saved(tmp_path, "備考,正解\n料金は?,a\nいつ?,b,c\n"), columns={"question": "備考"})


@pytest.mark.parametrize("mark", ["sep=,", '\ufeff"SEP=,"'])
def test_the_delimiter_that_excel_names(tmp_path: Path, mark: str) -> None:
    """It stands in the first line, which is no heading; errors have the lines of the file."""
    path = tmp_path / "q.csv"
    path.write_text(f"{mark}\r\n質問,正解\r\n料金は?,4180円\r\n,5\r\n", encoding="utf-8")

    with pytest.raises(CaseFileError, match="line 4: column '質問' is empty"):
        read_cases(path)


@pytest.mark.parametrize(
    "text",
    [
        "問い合わせ,,回答\n分類,質問,正解\n料金,月額は?,4180円\n",
        "質問,,正解\n番号,質問文,模範回答\n1,月額は?,4180円\n",
    ],
)
def test_a_heading_of_two_rows(tmp_path: Path, text: str) -> None:
    """Below groups of columns stand their names, and none of these is asked."""
    (case,) = read_cases(saved(tmp_path, text))

    assert (case.question, case.references) == ("月額は?", (("4180円",),))


@pytest.mark.parametrize("row", ["質問,正解," + "あ" * 31, "質問,質問文,はい", "質問,,はい"])
def test_a_question_that_reads_like_a_heading(tmp_path: Path, row: str) -> None:
    """A row with a text, or with names of one thing alone, is no second row of names."""
    (case,) = read_cases(saved(tmp_path, f"質問,,正解\n{row}\n"))

    assert (case.question, case.references) == ("質問", ((row.split(",")[2],),))


def test_a_question_that_is_a_column_name(tmp_path: Path) -> None:
    """A row of data is no heading for one word of it."""
    cases = read_cases(saved(tmp_path, "質問,正解\n料金,4180円\n質問,はい\n"))

    assert [case.question for case in cases] == ["料金", "質問"]
