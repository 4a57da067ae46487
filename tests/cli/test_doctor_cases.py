"""Which judges fit the right answers of a data set, and what they give for the well-known examples."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.settings import Settings
from simulator.core.shelves import canonical_judge
from simulator.core.types import Case
from simulator.data.datasets import default_judges, judges_of_form
from simulator.grading.fitting import (
    AnswerForm,
    answer_profiles,
    fits_of,
    suggested_file,
)
from simulator.grading.metric_file import read_metric_file
from simulator.runner.plan import read_plan

FORMS: tuple[AnswerForm, ...] = (
    "label", "choice", "repeated", "number", "phrase", "code", "json", "sentence", "text",
)  # fmt: skip
CURL, WITHOUT = "curl -X GET http://example.com/data", "curl -X http://example.com/data"
CAT = "猫が机の上にいる"
# The same, the same in other words, nearly the same words but the opposite, and something else.
CATS = (CAT, "机の上に猫がいます", "猫が机の下にいる", "犬が公園を走っている")


def cases(*references: str, label: bool = False) -> list[Case]:
    """A case for each right answer."""
    return [
        Case(id=str(at), question="q", language="ja", **({"label": text} if label else {"references": text}))
        for at, text in enumerate(references)
    ]


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["肯定", "否定"] * 10, "repeated"),
        (["0", "1", "1"] * 8, "repeated"),
        (["富士山", "淀川", "新宿区"], "phrase"),
        (["1,000円", "2024", "3.14"], "number"),
        ([CURL, "SELECT * FROM t", "git push --force"], "code"),
        (["[1, 2]", "[3]"], "json"),
        (list(CATS), "sentence"),
        (["The cat is on the desk.", "A dog runs in the park."], "sentence"),
        (["返品は14日以内です。" * 20, "配送は3日です。" * 20], "text"),
    ],
)
def test_the_form_of_right_answers(texts: list[str], form: AnswerForm) -> None:
    """What most of them are; few different ones, each several times, are a form of their own."""
    (look,) = answer_profiles(cases(*texts))

    assert (look.output, look.form, look.rows) == ("default", form, len(texts))


def test_json_is_looked_at_key_by_key() -> None:
    """Each output has its own form, and lists in it are JSON again."""
    answer = {"curl": CURL, "n": 3, "cat": CAT, "list": [1]}
    found = answer_profiles(cases(*[json.dumps(answer, ensure_ascii=False)] * 3))

    assert {look.output: look.form for look in found} == {
        "curl": "code", "n": "number", "cat": "sentence", "list": "json",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"label": "肯定"}, True),
        ({"label": "肯定", "choices": ["肯定", "否定"]}, True),
        ({"reference": CAT + "。"}, False),
    ],
)
def test_doctor_and_evaluate_agree(
    more: dict[str, Any], key: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is taken where nobody names a judge is the same for both, is marked, and fits."""
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    other = {"question": "どれ？", **more} | ({"label": "否定"} if "label" in more else {})
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in ({"question": "どこ？", **more}, other))
    Path("r.jsonl").write_text(text, encoding="utf-8")
    default_judges = read_plan(Settings(cases="r.jsonl", protocol="single_turn")).settings.judges
    assert examine("r.jsonl") == 0
    out = capsys.readouterr().out
    assert examine("r.jsonl", "--json") == 0

    assert f"evaluate が使う指標：{'、'.join(default_judges)}" in out
    marked = {canonical_judge(line.split()[1]) for line in out.splitlines() if line.startswith("  ◎")}
    assert marked == set(default_judges)
    assert tuple(json.loads(capsys.readouterr().out)["evaluate"]) == default_judges


def test_what_is_taken_fits() -> None:
    """Nothing that is taken is said not to fit, and the order is all that a model changes."""
    for form in FORMS:
        known, fit = judges_of_form(form), [fit.judge for fit in fits_of(form) if fit.fits]
        assert set(known["taken"]) <= set(fit), form
        assert set(known.get("offline", known["taken"])) == set(known["taken"])
    assert default_judges("sentence", offline=False)[0] == "llm_similarity"
    assert default_judges("sentence", offline=True)[0] == "rouge_l"


