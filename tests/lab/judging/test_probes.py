"""Generated pairs differ in exactly what they promise, in good Japanese and English."""

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
def test_a_flip_changes_one_fact_and_nothing_else(seed: int) -> None:
    """Question, case and passages stay; the words around the flipped ones stay, but for an unfit opening."""
    openings = ("恐れ入りますが、", "はい、", "I am sorry, but ", "Yes, ")
    for probe in of("flipped_fact", all_probes(seed)):
        before, after = said(probe)
        start = next((o for o in openings if before.startswith(o) and not after.startswith(o)), "")
        one, other = before.removeprefix(start).casefold(), after.casefold()
        head = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))

        assert before != after
        assert probe.changed.turn.user == probe.base.turn.user
        assert probe.changed.case == probe.base.case
        assert probe.changed.turn.answer.passages == probe.base.turn.answer.passages
        assert head > 0 or start or one[-4:] == other[-4:]
        assert one[-1] == other[-1]
        assert (probe.expects, probe.bound) == ("falls", 2)


FIGURES = {"amount", "date", "days"}


def test_a_flipped_figure_was_in_the_passages_and_its_new_value_is_not() -> None:
    """One figure goes, one that no passage and no question has comes, in the same unit and formatting."""
    figures = [probe for probe in of("flipped_fact") if probe.sort in FIGURES]
    assert len(figures) > 50
    for probe in figures:
        before, after = (numbers_in(text) for text in said(probe))
        come = after - before

        assert come
        assert not come <= numbers_in(passages(probe))


def test_padding_surrounds_the_answer() -> None:
    """The padded answer holds the right one whole."""
    for probe in of("padding"):
        before, after = said(probe)
        assert before in after
        assert not after.startswith(before)


def a_case(answer: str, question: str = "教えてください", language: Language = "ja") -> Case:
    return Case(id="a", question=question, language=language, references=((answer,),), passages=("p",))


def flips_of(answer: str) -> dict[str, str]:
    """Every sort of flip that an answer gives, over many seeds."""
    passage, language = Passage(id="p", text=answer), language_of(answer)
    made = [
        p for seed in range(12) for p in probes([a_case(answer, language=language)], [passage], seed=seed)
    ]
    return {p.sort: said(p)[1] for p in made if p.kind == "flipped_fact"}


@pytest.mark.parametrize(
    ("answer", "sort", "flipped"),
    [
        ("マイページから変更できます。", "ability", "マイページから変更できません。"),
        ("恐れ入りますが、お電話では変更できません。", "ability", "お電話では変更できます。"),
        ("はい、マイページから変更できます。", "ability", "マイページから変更できません。"),
        ("再発行の手数料は無料です。", "fee", "再発行の手数料は有料です。"),
        ("再発行の手数料はかかりません。", "fee", "再発行の手数料がかかります。"),
        ("お申し込みには、印鑑が必要です。", "need", "お申し込みには、印鑑は不要です。"),
        ("SIMカードの返却は不要です。", "need", "SIMカードの返却が必要です。"),
        ("代理人によるお申し込みは不可です。", "allowed", "代理人によるお申し込みは可能です。"),
        ("毎月20日までに解約をお申し込みください。", "order", "毎月20日以降に解約をお申し込みください。"),
        ("You can change it in My Page.", "ability", "You cannot change it in My Page."),
        ("I am sorry, but a purchase cannot be cancelled.", "ability", "A purchase can be cancelled."),
        ("There is no early termination fee.", "there_is", "There is an early termination fee."),
        ("The extra fee does not apply.", "applies", "The extra fee applies."),
        ("The change is free.", "fee", "The change is not free."),
        ("You do not need to return the cable.", "need", "You need to return the cable."),
        ("Please cancel by the 20th.", "order", "Please cancel after the 20th."),
    ],
)
def test_sentences_are_turned_as_people_would(answer: str, sort: str, flipped: str) -> None:
    """Particles, articles, endings and openings follow the turned verb."""
    assert flips_of(answer)[sort] == flipped


@pytest.mark.parametrize(
    "answer",
    [
        "「解約できます」ボタンを押してください。",
        "If you cannot log in, please wait.",
        "2026年10月請求分から変わります。",
        "E-205は接続の誤りです。",
    ],
)
def test_what_states_nothing_is_left_alone(answer: str) -> None:
    """Quoted labels, conditions, years and codes are not flipped."""
    assert flips_of(answer) == {}


def test_a_figure_that_the_passages_do_not_have_is_left_alone() -> None:
    """What cannot be looked up cannot be put wrong."""
    case = a_case("料金は月額980円です。")
    made = probes([case], [Passage(id="p", text="料金は月額です。")])

    assert "amount" not in {probe.sort for probe in made}
