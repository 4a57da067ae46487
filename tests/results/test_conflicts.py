"""Where reference and passages contradict each other nothing is decided, and everybody sees what to fix."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator.core.types import CONFLICTS_IGNORED, GradingContext, Language, Passage, Score
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


def reply(conflicts: Any, grade: int, grounded: int | None = None) -> str:
    """One grade throughout, or another one by the passages alone, and these contradictions."""
    words = {
        "steps": ["一つ"],
        "conflicts": conflicts,
        "against": "正解例",
        "conclusion": "結論",
        "response": "answered",
    }
    turn, groundedness = (
        words | dict.fromkeys(CATEGORIES, grade),
        {"reason": "理由", "grade": grounded or grade},
    )
    return json.dumps({"turn": turn, "groundedness": groundedness}, ensure_ascii=False)


def judge(request: dict[str, Any]) -> str:
    """Grades the row about fees low by its reference, and finds that the passages contradict that."""
    disagree = "5,280円" in text_of(request["messages"][1])
    return reply([CONFLICT], 1, grounded=5) if disagree else reply([], 5)


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
        for said in ("fees", "月額4,180円", "月額5,280円", "模範回答と検索された部分の食い違い", "どちらか"):
            assert said in "".join(shown.split())


# A passage that contradicts the reference, what a judge quotes of each, and what the turn says then.
DISAGREE = {
    "ja": ("マンション1ギガは、月額5,280円です。", "税込みで月額４，１８０円", "月額5,280円", "正解例と資料"),
    "en": ("Apartment 1 Giga is 5,280 yen.", "4,180 yen a month", "5280 yen", "passages disagree"),
}  # fmt: skip


def contradicted(language: Language = "ja", later: bool = False) -> GradingContext:
    """A turn whose passage has another price than its reference, or that of the first question."""
    passage = Passage(id="old", text=DISAGREE[language][0])
    earlier = [a_turn(1, language)] if later else []
    turn = a_turn(len(earlier) + 1, language, passages=(passage,))
    return an_exhibit(a_case(language), *earlier, turn=turn)


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("later", [False, True])
async def test_where_reference_and_passages_disagree_neither_decides(language: Language, later: bool) -> None:
    """The turn is skipped by the judge that found it, with both quoted, also on a later turn."""
    _passage, right, other, said = DISAGREE[language]
    conflict = {"reference": right, "passages": other}
    scores, requests = await grades(contradicted(language, later), reply([conflict], 2))

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
        [{"reference": "なし", "passages": ""}],
    ],
)
async def test_what_is_no_conflict_leaves_the_grade(conflicts: Any) -> None:
    """Nothing, the same words on both sides, or no words."""
    scores, _ = await grades(an_exhibit(), reply(conflicts, 2))

    assert (scores["turn"].state, scores["turn"].raw) == ("scored", 2)
    assert CONFLICTS_IGNORED not in scores["turn"].detail


RIGHT, OTHER = DISAGREE["ja"][1:3]


@pytest.mark.parametrize(
    ("right", "other"),
    [
        (RIGHT, ""),
        ("", OTHER),
        (OTHER, RIGHT),  # each stands in the other text
        (RIGHT, "月額4,180円でございます"),  # the answer's words
        (RIGHT, "月額280円"),
        (RIGHT, "280円"),  # of 5,280円
        ("4,18", OTHER),
        (RIGHT, "月額5,280円…税別"),
    ],
)
async def test_a_conflict_whose_words_do_not_stand_there_is_ignored(right: str, other: str) -> None:
    """And counted: words of one side alone, of the answer, or cut out of a number hide no grade."""
    scores, requests = await grades(contradicted(), reply([{"reference": right, "passages": other}], 1))

    assert (scores["turn"].state, scores["turn"].raw) == ("scored", 1)
    assert scores["turn"].detail[CONFLICTS_IGNORED] == 1
    assert requests == 1


async def test_one_conflict_that_stands_there_is_enough() -> None:
    """Those beside it that do not are counted; ids of passages may be quoted with their words."""
    stands = {
        "reference": "マンション1ギガは…4,180円です",
        "passages": "[old]「マンション１ギガ」は 月額 ５２８０円",
    }
    slip = {"reference": "3,000円", "passages": OTHER}
    scores, _ = await grades(contradicted(), reply([slip, stands], 1))

    assert scores["turn"].detail == {"conflicts": [stands], CONFLICTS_IGNORED: 1}


@pytest.mark.parametrize(
    "context", [an_exhibit(a_case(references=())), an_exhibit(turn=a_turn(1, passages=()))]
)
async def test_a_conflict_needs_both_sides_to_have_been_shown(context: GradingContext) -> None:
    """A judge that was shown no reference, or no passage, cannot have found them to disagree."""
    conflict = {"reference": "4,180円", "passages": "5,280円"}
    scores, _ = await grades(context, reply([conflict], 2))

    assert scores["turn"].state == "scored"


def slipping(request: dict[str, Any]) -> str:
    """Finds the doubled price wrong, and takes the answer's words for those of a passage."""
    if "2,200円" not in text_of(request["messages"][1]):
        return reply([], 5)
    return reply([{"reference": "1,100円", "passages": "2,200円"}], 1)


def test_one_slip_of_the_judge_hides_no_wrong_answer(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong prices stay red and miss the target; reports say what was ignored."""
    right, wrong = (f"解約の手数料は{price}です。" for price in ("1,100円", "2,200円"))
    rows = [
        {"id": f"r{n}", "question": f"手数料{n}は？", "reference": right, "contexts": [right]}
        | {"answer": wrong if n < 8 else right}
        for n in range(20)
    ]
    with judged_rows(rows, slipping, monkeypatch):
        done = command(*RECORDED, "--judges", "turn,groundedness", "--target", "90", "--json")
        out = command("report", "latest").out

    told = done.json
    assert (done.code, told["red"], told["passed"]) == (1, 8, False)
    assert (told["judges"]["turn"]["n"], told["judges"]["turn"]["ignored"]) == (20, 8)
    assert "引用がどこにもないため数えなかったもの：8件" in "".join(out.split())
