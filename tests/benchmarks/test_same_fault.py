"""Whether a judge tells equal faults from others is measured with real prompts, which name no labels."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.same_fault import KINDS, main, pairs
from simulator.core.templates import LANGUAGES
from tests.servers.openai import serve

_QUOTED = re.compile(r"<(question|first|second|objection) \w+>\n(.*?)\n</", re.DOTALL)


def test_each_language_has_forty_pairs_of_every_kind() -> None:
    """No answer of the rows stands in the prompt."""
    prompt = (Path(__file__).parents[2] / "judges" / "_same_fault.toml").read_text(encoding="utf-8")
    for language in LANGUAGES:
        every = pairs(language)
        assert len(every) == len({pair.name for pair in every}) >= 40
        assert {pair.kind for pair in every} == set(KINDS)
        assert all((pair.kind in KINDS[:2]) is pair.same for pair in every)
        assert not any(pair.second.answer in prompt for pair in every)


def test_a_judge_that_knows_is_right_and_one_that_says_same_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are of the real prompts; what was recorded is counted without asking."""
    known = {(pair.first.answer, pair.second.answer): pair.same for pair in pairs("en")}

    def judge(request: Any) -> str:
        said = dict(_QUOTED.findall(request["messages"][1]["content"]))
        assert said["objection"]
        same = known[said["first"], said["second"]] if knows else True
        return json.dumps({"reason": "r", "same": same})

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
