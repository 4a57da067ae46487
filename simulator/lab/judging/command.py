"""`calibrate FILE`: how far a judge agrees with people's labels; with --probes, what sways it.

Both are saved in calibrations/ under the hash of the judge's rubric and model, where reports find them
(trust.py). A result that rests on fewer answers than the one that is there does not replace it.
"""

import sys
from pathlib import Path
from typing import Any

from simulator.api.progress import stdout_to_stderr
from simulator.cli.forecast import judged, spent_json
from simulator.cli.options import GOOD, MODEL_WORK, argument, option, takes
from simulator.cli.show import show_report
from simulator.cli.terminal import exit_code_of_failures, print_json, say
from simulator.core.errors import InputError
from simulator.core.messages import _, ngettext, safe_text, shown
from simulator.core.roles import with_judging_for
from simulator.core.settings import Settings, load_settings
from simulator.lab.judging.calibration import CalibrationRun
from simulator.lab.judging.calibration_report import calibration_report
from simulator.lab.judging.grade import ProbeRun
from simulator.lab.judging.probes_report import languages_of, probes_report
from simulator.lab.judging.stored import larger_calibration
from simulator.report.painters.console import print_report
from simulator.results.figures import rounded
from simulator.results.judge_records import save_record


@takes(
    "language", "offline", "judge_model", "embed_model", "judging",
    "guidelines", "contacts", "ng_words", "rules", *MODEL_WORK, "json_output",
)  # fmt: skip
def calibrate(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    judge: str = option(
        "--judge NAME",
        "The judge to calibrate: a name from `list`, or your own file. "
        "With --probes, one or more: turn,claims.",
        ...,
    ),
    file: str | None = argument(
        "FILE", "Labelled answers: JSONL, CSV, Excel (also .gz). Not needed with --probes."
    ),
    label: str | None = option("--label NAME", "The label to compare with: a key of `labels`."),
    good: str | None = GOOD,
    limit: int | None = option(
        "--limit N", "Use only N answers, drawn at random; with --probes, N pairs of each kind.", lowest=1
    ),
    judges: str | None = option(
        "--judges NAME,...",
        "The judges of your runs: with --judging combined they share one prompt with this one.",
    ),
    calibrations: str = option("--calibrations FOLDER", "Folder of the calibrations.", "calibrations"),
    probes: bool = option(
        "--probes", "Test the judge without labels, on pairs of answers with one known difference."
    ),
    cases: str | None = option(
        "--cases FILE",
        "With --probes: your questions, with reference answers and contexts. Default: the bundled ones.",
    ),
) -> int:
    """Compare a judge with people's labels: agreement, leniency, and from which grade on to trust it.

    The results are saved in calibrations/ for this prompt and model, and later reports show them with the
    judge's grades. If interrupted, run the same command again: nothing is paid for twice.

    With --probes no labels are needed: good answers are changed in one known way (a wrong figure, a
    thank-you, an angry customer). Changes that move the judge although they should not are saved too.
    """
    settings = with_judging_for(load_settings({**flags, "judges": [judges] if judges else None}))
    foreign = {"FILE": file, "--label": label, "--good": good} if probes else {"--cases": cases}
    if given := [name for name, value in foreign.items() if value is not None]:
        msg = _("{option} can only be used with --probes.", option=given[0])
        if probes:
            msg = _("{option} cannot be used with --probes.", option=given[0])
        raise InputError(msg)
    if not probes and (file is None or label is None):
        msg = _(
            "{missing} is missing: calibrate FILE --judge NAME --label LABEL, or --probes --judge NAME.",
            missing="FILE" if file is None else "--label",
        )
        raise InputError(msg)
    if probes:
        return probe(judge, settings, Path(calibrations), cases=cases, limit=limit)

    # Everything that can be wrong with file, label and judge shows while the run is made, before any call.
    folder = Path(calibrations)
    with stdout_to_stderr():
        run = CalibrationRun(str(file), judge, str(label), settings, good=good, limit=limit, folder=folder)
    settings, (grader, model), most = run.settings, run.grader(), run.forecast()
    about = ngettext(
        "{n} answer, judge: {judge}.", "{n} answers, judge: {judge}.", n=len(run.rows), judge=run.judge
    )
    # A function may ask the judge's model; else it has none to name.
    if grader == "by_function":
        model = run.context.models()["judge"] if most.calls else ""
    graded = judged(settings, run.grade, about, model, pieces=len(run.rows), most=most)
    compared = run.compare(graded)
    calibration = run.calibration(compared)
    path = None
    if larger := larger_calibration(calibration, run.folder):
        say(_("Not saved: {folder} is based on more answers than these.", folder=larger))
    else:
        path = save_record(calibration, run.folder)
        if checked := run.checked_labels(compared):
            save_record(checked, run.folder)
    counts = compared.counts
    figures = {
        **{key: getattr(calibration, key) for key in ("judge", "label", "n", "rubric", "dataset", "model")},
        **compared.figures.as_json(),
        "language": calibration.language,
        **{key: getattr(counts, key) for key in ("rows", "skipped", "failed", "unlabelled")},
        "file": calibration.file,
        "saved": str(path) if path else None,
        **spent_json(run.context.ledger),
    }
    show_report(calibration_report(run, calibration, compared, path), figures, as_json=settings.json_output)
    # What was skipped lacks what the judge needs, and is no failure.
    tried = counts.rows - counts.skipped
    return exit_code_of_failures(counts.failed, tried, counts.reason)


