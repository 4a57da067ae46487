"""What an update of the articles moved: facts followed from article to answer, and the traps beside them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks import drill
from simulator.core.types import (
    Answer,
    Case,
    Passage,
    Response,
    Results,
    StoredArticle,
    Turn,
)
from simulator.report.comparison import comparison_report
from simulator.results.article_changes import article_changes, fact_changes
from simulator.results.comparison import RunComparison
from simulator.results.update import Fate, Update
from tests.diff_runs import a_result, side_of
from tests.texts import terminal

FEES = "# Fees\nThe plan costs 1,100 yen a month. Late payments cost 300 yen."
DESK = "# Desk\nThe desk is open until 18:00. You can cancel online at any time."
BEFORE = {"fees": FEES, "desk": DESK}


class Said(NamedTuple):
    """A question in one run: the answer, the articles that came with their texts, and how it was graded."""

    answer: str
    came: Mapping[str, str] = {}
    value: float = 1.0
    response: Response = "answered"


def a_run(
    articles: Mapping[str, str],
    said: Mapping[str, Said],
    cases: Mapping[str, Mapping[str, Any]],
    name: str,
    offline: bool,
) -> Results:
    """A run of a bot with these articles, in which a model judged unless it is `offline`."""
    base = a_result({(case, "calm", 1): [row.value] for case, row in said.items()}, name)
    run = base.run.model_copy(update={"offline": offline})
    talks = []
    for talk, row in zip(base.conversations, said.values(), strict=True):
        id_ = talk.case.id
        case = Case(id=id_, **{"question": f"{id_}?", "language": "en", **cases.get(id_, {})})
        passages = tuple(Passage(id=id_, text=text) for id_, text in row.came.items())
        turn = Turn(index=1, user=case.question, answer=Answer(text=row.answer, passages=passages))
        talks.append(talk.model_copy(update={"case": case, "turns": (turn,)}))
    scores = (
        score.model_copy(update={"response": row.response})
        for score, row in zip(base.scores, said.values(), strict=True)
    )
    stored = tuple(StoredArticle.of(id_, id_, text) for id_, text in articles.items())
    return base.model_copy(
        update={"run": run, "conversations": tuple(talks), "scores": tuple(scores), "articles": stored}
    )


def compared(
    after: Mapping[str, str],
    said: Mapping[str, tuple[Said, Said]],
    before: Mapping[str, str] = BEFORE,
    *,
    offline: bool = False,
    **cases: Mapping[str, Any],
) -> RunComparison:
    """Both runs compared: what each question was answered before and after."""
    sides = [
        side_of(
            a_run(articles, {case: pair[at] for case, pair in said.items()}, cases, name, offline=offline)
        )
        for at, (articles, name) in enumerate(((before, "before"), (after, "after")))
    ]
    return RunComparison(*sides)


def updated(after: Mapping[str, str], said: Mapping[str, tuple[Said, Said]], **cases: Any) -> Update:
    """What the update moved."""
    update = compared(after, said, **cases).update
    assert update
    return update


def fates(update: Update) -> dict[str, Fate]:
    """What became of each question."""
    return {question.case: question.fate for question in update.questions if question.fate != "reference"}


NEW_FEES = FEES.replace("1,100", "1,300")
PRICE = {"question": "What does the plan cost a month?", "passages": ("fees",)}


@pytest.mark.parametrize("id_", ["fees", "kb-17"])
def test_an_answer_with_the_new_fact_moved_and_one_with_the_old_is_stale_for_certain(id_: str) -> None:
    """The old sentence is quoted beside the new one; a text of before that was retrieved proves it."""
    after = {**BEFORE, "fees": NEW_FEES}
    moved = updated(
        after,
        {"price": (Said("It is 1,100 yen.", {id_: FEES}), Said("It is 1,300 yen.", {id_: NEW_FEES}))},
        price=PRICE,
    )  # fmt: skip
    assert [(change.id, change.kind) for change in moved.changes] == [("fees", "changed")]
    assert moved.as_json()["passages"] == {"old": 0, "new": 1}
    assert moved.as_json()["comparable"]
    assert fates(moved) == {"price": "moved"}
    assert not moved.regression
    old = Said("It is 1,100 yen.", {id_: FEES}, value=0.2)
    stale = updated(after, {"price": (old, old)}, price=PRICE)
    (question,) = stale.of("stale")
    assert question.certain
    assert "1,100" in question.old
    assert "1,300" in question.new
    assert stale.regression


def test_a_reference_that_was_corrected_with_its_article_hides_neither_what_moved_nor_what_is_stale() -> None:
    """The question counts on neither side, and what became of its answer is said all the same."""
    old, new = ({**PRICE, "references": ((f"It costs {price} yen.",),)} for price in ("1,100", "1,300"))
    before = {"price": Said("It is 1,100 yen.", {"fees": FEES})}
    after = {**BEFORE, "fees": NEW_FEES}
    for came, price, fate in ((NEW_FEES, "1,300", "moved"), (FEES, "1,100", "stale")):
        now = {"price": Said(f"It is {price} yen.", {"fees": came}, value=1.0 if fate == "moved" else 0.2)}
        one = a_run(BEFORE, before, {"price": old}, "before", offline=False)
        result = RunComparison(
            side_of(one), side_of(a_run(after, now, {"price": new}, "after", offline=False))
        )
        assert result.update
        assert fates(result.update) == {"price": fate}
        assert result.as_json()["apart"] == [{"case": "price", "why": "changed", "guarded": False}]
        assert result.regression is (fate == "stale")


@pytest.mark.parametrize(("now", "is_other"), [("parcels", False), ("old", False), ("desk", True)])
def test_an_article_that_only_has_another_id_makes_no_other_question(now: str, is_other: bool) -> None:
    """Whether the column of needed articles was corrected or not."""
    words = "Parcels leave our store on the day of the order. They arrive within two days anywhere in Japan."
    same = {"when": Said("Within two days.")}
    sides = (
        side_of(a_run({**BEFORE, id_: words}, same, {"when": {"passages": (named,)}}, name, offline=False))
        for id_, named, name in (("old", "old", "before"), ("parcels", now, "after"))
    )
    assert bool(RunComparison(*sides).apart) is is_other


def test_a_figure_that_the_answer_had_all_along_is_not_the_new_fact() -> None:
    """The new price was the fee for late payments before: an answer that has not changed is stale."""
    same = Said("It is 1,100 yen. Late payments cost 300 yen.", {"fees": FEES}, value=0.2)
    update = updated({**BEFORE, "fees": FEES.replace("1,100", "300")}, {"price": (same, same)}, price=PRICE)
    assert fates(update) == {"price": "stale"}


@pytest.mark.parametrize(("text", "is_other"), [
    ("# Desk\nCall [phone number] until 18:00.", False), ("# Desk\nCall [phone number] until 20:00.", True),
])  # fmt: skip
def test_an_article_that_only_one_of_the_runs_masks_was_not_changed(text: str, is_other: bool) -> None:
    """A mask stands for any text; what stands around it counts."""
    before = {**BEFORE, "desk": "# Desk\nCall 0120-000-371 until 18:00."}
    same = Said("fine"), Said("fine")
    for there, then in (({**before, "desk": text}, before), (before, {**before, "desk": text})):
        assert bool(compared(there, {"hours": same}, then).update) is is_other


def test_an_index_that_was_never_made_anew_is_said_first_and_is_a_regression() -> None:
    """Its answers have not changed at all, which looks like nothing happened."""
    same = Said("Until 18:00.", {"fees": FEES, "desk": DESK})
    result = compared({**BEFORE, "fees": NEW_FEES}, {"hours": (same, same)}, hours={"passages": ("desk",)})
    assert result.update
    assert result.update.index_is_old
    assert result.regression


@pytest.mark.parametrize(
    ("question", "answer", "passages"),
    [
        # Another fact of the changed article.
        ("What does a late payment cost?", "Late payments cost 300 yen.", ("fees",)),
        # The old figure, right elsewhere.
        ("What does a SIM card cost?", "A SIM card costs 1,100 yen.", ("sim",)),
        ("How much is a SIM card?", "1,100 yen.", ()),
        # The old figure, in an answer to a question that needs another article.
        ("Until when is the desk open?", "Until 18:00. The plan: 1,100 yen.", ("desk",)),
    ],
)
def test_what_the_update_does_not_concern_is_not_called_stale(
    question: str, answer: str, passages: Sequence[str]
) -> None:
    """Neither another fact of a changed article, nor the old figure where it is still right."""
    sim = "# SIM cards\nA SIM card costs 1,100 yen."
    before, after = {**BEFORE, "sim": sim}, {**BEFORE, "sim": sim, "fees": NEW_FEES}
    came = Said(answer, {"fees": NEW_FEES, "sim": sim})
    case = {"question": question, "passages": passages, "references": ((answer,),)}
    update = compared(after, {"other": (came, came)}, before, other=case).update
    assert update
    assert update.questions == ()


@pytest.mark.parametrize(
    ("answer", "concerned"),
    [("Another plan costs 1,100 yen.", False), ("The plan costs 1,100 yen a month.", True)],
)
def test_an_article_that_a_question_does_not_need_counts_where_its_old_sentence_is_repeated(
    answer: str, concerned: bool
) -> None:
    """The old text was retrieved: a figure that it has may be said of anything."""
    said = Said(answer, {"fees": FEES})
    case = {"question": "Until when is the desk open?", "passages": ("desk",)}
    update = updated({**BEFORE, "fees": NEW_FEES}, {"hours": (said, said)}, hours=case)
    assert [question.certain for question in update.of("stale")] == [True] * concerned


BALANCE = "To close it, the account balance must be $25."
TWICE = {"savings": f"# Savings accounts\n{BALANCE}", "checking": f"# Checking accounts\n{BALANCE}"}


@pytest.mark.parametrize(
    ("passages", "concerned"), [(("checking",), False), (("savings",), True), ((), False)]
)
def test_a_sentence_that_another_article_has_still_is_stale_only_where_the_changed_one_is_named(
    passages: Sequence[str], concerned: bool
) -> None:
    """Two articles had the same sentence and one was changed: the articles that the question names decide."""
    after = {**TWICE, "savings": TWICE["savings"].replace("$25", "$75")}
    said = Said(BALANCE, {"checking": TWICE["checking"], "savings": after["savings"]})
    case = {"question": "What must be in it?", "passages": passages, "references": ((BALANCE,),)}
    update = compared(after, {"asked": (said, said)}, TWICE, asked=case).update
    assert update
    assert (fates(update), len(update.of("reference"))) == (({"asked": "stale"}, 1) if concerned else ({}, 0))


def test_a_sentence_of_another_article_proves_nothing() -> None:
    """The old text was retrieved, but the sentence came from the article that has it still."""
    old = {**TWICE, "savings": TWICE["savings"] + "\nIt is closed after 30 days."}
    new = {**old, "savings": old["savings"].replace("$25", "$75").replace("30", "60")}
    said = Said(BALANCE, {"savings": "It is closed after 30 days.", "checking": TWICE["checking"]})
    case = {"question": "What must be in it?", "passages": ("savings",)}
    update = compared(new, {"asked": (said, said)}, old, asked=case).update
    assert update
    (question,) = update.of("stale")
    assert not question.certain


@pytest.mark.parametrize(
    ("reference", "after"),
    [
        ("It costs 1,100 yen.", {"fees": NEW_FEES}),
        ("That makes 13,200 yen a year.", {"fees": NEW_FEES}),
        ("Together 1,400 yen with the late payment.", {"fees": NEW_FEES}),
        ("Yes, you can cancel online.", {"desk": DESK.replace("can cancel", "cannot cancel")}),
        ("Yes.", {"desk": DESK.replace("can cancel", "cannot cancel")}),
        ("It costs 1,100 yen.", {"fees": None}),
        # One of two articles is gone, and the other one says something else.
        ("It is open until 18:00.", {"fees": None, "desk": DESK.replace("18:00", "20:00")}),
    ],
)
def test_a_reference_of_before_the_update_is_named_and_counts_on_neither_side(
    reference: str, after: Mapping[str, str | None]
) -> None:
    """The fact itself, a multiple, a sum, a yes that became a no, an article that is gone."""
    articles = {id_: text for id_, text in {**BEFORE, **after}.items() if text}
    case = {
        "question": "What does the plan cost?" if "fees" in after else "Can I cancel online at any time?",
        "passages": tuple(after),
        "references": ((reference,),),
    }
    right_now = Said("Something else.", value=0.2)
    fine = {f"q{n}": (Said("fine"), Said("fine")) for n in range(6)}
    result = compared(articles, {"asked": (Said("fine"), right_now), **fine}, asked=case)
    assert result.update
    (named,) = result.update.of("reference")
    assert (named.case, named.answer) == ("asked", reference)
    assert result.change.asked == 6
    assert result.change.questions == (0, 0)
    assert not result.regression


@pytest.mark.parametrize(
    ("expected", "is_old"),
    [("The bot names the fee of 1,100 yen.", True), ("The bot names the late payment of 300 yen.", False)],
)
def test_an_expectation_of_before_the_update_is_named_as_a_reference_is(expected: str, is_old: bool) -> None:
    """What the bot is expected to say is of before the update where it has the old fact, and only then."""
    update = updated(
        {**BEFORE, "fees": NEW_FEES},
        {"price": (Said("1,100 yen"), Said("1,300 yen"))},
        price={**PRICE, "expect": ("The bot is polite.", expected)},
    )
    assert [row.answer for row in update.of("reference")] == [expected] * is_old


@pytest.mark.parametrize(
    "reference",
    [
        "It costs 1,300 yen, and no longer 1,100 yen.",
        "With the late payment it is 1,600 yen, and no longer 1,400 yen.",
    ],
)
def test_a_reference_that_has_the_new_fact_is_none_to_be_fixed(reference: str) -> None:
    """Whoever corrected the questions with the articles is not told to."""
    update = updated(
        {**BEFORE, "fees": NEW_FEES},
        {"price": (Said("1,100 yen"), Said("1,300 yen"))},
        price={**PRICE, "references": ((reference,),)},
    )
    assert not update.of("reference")


@pytest.mark.parametrize(
    ("reference", "is_old"),
    [
        ("That makes 13,200 yen a year.", True),
        ("That makes 13,200 dollars a year.", False),
        ("That makes 14,300 yen for thirteen months.", False),
        ("A card costs 5,500 yen.", False),
    ],
)
def test_only_a_multiple_or_sum_that_stands_nowhere_was_worked_out(reference: str, is_old: bool) -> None:
    """Twelve times the old price; in another currency, thirteen times, or written elsewhere, it was not."""
    card = "# Cards\nA card costs 5,500 yen."
    same = Said("fine"), Said("fine")
    update = compared(
        {"fees": NEW_FEES, "card": card},
        {"price": same},
        {"fees": FEES, "card": card},
        price={**PRICE, "references": ((reference,),)},
    ).update
    assert update
    assert bool(update.of("reference")) is is_old


@pytest.mark.parametrize(("before", "now", "moved"), [
    ("Yes.", "No.", 1), ("No.", "No.", 0), ("Yes.", "Yes.", 0),
    ("Yes, you can cancel online.", "No, you cannot cancel online at any time.", 1),
])  # fmt: skip
def test_an_answer_that_denies_what_the_article_denies_now_has_moved(
    before: str, now: str, moved: int
) -> None:
    """In a word or in a sentence, where it did not say so before."""
    asked = {"passages": ("desk",), "question": "Can I cancel online at any time?"}
    denied = {"desk": DESK.replace("can cancel", "cannot cancel")}

    assert len(updated(denied, {"cancel": (Said(before), Said(now))}, cancel=asked).of("moved")) == moved


def test_a_reference_holds_where_the_update_is_about_something_else() -> None:
    """A yes to another question about the article, and one of two articles that is there still."""
    denied = DESK.replace("can cancel", "cannot cancel")
    asked = {"passages": ("desk",), "references": (("Yes.",),), "question": "Is the desk open at noon?"}
    both = {"passages": ("fees", "desk"), "references": (("Late payments cost 300 yen.",),)}
    same = Said("fine"), Said("fine")
    update = updated({"desk": denied}, {"noon": same, "late": same}, noon=asked, late=both)
    assert not update.of("reference")


def test_articles_are_followed_by_their_content() -> None:
    """Renamed, split, only reworded, withdrawn and added; ids that name nothing any more are named.

    A phrase that every article has tells nothing, nor does a sentence or two of many.
    """
    desk = "Call us on weekdays, from morning to evening, for anything else that you would like to know."
    words = "Parcels leave our store on the day of the order. They arrive within two days anywhere in Japan."
    gifts = "Gift boxes are free of charge. We write a card in your words, and add no invoice to the parcel."
    before = {
        **BEFORE,
        "a": f"# Parcels\n{words} {desk}",
        "b": f"# Gifts\n{gifts}",
        "c": f"# Ink\nInk is sold in blue. It dries within a minute and washes out of most clothes. {desk}",
    }
    first, second = gifts.split(". ", 1)
    after = {
        "fees": FEES.replace("a month", "each month"),
        "desk": DESK,
        "parcels": f"# Parcels\n{words} {desk}",
        "b1": f"# Gifts\n{first}.",
        "b2": f"# Gifts\n{second}",
        "pens": f"# Pens\nOur pens are made of cherry wood from Gifu. Ink is sold in blue. {desk}",
    }
    stored = [[StoredArticle.of(id_, "", text) for id_, text in side.items()] for side in (before, after)]
    kinds = {change.id: (change.kind, change.now) for change in article_changes(*stored)}
    assert kinds == {
        "fees": ("reworded", ("fees",)),
        "a": ("renamed", ("parcels",)),
        "b": ("split", ("b1", "b2")),
        "c": ("withdrawn", ()),
        "pens": ("added", ("pens",)),
    }
    said = Said("They arrive within two days anywhere in Japan.", {"parcels": after["parcels"]})
    update = compared(after, {"when": (said, said)}, before, when={"passages": ("a",)}).update
    assert update
    assert update.unknown == {"a": ("parcels",)}
    assert update.questions == ()


def test_what_another_article_took_in_or_gave_away_is_followed() -> None:
    """Neither gone nor new: its sentences stand in the other one."""
    gifts = "Gift boxes are free of charge. We write a card in your words, and add no invoice to the parcel."
    parted, joined = (
        [StoredArticle.of(id_, "", text) for id_, text in side.items()]
        for side in ({"desk": DESK, "gifts": gifts}, {"desk": f"{DESK} {gifts}"})
    )
    taken_in, given_away = article_changes(parted, joined), article_changes(joined, parted)
    assert [(c.id, c.kind, c.now) for c in taken_in] == [
        ("desk", "changed", ("desk",)),
        ("gifts", "renamed", ("desk",)),
    ]
    assert [(c.id, c.kind, c.now) for c in given_away] == [("desk", "split", ("desk", "gifts"))]


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        # Eight signs tell something, fewer stand in many texts; a figure tells whatever stands around it.
        ("Fees are due.", "Fees are due. Open now.", ["Open now."]),
        ("Fees are due.", "Fees are due. Open it.", []),
        ("Fees are due.", "Fees are due. At 9:30.", ["At 9:30."]),
        # Other sentences went and came: they may say the same.
        ("Ink is sold in blue here.", "Our pens are made of cherry wood.", []),
        ("Ink is sold in blue here.", "Our pens weigh 20 g.", ["Our pens weigh 20 g."]),
        # One sentence in two wordings is a pair.
        ("Late payments cost 300 yen a month.", "Late payments cost nothing a month.", []),
    ],
)
def test_a_sentence_that_only_one_text_has_is_told_where_it_says_something(
    one: str, other: str, told: Sequence[str]
) -> None:
    """Whether it came or went."""
    assert [change.new for change in fact_changes(one, other) if not change.old] == told
    assert [change.old for change in fact_changes(other, one) if not change.new] == told


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("Late payments cost 300 yen a month.", "Late payments cost nothing a month.", True),
        ("You can cancel online at any time.", "You cannot cancel online at any time.", True),
        ("Late payments cost 300 yen a month.", "Late payments cost 300 yen each month.", False),
    ],
)
def test_of_one_sentence_in_two_wordings_the_facts_are_told(one: str, other: str, differs: bool) -> None:
    """Also where only one of them has a figure, or denies what the other says."""
    for old, new in ((one, other), (other, one)):
        changes = [(change.old, change.new) for change in fact_changes(old, new)]
        assert changes == ([(old, new)] if differs else [])


def test_of_an_article_that_only_came_or_went_its_telling_sentences_are_named() -> None:
    """With the facts of each; what is shorter than eight signs stands in many texts."""
    article = StoredArticle.of("pens", "Pens", "Hello. Open now. Open now. Pens cost 300 yen.")
    (added,), (withdrawn,) = article_changes([], [article]), article_changes([article], [])
    sentences = [("Open now.", frozenset[str]()), ("Pens cost 300 yen.", frozenset({"300円"}))]

    assert [(fact.old, fact.new, fact.came) for fact in added.facts] == [("", s, f) for s, f in sentences]
    assert not any(fact.denied for fact in (*added.facts, *withdrawn.facts))
    assert [(fact.old, fact.gone, fact.new) for fact in withdrawn.facts] == [(s, f, "") for s, f in sentences]


@pytest.mark.parametrize(
    ("index", "line", "fate"),
    [
        (2, "And in May?", {"price": "moved"}),
        (2, "Do you deliver?", {}),
        (1, "Tell me the price!", {"price": "moved"}),
    ],
)
def test_a_later_answer_moved_where_it_answers_the_same_line(
    index: int, line: str, fate: Mapping[str, Fate]
) -> None:
    """To something else it may well say something else; the first line is the question, however put."""
    fine = {"price": Said("Fine.", {"fees": FEES})}
    sides = []
    for articles, name, said, answer in (
        (BEFORE, "before", "And in May?", "It is 1,100 yen."),
        ({**BEFORE, "fees": NEW_FEES}, "after", line, "It is 1,300 yen."),
    ):
        run = a_run(articles, fine, {"price": PRICE}, name, offline=False)
        (talk,) = run.conversations
        turns = (*talk.turns[: index - 1], Turn(index=index, user=said, answer=Answer(text=answer)))
        talks = (talk.model_copy(update={"turns": turns}),)
        sides.append(side_of(run.model_copy(update={"conversations": talks})))
    update = RunComparison(*sides).update
    assert update
    assert fates(update) == fate


@pytest.mark.parametrize(
    ("after", "answer", "fate"),
    [
        ({"fees": NEW_FEES, "desk": DESK}, "It depends on the plan.", {}),
        ({"desk": DESK}, "It depends on the plan.", {"price": "moved"}),
        ({"fees": NEW_FEES, "desk": DESK}, "It is 1,300 yen.", {"price": "moved"}),
    ],
)
def test_an_answer_without_the_old_fact_moved_where_the_new_one_or_none_took_its_place(
    after: Mapping[str, str], answer: str, fate: Mapping[str, Fate]
) -> None:
    """Of an article that is gone there is no new fact to be said."""
    both = Said("It is 1,100 yen.", {"fees": FEES}), Said(answer)
    assert fates(updated(after, {"price": both}, price=PRICE)) == fate


def test_a_withdrawn_article_is_a_finding_where_it_is_quoted_and_not_where_it_only_came() -> None:
    """Retrieved is not quoted."""
    came = {"fees": FEES, "desk": DESK}
    quoted, other = Said("The plan costs 1,100 yen a month.", came), Said("Until 18:00.", came)
    update = updated(
        {"desk": DESK}, {"price": (quoted, quoted), "hours": (other, other)},
        price=PRICE, hours={"passages": ("desk",)},
    )  # fmt: skip
    assert fates(update) == {"price": "withdrawn"}


def test_a_figure_of_a_withdrawn_article_may_be_right_by_another_one() -> None:
    """The price stands in an article that came for the question."""
    sim = "# SIM cards\nA SIM card costs 1,100 yen."
    said = Said("It is 1,100 yen.", {"sim": sim})
    update = compared(
        {"desk": DESK, "sim": sim}, {"price": (said, said)}, {**BEFORE, "sim": sim}, price=PRICE
    )
    assert update.update
    assert fates(update.update) == {}


def test_a_new_article_answers_what_was_unanswerable() -> None:
    """The case is marked as unanswerable: that mark is of before the update."""
    pens = "# Pens\nOur pens are made of cherry wood from Gifu."
    update = updated(
        {**BEFORE, "pens": pens},
        {
            "pens": (
                Said("I do not know.", response="declined"),
                Said("Our pens are made of cherry wood from Gifu.", {"pens": pens}, value=0.2),
            )
        },
        pens={"answerable": False},
    )
    assert [(row.case, row.answer) for row in update.of("reference")] == [("pens", "")]
    assert fates(update) == {"pens": "moved"}


@pytest.mark.parametrize(("before", "fate"), [("declined", {"pens": "moved"}), ("answered", {})])
def test_only_what_could_not_be_answered_moved_to_a_new_article(
    before: Response, fate: Mapping[str, Fate]
) -> None:
    """An answer that was given before is no other one because a new article says it, too."""
    pens = "# Pens\nOur pens are made of cherry wood from Gifu."
    now = Said("Our pens are made of cherry wood from Gifu.", {"pens": pens})
    update = updated({**BEFORE, "pens": pens}, {"pens": (Said("Of wood.", response=before), now)})
    assert fates(update) == fate


def test_of_a_withdrawn_article_that_did_not_come_words_alone_prove_nothing() -> None:
    """It came in the earlier run, and the question does not name it."""
    said = "The plan costs 1,100 yen a month."
    update = updated(
        {"desk": DESK},
        {"price": (Said(said, {"fees": FEES}), Said(said))},
        price={"question": PRICE["question"]},
    )
    assert not update.of("withdrawn")


@pytest.mark.parametrize(
    ("value", "reference", "offline", "is_stale"),
    [
        (1.0, "It costs 1,300 yen.", False, False),
        (0.2, "It costs 1,300 yen.", False, True),
        (1.0, "It costs 1,300 yen.", True, True),
        (1.0, "It depends on the plan.", False, True),
    ],
)
def test_the_judge_has_the_last_word(value: float, reference: str, offline: bool, is_stale: bool) -> None:
    """An answer that a model found right by a reference with the new fact is not stale."""
    said = Said("Since May it is no longer 1,100 yen but thirteen hundred.", {"fees": NEW_FEES}, value)
    update = updated(
        {**BEFORE, "fees": NEW_FEES},
        {"price": (Said("1,100 yen"), said)},
        offline=offline,
        price={**PRICE, "references": ((reference,),)},
    )
    assert bool(update.of("stale")) is is_stale


@pytest.mark.parametrize(
    ("value", "response", "fate"),
    [
        (0.2, "answered", {"hours": "strayed"}),
        (1.0, "declined", {"hours": "strayed"}),
        (1.0, "answered", {}),
    ],
)
def test_what_changed_although_nothing_of_its_own_did_is_named(
    value: float, response: Response, fate: Mapping[str, Fate]
) -> None:
    """A question about an article that is as it was, whose answer turned red or does something else."""
    came = {"desk": DESK}
    update = updated(
        {**BEFORE, "fees": NEW_FEES},
        {"hours": (Said("Until 18:00.", came), Said("I do not know.", came, value, response))},
        hours={"question": "Until when is the desk open?", "passages": ("desk",)},
    )
    assert fates(update) == fate
    assert not update.regression
    # A question whose article did change has not strayed, also where that did not come.
    now = Said("I do not know.", value=value, response=response)
    named = updated({**BEFORE, "fees": NEW_FEES}, {"price": (Said("It depends."), now)}, price=PRICE)
    assert fates(named) == {}


def test_an_answer_with_a_changed_article_is_not_said_to_have_changed_without_one() -> None:
    """A sentence was added to the article that the question needs, and the answer is right now."""
    longer = f"{DESK} Ring twice after six."
    update = updated(
        {**BEFORE, "desk": longer},
        {"hours": (Said("I do not know.", value=0.2), Said("Ring twice.", {"desk": longer}))},
        hours={"question": "Until when is the desk open?", "passages": ("desk",)},
    )
    assert not update.of("strayed")


def test_the_article_that_a_question_names_goes_before_one_that_only_came() -> None:
    """Both changed, both old texts were retrieved, and the answer has both old facts."""
    old = Said("It is 1,100 yen. The desk is open until 18:00.", BEFORE, value=0.2)
    update = updated(
        {"fees": NEW_FEES, "desk": DESK.replace("18:00", "20:00")},
        {"hours": (old, old)},
        hours={"question": "Until when is the desk open?", "passages": ("desk",)},
    )
    assert [question.article for question in update.of("stale")] == ["desk"]


def test_folders_that_have_nothing_in_common_are_not_compared() -> None:
    """Another desk, and a run that does not know its articles."""
    same = {"hours": (Said("Until 18:00."), Said("Until 18:00."))}
    other = updated({f"x{n}": f"# Other {n}\nSomething else entirely, number {n}00." for n in range(9)}, same)
    unknown = updated({}, same)
    assert "hardly anything in common" in str(other.problem)
    assert "after does not know the bot's articles" in str(unknown.problem)
    assert [update.regression for update in (other, unknown)] == [False, False]
    assert not other.as_json()["comparable"]
    assert compared(BEFORE, same).update is None


@pytest.mark.parametrize(
    ("n", "more", "brief_more"), [(3, "", ""), (10, "", "7 more"), (11, "1 more", "8 more")]
)
def test_the_report_quotes_what_is_stale(n: int, more: str, brief_more: str) -> None:
    """Ten answers with the article before and now, in brief three; what moved as it should comes last."""
    old = Said("It is 1,100 yen.", {"fees": FEES}, value=0.2)
    moved = Said("It is 1,100 yen."), Said("It is 1,300 yen.")
    said_of = {f"q{at}": (old, old) for at in range(n)} | {"moved": moved}
    cases: dict[str, Any] = dict.fromkeys(said_of, PRICE)
    result = compared({**BEFORE, "fees": NEW_FEES}, said_of, **cases)
    report = comparison_report(result, "en")
    whole, brief = (" ".join(terminal(report, 300, view).split()) for view in ("terminal", "brief"))

    for text, shown, left in ((whole, min(n, 10), more), (brief, 3, brief_more)):
        stale, _title, rest = text.partition("Changed as the articles did (1)")
        assert (
            "The index was not rebuilt: everything that the bot retrieved of changed articles (1 passages)"
            in text
        )
        assert f"Stale: still what the article said before ({n})" in stale
        assert "Articles: changed 1." in stale
        assert len(re.findall(r"\(q\d+\): certain", stale)) == shown
        assert stale.count("Article now: The plan costs 1,300 yen a month.") == shown
        assert ("more on the page." in stale) is bool(left)
        assert f"{left} on the page." in stale or not left
        assert "(moved)" in rest
    assert whole.count("Answer: It is 1,100 yen.") == min(n, 10)


def test_the_report_says_that_an_article_is_gone_and_which_references_to_fix() -> None:
    """What was not found in the new articles, and what nothing proves."""
    quoted = Said("The plan costs 1,100 yen a month.", {"fees": FEES})
    case = {**PRICE, "references": (("It costs 1,100 yen.",),)}
    gone = compared({"desk": DESK}, {"price": (quoted, quoted)}, price=case)
    text = " ".join(terminal(comparison_report(gone, "en"), 300).split())

    assert "Reference answers to fix: of before the update, so not compared (1)" in text
    assert "Reference answer: It costs 1,100 yen. Article now: (no longer says so)" in text
    assert "Withdrawn articles that are still quoted (1)" in text
    assert "Questions name articles that do not exist: fees. Correct their column passages." in text
    assert "No question is left to compare: all have another reference answer than before" in text
    assert (
        "Questions that count on neither side: 1 with a reference answer of before the update (price)."
        in text
    )
    unproved = Said("It is 1,100 yen.")
    likely = compared({**BEFORE, "fees": NEW_FEES}, {"price": (unproved, unproved)}, price=PRICE)
    assert "(price): likely" in terminal(comparison_report(likely, "en"), 300)
    assert not likely.regression


def test_the_drill_tells_the_bundled_bots_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Updated: no regression; an article forgotten in the index, and an old index: exit code 1."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    _told, *played = drill.play("ja", tmp_path / "drill")
    assert [code for _said, code in played] == [0, 1, 1]
    old_index = "検索用の索引が作り直されていません"
    assert [old_index in said for said, _code in played] == [False, False, True]
    # The same folder for the bot and for `diff` is one change; another index is one more.
    assert [bool(re.search(r"(?<!-)knowledge\s+/", said)) for said, _code in played] == [False, True, False]
