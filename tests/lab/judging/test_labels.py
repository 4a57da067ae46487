"""`calibrate` from the command line to the exit code, with stand-ins and with a model over HTTP."""

from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Language
from simulator.lab.judging.stored import Calibration
from simulator.results.judge_records import stored
from tests.golden_files import compare
from tests.labelled_answers import labelled, written, written_csv
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play

KEYS = ["judge", "label", "n", "rubric", "auroc", "kappa", "threshold"]
USUAL = ("calibrate", "labels.jsonl", "--judge", "groundedness", "--label", "faithfulness")
# A judge that no change of the stand-ins moves: the grade is what the row's own id says, but for two.
OWN = """
from simulator import Score

GRADES = {"right": 5, "half": 4, "wrong": 2}


def strict(exhibit):
    _, number, kind = exhibit.case.id.split("/")
    grade = 6 - GRADES[kind] if number in ("03", "07") else GRADES[kind]
    return Score(judge="", conversation="", turn=1, state="scored", value=grade / 5, raw=grade)
"""


@pytest.fixture(autouse=True)
def labels(tmp_path: Path) -> None:
    """A label file beside which the commands are run."""
    written(tmp_path / "labels.jsonl", labelled())


@pytest.mark.parametrize("language", ["ja", "en"])
def test_it_looks_as_it_is_meant_to(command: Any, tmp_path: Path, language: Language) -> None:
    """Agreement beside people, kappa, leniency, cuts, grades, domains, warnings."""
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    written(tmp_path / "labels.jsonl", labelled(language))
    done = command(*USUAL[:3], "own.py:strict", *USUAL[4:])
    [kept] = stored(Calibration)
    rubric = kept.rubric

    assert done.code == 0
    compare(f"calibrate_{language}.txt", done.out.replace(rubric, "RUBRIC"))


def test_json_has_the_promised_keys(command: Any) -> None:
    """In their order; the table goes to standard error."""
    done = command(*USUAL, "--json")
    shown = done.json

    assert done.code == 0
    assert list(shown)[:4] == KEYS[:4]
    assert set(KEYS) <= set(shown)
    about = {key: shown[key] for key in ("judge", "label", "n", "dataset")}
    assert about == {"judge": "groundedness", "label": "faithfulness", "n": 36, "dataset": "shop"}
    assert shown["auroc"] > 0.9
    assert (shown["calls"], shown["cost_usd"], shown["failed"]) == ({}, 0, 0)
    assert "Calibration  groundedness x faithfulness (shop)" in done.err


def test_a_sample_does_not_replace_the_whole(command: Any) -> None:
    """The larger one stays; the sample is shown only."""
    command(*USUAL, "--limit", "20")
    command(*USUAL)
    done = command(*USUAL, "--limit", "20", "--json")

    assert (done.code, done.json["n"], done.json["saved"]) == (0, 20, None)
    [kept] = stored(Calibration)
    assert kept.n == 36
    assert "is based on more answers than these" in done.err


def test_a_missing_answer_says_nothing_of_the_judge(command: Any) -> None:
    """It has the lowest grade by rule, whoever judges: it is left out, and counted."""
    rows = ["A fee of 5 yen.,A fee of 5 yen.,5", ",A fee of 5 yen.,1", "It is free.,A fee of 5 yen.,1"]
    text = "\n".join(["question,answer,contexts,good", *(f"How much?,{row}" for row in rows)])
    Path("answers.csv").write_text(text, encoding="utf-8")
    done = command("calibrate", "answers.csv", "--judge", "groundedness", "--label", "good", "--json")

    assert (done.code, done.json["n"], done.json["rows"], done.json["skipped"]) == (0, 2, 3, 1)
    assert "1 not gradable (no answer: empty)" in done.err


def test_a_model_grades_as_in_a_run(command: Any, server: OpenAIServer) -> None:
    """One call for a row; the second time all of it comes from the cache."""
    first = command(*USUAL[:3], "turn", *USUAL[4:], "--json")
    again = command(*USUAL[:3], "turn", *USUAL[4:], "--json")

    assert (first.code, first.json["judge"], first.json["model"]) == (0, "turn", "gpt-4.1")
    assert (first.json["calls"], server.counts["chat"]) == ({"judge": 36}, 36)
    assert (again.json["rubric"], again.json["calls"]) == (first.json["rubric"], {"judge": 0})
    assert "At most 36 model calls" in first.err
    # A function that asks the judge's model names it, too.
    by_function = command(*USUAL[:3], "answer_relevancy", *USUAL[4:], "--limit", "2")
    assert "Model: gpt-4.1. At most 2 model calls" in by_function.err


def test_a_dry_run_starts_nothing(command: Any, server: OpenAIServer) -> None:
    """Calls, tokens, dollars; no call and no file."""
    done = command(*USUAL, "--dry-run", "--json")
    said = command(*USUAL, "--dry-run")

    assert (done.code, done.json["forecast"]["judge"]["calls"]) == (0, 36)
    assert done.json["cost_usd"] > 0
    assert "\nAt most 36 model calls, about " in said.out
    assert server.requests == []
    assert not Path("calibrations").exists()


