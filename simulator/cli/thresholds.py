"""`thresholds suggest FILE`: from which score on an answer is right, by what people said is right."""

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from simulator.cli.options import takes
from simulator.core.settings import Settings, load

if TYPE_CHECKING:
    from simulator.addons.calibration.thresholds import (
        Change,
        Evidence,
        How,
        LabelledAnswers,
        ThresholdRequest,
    )
    from simulator.core.types import Language
    from simulator.grading.metric_file import Outputs
    from simulator.stats.calibration import Method

DONE, INCOMPLETE = 0, 3

# fmt: off
File = Annotated[str, typer.Argument(
    metavar="FILE", show_default=False,
    help="Labelled answers (JSONL, CSV, YAML, Excel, also .gz), or a run that people have reviewed: "
    "id, start of an id, latest, or path.",
)]
Judges = Annotated[str | None, typer.Option(
    "--judges", metavar="NAME,...", show_default=False,
    help="Whose thresholds. Default: the judges of --write's file; of a run, all that graded it.",
)]
Label = Annotated[str | None, typer.Option(
    "--label", metavar="NAME", show_default=False,
    help="What people labelled: a key of `labels`. Default: the only one, and for an output the label of "
    "its name.",
)]
Good = Annotated[str | None, typer.Option(
    "--good", metavar="VALUE", show_default=False,
    help="From which label on an answer is right, or the text that is right. "
    "Default: what rounds to the top of the scale.",
)]
By = Annotated[str | None, typer.Option(
    "--by", metavar="FIELD", show_default=False,
    help="A threshold for each value of this column or `meta` field; of a run: tags or persona. "
    "Default: its domains.",
)]
How_ = Annotated[str, typer.Option(
    "--method", metavar="NAME", show_default=False,
    help="quantile: what nearly all right answers reach. balanced: what parts right from wrong best. "
    "[default: quantile]",
)]
Quantile = Annotated[float, typer.Option(
    "--quantile", metavar="SHARE", min=0.0, max=0.5, show_default=False,
    help="The share of the right answers that may miss it. [default: 0.05]",
)]
Write = Annotated[str | None, typer.Option(
    "--write", metavar="FILE", show_default=False,
    help="Put them into this metric file (metric_output_info.json or TOML), and change nothing else in it.",
)]
Limit = Annotated[int | None, typer.Option(
    "--limit", metavar="N", min=1, show_default=False, help="Only so many answers, by lot.",
)]
# fmt: on


@takes(
    "offline", "judge_model", "embed_model", "judge_temperature", "votes", "guidelines", "tokenizer",
    "contacts", "ng_words", "cache", "budget", "prices", "jpy_per_usd",
    "calls", "timeout", "seed", "max_failed", "dry_run", "runs", "json_output",
)  # fmt: skip
def suggest(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    file: File,
    judges: Judges = None,
    label: Label = None,
    good: Good = None,
    by: By = None,
    method: How_ = "quantile",
    quantile: Quantile = 0.05,
    write: Write = None,
    limit: Limit = None,
) -> int:
    """Suggest thresholds from answers that people called right or wrong.

    Grades the answers of a label file by the judges, or takes the scores and verdicts of a reviewed run,
    and shows for each judge (and output, and domain) the threshold, its interval, and how many right and
    wrong answers reach it. Nothing is changed without --write.
    """
    from simulator.addons.calibration.thresholds import How, LabelledAnswers, ThresholdRequest

    settings = load(flags)
    how = How(_method(method), quantile, settings.seed)
    outputs, there = _asked(judges, write), Path(write) if write else None
    if not _is_labels(file):
        return _show(_of_run(file, settings, judges, by), how, there, settings)
    if outputs is None:
        from simulator.core.errors import InputError

        msg = "--judges is missing: whose thresholds? For example --judges rougeL,meteor,gpt_similarity."
        raise InputError(msg)
    with contextlib.redirect_stdout(sys.stderr):  # what a judge's own code prints is none of the result
        work = LabelledAnswers(ThresholdRequest(file, label, good, by, limit), outputs, settings)
    return _grade(work, ThresholdRequest(file, label, good, by, limit), how, there)


# The words below this one; each is a command of its own.
WORDS = {"suggest": suggest}
ABOUT = """Thresholds: from which score on an answer is right.

\b
python run.py thresholds suggest labelled.csv --judges rougeL,meteor
python run.py thresholds suggest labelled.csv --write metric_output_info.json
python run.py thresholds suggest latest          a run whose answers people have reviewed
"""


class _Scores:
    """The scores, what they are from, and in which language it is told."""

    def __init__(self, source: str, language: "Language", evidence: "Evidence") -> None:
        self.source, self.language, self.evidence = source, language, evidence


