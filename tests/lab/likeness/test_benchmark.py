"""The desk that the benchmark of likeness has customers talk with."""

import pytest

from benchmarks import likeness
from simulator.cases.cases import read_cases
from simulator.core.shelves import DEMO
from simulator.core.types import Language


def test_the_desk_of_the_likeness_benchmark_varies(capsys: pytest.CaptureFixture[str]) -> None:
    """It answers in whole or part, asks back and declines, the same every time; an unknown run is told."""
    languages: tuple[Language, ...] = ("ja", "en")
    for language in languages:
        cases = read_cases(DEMO / "cases" / f"{language}.csv")
        said = [
            likeness.desk("?", [{"role": "user"}] * 2 * at, case.id, language)
            for case in cases
            for at in range(4)
        ]
        assert set(likeness.ASKED[language]) | {likeness.DECLINED[language]} < set(said)
        known = {text for case in cases for row in case.references for text in row}
        assert known & set(said)
        assert any(each.startswith(text) for text in set(said) - known for each in known)
    assert likeness.main(["--run", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
