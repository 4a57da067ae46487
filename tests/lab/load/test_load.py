"""Many customers at once: who comes when, what is measured of the answers, and what reports say of it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.settings import Settings, load_settings
from simulator.core.types import Results
from simulator.lab.load.figures import Load, as_json, load_of, load_sessions, times
from simulator.lab.load.pace import Pace
from simulator.lab.load.report import cautions, headline, section
from simulator.results.summary import figures_of
from tests.servers.bot import ReceivedQuestion as Question
from tests.servers.bot import answers, serve
from tests.servers.faults import Reply
from tests.servers.loopback import dumps
from tests.texts import said

BOT = """
import asyncio, contextlib, glob, sqlite3

graded_meanwhile = []
there = most = 0

async def answer(question):
    global there, most
    there += 1
    most = max(most, there)
    try:
        for path in glob.glob("runs/*/run.sqlite"):
            with contextlib.closing(sqlite3.connect(path)) as file:
                graded_meanwhile.append(file.execute("SELECT count(*) FROM scores").fetchone()[0])
        await asyncio.sleep(3600 if "返せ" in question else 0.001 * there)
    finally:
        there -= 1
    with open("meanwhile.txt", "w") as file:
        file.write(f"{most} {max(graded_meanwhile, default=0)}")
    return "送料は全国一律550円です。"
