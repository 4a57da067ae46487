"""How well `response` does is measured with real prompts, which say nothing of what is right."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.responses import (
    BENCH,
    LINES,
    RIGHT,
    Row,
    labelled_rows,
    lines,
    main,
    mistakes,
    ordinary_rows,
    part_of,
    rows_of,
)
from simulator.core.settings import load_settings
from simulator.core.templates import LANGUAGES
from simulator.core.types import Response
from tests.paths import fixture_rows
from tests.servers.openai import OpenAIServer


def dialogues(folder: Path) -> Path:
    """A data set whose dialogues hold the lines that the fixture knows."""
    for language in LANGUAGES:
        rows = []
        for row in fixture_rows(f"desk_lines_{language}.jsonl"):
            name, _, at = row["source"].rpartition("/")
            customer = {"role": "customer", "text": "?"}
            lead = [{"role": "desk", "text": "-"}] * (int(at) - 2)
            rows.append({"id": name, "turns": [*lead, customer, {"role": "desk", "text": row["text"]}]})
        with gzip.open(folder / f"set_{language}_dev.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


def judge(rows: list[Row], said: Callable[[Row], Response]) -> Callable[[Any], str]:
    """A model that knows each answer by its text."""
    by_answer = {row.answer: said(row) for row in rows}

    def reply(request: Any) -> str:
        text = request["messages"][-1]["content"]
        answer = text.rpartition("<answer ")[2].partition(">\n")[2].rpartition("\n</answer ")[0]
        grades = ("understanding", "relevance", "completeness", "correctness", "coherence", "overall")
        words = {
            "steps": [],
            "conflicts": [],
            "against": "-",
            "conclusion": "-",
            "response": by_answer[answer],
        }
        return json.dumps(words | dict.fromkeys(grades, 3))

    return reply


async def asked_of(
    model: Callable[[Any], str], rows: list[Row], monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[dict[str, Response], list[str]]:
    """What the model says of the rows, and the requests that it got, as text."""
    async with OpenAIServer(model) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        known = load_settings({"judges": ["turn"], "judge_model": "reader", "judging": "separate"} | settings)
        verdicts: dict[str, Response] = {}
        await BENCH.ask(known, rows, verdicts.__setitem__)
        return verdicts, [json.dumps(each.body, ensure_ascii=False) for each in server.requests]


def test_each_kind_occurs_in_both_languages_and_halves(tmp_path: Path) -> None:
    """A reader of one half meets all of them; the halves together are all rows, once."""
    every = rows_of(dialogues(tmp_path))
    halves = [part_of(every, part) for part in "ab"]

    for half in halves:
        for language in LANGUAGES:
            assert {row.kind for row in half if row.language == language} == {*RIGHT, ""}
    assert sorted(row.name for half in halves for row in half) == sorted({row.name for row in every})
    assert [sum(not row.kind for row in every if row.language == each) for each in LANGUAGES] == [LINES] * 2
    assert all(55 <= len(list(labelled_rows(language))) <= 65 for language in LANGUAGES)
    assert ordinary_rows("ja", tmp_path / "none") == []


async def test_a_reader_who_agrees_with_every_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is right, and no ordinary line is taken amiss; one call a row, which does not name its kind."""
    every = rows_of(dialogues(tmp_path))
    model = judge(every, lambda row: min(RIGHT[row.kind]) if row.kind else "answered")
    verdicts, requests = await asked_of(model, every, monkeypatch)
    figures = "\n".join(lines(every, verdicts))

    assert len(requests) == len(every) == len(verdicts)
    assert figures.count(" 1.000 ") == 2
    assert figures.count(f"0 of {LINES} false refusals and handovers, 0.0 in 100 (answered {LINES})") == 2
    assert not list(mistakes(every, verdicts))
    first = next(row for row in every if row.kind == "D")
    told = next(text for text in requests if json.dumps(first.answer, ensure_ascii=False)[1:-1] in text)
    assert not any(f"{word}" in told for word in (first.name, "detector", "acts.", "desk_lines"))


async def test_a_reader_who_sees_refusals_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what declines is right, and every ordinary line is counted; the short prompt asks as well."""
    every = part_of(rows_of(dialogues(tmp_path)), "a")
    verdicts, _ = await asked_of(judge(every, lambda _: "declined"), every, monkeypatch, judging="small")
    figures = "\n".join(lines(every, verdicts))
    right = sum(row.kind in "DE" for row in every if row.kind and row.language == "ja")
    of = sum(row.language == "ja" for row in every if row.kind)

    assert f"{right / of:.3f}" in figures
    assert "50 of 50 false refusals and handovers, 100.0 in 100 (declined 50)" in figures
    assert len(list(mistakes(every, verdicts))) == len(every) - sum(
        row.kind in "DE" for row in every if row.kind
    )


def test_without_a_model_recorded_verdicts_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the half that is asked for; of an earlier prompt they are known as such."""
    every = [row for row in rows_of(tmp_path) if row.kind]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    body = {"prompt": "earlier", "judge": "somebody", "verdicts": {row.name: "answered" for row in every}}
    (tmp_path / "said.json").write_text(json.dumps(body), encoding="utf-8")
    options = (
        "--part",
        "a",
        "--record",
        str(tmp_path / "said.json"),
        "--lines",
        str(tmp_path),
    )
    main(options)
    told = capsys.readouterr().out

    assert "somebody, recorded with an earlier prompt" in told
    assert "their lines are left out (--lines FOLDER)" in told
    n = len(part_of(every, "a"))
    assert f"{n} of {n} rows graded" in told
