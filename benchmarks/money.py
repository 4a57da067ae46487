"""The forecast of `--dry-run` beside what the fake endpoint then counts; a budget; what a contest costs.

Every scenario is forecast twice, for 24 conversations: with nothing to go by, where the range is shown, and
after a run with nine other conversations. Shown are calls, tokens and dollars over those counted, and whether
the range held them (`in`; `out` if not). Tokens are the fake's (3.75 bytes each), prices those of the price
table.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.cli.app import main as command
from simulator.core.settings import JPY_PER_USD, Settings
from simulator.core.templates import LANGUAGES
from simulator.core.types import Language, Usage
from simulator.models.pricing import Prices
from simulator.runner.plan import read_plan
from simulator.storage.run_file import find_run, read_run
from tests.servers.openai import OpenAIServer, Reply, play, serve

# Questions, each asked by three customers.
PILOT, MAIN = 3, 8
MODELS = {
    "user": "gpt-4.1-mini",
    "judge": "gpt-4.1",
    "embed": "text-embedding-3-small",
    "demo": "gpt-4.1-mini",
}
BOT = 'def answer(question):\n    return "ご案内します。詳しくは窓口まで。" * 3\n'
BARE = ("--adapter", "bot.py:answer")
TALKATIVE = "leaving, long replies"


class Scenario(NamedTuple):
    """Which questions, and further options of a rehearsal."""

    name: str
    cases: str
    options: tuple[str, ...] = ()


SCENARIOS = (
    Scenario("ja, combined", "ja"),
    Scenario("ja, separate", "ja", ("--judging", "separate")),
    Scenario("en, combined", "en"),
    Scenario("en, separate", "en", ("--judging", "separate")),
    Scenario("ja and en", "both"),
    Scenario("ja, judge gpt-4o-mini", "ja", ("--judge-model", "gpt-4o-mini")),
    Scenario("en, all gpt-4o", "en", ("--user-model", "gpt-4o", "--judge-model", "gpt-4o")),
    Scenario("no references, no passages", "bare", BARE),
    Scenario("the same, separate", "bare", (*BARE, "--judging", "separate")),
    Scenario("two judges that embed", "ja", ("--judges", "answer_relevancy,cosine,claims")),
    Scenario("voiced opening", "ja", ("--voice-opening",)),
    Scenario("six turns", "ja", ("--turns", "6")),
    Scenario(TALKATIVE, "ja", ("--turns", "5")),
)


def main() -> None:
    """All tables."""
    with tempfile.TemporaryDirectory() as folder, standing_in(Path(folder)), serve(record=False) as server:
        use_endpoint(server, folder)
        _write_cases()
        print(
            f"{'counted by the fake':28}  calls    tokens      USD"
            f" | {'at least':18} | {'at most':21} | after a pilot"
        )
        for scenario in SCENARIOS:
            _compare(server, scenario)
        _contest()
    _budget()
    _speed()


@contextlib.contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    """The folder as the one where the user stands."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def use_endpoint(server: OpenAIServer, folder: str) -> None:
    """Settings of the environment alone, which lead every role to this server."""
    for name in list(os.environ):
        if name.startswith(("REHEARSAL_", "OPENAI_")):
            del os.environ[name]
    os.environ |= {f"REHEARSAL_{role.upper()}_MODEL": model for role, model in MODELS.items()}
    os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "XDG_CACHE_HOME": folder}


def _write_cases() -> None:
    """The bundled questions in parts: the first for the run, the last for the one before it."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    found: dict[str, list[dict[str, Any]]] = {language: _bundled(language) for language in LANGUAGES}
    found["both"] = [case for pair in zip(found["ja"], found["en"], strict=True) for case in pair]
    found["bare"] = [{key: case[key] for key in ("id", "question", "language")} for case in found["ja"]]
    for name, cases in found.items():
        _write(Path(f"{name}.jsonl"), [_row(case) for case in cases[:MAIN]])
        _write(Path(f"{name}-pilot.jsonl"), [_row(case) for case in cases[-PILOT:]])


def _bundled(language: Language) -> list[dict[str, Any]]:
    plan, *_ = read_plan(Settings(persona=("calm",), language=language))
    return [json.loads(conversation.case.model_dump_json(exclude_defaults=True)) for conversation in plan]


def _row(case: dict[str, Any]) -> dict[str, Any]:
    columns = ("id", "question", "language", "references", "goal")
    return {key: value for key, value in case.items() if key in columns}


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def run(*arguments: str) -> Any:
    """The object that a rehearsal prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command([*arguments, "--cache", "off", "--json"])
    if code not in (0, 1, 3):
        sys.exit(err.getvalue())
    return json.loads(out.getvalue())


def _compare(server: OpenAIServer, scenario: Scenario) -> None:
    server.reply = _leaving if scenario.name == TALKATIVE else play
    options = (
        "--adapter", "demo", *scenario.options, "--language", "all", "--persona", "angry,calm,beginner",
        "--runs", f"runs-{SCENARIOS.index(scenario)}", "--cases",
    )  # fmt: skip
    first = run("--dry-run", *options, f"{scenario.cases}.jsonl")
    run(*options, f"{scenario.cases}-pilot.jsonl")
    later = run("--dry-run", *options, f"{scenario.cases}.jsonl")
    counted = run(*options, f"{scenario.cases}.jsonl")
    tokens = sum(token["in"] + token["out"] for token in counted["tokens"].values())
    actual = (sum(counted["calls"].values()), tokens, counted["cost_usd"])
    low, high = (_taken([first["range"][end]]) for end in ("low", "high"))
    held = all(least <= real <= most for least, real, most in zip(low, actual, high, strict=True))
    cells = [_beside(low, actual), f"{_beside(high, actual)} {'in' if held else 'out'}"]
    cells.append(_beside(_taken(later["expected"].values()), actual))
    print(f"{scenario.name:28} {actual[0]:6} {actual[1]:9,} {actual[2]:8.4f} | {' | '.join(cells)}")


