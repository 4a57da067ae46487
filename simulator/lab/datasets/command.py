"""`thresholds suggest FILE`: from which score on an answer is right, by what people called right.

It is the score that all but 5 % of the right answers reach. Answers that were graded before come from the
cache; a file is changed only with --write.
"""

from pathlib import Path
from typing import Any

from simulator.api.progress import stdout_to_stderr
from simulator.cases.tables import split_sheet
from simulator.cli.forecast import judged
from simulator.cli.options import GOOD, MODEL_WORK, argument, option, takes
from simulator.cli.show import show_report
from simulator.cli.terminal import exit_code_of_failures
from simulator.core.errors import InputError
from simulator.core.messages import _, language_of_most, ngettext
from simulator.core.settings import load_settings
from simulator.lab.datasets import thresholds
from simulator.lab.datasets.metric_file import metric_file_of, read_metric_file, write_thresholds
from simulator.lab.datasets.report import ThresholdsOutcome, thresholds_report
from simulator.lab.datasets.thresholds import LabelledAnswers


@takes(
    "offline", "judge_model", "embed_model", "guidelines",
    "contacts", "ng_words", "rules", *MODEL_WORK, "runs", "json_output",
)  # fmt: skip
def suggest(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    file: str = argument(
        "FILE",
        "Labelled answers (JSONL, CSV, Excel, also .gz); of a reviewed run: review RUN --export FILE.",
        ...,
    ),
    judges: str | None = option(
        "--judges NAME,...",
        "The judges that need thresholds. Default: those of the --write file.",
    ),
    label: str | None = option(
        "--label NAME",
        "The label to go by: a key of `labels`. Default: the only one.",
    ),
    good: str | None = GOOD,
    write: str | None = option(
        "--write FILE",
        "Write the thresholds to this metric file (metric_output_info.json).",
    ),
    limit: int | None = option("--limit N", "Use only N answers, drawn at random.", lowest=1),
) -> int:
    """Suggest thresholds from answers that people called right or wrong.

    Grades the answers by the judges, and shows for each judge (and output) the threshold, its interval, and
    how many right and wrong answers reach it. Nothing is changed without --write.
    """
    settings = load_settings(flags)
    target = Path(write) if write else None
    # A run is named as such in most commands, so people name one here: they are told how to get a file of it.
    path, _unused = split_sheet(Path(file))
    if path.is_dir() or not path.suffix or path.suffix == ".sqlite":
        msg = _("{file}: name a file of labelled answers; of a reviewed run: review RUN --export FILE.")
        raise InputError(msg.format(file=file))
    # Judges come from --judges, else from the file that is to be written, where there is one already.
    outputs = read_metric_file(target) if target and target.exists() else None
    if judges is not None:
        outputs = metric_file_of([name.strip() for name in judges.split(",") if name.strip()] or [""])
    if outputs is None:
        msg = _("--judges is missing: whose thresholds? For example --judges rougeL,meteor,gpt_similarity.")
        raise InputError(msg)
    with stdout_to_stderr():
        answers = LabelledAnswers(file, outputs, settings, label=label, good=good, limit=limit)
    model, pieces = answers.context.models().get("judge", ""), len(answers.rows)
    about = ngettext("{n} answer to grade.", "{n} answers to grade.", n=pieces)
    evidence = judged(settings, answers.evidence, about, model, pieces=pieces, most=answers.forecast())
    language = language_of_most(row.case.language for row in answers.rows)
    source = f"{Path(file).name} ({answers.label.good})"
    if not any(answer.right for answer in evidence.judged):
        msg = _("{source}: no good answer has a score, so no threshold can be suggested.", source=source)
        raise InputError(msg)
    suggestions = thresholds.suggestions(evidence, settings.seed)
    changes: list[thresholds.ThresholdChange] = []
    if target is not None:
        # Read again: grading may have taken an hour, and somebody may have edited it.
        before = read_metric_file(target) if target.exists() else None
        if changes := list(thresholds.changes(evidence, settings.seed, before)):
            write_thresholds(target, {(change.output, change.judge): change.after for change in changes})
    outcome = ThresholdsOutcome(source, settings.seed, evidence, suggestions, language, target, changes)
    figures = {
        "source": source,
        "suggestions": [suggestion.as_json() for suggestion in suggestions],
        "written": str(target) if changes else None,
        "changes": [change._asdict() for change in changes],
    }
    show_report(thresholds_report(outcome), figures, as_json=settings.json_output)
    failed = evidence.failed
    return exit_code_of_failures(failed, len(evidence.judged) + failed)


# The subcommands.
COMMANDS = {"suggest": suggest}
ABOUT = """Find out from which score on an answer is right.

\b
python run.py thresholds suggest labelled.csv --judges rougeL,meteor
python run.py thresholds suggest labelled.csv --write metric_output_info.json
"""
