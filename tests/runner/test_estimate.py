"""What a run will take, told before anything is paid."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.types import Conversation, GradingContext, Language
from simulator.grading.rubric import load_judge
from simulator.models.pricing import total_spending
from simulator.runner.context import RunContext
from simulator.runner.estimate import (
    Forecast,
    RoleModel,
    SampledAnswers,
    TokenRange,
    by_role,
    forecast,
    model_context,
    tokens,
)
from tests.run_helpers import a_case, a_stage, a_talk, a_turn, an_exhibit
from tests.servers.openai import OpenAIServer

SERVER = OpenAIServer()  # never started: nothing is called
PLAN = [a_talk(), a_talk(a_case("en", references=())), a_talk(persona="calm")]


def calls(context: RunContext, plan: list[Conversation] | None = None) -> dict[str, int]:
    """Calls per role."""
    found = forecast(context, plan or PLAN)
    at_most, expected = ({who: spent.calls for who, spent in each.items()} for each in found[:2])
    assert at_most == expected  # nobody is known to leave early
    return {role: count for (role, _), count in at_most.items()}


def test_tokens_are_counted_by_script() -> None:
    """Japanese takes about a token a character, English one for four; full-width forms count as Japanese."""
    assert tokens("") == 0
    assert tokens("あ" * 110) == tokens("漢字" * 55) == tokens("，！" * 55) == 100
    assert tokens("abcd" * 25) == 25
    assert tokens("あ" * 110 + "abcd" * 25) == 125


@given(st.text(max_size=50), st.text(max_size=50))
def test_more_text_is_never_fewer_tokens(one: str, other: str) -> None:
    """And at most the two parts together, but for rounding."""
    assert max(tokens(one), tokens(other)) <= tokens(one + other) <= tokens(one) + tokens(other)


def test_stand_ins_take_nothing() -> None:
    """Offline there is nothing to forecast."""
    assert forecast(a_stage(), PLAN)[:4] == ({}, {}, None, 0)


def test_every_role_is_counted() -> None:
    """Customer, demo bot and grades once a turn; embeddings where there is a reference, on its turn."""
    judges = ("turn", "relevance", "cosine")
    context = a_stage(SERVER, judges=judges, turns=4)

    assert calls(context) == {"user": 12, "demo": 12, "judge": 12, "embed": 2}
    assert calls(a_stage(SERVER, judges=judges, turns=4, judging="separate"))["judge"] == 24
    assert calls(a_stage(SERVER, judges=("turn",), turns=1)) == {"user": 3, "demo": 3, "judge": 3}


def test_a_bot_of_ones_own_is_not_counted() -> None:
    """What it costs is not known here."""
    assert "demo" not in calls(a_stage(SERVER, adapter="function", set={"target": "bot.py:answer"}))


def test_judges_that_embed_are_counted() -> None:
    """The cosine where there is a reference; the relevancy of answers each turn, and its questions."""
    found = calls(a_stage(SERVER, judges=("answer_relevancy",), turns=2))
    both = calls(a_stage(SERVER, judges=("answer_relevancy", "cosine"), turns=2))

    assert found == {"user": 6, "demo": 6, "judge": 6, "embed": 6}
    assert both["embed"] == 8
    assert "embed" not in calls(a_stage(SERVER, judges=("rouge_l",), turns=2))


def test_the_panel_is_priced_by_its_own_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rubrics are asked of every model and for every vote; forms of function judges of the first only."""
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", "http://localhost:1/v1")
    judges = ("turn", "answer_relevancy")
    context = a_stage(SERVER, judges=judges, turns=1, votes=3, panel=("gpt-4.1", "nobody-knows-it"))
    found = forecast(context, PLAN[:1]).at_most

    assert {model: spent.calls for (role, model), spent in found.items() if role == "judge"} == {
        "judge-model": 4, "gpt-4.1": 3, "nobody-knows-it": 3,
    }  # fmt: skip
    assert (found["judge", "gpt-4.1"].cost_usd or 0) > 0
    assert found["judge", "nobody-knows-it"].cost_usd is None


def test_what_a_bot_without_passages_lacks_is_not_asked() -> None:
    """Groundedness has nothing to look at, where the adapter is told of no passages."""
    judges = ("groundedness", "fluency")
    context = a_stage(SERVER, judges=judges, judging="separate", turns=1, adapter="openai_chat")
    found = forecast(context, PLAN)

    assert found.expected["judge", "judge-model"].calls == 3
    assert found.at_most["judge", "judge-model"].calls == 6


