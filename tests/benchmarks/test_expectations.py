"""Whether the judge says rightly what became of what is expected is measured with real prompts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.expectations import Sentence, dialogues, main
from simulator.core.templates import LANGUAGES
from tests.servers.openai import serve

WHOLE = {"requests": [{"request": "r", "turn": 1, "state": "resolved"}], "lapses": [], "conclusion": "c"}
_TAG = re.compile(r"<expectation-(\d) \w+>\n(.*?)\n</", re.DOTALL)
_FIRST = re.compile(r"<customer-1 \w+>\n(.*?)\n</", re.DOTALL)


def test_each_language_has_forty_dialogues_with_every_outcome() -> None:
    """Ten and more forbid; no sentence of the rows stands in the prompt."""
    prompt = (Path(__file__).parents[2] / "judges" / "expectations.toml").read_text(encoding="utf-8")
    for language in LANGUAGES:
        every = dialogues(language)
        sentences = [sentence for dialogue in every for sentence in dialogue.sentences]
        assert len(every) == len({dialogue.name for dialogue in every}) == 40
        assert all(sum(s.state == state for s in sentences) >= 20 for state in ("met", "unmet", "open"))
        assert sum(sentence.forbids for sentence in sentences) >= 10
        assert not any(sentence.text in prompt for sentence in sentences)


def test_a_judge_that_knows_is_right_and_one_that_says_met_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are of the real prompts; what was recorded is counted without asking."""
    known = {s.text: s for dialogue in dialogues("en") for s in dialogue.sentences}

    def judge(request: Any) -> str:
        material = request["messages"][1]["content"]
        [line] = _FIRST.findall(material)
        rows = [row(int(number), known[text.lstrip()], line) for number, text in _TAG.findall(material)]
        return json.dumps({"conversation": WHOLE, "expectations": {"expectations": rows}})

    def row(number: int, sentence: Sentence, line: str) -> dict[str, Any]:
        state = sentence.state if knows else "met"
        return {"number": number, "turn": 1, "quote": line, "why": "w", "state": state}

    shares = []
    for knows in (True, False):
        file = tmp_path / f"{knows}.json"
        with serve(judge) as server, monkeypatch.context() as patched:
            patched.setenv("OPENAI_BASE_URL", server.url)
            patched.setenv("OPENAI_API_KEY", "x")
            main(["--judge-model", "reader", "--lang", "en", "--record", str(file)])
        asked = capsys.readouterr().out
        main(["--lang", "en", "--record", str(file)])
        assert capsys.readouterr().out.splitlines()[2:] == asked.splitlines()[2:]
        shares.append(float(asked.splitlines()[3].split()[2]))
    assert shares[0] == 1.0
    assert shares[1] < 0.6