def probe(judges: str, settings: Settings, folder: Path, *, cases: str | None, limit: int | None) -> int:
    """Tries judges (names with commas) on the same pairs, shows and saves what moved them; the exit code."""
    names = tuple(dict.fromkeys(name.strip() for name in judges.split(",") if name.strip()))
    if not names:
        raise InputError(_("--judge: name a judge."))
    with stdout_to_stderr():
        run = ProbeRun(names, settings, folder, file=cases, limit=limit)
    settings, models = run.settings, run.context.models()
    about = _(
        "{pairs}, {answers} to grade, judges: {judges}.",
        pairs=ngettext("{n} pair", "{n} pairs", n=len(run.probes)),
        answers=ngettext("{n} answer", "{n} answers", n=len(run.contexts)),
        judges=", ".join(run.judges),
    )
    pieces, most = len(run.contexts), run.forecast()
    bias = judged(settings, run.grade, about, models["judge"], pieces=pieces, most=most)
    paths = run.keep(bias)
    for judge in (judge for judge, path in paths.items() if path is None):
        say(_("Not saved for {judge}: there is a result from more pairs of the same questions.", judge=judge))
    languages = languages_of(bias)
    for language in languages:
        shown_probes = probes_report(bias, language, run.grader, models["judge"])
        print_report(shown_probes, as_json=settings.json_output)
    stream = sys.stderr if settings.json_output else sys.stdout
    for path in filter(None, paths.values()):
        stream.write(safe_text(shown(_("Saved: {path}", path=path), languages[-1])) + "\n")
    if settings.json_output:
        print_json(
            {
                "probes": bias.probes,
                "answers": bias.contexts,
                "seed": bias.seed,
                "source": run.source,
                "model": models["judge"],
                "judges": {
                    judge: {
                        "rubric": run.rubric(judge),
                        "broken": [
                            rounded(row.model_dump(mode="json"))
                            for row in bias.broken
                            if row.judge in (judge, f"{judge}.correctness")
                        ],
                        "saved": str(paths[judge]) if paths[judge] else None,
                    }
                    for judge in run.judges
                },
                "rows": [rounded(row.model_dump(mode="json")) for row in bias.rows],
                "failed": run.states["failed"],
                **spent_json(run.context.ledger),
            }
        )
    failed = run.states["failed"]
    return exit_code_of_failures(failed, failed + run.states["scored"])
