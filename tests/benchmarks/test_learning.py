"""The recorded replies still give the figures of docs/validation.md."""

import pytest

from benchmarks import learning


def test_both_desks_are_learned_and_noise_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Two rules of either desk, 26 of 40 before and 40 after; nothing where there is nothing."""
    learning.main([])
    out = capsys.readouterr().out

    assert out.count("rule from") == 4
    assert out.count("26 of 40 before, 40 after; better 14, worse 0") == 2
    assert "refused with 10 of 10 seeds" in out
    assert "(1.7 %)" in out
