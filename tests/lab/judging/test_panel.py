"""Further models of the panel beside the judge's own."""

from collections.abc import Sequence
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.types import Score
from simulator.lab.judging.panel import panel_agreement
from simulator.runner.estimate import forecast
from tests.run_helpers import a_stage, a_talk, an_exhibit
from tests.servers.openai import OpenAIServer


def graded(judge: str, grades: Sequence[int], **more: Any) -> list[Score]:
    """One grade for each turn."""
    return [
        Score(judge=judge, conversation="c", turn=turn, state="scored", value=grade / 5, raw=grade, **more)
        for turn, grade in enumerate(grades, start=1)
    ]


def test_models_are_compared_on_the_turns_both_have_graded() -> None:
    """The same grades agree fully; a model that gives a grade more everywhere is shifted by a fifth."""
    alike, milder = graded("turn@a", [1, 3, 4, 2, 5]), graded("turn@b", [2, 4, 5, 3])
    same, kinder = panel_agreement([*graded("turn", [1, 3, 4, 2]), *alike, *milder])

    assert (same.judge, same.model, same.n, same.kappa, same.shift) == ("turn", "a", 4, 1, 0)
    assert (kinder.model, round(kinder.shift, 6)) == ("b", 0.2)
    assert 0 < (kinder.kappa or 0) < 1


def test_a_panel_without_an_endpoint_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything starts, with what to set; nor can the judge's own model be all of the panel."""
    with pytest.raises(InputError, match="--panel other: no endpoint"):
        a_stage(None, panel=["other"])
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", "http://localhost:1/v1")
    with pytest.raises(InputError, match=r"--panel gpt-4\.1: it grades already"):
        a_stage(None, panel=["gpt-4.1"])


async def test_the_panels_models_are_reached_at_the_judges_endpoint(monkeypatch: Any) -> None:
    """Each by its own name, which its grades carry; functions and the judge's own model grade once."""
    async with OpenAIServer() as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        judges, own = ("turn", "fluency", "cosine"), "judge-model"
        stage = a_stage(server, judges=judges, panel=[own, "other"], judge_model=own)
        scores = await stage.panel.grade(an_exhibit())
        await stage.close(None)
        asked = {request.body["model"] for request in server.requests if "messages" in request.body}

    assert [score.judge for score in scores] == ["turn", "fluency", "cosine", "turn@other", "fluency@other"]
    assert {score.judge for score in scores} == set(stage.grading.names)
    assert asked == {"judge-model", "other"}


def test_the_panel_is_priced_by_its_own_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rubrics are asked of every model; forms of function judges of the first only."""
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", "http://localhost:1/v1")
    judges = ("turn", "risk")
    panel = ["gpt-4.1", "nobody-knows-it"]
    context = a_stage(OpenAIServer(), judges=judges, turns=1, panel=panel, judge_model="judge-model")
    found = forecast(context, [a_talk()]).high

    assert {model: spent.calls for (role, model), spent in found.items() if role == "judge"} == {
        "judge-model": 2, "gpt-4.1": 1, "nobody-knows-it": 1,
    }  # fmt: skip
    assert (found["judge", "gpt-4.1"].cost_usd or 0) > 0
    assert found["judge", "nobody-knows-it"].cost_usd is None
