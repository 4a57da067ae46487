"""How far each judge can be trusted stands beside its means, in words first."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.document import Report
from simulator.core.settings import Settings
from simulator.core.types import Language, Results
from simulator.lab.judging.stored import BiasRow, Calibration, Drift, StoredBias, save_bias
from simulator.lab.judging.trust import JudgeTrust, drift_remarks, judge_trusts, trust_section
from simulator.results.judge_records import save_record
from simulator.storage.run_file import read_run
from tests.commands import Command
from tests.golden_files import compare
from tests.sample_runs import rehearsed, summed
from tests.servers.openai import OpenAIServer
from tests.texts import said, terminal


def a_calibration(judge: str = "groundedness", **changes: Any) -> Calibration:
    """What is kept of a judge whose scores have the rubric `groundedness-1`."""
    known: dict[str, Any] = {
        "judge": judge, "label": "faithfulness", "dataset": "mtrag_human", "n": 222, "rubric": f"{judge}-1",
        "model": "example-large", "language": "ja", "good": "faithfulness >= 2.5", "date": date(2026, 11, 1),
        "file": "labels.jsonl", "sha256": "0" * 64,
        "auroc": 0.89, "interval": (0.84, 0.93), "commonest": 4, "share": 0.5, "poor_discrimination": False,
    }  # fmt: skip
    return Calibration(**(known | changes))


def a_row(kind: str, judge: str = "turn", **changes: Any) -> BiasRow:
    """A broken bound."""
    known: dict[str, Any] = {
        "language": "ja", "kind": kind, "judge": judge, "n": 31, "failed": 0, "skipped": 0, "before": 4.2,
        "after": 4.6, "difference": 0.4, "interval": (0.2, 0.6), "fell": None, "red_before": 0.0,
        "turned": 0.0, "bound": 0.2, "held": False,
    }  # fmt: skip
    return BiasRow(**(known | changes))


def a_bias(*rows: BiasRow, judge: str = "turn", **changes: Any) -> StoredBias:
    known: dict[str, Any] = {
        "judge": judge, "rubric": f"{judge}-1", "model": "example-large", "source": "bundled", "seed": 42,
        "date": date(2026, 11, 1), "rows": rows,
    }  # fmt: skip
    return StoredBias(**(known | changes))


TITLES = {"ja": "人との一致", "en": "How far to trust the judges"}
DRIFTED = Drift(
    judge="relevance", n=40, shift=0.25, low=0.2, high=0.3, equal=0, drifted=True, same_rubric=True
)


def known_of(results: Results, language: Language = "ja") -> dict[str, JudgeTrust]:
    return judge_trusts(results, summed(results), language)


def everything(language: Language) -> Results:
    """A run with a calibrated judge, a biased one, one without discrimination, and one that has drifted."""
    save_record(a_calibration(language=language))
    poor = a_calibration(
        "fluency", language="en", n=1222, label="naturalness", auroc=0.66, interval=(0.58, 0.73),
        poor_discrimination=True, commonest=5, share=0.924,
    )  # fmt: skip
    save_record(poor)
    flipped = a_row("flipped_fact", "turn.correctness", bound=2, fell=0.8, turned=0.68, language=language)
    save_bias(
        a_bias(a_row("padding", language=language), a_row("angry", held=True, language=language), flipped)
    )
    drift = [DRIFTED.model_dump(mode="json")]
    return rehearsed(language).model_copy(update={"notes": {"drift": drift}})


@pytest.mark.parametrize("language", ["ja", "en"])
def test_it_looks_as_it_is_meant_to(language: Language) -> None:
    """Under the table of means: words, then the figure, then what to beware of."""
    results = everything(language)
    section = trust_section(results, summed(results), Settings())
    assert section

    compare(f"standing_{language}.txt", terminal(Report(section.title, language, section.blocks)))


def test_agreement_stands_beside_the_mean_of_exactly_that_rubric() -> None:
    """The words that a support lead reads; None and 未校正 for whoever was never compared with people."""
    save_record(a_calibration())
    save_record(a_calibration("similarity", rubric="another prompt"))
    known = known_of(rehearsed("ja"))
    groundedness, similarity = known["groundedness"], known["similarity"]

    told = said(groundedness.calibration or "", "ja")
    assert told == "人との一致 AUROC .89 [.84–.93]（222件、mtrag_human faithfulness）"
    assert (groundedness.level, similarity.level) == ("well", "not_calibrated")
    assert similarity.calibration is None


@pytest.mark.parametrize(
    ("auroc", "interval", "n", "level"),
    [
        (0.80, (0.7, 0.9), 50, "well"),
        (0.79, (0.7, 0.9), 50, "fair"),
        (0.65, (0.55, 0.7), 50, "weak"),
        (0.59, (0.51, 0.7), 50, "doubtful"),
        (0.85, (0.45, 0.99), 50, "doubtful"),
        (0.85, None, 50, "doubtful"),
        (0.99, (0.9, 1), 9, "few"),
        (None, None, 50, "doubtful"),
    ],
)
def test_a_figure_has_a_word(
    auroc: float | None, interval: tuple[float, float] | None, n: int, level: str
) -> None:
    """By its size, unless chance is not ruled out or there are too few answers."""
    save_record(a_calibration(auroc=auroc, interval=interval, n=n))
    known = known_of(rehearsed("en"), "en")

    assert known["groundedness"].level == level


def test_a_steady_judge_is_said_to_be_steady() -> None:
    """No alarm; another prompt or model, and what could not be graded, are said."""
    steady = DRIFTED.model_copy(update={"shift": 0.0, "drifted": False})
    changed = steady.model_copy(update={"same_rubric": False, "failed": 3})
    for drift, alarms in ((steady, [False]), (changed, [False, True, False])):
        notes = {"drift": [drift.model_dump(mode="json")]}
        results = rehearsed("ja", models={}).model_copy(update={"notes": notes})
        known = known_of(results)
        assert [note.tone == "alarm" for note in drift_remarks(results)] == alarms
        assert known["relevance"].warnings == ()


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_stand_in_has_no_standing_whoever_calibrated_it(
    language: Language, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither agreement with people nor "not calibrated", on terminal and page, in JSON and in the table."""
    options = ["--offline", "--limit", "2", "--persona", "angry", "--turns", "1", "--language", language]
    assert main([*options, "--json"]) == 0
    run = Path(json.loads(capsys.readouterr().out)["store"])
    for judge, rubric in {score.judge: score.rubric for score in read_run(run).scores}.items():
        save_record(a_calibration(judge, rubric=rubric, model="lexical"))
        save_bias(a_bias(a_row("padding", judge), judge=judge, rubric=rubric))
    main(["report", "--json"])
    out, err = capsys.readouterr()
    page = run.with_name("report.html").read_text(encoding="utf-8")

    for output in (err, page):
        assert "AUROC" not in output
        assert not any(text in output for text in (TITLES[language], "人の判断とよく合う", "mostly agree"))
        assert not any(text in output for text in ("未校正", "not calibrated"))
    for judge in json.loads(out)["judges"].values():
        assert (judge["calibration"], judge["warnings"]) == (None, [])


def test_a_record_that_somebody_edited_counts_as_none(command: Command, server: OpenAIServer) -> None:
    """Reports are made without it; what cannot be read says nothing of a judge."""
    models = ("--user-model", "lexical", "--demo-model", "lexical", "--judges", "turn,relevance")
    results = command("--limit", "1", "--language", "en", "--persona", "calm", *models).run
    rubric = next(score.rubric for score in results.scores if score.judge == "relevance")
    path = save_record(a_calibration("relevance", rubric=rubric))
    calibrated = command("report", "latest", "--json").json["judges"]["relevance"]["calibration"]
    path.write_text(path.read_text(encoding="utf-8").replace("0.89", '"good"'), encoding="utf-8")
    edited = command("report", "latest", "--json").json["judges"]["relevance"]["calibration"]

    assert "AUROC .89" in calibrated
    assert edited is None
