"""`thresholds suggest FILE`: from which score on an answer is right, by what people called right.

    quantile   the score that all but 5 % (--quantile) of the right answers reach: few right ones are failed
    balanced   the score that tells right from wrong best (the largest mean of both hit rates)

Grades the answers, unless they were graded before and are in the cache; changes a file only with --write.
"""

from pathlib import Path
from typing import Any, cast

from simulator.api.progress import stdout_to_stderr
from simulator.cases.tables import split_sheet
from simulator.cli.forecast import judged
from simulator.cli.options import GOOD, MODEL_WORK, argument, option, takes
from simulator.cli.show import show_report
from simulator.cli.terminal import exit_code_of_failures
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import _, language_of_most, ngettext
from simulator.core.settings import load_settings
from simulator.lab.datasets import thresholds
from simulator.lab.datasets.metric_file import metric_file_of, read_metric_file, write_thresholds
from simulator.lab.datasets.report import ThresholdsOutcome, thresholds_report
from simulator.lab.datasets.suggested import Method
from simulator.lab.datasets.thresholds import LabelledAnswers, SuggestionMethod


@takes(
    "offline", "judge_model", "embed_model", "guidelines",
    "tokenizer", "contacts", "ng_words", "rules", *MODEL_WORK, "runs", "json_output",
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
        "The label to go by: a key of `labels`. Default: the only one; for an output, that of its name.",
    ),
    good: str | None = GOOD,
    method: str = option(
        "--method NAME",
        "quantile: what nearly all good answers reach. balanced: what separates good answers "
        "from bad ones best.",
        "quantile",
    ),
    quantile: float = option(
        "--quantile SHARE",
        "The share of good answers that may stay below the threshold.",
        0.05,
        min=0.0,
        max=0.5,
    ),
    write: str | None = option(
        "--write FILE",
        "Write the thresholds to this metric file (metric_output_info.json).",
    ),
    limit: int | None = option("--limit N", "Use only N answers, drawn at random.", min=1),
) -> int:
    """Suggest thresholds from answers that people called right or wrong.

    Grades the answers by the judges, and shows for each judge (and output) the threshold, its interval, and
    how many right and wrong answers reach it. Nothing is changed without --write.
    """
    settings = load_settings(flags)
    if method not in ("quantile", "balanced"):
        raise UnknownName("--method", method, ("quantile", "balanced"))
    how = SuggestionMethod(cast("Method", method), quantile, settings.seed)
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
    suggestions = thresholds.suggestions(evidence, how)
    changes: list[thresholds.ThresholdChange] = []
    if target is not None:
        # Read again: grading may have taken an hour, and somebody may have edited it.
        before = read_metric_file(target) if target.exists() else None
        if changes := list(thresholds.changes(evidence, how, before)):
            write_thresholds(target, {(change.output, change.judge): change.after for change in changes})
    outcome = ThresholdsOutcome(source, how, evidence, suggestions, language, target, changes)
    figures = {
        "source": source,
        "method": how.method,
        "quantile": how.quantile if how.method == "quantile" else None,
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
