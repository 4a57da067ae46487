"""The bridge to lm_eval without lm_eval: what tasks need, likelihoods, generations, metrics."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.choosing import Unsupported
from simulator.core.errors import BotFailure, InputError, RehearsalError
from simulator.core.settings import load_settings
from simulator.core.types import Answer, Case, Conversation, Turn, Usage
from simulator.lab.harness import tasks
from simulator.lab.harness.echo import Tokens, tokens_of
from simulator.lab.harness.model import Likelihoods, likelihood_summary, logprob_source
from simulator.lab.harness.tasks import (
    HarnessSession,
    Sources,
    check_known,
    conversation_of,
    read_task,
    sources_of,
)
from tests.servers.logprobs import completion

LOCAL = "task: mine\ndataset_path: json\ndataset_kwargs: {data_files: x.jsonl}\n"
HUB = "task: theirs\ndataset_path: someone/data\nprocess_results: !function utils.grade\n"


def write(name: str, text: str) -> str:
    """A file where the test stands."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")
    return name


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command that there is something to mend about."""
    assert main(["harness", *arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    return lines[0]


def test_an_extra_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2."""
    monkeypatch.setattr(tasks, "find_spec", lambda _: None)

    assert "extra 'lm-eval': pip install 'lm-eval" in refused(capsys, "--tasks", "gsm8k")


def test_files_of_ones_own_need_neither_the_network_nor_other_tasks() -> None:
    """A file, a group with its folder, and names of a folder; names alone are lm_eval's."""
    write("tasks/mine.yaml", LOCAL)
    write("tasks/theirs.yaml", HUB)
    write("tasks/pair.yaml", "group: pair\ntask: [mine, {task: mine, num_fewshot: 2}]\n")
    folder = Path("tasks").resolve()

    assert sources_of(["tasks/mine.yaml"]) == Sources((str(folder / "mine.yaml"),), (), own=True)
    assert sources_of(["tasks/pair.yaml"]) == Sources(("pair",), (folder,), own=True)
    assert sources_of(["mine"], ["tasks"]) == Sources(("mine",), (folder,), own=True)
    assert sources_of(["gsm8k", "tasks/mine.yaml"]).own is False
    assert read_task(folder / "theirs.yaml")["process_results"] == "utils.grade"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tasks", "none.yaml", "--adapter", "demo"], "--tasks none.yaml: no such task file"),
        (["--tasks", "list.yaml", "--adapter", "demo"], "not a task of lm_eval"),
        (["--tasks", "broken.yaml", "--adapter", "demo"], "cannot be read as a task"),
        (["--tasks", "x", "--include", "nowhere", "--adapter", "demo"], "--include nowhere: no such folder"),
        ([], "harness needs tasks"),
    ],
)
def test_what_is_wrong_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    """Before anything is imported or asked: exit code 2."""
    monkeypatch.setattr(tasks, "find_spec", lambda _: object())
    write("list.yaml", "- 1\n")
    write("broken.yaml", "task: [")

    assert told in refused(capsys, *arguments)


def test_an_unknown_task_is_told_with_near_names() -> None:
    """A pattern stands for what it matches; a name that nothing has is one line."""
    known = ["gsm8k", "gsm_plus", "arc_easy"]
    assert check_known(["gsm*"], known, lambda _: ["gsm8k", "gsm_plus"]) == ["gsm8k", "gsm_plus"]
    with pytest.raises(InputError, match=r"unknown task 'gsm8'. Did you mean gsm8k"):
        check_known(["gsm8"], known, lambda _: [])


def held(text: str, tokens_out: int = 0) -> Conversation:
    """A conversation that ended with this answer."""
    answer = Answer(text=text, usage=Usage(tokens_out=tokens_out) if tokens_out else None)
    case, turn = Case(id="1", question="?", language="en"), Turn(index=1, user="?", answer=answer)
    return Conversation(id="1", case=case, persona="scripted", turns=(turn,))


def request(doc: Mapping[str, Any], *args: Any, task: str = "t", number: int = 0) -> Any:
    """A request as lm_eval makes it."""
    return SimpleNamespace(doc=doc, args=args, task_name=task, doc_id=number)


def test_what_is_likeliest_is_told_by_what_differs() -> None:
    """Choices by their texts; where only the contexts differ, by these."""
    choices = [(request({}, "Q", " a"), -2.0, False), (request({}, "Q", " b"), -1.0, True)]
    contexts = [(request({}, "He", " left"), -1.0, False), (request({}, "She", " left"), -3.0, False)]

    assert likelihood_summary(choices)[1:] == ("b", {"a": -2.0, "b": -1.0})
    assert likelihood_summary(contexts)[1:] == ("He", {"He": -1.0, "She": -3.0})


def test_a_document_is_one_question_with_its_right_answers() -> None:
    """Whatever columns it has."""
    session = HarnessSession(load_settings({"offline": True}))
    doc = {"history": [{"role": "user", "content": "Hi"}], "turns": ["Q", "and then?"]}
    task = SimpleNamespace(config=SimpleNamespace(doc_to_choice=None), doc_to_target=lambda doc: "A")
    session.tasks = {"t": task}
    try:
        asked = conversation_of(session, request(doc, "Q", {}), 1)
    finally:
        session.close()

    assert (asked.id, asked.case.question, asked.case.references) == ("scripted/t-0#1", "Q", (("A",),))
    assert (asked.case.history, asked.case.script) == ((), ())