def test_twice_the_plan_is_twice_the_forecast() -> None:
    """Calls and tokens are those of each conversation, added up."""
    context = a_stage(SERVER)
    once, twice = forecast(context, PLAN), forecast(context, [*PLAN, *PLAN])

    for each, doubled in zip(once[:2], twice[:2], strict=True):
        for who, spending in each.items():
            assert doubled[who].calls == 2 * spending.calls
            assert doubled[who].tokens_in == pytest.approx(2 * spending.tokens_in, abs=2)
            assert doubled[who].tokens_out == pytest.approx(2 * spending.tokens_out, abs=2)
            assert spending.tokens_in > 0


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("judging", ["combined", "separate"])
def test_the_forecast_is_made_from_the_real_prompts(language: str, judging: str) -> None:
    """What a judge is really sent for a usual turn is covered, and not many times over."""
    case = a_case(language)  # type: ignore[arg-type]
    context = a_stage(SERVER, judges=("turn", "fluency"), judging=judging, turns=1)
    found = forecast(context, [a_talk(case)])
    told, expected = by_role(found.at_most)["judge"], by_role(found.expected)["judge"]
    rubrics = [context.judges[name] for name in ("turn", "fluency")]
    groups = [rubrics] if judging == "combined" else [[each] for each in rubrics]
    frame = context.grading.frame
    prompts = [frame.prompt(an_exhibit(case), group, alone=len(group) == 1) for group in groups]  # type: ignore[arg-type]
    sent = sum(tokens(message["content"]) for prompt in prompts for message in prompt)

    assert told.calls == len(groups)
    assert sent <= told.tokens_in <= 2.5 * sent
    assert expected.tokens_in <= told.tokens_in


def test_the_first_questions_reference_is_counted_on_later_turns() -> None:
    """A longer one costs as much more on the second turn as on the first; the cosine still has one turn."""
    judges = ("turn", "cosine")
    found = {}
    for turns, extra in ((1, 0), (1, 400), (2, 0), (2, 400)):
        case = a_case(references=(("正解" * (10 + extra),),))
        context = a_stage(SERVER, judges=judges, turns=turns)
        found[turns, extra] = by_role(forecast(context, [a_talk(case)]).at_most)
    once, twice = (found[n, 400]["judge"].tokens_in - found[n, 0]["judge"].tokens_in for n in (1, 2))

    assert once > 400
    assert twice == pytest.approx(2 * once, rel=0.02)
    assert found[2, 400]["embed"].calls == found[1, 400]["embed"].calls


def test_prices_come_from_the_table() -> None:
    """A known model has a price, an unknown one makes it unknown; a stand-in costs nothing."""
    named = {"user_model": "gpt-4.1-mini", "judge_model": "nobody-knows-this-model", "demo_model": "gpt-4.1"}
    told = by_role(forecast(a_stage(SERVER, **named), PLAN).at_most)

    assert told["judge"].cost_usd is None
    assert 0 < (told["user"].cost_usd or 0) < (told["demo"].cost_usd or 0)


def unknown(found: Forecast) -> set[str]:
    """What the forecast says nobody knows."""
    return {each.what for each in found.unknown}


def test_the_range_says_why_it_is_wide() -> None:
    """A bot of one's own may show passages or not, and customers may leave at once; both ends are priced."""
    priced = {"user_model": "gpt-4.1-mini", "judge_model": "gpt-4.1", "embed_model": "text-embedding-3-small"}
    found = forecast(a_stage(SERVER, adapter="bot.py:answer", **priced), PLAN)
    low, usual, high = (
        total_spending(list(each.values())) for each in (found.low, found.expected, found.high)
    )
    passages, leaving, lengths = found.unknown

    assert [each.what for each in found.unknown] == ["passages", "leaving", "lengths"]
    assert low.calls < usual.calls == high.calls
    assert low.tokens_in < usual.tokens_in < high.tokens_in
    assert passages.low is not None
    assert passages.high is not None
    assert (passages.low + passages.high) / 2 == pytest.approx(usual.cost_usd, rel=0.01)
    assert (low.cost_usd or 0) < (leaving.low or 0) < (leaving.high or 0) == usual.cost_usd
    assert (lengths.low, lengths.high) == (None, None)
    assert found.high == found.at_most


