"""`thresholds suggest`: from labelled answers or a reviewed run to a table and a metric file."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Command
from tests.servers.openai import OpenAIServer

# Right answers share words with the reference, wrong ones hardly any.
RIGHT = ("返品は14日以内です", "14日以内に返品できます", "返品は14日以内にお願いします")
WRONG = ("わかりません", "配送は無料です", "お電話ください")
REFERENCE = "返品は14日以内です。"


@pytest.fixture
def suggest(command: Command) -> Command:
    """Runs the command in this process."""
    return partial(command, "thresholds", "suggest")


def labelled(
    answers: dict[str, bool],
    times: int = 8,
    reference: str = REFERENCE,
    name: str = "labels.jsonl",
    **more: Any,
) -> str:
    """A file of answers with their label, each several times, in two domains."""
    rows = [
        {
            "id": f"{at}-{turn}", "question": f"返品は？ {at}", "reference": reference, "answer": answer,
            "labels": {"correct": int(good)}, "domain": ("a", "b")[turn % 2], **more,
        }
        for at, (answer, good) in enumerate(answers.items())
        for turn in range(times)
    ]  # fmt: skip
    Path(name).write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return name


def some_labelled(**more: Any) -> str:
    return labelled(dict.fromkeys(RIGHT, True) | dict.fromkeys(WRONG, False), **more)


def test_a_table_for_every_judge(suggest: Command) -> None:
    """Threshold, interval, and how many right and wrong answers reach it, in the language of the rows."""
    code, out, _ = suggest(some_labelled(), "--judges", "em,rougeL,meteor")
    lines = [line.split() for line in out.splitlines()]

    assert code == 0
    assert out.lstrip().startswith(
        "基準値の提案  labels.jsonl (correct >= 0.5)\n良い回答の95%以上が達する、最も高い値です。"
    )
    assert ["rougeL", "0.6", "0.6–0.6", "100.0%/24", "0.0%/24"] in lines
    assert ["meteor", "0.8152", "0.815–0.815", "100.0%/24", "0.0%/24"] in lines
    assert "! em：良い回答をほかから分ける値がありません" in out
    assert not Path("metric_output_info.json").exists()


def test_they_are_written_into_a_metric_file(suggest: Command) -> None:
    """Entries that say right or wrong, and those of other judges, stay as they are."""
    text = '{\n  "default": ["em", "rougeL"],\n  "x": [{"name": "gpt_similarity", "threshold": 1}]\n}\n'
    Path("m.json").write_text(text, encoding="utf-8")
    code, out, _ = suggest(some_labelled(), "--judges", "em,rougeL", "--write", "m.json")

    assert code == 0
    assert json.loads(Path("m.json").read_text("utf-8")) == {
        "default": ["em", {"name": "rougeL", "threshold": 0.6}],
        "x": [{"name": "gpt_similarity", "threshold": 1}],
    }
    assert "m.json に書き込みました：\n  default.rougeL：– → 0.6\n" in out


def test_the_judges_of_the_file_are_asked_where_none_are_named(suggest: Command) -> None:
    """JSON answers are held against the reference output by output."""
    answers = {json.dumps({"path": text, "n": 1}, ensure_ascii=False): good for text, good in (
        [(each, True) for each in RIGHT] + [(each, False) for each in WRONG]
    )}  # fmt: skip
    labelled(answers, reference=json.dumps({"path": REFERENCE, "n": 1}, ensure_ascii=False))
    Path("m.json").write_text('{"path": ["rougeL"], "default": ["em"]}', encoding="utf-8")
    code, out, _ = suggest("labels.jsonl", "--write", "m.json", "--json")
    shown = json.loads(out)
    of_n = next(each for each in shown["suggestions"] if each["output"] == "n")

    assert code == 0
    assert shown["changes"] == [{"output": "path", "judge": "rougeL", "before": None, "after": 0.6}]
    assert json.loads(Path("m.json").read_text("utf-8"))["path"] == [{"name": "rougeL", "threshold": 0.6}]
    # n is the same in every answer, so it is not what is wrong with the wrong ones.
    assert (of_n["right"], of_n["wrong"]) == (24, 0)


def test_a_reviewed_run_is_exported_first(suggest: Command) -> None:
    """One line says how its verdicts become labels."""
    code, _, err = suggest("latest", "--judges", "rougeL")

    assert code == 2
    assert "latest: name a file of labelled answers; of a reviewed run: review RUN --export FILE" in err


def test_a_models_judgements_are_forecast_and_paid_once(suggest: Command, server: OpenAIServer) -> None:
    """--dry-run starts nothing; the second time everything comes from the cache."""
    name = some_labelled(times=1)
    code, out, _ = suggest(name, "--judges", "gpt_similarity", "--dry-run")
    assert (code, server.counts["chat"], "6" in out.split()) == (0, 0, True)
    suggest(name, "--judges", "gpt_similarity")
    asked = server.counts["chat"]
    code, _, err = suggest(name, "--judges", "gpt_similarity")

    assert (code, asked, server.counts["chat"]) == (0, 6, 6)
    assert "At most 6 model calls" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.csv", "--judges", "em"], "none.csv: no such file"),
        (["labels.jsonl"], "--judges is missing"),
        (["labels.jsonl", "--judges", "nope"], "unknown judge: 'nope'"),
        (["labels.jsonl", "--judges", "em", "--label", "good"], "unknown label in labels.jsonl: 'good'"),
        (["labels.jsonl", "--write", "m.json"], "m.json: a: em: threshold 2 is outside of its scale"),
    ],
)
def test_what_is_wrong_is_one_line(suggest: Command, arguments: list[str], told: str) -> None:
    """Before anything is graded."""
    some_labelled(times=1)
    Path("m.json").write_text('{"a":\n [{"name": "em", "threshold": 2}]}', encoding="utf-8")
    code, out, err = suggest(*arguments)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err


def test_labels_of_wrong_answers_only_are_refused(suggest: Command) -> None:
    """There is nothing to take a threshold from."""
    code, _, err = suggest(labelled(dict.fromkeys(WRONG, False), times=1), "--judges", "rougeL")

    assert code == 2
    assert "no good answer has a score" in err