def test_failures_are_counted_and_make_it_incomplete(command: Any, server: OpenAIServer) -> None:
    """Not in n; more than 5 % is exit code 3, and the figures are shown all the same."""
    server.reply = lambda request: "no" if "lamp" in str(request["messages"][1:]) else play(request)
    done = command(*USUAL, "--json", "--cache", "off")

    assert (done.code, done.json["n"], done.json["failed"]) == (3, 33, 3)
    assert "error: 3 of 36 failed" in done.err
    asked = list[str]()
    server.reply = lambda request: (
        "no" if asked.append(str(request["messages"][1])) or asked[-1] == asked[0] else play(request)  # type: ignore[func-returns-value]
    )
    exactly = command(*USUAL, "--json", "--cache", "off", "--limit", "20")
    assert (exactly.code, exactly.json["failed"]) == (0, 1)


def test_what_was_graded_before_a_refusal_is_kept(command: Any, server: OpenAIServer) -> None:
    """Exit code 3 and one line; the same command pays for the rest only."""
    more = (*USUAL, "--calls", "1", "--json")
    server.reply = lambda request: play(request) if server.counts["chat"] <= 12 else Reply(status=401)
    stopped = command(*more)
    server.reply = play
    server.counts.clear()
    done = command(*more)

    assert (stopped.code, stopped.out) == (3, "")
    assert stopped.err.splitlines()[-1].endswith(
        "run the same command again to continue, and only the rest is paid for."
    )
    assert (done.code, done.json["n"], server.counts["chat"]) == (0, 36, 24)
    assert sorted(path.name for path in Path("calibrations").iterdir()) == [
        f"checked-groundedness-shop-faithfulness-{done.json['rubric']}-gpt-4.1.json",
        f"groundedness-faithfulness-shop-{done.json['rubric']}-gpt-4.1.json",
    ]


def test_few_rows_are_said_to_be_few(command: Any) -> None:
    """Under ten nothing can be concluded."""
    assert "Only 6 answers: too few to conclude anything." in command(*USUAL, "--limit", "6").out


def test_a_table_in_japanese_is_calibrated(command: Any, tmp_path: Path) -> None:
    """Columns of a team's own; the label that is good is a text; answers without contexts are not in n."""
    rows = [
        [f"r{at}", "保証は何年ですか", text, "保証期間は2年です。" if at < 12 else "", verdict]
        for at, (text, verdict) in enumerate(
            [("保証期間は2年です。", "良い"), ("永久に無料です。", "悪い")] * 7
        )
    ]
    written_csv(tmp_path / "評価.csv", ("id", "質問", "回答", "根拠", "判定"), *rows)
    done = command(
        "calibrate", "評価.csv", "--judge", "groundedness", "--label", "判定", "--good", "良い", "--json"
    )

    assert (done.code, done.json["n"], done.json["skipped"], done.json["auroc"]) == (0, 12, 2, 1)
    assert "採点対象外2件" in done.err
    assert "良い回答：判定 = 良い（6 / 12件）" in done.err


def test_labels_the_other_way_round_are_pointed_out(command: Any, tmp_path: Path) -> None:
    """Where 1 is the bad one, --good 0 turns it."""
    rows = [row | {"labels": {"flag": 1 - row["labels"]["correct"]}} for row in labelled()]
    written(tmp_path / "labels.jsonl", rows)
    wrong = command(*USUAL[:5], "flag", "--json")
    right = command(*USUAL[:5], "flag", "--good", "0", "--json")

    assert "say so with --good" in wrong.err
    assert wrong.json["auroc"] < 0.5 < right.json["auroc"]
    assert "say so with --good" not in right.err


def test_a_label_of_0_and_1_is_held_against_the_red_rule(command: Any, tmp_path: Path) -> None:
    """Red is what a run would mark, and there is no leniency."""
    rows = [row | {"labels": {"hallucinated": 1 - row["labels"]["correct"]}} for row in labelled()]
    written(tmp_path / "labels.jsonl", rows)
    done = command(*USUAL[:5], "hallucinated", "--good", "0", "--json")
    red = done.json["red"]

    assert done.json["auroc"] > 0.5
    assert red["of"] == 24
    assert f"{red['rows']} of 36 answers, {red['bad']} of them rightly" in " ".join(done.err.split())
    assert "Leniency" not in done.err
    assert done.json["leniency"]["value"] is None


def test_a_dry_run_refuses_an_unknown_price_as_the_grading_would(command: Any, server: OpenAIServer) -> None:
    """Where there is a budget."""
    done = command(*USUAL, "--judge-model", "our-own", "--budget", "1", "--dry-run")

    assert (done.code, server.requests) == (2, [])
    assert "--budget needs the price of our-own (judge)" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--label", "faith"), "There are: correct, faithfulness, verdict"),
        (("--judge", "groundednes"), "unknown judge: 'groundednes'. Did you mean groundedness?"),
        (("--label", "verdict"), "say which is good with --good"),
        (("--good", "high"), "--good 'high'"),
        (("--judge", "./strict.toml"), "the judge skipped all 36 rows"),
    ],
)
def test_what_is_to_mend_is_one_line(
    command: Any, root: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    """Exit code 2, the line says what to do, and nothing is stored; a judge of one's own has no stand-in."""
    (tmp_path / "strict.toml").write_bytes((root / "judges" / "groundedness.toml").read_bytes())
    done = command(*USUAL, *arguments)

    assert done.code == 2
    assert message in done.err.splitlines()[-1]
    assert "Traceback" not in done.err
    assert not Path("calibrations").exists()
