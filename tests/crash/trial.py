"""One run that is killed again and again, then finished, and held against the run that nobody disturbed."""

import contextlib
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulator.core.errors import RunFileError
from simulator.core.types import Results
from simulator.storage.run_file import find_run, read_run
from tests.crash.endpoint import Watching
from tests.crash.processes import Starter
from tests.crash.repeats import Repeats, Sitting, asked, repeats, uncounted

CASES = """id,question,language,reference
q1,届いた服を返せますか,ja,14日以内なら返品できます。
q2,送料はいくらですか,ja,全国一律550円です。
q3,How much is delivery?,en,550 yen anywhere.
q4,ポイントは使えますか,ja,
"""
BOT = """
def answer(question, session):
    with open("asked.txt", "a", encoding="utf-8") as file:
        file.write(f"{session}\\t{question}\\n")
    return f"OK: {question}"
"""
CONVERSATIONS, CALLS, REPORTS = 3, 4, "xlsx,json"
OPTIONS = (
    "--cases", "cases.csv", "--adapter", "bot.py:answer", "--persona", "angry",
    "--concurrency", str(CONVERSATIONS), "--calls", str(CALLS), "--to", REPORTS,
)  # fmt: skip
LATENCY = 0.02
_CHATS = "SELECT count(*) FROM calls WHERE role != 'embed' AND NOT cached"
_TOKENS = "SELECT coalesce(sum(tokens_in + tokens_out), 0) FROM calls WHERE NOT cached"
KILLED = -9
# About how many SQL statements the run takes, and events of its files; the last are those of the reports.
STATEMENTS, FILES, PAINTED = 150, 9, 5


@dataclass(frozen=True)
class Moment:
    """When to kill: `seconds` after the start (`time`), or at the `count`-th of an event.

    `request` and `reply` are the endpoint's; `run` and `cache` SQL statements of the run file and of the
    response cache; `file` writes to, renames of and removals of files in the run's folder.
    """

    event: str
    count: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s" if self.event == "time" else f"{self.event} {self.count}"


@dataclass(frozen=True)
class Undisturbed:
    """What a run comes to when nobody disturbs it, how often each thing was asked, and how long it took."""

    played: dict[str, Any]
    asked: Counter[str]
    bot: Counter[str]
    seconds: float


@dataclass(frozen=True)
class Kill:
    """One attempt at killing, and right after it the state of the run file (None: there was none yet).

    `unpaid` are replies in the cache that it does not count.
    """

    moment: Moment
    code: int
    sound: bool | None
    unpaid: int

    @property
    def hit(self) -> bool:
        """Whether the process was still alive at that moment."""
        return self.code == KILLED


@dataclass(frozen=True)
class Verdict:
    """What is true of a run that was killed and then finished."""

    code: int
    finished: bool
    same: bool
    sound: bool
    repeats: Repeats
    uncounted: list[int]
    unpaid: int
    bot_again: int
    left_behind: tuple[str, ...]
    err: str


