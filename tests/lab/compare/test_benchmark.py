"""What the bench of judges says of public sets of pairs."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.validity import main
from tests.lab.compare.compare_runs import LONG, SHORT, judge, prefers_longer
from tests.labelled_answers import written
from tests.servers.openai import serve

WRONG = "It costs 9,999 yen a month, and that includes everything that anybody could ever wish for."


def rows(count: int = 40, **changes: Any) -> list[dict[str, Any]]:
    """People prefer the right answer, which is the shorter one; every fifth pair they find level."""
    return [
        {
            "id": f"shop/{at}", "dataset": "shop", "language": "en", "group": f"g{at // 2}", "history": [],
            "question": "How much is fibre a month?", "contexts": [], "reference": LONG["en"],
            "answer_a": SHORT["en"] if at % 2 else WRONG, "answer_b": WRONG if at % 2 else SHORT["en"],
            "human_preference": ["tie"] if at % 5 == 0 else ["a" if at % 2 else "b"],
            "meta": {"subset": "adv_one" if at < count // 2 else "plain"},
            "published_scores": {"rival": [2, 1]},
        }
        | changes
        for at in range(count)
    ]  # fmt: skip


def test_trivial_scorers_need_no_endpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By part, with the mean over adversarial ones."""
    written(tmp_path / "pairwise_shop_dev.jsonl", rows())
    main(["--data", str(tmp_path)])
    out = capsys.readouterr().out

    assert "pairwise_shop_dev.jsonl (40 pairs, 32 with a winner)" in out
    assert "trivial longer                          32  0.000" in out
    assert "published rival" in out
    assert "adv_* (mean of 1 parts)" in out
    assert "1 files in" in out


def test_a_model_is_measured_where_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both orders of each pair; a judge of lengths is as wrong as length."""
    written(tmp_path / "pairwise_shop_dev.jsonl", rows(10))
    with serve(judge(prefers_longer)) as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        monkeypatch.setenv("REHEARSAL_JUDGE_MODEL", "fake-judge")
        main(["--data", str(tmp_path)])
        assert len(server.requests) == 20
    out = capsys.readouterr().out

    assert "> fake-judge                             8  0.000" in out
    assert "shown first and preferred: 50%; orders that disagree: 0%" in out
