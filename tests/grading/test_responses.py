"""What an answer does for what was asked: the judge of turns says so, and it is stored with the grade."""

import re
from typing import Any, get_args

import pytest

from simulator.core import shelves
from simulator.core.templates import LANGUAGES
from simulator.core.types import Answer, Handover, Language, Passage, Response, Score, response_in
from simulator.grading.lexical import lexical_score
from simulator.grading.rubric import Rubric
from tests.grading.test_shapes import a_reply, graded
from tests.run_helpers import a_case, a_turn, an_exhibit, frame

RESPONSES: tuple[Response, ...] = get_args(Response)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("short", [False, True])
def test_each_response_is_defined_once_in_the_prompt(language: Language, short: bool) -> None:
    """In the full criterion and in the short one; the form asks for one of them, once."""
    turn = Rubric(shelves.JUDGES / "turn.toml", short=short)
    criterion = turn.criterion(language)
    form = frame().task(language, [turn], alone=True).rpartition("\n{")[2]

    for response in RESPONSES:
        assert len(re.findall(rf"(?m)(?:^- |[。）.] ?){response}[ :]", criterion)) == 1
    assert form.count('"response"') == 1


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("response", RESPONSES)
async def test_it_is_stored_with_the_grade(response: Response, alone: bool) -> None:
    """Asked alone or with other judges, as a field of the score that survives the run file."""
    score, requests = await graded(a_reply(alone, response=response), alone=alone)

    assert (score.response, score.raw, requests) == (response, 4, 1)
    assert Score.model_validate_json(score.model_dump_json(exclude_defaults=True)) == score


@pytest.mark.parametrize(
    ("written", "response"),
    [
        ("Handed over", "handed_over"), ("handed-over", "handed_over"), ("Ｄｅｃｌｉｎｅｄ", "declined"),
        ("declined: it does not know", "declined"), ("「断った」", "declined"), (["partly"], "partly"),
        ("<asked_back>", "asked_back"), ("回答", "answered"), ("Partially", "partly"), ("none", "nothing"),
    ],
)  # fmt: skip
async def test_odd_spellings_are_read(written: Any, response: Response) -> None:
    """What certainly means one of them costs no second call."""
    score, requests = await graded(a_reply(response=written))

    assert (score.response, requests) == (response, 1)


@pytest.mark.parametrize(
    "written", ["declined or answered", "answered (partly)", "maybe", 4, None, "", ["declined", "answered"]]
)
async def test_what_may_mean_two_is_asked_for_again(written: Any) -> None:
    """As with every other field: once more, and what is unclear then is no grade."""
    score, requests = await graded(a_reply(response=written))

    assert (score.state, score.response, requests) == ("failed", None, 2)


async def test_a_turn_whose_reference_and_passages_disagree_has_one() -> None:
    """Nobody knows whether the answer is right; what it does is known. The first point is the reason."""
    article = Passage(id="1", text="月額5,280円です。" * 30)
    context = an_exhibit(turn=a_turn(1, passages=(article,)))
    sides = {"reference": context.references[0], "passages": article.text}
    also = {"reference": context.references[0][:4], "passages": "5,280円"}
    score, _ = await graded(a_reply(conflicts=[sides, also], response="declined"), context=context)

    assert (score.state, score.response) == ("skipped", "declined")
    assert f"正解例：「{context.references[0]}」、資料：「{article.text[:200]}」。" in score.reason
    assert score.detail["conflicts"] == [sides, also]


@pytest.mark.parametrize(("handover", "response"), [("optional", "answered"), ("required", "handed_over")])
def test_without_a_model_an_answer_that_also_hands_over_is_what_the_case_asks_about(
    handover: Handover, response: Response
) -> None:
    """A handover where it is on record whether there should be one, else an answer."""
    text = "A polish is 62 pounds. I'll connect you to reception to find a date."
    turn = a_turn(1, "en").model_copy(update={"answer": Answer(text=text)})
    context = an_exhibit(a_case("en", handover=handover, references=()), turn=turn)

    assert lexical_score("turn", context).response == response


def test_further_models_and_other_judges_do_not_overrule_it() -> None:
    """`turn` says it; where it is not asked, another judge of one's own may."""
    said: dict[str, Response] = {"mine": "partly", "turn@other": "nothing", "turn": "declined"}
    scores = {name: Score(judge=name, state="skipped", response=what) for name, what in said.items()}

    assert response_in(scores) == "declined"
    assert response_in({"mine": scores["mine"], "turn@other": scores["turn@other"]}) == "partly"
    assert response_in({"turn@other": scores["turn@other"]}) is None


@pytest.mark.parametrize(
    ("language", "answer", "response"),
    [
        ("en", "The fee is 1,100 yen.", "answered"),
        ("en", "The fee is 1,100 yen. If anything is unclear, please contact our desk.", "answered"),
        ("en", "The fee is 1,100 yen. Is there anything else I can help you with?", "answered"),
        ("en", "I'm sorry, but I don't have any information about that.", "declined"),
        ("en", "Which plan are you on?", "asked_back"),
        ("en", "Your table is booked. A colleague will call you to confirm.", "answered"),
        ("en", "I'll connect you to an agent.", "handed_over"),
        ("en", "...", "nothing"),
        ("ja", "手数料は1,100円です。ご不明な点は窓口までお問い合わせください。", "answered"),
        ("ja", "申し訳ございませんが、分かりかねます。", "declined"),
        ("ja", "どちらのプランをご利用ですか。", "asked_back"),
        ("ja", "担当者におつなぎします。", "handed_over"),
        ("ja", "。", "nothing"),
    ],
)
def test_without_a_model_the_wording_says_it(language: Language, answer: str, response: Response) -> None:
    """Also where there is nothing to hold the answer against, and so no grade."""
    turn = a_turn(1, language).model_copy(update={"answer": Answer(text=answer)})
    score = lexical_score("turn", an_exhibit(a_case(language, references=()), turn=turn))

    assert (score.state, score.response) == ("skipped", response)
    assert lexical_score("similarity", an_exhibit(a_case(language), turn=turn)).response is None
