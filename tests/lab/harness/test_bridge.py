"""The real lm_eval and our bot: every kind of request, a group of tasks, one run."""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from math import fsum, sqrt
from pathlib import Path
from statistics import stdev
from typing import Any, NamedTuple

import pytest

from simulator.cli.app import main
from simulator.core import shelves
from simulator.core.types import Conversation, Results, Score
from simulator.storage.run_file import HARNESS_NOTE, find_run, read_run, run_ids
from tests.servers.logprobs import tokens
from tests.servers.openai import OpenAIServer, Reply, serve
from tests.servers.replies import ChatRequest

pytestmark = [
    pytest.mark.skipif(find_spec("lm_eval") is None, reason="the extra 'lm-eval' is not installed"),
    pytest.mark.timeout(180),
]
FAQ = [
    {"id": "days", "ask": "返品は何日以内ですか", "right": "8日以内です。"},
    {"id": "fee", "ask": "送料はいくらですか", "right": "全国一律550円です。"},
    {"id": "hours", "ask": "営業時間を教えてください", "right": "平日9時から18時です。"},
]
FEES = [{"id": "days", "ask": "返品の送料は誰が払いますか", "right": "お客様のご負担です。"}]
# What every task begins with.
HEAD = """
task: NAME
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/NAME.jsonl}}
test_split: test
"""
TASK = """
output_type: generate_until
doc_to_text: "{{ask}}"
doc_to_target: "{{right}}"
generation_kwargs: {until: [], max_gen_toks: 4096}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""
SHOP = """
group: shop
task: [faq, fees]
aggregate_metric_list:
  - {metric: exact_match, aggregation: mean, weight_by_size: true}
