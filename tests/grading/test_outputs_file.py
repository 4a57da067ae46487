"""Metric files: which output is graded by whom, from which score on; read, refused, and written back."""

import json
from pathlib import Path

import pytest

from simulator.core.errors import InputError
from simulator.grading.metric_file import MetricFile, read_metric_file, write_thresholds

ARTICLE = """{
  "default": ["em", "rougeL"],
  "method": ["em"],
  "path": [{"name": "gpt_similarity", "threshold": 1}, "meteor",
           {"name": "similarity", "threshold": 4}]
}
"""
TOML = """# ours
default = ["em", "rougeL"]
method = "em"

[[path]]
name = "gpt_similarity"
threshold = 1

[[path]]
name = "meteor"

[[path]]
name = "similarity"
threshold = 4
"""
REFUSED = {
    '{"default": ["em"],\n "path": ["gpt_similarty"]}': (
        "line 2: path: unknown judge 'gpt_similarty'. Did you mean gpt_similarity"
    ),
    '{"path": [\n"em",\n{"name": "rougeL", "threshold": 1.5}]}': (
        "line 3: path: rougeL: threshold 1.5 is outside of its scale, 0 to 1."
    ),
    '{"path": [{"name": "similarity", "threshold": 0.8}]}': (
        "line 1: path: similarity: threshold 0.8 is outside of its scale, 1 to 5."
    ),
    '{"a": {"path": ["em"]}}': """line 1: a: '{"path": ["em"]}' is no judge; write "em", or""",
    '{"a": [["em"]]}': """line 1: a: '["em"]' is no judge;""",
    '{"a": 1}': "line 1: a: '1' is no judge;",
    '{"a": []}': "line 1: a: names no judge.",
    '{"a": ["em"],\n\n"a": ["rougeL"]}': "line 3: 'a' stands here twice;",
    '{"a": ["em", "exact_match"]}': "line 1: a: exact_match stands here twice.",
    '{"a": [{"threshold": 1}]}': "line 1: a: '{\"threshold\": 1}' is no judge;",
    '{"a": [{"name": 1}]}': "line 1: a: '{\"name\": 1}' is no judge;",
    '{"a": [{"name": "em", "treshold": 1}]}': """line 1: a: '{"name": "em", "treshold": 1}' is no judge;""",
    '{"a": [{"name": "em", "threshold": "1"}]}': 'line 1: a: \'{"name": "em", "threshold": "1"}\' is no',
    '{"a": [{"name": "em", "threshold": true}]}': 'line 1: a: \'{"name": "em", "threshold": true}\' is no',
    '{"a": [{"name": "em", "threshold": NaN}]}': 'line 1: a: \'{"name": "em", "threshold": NaN}\' is no',
    '{"": ["em"]}': "line 1: '' is no name for an output.",
    "{}": "line 1: it names no output;",
    '["em"]': "line 1: not an object;",
    '{"a": ["em"\n "b"]}': "line 2: not valid JSON",
    "[" * 100_000: "line 1: not valid JSON (nested too deeply",
}
REFUSED_TOML = {
    'default = ["em"]\n[[path]]\nname = "em"\n[[path]]\nname = "meteor"\nthreshold = 2\n': (
        "line 5: path: meteor: threshold 2 is outside of its scale, 0 to 1."
    ),
    'default = ["em"\n': "line 1: not valid TOML",
    'default = ["em"]\n\n[path]\nx = ["em"]\n': """line 3: path: '{"x": ["em"]}' is no judge;""",
}


def read(text: str, name: str = "metric_output_info.json") -> MetricFile:
    Path(name).write_text(text, encoding="utf-8")
    return read_metric_file(name)


def judges_of(outputs: MetricFile) -> dict[str, list[tuple[str, str, float | None]]]:
    return {
        name: [(m.score_name, m.judge, m.threshold) for m in each] for name, each in outputs.named.items()
    }


@pytest.mark.parametrize("text", [ARTICLE, TOML])
def test_all_shapes_are_understood(text: str) -> None:
    """Names, objects and both in one list, as JSON or TOML; scores keep the names that were given."""
    outputs = read(text, "metrics.toml" if text is TOML else "metrics.json")

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
    assert (outputs.files("path.meteor"), outputs.files("x.em"), outputs.files("path.em")) == (
        True,
        True,
        False,
    )


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_what_is_wrong_is_named_by_file_and_line(text: str) -> None:
    """One line, before anything is asked."""
    with pytest.raises(InputError) as refused:
        read(text)

    assert str(refused.value).startswith(f"metric_output_info.json, {REFUSED[text]}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", REFUSED_TOML)
def test_toml_is_held_to_the_same(text: str) -> None:
    """Each table of a list has its own line."""
    with pytest.raises(InputError) as refused:
        read(text, "metrics.toml")

    assert str(refused.value).startswith(f"metrics.toml, {REFUSED_TOML[text]}")


def test_a_file_without_thresholds_decides_nothing() -> None:
    """Judges that say right or wrong have a threshold of their own; others only with one."""
    assert not read('{"default": ["rougeL"]}').decides
    assert read('{"default": ["rougeL"], "a": ["gpt_correctness"]}').decides


def test_thresholds_are_written_into_json() -> None:
    """Nothing else that the file says changes, and a missing file is made."""
    read(ARTICLE)
    before = json.loads(ARTICLE)
    write_thresholds(
        Path("metric_output_info.json"), {("default", "rougeL"): 0.43214, ("path", "meteor"): 0.5}
    )
    after = json.loads(Path("metric_output_info.json").read_text(encoding="utf-8"))
    write_thresholds(Path("new.json"), {("default", "rougeL"): 0.4})

    assert {"name": "rougeL", "threshold": 0.4321} in after["default"]
    assert {"name": "meteor", "threshold": 0.5} in after["path"]
    assert after["method"] == before["method"]
    assert [len(after[output]) for output in before] == [len(before[output]) for output in before]
    assert sorted(path.name for path in Path().iterdir()) == ["metric_output_info.json", "new.json"]
    assert json.loads(Path("new.json").read_text("utf-8")) == {
        "default": [{"name": "rougeL", "threshold": 0.4}]
    }


def test_toml_is_left_as_it_is() -> None:
    """People put the values there."""
    read(TOML, "metrics.toml")

    assert not write_thresholds(Path("metrics.toml"), {("default", "rougeL"): 0.4})
    assert Path("metrics.toml").read_text(encoding="utf-8") == TOML


@pytest.mark.parametrize("page", ["thresholds.md", "thresholds.ja.md"])
def test_the_files_of_the_guide_say_the_same(root: Path, page: str) -> None:
    """Its JSON and its TOML are one metric file."""
    text = (root / "docs" / page).read_text(encoding="utf-8")
    first = {kind: text.split(f"```{kind}\n", 1)[1].split("```", 1)[0] for kind in ("json", "toml")}

    assert judges_of(read(first["json"])) == judges_of(read(first["toml"], "guide.toml"))