"""
SLOW, LEAST = 0.003, 0.01


def questions(count: int = 8, odd: str = "") -> None:
    """Questions and a bot in the folder of the test; the last question is `odd`, where there is one."""
    asks = ["送料はいくらですか"] * (count - bool(odd)) + [odd] * bool(odd)
    known = {"references": "送料は500円です。"}
    rows = [
        json.dumps({"id": f"q{n}", "question": ask, **known}, ensure_ascii=False)
        for n, ask in enumerate(asks)
    ]
    Path("cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    Path("bot.py").write_text(BOT, encoding="utf-8")


def rehearse(*options: str) -> int:
    """A rehearsal of these questions, offline."""
    return main(["--offline", "--cases", "cases.jsonl", "--turns", "2", "--judges", "turn", *options])


def latest() -> tuple[Results, Load]:
    """The newest run, and what its load came to."""
    results = open_run()
    found = load_of(results)
    assert found is not None
    return results, found


def arrivals(**given: Any) -> list[float | None]:
    pace = Pace(load_settings({"customers": 4, **given}))
    return [pace.arrival() for _ in range(6)]


def test_when_customers_come() -> None:
    """All at second 0 unless told; each later one when another one leaves."""
    assert arrivals() == [0, 0, 0, 0, None, None]


def test_customers_come_at_random_by_the_seed() -> None:
    """A Poisson process: the same with the same seed, and on average as many a second as was said."""
    assert arrivals(arrival="2/s") == arrivals(arrival="120/min")
    assert arrivals(arrival="2/s") != arrivals(arrival="2/s", seed=7)
    pace = Pace(load_settings({"customers": 4, "arrival": "2/s"}))
    *_, last = (pace.arrival() for _ in range(4000))
    assert last == pytest.approx(2000, rel=0.06)


def test_thinking_is_log_normal_around_its_median() -> None:
    """Half of the pauses are shorter; they belong to conversation and turn, not to the moment."""
    pace = Pace(load_settings({"customers": 4, "think": 5.0}))
    pauses = sorted(pace.thinking(f"angry/q{n}#1", 2) or 0 for n in range(2001))

    assert pauses[1000] == pytest.approx(5, rel=0.06)
    assert pauses[1683] / pauses[1000] == pytest.approx(1.65, rel=0.1)
    assert pace.thinking("a", 2) == pace.thinking("a", 2) != pace.thinking("a", 3)
    assert Pace(load_settings({"customers": 4})).thinking("a", 2) is None


@pytest.mark.parametrize(
    "given",
    [
        ("--customers", "0"), ("--customers", "4", "--arrival", "fast"), ("--arrival", "2/s"),
        ("--think", "1"),
        ("--customers", "4", "--think", "-1"),
        ("--customers", "4", "--workers", "2"),
    ],
)  # fmt: skip
def test_what_makes_no_load_is_refused(given: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2, no run."""
    assert main(["--offline", *given]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("runs").exists()


def test_percentiles_are_of_what_was_measured() -> None:
    """Nearest rank: 95 of 100 answers were at most as slow."""
    found = times([n / 100 for n in range(100, 0, -1)])

    assert found is not None
    assert (found.n, found.p50, found.p95, found.p99, found.longest) == (100, 0.5, 0.95, 0.99, 1.0)
    assert times([]) is None
    assert (times([3.0]) or found).p95 == 3.0


def test_no_grade_is_given_while_customers_are_there() -> None:
    """The bot sees no score in the run file as long as anyone talks; in the end every turn has one."""
    questions(6)
    assert rehearse("--adapter", "bot.py:answer", "--customers", "3", "--persona", "angry") == 0
    most, graded = Path("meanwhile.txt").read_text(encoding="utf-8").split()
    results, found = latest()

    assert graded == "0"
    assert most == "3"
    turns = sum(len(conversation.turns) for conversation in results.conversations)
    assert len(results.scores) == turns == found.asked
    assert found.most_in_flight == 3
    assert found.customers == 3
    assert found.failures == {}


def test_a_slower_bot_under_load_is_seen() -> None:
    """A bot over HTTP whose latency grows with what is in flight: no time is shorter than its own."""
    until: list[float] = []
    own: list[float] = []

    def slower(asked: Question) -> Reply:
        now = time.monotonic()
        until[:] = [end for end in until if end > now]
        own.append(LEAST + SLOW * len(until))
        until.append(now + own[-1])
        return Reply(body=dumps(answers(asked)), delay=own[-1])

    questions(24)
    with serve(slower) as bot:
        code = rehearse(
            "--adapter", "http", "--set", f"url={bot.url}",
            "--set", 'request={"message": "$question"}', "--set", "answer=data.reply",
            "--customers", "12", "--arrival", "200/s", "--think", "0.005", "--persona", "calm",
        )  # fmt: skip
    _, found = latest()
    expected = times(own)

    assert code == 0
    assert found.answers
    assert found.scheduled
    assert expected
    assert found.answers.n == len(own) == found.asked
    assert found.answers.p50 >= expected.p50
    assert found.answers.p95 >= max(expected.p95, LEAST + SLOW)
    assert found.scheduled.p95 >= found.answers.p95
    assert 2 <= found.most_in_flight <= 12


def test_a_bot_that_hangs_for_some_keeps_nobody_else_waiting() -> None:
    """Who hangs runs into the timeout; all others have their answers, and the report says so."""
    questions(8, odd="届いた服を返せますか")
    rehearse("--adapter", "bot.py:answer", "--customers", "8", "--timeout", "0.3", "--persona", "calm")
    results, found = latest()

    assert found.failures["timeout"] >= 1
    assert all(conversation.ended for conversation in results.conversations)
    assert found.answers is not None
    assert found.answers.longest >= 0.3
    assert found.answers.p50 < found.answers.longest
    assert "時間切れは待った0.3秒として数えています。" in [said(each, "ja") for each in cautions(found)]


def test_a_bot_that_refuses_all_has_no_times_and_no_throughput(capsys: pytest.CaptureFixture[str]) -> None:
    """A refusal is no quick answer."""
    questions(4)
    Path("bot.py").write_text("def answer(question):\n    raise ConnectionRefusedError\n", encoding="utf-8")
    rehearse("--adapter", "bot.py:answer", "--customers", "4", "--persona", "calm", "--verbose")
    _, found = latest()

    assert found.asked > 0
    assert (found.throughput, found.answers, sum(found.failures.values())) == (0, None, found.asked)
    told = capsys.readouterr().out
    assert "毎秒0件（0件を" in told
    assert "ボットが答えるまでの秒数" not in told


def test_a_run_without_customers_at_once_has_no_load(capsys: pytest.CaptureFixture[str]) -> None:
    """Other runs say nothing of load, and a note of another version is passed over."""
    questions(2)
    rehearse("--adapter", "demo", "--persona", "calm", "--json")

    assert "load" not in json.loads(capsys.readouterr().out)
    assert load_sessions({"load": {"sittings": [{"customers": "?"}]}}) == ()
    assert load_sessions({}) == ()


def test_reports_show_the_load(capsys: pytest.CaptureFixture[str]) -> None:
    """Terminal, page, Markdown and --json; the gate knows p95_seconds."""
    questions(6)
    options = ("--adapter", "bot.py:answer", "--customers", "3", "--think", "0.001", "--persona", "calm")
    code = rehearse(*options, "--to", "markdown", "--json", "--target", "p95_seconds <= 0.0001")
    told = capsys.readouterr()
    results, found = latest()
    folder = next(Path("runs").iterdir())
    page = (folder / "report.html").read_text(encoding="utf-8")

    assert code == 1
    assert "負荷リハーサル" in told.err
    assert json.loads(told.out)["load"] == json.loads(json.dumps(as_json(found)))
    assert json.loads(told.out)["load"]["answer_seconds"]["n"] == found.asked
    assert "予定からの時間" in page
    assert "0.001秒" in said(headline(found), "ja")
    assert "同時のお客様3人" in (folder / "report.md").read_text(encoding="utf-8")
    shown = section(results, figures_of(results, Settings()), Settings())
    assert shown
    times = shown.tables[0]
    assert [said(row[0].text) for row in times.rows][:2] == ["Answer time", "From schedule"]
    assert [said(row[0].text, "ja") for row in times.rows][:2] == ["応答時間", "予定からの時間"]


def test_shards_of_a_rush_are_merged() -> None:
    """Each sitting keeps its own clock; the report says that there were several."""
    questions(6)
    options = ("--adapter", "bot.py:answer", "--customers", "3", "--persona", "calm")
    rehearse(*options, "--shard", "1/2", "--runs", "one")
    rehearse(*options, "--shard", "2/2", "--runs", "two")
    assert main(["merge", "one", "two", "--runs", "runs"]) == 0
    results, found = latest()

    assert found.sittings == 2
    assert found.asked == sum(len(conversation.turns) for conversation in results.conversations)
    assert any("2回に分けて実行しました" in said(each, "ja") for each in cautions(found))
