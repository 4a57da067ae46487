"""What is said before a run: who plays, and what it will take."""

import json
from pathlib import Path

import pytest

from simulator.commands.announce import announce, check_folder, counted, show_forecast
from simulator.errors import RunFileError
from simulator.forecast import forecast
from simulator.settings import Settings
from tests.playing import a_case, a_stage, a_talk
from tests.servers.openai import OpenAIServer

SERVER = OpenAIServer()  # never started: nothing is called
PLAN = [a_talk(), a_talk(a_case("en"))]
PRICED = {"user_model": "gpt-4.1-mini", "judge_model": "gpt-4.1", "demo_model": "gpt-4.1-mini"}


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines on standard error, where nothing else was printed."""
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


@pytest.mark.parametrize(
    ("offline", "begins"), [(True, "Offline as asked: "), (False, "No model configured: ")]
)
def test_stand_ins_are_told_from_models(
    capsys: pytest.CaptureFixture[str], offline: bool, begins: str
) -> None:
    """One line: how much, which bot, and that no language model takes part."""
    announce(Settings(offline=offline), a_stage(), PLAN)

    assert said(capsys) == [
        f"2 conversations, up to 3 turns each, bot: demo. {begins}"
        "lexical stand-ins play customer and judges (no language model, no cost)."
    ]


def test_a_paid_run_tells_its_models_and_its_forecast(capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is paid: every model that takes part, and what they take at most."""
    stage = a_stage(SERVER, turns=1, **PRICED)
    announce(stage.settings, stage, PLAN[:1])
    first, second = said(capsys)

    assert first == (
        "1 conversation, up to 1 turn each, bot: demo."
        " Models: user gpt-4.1-mini, judge gpt-4.1, embed embed-model, demo gpt-4.1-mini."
    )
    assert second.startswith("At most 3 model calls, about ")
    assert second.endswith(" USD.")


def test_the_demo_model_is_told_where_it_plays(capsys: pytest.CaptureFixture[str]) -> None:
    """Not beside a bot of one's own."""
    stage = a_stage(SERVER, adapter="bot.py:answer")
    announce(stage.settings, stage, PLAN)

    assert "demo" not in "".join(said(capsys))


def test_a_budget_that_cannot_be_kept_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Where a price is unknown, the budget counts the other models only."""
    told = "The price of a model is unknown: --budget counts only what has a known price."
    for models, expected in (({"judge_model": "nobody-knows-it"}, True), (PRICED, False)):
        stage = a_stage(SERVER, budget=1, **models)
        announce(stage.settings, stage, PLAN)
        assert (told in said(capsys)) == expected
    stage = a_stage(SERVER)
    announce(stage.settings, stage, PLAN)
    assert told not in said(capsys)


def test_a_forecast_is_a_table_or_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Calls, tokens and dollars by role; unknown prices are unknown in both."""
    estimate = forecast(a_stage(SERVER, turns=2, **(PRICED | {"judge_model": "nobody-knows-it"})), PLAN)
    show_forecast(estimate, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    show_forecast(estimate, as_json=True)
    shown = json.loads(capsys.readouterr().out)

    assert [line.split()[0] for line in lines[:-1]] == list(estimate) == list(shown["forecast"])
    assert lines[0].startswith("user        4 calls ")
    assert lines[-1].startswith("At most 12 model calls, about ")
    assert lines[-1].endswith("price unknown. Nothing was started.")
    assert shown["cost_usd"] is shown["forecast"]["judge"]["cost_usd"] is None
    assert shown["forecast"]["user"]["calls"] == 4
    assert shown["forecast"]["user"]["cost_usd"] > 0


def test_one_is_not_many() -> None:
    """Numbers with their nouns, thousands with commas."""
    assert [counted(number, "turn") for number in (0, 1, 2, 1234)] == [
        "0 turns",
        "1 turn",
        "2 turns",
        "1,234 turns",
    ]


def test_a_folder_that_can_be_made_is_not_made_yet(tmp_path: Path) -> None:
    """A file in the way is told; a missing folder is none until there is a run."""
    check_folder(Path("deep/runs"))
    check_folder(tmp_path)
    Path("file").touch()
    for folder in ("file", "file/runs"):
        with pytest.raises(
            RunFileError, match=rf"^{folder}: cannot be written\. Choose another folder with --runs\."
        ):
            check_folder(Path(folder))

    assert [path.name for path in tmp_path.iterdir()] == ["file"]
