"""The program as Python calls, as a plugin of pytest, and as a step of a workflow."""

import asyncio
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pandas
import pytest
import yaml

import simulator
from simulator import (
    Case,
    ChatMessage,
    InputError,
    acompare,
    adiff,
    aevaluate,
    agrade,
    alearn,
    arehearse,
    areview,
    compare,
    diff,
    evaluate,
    grade,
    learn,
    open_run,
    rehearse,
    review,
)
from simulator.core import messages
from tests.servers.openai import OpenAIServer
from tests.servers.replies import ChatRequest, text_of

CASES = [
    {"id": "fee", "question": "送料はいくらですか？", "reference": "送料は550円です。"},
    {"id": "days", "question": "返品は何日以内ですか？", "reference": "30日以内です。"},
]
ANSWER = "送料は550円です。"
OPTIONS: dict[str, Any] = {"cases": CASES, "persona": "calm", "turns": 2, "offline": True}
pytest_plugins = ("pytester",)


def answer(question: str) -> tuple[str, list[str]]:
    """A bot that knows one thing, and says too much on the terminal."""
    sys.stdout.write(f"asked: {question}\n")
    return ANSWER, [ANSWER]


def test_a_run_is_returned_with_its_figures(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Score, verdict, red turns, a frame, and reports of every kind; nothing is printed."""
    result = rehearse(answer, target=90, **OPTIONS)

    assert result.score is not None
    assert 0 < result.score < 0.9
    assert (result.passed, result.interval, result.stopped) == (False, None, None)
    assert {turn.case for turn in result.red} == {"days"}
    assert result.red[0].answer == ANSWER
    assert [conversation.case.id for conversation in result.conversations] == ["fee", "days"]
    assert open_run(result).conversations == result.conversations
    assert len(result.to_frame()) == sum(len(each.turns) for each in result.conversations)
    assert result.as_dict()["score"] == pytest.approx(result.score, abs=1e-4)
    assert result.reasons == result.as_dict()["reasons"]
    assert repr(result).endswith(f"score={result.score}, passed=False, red={len(result.red)}, trial=True)")
    for suffix in (".html", ".md", ".json", ".csv", ".xlsx", ".xml"):
        assert result.report(tmp_path / f"r{suffix}").stat().st_size > 500
    with pytest.raises(InputError, match=r"kind of report: '\.pdf'"):
        result.report("r.pdf")
    for name in ("r.html", "r.md"):
        with pytest.raises(InputError, match="cannot be written"):
            result.report(tmp_path / "nowhere" / name)
    assert capfd.readouterr() == ("", "")


class Chain:
    """An object like those of LangChain."""

    async def ainvoke(self, text: str, config: Any = None, **_: Any) -> str:
        """One answer to everything."""
        return ANSWER

    def invoke(self, text: str, config: Any = None, **_: Any) -> str:
        """The same, blocking."""
        return ANSWER


async def awaited(question: str, history: Sequence[ChatMessage]) -> str:
    """A bot that takes the dialogue."""
    return ANSWER if len(history) < 9 else ""


@pytest.mark.parametrize("bot", [awaited, Chain(), lambda question: ANSWER, "recorded"])
def test_a_bot_is_whatever_answers(bot: Any) -> None:
    """An async function with history, an object with invoke, a lambda, the name of an adapter."""
    cases = [{"question": "送料は？", "answer": ANSWER}]
    [conversation] = rehearse(bot, cases=cases, persona="calm", turns=1, offline=True).conversations

    assert conversation.turns[0].answer.text == ANSWER


def test_cases_are_objects_of_ours_or_tables() -> None:
    """Of `Case` nothing has to be read; columns are those of a file, also under other names."""
    ours = [Case(id="fee", question="送料は？", language="ja", references=(("送料は550円です。",),))]
    theirs = [{"Q": "送料は？", "A": "送料は550円です。", "since": date(2026, 1, 1)}]
    columns = {"question": "Q", "references": "A"}
    results = [evaluate(answer, ours, offline=True)]
    results += [evaluate(answer, theirs, offline=True, columns=columns)]
    results += [evaluate(answer, (row for row in theirs), offline=True, columns="question=Q,references=A")]

    assert [result.score for result in results] == [1.0, 1.0, 1.0]
    assert results[0].conversations[0].case == ours[0]
    assert results[1].conversations[0].case.values["since"] == "2026-01-01"


def test_cases_are_a_frame_of_pandas_or_questions_alone() -> None:
    """An empty cell of a frame is no value; a mapping alone is one case."""
    asks = ["送料は？", "返品は？"]
    frame = pandas.DataFrame({"question": asks, "reference": [ANSWER, None]})
    of_frame, of_texts, alone = (
        [talk.case for talk in evaluate(answer, cases, offline=True, limit=2).conversations]
        for cases in (frame, asks, {"question": "送料は？"})
    )

    assert [(case.question, case.references) for case in of_frame] == [
        ("送料は？", ((ANSWER,),)),
        ("返品は？", ()),
    ]
    assert [case.question for case in of_texts] == asks
    assert [case.question for case in alone] == ["送料は？"]


def test_a_bot_is_called_by_its_own_name() -> None:
    """That of its module and function, so that a command line can go on with a run."""
    adapters = [
        open_run(str(evaluate(bot, CASES, offline=True).path)).run.settings["adapter"]
        for bot in (answer, Chain(), lambda question: ANSWER)
    ]

    assert adapters == [f"{__name__}:{name}" for name in ("answer", "Chain", "bot")]


def test_it_works_within_an_event_loop(server: OpenAIServer) -> None:
    """As in a notebook; awaited, it leaves the loop free."""

    async def both() -> tuple[float | None, ...]:
        steps = [await arehearse(answer, **OPTIONS), rehearse(answer, **OPTIONS)]
        steps += [await aevaluate(answer, CASES, offline=True)]
        steps += [await agrade(steps[2], judges="contains", offline=True)]
        compared = await acompare(steps[0], steps[1])
        assert (compared["pairs"], compared["asked"], compared["failed"]) == (3, 0, 0)  # the same answers
        return tuple(step.score for step in steps)

    first, second, rows, graded = asyncio.run(both())
    assert first == second
    assert rows == graded == evaluate(answer, CASES, offline=True).score
    assert server.requests == []


GRADED = [{"question": "q", "answer": ANSWER, "reference": ANSWER}]


def test_recorded_answers_are_compared(server: OpenAIServer) -> None:
    """What a file would hold comes as rows; a run is named by itself or by its path; a model picks."""

    def picked(request: ChatRequest) -> str:
        is_first = re.search(rf"<answer_1 \w+>\n{ANSWER}", "\n".join(map(text_of, request["messages"])))
        said = dict.fromkeys(("needed", "answer_1", "answer_2", "reason"), "")
        return json.dumps({**said, "verdict": "1" if is_first else "2"})

    server.reply = picked
    right = evaluate("recorded", GRADED, offline=True)
    wrong = evaluate("recorded", [{**GRADED[0], "answer": "わかりません。"}], offline=True)

    assert (right.score, wrong.score) == (1.0, 0.0)
    [duel] = compare(right, wrong.path)["duels"]
    assert (duel["wins_a"], duel["ties"], duel["wins_b"]) == (1, 0, 0)
    assert compare(right.path, wrong)["duels"] == [duel]
    with pytest.raises(InputError, match="compare needs a model as judge"):
        compare(right, wrong, offline=True)


def test_a_finished_run_is_graded_by_more_judges() -> None:
    """The run is the same, with one column of grades more; what is there already is asked again on demand."""
    before = rehearse(answer, **OPTIONS)
    names = {*before.as_dict()["judges"]}
    graded = grade(before, judges=["contains"], offline=True)

    assert graded.path == before.path
    judges = graded.as_dict()["judges"]
    assert judges.keys() - names == {"contains"}
    assert grade(graded, again=True, judges="contains", offline=True).as_dict()["judges"] == judges


def test_two_runs_are_held_against_each_other(capfd: pytest.CaptureFixture[str]) -> None:
    """A bot that no longer knows anything is a regression; the folder of the runs is not left."""
    good = rehearse(answer, **OPTIONS)
    poor = rehearse(lambda question: "申し訳ございません、わかりません。", **OPTIONS)
    told = diff(good, poor)

    assert (told["paired"], told["regression"], told["page"]) == (2, False, None)
    assert not good.path.with_name("side-by-side.html").exists()
    assert {change["case"] for change in told["turned_red"]} == {"fee"}
    assert asyncio.run(adiff(good.path.parent.name, runs=good.path.parent.parent)) == told
    with pytest.raises(InputError, match="Both are the same run"):
        diff(good, good)
    assert capfd.readouterr() == ("", "")


def test_what_people_say_is_measured() -> None:
    """At once and awaited; a workbook that is not there is named."""
    run = rehearse(answer, **OPTIONS)

    assert review(run)["read"] is None
    assert asyncio.run(areview(run.path))["read"] is None
    with pytest.raises(InputError, match=r"x.xlsx: no such file"):
        review(run, "x.xlsx")


def test_learning_takes_labels_and_a_judge() -> None:
    """Without either it says so, at once and awaited."""
    with pytest.raises(InputError, match="learn needs a model as judge"):
        learn(offline=True)
    with pytest.raises(InputError, match="learn needs a model as judge"):
        asyncio.run(alearn(offline=True))


def test_every_public_call_is_tried_here() -> None:
    """With objects; whoever adds one writes its test."""
    own = Path(__file__).read_text(encoding="utf-8")
    calls = [name for name in dir(simulator) if inspect.isfunction(getattr(simulator, name))]

    assert [name for name in calls if not re.search(rf"\b{name}\(", own)] == ["passages_of"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"turn": 1}, "unknown keyword: 'turn'. Did you mean turns"),
        ({"dry_run": True}, "unknown keyword: 'dry_run'"),
        ({"persona": "angy"}, "unknown customer: 'angy'"),
        ({"cases": [{"fee": "x"}]}, 'row 1: no question column.* Or write columns="question=fee"'),
        (
            {"cases": [{"question": "x", "referense": "y"}]},
            "columns: referense. Did you mean reference",
        ),
        ({"cases": []}, "the list of cases is empty"),
        ({"cases": 5}, "cases is int, not a file or a list"),
        ({"offline": False, "target": 80}, "without a key or an endpoint"),
        ({"bot": 3}, "bot is int, not a function"),
        ({"cases": [3]}, "row 1: not an object"),
        ({"cases": {"train": CASES}}, "row 1: no question column"),
        ({"cases": [*CASES, Case(id="x", question="q", language="ja")]}, "not both"),
        ({"cases": [{"question": "q", "id": float("nan")}], "columns": {"question": "Q"}}, "'Q'"),
    ],
)
def test_a_mistake_is_one_sentence(flags: dict[str, Any], said: str) -> None:
    """The line that the command would print."""
    with pytest.raises(InputError, match=said) as met:
        rehearse(**({"bot": answer} | OPTIONS | flags))

    assert met.value.__context__ is None  # else a traceback shows another error first


def test_a_message_names_the_program_as_python_finds_it(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """No command has said how it was started: in a checkout by the path of its file."""
    monkeypatch.setattr(messages, "_pages", None)
    with pytest.raises(InputError) as met:
        rehearse(answer, **(OPTIONS | {"persona": "angy"}))

    assert f"All names: python {root}/run.py list." in str(met.value)


def test_a_wrong_value_is_named_by_its_keyword() -> None:
    """A program in Python has no flags."""
    for wrong in ({"turns": 99}, {"budget": 0}, {"target": "x"}):
        with pytest.raises(InputError, match=rf"^{next(iter(wrong))} [^-]"):
            rehearse(answer, **OPTIONS | wrong)


def test_settings_of_the_lab_have_a_keyword_of_their_own() -> None:
    """A load rehearsal; a misspelt one is told, and so is a bot that other machines cannot find."""
    result = rehearse(answer, **OPTIONS, added={"customers": 2})

    assert result.as_dict()["load"]["customers"] == 2
    with pytest.raises(InputError, match=r"unknown setting: 'custmers'. Did you mean customers"):
        rehearse(answer, **OPTIONS, added={"custmers": 2})
    with pytest.raises(InputError, match="find the bot by a name"):
        rehearse(answer, **OPTIONS, added={"workers": 1})


def test_a_keyword_of_the_other_kind_of_run_is_refused() -> None:
    """It would have no effect: rows are asked by no customer, and customers have prompts of their own."""
    of_rows: dict[str, Any] = {**OPTIONS, "prompt": "choose"}
    of_customers: dict[str, Any] = {"offline": True, "persona": "angry"}

    with pytest.raises(InputError, match="unknown keyword: 'prompt'"):
        rehearse(answer, **of_rows)
    with pytest.raises(InputError, match="unknown keyword: 'persona'"):
        evaluate(answer, CASES, **of_customers)


@pytest.mark.parametrize(("name", "language"), [("rehearse_bot.py", "ja"), ("rehearse_bot_en.py", "en")])
def test_the_example_runs(
    root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, language: str
) -> None:
    """In an empty folder: a score, and a page in the language of the one who reads about it."""
    runpy.run_path(str(root / "demo" / "python" / name), run_name="__main__")

    assert capfd.readouterr() == ("1.0 []\n", "")
    assert f'<html lang="{language}"' in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_failed_test_shows_the_reddest_turns(
    pytester: pytest.Pytester, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most three with their reasons; a test that passes shows nothing; offline is the option's word."""
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    example = (root / "demo" / "python" / "test_bot.py").read_text(encoding="utf-8")
    bot = (root / "demo" / "python" / "rehearse_bot.py").read_text(encoding="utf-8")
    pytester.makepyfile(test_good=example, rehearse_bot=bot)
    pytester.makepyfile(
        test_bad="""
        from rehearse_bot import answer

        def test_all_is_well(rehearse):
            cases = [{"question": f"返品{n}は？", "reference": f"{n}日以内です。"} for n in range(3, 8)]
            assert rehearse(answer, cases=cases, persona="calm", turns=1, target=90).passed
        """
    )
    ran = pytester.runpytest_inprocess("-p", "simulator.pytest_plugin", "--rehearse-offline")

    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(["*- rehearsal -*", "score * / 100, answers to review 5, run *run.sqlite"])
    assert str(ran.stdout).count("▲") == 3
    assert "-> 送料は全国一律550円です。" in str(ran.stdout)


GH = """#!{python}
import json, os, sys
from pathlib import Path

place, words = Path(os.environ["COMMENTS"]), sys.argv[1:]
comments = json.loads(place.read_text())
if words[:2] == ["pr", "view"]:
    print(json.dumps({{"comments": comments}}))
elif words[:2] == ["pr", "comment"]:
    url = f"https://github.com/o/r/pull/7#issuecomment-{{len(comments)}}"
    body = Path(words[words.index("--body-file") + 1]).read_text()
    comments.append({{"url": url, "viewerDidAuthor": True, "body": body}})
elif words[:3] == ["api", "--method", "PATCH"]:
    number = int(words[3].removeprefix("repos/o/r/issues/comments/"))
    comments[number]["body"] = Path(words[words.index("-F") + 1].removeprefix("body=@")).read_text()
else:
    sys.exit(f"unknown: {{words}}")
place.write_text(json.dumps(comments))
"""


class Workflow:
    """The steps of action.yml in a job, run by bash as GitHub does it."""

    def __init__(self, root: Path, folder: Path) -> None:
        action = yaml.safe_load((root / "action.yml").read_text("utf-8"))
        self.steps = {step["name"]: step for step in action["runs"]["steps"]}
        self.folder, self.summary = folder, folder / "summary"
        programs, self.comments = folder / "bin", folder / "comments.json"
        programs.mkdir()
        started = f'#!/bin/sh\nPYTHONPATH={root} exec {sys.executable} -m simulator "$@"\n'
        texts = {"rehearsal": started, "gh": GH.format(python=sys.executable)}
        for name, text in texts.items():
            (programs / name).write_text(text, encoding="utf-8")
            (programs / name).chmod(0o755)
        (programs / "python").symlink_to(sys.executable)
        self.comments.write_text("[]")
        (folder / "bot.py").write_text("def answer(question):\n    return '550円です。'\n", encoding="utf-8")
        (folder / "temp").mkdir()
        self.world = {
            **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder / "temp"),
            "GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(self.summary),
            "COMMENTS": str(self.comments), "REPOSITORY": "o/r", "PULL_REQUEST": "7", "GH_TOKEN": "",
        }  # fmt: skip

    def run(self, name: str, **given: str) -> int:
        """One step, with what its `env` names; its exit code."""
        step = self.steps[name]
        assert given.keys() | self.world.keys() >= step.get("env", {}).keys()
        script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(script, cwd=self.folder, env={**self.world, **given}, check=False).returncode

    def rehearse(self, **given: str) -> dict[str, str]:
        """The rehearsal; what the step gives to others."""
        (self.folder / "output").unlink(missing_ok=True)
        bot = {"BOT": "bot.py:answer", "CASES": "", "TARGET": "", "ARGUMENTS": ""}
        assert self.run("Rehearse", **(bot | given)) == 0
        lines = (self.folder / "output").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def comment(self, told: dict[str, str], name: str) -> list[str]:
        """The comment of this step in a job of this name; all that there are now."""
        assert self.run("Comment", NAME=name, VERDICT=f"{told['runs']}/verdict.md") == 0
        return [each["body"] for each in json.loads(self.comments.read_text())]