def test_the_offered_file_is_valid(tmp_path: Path) -> None:
    """For every form."""
    found = [
        answer_profiles(cases(text))[0]._replace(output=text)
        for text in ("山", "3", CURL, CAT, "説明です。" * 30)
    ]
    Path("m.json").write_text(suggested_file(found), encoding="utf-8")

    assert [m.name for m in read_metric_file("m.json").named[CURL]] == ["rougeL"]
    assert read_metric_file("m.json").decides


def examine(*arguments: str) -> int:
    return main(["doctor", *arguments])


def test_a_data_set_is_told_in_its_own_language(capsys: pytest.CaptureFixture[str]) -> None:
    """The form, who fits and who does not, a file to copy, and METEOR thresholds that nothing reaches."""
    rows = [
        {"question": "どこ？", "reference": json.dumps({"cmd": CURL, "name": "山"}, ensure_ascii=False)}
    ] * 3
    Path("r.jsonl").write_text(
        "\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8"
    )
    Path("m.json").write_text('{"cmd": [{"name": "meteor", "threshold": 0.99}], "name": ["meteor"]}', "utf-8")
    assert examine("r.jsonl", "--outputs", "m.json") == 0
    out = capsys.readouterr().out

    assert "出力 cmd：コード・コマンド（3/3 件、英語 3、異なるもの 1、長さの中央値 35 字）" in out
    assert "  ○ rougeL             並びの共通部分を数えるので、足りない・余る引数の分だけ下がる（" in out
    assert "（はじめの基準値 0.8）\n" in out
    assert "  × cosine_similarity  動かないコマンドも、正しいものと近いと出る" in out
    assert '{\n  "cmd": [{"name": "rougeL", "threshold": 0.8}],\n  "name": ["em"]\n}\n' in out
    assert "METEOR の基準値" not in out


def test_a_meteor_threshold_that_identical_text_misses_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """With how many references have it, and what the reference itself would get."""
    row = {"question": "Which?", "reference": "two words", "language": "en"}
    Path("r.jsonl").write_text(f"{json.dumps(row)}\nbroken\n", encoding="utf-8")
    Path("m.json").write_text('{"default": [{"name": "meteor", "threshold": 1}]}', encoding="utf-8")
    assert examine("r.jsonl", "--outputs", "m.json") == 0
    out = capsys.readouterr().out
    assert examine("r.jsonl", "--outputs", "m.json", "--json") == 0
    shown = json.loads(capsys.readouterr().out)

    assert "! Output (whole answer): a METEOR threshold of 1 is missed by the reference itself (1 of 1" in out
    assert "1 row left out, not readable" in out
    assert (
        shown["warnings"][0] | {"value": 0.9375, "threshold": 1, "output": "default"} == shown["warnings"][0]
    )
    assert shown["outputs"]["default"]["form"] == "phrase"
    assert shown["outputs"]["default"]["fit"]["em"]["en"].startswith("hardly anything to word differently")
    assert shown["metrics"] == {"default": ["em"]}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.jsonl"], "none.jsonl: no such file"),
        (["--outputs", "m.json"], "--outputs needs a data set"),
        (["r.jsonl", "--outputs", "none.json"], "none.json: no such file"),
    ],
)
def test_what_cannot_be_looked_at_is_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and nothing on standard output."""
    Path("r.jsonl").write_text('{"question": "q", "reference": "a"}\n', encoding="utf-8")
    assert examine(*arguments) == 2
    shown = capsys.readouterr()

    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert told in shown.err


def test_without_right_answers_others_judge(capsys: pytest.CaptureFixture[str]) -> None:
    """Judges that compare with nothing are named."""
    Path("r.jsonl").write_text('{"question": "どうですか"}\n', encoding="utf-8")
    assert examine("r.jsonl") == 0

    assert "relevance、groundedness、fluency" in capsys.readouterr().out
