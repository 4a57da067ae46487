"""The failed questions as a file of their own, and the command that asks them again."""

import csv
import io
from pathlib import Path

import pytest

from simulator.cases.cases import read_cases
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.types import Answer, Case, ChatMessage, Facts, Passage, Results
from simulator.results.focus import case_file, failed_cases, rerun_options
from simulator.results.recommendations import improvements_of
from tests.results.test_recommendations import run_of

CASES = (
    Case(
        id="-1", question="=1+1 はいくつですか", language="ja", goal="-答えを知りたい。",
        history=(ChatMessage(role="user", content="はい"), ChatMessage(role="assistant", content="はい")),
        references=((), ("a|b", "c")), passages=("a|b", "c"), answerable=False, handover="required",
        facts=Facts(knows=("会員番号は12",), unknown=("契約日",)), choices=("はい", "いいえ"), label="はい",
        answer="はい", contexts=("一つ目", "二つ目\n次の行"), tags=("must-not-break", "料金"),
        script=("次の質問", "その次"),
        recorded=(Answer(text="答え", passages=(Passage(id="p", text="本文"),)), Answer(text="")),
    ),
    Case(id="002", question="[重要] 二行\nあります", language="ja", references=(("[1] はい",),)),
    Case(id="003", question='"yes": #no', language="en", references=(("one",), ("two",)), tags=("[x",)),
    Case(id="004", question="Plain?", language="en", references=(("Yes, it is.",),), answerable=True),
)  # fmt: skip


def held(**settings: object) -> Results:
    """A run with a red turn and a good one, held with these settings."""
    results, _ = run_of([[2], [5]])
    stored = Settings.model_validate(settings).stored_values()
    return results.model_copy(update={"run": results.run.model_copy(update={"settings": stored})})


def options(**settings: object) -> str:
    """How the failed questions of such a run are asked again."""
    results = held(**settings)
    _, summary = run_of([[2], [5]])
    return rerun_options(results, improvements_of(results, summary).fixes, Path("failed.csv"))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_every_column_comes_back(suffix: str, tmp_path: Path) -> None:
    """What is written is read as the same cases, whatever is in them."""
    path = tmp_path / f"failed{suffix}"
    path.write_bytes(case_file(CASES, path).encode())

    assert read_cases(path) == CASES


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """A spreadsheet takes every cell for text."""
    rows = list(csv.reader(io.StringIO(case_file(CASES, tmp_path / "failed.csv").removeprefix("\ufeff"))))

    assert not [
        cell for row in rows for cell in row if cell.lstrip(" \u3000").startswith(("=", "+", "-", "@"))
    ]


def test_another_kind_of_file_is_refused() -> None:
    """In one line that names the kinds there are."""
    with pytest.raises(InputError, match=r"write a \.csv, \.jsonl file"):
        case_file(CASES, Path("failed.docx"))


def test_only_the_failed_questions_are_asked() -> None:
    """Each of them once, in the order of the run."""
    results, summary = run_of([[5], [2, 2], [5], [1]])
    found = improvements_of(results, summary)

    assert [case.id for case in failed_cases(results, found.fixes)] == ["case-1", "case-3"]


def test_the_bot_and_the_personas_are_those_of_the_run() -> None:
    """Personas that were named are named again, if they met a failure; those dealt by lot are not."""
    assert options(persona=("angry", "calm")) == "--cases failed.csv --persona angry --adapter demo"
    assert options() == "--cases failed.csv --adapter demo"
    assert options(adapter="bot.py:answer", turns=5, offline=True, seed=7).endswith(
        "--adapter bot.py:answer --turns 5 --offline --seed 7"
    )


def test_a_persona_of_ones_own_keeps_its_file() -> None:
    """Its name alone would not be found."""
    assert options(persona=("./angry.toml",)) == "--cases failed.csv --persona ./angry.toml --adapter demo"
    assert options(persona=("./mix.toml",)) == "--cases failed.csv --persona ./mix.toml --adapter demo"


def test_secrets_are_not_repeated() -> None:
    """What may be a key is starred; the rest is there to be copied."""
    shown = options(adapter="http", set={"url": "http://localhost:1", "api_key": "abc123"})

    assert "--set url=http://localhost:1" in shown
    assert "abc123" not in shown
