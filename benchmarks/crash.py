"""Runs, workers and reports killed, an endpoint that breaks in every way, 1,000 conversations of failures.

`make crash`; `python -m benchmarks.crash --kills 20 --conversations 100` is a short one.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from benchmarks.measured import ROOT, Measured, measure
from simulator.core.types import Results
from simulator.sheets.excel import read_edited
from simulator.storage.run_file import find_run, read_run
from tests.crash.endpoint import Watching
from tests.crash.hostile_files import faults
from tests.crash.mix import RATES, extra_requests, failures, mean_of_answered, options
from tests.crash.processes import Cold, Starter, Warm
from tests.crash.repeats import Repeats, asked
from tests.crash.trial import (
    BOT,
    CALLS,
    FILES,
    KILLED,
    LATENCY,
    OPTIONS,
    Moment,
    Trial,
    Undisturbed,
    Verdict,
    chain,
    is_sound,
    played,
)  # fmt: skip
from tests.excel import Person
from tests.servers.faults import FAULTS, Faults
from tests.servers.loopback import on_thread
from tests.servers.openai import serve
from tests.servers.replies import play
from tests.servers.sheets import SheetsServer

KILLS, SEED, CONVERSATIONS = 200, 42, 1000
# What is killed one after the other in one run: a tenth each of kills during the start, the conversations,
# the endpoint's replies, the reports; more within a transaction of the run file or the cache.
CHAIN = ("time", "request", "reply", "run", "cache", "file", "run", "time", "cache", "file")
# The last one, ten megabytes long, also makes the server's process large, which the next would start from.
BREAKING = ("reset", "stall", "half", "drip", "garbage", "502", "cut", "prose", "empty", "huge")
TIMEOUT, SHARE, ROWS = 2.0, 0.2, 50_000
WORKERS = ("--workers", "2")
TELLS_ITS_PROCESS = """
import os
plain = answer

def answer(question, session):
    with open("processes.txt", "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\\n")
    return plain(question, session)
