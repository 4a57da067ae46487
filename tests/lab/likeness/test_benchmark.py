"""The benchmark of likeness: the desk that customers talk with, and the people it holds them against."""

from collections import Counter
from itertools import chain

import pytest

from benchmarks import likeness
from benchmarks.likeness_people import in_prose, part_of, prose
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


def test_a_dialogue_belongs_to_one_part_and_prose_to_another() -> None:
    """Half of the dialogues build, a quarter is final; the final set has prose of its own."""
    parts = Counter(part_of(f"star/{at}") for at in range(400))
    assert parts["build"] == pytest.approx(200, abs=30)
    assert parts["final"] == pytest.approx(100, abs=30)
    languages: tuple[Language, ...] = ("ja", "en")
    for language in languages:
        early, late = ({*chain(*prose(language, part).values())} for part in ("develop", "final"))
        assert min(len(early), len(late)) > 40
        assert not early & late
    spoken = [["first", "a", "b"], ["first", "c", "d", "e"]]
    assert list(in_prose(spoken, ["X"], every=2)) == [["first", "X", "b"], ["first", "X", "d", "X"]]
    assert list(in_prose(spoken, ["X"], every=1)) == [["first", "X", "X"], ["first", "X", "X", "X"]]
