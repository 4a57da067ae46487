"""`calibrate --probes` from the command line to the exit code, with stand-ins and with a model over HTTP."""

from pathlib import Path
from typing import Any

import pytest

from simulator.lab.judging.stored import StoredBias, bias_for
from tests.golden_files import compare
from tests.servers.openai import OpenAIServer

FEW = ("calibrate", "--probes", "--limit", "2", "--language", "ja", "--judge")
# Gives a 5 to whoever says thanks and a 3 else: no change of the stand-ins moves it.
OWN = """
from simulator import Score


def grateful(exhibit):
    grade = 5 if "ありがとう" in exhibit.turn.answer.text or "Thank you" in exhibit.turn.answer.text else 3
    return Score(judge="", conversation="", turn=1, state="scored", value=grade / 5, raw=grade)
"""
CASES = """id,question,reference,contexts
shop-1,保証は何年ですか,保証期間は2年です。領収書を保管してください。,保証期間は2年です。領収書を保管してください。
shop-2,送料はいくらですか,送料は500円です。離島でもお届けできます。,送料は500円です。離島でもお届けできます。
"""


@pytest.fixture(autouse=True)
def own() -> None:
    """A judge of one's own beside which the commands are run."""
    Path("own.py").write_text(OWN, encoding="utf-8")


def kept(judge: str = "grateful") -> StoredBias:
    return StoredBias.model_validate_json(
        next(Path("calibrations").glob(f"bias-{judge}-*")).read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("language", ["ja", "en"])
def test_it_looks_as_it_is_meant_to(command: Any, language: str) -> None:
    """A table for each kind of probe, then what is broken in words."""
    done = command(
        "calibrate", "--probes", "--limit", "3", "--language", language, "--judge", "own.py:grateful"
    )

    assert done.code == 0
    compare(f"probes_{language}.txt", done.out.replace(kept().rubric, "RUBRIC"))


def test_json_is_one_object_and_the_table_goes_to_standard_error(command: Any) -> None:
    """Rows, what is broken by judge, and where it was saved, bound to the rubric."""
    done = command(*FEW, "own.py:grateful,fluency", "--json", "--offline")
    shown = done.json

    assert (done.code, list(shown["judges"])) == (0, ["grateful", "fluency"])
    broken = shown["judges"]["grateful"]["broken"]
    assert {row["kind"] for row in broken} == {"flipped_fact", "padding"}
    assert shown["judges"]["fluency"]["broken"] == []
    assert shown["judges"]["grateful"]["saved"] == str(next(Path("calibrations").glob("bias-grateful-*")))
    found = bias_for("grateful", [shown["judges"]["grateful"]["rubric"]])
    assert found is not None
    assert [row.kind for row in found.broken] == ["flipped_fact", "padding"]
    assert bias_for("grateful", ["another"]) is None
    assert (shown["calls"], shown["cost_usd"], shown["failed"], shown["source"]) == ({}, 0, 0, "bundled")
    assert "採点の偏り" in done.err
    assert "簡易採点（AIなし、費用なし）" in done.err


def test_a_sample_does_not_replace_more_pairs_and_a_language_is_added(command: Any) -> None:
    """The other language's rows stay, those of fewer pairs are shown only."""
    command(*FEW, "own.py:grateful")
    command("calibrate", "--probes", "--limit", "2", "--language", "en", "--judge", "own.py:grateful")
    both = kept()
    done = command(*FEW, "own.py:grateful", "--limit", "1")

    assert min(both.pairs.values()) > 2
    assert sum(both.pairs.values()) == sum(row.n for row in both.rows)
    assert "grateful の結果は保存しませんでした。同じ質問で、より多くの組の結果がすでにあります。" in done.err
    assert kept() == both


def test_own_questions_are_probed(command: Any) -> None:
    """With what was retrieved in the file itself; with nothing to rest on, it says what is missing."""
    Path("cases.csv").write_text(CASES, encoding="utf-8")
    shown = command(
        "calibrate", "--probes", "--cases", "cases.csv", "--judge", "own.py:grateful", "--json"
    ).json
    bare = "\n".join(line.rpartition(",")[0] for line in CASES.splitlines())
    Path("bare.csv").write_text(bare, encoding="utf-8")
    nothing = command("calibrate", "--probes", "--cases", "bare.csv", "--judge", "own.py:grateful")

    assert shown["source"] == kept().source == "cases.csv"
    assert {"flipped_fact", "padding"} <= {row["kind"] for row in shown["rows"]}
    assert nothing.code == 2
    assert "bare.csv: no pair can be made." in nothing.err


def test_a_model_grades_as_in_a_run(command: Any, server: OpenAIServer) -> None:
    """Forecast first, one call an answer with the judges together, the second time from the cache."""
    first = command(*FEW, "turn,groundedness", "--judges", "turn,groundedness", "--json")
    again = command(*FEW, "turn,groundedness", "--judges", "turn,groundedness", "--json")
    run = command(
        "--judges",
        "turn,groundedness",
        "--language",
        "ja",
        "--limit",
        "1",
        "--turns",
        "1",
        "--persona",
        "calm",
        "--json",
    )
    rubric = first.json["judges"]["turn"]["rubric"]

    assert first.code == 0
    assert first.json["calls"] == {"judge": first.json["answers"]}
    assert f"最大でモデルの呼び出し{first.json['answers']}回、" in first.err
    assert (again.json["calls"], again.json["rows"]) == ({"judge": 0}, first.json["rows"])
    assert kept("turn").rubric == kept("groundedness").rubric == rubric
    assert run.json["judges"]["turn"]["warnings"][0].startswith("要注意：")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("labels.jsonl", "--probes", "--judge", "turn"), "FILE cannot be used with --probes."),
        (("--probes", "--judge", "turn", "--label", "x"), "--label cannot be used with --probes."),
        (("--judge", "turn", "--cases", "x.csv"), "--cases can only be used with --probes."),
        (("--judge", "turn", "--label", "x"), "FILE is missing: calibrate FILE --judge NAME --label LABEL"),
        (("labels.jsonl", "--judge", "turn"), "--label is missing: calibrate FILE"),
        (("--probes", "--judge", "turns"), "unknown judge: 'turns'. Did you mean turn?"),
        (("--probes", "--judge", " , "), "--judge: name a judge."),
    ],
)
def test_what_is_to_mend_is_one_line(command: Any, arguments: tuple[str, ...], message: str) -> None:
    """Exit code 2, and nothing is stored."""
    done = command("calibrate", *arguments)

    assert done.code == 2
    assert message in done.err.splitlines()[-1]
    assert not Path("calibrations").exists()
