"""Where reference and passages contradict each other nothing is decided, and everybody sees what to fix."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator import reading
from simulator.analysis.undecided import undecided
from simulator.commands.app import main
from simulator.store import find_run, read_run
from tests.servers.openai import serve
from tests.servers.play import text_of

Evaluate = Callable[..., tuple[int, str]]
ARTICLE = "マンション1ギガは、税込み月額5,280円です。"
ROWS: list[dict[str, Any]] = [
    {
        "id": "fees",
        "question": "マンションで光を使うと月いくらですか",
        "reference": "税込みで月額4,180円です。",
        "answer": "月額5,280円です。",
        "contexts": [ARTICLE],
    },
    {
        "id": "hours",
        "question": "何時まで電話できますか",
        "reference": "20時までです。",
        "answer": "20時までです。",
        "contexts": ["電話の受付は20時までです。"],
    },
]
CONFLICT = {"reference": "月額4,180円", "passages": "月額5,280円"}
CATEGORIES = ("understanding", "relevance", "completeness", "correctness", "coherence", "overall")


def judge(request: dict[str, Any]) -> str:
    """Grades the row about fees low, and finds that its reference is contradicted."""
    disagree = "5,280円" in text_of(request["messages"][1])
    words = {
        "steps": ["一つ"],
        "conflicts": [CONFLICT] if disagree else [],
        "against": "正解例",
        "conclusion": "結論",
    }
    grade = 1 if disagree else 5
    grounded = {"reason": "理由", "grade": grade}
    return json.dumps(
        {"turn": words | dict.fromkeys(CATEGORIES, grade), "groundedness": grounded}, ensure_ascii=False
    )


@pytest.fixture
def evaluated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Evaluate]:
    """Evaluates the rows by a model that finds the contradiction."""
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS), encoding="utf-8")
    with serve(judge) as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        monkeypatch.setenv("REHEARSAL_JUDGE_MODEL", "judge-model")

        def run(*options: str) -> tuple[int, str]:
            given = ("evaluate", str(file), "--adapter", "recorded", "--judges", "turn,groundedness")
            code = main((*given, *options))
            return code, capsys.readouterr().out

        yield run


def test_the_case_is_flagged_and_nothing_is_red(evaluated: Evaluate) -> None:
    """The score is that of the other row; `--json` names the case, both sides and the article."""
    _, out = evaluated("--json")
    told = json.loads(out)

    assert (told["score"], told["red"]) == (1.0, 0)
    assert {key: told["judges"]["turn"][key] for key in ("n", "planned", "skipped")} == {
        "n": 1,
        "planned": 2,
        "skipped": 1,
    }
    assert told["conflicts"] == {"cases": [{"case": "fees", **CONFLICT, "retrieved": ["1"], "turns": 1}]}


def test_console_page_and_workbook_say_what_to_fix(evaluated: Evaluate) -> None:
    """Each names the question, the words of both sides, and that one of the two has to be fixed."""
    _, out = evaluated("--to", "xlsx,markdown")
    folder = find_run("latest", Path("runs")).parent
    page, markdown = ((folder / f"report.{kind}").read_text(encoding="utf-8") for kind in ("html", "md"))
    [book] = folder.glob("*.xlsx")

    cells = [str(cell.value) for sheet in openpyxl.load_workbook(book) for row in sheet for cell in row]
    for shown in (out, page, markdown, "".join(cells)):
        for said in ("fees", "月額4,180円", "月額5,280円", "正解例と資料の食い違い", "どちらか"):
            assert said in "".join(shown.split())


def test_large_data_sets_flag_the_same_cases(evaluated: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where rows and scores are not held in memory."""
    evaluated()
    run = find_run("latest", Path("runs"))
    held = undecided(read_run(run))
    monkeypatch.setattr(reading, "LARGE", 1)

    assert [(each.case.id, each.turn.index) for each in held] == [("fees", 1)]
    assert undecided(read_run(run)) == held