"""


@dataclass
class Tally:
    """What became of all runs."""

    hits: Counter[str] = field(default_factory=Counter)
    unsound: Counter[str] = field(default_factory=Counter)
    verdicts: list[Verdict] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)


def main() -> None:
    """The three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS)
    parser.add_argument("--megabytes", type=int, default=1100, help="of each hostile file; 0: none")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--warm", action="store_true", help="fork the program instead of starting it anew")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crash-") as folder:
        if flags.megabytes:
            # In a process of its own: what is started from one that was large counts as large.
            files = tempfile.mkdtemp(dir=folder), str(flags.megabytes)
            read = subprocess.run(
                [sys.executable, "-m", "tests.crash.hostile_files", *files],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                check=True,
            )
            seen = [json.loads(line) for line in read.stdout.splitlines()]
            broken = {each["name"]: faults(each) for each in seen if faults(each)}
            print(f"{len(seen)} hostile files, {len(broken)} of which broke something: {broken}")
            large_sheet(Path(folder))
        if flags.kills:
            kill_all(Path(folder), flags.kills, flags.seed, warm=flags.warm)
            kill_workers(Path(folder), max(1, flags.kills // 10), flags.seed)
            kill_reports(Path(folder), max(1, flags.kills // 10), flags.seed)
        if flags.conversations:
            mix(Path(folder), flags.conversations, flags.seed)
        break_all(Path(folder))


def large_sheet(folder: Path) -> None:
    """Questions from a Google Sheet of 50,000 rows, some of them formulas, and results into the same."""
    head, word = ["question", "reference"], "全国一律550円です。"
    rows = [head, *([f"{n}番の送料は？", word if n % 100 else "=1+1"] for n in range(ROWS))]
    options = (
        "--adapter", "demo", "--offline", "--cases", "sheet:KEY#質問", "--limit", "2", "--persona", "angry",
        "--to", "sheets", "--sheet", "KEY", "--runs", str(folder / "sheet"),
    )  # fmt: skip
    with on_thread(SheetsServer({"KEY": {"質問": rows}}, auth=True)) as server:
        server.share("KEY")
        account = json.dumps(server.service_account())
        known = {"REHEARSAL_SHEETS_URL": server.url, "REHEARSAL_GOOGLE_CREDENTIALS": account}
        done = measure([str(ROOT / "run.py"), *options], environment=known)
    print(f"a sheet of {ROWS:,} rows: exit {done.code}, {done.wall:.0f} s, {done.memory:.0f} MB")


def kill_all(folder: Path, kills: int, seed: int, *, warm: bool) -> None:
    """Runs that are killed ten times each, with and without a cache, until all kills are spent."""
    tally, began, rng = Tally(), time.monotonic(), random.Random(seed)
    with (
        _starter(warm=warm) as starter,
        on_thread(Watching(latency=LATENCY, embeddings_latency=LATENCY)) as server,
    ):
        Trial(folder / "first", starter, server).undisturbed()
        whole = Trial(folder / "whole", starter, server, (*OPTIONS, "--cache", "off")).undisturbed()
        number = 0
        while (left := kills - sum(tally.hits.values())) > 0:
            # Without a cache there is nothing to kill in it: those moments are the endpoint's.
            cached = number % 2 == 0
            kinds = [kind if cached or kind != "cache" else "reply" for kind in CHAIN][:left]
            _one(
                Trial(folder / str(number), starter, server, _options(cached=cached)),
                whole,
                kinds,
                rng,
                tally,
            )
            number += 1
    _print_kills(tally, time.monotonic() - began)


def _options(*, cached: bool) -> tuple[str, ...]:
    return (*OPTIONS, "--cache", "on" if cached else "off")


@contextmanager
def _starter(*, warm: bool) -> Iterator[Starter]:
    if not warm:
        yield Cold()
        return
    with Warm() as started:
        yield started


def _one(trial: Trial, whole: Undisturbed, kinds: Sequence[str], rng: random.Random, tally: Tally) -> None:
    trial.server.calls.clear()
    tally.verdicts.append(chain(trial, whole, kinds, rng))
    for kill in trial.kills:
        tally.hits[kill.moment.event] += kill.hit
        tally.unsound[kill.moment.event] += kill.hit and kill.sound is False
        tally.codes[kill.code] += 1


def _print_kills(tally: Tally, seconds: float) -> None:
    events = {
        "time": "a random time (start-up too)", "request": "a request arrives", "reply": "a reply was sent",
        "run": "an SQL statement of the run", "cache": "an SQL statement of the cache",
        "file": "a file of the run (reports)",
    }  # fmt: skip
    print("kill -9 at                       kills   integrity_check fails")
    for event, text in events.items():
        print(f"  {text:30} {tally.hits[event]:5}   {tally.unsound[event]}")
    verdicts, kills = tally.verdicts, sum(tally.hits.values())
    again = [v.repeats for v in verdicts]
    ages = sorted(age for each in again for age in each.ages)
    print(f"{kills} kills in {len(verdicts)} runs, {seconds:.0f} s; other exit codes: {_others(tally.codes)}")
    print(f"  resumed to the end           {sum(v.finished for v in verdicts)} of {len(verdicts)}")
    print(f"  same turns and scores        {sum(v.same for v in verdicts)} of {len(verdicts)}")
    print(f"  integrity_check at the end   {sum(v.sound for v in verdicts)} of {len(verdicts)}")
    print(f"  files left behind            {sum(len(v.left_behind) for v in verdicts)}")
    print(f"  calls asked again            {_calls(again)}, of these answered before the kill {len(ages)}")
    if ages:
        middle, oldest = ages[len(ages) // 2] * 1e3, ages[-1] * 1e3
        print(f"  ... how long before          median {middle:.0f} ms, at most {oldest:.0f} ms")
    lost = [number for verdict in verdicts for number in verdict.uncounted]
    print(f"  answered, not in the ledger  {sum(lost)} in flight, at most {max(lost)} at one kill")
    print(f"  ledger of a sitting is wrong {lost.count(-1)}")
    print(f"  paid twice beyond in flight  {sum(each.paid_twice(CALLS) for each in again)}")
    print(f"  in the cache, not counted    {sum(verdict.unpaid for verdict in verdicts)}")


def _others(codes: Mapping[int, int]) -> str:
    return ", ".join(f"{code}: {n}" for code, n in codes.items() if code not in (0, -9)) or "none"


def _calls(again: Sequence[Repeats]) -> int:
    return sum(each.again for each in again)


def kill_workers(folder: Path, kills: int, seed: int) -> None:
    """Runs of two Dask workers, one of which is killed at a random time: what is lost, and paid twice."""
    tally, rng = Counter[str](), random.Random(seed)
    with on_thread(Watching(latency=LATENCY, embeddings_latency=LATENCY)) as server:
        Trial(folder / "alone", Cold(), server).undisturbed()
        whole = Trial(folder / "alone-again", Cold(), server, (*OPTIONS, "--cache", "off")).undisturbed()
        for number in range(kills):
            place = folder / f"workers-{number}"
            trial = Trial(place, Cold(), server, (*OPTIONS, *WORKERS, "--cache", "off"))
            (place / "bot.py").write_text(BOT + TELLS_ITS_PROCESS, encoding="utf-8")
            server.calls.clear()
            count = rng.randint(1, sum(whole.asked.values()) * 2 // 3)
            with killing(place / "processes.txt", server, count):
                tally["finished"] += trial.run(trial.options) == 0
            tally["same"] += played(trial.results()) == whole.played
            chats, tokens = trial.counted()
            lost = sum(call.is_chat and bool(call.answered) for call in server.calls) - chats
            tally["in flight"] += lost
            tally["asked again"] += sum((asked(server.calls) - whole.asked).values())
            tally["wrong"] += not (0 <= lost <= 2 * CALLS and tokens <= sum(c.tokens for c in server.calls))
    print(f"{kills} Dask workers killed: {dict(tally)}")


@contextmanager
def killing(processes: Path, server: Watching, count: int) -> Iterator[None]:
    """Kills the process that was named there last, once so many calls have arrived."""
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.002):
            if len(server.calls) >= count:
                os.kill(int(processes.read_text(encoding="utf-8").split()[-1]), signal.SIGKILL)
                return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Interrupting(SheetsServer):
    """Google Sheets, which has whoever writes killed when a request arrives."""

    def __init__(self, endpoint: Watching) -> None:
        super().__init__(auth=True)
        self.endpoint, self.left = endpoint, 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answers as ever, though nobody may be there any more."""
        self.left -= 1
        if self.left == 0:
            self.endpoint.kill()
        return await super().handle(request)

    def shared(self, key: str) -> None:
        """A new spreadsheet to write to."""
        self.add(key)
        self.share(key)

    def rows(self, key: str) -> dict[str, list[list[str]]]:
        """All that stands in a spreadsheet, but for when it was written."""
        person = self.person(key)
        return {sheet.title: person.rows(sheet.title) for sheet in self.book(key).sheets}


def kill_reports(folder: Path, kills: int, seed: int) -> None:
    """`report` killed while it writes files, and while it fills a Google Sheet; each is then done again."""
    tally, rng = Counter[str](), random.Random(seed)
    with on_thread(Watching()) as endpoint, on_thread(Interrupting(endpoint)) as google:
        known = {
            "REHEARSAL_SHEETS_URL": google.url,
            "REHEARSAL_GOOGLE_CREDENTIALS": json.dumps(google.service_account()),
        }
        trial = Trial(folder / "reports", Cold(), endpoint, given=known)
        whole, run = trial.undisturbed(), find_run("latest", folder / "reports" / "runs")
        comment(run.with_name("report.xlsx"))
        write, push = ("--to", "html,xlsx,json"), ("--to", "sheets", "--sheet")
        google.shared("whole")
        # Files first: what somebody wrote into the workbook is in the sheet from then on.
        for to in (write, (*push, "whole")):
            if trial.run(("report", "latest", *to)):
                sys.exit(trial.err())
        requests, wanted = len(google.log), google.rows("whole")
        for number in range(kills):
            key, moment = f"sheet-{number}", None
            to = (*push, key) if number % 2 else write
            if number % 2:
                google.shared(key)
                google.left = rng.randint(1, requests)
            else:
                moment = Moment("file", rng.randint(1, FILES))
            tally["killed"] += trial.run(("report", "latest", *to), moment) == KILLED
            tally["whole files"] += whole_files(run.parent)
            google.left = 0
            tally["done again"] += trial.run(("report", "latest", *to)) == 0
            tally["tracebacks"] += "Traceback" in trial.err()
            tally["sheet as ever"] += number % 2 and google.rows(key) == wanted
            tally["comment kept"] += commented(run.parent)
            tally["same grades"] += played(trial.results()) == whole.played and is_sound(run)
        tally["left behind"] += len([*run.parent.glob(".*"), *(trial.folder / "temporary").iterdir()])
    print(f"{kills} reports killed: {dict(tally)}")


def comment(workbook: Path) -> None:
    """Somebody writes beside the first answer."""
    sheet = read_edited(workbook).sheets["review"]
    with Person(workbook) as person:
        person.book[sheet.tab].cell(2, sheet.columns["comment"]).value = "私見"


def commented(folder: Path) -> bool:
    """Whether it stands in the newest workbook."""
    rows = read_edited(max(folder.glob("*.xlsx"), key=os.path.getmtime)).rows["review"]
    return [row.cells["comment"] for row in rows if row.cells.get("comment")] == ["私見"]


def whole_files(folder: Path) -> bool:
    """Whether all reports can be read."""
    for path in folder.glob("*.xlsx"):
        read_edited(path)
    for path in folder.glob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    return all(path.read_text(encoding="utf-8").endswith("</html>") for path in folder.glob("*.html"))


def break_all(folder: Path) -> None:
    """Each way in which an endpoint breaks, at a fifth of the calls of twelve conversations."""
    print(f"{SHARE:.0%} of the calls: exit    seconds   MB  calls  ended          failed grades by kind")
    for name in ("nothing", *BREAKING):
        place = folder / f"broken-{name}"
        place.mkdir()
        faults = Faults({name: SHARE} if name in FAULTS else {})
        done, results, counts = _rehearse(place, faults, 12, failing=False)
        failed = failures(results)
        ended = ", ".join(f"{kind} {n}" for kind, n in sorted(failed.ended.items()))
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(failed.judges.items())) or "none"
        print(
            f"  {name:17} {done.code:6} {done.wall:9.1f} {done.memory:4.0f} {sum(counts.values()):6}"
            f"  {ended}; {kinds}{f'; NOT ENDED {failed.unanswered}' if failed.unanswered else ''}"
        )


def mix(folder: Path, conversations: int, seed: int) -> None:
    """429, 500, stalls, cut JSON and a bot that fails, beside the same run without any of them."""
    runs = {}
    for name, reply in (("clean", play), ("mixed", Faults(RATES, seed=seed))):
        place = folder / name
        place.mkdir()
        runs[name] = _rehearse(place, reply, conversations, failing=name == "mixed")
        done, results, counts = runs[name]
        mean, graded = mean_of_answered(results)
        failed = failures(results)
        print(
            f"{name}: {conversations:,} conversations, exit {done.code}, {done.wall:.0f} s,"
            f" {done.cpu:.0f} s CPU, {done.memory:.0f} MB,"
            f" {sum(counts.values()):,} requests; mean {mean:.4f} over {graded:,} turns"
        )
        print(f"  ended {dict(failed.ended)}, not ended {failed.unanswered}")
        print(f"  failed: bot {dict(failed.bot)}, grades {dict(failed.judges)}")
        if isinstance(reply, Faults):
            print(f"  met: {dict(reply.met)}")
    (_, faulty, asked), (_, clean, once) = runs["mixed"], runs["clean"]
    difference = mean_of_answered(faulty)[0] - mean_of_answered(clean)[0]
    times = extra_requests(asked, once)
    print(f"requests {times:.2f} x those of the clean run; means differ by {difference:+.4f}")


def _rehearse(
    place: Path, reply: Any, conversations: int, *, failing: bool
) -> tuple[Measured, Results, Counter[str]]:
    with serve(reply, latency=LATENCY, record=False) as server:
        arguments = options(place, conversations, failing=failing, timeout=TIMEOUT)
        environment = {"REHEARSAL_JUDGE_URL": server.url, "REHEARSAL_JUDGE_KEY": "key"}
        done = measure([str(ROOT / "run.py"), *arguments], environment=environment)
        counts = Counter(server.counts)
    if done.code not in (0, 3):
        sys.exit(done.stderr)
    return done, read_run(find_run("latest", place / "runs")), counts


if __name__ == "__main__":
    main()
