"""The bench of judges against public label sets."""

from pathlib import Path

import pytest

from benchmarks.validity import main
from tests.labelled_answers import labelled, written


def test_every_fitting_pair_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One table a set, with people and trivial scorers; judges that lack what they need are left out."""
    written(tmp_path / "judge_labels_shop_dev.jsonl", labelled())
    written(tmp_path / "judge_labels_other.jsonl", labelled("ja", dataset="other", contexts=[]))
    written(tmp_path / "pairwise_shop.jsonl", labelled())
    main(["--data", str(tmp_path), "--set", "judge_labels"])
    out = capsys.readouterr().out

    assert "offline stand-ins (word overlap); live: untested, no endpoint" in out
    assert out.count("## ") == 2
    assert out.count("> groundedness  ") == 2  # faithfulness and correct, of the set with contexts
    assert out.count("> similarity  ") == 2
    assert "  people (one and the rest)" in out
    assert "2 files in" in out