def test_what_the_settings_tell_is_not_unknown() -> None:
    """The bundled bot shows passages, an http bot where it is told of them; after one turn nobody is left."""
    alone: dict[str, Any] = {"judges": ("groundedness",), "turns": 1, "adapter": "http"}
    url = {"url": "http://localhost:1"}

    assert unknown(forecast(a_stage(SERVER), PLAN)) == {"leaving", "lengths"}
    assert unknown(forecast(a_stage(SERVER, turns=1), PLAN)) == {"lengths"}
    assert unknown(forecast(a_stage(SERVER, turns=1, adapter="bot.py:a"), PLAN)) == {"passages", "lengths"}
    assert unknown(forecast(a_stage(), PLAN)) == set()
    assert "judge" not in calls(a_stage(SERVER, set=url, **alone))
    assert calls(a_stage(SERVER, set={**url, "passages": "docs"}, **alone))["judge"] == 3


def test_who_has_a_script_does_not_leave() -> None:
    """Its lines are said to the last one, so the least is as many calls as expected."""
    case = a_case(script=("もう一つ。", "それから。"))
    found = forecast(a_stage(SERVER), [a_talk(case)])

    assert unknown(found) == {"lengths"}
    assert {who: each.calls for who, each in found.low.items()} == {
        who: each.calls for who, each in found.expected.items()
    }


def bilingual(heard: SampledAnswers) -> dict[Language, SampledAnswers]:
    """A bot that is alike in both languages."""
    return {"ja": heard, "en": heard}


def test_what_was_heard_is_taken_instead_of_guesses() -> None:
    """Longer answers and passages are more tokens; where the bot shows none, nothing needs them."""
    context = a_stage(SERVER, adapter="bot.py:answer", judges=("groundedness", "fluency"), judging="separate")
    short, nothing = TokenRange(10, 20, 30), TokenRange(0, 0, 0)
    shown = SampledAnswers(short, TokenRange(90, 100, 110), 2, reports_retrieval=True)
    talkative = shown._replace(answer=TokenRange(500, 600, 700))
    silent = SampledAnswers(short, nothing, 0, reports_retrieval=False)
    by_bot = [
        forecast(context, PLAN, sample_bot=partial(bilingual, each)) for each in (shown, talkative, silent)
    ]
    judged = [by_role(each.expected)["judge"] for each in by_bot]

    assert [unknown(each) for each in by_bot] == [{"leaving", "lengths"}] * 3
    assert [each.calls for each in judged] == [18, 18, 9]
    # Three turns: the answer of each, and of those before it.
    assert judged[1].tokens_in - judged[0].tokens_in == pytest.approx(580 * 3 * 2 * (3 + 3), abs=3)
    assert by_role(by_bot[2].at_most)["judge"].calls == 9


def test_judges_that_see_the_answer_alone_are_sized_so() -> None:
    """The relevancy of answers shows a model neither passages nor what was said before."""
    few, many = (
        forecast(a_stage(SERVER, judges=("answer_relevancy",), set={"top": top}), PLAN).expected
        for top in ("1", "9")
    )
    one, six = (
        forecast(a_stage(SERVER, judges=("answer_relevancy",), turns=turns), PLAN).expected
        for turns in (1, 6)
    )
    judge: RoleModel = ("judge", "judge-model")

    assert few[judge] == many[judge]
    assert six[judge].tokens_in == pytest.approx(6 * one[judge].tokens_in, abs=6)
    assert many["demo", "demo-model"].tokens_in > 2 * few["demo", "demo-model"].tokens_in


async def test_what_a_judge_shows_a_model_is_seen_without_one() -> None:
    """Judges that ask nobody, ask something else or are no coroutines are taken to show all there is."""
    context = an_exhibit(None, a_turn())

    async def asks_nobody(context: GradingContext, fill: object = None) -> None: ...

    async def wants_more(context: GradingContext, something: str) -> None: ...

    def at_once(context: GradingContext) -> int:
        return 1

    assert model_context(load_judge("answer_relevancy"), context).turn.answer.passages == ()  # type: ignore[arg-type]
    assert model_context(load_judge("handover"), context) is context  # type: ignore[arg-type]
    assert all(model_context(judge, context) is context for judge in (asks_nobody, wants_more, at_once))


def test_a_field_of_listed_words_is_one_of_them() -> None:
    """`against: reference | passages | neither` takes no sentence."""
    context = a_stage(SERVER, judges=("turn",), turns=1)
    told = by_role(forecast(context, PLAN[:1]).expected)["judge"].tokens_out

    # Three steps and a conclusion of 20 tokens each, six grades, nine keys.
    assert 80 < told < 135