@pytest.fixture
def workflow(root: Path, tmp_path: Path) -> Workflow:
    """A job that uses the action."""
    return Workflow(root, tmp_path)


def test_the_action_says_its_verdict(workflow: Workflow) -> None:
    """Options reach the command as they are, the report the summary, the code the end.

    Arguments may have blanks in quotes and stand on several lines; nothing in them is run.
    """
    questions = workflow.folder / "q; touch owned.csv"
    questions.write_text("question,reference\n返品は？,30日以内です。\n", encoding="utf-8")
    (workflow.folder / "bot.py").write_text(
        "def answer(question, prompt='none'):\n    return f'<{prompt}>'\n", encoding="utf-8"
    )
    marked = "$(touch owned) `touch owned`; touch owned"
    options = f"--offline --persona calm --turns 1\n--limit 1 --set 'prompt=Be  brief {marked}'"
    told = workflow.rehearse(CASES=questions.name, TARGET="90", ARGUMENTS=options)
    shown = json.loads(next(Path(told["runs"]).glob("*/report.json")).read_text(encoding="utf-8"))

    assert told["code"] == "1"
    assert "返品は？" in workflow.summary.read_text(encoding="utf-8")
    assert {row["answer"] for row in shown["rows"]} == {f"<Be  brief {marked}>"}
    assert not [*workflow.folder.glob("owned*")]
    assert workflow.run("Verdict", CODE="1") == 1
    assert "inputs." not in "".join(step.get("run", "") for step in workflow.steps.values())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"BOT": "none.py:answer"}, "error: none.py: no such file"),
        ({"ARGUMENTS": "--limit 1 --sheet ''"}, "error: Option '--sheet' requires an argument."),
        ({"ARGUMENTS": "--set 'prompt=a"}, "error: arguments: ValueError: No closing quotation"),
    ],
)
def test_the_action_says_why_nothing_came_of_it(workflow: Workflow, given: dict[str, str], said: str) -> None:
    """The summary and the comment have the line that the log has, and the code is 2."""
    told = workflow.rehearse(**given)
    summary = workflow.summary.read_text(encoding="utf-8")

    assert told["code"] == "2"
    assert "no result (exit code 2)" in summary
    assert said in summary
    assert said in workflow.comment(told, "ci job 0")[0]


