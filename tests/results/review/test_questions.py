"""The team's test questions as the cases of the next run: from a sheet, and from a workbook."""

from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.types import Answer, Case, ChatMessage, Facts, Turn
from simulator.report.worksheets import worksheets
from simulator.runner.plan import read_plan
from simulator.sheets import excel
from simulator.sheets.model import PulledRow, answer_key
from simulator.sheets.questions import approved
from tests.excel import Person
from tests.report.test_worksheets import report_context

YES = {"use": "yes", "approved": "yes"}


def rows(*given: tuple[str, dict[str, str]], start: int = 2) -> list[PulledRow]:
    """Rows as they are pulled."""
    return [
        PulledRow(key=key, cells=cells, number=number) for number, (key, cells) in enumerate(given, start)
    ]


def asked(*given: tuple[str, dict[str, str]], review: list[PulledRow] | None = None) -> tuple[Case, ...]:
    """The cases of these rows."""
    return approved("S", {"questions": rows(*given), "review": review or []})


def test_every_column_is_read() -> None:
    """Right answers and tags stand between `|`; a line break belongs to the answer."""
    cells = YES | {
        "question": "解約の方法は？", "reference": "1. 電話する\n2. 返却する|マイページから",
        "answerable": "no",
        "handover": "required", "category": "解約|料金", "gold": "ja/01|ja/02#2", "goal": "解約したい。",
        "facts": "一年使った\nunknown: 会員番号", "history": "お客様: 契約中です\n窓口: はい",
    }  # fmt: skip

    assert asked(("001", cells)) == (
        Case(
            id="001",
            question="解約の方法は？",
            language="ja",
            references=(("1. 電話する\n2. 返却する", "マイページから"),),
            answerable=False,
            handover="required",
            tags=("解約", "料金"),
            passages=("ja/01", "ja/02#2"),
            goal="解約したい。",
            facts=Facts(knows=("一年使った",), unknown=("会員番号",)),
            history=(
                ChatMessage(role="user", content="契約中です"),
                ChatMessage(role="assistant", content="はい"),
            ),
        ),
    )


def test_only_what_is_in_use_and_approved_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty cell is no yes; a note says which rows were left out."""
    found = approved(
        "S",
        {
            "questions": rows(
                ("a", YES | {"question": "送料は"}),
                ("b", {"question": "x", "use": "no", "approved": "yes"}),
                ("c", {"question": "x", "use": "yes", "approved": "no"}),
                ("d", {"question": "x", "use": "yes"}),
                ("e", {"question": "x", "approved": "yes"}),
                ("f", YES),
                ("a", YES | {"question": "送料は"}),
            )
        },
    )

    assert [case.id for case in found] == ["a"]
    assert capsys.readouterr().err == (
        "S: 1 of 7 questions; not in use, not approved or there already: rows 3, 4, 5, 6, 7, 8.\n"
    )
    with pytest.raises(InputError, match=r"S: none of its test questions .*使用する.*承認"):
        asked(("a", {"question": "x"}))


def reviewed(run: str, question: str, turn: int, answer: str, status: str) -> PulledRow:
    """A row of the review: of what the bot answered in a turn about the question."""
    case = Case(id="any", question=question, language="ja")
    said = Turn(index=turn, user=question, answer=Answer(text=f"{run} {answer}"))
    cells = {"correct_answer": answer, "status": status, "run": run}
    return PulledRow(key=answer_key(case, said), cells=cells, number=2)


def test_a_mended_answer_is_known_by_its_question() -> None:
    """Whatever the question is called by now; a line later in a conversation is no question."""
    case = Case(id="old", question="送料は　いくら", language="ja")
    cells = {"correct_answer": "550円", "status": "mended", "run": "2026-05"}
    review = [
        PulledRow(
            key=answer_key(case, Turn(index=index, user=said, answer=Answer(text="無料です"))),
            cells=cells | ({} if index == 1 else {"correct_answer": "続き"}),
            number=index + 1,
        )
        for index, said in ((1, "送料は"), (2, "本当に"))
    ]  # fmt: skip
    asks = [(key, YES | {"question": text}) for key, text in (("new", "送料は いくら"), ("b", "返品は"))]

    assert [case.references for case in asked(*asks, review=review)] == [(("550円",),), ()]


def test_a_mended_answer_becomes_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the first turn, from the newest run that has one; it says whose."""
    question = YES | {"question": "送料は", "reference": "500円"}
    review = [
        reviewed("2026-01", "送料は", 1, "古い", "mended"),
        reviewed("2026-03", "送料は", 1, "550円", "mended"),
        reviewed("2026-03", "送料は", 1, "全国一律|550円", "retested"),
        reviewed("2026-03", "送料は", 1, "550円", "retested"),
        reviewed("2026-04", "送料は", 1, "未対応", "open"),
        reviewed("2026-04", "送料は", 2, "二回目", "mended"),
        reviewed("2026-04", "別の質問", 1, "別の答え", "mended"),
        reviewed("2026-04", "送料は", 1, "", "mended"),
    ]
    other = question | {"question": "返品は"}
    cases = approved("S", {"questions": rows(("a", question), ("c", other)), "review": review})

    assert [case.references for case in cases] == [(("550円", "全国一律|550円"),), (("500円",),)]
    assert (
        capsys.readouterr().err
        == "S: what the team reviewed is now the reference answer of a (run 2026-03).\n"
    )


def planned(cases: str, **more: Any) -> dict[str, Case]:
    """The cases of a plan, by id."""
    plan, *_ = read_plan(Settings(cases=cases, persona=("calm",), **more))
    return {conversation.case.id: conversation.case for conversation in plan}


def test_a_workbook_of_ours_is_asked_like_a_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its worksheet of questions; its other columns are nobody's loss. Other workbooks as before."""
    path = excel.write(worksheets(report_context()), tmp_path / "report.xlsx")
    with Person(path) as person:
        person.add("テスト質問", {"質問": "送料は", "使用する": "使用する", "承認": "承認"})
        person.add("テスト質問", {"質問": "下書き", "使用する": "使用する"})
        person.type("テスト質問", 2, "承認", "却下")
    found = planned(str(path))

    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(b"PK broken")
    with pytest.raises(InputError, match="an incomplete Excel file; save it again"):
        planned(str(broken))
    assert "送料は" in [case.question for case in found.values()]
    assert len(found) == len(report_context().results.conversations) - 2
    assert "not approved or there already: rows 2, " in capsys.readouterr().err
