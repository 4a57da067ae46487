"""Where reference and passages contradict each other nothing is decided, and everybody sees what to fix."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator.core.types import GradingContext, Language, Score
from simulator.storage.run_file import find_run
from tests.commands import Command
from tests.run_helpers import RECORDED, a_case, a_turn, an_exhibit, at, grader, judged_rows
from tests.servers.openai import OpenAIServer
from tests.servers.replies import text_of

ARTICLE = "マンション1ギガは、税込み月額5,280円です。"
ASKED = (
    (
        "fees",
        "マンションで光を使うと月いくらですか",
        "税込みで月額4,180円です。",
        "月額5,280円です。",
        ARTICLE,
    ),
    ("hours", "何時まで電話できますか", "20時までです。", "20時までです。", "電話の受付は20時までです。"),
)
ROWS: list[dict[str, Any]] = [
    {"id": key, "question": question, "reference": reference, "answer": answer, "contexts": [article]}
    for key, question, reference, answer, article in ASKED
]
CONFLICT = {"reference": "月額4,180円", "passages": "月額5,280円"}
CATEGORIES = ("understanding", "relevance", "completeness", "correctness", "coherence", "overall")


def reply(conflicts: Any, grade: int) -> str:
    """One grade throughout, and these contradictions."""
    words = {"steps": ["一つ"], "conflicts": conflicts, "against": "正解例", "conclusion": "結論"}
    turn, groundedness = words | dict.fromkeys(CATEGORIES, grade), {"reason": "理由", "grade": grade}
    return json.dumps({"turn": turn, "groundedness": groundedness}, ensure_ascii=False)


def judge(request: dict[str, Any]) -> str:
    """Grades the row about fees low, and finds that its reference is contradicted."""
    disagree = "5,280円" in text_of(request["messages"][1])
    return reply([CONFLICT], 1) if disagree else reply([], 5)


async def grades(context: GradingContext, said: str) -> tuple[dict[str, Score], int]:
    """The scores of a judge that says this, and how many requests they took."""
    async with OpenAIServer(lambda _: said) as server, at(server) as model:
        scores = await grader(model("judge"), ["turn", "groundedness"])(context, ())
        return {score.judge: score for score in scores}, server.counts["chat"]


@pytest.fixture
def evaluated(command: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Evaluates the rows by a model that finds the contradiction."""
    with judged_rows(ROWS, judge, monkeypatch):
        yield lambda *options: command(*RECORDED, "--judges", "turn,groundedness", *options)


def test_the_case_is_flagged_and_nothing_is_red(evaluated: Command) -> None:
    """The score is that of the other row; `--json` names the case, both sides and the article."""
    told = evaluated("--json").json

    assert (told["score"], told["red"]) == (1.0, 0)
    assert [told["judges"]["turn"][key] for key in ("n", "planned", "skipped")] == [1, 2, 1]
    assert told["conflicts"] == {"cases": [{"case": "fees", **CONFLICT, "retrieved": ["1"], "turns": 1}]}


def test_console_page_and_workbook_say_what_to_fix(evaluated: Command) -> None:
    """Each names the question, the words of both sides, and that one of the two has to be fixed."""
    out = evaluated("--to", "xlsx,markdown").out
    folder = find_run("latest", Path("runs")).parent
    page, markdown = ((folder / f"report.{kind}").read_text(encoding="utf-8") for kind in ("html", "md"))
    [book] = folder.glob("*.xlsx")

    cells = [str(cell.value) for sheet in openpyxl.load_workbook(book) for row in sheet for cell in row]
    for shown in (out, page, markdown, "".join(cells)):
        for said in ("fees", "月額4,180円", "月額5,280円", "正解例と資料の食い違い", "どちらか"):
            assert said in "".join(shown.split())


DISAGREE = {
    "ja": ("マンション1ギガは月額4,180円", "マンション1ギガは月額5,280円", "正解例と資料が食い違っています"),
    "en": ("4,180 yen a month", "5,280 yen a month", "reference and passages disagree"),
}


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("later", [False, True])
async def test_where_reference_and_passages_disagree_neither_decides(language: Language, later: bool) -> None:
    """The turn is skipped by the judge that found it, with both quoted, also on a later turn."""
    right, other, said = DISAGREE[language]
    conflict = {"reference": right, "passages": other}
    earlier = [a_turn(1, language)] if later else []
    context = an_exhibit(a_case(language), *earlier)
    scores, requests = await grades(context, reply([conflict], 2))

    turn = scores["turn"]
    assert (turn.state, turn.value, turn.raw) == ("skipped", None, None)
    assert all(words in turn.reason for words in (said, right, other))
    assert turn.detail == {"conflicts": [conflict]}
    assert requests == 1


@pytest.mark.parametrize(
    "conflicts",
    [
        [],
        None,
        "なし",
        ["-"],
        [{"reference": "同じ", "passages": "同じ"}],
        [{"reference": "4,180円", "passages": ""}],
    ],
)
async def test_what_is_no_conflict_leaves_the_grade(conflicts: Any) -> None:
    """Nothing, the same words on both sides, or one side without words."""
    scores, _ = await grades(an_exhibit(), reply(conflicts, 2))

    assert (scores["turn"].state, scores["turn"].raw) == ("scored", 2)


@pytest.mark.parametrize(
    "context", [an_exhibit(a_case(references=())), an_exhibit(turn=a_turn(1, passages=()))]
)
async def test_a_conflict_needs_both_sides_to_have_been_shown(context: GradingContext) -> None:
    """A judge that was shown no reference, or no passage, cannot have found them to disagree."""
    conflict = {"reference": "4,180円", "passages": "5,280円"}
    scores, _ = await grades(context, reply([conflict], 2))

    assert scores["turn"].state == "scored"