def _beside(forecast: tuple[float, ...], actual: tuple[float, ...]) -> str:
    """How far a forecast is off."""
    return " ".join(f"{each / real - 1:+5.0%}" for each, real in zip(forecast, actual, strict=True))


def _taken(spendings: Iterable[Any]) -> tuple[float, ...]:
    """Calls, tokens and dollars of several roles."""
    each = [(role["calls"], role["tokens_in"] + role["tokens_out"], role["cost_usd"]) for role in spendings]
    return tuple(map(sum, zip(*each, strict=True)))


def _leaving(request: dict[str, Any]) -> str:
    """One customer in three leaves after a turn; judges write three times as much."""
    text = play(request)
    if request["model"] == MODELS["user"] and "response_format" in request:
        lot = sum(map(ord, request["messages"][-1]["content"])) + int(request["seed"])
        return text.replace('"stay"', '"gave_up"') if lot % 3 == 0 else text
    return (
        text.replace("。", "。それは資料のとおりで、お客様の質問にも答えています。" * 2)
        if "{" in text
        else text
    )


CONTEST = ("relevance", "groundedness", "similarity", "fluency", "cosine")


def _contest() -> None:
    """40 questions with the demo bot's own answers, one turn, five metrics; nobody plays a customer."""
    run("--offline", "--limit", "40", "--turns", "1", "--persona", "calm", "--runs", "contest")
    results = read_run(find_run("latest", Path("contest")))
    _write(Path("contest.jsonl"), [
        {
            "id": conversation.case.id, "question": conversation.case.question, "language": "ja",
            "references": [list(turn) for turn in conversation.case.references],
            "answer": conversation.turns[0].answer.text,
            "contexts": [passage.text for passage in conversation.turns[0].answer.passages],
        }
        for conversation in results.conversations
    ])  # fmt: skip
    print(
        f"\na contest: {len(results.conversations)} questions, one turn, gpt-4.1 and text-embedding-ada-002"
    )
    dearest = 0.0
    for name, judging, judges in (
        ("separate", "separate", CONTEST),
        ("separate, no fluency", "separate", tuple(j for j in CONTEST if j != "fluency")),
        ("combined", "combined", CONTEST),
        ("combined, no fluency", "combined", tuple(j for j in CONTEST if j != "fluency")),
    ):
        dearest = _costed(name, judging, judges, dearest)


def _costed(name: str, judging: str, judges: Sequence[str], dearest: float) -> float:
    options = (
        "--cases", "contest.jsonl", "--adapter", "recorded", "--turns", "1", "--persona", "calm",
        "--user-model", "lexical", "--embed-model", "text-embedding-ada-002", "--runs", f"contest-{name}",
        "--judging", judging, "--judges", ",".join(judges),
    )  # fmt: skip
    forecast, counted = run("--dry-run", *options), run(*options)
    cost = counted["cost_usd"]
    tokens = {way: sum(token[way] for token in counted["tokens"].values()) for way in ("in", "out")}
    saved = f", saves {1 - cost / dearest:.0%}" if dearest else ""
    print(
        f"{name:22} {sum(counted['calls'].values()):4} calls {tokens['in']:8,} in {tokens['out']:7,} out"
        f"  {cost:.4f} USD ({cost * JPY_PER_USD:.0f} JPY at {JPY_PER_USD:g})"
        f"  at most {forecast['cost_usd'] / cost - 1:+.0%}{saved}"
    )
    return dearest or cost


def _budget() -> None:
    """A budget for half of a run, with many calls in flight; what the endpoint answered is the bill."""
    prices, billed = Prices(), [0.0]

    def billing(request: dict[str, Any]) -> Reply:
        text = play(request)
        used = [sum(len(m["content"].encode()) for m in request["messages"]) // 4, len(text.encode()) // 3]
        usage = Usage(model=request["model"], tokens_in=used[0], tokens_out=used[1])
        billed[0] += prices.cost_usd(usage) or 0.0
        return Reply(text, usage={"prompt_tokens": used[0], "completion_tokens": used[1]})

    print()
    for calls in (16, 64, 256):
        with tempfile.TemporaryDirectory() as folder, standing_in(Path(folder)):
            with serve(billing, latency=0.1, record=False) as server:
                use_endpoint(server, folder)
                billed[0] = 0.0
                options = ("--persona", "angry,calm", "--concurrency", str(calls), "--calls", str(calls))
                done = run(*options, "--budget", "2", "--judges", "turn,relevance,groundedness,fluency")
            flight = f"most in flight {server.max_in_flight}, {done['seconds']:.0f} s"
            print(f"budget 2 USD, {calls:3} calls at once: {billed[0]:.4f} USD billed, {flight}")


def _speed() -> None:
    from simulator.runner.estimate import forecast
    from tests.run_helpers import a_case, a_stage, a_talk

    context = a_stage(OpenAIServer(), **{f"{role}_model": model for role, model in MODELS.items()})
    plan = [
        a_talk(a_case(("ja", "en")[n % 2], id=f"q{n}", question=f"{n}番の料金はいくらですか"), persona="calm")
        for n in range(10_000)
    ]
    started = time.process_time()
    forecast(context, plan)
    print(f"\nforecast of 10,000 conversations: {time.process_time() - started:.2f} s of CPU")


if __name__ == "__main__":
    main()
