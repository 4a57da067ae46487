"""Prompts in runs: what a model is sent, what of the prompt stands in the run, and what is refused."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.runner.prompts import read_prompt
from simulator.storage.run_file import RunFile, find_run
from tests.runner.test_prompting import FULL, written
from tests.servers.openai import serve


def evaluated(prompt: str) -> Any:
    """What two rows came to, and what the model was sent."""
    Path("q.csv").write_text("id,question,label,product\na,やあ,0,x\nb,ばか,1,\n", encoding="utf-8")

    def reply(request: Any) -> str:
        return "不適切" if "ばか" in request["messages"][-1]["content"] else "適切"

    with serve(reply) as server:
        bot = f"--adapter openai_chat --set url={server.url} --set model=m --choosing generation".split()
        code = main(["evaluate", "q.csv", "--prompt", prompt, *bot])
        return code, list(server.requests)


def test_a_model_is_asked_with_the_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    """Over HTTP: system and user message of every row; what it was stands in the run and in diff."""
    text = FULL.replace("${お客様の種類}", "$product")
    code, requests = evaluated(written(text) + ":expert")
    begun = capsys.readouterr().err
    prompt = read_prompt("mine.toml:expert")
    first = open_run()
    evaluated(written(text.replace("専門家", "専門の係")) + ":expert")
    later = find_run("latest", Path("runs")).parent.name
    capsys.readouterr()
    main(["diff", first.run.id, later])
    said = "".join(capsys.readouterr().out.split())

    assert code == 0
    assert "2 rows, bot: openai_chat, prompt: mine:expert 2." in begun
    assert {each.body["messages"][0]["content"] for each in requests} == {"専門家です。"}
    assert [each.body["messages"][1]["role"] for each in requests] == ["user", "user"]
    assert first.run.versions["prompt:mine:expert"] == "2"
    assert first.run.prompts["prompt:mine:expert"] == prompt.hash
    assert f"promptmine:expert2({prompt.hash})→mine:expert2" in said


def test_rows_that_lack_a_column_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """None of the rows: the file, the line, the prompt and the column, and nobody was asked."""
    code, requests = evaluated(written(FULL))

    assert (code, requests) == (2, [])
    assert "error: q.csv, line 2: the prompt mine needs a column 'お客様の種類'" in capsys.readouterr().err


def test_a_changed_prompt_finishes_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    """A run whose halves were asked with other words would mean nothing; with the old ones it goes on."""
    Path("q.jsonl").write_text('{"question": "a", "references": ["a"]}\n', encoding="utf-8")
    Path("bot.py").write_text("def answer(question):\n    return question\n", encoding="utf-8")
    text = "version=1\n[ja]\nuser='$question'"
    given = ("--adapter", "bot.py:answer", "--judges", "exact_match")
    main(["evaluate", "q.jsonl", "--prompt", written(text), *given])
    path = find_run("latest", Path("runs"))
    with contextlib.closing(RunFile.reopen(path)) as file:
        file.finish("interrupted", 0.0)
    capsys.readouterr()
    written(text.replace("$question", "Q: $question"))

    assert main(["evaluate", "--resume", path.parent.name]) == 2
    assert f"prompt mine is not what run {path.parent.name} began with" in capsys.readouterr().err
    written(text)
    assert main(["evaluate", "--resume", path.parent.name]) == 0
