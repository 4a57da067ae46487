"""`thresholds suggest FILE`: from which score on an answer is right, by what people called right."""

from pathlib import Path
from typing import Any, cast

from simulator.addons.calibration import thresholds
from simulator.addons.calibration.report import ThresholdsOutcome, thresholds_report
from simulator.addons.calibration.thresholds import (
    JudgedScores,
    LabelledAnswers,
    SuggestionMethod,
    scores_of_run,
)
from simulator.cli.destinations import show_report
from simulator.cli.forecast import JudgeWork, judged
from simulator.cli.options import GOOD, argument, option, takes
from simulator.cli.publish import report_language
from simulator.cli.terminal import DONE, exit_code_of_failures, stdout_to_stderr
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import _, language_of_most, ngettext
from simulator.core.settings import Settings, load_settings, stored_settings
from simulator.core.types import Language
from simulator.data.rows import split_sheet
from simulator.grading.metric_file import MetricFile, metric_file_of, read_metric_file, write_thresholds
from simulator.stats.calibration import Method
from simulator.stats.summary import figures_of
from simulator.storage.run_file import find_run, read_run


@takes(
    "offline", "judge_model", "embed_model", "judge_temperature", "max_tokens", "guidelines",
    "tokenizer", "contacts", "ng_words", "rules", "cache", "budget", "prices", "jpy_per_usd",
    "calls", "timeout", "seed", "max_failed", "dry_run", "runs", "json_output",
)  # fmt: skip
def suggest(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    file: str = argument(
        "FILE",
        "Labelled answers (JSONL, CSV, YAML, Excel, also .gz), or a run that people have reviewed: "
        "id, start of an id, latest, or path.",
        ...,
    ),
    judges: str | None = option(
        "--judges NAME,...",
        "The judges that need thresholds. Default: those of the --write file; of a run, all its judges.",
    ),
    label: str | None = option(
        "--label NAME",
        "The label to go by: a key of `labels`. Default: the only one; for an output, that of its name.",
    ),
    good: str | None = GOOD,
    by: str | None = option(
        "--by FIELD",
        "Suggest a threshold for each value of this column or `meta` field; of a run: tags or "
        "persona. Default: the file's own domains.",
    ),
    method: str = option(
        "--method NAME",
        "quantile: what nearly all right answers reach. balanced: what separates right from wrong best.",
        "quantile",
    ),
    quantile: float = option(
        "--quantile SHARE",
        "The share of right answers that may stay below the threshold.",
        0.05,
        min=0.0,
        max=0.5,
    ),
    write: str | None = option(
        "--write FILE",
        "Write the thresholds to this metric file (metric_output_info.json); of a TOML file, show what to "
        "put there.",
    ),
    limit: int | None = option("--limit N", "Use only N answers, drawn at random.", min=1),
) -> int:
    """Suggest thresholds from answers that people called right or wrong.

    Grades the answers of a label file by the judges, or takes the scores and verdicts of a reviewed run,
    and shows for each judge (and output, and domain) the threshold, its interval, and how many right and
    wrong answers reach it. Nothing is changed without --write.
    """
    settings = load_settings(flags)
    if method not in ("quantile", "balanced"):
        raise UnknownName("--method", method, ("quantile", "balanced"))
    how = SuggestionMethod(cast("Method", method), quantile, settings.seed)
    outputs, target = _judges_by_output(judges, write), Path(write) if write else None
    if not _is_label_file(file):
        source, language, evidence = _evidence_of_run(file, settings, judges, by)
        return _show(source, language, evidence, how, target, settings)
    if outputs is None:
        msg = _("--judges is missing: whose thresholds? For example --judges rougeL,meteor,gpt_similarity.")
        raise InputError(msg)
    with stdout_to_stderr():
        answers = LabelledAnswers(file, outputs, settings, label=label, good=good, by=by, limit=limit)
    return _grade(answers, Path(file).name, how, target)


# The subcommands.
SUBCOMMANDS = {"suggest": suggest}
ABOUT = """Find out from which score on an answer is right.

\b
python run.py thresholds suggest labelled.csv --judges rougeL,meteor
python run.py thresholds suggest labelled.csv --write metric_output_info.json
python run.py thresholds suggest latest          a run whose answers people have reviewed
"""


def _is_label_file(name: str) -> bool:
    """Whether it is a file of labelled answers; a run is a folder, an id, or its run.sqlite."""
    path, _unused = split_sheet(Path(name))
    return path.suffix.lower() != ".sqlite" and (path.is_file() or (bool(path.suffix) and not path.is_dir()))


def _judges_by_output(judges: str | None, write: str | None) -> MetricFile | None:
    """The judges that were named, for every output, or else those of the metric file."""
    if judges is not None:
        return metric_file_of([name.strip() for name in judges.split(",") if name.strip()] or [""])
    return read_metric_file(write) if write and Path(write).exists() else None


def _evidence_of_run(
    name: str, settings: Settings, judges: str | None, by: str | None
) -> tuple[str, Language, JudgedScores]:
    """The id of a reviewed run, its language, and its scores with people's verdicts."""
    if by not in (None, "tags", "persona"):
        raise UnknownName(_("--by of a run"), str(by), ("tags", "persona"))
    results = read_run(find_run(name, Path(settings.runs)))
    summary = figures_of(results, stored_settings(results.run.settings))
    names = tuple(part.strip() for part in judges.split(",")) if judges else ()
    return results.run.id, report_language(results), scores_of_run(results, summary, names, by)


def _grade(answers: LabelledAnswers, file: str, how: SuggestionMethod, target: Path | None) -> int:
    """Grades the labelled answers of a file, and shows what the thresholds would be."""
    settings, models = answers.context.settings, answers.context.models()
    about = ngettext("{n} answer to grade.", "{n} answers to grade.", n=len(answers.rows))
    job = JudgeWork(about, models.get("judge", ""), len(answers.rows), answers.forecast())
    evidence = judged(answers.evidence, job, settings)
    if isinstance(evidence, int):
        return evidence
    language = language_of_most(row.case.language for row in answers.rows)
    _show(f"{file} ({answers.label.good})", language, evidence, how, target, settings)
    failed = evidence.failed
    return exit_code_of_failures(failed, len(evidence.judged) + failed, settings.max_failed)


def _show(  # noqa: PLR0917 - the evidence, where it is from, and what is made of it
    source: str,
    language: Language,
    evidence: JudgedScores,
    how: SuggestionMethod,
    target: Path | None,
    settings: Settings,
) -> int:
    """Prints the suggestions, and writes them into the metric file where one was named."""
    if not any(answer.right for answer in evidence.judged):
        msg = _("{source}: no right answer has a score, so no threshold can be suggested.", source=source)
        raise InputError(msg)
    suggestions = thresholds.suggestions(evidence, how)
    changes: list[thresholds.ThresholdChange] = []
    written = False
    if target is not None:
        before = read_metric_file(target) if target.exists() else None
        if changes := list(thresholds.changes(evidence, how, before)):
            written = write_thresholds(target, {(each.output, each.judge): each.after for each in changes})
    outcome = ThresholdsOutcome(source, how, evidence, suggestions, language, target, changes, written)
    figures = {
        "source": source,
        "method": how.method,
        "quantile": how.quantile if how.method == "quantile" else None,
        "suggestions": [suggestion.as_json() for suggestion in suggestions],
        "written": str(target) if written else None,
        "changes": [change._asdict() for change in changes],
    }
    show_report(thresholds_report(outcome), figures, as_json=settings.json_output)
    return DONE
