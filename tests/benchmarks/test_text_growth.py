"""The bench of hostile texts: it knows every function over text, and tells linear growth from a square."""

import inspect
import re
import time

import pytest

from benchmarks import text_growth
from benchmarks.text_growth import TEXTS, Growth, functions, grown, line, main
from simulator.text import (  # fmt: skip
    acts,
    choices,
    dates,
    entities,
    evidence,
    normalise,
    numerals,
    overlap,
    segments,
    spelling,
    typography,
    wording,
)

# What takes no text of a stranger, or only what another function of the same module has cut out of one.
NO_TEXT_OF_STRANGERS = frozenset(
    {"letters", "right_letter", "expected_response", "all_references", "share", "total_weight", "unit_weight"}
    | {"tokenizer", "digits_of", "ordinal", "f_measure", "overlap", "ngram_overlap", "char_ngram_overlap"}
    | {"lcs_length", "lcs_overlap", "wording", "percent", "units_by_value"}
)


def test_every_function_over_text_is_measured() -> None:
    """A new public function is measured, or named here as one that reads nobody's text."""
    measured = {re.split("[. ]", name)[1] for name in functions()}
    modules = (acts, choices, dates, entities, evidence, normalise, numerals, overlap, segments, spelling)
    public = {
        name
        for module in (*modules, typography, wording)
        for name, function in inspect.getmembers(module, callable)
        if getattr(function, "__module__", "") == module.__name__
        and not inspect.isclass(function)
        and not name.startswith("_")
    }

    assert public - measured == NO_TEXT_OF_STRANGERS


def test_every_function_takes_every_text() -> None:
    """None of them raises on a hostile text, however short."""
    for use in functions().values():
        for text in TEXTS.values():
            use(text(60))


@pytest.mark.parametrize(("power", "is_linear"), [(1, True), (2, False)])
def test_a_square_is_told_from_a_line(power: int, is_linear: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a made-up clock, on which a text takes its length, or its square."""
    clock = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: clock[0])

    def use(text: str) -> None:
        clock[0] += (len(text) / 100_000) ** power

    found = grown(use, "blanks")

    assert (found.factor < text_growth.MOST_GROWTH) == is_linear
    assert found.factor == pytest.approx(2**power, rel=0.01)


def test_what_is_over_at_once_counts_as_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock cannot tell two short times apart."""
    monkeypatch.setattr(time, "process_time", lambda: 0.0)

    assert grown(len, "blanks") == Growth("blanks", text_growth.LONGEST, 0.0, 2.0)


def test_a_line_tells_factor_and_text() -> None:
    """Four times as long: 0.5 s for 16,000 characters."""
    assert line("acts.parts", Growth("Mr. Mr.", 16_000, 0.5, 4.0)).split() == (
        ["4.00", "acts.parts", "31.25", "s", "per", "million", "16,000", "Mr.", "Mr."]
    )


def test_growth_beyond_linear_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit names the function and the text."""
    monkeypatch.setattr(text_growth, "grown", lambda _use, kind: Growth(kind, 4000, 0.1, 3.9))

    with pytest.raises(SystemExit, match=r"faster than linear: segments.tokens on blanks"):
        main(["--of", "segments.tokens", "--on", "blanks"])
    assert "segments.tokens" in capsys.readouterr().out
