"""Contest scoring: the result as contests print it."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simulator.api.run import run_settings
from simulator.core.errors import InputError
from simulator.core.settings import Settings, load_settings
from simulator.core.templates import read_toml
from simulator.core.types import Case, Conversation, Results, Score, State
from simulator.lab.datasets.contest import (
    contest_result,
    contest_settings,
    printed_result,
    ungraded_metrics,
)
from tests.commands import Command
from tests.paths import ROOT
from tests.run_helpers import a_run_of_rows
from tests.servers.openai import OpenAIServer, serve

ROWS = 40
RESULT = """***** Result *****
average_score: {'gpt_relevance': 3.75, 'gpt_groundedness': 1.8, 'gpt_similarity': 2.55, \
'gpt_fluency': 4.975, 'ada_cosine_similarity': 4.975}
total_score: 18.050
"""
# The grades of row 0, 1, 2 ...: they make the means above.
GRADES = {
    "relevance": [4] * 30 + [3] * 10,
    "groundedness": [2] * 32 + [1] * 8,
    "similarity": [3] * 22 + [2] * 18,
    "fluency": [5] * 39 + [4],
    "cosine": [5] * 39 + [4],
}


def a_run(grades: Mapping[str, Sequence[int | None]]) -> Results:
    """A run with these grades of its rows; None is a grade that failed."""
    cases = [Case(id=f"{n}", question="q?", language="en") for n in range(max(map(len, grades.values())))]

    def graded(talk: Conversation) -> Iterator[Score]:
        for judge, listed in grades.items():
            grade = listed[int(talk.case.id)]
            state: State = "failed" if grade is None else "scored"
            reason = "timeout: no reply\nat all" if grade is None else ""
            yield Score(judge=judge, conversation=talk.id, turn=1, state=state, raw=grade, reason=reason)

    return a_run_of_rows([(case, "a") for case in cases], graded, scoring="contest", judges=list(grades))


def test_the_vector() -> None:
    """3.75 + 1.8 + 2.55 + 4.975 + 4.975, to the letter."""
    assert f"{printed_result(contest_result(a_run(GRADES)))}\n" == RESULT
    # Where one is switched off the total is of the rest, in the contest's order however they were named.
    some = {name: GRADES[name] for name in ("fluency", "relevance")}

    assert printed_result(contest_result(a_run(some))).splitlines()[1:] == [
        "average_score: {'gpt_relevance': 3.75, 'gpt_fluency': 4.975}",
        "total_score: 8.725",
    ]


def test_what_could_not_be_graded_is_none() -> None:
    """It adds nothing to the total, and a line says why; the mean of some rows says so, too."""
    some: Any = {"relevance": [3, 4, 3], "groundedness": [None] * 3, "fluency": [5, None, 4]}
    result = contest_result(a_run(some))

    assert result.average_score == {"gpt_relevance": 3.3333, "gpt_groundedness": None, "gpt_fluency": 4.5}
    assert printed_result(result).endswith("total_score: 7.833")
    assert list(map(str, ungraded_metrics(result))) == [
        "gpt_groundedness: nothing could be graded (timeout: no reply at all).",
        "gpt_fluency: 2 of 3 rows graded (timeout: no reply at all); the mean is of the others.",
    ]
    assert printed_result(contest_result(a_run({"relevance": [None]}))).endswith("total_score: None")


def test_who_grades() -> None:
    """All five and each by itself, unless somebody says otherwise; their names may be the contest's."""
    usual = run_settings(load_settings({"scoring": "contest"}), "single_turn")
    some = ("gpt_fluency", "relevance", "gpt_similarity")
    small = run_settings(load_settings({"scoring": "contest", "judging": "small"}), "single_turn")
    named = contest_settings(load_settings({"scoring": "contest", "judges": some, "judging": "combined"}))

    assert (usual.judges, usual.judging) == (tuple(GRADES), "separate")
    assert (small.judges, small.judging) == (tuple(GRADES), "small")
    assert (named.judges, named.judging) == (("fluency", "relevance", "similarity"), "combined")
    assert contest_settings(Settings()).judges == Settings().judges


@pytest.mark.parametrize(
    "given", [{"judges": ("exact_match",)}, {"outputs": "metric_output_info.json", "judges": ("relevance",)}]
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any]) -> None:
    """In one line, before anything is asked."""
    with pytest.raises(InputError, match="--scoring"):
        contest_settings(load_settings({"scoring": "contest", **given}))


def row_of(request: dict[str, Any]) -> int:
    """The row that a request is about: every question carries its number."""
    return int(re.findall(r"row-(\d\d)", json.dumps(request))[-1])


def graded(request: dict[str, Any]) -> str:
    """The grade that the vector has for this row and metric."""
    said = json.dumps(request, ensure_ascii=False)
    for judge in ("relevance", "groundedness", "similarity", "fluency"):
        criterion = read_toml(ROOT / "judges" / f"{judge}.toml")["en"]["criterion"]
        if json.dumps(criterion.strip().splitlines()[0], ensure_ascii=False)[1:-1] in said:
            return json.dumps({"reason": "As told.", "grade": GRADES[judge][row_of(request)]})
    raise AssertionError(said[:300])


def embedded(request: dict[str, Any]) -> list[list[float]]:
    """References point one way, answers nearly the same; that of the last row is farther off."""
    return [
        [1.0, 0.0] if text.startswith("Right") else [0.7, 0.714] if "row-39" in text else [1.0, 0.1]
        for text in request["input"]
    ]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A judge that grades as the vector says."""
    with serve(graded, embed=embedded) as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        monkeypatch.setenv("REHEARSAL_EMBED_URL", server.url)
        yield server


def test_forty_rows_end_to_end(tmp_path: Path, endpoint: OpenAIServer, command: Command) -> None:
    """Exactly the result on stdout; the same again as JSON."""
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "answer", "contexts", "reference"])
        writer.writerows(
            [f"{n:02}", f"What about row-{n:02}?", f"It is row-{n:02}.", "A passage.", f"Right {n:02}."]
            for n in range(ROWS)
        )
    options = ["--scoring", "contest", "--adapter", "recorded", "--cache", "off"]
    models = ["--judge-model", "gpt-4.1", "--embed-model", "text-embedding-3-small"]

    done = command("evaluate", "rows.csv", *options, *models, "--to", "markdown")
    assert (done.code, done.out) == (0, RESULT)
    assert "gpt_groundedness" in done.err

    shown = command("report", "latest", "--json")
    found = shown.json["contest"]
    assert shown.code == 0
    assert f"average_score: {found['average_score']}\ntotal_score: {found['total_score']:.3f}\n" in RESULT
    (report,) = (tmp_path / "runs").glob("*/report.md")
    assert "18\\.050" in report.read_text(encoding="utf-8")
