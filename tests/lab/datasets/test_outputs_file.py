"""Metric files: which output is graded by whom, from which score on; read, refused, and written back."""

import json
from pathlib import Path

import pytest

from simulator.core.errors import InputError
from simulator.lab.datasets.metric_file import MetricFile, read_metric_file, write_thresholds

ARTICLE = """{
  "default": ["em", "rougeL"],
  "method": ["em"],
  "path": [{"name": "gpt_similarity", "threshold": 1}, "meteor",
           {"name": "similarity", "threshold": 4}]
}
"""
REFUSED = {
    '{"default": ["em"],\n "path": ["gpt_similarty"]}': (
        "path: unknown judge: 'gpt_similarty'. Did you mean gpt_similarity"
    ),
    '{"path": [\n"em",\n{"name": "rougeL", "threshold": 1.5}]}': (
        "path: rougeL: threshold 1.5 is outside of its scale, 0 to 1."
    ),
    '{"path": [{"name": "similarity", "threshold": 0.8}]}': (
        "path: similarity: threshold 0.8 is outside of its scale, 1 to 5."
    ),
    '{"a": {"path": ["em"]}}': """a: '{"path": ["em"]}' is not a judge; write "em", or""",
    '{"a": [["em"]]}': """a: '["em"]' is not a judge;""",
    '{"a": 1}': "a: '1' is not a judge;",
    '{"a": []}': "a: names no judge.",
    '{"a": ["em"],\n\n"a": ["rougeL"]}': "'a' is listed twice;",
    '{"a": ["em", "exact_match"]}': "a: exact_match is listed twice.",
    '{"a": [{"threshold": 1}]}': "a: '{\"threshold\": 1}' is not a judge;",
    '{"a": [{"name": 1}]}': "a: '{\"name\": 1}' is not a judge;",
    '{"a": [{"name": "em", "treshold": 1}]}': """a: '{"name": "em", "treshold": 1}' is not a judge;""",
    '{"a": [{"name": "em", "threshold": "1"}]}': 'a: \'{"name": "em", "threshold": "1"}\' is no',
    '{"a": [{"name": "em", "threshold": true}]}': 'a: \'{"name": "em", "threshold": true}\' is no',
    '{"a": [{"name": "em", "threshold": NaN}]}': 'a: \'{"name": "em", "threshold": NaN}\' is no',
    '{"": ["em"]}': "'' is not a valid name for an output.",
    "{}": "it names no output;",
    '["em"]': "not an object;",
    '{"a": ["em"\n "b"]}': "line 2: not valid JSON",
    "[" * 100_000: "not valid JSON (nested too deeply",
}


def read(text: str, name: str = "metric_output_info.json") -> MetricFile:
    Path(name).write_text(text, encoding="utf-8")
    return read_metric_file(name)


def judges_of(outputs: MetricFile) -> dict[str, list[tuple[str, str, float | None]]]:
    named = outputs.named.items()
    return {name: [(m.score_name, m.judge, m.threshold) for m in each] for name, each in named}


def test_all_shapes_are_understood() -> None:
    """Names, objects and both in one list; scores keep the names that were given, without blanks around."""
    outputs = read(ARTICLE)
    assert judges_of(read('{"default": [{"name": " em "}]}')) == {"default": [("em", "exact_match", 1)]}

    assert judges_of(outputs) == {
        "default": [("em", "exact_match", 1), ("rougeL", "rouge_l", None)],
        "method": [("em", "exact_match", 1)],
        "path": [
            ("gpt_similarity", "llm_similarity", 1),
            ("meteor", "meteor", None),
            ("similarity", "similarity", 4),
        ],
    }
    assert outputs.metrics("other") == outputs.default
    assert [outputs.files(each) for each in ("path.meteor", "x.em", "path.em")] == [True, True, False]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_what_is_wrong_is_named_by_file_and_output(text: str) -> None:
    """One line, before anything is asked."""
    with pytest.raises(InputError) as refused:
        read(text)

    said = str(refused.value).removeprefix("metric_output_info.json").removeprefix(": ").removeprefix(", ")
    assert said.startswith(REFUSED[text])
    assert "\n" not in str(refused.value)


def test_a_file_without_thresholds_decides_nothing() -> None:
    """Judges that say right or wrong have a threshold of their own; others only with one."""
    assert not read('{"default": ["rougeL"]}').decides
    assert read('{"default": ["rougeL"], "a": ["gpt_correctness"]}').decides


def test_thresholds_are_written_into_json() -> None:
    """Nothing else that the file says changes, and a missing file is made."""
    read(ARTICLE)
    before = json.loads(ARTICLE)
    found = {("default", "rougeL"): 0.43214, ("path", "meteor"): 0.5}
    write_thresholds(Path("metric_output_info.json"), found)
    after = json.loads(Path("metric_output_info.json").read_text(encoding="utf-8"))
    write_thresholds(Path("new.json"), {("default", "rougeL"): 0.4})

    assert {"name": "rougeL", "threshold": 0.4321} in after["default"]
    assert {"name": "meteor", "threshold": 0.5} in after["path"]
    assert after["method"] == before["method"]
    assert [len(after[output]) for output in before] == [len(before[output]) for output in before]
    assert sorted(path.name for path in Path().iterdir()) == ["metric_output_info.json", "new.json"]
    made = json.loads(Path("new.json").read_text("utf-8"))
    assert made == {"default": [{"name": "rougeL", "threshold": 0.4}]}
