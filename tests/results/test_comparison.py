"""Did it get better? The verdict over paired runs, and what must hold whatever the runs are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.core.document import Line
from simulator.core.types import Answer, Dispute, Disputed, Ended, Facts, Failure, Rule
from simulator.report.comparison import comparison_report
from simulator.results.comparison import (
    JudgeDifference,
    RunComparison,
    differences,
    is_guarded,
)
from simulator.results.intervals import Floats
from tests.diff_runs import (
    Key,
    a_result,
    a_side,
    compare,
    grades_of,
    side_of,
    with_answers,
    with_cases,
    with_passages,
)
from tests.properties import examples
from tests.texts import said, terminal

Values = Mapping[str, float] | Sequence[float]
GRADE = st.sampled_from([0.2, 0.4, 0.6, 0.8, 1.0])
GRADES = st.dictionaries(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["calm", "angry"]), st.integers(1, 2)),
    st.lists(GRADE, min_size=1, max_size=3),
    min_size=1,
    max_size=14,
)


def compared(before: Values, after: Values, **more: object) -> RunComparison:
    return compare(a_side(grades_of(before)), a_side(grades_of(after), "after", **more))


def row(found: RunComparison, judge: str = "turn") -> JudgeDifference:
    return next(each for each in found.judges if each.judge == judge)


def headline(found: RunComparison) -> tuple[str, str]:
    """The first line of the report, and how it stands out."""
    line = comparison_report(found, "en").sections[0].blocks[0]
    assert isinstance(line, Line)
    return said(line.text), line.tone


@settings(max_examples=examples(25), deadline=None)
@given(GRADES)
def test_a_run_against_itself_is_no_change(grades: dict[Key, list[float]]) -> None:
    """All differences are zero, nothing turned, and it is never a regression."""
    side = a_side(grades)
    found = compare(side, side)

    assert row(found).difference == 0
    assert row(found).interval in (None, (0, 0))
    assert found.verdict in ("no_difference", "not_enough")
    assert not found.regression
    assert (found.turned_red, found.turned_green) == ([], [])


@settings(max_examples=examples(25), deadline=None)
@given(GRADES, GRADES)
def test_swapping_the_runs_negates(one: dict[Key, list[float]], other: dict[Key, list[float]]) -> None:
    """Differences, intervals and verdicts turn round; p stays."""
    a, b = a_side(one), a_side(other, "after")
    there, back = compare(a, b), compare(b, a)
    first, second = row(there), row(back)
    other_way = {"better": "worse", "worse": "better"}

    assert second.verdict == other_way.get(first.verdict, first.verdict)
    assert (first.p, first.pairs) == (second.p, second.pairs)
    assert (there.reds.turned_red, there.reds.p) == (back.reds.turned_green, back.reds.p)
    if first.difference is not None and second.difference is not None:
        assert first.difference == pytest.approx(-second.difference)
    if first.interval and second.interval:
        assert first.interval == pytest.approx((-second.interval[1], -second.interval[0]))


def test_clearly_better_and_clearly_worse() -> None:
    """Twelve cases that all rose, then the same the other way."""
    low, high = [0.4, 0.6] * 6, [0.8, 1.0] * 6
    up, down = compared(low, high), compared(high, low)

    assert (up.verdict, up.regression) == ("better", False)
    assert (down.verdict, down.regression) == ("worse", True)
    assert row(up).interval == pytest.approx((0.4, 0.4))
    assert row(up).p == pytest.approx(2 / 2**12)


def test_little_data_says_nothing() -> None:
    """Five cases, however much they fell."""
    found = compared([1, 1, 0.8, 1, 1], [0.2, 0.4, 0.4, 0.2, 0.2])

    assert found.verdict == "not_enough"
    assert not found.regression
    assert row(found).interval is None
    assert compared([1.0] * 6, [0.2] * 6).verdict == "worse"


def test_repeats_are_averaged() -> None:
    """Three repeats before and one after make one pair."""
    before: dict[Key, list[float]] = {("a", "calm", n): [v] for n, v in enumerate((0.2, 0.4, 0.6), 1)}
    found = row(compare(a_side(before), a_side({("a", "calm", 1): [1.0]}, "after")))

    assert (found.pairs, found.after) == (1, 1.0)
    assert found.before == pytest.approx(0.4)


def test_an_interval_without_zero_that_chance_still_explains_is_no_verdict() -> None:
    """Five cases rose and nothing fell: the interval leaves out 0, the exact test cannot be below 5 %."""
    up = row(compared([0.6] * 12, [1.0] * 5 + [0.6] * 7))

    assert (up.interval or (0, 0))[0] > 0
    assert up.p == pytest.approx(2 / 2**5)
    assert up.verdict == "no_difference"


@pytest.mark.parametrize("tag", ["壊さない", "必須", "Must Not_Break"])
def test_a_case_that_must_not_break_is_a_regression_of_its_own(tag: str) -> None:
    """Green before and red now, however much better the rest became."""
    before = dict.fromkeys("abcdefghijkl", 0.2) | {"z": 0.8}
    after = dict.fromkeys("abcdefghijkl", 1.0) | {"z": 0.6}
    found = compared(before, after, tags={"z": (tag,)})

    assert (found.verdict, found.regression) == ("better", True)
    assert [(b.case, b.turns, b.before) for b in found.broken] == [("z", (("calm/z#1", 1),), "zは0.8です")]
    assert "Before: zは0.8です" in terminal(comparison_report(found, "en"), 120)
    assert found.turned_red[0].later.case.id == "z"


def test_a_guarded_case_that_was_red_before_did_not_break() -> None:
    """Nor does one that the other run lacks, but that is said."""
    tags = {"z": ("必須",), "y": ("必須",)}
    before, after = {"a": 0.8, "z": 0.4}, {"a": 0.8, "z": 0.2, "y": 0.2}
    found = compared(before, after, tags=tags)

    assert (found.broken, found.regression) == ((), False)
    assert (found.guarded, found.unchecked) == (("z", "y"), ("y",))
    assert not is_guarded(("必須項目",))


@pytest.mark.parametrize(
    ("before", "after", "regression"),
    [
        ([0.8] * 12, [1.0] * 12, False),
        ([0.8] * 12, [0.6] + [0.8] * 11, False),
        ([0.8] * 12, [0.6] * 5 + [1.0] * 7, False),
        ([0.8] * 12, [0.6] * 6 + [1.0] * 6, True),
        ([0.6] + [0.8] * 11, [0.8] + [0.6] * 7 + [1.0] * 4, False),
        ([0.6] + [0.8] * 19, [0.8] + [0.6] * 8 + [1.0] * 11, True),
    ],
)
def test_more_red_questions_than_chance_explains_are_a_regression(
    before: list[float], after: list[float], regression: bool
) -> None:
    """Six of six, or eight against one, whatever became of the mean; five of five may be chance."""
    found = compared(before, after)

    assert found.verdict != "worse"
    assert found.regression is regression


def test_another_judge_that_fell_is_named_and_decides_nothing() -> None:
    """Relevance falls in every case, which makes no turn red."""
    one = a_result(grades_of([1.0] * 12), judges=("relevance",)).scores
    other = a_result(grades_of([0.6] * 12), "after", judges=("relevance",)).scores
    runs = a_result(grades_of([0.8] * 12)), a_result(grades_of([0.8] * 12), "after")
    sides = [
        side_of(run.model_copy(update={"scores": (*run.scores, *more)}))
        for run, more in zip(runs, (one, other), strict=True)
    ]
    found = compare(*sides)

    assert tuple(each.judge for each in found.judges) == ("turn", "relevance")
    assert (found.fallen, found.verdict) == (("relevance",), "no_difference")
    assert not found.regression


def test_the_pair_of_numbers_counts_what_both_runs_asked() -> None:
    """A question of one run alone is in neither number; three customers with one question are one."""
    before: dict[Key, list[float]] = {("a", p, 1): [0.2] for p in ("calm", "angry", "novice")}
    before |= {("b", "calm", 1): [1.0], ("only before", "calm", 1): [0.2]}
    after: dict[Key, list[float]] = {
        ("a", "calm", 1): [1.0],
        ("b", "calm", 1): [0.2],
        ("new", "calm", 1): [0.2],
    }
    found = compare(a_side(before), a_side(after, "after")).change

    assert (found.earlier, found.later, found.asked, found.questions) == ("before", "after", 2, (1, 1))
    assert found.score == pytest.approx(((3 * 0.2 + 1) / 4, 0.6))


def test_another_rubric_is_not_comparable() -> None:
    """A fall is no regression then; a case that must not break still is."""
    high, low = [1.0] * 10, [0.4] * 10
    plain = compared(high, low, rubric="r2")
    guarded = compared(high, low, rubric="r2", tags={"case-3": ("必須",)})

    assert (plain.verdict, plain.regression) == ("not_comparable", False)
    assert plain.differing["judges"] == ("turn",)
    assert (row(plain).p, row(plain).pairs) == (None, 10)
    assert guarded.regression
    first, tone = headline(plain)
    assert first == (
        "The scores cannot be compared: Overall did not grade both runs by the same rubric and model."
        " Grade the earlier run again: python run.py grade before --again --judges turn"
    )
    assert tone == "alarm"


@pytest.mark.parametrize(("before", "after", "said_of_it", "tone"), [
    ([0.4] * 12, [0.8] * 12, "score 40 → 80: better (+40 points, 95 % interval +40 to +40).", "good"),
    ([0.8] * 12, [0.4] * 12, "score 80 → 40: worse (−40 points, 95 % interval −40 to −40).", "alarm"),
    ([0.8] * 12, [0.8] * 12, "score 80 → 80: unchanged.", "strong"),
    ([0.8] * 12, [0.8] * 11 + [1.0], "score 80 → 82: no clear change (+1.7 points", "strong"),
    ([0.8] * 5, [1.0] * 5, "A verdict takes at least 6 questions; both runs have 5.", "strong"),
])  # fmt: skip
def test_the_first_line_says_whether_it_got_better(
    before: list[float], after: list[float], said_of_it: str, tone: str
) -> None:
    """With the numbers of both runs; colour is for what can be said."""
    first, shown_as = headline(compared(before, after))

    assert said_of_it in first
    assert shown_as == tone


def test_what_turned_is_listed_with_its_sign() -> None:
    """Three in brief, ten as text; what needs review now comes before what no longer does."""
    before, after = [0.8] * 12 + [0.4, 0.8], [0.4] * 12 + [0.8, 0.8]
    report = comparison_report(compared(before, after, tags={"case-7": ("必須",)}), "en")
    whole, brief = terminal(report, 120), terminal(report, 120, "brief")
    counts = "▲ now need review: 12, ✓ no longer: 1, still: 0, fine in both runs: 1"

    for text, shown, more in ((whole, 10, "2 more"), (brief, 3, "9 more")):
        assert counts in text
        now, _title, no_longer = text.partition("Conversations that no longer need review (1)")
        listed = now.partition("Conversations that now need review (12)")[2]
        assert sum("Calm · case-" in line for line in listed.splitlines()) == shown
        assert more in listed
        assert "case-12" in no_longer
    assert whole.count("▲ Calm ·") == 10
    assert [text.count("  [must not break]") for text in (whole, brief)] == [1, 1]
    assert "▲ Calm · case-7 · answer 1  [must not break]: case-7ですか (80 → 40)" in whole
    assert "[disputed]" not in whole
    assert "Must not break, but now needs review: case-7ですか (case-7)" in whole
    assert whole.count("✓ Calm ·") == 1
    assert "Pairs of the same question and customer: 14." in whole


def test_what_was_cut_off_counts_only_where_it_needs_review() -> None:
    """Of a conversation that a budget ended nobody knows whether it would have been right."""
    before, after = (
        a_result(grades_of([grade] * 3), name) for grade, name in ((0.4, "before"), (0.8, "after"))
    )
    whole, begun, unheld = after.conversations
    cut = [
        begun.model_copy(update={"ended": Ended.BUDGET}),
        unheld.model_copy(update={"ended": Ended.BUDGET, "turns": ()}),
    ]
    shorter = after.model_copy(update={"conversations": (whole, *cut)})
    as_before = shorter.model_copy(update={"scores": before.scores[:2]})

    for results, green, red in ((after, 3, 0), (shorter, 1, 0), (as_before, 0, 2)):
        reds = compare(side_of(before), side_of(results)).reds
        assert (reds.turned_green, reds.still_red, reds.still_green) == (green, red, 0)


def test_behind_the_score_stands_what_a_mean_would_hide() -> None:
    """A question that broke, judges that fell, and more questions to review than chance explains."""
    broke = compared(
        dict.fromkeys("abcdef", 0.8), dict.fromkeys("abcde", 1.0) | {"f": 0.6}, tags={"f": ("必須",)}
    )
    redder = compared([0.8] * 12, [0.6] * 6 + [1.0] * 6)

    assert "Questions that must not break, but now need review: 1." in headline(broke)[0]
    assert headline(redder)[0].endswith(
        "More questions came to need review (6) than ceased to (0), beyond chance (p = 0.031)."
    )
    assert headline(redder)[1] == "alarm"


def test_what_turned_has_both_answers_and_the_reason() -> None:
    """As excerpts in --json, what fell most first; the reason is that of what was red."""
    found = compared([1.0, 0.8, 0.4], [0.2, 0.6, 0.8]).as_json()
    first, second = found["turned_red"]

    assert (first["case"], first["was"], first["became"]) == ("case-0", 1.0, 0.2)
    assert (first["before"], first["after"]) == ("case-0は1です", "case-0は0.2です")
    assert (first["why"], second["case"]) == ("after 0.2", "case-1")
    assert [(turn["case"], turn["why"]) for turn in found["turned_green"]] == [("case-2", "before 0.4")]


def test_what_turned_begins_with_what_must_not_break_then_with_what_changed_most() -> None:
    """An answer without a grade, before or now, changed by nothing: it comes after those that did."""
    high = {"none": 1.0, "little": 0.8, "much": 1.0, "guarded": 0.8}
    low = {"none": 0.2, "little": 0.4, "much": 0.2, "guarded": 0.6}
    tags = {"guarded": ("必須",)}
    good, bad = (a_result(grades_of(values), tags=tags) for values in (high, low))
    unanswered, *others = bad.conversations
    silent = unanswered.turns[0].model_copy(
        update={"answer": Answer(text="", error=Failure(kind="timeout", message="late"))}
    )
    talks = (unanswered.model_copy(update={"turns": (silent,)}), *others)
    bad = bad.model_copy(update={"conversations": talks, "scores": bad.scores[1:]})
    fell, rose = compare(side_of(good), side_of(bad)), compare(side_of(bad), side_of(good))
    guarded = a_result(grades_of(high), tags=dict.fromkeys(high, ("必須",)))
    order = ["guarded", "much", "little", "none"]

    assert [pair.later.case.id for pair in fell.turned_red] == order
    assert [pair.later.case.id for pair in rose.turned_green] == order
    # An answer that never came needs no grade to be seen.
    assert compare(side_of(guarded), side_of(bad)).unseen == ()


def test_a_question_counts_once_however_many_of_its_conversations_turned() -> None:
    """By which way more of them turned; a red turn anywhere makes a conversation one to review."""
    keys: list[Key] = [("a", persona, repeat) for persona in ("calm", "angry") for repeat in (1, 2)]
    good = {("b", "calm", 1): [0.8], ("c", "calm", 1): [0.2]}
    before = {key: [0.8, 0.8] for key in keys} | good
    after = {key: [0.8, 0.2] for key in keys[:3]} | {keys[3]: [0.8, 0.8]} | good
    reds = compare(a_side(before), a_side(after, "after")).reds

    assert (reds.turned_red, reds.turned_green, reds.still_red, reds.still_green) == (3, 0, 1, 2)
    assert (reds.cases_worse, reds.cases_better, reds.p) == (1, 0, 1.0)


def test_the_turn_to_look_at_is_the_one_that_needs_review() -> None:
    """With the answers of both runs at that place, and nothing where one of them was over before."""
    key: Key = ("a", "calm", 1)
    long, short = {key: [0.8, 0.8, 0.2]}, {key: [0.8, 0.8]}
    fell, rose = (
        compare(a_side(one), a_side(other, "after")).as_json()
        for one, other in ((short, long), (long, short))
    )
    (worse,), (better,) = fell["turned_red"], rose["turned_green"]

    assert (worse["turn"], worse["before"], worse["after"]) == (3, "", "aは0.2です")
    assert (better["turn"], better["before"], better["after"]) == (3, "aは0.2です", "")


@pytest.mark.parametrize(("answer", "shown"), [("aは0.8です。", 3), ("はい、できます", 1)])
def test_the_answer_to_the_question_itself_is_shown_where_it_is_another(answer: str, shown: int) -> None:
    """Before the turn that decides, at which the other conversation may have been over."""
    key: Key = ("a", "calm", 1)
    long = with_answers(a_result({key: [0.8, 0.8, 0.2]}, "after"), [answer])
    found = compare(a_side({key: [0.8, 0.8]}), side_of(long))
    (pair,) = found.as_json()["turned_red"]
    text = terminal(comparison_report(found, "en"), 120)

    assert (pair["turn"], pair["shown"]) == (3, shown)
    assert (pair["before"], pair["after"]) == (("aは0.8です", answer) if shown == 1 else ("", "aは0.2です"))
    assert ("Before · Answer 1" in text, "Now · Answer 3" in text) == (shown == 1, True)


def test_what_moved_much_without_a_turn_is_listed_with_the_article_that_was_lost() -> None:
    """From 20 points on, five each way; what is fine, and what needs review, in both runs."""
    before = [1.0] * 2 + [0.6] + [0.8] * 6 + [0.2, 1.0]
    after = [0.8, 0.82, 0.2] + [1.0] * 6 + [0.4, 0.6]
    cases = {case: {"passages": ("fees",)} for case in ("case_0", "case_3")}
    came = [["desk"] if at else ["fees"] for at in range(11)]
    came_now = [["fees"] if at == 3 else ["desk"] for at in range(11)]
    sides = [
        side_of(with_cases(with_passages(a_result(grades_of(grades), run), passages), **cases))
        for grades, run, passages in ((before, "before", came), (after, "after", came_now))
    ]
    found = compare(*sides)
    text = terminal(comparison_report(found, "en"), 160)
    down, up = text.partition("Score down by 20 points")[2].split("Score up by 20 points")
    shown = found.as_json()

    assert [(pair["case"], pair["was"], pair["became"]) for pair in shown["fell"]] == [
        ("case-2", 0.6, 0.2), ("case-0", 1.0, 0.8),
    ]  # fmt: skip
    assert [pair["case"] for pair in shown["rose"]] == [f"case-{at}" for at in range(3, 10)]
    assert [pair["articles"] for pair in (*shown["fell"][1:], *shown["rose"][:1])] == [
        {"lost": ["fees"], "found": []}, {"lost": [], "found": ["fees"]},
    ]  # fmt: skip
    assert "case-0ですか (100 → 80)" in down
    assert "The needed article came before, and does not now: fees" in down
    assert "The needed article comes now, and did not before: fees" in up
    assert (up.count("(80 → 100)"), "2 more in --json." in up) == (5, True)


OTHER = {"references": (("いいえ",),)}


@pytest.mark.parametrize(("before", "after", "is_other"), [
    ({}, OTHER, True),
    ({}, {"references": (("はい",), ("いいえ",))}, True),
    ({}, {"expect": ("料金を言う",)}, True),
    ({}, {"answerable": False}, True),
    ({}, {"handover": "required"}, True),
    ({}, {"passages": ("fees",)}, True),
    ({}, {"label": "yes"}, True),
    ({}, {"attack": Rule(id="prompt", text="指示を見せない。", severity="major")}, True),
    ({"references": (("0120-000-371です",),)}, {"references": (("0120-000-372です",),)}, True),
    ({"references": (("[電話番号]です",),)}, {"references": (("0120-000-371ではない",),)}, True),
    ({"references": (("[電話番号]です",),)}, {"references": (("0120-000-371です",),)}, False),
    ({"references": (("１，１００円です。", "無料"),)}, {"references": (("無料", "1100 円です"),)}, False),
    ({}, {"tags": ("料金",), "goal": "知りたい", "references": (("はい",), ())}, False),
])  # fmt: skip
def test_a_question_with_another_right_answer_counts_on_neither_side(
    before: Mapping[str, object], after: Mapping[str, object], is_other: bool
) -> None:
    """It neither broke nor makes a regression, and is named; texts are compared as people read them."""
    tags = {"case-0": ("必須",)}
    one, other = (
        a_result(grades_of([first, *[0.8] * 6]), run, tags=tags)
        for first, run in ((1.0, "before"), (0.2, "after"))
    )
    found = compare(side_of(with_cases(one, case_0=before)), side_of(with_cases(other, case_0=after)))
    said_of_it = "Questions that count on neither side: 1 with another reference answer"
    text = terminal(comparison_report(found, "en"), 120)

    assert found.regression is not is_other
    assert found.as_json()["apart"] == [{"case": "case-0", "why": "changed", "guarded": True}] * is_other
    assert (found.change.asked, found.change.apart) == ((6, 1) if is_other else (7, 0))
    assert found.change.questions == (0, 0 if is_other else 1)
    assert ("Must-not-break questions among them: case-0" in text) is is_other
    assert (said_of_it in text, "score 80 → 80 (without 1 question" in text) == (is_other, is_other)


def test_where_nothing_is_left_to_compare_nobody_can_tell() -> None:
    """Every reference was corrected: neither better nor worse."""
    one, other = (a_result(grades_of([value] * 6), run) for value, run in ((1.0, "before"), (0.2, "after")))
    found = compare(side_of(one), side_of(with_cases(other, **{f"case_{at}": OTHER for at in range(6)})))

    assert (found.cannot_tell, found.regression) == (True, False)
    assert headline(found) == (
        "Cannot tell whether it got worse. No question is left to compare: all have another reference answer"
        " than before, or one of before an update of the articles.",
        "alarm",
    )


@pytest.mark.parametrize(("before", "is_wide"), [([1.0] * 9 + [0.2] * 3, True), ([0.8] * 11 + [1.0], False)])
def test_that_few_questions_decide_little_is_said_where_the_interval_is_wide(
    before: list[float], is_wide: bool
) -> None:
    """With how many would show how large a change."""
    text = terminal(comparison_report(compared(before, [0.8] * 12), "en"), 160)

    assert ("12 questions decide little, about 70 would show a change of 20 points." in text) is is_wide
    assert ("Tag what must not go wrong must-not-break." in text) is is_wide


def test_a_conversation_is_disputed_where_people_dispute_all_of_it() -> None:
    """One red answer that nobody disputes is enough to look at it."""
    (pair,) = compare(
        a_side({("a", "calm", 1): [0.8]}), a_side({("a", "calm", 1): [0.2]}, "after")
    ).turned_red
    (red,) = pair.became
    dispute = Dispute(key="k", run="before", language="ja", line="質問", answer="答え", objection="違う")
    disputed = replace(red, dispute=Disputed(dispute=dispute, is_same=True))

    assert pair._replace(became=(disputed, disputed)).disputed
    assert not pair._replace(became=(disputed, red)).disputed


def test_conversations_are_paired_by_who_plays() -> None:
    """Each of several models with itself; beside a run with one model, those of that or of the first."""
    grades: dict[Key, list[float]] = {(f"c{n}", "calm", 1): [0.8] for n in range(6)}
    one = a_result(grades)
    several = one.model_copy(
        update={
            "run": one.run.model_copy(update={"id": "after", "models": {"user": "x, m", "judge": "m"}}),
            "conversations": [
                c.model_copy(update={"id": f"{model}/{c.id}", "user_model": model, "ended": None})
                for c in one.conversations
                for model in ("m", "x")
            ],
        }
    )
    alone, both = (RunComparison(side_of(first), side_of(several)) for first in (one, several))

    assert len(alone.pairs) == 6
    assert {pair.later.user_model for pair in alone.pairs} == {"m"}
    assert len(both.pairs) == 12


def test_what_makes_runs_hard_to_compare_is_said() -> None:
    """Settings, wording, what only one run has; what was changed in the bot is no caution.

    Nor does a customer say the same who knows other facts, or whose lines of `--script` were changed.
    """
    scripted = a_result(grades_of([0.8] * 4), turns=3, set={"top": "1"})
    prompts = {"user:calm": "p", "script": "a"}
    one = side_of(scripted.model_copy(update={"run": scripted.run.model_copy(update={"prompts": prompts})}))
    grades = grades_of([0.8] * 6)
    result = a_result(grades, "after", turns=5, set={"top": "4"})
    conversation = result.conversations[0]
    asked = conversation.case.model_copy(update={"question": "別の質問"})
    talks = (conversation.model_copy(update={"case": asked}), *result.conversations[1:])
    changed = {"status": "stopped", "prompts": {**prompts, "script": "b"}}
    stopped = result.run.model_copy(update=changed)
    other = result.model_copy(update={"conversations": talks, "run": stopped})
    other = with_cases(other, case_1={"facts": Facts(knows=("3階に住む",))})
    found = compare(one, side_of(other))

    assert found.differing == {
        "judges": (),
        "models": (),
        "settings": ("turns", "script"),
        "questions": ("case-0", "case-1"),
    }
    assert found.unpaired == (0, 2)
    assert [run.run for run in found.cut_short] == ["after"]
    assert found.changed == {"top": ("1", "4")}


def test_bots_without_a_change_seldom_raise_an_alarm() -> None:
    """At most 5 % of 200 comparisons of equal bots, over cases of their own difficulty."""
    random, alarms = np.random.default_rng(7), 0
    for _ in range(200):
        hard = random.uniform(0.3, 0.9, size=12)
        pairs = {"turn": [(f"case-{at}", *each) for at, each in enumerate(_graded_twice(random, hard))]}
        alarms += differences(pairs, seed=1)[0].verdict == "worse"

    assert alarms <= 10


def _graded_twice(random: np.random.Generator, hard: Floats) -> list[tuple[float, float]]:
    """The grades that one bot gets in two runs, in fifths."""
    runs = [np.clip(np.round((hard + random.normal(0, 0.2, len(hard))) * 5) / 5, 0.2, 1) for _ in range(2)]
    return [(float(a), float(b)) for a, b in zip(*runs, strict=True)]