"""
# What the bot answers, by the last line it hears.
SAID = {
    "返品は何日以内ですか": "8日以内です。",
    "送料はいくらですか": "全国一律500円です。",
    "返品の送料は誰が払いますか": "お客様のご負担です。",
    "2 + 3 = ?": "Two and three. The answer is 5.\n\nNext question: 6",
    "4 + 4 = ?": "The answer is 8.",
    "Where is my order?": "It has left. The answer is tomorrow.",
}
TALKS = [
    {"ask": "2 + 3 = ?", "right": "5"},
    {"ask": "4 + 4 = ?", "right": "8"},
    {"ask": "Where is my order?", "right": "tomorrow"},
]
TALK = """
output_type: generate_until
doc_to_text: "{{ask}}"
doc_to_target: "{{right}}"
generation_kwargs: {until: ["\\n\\n"], max_gen_toks: 100}
filter_list:
  - name: last
    filter: [{function: regex, regex_pattern: "([0-9]+)", group_select: -1}, {function: take_first}]
  - name: said
    filter: [{function: regex, regex_pattern: "answer is (\\\\w+)"}, {function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""
CHOICES = """
output_type: multiple_choice
doc_to_text: "{{ask}}"
doc_to_choice: choices
doc_to_target: gold
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
"""
CAPITALS = [
    {"ask": "the the the then", "choices": ["the", "Rome"], "gold": 0},
    {"ask": "Rome Rome Rome the", "choices": ["thy", "Rome"], "gold": 0},
]
ROLLING = """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list:
  - {metric: byte_perplexity, aggregation: weighted_perplexity, higher_is_better: false}
"""
PROSE = [{"text": "aab"}, {"text": "the rain in Spain"}]


BOT = "def answer(question):\n    return '8日以内です。'\n"
STOPPING = """
import asyncio, os, signal

async def answer(question):
    with open("heard.txt", "a", encoding="utf-8") as file:
        file.write(question + "\\n")
    if "送料" in question and not os.path.exists("again"):
        open("again", "w").close()
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)
    return "8日以内です。"
"""


class Held(NamedTuple):
    """What the one evaluation came to."""

    code: int
    shown: dict[str, Any]
    err: str
    results: Results
    asked: list[list[str]]
    echoed: list[str]

    def conversation(self, key: str) -> Conversation:
        """A conversation by its id."""
        return next(conversation for conversation in self.results.conversations if conversation.id == key)

    def scores(self, key: str) -> dict[str, Score]:
        """The last turn's grades of a conversation, by judge."""
        return {score.judge: score for score in self.results.scores if score.conversation == key}

    def measured(self, name: str) -> dict[str, tuple[float, float | None]]:
        """What lm_eval told of a task or group: value and error by metric and filter."""
        entry = next(each for each in self.shown[HARNESS_NOTE]["results"] if each["name"] == name)
        return {f"{m['metric']},{m['filter']}": (m["value"], m["stderr"]) for m in entry["metrics"]}


def said(body: ChatRequest) -> Reply:
    """The bot's answer; it is down for the opening hours."""
    line = str(body["messages"][-1]["content"])
    if "営業時間" in line:
        return Reply(status=400)
    return Reply(SAID.get(line, "Thank you."))


def write(folder: Path) -> None:
    """The data sets, and the task files that are written by hand."""
    data: dict[str, Any] = {"talk": TALKS, "capital": CAPITALS, "prose": PROSE, "faq": FAQ, "fees": FEES}
    for name, rows in data.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    tasks = {"talk": TALK, "capital": CHOICES, "prose": ROLLING, "faq": TASK, "fees": TASK, "shop": SHOP}
    for name, text in tasks.items():
        whole = text if name == "shop" else HEAD.replace("NAME", name) + text
        (folder / f"{name}.yaml").write_text(whole.replace("FOLDER", str(folder)), encoding="utf-8")


def bot(server: OpenAIServer) -> list[str]:
    """The options that name it."""
    return ["--adapter", "openai_chat", "--set", f"url={server.url}", "--set", "model=m", "--offline"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder and an environment that all tests here share; lm_eval is imported once."""
    folder = tmp_path_factory.mktemp("harness")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("HOME", "XDG_CACHE_HOME", "HF_HOME"):
            patch.setenv(name, str(folder / name))
        for name in ("HF_HUB_OFFLINE", "TQDM_DISABLE", "DISABLE_MULTIPROC"):
            patch.setenv(name, "1")
        write(folder)
        yield folder


@pytest.fixture(scope="module")
def held(world: Path) -> Held:
    """One evaluation of everything."""
    out, err = io.StringIO(), io.StringIO()
    with serve(said, echoes=True) as server, redirect_stdout(out), redirect_stderr(err):
        tasks = "shop.yaml,talk.yaml,capital.yaml"
        code = main(["harness", "--tasks", tasks, *bot(server), "--json"])
        bodies = [each.body for each in server.requests]
    asked = [[said["content"] for said in body["messages"]] for body in bodies if "messages" in body]
    echoed = [body["prompt"] for body in bodies if "prompt" in body]
    assert out.getvalue(), err.getvalue()
    shown = json.loads(out.getvalue())
    return Held(code, shown, err.getvalue(), read_run(find_run(shown["run"], world / "runs")), asked, echoed)


@pytest.fixture
def here(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shared folder, with the environment of its own that every test has."""
    monkeypatch.chdir(world)
    return world


def test_everything_lm_eval_measured_is_a_run(held: Held) -> None:
    """Each document is a conversation with its answer, graded; the first metric of its task decides.

    The metrics are lm_eval's, so nothing of it is the trial that grading without a model is.
    """
    assert (held.code, held.shown["turns"], held.shown["conversations"]["planned"]) == (0, 9, 9)
    assert held.results.run.settings["protocol"] == "single_turn"
    assert held.shown["judges"]["main_metric"]["n"] == 9
    assert held.shown["judges"]["exact_match"]["n"] == 4
    assert all(judge["failed"] == 0 for judge in held.shown["judges"].values())
    assert not held.shown["trial"]
    assert held.conversation("scripted/faq-1#1").case.references == (("全国一律550円です。",),)


def test_a_group_is_measured_over_the_rows_of_its_tasks(held: Held) -> None:
    """Means and errors that lm_eval tells are those of the run's grades."""
    rows = (held.scores(f"scripted/faq-{row}#1") for row in range(3))
    grades = [scores["exact_match"].value or 0.0 for scores in rows]
    mean, error = held.measured("faq")["exact_match,none"]

    assert mean == pytest.approx(fsum(grades) / 3)
    assert error == pytest.approx(stdev(grades) / sqrt(3))
    assert held.measured("fees")["exact_match,none"][0] == 1.0
    assert held.measured("shop")["exact_match,none"][0] == pytest.approx(2 / 4)


def test_a_failure_of_the_bot_is_an_empty_answer(held: Held) -> None:
    """It is counted, and graded lowest by rule; nothing stops for it."""
    hours = held.conversation("scripted/faq-2#1")
    grade = held.scores(hours.id)["exact_match"]

    assert hours.turns[0].answer.error is not None
    assert (grade.value, grade.by_rule) == (0.0, True)
    assert held.shown["red"] >= 1


def test_answers_are_cut_where_the_task_says_so(held: Held) -> None:
    """What follows a stop is no part of the generation, but stays in the run; each filter has its metric."""
    assert held.conversation("scripted/talk-0#1").turns[0].answer.text.endswith("Next question: 6")
    assert held.scores("scripted/talk-0#1")["last.exact_match"].value == 1.0
    assert held.measured("talk")["exact_match,said"][0] == 1.0
    assert held.measured("talk")["exact_match,last"][0] == pytest.approx(2 / 3)


def test_likelihoods_are_those_of_the_endpoint(held: Held) -> None:
    """A choice's is the sum of its tokens after the context; every text is asked for once."""
    context = CAPITALS[0]["ask"]
    expected = {
        choice: fsum(value or 0 for _, value in tokens(f"{context} {choice}")[len(str(context)) :])
        for choice in ("the", "Rome")
    }
    likeliest = held.conversation("scripted/capital-0#1").turns[0].answer

    assert likeliest.logprobs == pytest.approx(expected)
    assert likeliest.text == max(expected, key=lambda choice: expected[choice])
    assert len(held.echoed) == len({*held.echoed}) == 2 * 3


def test_no_other_framework_is_loaded(held: Held) -> None:
    """Neither torch nor transformers, and lm_eval says nothing of its own on stderr."""
    assert not {"torch", "transformers"} & sys.modules.keys()
    assert "git repository" not in held.err


def test_reports_and_gate_take_the_run(held: Held, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is painted like any other, with lm_eval's own table."""
    page = (here / "runs" / held.shown["run"] / "report.html").read_text(encoding="utf-8")
    code = main(["report", held.shown["run"], "--to", "markdown", "--target", "99"])

    assert code == 1
    # In the language of the terminal, although most questions are Japanese.
    assert '<html lang="en"' in page
    assert "0.3333 ± 0.3333" in page
    assert "faq · exact_match" in capsys.readouterr().out


def test_an_interrupted_evaluation_goes_on(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was answered is not asked again; the run is finished by its own options."""
    Path("stopping.py").write_text(STOPPING, encoding="utf-8")
    options = "--tasks faq.yaml --adapter stopping.py:answer --concurrency 1 --offline"
    code = main(["harness", *options.split()])
    told = capsys.readouterr().err
    run = run_ids(Path("runs"))[-1]

    assert code == 3
    assert f"harness --resume {run}" in told
    assert main(["--resume", run]) == 2
    assert f"harness --resume {run}" in capsys.readouterr().err
    assert main(["harness", "--resume", run]) == 0
    heard = Path("heard.txt").read_text(encoding="utf-8").split()
    assert heard == ["返品は何日以内ですか", *["送料はいくらですか"] * 2, "営業時間を教えてください"]
    assert {score.value for score in read_run(find_run(run, Path("runs"))).scores} == {1.0, 0.0}


def test_the_bundled_example_works(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Questions to the demo bot, offline: it misses one price of five."""
    monkeypatch.chdir(shelves.ROOT)
    options = ["--tasks", "demo/harness/prices.yaml", "--offline", "--json", "--runs", str(tmp_path / "runs")]
    assert main(["harness", *options]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert shown[HARNESS_NOTE]["results"][0]["metrics"][0]["value"] == 0.8
    assert shown["score"] == 0.8


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("capital.yaml", "adapter bot.py:answer gives no log-likelihoods"),
        ("lost.yaml", "lost.jsonl"),
        ("prose.yaml", "task prose measures how likely whole texts are"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], task: str, told: str
) -> None:
    """A bot without likelihoods, a task whose data is not there: exit code 2, and no run."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    head = HEAD.replace("NAME", "lost").replace("FOLDER", str(here))
    Path("lost.yaml").write_text(head + ROLLING, encoding="utf-8")
    before = run_ids(Path("runs"))
    code = main(["harness", "--tasks", task, "--adapter", "bot.py:answer", "--offline"])
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]

    assert (code, len(errors)) == (2, 1)
    assert told in errors[0]
    assert run_ids(Path("runs")) == before
