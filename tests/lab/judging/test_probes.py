"""Generated pairs differ in exactly what they promise, in good Japanese and English."""

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.core.types import Case, Language, Passage
from simulator.lab.judging.bias import Probe
from simulator.lab.judging.plan import bundled, numbers_in, probes
from simulator.text.typography import language_of
from tests.properties import examples

CASES, KNOWLEDGE = bundled()
# A figure with what changes beside it: 1 day, 2 days.
FIGURE = re.compile(
    r"[0-9０-９][0-9０-９,，]*(?:(?P<unit>[ -](?:business )?(?:day|week|month|year|hour))s?\b)?"
)


@cache
def all_probes(seed: int = 42) -> tuple[Probe, ...]:
    """Those of the bundled questions."""
    return probes(CASES, KNOWLEDGE, seed=seed)


def of(kind: str, made: tuple[Probe, ...] | None = None) -> list[Probe]:
    return [probe for probe in (all_probes() if made is None else made) if probe.kind == kind]


def said(probe: Probe) -> tuple[str, str]:
    return probe.base.turn.answer.text, probe.changed.turn.answer.text


def passages(probe: Probe) -> str:
    return "\n".join(passage.text for passage in probe.base.turn.answer.passages)


@settings(max_examples=examples(3), deadline=None)
@given(seed=st.integers(0, 2**31))
def test_the_same_seed_gives_the_same_pairs(seed: int) -> None:
    """Two makings are equal, whatever else was drawn before; another seed flips other facts."""
    few = CASES[:8] + CASES[-16:]
    made = probes(few, KNOWLEDGE, seed=seed)

    assert probes(few, KNOWLEDGE, seed=seed) == made
    assert probes(few, KNOWLEDGE, seed=seed + 1) != made


@pytest.mark.parametrize("seed", [42, 7])
def test_a_flip_changes_one_figure_and_nothing_else(seed: int) -> None:
    """One goes that the passages have, one comes that nothing has; question, case and passages stay."""
    flips = of("flipped_fact", all_probes(seed))
    assert len(flips) > 40
    for probe in flips:
        before, after = said(probe)
        come = numbers_in(after) - numbers_in(before)

        assert come
        assert not come <= numbers_in(passages(probe))
        assert FIGURE.sub("#", after) == FIGURE.sub("#", before)
        assert probe.changed.turn.user == probe.base.turn.user
        assert probe.changed.case == probe.base.case
        assert probe.changed.turn.answer.passages == probe.base.turn.answer.passages


def test_padding_surrounds_the_answer() -> None:
    """The padded answer holds the right one whole."""
    for probe in of("padding"):
        before, after = said(probe)
        assert before in after
        assert not after.startswith(before)


def a_case(answer: str, question: str = "教えてください", language: Language = "ja") -> Case:
    return Case(id="a", question=question, language=language, references=((answer,),), passages=("p",))


def flips_of(answer: str) -> set[str]:
    """Every flip that an answer gives, over many seeds."""
    passage, language = Passage(id="p", text=answer), language_of(answer)
    made = [
        p for seed in range(12) for p in probes([a_case(answer, language=language)], [passage], seed=seed)
    ]
    return {said(p)[1] for p in made if p.kind == "flipped_fact"}


@pytest.mark.parametrize(
    ("answer", "flipped"),
    [
        ("解約金は4,800円です。", "解約金は9,600円です。"),
        ("返品は１４日以内です。", "返品は２８日以内です。"),
        ("毎月20日までに解約をお申し込みください。", "毎月5日までに解約をお申し込みください。"),
        ("The fee is 40 dollars.", "The fee is 80 dollars."),
        ("Return it within one day, or 1 day.", "Return it within one day, or 3 days."),
    ],
)
def test_figures_are_turned_as_people_would(answer: str, flipped: str) -> None:
    """In their width, with their commas and endings."""
    assert flipped in flips_of(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "「3日以内」ボタンを押してください。",
        "送料の550円はかかりません。",
        "2026年10月請求分から変わります。",
        "E-205は接続の誤りです。",
    ],
)
def test_what_states_nothing_is_left_alone(answer: str) -> None:
    """Quoted labels, denials, years and codes are not flipped."""
    assert flips_of(answer) == set()


def test_a_figure_that_the_passages_do_not_have_is_left_alone() -> None:
    """What cannot be looked up cannot be put wrong."""
    case = a_case("料金は月額980円です。")
    made = probes([case], [Passage(id="p", text="料金は月額です。")])

    assert "flipped_fact" not in {probe.kind for probe in made}
