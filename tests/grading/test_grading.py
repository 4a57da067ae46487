"""Everyone who grades: further models, votes, forms that functions have filled in, and every scale."""

from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.settings import load_settings
from simulator.core.types import GradingContext, Score
from simulator.grading.grading import contacts_of, read_list
from tests.grading.test_judging import failing
from tests.run_helpers import a_stage, an_exhibit
from tests.servers.openai import OpenAIServer, play

NEW = ("claims", "tone", "context_precision", "context_recall", "llm_similarity", "llm_correctness")


async def graded(context: GradingContext, reply: Any = play, **settings: Any) -> list[Score]:
    """The scores of a panel whose model says this."""
    async with OpenAIServer(reply) as server:
        stage = a_stage(server, **settings)
        scores = await stage.panel.grade(context)
        await stage.close(None)
    return list(scores)


@pytest.mark.parametrize("judging", ["combined", "separate"])
async def test_every_rubric_grades_on_its_own_scale(judging: str) -> None:
    """Claims and the like from 0 to 1, feelings from -2 to 2; the value is always 0 to 1."""
    found = await graded(an_exhibit(), judges=NEW, judging=judging)
    scores = {score.judge: score for score in found}

    assert tuple(scores) == NEW
    for name, score in scores.items():
        assert score.raw is not None
        assert score.value is not None
        assert score.scale == ((-2, 2) if name == "tone" else (0, 1))
        assert score.scale[0] <= score.raw <= score.scale[1]
        assert 0 <= score.value <= 1
        assert score.reason


async def test_without_an_answer_each_scale_has_its_own_lowest() -> None:
    """The customer's feeling is read all the same, and a retriever is not blamed for a silent bot."""
    found = await graded(an_exhibit(turn=failing()), judges=("turn", *NEW), judging="separate")
    scores = {score.judge: score for score in found}

    lowest = {name: score.raw for name, score in scores.items() if score.by_rule}
    assert lowest == {"turn": 1, "claims": 0, "llm_similarity": 0, "llm_correctness": 0}
    assert scores["turn"].value == 0.2
    assert (scores["tone"].state, scores["tone"].by_rule) == ("scored", False)
    assert {scores[name].state for name in ("context_precision", "context_recall")} == {"skipped"}


async def test_the_seed_of_a_run_is_that_of_its_judges() -> None:
    """The same run asks the same; another seed asks for another reply to each question."""
    seeds = list[list[int]]()
    for seed in (1, 1, 2):
        async with OpenAIServer(play) as server:
            stage = a_stage(server, judges=("turn", "risk"), seed=seed)
            await stage.panel.grade(an_exhibit())
            await stage.close(None)
        seeds.append(sorted(request.body["seed"] for request in server.requests))

    assert seeds[0] == seeds[1]
    assert not {*seeds[0]} & {*seeds[2]}
    assert len(seeds[0]) == 2


ALL = ("turn", "fluency", "risk", "rouge_l", "conversation", "expectations", "tools")


@pytest.mark.parametrize(
    ("settings", "turns", "whole", "calls", "is_combined"),
    [
        ({}, ALL[:4], ALL[4:], [ALL[4:6]], True),
        ({"judging": "separate"}, ALL[:4], ALL[4:], [ALL[4:5], ALL[5:6]], False),
        ({"judges": ("turn", "conversation")}, ALL[:1], ALL[4:5], [ALL[4:5]], False),
        # A row is one turn, which a function of whole conversations grades as well.
        ({"protocol": "single_turn"}, (*ALL[:4], "tools"), ALL[4:6], [ALL[4:6]], True),
    ],
)
def test_who_grades_what_and_in_which_calls(
    settings: dict[str, Any],
    turns: tuple[str, ...],
    whole: tuple[str, ...],
    calls: list[tuple[str, ...]],
    is_combined: bool,
) -> None:
    """Turns by their judges, whole conversations by theirs; a function's form is asked for by itself."""
    grading = a_stage(**({"judges": ALL} | settings)).grading

    assert (grading.names, grading.conversation_names) == (turns, whole)
    assert [tuple(rubric.name for rubric in group) for group in grading.conversation_rubrics] == calls
    assert grading.is_combined is is_combined
    assert [rubric.name for rubric in grading.rubrics] == [
        name for name in ("turn", "fluency") if name in turns
    ]
    assert [form.name for form in grading.forms] == (["risk"] if "risk" in turns else [])
    context = an_exhibit()
    assert grading.names_of(context) == {*turns}
    assert grading.names_of(context.model_copy(update={"closing": ""})) == {*whole}


async def test_the_hash_of_a_function_stands_for_what_it_asks_for(tmp_path: Any) -> None:
    """A desk's own rules make other grades of `risk`, and not of a judge that knows nothing of rules."""
    path = tmp_path / "rules.toml"
    path.write_text('[[rules]]\nid = "a"\ntext = "Be kind."\nseverity = "minor"\n', encoding="utf-8")
    found = list[dict[str, str]]()
    for rules in (None, None, str(path)):
        stage = a_stage(judges=("risk", "rouge_l"), rules=rules)
        found.append({score.judge: score.rubric for score in await stage.panel.grade(an_exhibit())})
        await stage.close(None)

    usual, again, own = found
    assert usual == again
    assert len({*usual.values(), *own.values()}) == 3
    assert usual["rouge_l"] == own["rouge_l"]


def test_the_teams_lists_are_read_line_by_line(tmp_path: Any) -> None:
    """Shift_JIS as Excel saves it, comments and empty lines left out; a missing file names its option."""
    path = tmp_path / "contacts.txt"
    path.write_bytes("# 窓口\n0120-000-111\n\n平日9時～18時\n".encode("cp932"))

    assert read_list(str(path), "--contacts") == ("0120-000-111", "平日9時～18時")
    assert read_list(None, "--contacts") == ()
    with pytest.raises(InputError, match=r"^--ng-words: .*nothing.txt"):
        read_list(str(tmp_path / "nothing.txt"), "--ng-words")


def test_the_bundled_desk_has_its_contacts_and_no_other_desk_has_them() -> None:
    """Not with other texts or another bot, which name theirs in a file."""
    own = {"adapter": "demo", "set": {"knowledge": "articles"}}
    assert contacts_of(load_settings({"adapter": "demo"}))
    assert [contacts_of(load_settings(flags)) for flags in (own, {"adapter": "bot.py:answer"})] == [(), ()]