class Model:
    """A model that finds every token half as likely as the one before, and counts what it is asked."""

    def __init__(self, *failures: BotFailure) -> None:
        self.asked: list[str] = []
        self.failures = list(failures)

    async def prompt_logprobs(self, text: str) -> Tokens:
        self.asked.append(text)
        if self.failures:
            raise self.failures.pop(0)
        return [(None if at == 0 else -float(at), letter.isupper()) for at, letter in enumerate(text)]


def ask(model: Model, *pairs: tuple[str, str]) -> list[tuple[float, bool]]:
    """Their likelihoods, at once."""

    async def asked() -> list[tuple[float, bool]]:
        return await Likelihoods(logprob_source(model, "m"), load_settings({"cache": "off"})).pairs(pairs)  # type: ignore[arg-type]

    return asyncio.run(asked())


def test_a_continuation_is_all_tokens_after_its_context() -> None:
    """The space between the two belongs to it; a context that choices share is asked for once."""
    model = Model()

    assert ask(model, ("ab ", "CD"), ("ab", " x")) == [(-(2.0 + 3 + 4), False), (-(2.0 + 3), False)]
    assert sorted(model.asked) == ["ab", "ab CD", "ab x"]
    assert ask(Model(), ("", "AB")) == [(-1.0, True)]
    assert ask(Model(), ("a", "BC")) == [(-(1.0 + 2), True)]


def test_an_endpoint_without_likelihoods_is_refused_in_a_sentence() -> None:
    """One that is only away just now stops the evaluation, which goes on later."""
    with pytest.raises(InputError, match=r"m gives no log-likelihoods \(it is a bot that only answers\)"):
        logprob_source(lambda query: "", "m")
    with pytest.raises(InputError, match="HTTP 404"):
        ask(Model(BotFailure("refused", "HTTP 404")), ("a", "b"))
    with pytest.raises(RehearsalError, match="at the moment"):
        ask(Model(BotFailure("error", "HTTP 503")), ("a", "b"))


def echo(text: str, **changes: Any) -> Tokens:
    """What an endpoint's completion tells of a prompt."""

    async def post(path: str, body: dict[str, Any]) -> Any:
        reply = completion(body)
        reply["choices"][0] |= changes.pop("choice", {})
        return {**reply, **changes}

    return asyncio.run(tokens_of(text, {"model": "m"}, post))


def test_only_an_endpoint_that_tells_of_the_whole_prompt_is_believed() -> None:
    """Some take `echo` and tell of what they generated: every choice would be equally likely."""
    generated = {"text": ".", "logprobs": {"token_logprobs": [-0.1], "top_logprobs": [{".": -0.1}]}}

    async def missing(path: str, body: dict[str, Any]) -> Any:
        raise Unsupported("HTTP 404: not found")

    assert [greedy for _, greedy in echo("abc")] == [True, True, True]
    assert len(echo("abc", usage=None)) == 3
    lies: list[dict[str, Any]] = [
        {"choice": generated},
        {"choice": generated, "usage": None},
        {"choices": []},
    ]
    for changes in lies:
        with pytest.raises(BotFailure, match="tells no log-likelihoods"):
            echo("abc", **changes)
    with pytest.raises(BotFailure, match="HTTP 404"):
        asyncio.run(tokens_of("abc", {}, missing))


def test_every_metric_is_a_share_of_its_scale() -> None:
    """Percent are taken as such, less may be better, what is off the scale is told, and pairs are skipped."""
    from simulator.lab.harness.grade import number, scores_of  # with lm_eval, which takes a second

    values: dict[str, list[Any]] = {
        "rouge": [42.0, 8.0],
        "loss": [0.25, 0.5],
        "delta": [-0.5, 3.0],
        "f1": [(1, 0), (1, 1)],
    }
    better = {"loss": False}
    task = SimpleNamespace(
        config=SimpleNamespace(process_results=None),
        aggregation=lambda: dict.fromkeys(values), higher_is_better=lambda: better,
    )  # fmt: skip
    samples = [
        {"doc": {}, "doc_id": at, "filter": "none", "metrics": list(values), "filtered_resps": [""]}
        | {name: each[at] for name, each in values.items()}
        for at in range(2)
    ]
    session: Any = SimpleNamespace(
        tasks={"t": task}, conversations={("t", at): [held(f"{at}")] for at in range(2)}
    )
    first = {score.judge: score for score in scores_of(session, {"t": samples})[:4]}

    assert {name: score.value for name, score in first.items()} == {
        "rouge": 0.42, "loss": 0.75, "delta": 0.0, "f1": None,
    }  # fmt: skip
    assert "-0.5" in first["delta"].reason
    assert first["f1"].state == "skipped"
    assert (number(True), number(float("nan")), number("1")) == (1.0, None, None)