def test_the_action_rewrites_its_own_comment_alone(workflow: Workflow) -> None:
    """The next push takes its place; other jobs have one of their own, and those of others stay."""
    verdict = workflow.folder / "verdict.md"
    verdict.write_text("**Passed**", encoding="utf-8")
    [mine] = workflow.comment({"runs": "."}, "ci rehearse 0")
    others = [
        {"url": "u#issuecomment-1", "viewerDidAuthor": True, "body": "coverage 90 %"},
        {"url": "u#issuecomment-2", "viewerDidAuthor": False, "body": mine},
        {"url": "u#issuecomment-3", "viewerDidAuthor": True, "body": f"> {mine}"},
    ]
    workflow.comments.write_text(json.dumps([*json.loads(workflow.comments.read_text()), *others]))
    verdict.write_text("**Failed**", encoding="utf-8")
    rewritten, *rest = workflow.comment({"runs": "."}, "ci rehearse 0")

    assert re.fullmatch(r"<!-- rehearsal .* -->\n\*\*Passed\*\*", mine)
    assert rewritten == mine.replace("Passed", "Failed")
    assert rest == [each["body"] for each in others]
    assert len(workflow.comment({"runs": "."}, "ci rehearse 1")) == 5


@pytest.mark.parametrize(("page", "end"), [("python.md", "_en.py"), ("python.ja.md", "bot.py")])
def test_the_page_shows_the_examples_that_run(page: str, end: str, root: Path) -> None:
    """Word for word, in its own language."""
    text = (root / "docs" / page).read_text(encoding="utf-8")
    examples = [*(root / "demo" / "python").glob(f"*{end}")]
    assert len(examples) == 2
    for example in examples:
        assert f"```python\n{example.read_text(encoding='utf-8')}```" in text


def test_a_result_shows_itself_in_a_notebook() -> None:
    """Verdict, what has changed since the last run, and the red answers; what anybody said is escaped."""

    def answer(question: str) -> str:
        return "<script>alert('x')</script> I do not know."

    cases = [{"id": f"q{n}", "question": f"What is <b>{n}</b>?", "reference": "42 yen."} for n in range(11)]
    for _unused in range(2):
        result = rehearse(answer, cases, persona="calm", turns=1, offline=True, language="en", target="80")
    page = result._repr_html_()

    assert ">Trial, " in page
    assert "Questions needing review 11 → 11" in page
    assert page.count("<tr") == 11
    assert "1 more in " in page
    assert "What is &lt;b&gt;" in page
    assert "<script>" not in page
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in page


def test_a_result_without_red_answers_says_so() -> None:
    """No table, and a sentence."""
    case = [{"id": "q", "question": "What is shipping?", "reference": "Shipping is 550 yen."}]
    result = rehearse(lambda question: "Shipping is 550 yen.", case, persona="calm", turns=1, offline=True)

    assert "<table" not in result._repr_html_()