def _method(name: str) -> "Method":
    from simulator.core.errors import UnknownName

    if name not in ("quantile", "balanced"):
        raise UnknownName("--method", name, ("quantile", "balanced"))
    return cast("Method", name)


def _is_labels(name: str) -> bool:
    """Whether it is a file of labelled answers; a run is a folder, an id, or its run.sqlite."""
    from simulator.data.readers import split_sheet

    path, _ = split_sheet(Path(name))
    return path.suffix.lower() != ".sqlite" and (path.is_file() or (bool(path.suffix) and not path.is_dir()))


def _asked(judges: str | None, write: str | None) -> "Outputs | None":
    """The judges by output: those that were named, for every output, or else those of the metric file."""
    from simulator.grading.metric_file import outputs_by, read_outputs

    if judges is not None:
        return outputs_by([name.strip() for name in judges.split(",") if name.strip()] or [""])
    return read_outputs(write) if write and Path(write).exists() else None


def _of_run(name: str, settings: Settings, judges: str | None, by: str | None) -> _Scores:
    from simulator.addons.calibration.thresholds import evidence_of
    from simulator.cli.publish import report_language
    from simulator.core.errors import UnknownName
    from simulator.core.settings import from_run
    from simulator.stats.outcome import figures_of
    from simulator.storage.run_file import find_run, read_run

    if by not in (None, "tags", "persona"):
        raise UnknownName("--by of a run", str(by), ("tags", "persona"))
    results = read_run(find_run(name, Path(settings.runs)))
    summary = figures_of(results, from_run(results.run.settings))
    named = tuple(part.strip() for part in judges.split(",")) if judges else ()
    evidence = evidence_of(results, summary, named, by)
    return _Scores(results.run.id, report_language(results), evidence)


def _grade(work: "LabelledAnswers", wish: "ThresholdRequest", how: "How", write: Path | None) -> int:
    from simulator.cli.calibrate import progress_on_stderr, show_forecast, total
    from simulator.core.errors import InputError, RehearsalError
    from simulator.models.pricing import check_prices

    estimate, settings = work.forecast(), work.context.settings
    if settings.dry_run:
        return show_forecast(estimate, as_json=settings.json_output)
    if estimate.calls:
        check_prices(settings, [("judge", work.context.models()["judge"])])
        sys.stderr.write(f"{len(work.rows)} answers, judges by model. At most {total(estimate)}.\n")
    try:
        with progress_on_stderr(len(work.rows)) as progress, contextlib.redirect_stdout(sys.stderr):
            evidence = asyncio.run(work.evidence(progress))
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        because = str(error).rstrip(".") or "interrupted"
        sys.stderr.write(f"error: {because}. The cache keeps what was graded: the same command goes on.\n")
        return INCOMPLETE
    english = sum(row.case.language == "en" for row in work.rows)
    language: Language = "en" if english > len(work.rows) / 2 else "ja"
    found = _Scores(f"{Path(wish.file).name} ({work.label.good})", language, evidence)
    return _show(found, how, write, settings) or _checked(evidence, settings)


def _checked(evidence: "Evidence", settings: Settings) -> int:
    tried = len(evidence.judged) + evidence.failed
    if evidence.failed <= settings.max_failed * tried:
        return DONE
    sys.stderr.write(f"error: {evidence.failed} of {tried} grades failed. The same command tries again.\n")
    return INCOMPLETE


def _show(found: _Scores, how: "How", path: Path | None, settings: Settings) -> int:
    """Prints the suggestions, and writes them where that was asked for."""
    from rich.console import Console

    from simulator.addons.calibration import thresholds
    from simulator.addons.calibration.thresholds_report import ThresholdsReport, paint
    from simulator.core.errors import InputError
    from simulator.grading.metric_file import read_outputs

    if not any(each.right for each in found.evidence.judged):
        msg = f"{found.source}: no right answer has a score, so there is nothing to take a threshold from."
        raise InputError(msg)
    suggested = thresholds.suggestions(found.evidence, how)
    changes: list[Change] = []
    if path is not None:
        changes = list(thresholds.changes(found.evidence, how, read_outputs(path) if path.exists() else None))
        if changes:
            thresholds.write(path, changes)
    shown = ThresholdsReport(found.source, how, found.evidence, suggested, found.language, path, changes)
    paint(shown, Console(stderr=settings.json_output))
    if settings.json_output:
        told = {
            "source": found.source,
            "method": how.method,
            "quantile": how.quantile if how.method == "quantile" else None,
            "suggestions": [each.as_json() for each in suggested],
            "written": str(path) if changes else None,
            "changes": [each.as_json() for each in changes],
        }
        sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
    return DONE
