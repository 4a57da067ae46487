"""A recorded run of 100 conversations: whether requests, grades and red turns are what they were.

`python -m benchmarks.baseline` replays the recorded replies to whatever the program asks now, and says what
differs: requests that were not made before or are made no longer, grades, and red turns. `--write` records
anew, for a change of prompts or grading that is meant; one that only moves or renames code never needs it.
"""

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from benchmarks.measured import ROOT
from tests.servers.faults import Reply
from tests.servers.openai import serve
from tests.servers.replies import ChatRequest, play

RECORD = Path(__file__).with_suffix(".json.xz")
# Ten questions and five customers in each language; every rubric in one call, and each in a call of its own.
RUNS = {"ja": "combined", "en": "separate"}
OPTIONS = (
    "--limit 10 --persona angry,calm,beginner,demands_person,off_topic --turns 3 --adapter demo"
    " --cache off --to json"
)
# What a customer who leaves got, and how they leave.
LEAVING = (("answered", "satisfied"), ("declined", "gave_up"), ("handed_over", "handed_over"))
SHOWN = 3


def main() -> int:
    """0 where nothing differs, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baseline", description=__doc__)
    parser.add_argument("--write", action="store_true", help="record anew what is asked and graded now")
    if parser.parse_args().write:
        record = {language: _rehearsed(language, judging, _played) for language, judging in RUNS.items()}
        RECORD.write_bytes(lzma.compress(_json(record), preset=9))
        print(f"{RECORD.relative_to(ROOT)}: {_counted(record)}")
        return 0
    record = json.loads(lzma.decompress(RECORD.read_bytes()))
    differing = sum(_differences(language, record[language]) for language in RUNS)
    print(f"{differing or 'no'} differences from the recorded baseline of {_counted(record)}")
    return 1 if differing else 0


def _differences(language: str, recorded: dict[str, Any]) -> int:
    """How many differences there are; the first ones are printed."""
    replies = {key: request["reply"] for key, request in recorded["requests"].items()}

    def replayed(body: ChatRequest) -> str | Reply:
        return replies.get(_key(body)) or Reply(status=400, text="this request is not in the baseline")

    now = _rehearsed(language, RUNS[language], replayed)
    found = [
        f"{'new' if key not in replies else 'no longer made' if key not in now['requests'] else 'times'}: "
        + json.dumps((now["requests"].get(key) or recorded["requests"][key])["messages"], ensure_ascii=False)
        for key in sorted(now["requests"].keys() | replies.keys())
        if _times(now, key) != _times(recorded, key)
    ]
    rows, before = _by_turn(now), _by_turn(recorded)
    found += [
        f"{turn}: {before.get(turn)} was, {rows.get(turn)} is"
        for turn in sorted(rows.keys() | before.keys())
        if rows.get(turn) != before.get(turn)
    ]
    if now["score"] != recorded["score"]:
        found.append(f"score {recorded['score']} was, {now['score']} is")
    for each in found[:SHOWN]:
        print(f"{language}: {each}")
    return len(found)


def _rehearsed(language: str, judging: str, reply: Callable[[ChatRequest], str | Reply]) -> dict[str, Any]:
    """The requests of a run with their replies, and what came out of it."""
    made: dict[str, dict[str, Any]] = {}
    times: Counter[str] = Counter()

    def recording(body: ChatRequest) -> str | Reply:
        answer = reply(body)
        key = _key(body)
        times[key] += 1
        made[key] = {"messages": body["messages"], "reply": answer if isinstance(answer, str) else None}
        return answer

    with tempfile.TemporaryDirectory() as folder, serve(recording, record=False) as server:
        command = [sys.executable, str(ROOT / "run.py"), "--cases", str(ROOT / f"demo/cases/{language}.csv")]
        environment = _without_settings() | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        done = subprocess.run(
            [*command, *OPTIONS.split(), "--judging", judging],
            cwd=folder,
            env=environment | {"XDG_CACHE_HOME": folder, "HOME": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        reports = list(Path(folder).glob("runs/*/report.json"))
        if done.returncode or not reports:
            # A request that was never recorded ends the run: it is what has changed.
            for new in [each["messages"] for each in made.values() if each["reply"] is None][:SHOWN]:
                print(f"{language}: new: {json.dumps(new, ensure_ascii=False)}")
            sys.exit(done.stderr or done.stdout)
        report = json.loads(reports[0].read_text(encoding="utf-8"))
    return {"requests": made, "times": times, "score": report["score"], "rows": report["rows"]}


def _played(body: ChatRequest) -> str:
    """The fake model's reply; every sixth customer leaves."""
    said = play(body)
    reply = json.loads(said) if said.startswith("{") else {}
    drawn = int(_key(body), 16)
    if "next" in reply and drawn % 6 == 0:
        got, leaves = LEAVING[drawn // 6 % 3]
        return json.dumps(reply | {"got": got, "next": leaves}, ensure_ascii=False)
    return said


def _key(body: ChatRequest) -> str:
    return blake2b(_json(body), digest_size=12).hexdigest()


def _times(run: Mapping[str, Any], key: str) -> int:
    return int(run["times"].get(key, 0))


def _by_turn(run: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What was said, graded and found red, by turn; without what differs from run to run."""
    columns = ("user", "answer", "ended", "red", "severity", "marks")
    return {
        f"{row['conversation']} {row['turn']}": {key: row[key] for key in columns}
        | {judge: _graded(judge, score) for judge, score in row["scores"].items()}
        for row in run["rows"]
    }


def _graded(judge: str, score: dict[str, Any]) -> dict[str, Any]:
    """A score, without the hash of a judge that is code, which differs with every edit."""
    return score | ({"rubric": ""} if judge == "cosine" else {})


def _counted(record: Mapping[str, Any]) -> str:
    conversations = {row["conversation"] for run in record.values() for row in run["rows"]}
    turns = sum(len(run["rows"]) for run in record.values())
    requests = sum(sum(run["times"].values()) for run in record.values())
    return f"{len(conversations)} conversations, {turns} turns, {requests} requests"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")


def _without_settings() -> dict[str, str]:
    return {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("OPENAI_", "REHEARSAL_", "PYTHONDONTWRITEBYTECODE"))
    }


if __name__ == "__main__":
    sys.exit(main())