@dataclass
class Trial:
    """A folder, an endpoint and a way to start the program."""

    folder: Path
    starter: Starter
    server: Watching
    options: Sequence[str] = OPTIONS
    given: Mapping[str, str] = field(default_factory=dict)
    kills: list[Kill] = field(default_factory=list)
    sittings: list[Sitting] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "temporary").mkdir(exist_ok=True)
        (self.folder / "cases.csv").write_text(CASES, encoding="utf-8")
        (self.folder / "bot.py").write_text(BOT, encoding="utf-8")

    def undisturbed(self) -> Undisturbed:
        """The whole run at once."""
        self.server.calls.clear()
        began = time.monotonic()
        code = self.run(self.options)
        took = time.monotonic() - began
        assert code == 0, self.err()
        return Undisturbed(played(self.results()), asked(self.server.calls), self._bot(), took)

    def kill(self, moment: Moment) -> Kill:
        """Starts the run, or takes it up again, and kills it then."""
        code = self.run(self._arguments(), moment)
        path = self._path()
        kill = Kill(moment, code, is_sound(path) if path else None, self._unpaid())
        self.kills.append(kill)
        return kill

    def finish(self, whole: Undisturbed) -> Verdict:
        """Takes it up a last time, and compares."""
        code = self.run(self._arguments())
        results = self.results()
        path = self._path()
        return Verdict(
            code=code,
            finished=code == 0 and results.run.status == "finished",
            same=played(results) == whole.played,
            sound=path is not None and is_sound(path),
            repeats=repeats(self.server.calls, whole.asked, self.sittings),
            uncounted=uncounted(self.server.calls, self.sittings),
            unpaid=max(kill.unpaid for kill in self.kills),
            bot_again=sum((self._bot() - whole.bot).values()),
            left_behind=left_behind(self.folder),
            err=self.err(),
        )

    def results(self) -> Results:
        """What is in the newest run file."""
        return read_run(find_run("latest", self.folder / "runs"))

    def err(self) -> str:
        """What the last process said on standard error."""
        return (self.folder / "err.txt").read_text(encoding="utf-8")

    def run(self, arguments: Sequence[str], moment: Moment | None = None) -> int:
        """The exit code of a start with these arguments, which may be killed."""
        armed: dict[str, Any] = {}
        self.server.aim()
        (self.folder / "killed.txt").unlink(missing_ok=True)
        if moment and moment.event in ("request", "reply"):
            self.server.aim(moment.event, moment.count, moment.seconds)
        elif moment and moment.event != "time":
            note = str(self.folder / "killed.txt")
            armed = {"event": moment.event, "count": moment.count, "note": note}
        began = time.monotonic()
        self.server.process = self.starter.start(self.folder, arguments, self._environment(), armed)
        with _after(moment, self.server):
            code = self.starter.wait()
        earlier = [sum(column) for column in zip(*(each.counted for each in self.sittings), strict=True)]
        chats, tokens = self.counted()
        counted = (chats - earlier[0], tokens - earlier[1]) if earlier else (chats, tokens)
        self.sittings.append(Sitting(began, self._died(), code == KILLED, counted))
        return code

    def counted(self) -> tuple[int, int]:
        """The chat completions that were paid, and the tokens of all calls, as all run files count them."""
        paths = list((self.folder / "runs").glob("*/run.sqlite"))
        return sum(_count(path, _CHATS) for path in paths), sum(_count(path, _TOKENS) for path in paths)

    def _environment(self) -> Mapping[str, str]:
        return {
            "REHEARSAL_JUDGE_URL": self.server.url,
            "REHEARSAL_JUDGE_KEY": "key",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder / "temporary"),
            "COLUMNS": "100",
            **self.given,
        }

    def _arguments(self) -> Sequence[str]:
        """As a user would: a run that is there is taken up; one that never got its plan is started anew."""
        path = self._path()
        try:
            if path and read_run(path):
                return "--resume", path.parent.name, "--to", REPORTS
        except RunFileError:
            pass
        return self.options

    def _path(self) -> Path | None:
        try:
            return find_run("latest", self.folder / "runs")
        except RunFileError:
            return None

    def _died(self) -> float:
        note = self.folder / "killed.txt"
        at = float(note.read_text(encoding="utf-8")) if note.exists() else self.server.killed_at
        return at or time.monotonic()

    def _unpaid(self) -> int:
        """Replies in the cache whose calls the run does not count: they would come back as free ones."""
        kept = self.folder / "cache" / "rehearsal" / "responses.sqlite"
        path = self._path()
        if path is None or not kept.exists():
            return 0
        replies = _count(kept, "SELECT count(*) FROM responses WHERE CAST(body AS TEXT) LIKE '%choices%'")
        return max(0, replies - _count(path, _CHATS))

    def _bot(self) -> Counter[str]:
        """What the bot was asked: sessions begin with the name of the run."""
        file = self.folder / "asked.txt"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return Counter(line.partition("/")[2] for line in lines)


@contextlib.contextmanager
def _after(moment: Moment | None, server: Watching) -> Iterator[None]:
    timer = threading.Timer(moment.seconds if moment else 0.0, server.kill)
    if moment and moment.event == "time":
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if timer.is_alive():
            timer.join()
        server.process = 0


def played(results: Results) -> dict[str, Any]:
    """What was said, how it ended and what was graded, without times."""
    conversations = {
        c.id: ([(t.user, t.answer.text) for t in c.turns], c.ended, c.reason) for c in results.conversations
    }
    return {"talks": conversations, "grades": {(s.conversation, s.turn, s.judge): s for s in results.scores}}


def _count(path: Path, query: str) -> int:
    with contextlib.closing(sqlite3.connect(path)) as file:
        try:
            return int(file.execute(query).fetchone()[0])
        except sqlite3.OperationalError:  # killed before there were tables
            return 0


def is_sound(path: Path) -> bool:
    """Whether SQLite itself finds nothing wrong with the run file, also while its log is not folded in."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        return file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def left_behind(folder: Path) -> tuple[str, ...]:
    """Files that no one will look at again, beside the reports of the newest run and among temporary ones."""
    kept = {"run.sqlite", "run.lock", "report.html", "report.xlsx", "report.json"}
    newest = max((folder / "runs").iterdir())
    found = [file.name for file in newest.iterdir() if file.name not in kept]
    return tuple(sorted(found + [file.name for file in (folder / "temporary").iterdir()]))


def drawn(rng: random.Random, event: str, whole: Undisturbed, share: float) -> Moment:
    """A random moment of that kind within the next `share` of the run."""
    if event == "time":
        return Moment("time", seconds=rng.uniform(0.02, whole.seconds * (0.3 + share * 0.7)))
    calls = sum(whole.asked.values())
    most = {"request": calls, "reply": calls, "run": STATEMENTS, "cache": 2 * calls}
    count = rng.randint(1, max(2, round(most[event] * share)) if event in most else FILES)
    return Moment(event, count, rng.uniform(0, 0.005) if event == "reply" else 0.0)


def chain(trial: Trial, whole: Undisturbed, kinds: Sequence[str], rng: random.Random) -> Verdict:
    """Kills the run at a moment of each kind, one sitting after the other, then lets it finish.

    Once it is finished only its reports can be cut short, which is done where another moment never came.
    """
    for number, kind in enumerate(kinds):
        left = 1 - len(trial.server.calls) / sum(whole.asked.values())
        if not trial.kill(drawn(rng, kind, whole, max(0.0, left) * 2 / (len(kinds) - number + 1))).hit:
            trial.kill(Moment("file", rng.randint(1, PAINTED)))
    return trial.finish(whole)
