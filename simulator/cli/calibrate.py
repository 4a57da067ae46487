"""`calibrate FILE`: how far a judge agrees with people's labels; with --probes, what sways it."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator.addons.bias_probes import report
from simulator.addons.bias_probes.grade import ProbeRequest, ProbeRun, judge_names, probe_language
from simulator.addons.calibration.grade import CalibrationRequest, CalibrationRun, LabelComparison
from simulator.addons.calibration.report import CalibrationOutcome, calibration_report
from simulator.cli.forecast import show_calls, total
from simulator.cli.options import GOOD, argument, option, takes
from simulator.cli.terminal import (
    INCOMPLETE,
    exit_code_of_failures,
    print_json,
    progress_bar,
    run_async,
    saved_in_cache,
    say,
    stdout_to_stderr,
)
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, ngettext, safe_text, sentences, shown
from simulator.core.settings import load_settings
from simulator.core.types import LEXICAL, Spending
from simulator.models.pricing import Ledger, check_prices
from simulator.report.judges import family_notes
from simulator.report.painters.console import print_report
from simulator.stats import judge_trust
from simulator.stats.bias import Bias, BiasRow
from simulator.stats.figures import rounded
from simulator.stats.judge_trust import Calibration

# Options by name, as they were typed.
OptionValues = Mapping[str, str | None]


@takes(
    "offline", "judge_model", "embed_model", "judge_temperature", "judging", "votes", "guidelines",
    "contacts", "ng_words", "cache", "budget", "prices", "jpy_per_usd",
    "calls", "timeout", "seed", "max_failed", "dry_run",
    "json_output",
)  # fmt: skip
def command(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    judge: str = option(
        "--judge NAME",
        "The judge to calibrate: a name from `list`, your own file, or a part like turn.completeness. "
        "With --probes, one or more: turn,claims.",
        ...,
    ),
    file: str | None = argument(
        "FILE", "Labelled answers: JSONL, CSV, YAML, Excel (also .gz). Not needed with --probes."
    ),
    label: str | None = option("--label NAME", "The label to compare with: a key of `labels`."),
    good: str | None = GOOD,
    precision: float = option(
        "--precision SHARE",
        "Also show the grade from which this share of the answers is good.",
        0.9,
        min=0.01,
        max=1.0,
    ),
    by: str | None = option(
        "--by FIELD",
        "Show the agreement for each value of this column or `meta` field. Default: the file's own domains.",
    ),
    limit: int | None = option(
        "--limit N", "Use only N answers, drawn at random; with --probes, N pairs of each kind.", min=1
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
        "--cases FILE", "With --probes: your questions, with right answers. Default: the bundled ones."
    ),
    knowledge: str | None = option(
        "--knowledge FOLDER", "With --cases: the folder of the passages that your questions name."
    ),
    language: str | None = option("--language ja|en", "With --probes: use only this language."),
) -> int:
    """Compare a judge with people's labels: agreement, leniency, and from which grade on to trust it.

    The results are saved in calibrations/ for this prompt and model, and later reports show them beside
    the judge's grades. If interrupted, run the same command again: nothing is paid for twice.

    With --probes no labels are needed: right answers are changed in one known way (a wrong figure, a
    thank-you, a curt tone, an angry customer). What moves the judge although it should not is saved too.
    """
    settings = load_settings({**flags, "judges": [judges] if judges else None})
    _check_mode(
        {"FILE": file, "--label": label}, {"--good": good, "--by": by},
        {"--cases": cases, "--knowledge": knowledge, "--language": language}, probes=probes,
    )  # fmt: skip
    if probes:
        request = ProbeRequest(judge_names(judge), cases, knowledge, probe_language(language), limit)
        with stdout_to_stderr():
            probe_run = ProbeRun(request, settings, Path(calibrations))
        return _probe(probe_run)

    labels = CalibrationRequest(str(file), judge, str(label), good, by, precision, limit)
    with stdout_to_stderr():
        calibration_run = CalibrationRun(labels, settings, Path(calibrations))
    return _calibrate(calibration_run)


def _check_mode(
    required: "OptionValues", of_labels: "OptionValues", of_probes: "OptionValues", *, probes: bool
) -> None:
    """Raises InputError for an option of the other way to calibrate, or where one is missing."""
    wrong = {**required, **of_labels} if probes else of_probes
    if given := [name for name, value in wrong.items() if value is not None]:
        option = given[0]
        msg = (
            _("{option} cannot be used with --probes.", option=option)
            if probes
            else _("{option} can only be used with --probes.", option=option)
        )
        raise InputError(msg)
    if not probes and (missing := [name for name, value in required.items() if value is None]):
        msg = _(
            "{missing} is missing: calibrate FILE --judge NAME --label LABEL, or --probes --judge NAME.",
            missing=missing[0],
        )
        raise InputError(msg)


# --- By labels ---


def _calibrate(run: "CalibrationRun") -> int:

    estimate = run.forecast()
    if run.settings.dry_run:
        return show_calls({"judge": estimate}, as_json=run.settings.json_output)
    if estimate.calls:
        check_prices(run.settings, [("judge", run.context.models()["judge"])])
    _announce(run, estimate)
    with progress_bar(len(run.rows), _("graded")) as bar:
        graded = run_async(run.grade(bar.advance))
    if graded is None:
        return INCOMPLETE
    compared = run.compare(graded)
    calibration = run.calibration(compared)
    path = None
    if judge_trust.has_larger_calibration(calibration, run.folder):
        say(_("Not saved: {folder} is based on more answers than these.", folder=run.folder / run.file_name))
    else:
        path = judge_trust.save_calibration(calibration, run.folder)
    _show(run, compared, calibration, path)
    counts = compared.counts
    failed, tried = counts.failed, counts.rows - counts.skipped
    msg = _(
        "{failed} of {tried} grades failed ({reason}). The same command tries them again.",
        failed=failed,
        tried=tried,
        reason=counts.reason,
    )
    return exit_code_of_failures(failed, tried, run.settings.max_failed, msg)


def _announce(run: "CalibrationRun", estimate: "Spending") -> None:

    line = ngettext(
        "{n} answer, judge: {judge}.", "{n} answers, judge: {judge}.", n=len(run.rows), judge=run.title
    )
    grader, model = run.grader()
    by: Message | None = None
    if grader == "by_model":
        by = _("Model: {model}. At most {total}.", model=model, total=total([estimate]))
    elif grader == "by_stand_in":
        by = _("No model configured: a lexical stand-in grades (no language model, no cost).")
    say(sentences(line, by))


def _show(
    run: "CalibrationRun", compared: "LabelComparison", calibration: "Calibration", path: Path | None
) -> None:

    settings = run.settings
    grader, _ = run.grader()
    outcome = CalibrationOutcome(calibration, compared, run.label, run.domain, settings.seed, grader, path)
    print_report(calibration_report(outcome), as_json=settings.json_output)
    if not settings.json_output:
        return
    counts = compared.counts
    print_json(
        {
            **{
                key: getattr(calibration, key)
                for key in ("judge", "label", "n", "rubric", "dataset", "model")
            },
            **{key: value for key, value in calibration.figures.items() if key != "n"},
            "language": calibration.language,
            "rows": counts.rows,
            "skipped": counts.skipped,
            "failed": counts.failed,
            "unlabelled": counts.unlabelled,
            "file": calibration.file,
            "saved": str(path) if path else None,
            **_spent(run.context.ledger),
        }
    )


def _spent(ledger: "Ledger") -> dict[str, Any]:
    cost = ledger.cost_usd
    return {
        "calls": {role: used.calls for role, used in ledger.roles.items()},
        "cost_usd": None if cost is None else round(cost, 4),
    }


# --- By probes ---


def _probe(run: "ProbeRun") -> int:

    settings = run.settings
    if settings.dry_run:
        return show_calls({"judge": run.forecast()}, as_json=settings.json_output)
    check_prices(settings, [("judge", run.context.models()["judge"])])
    _announce_probes(run)
    saved = saved_in_cache(settings.cache)
    with progress_bar(len(run.contexts), _("graded")) as bar:
        bias = run_async(run.grade(bar.advance), saved)
    if bias is None:
        return INCOMPLETE
    paths = run.keep(bias)
    for judge in (judge for judge, path in paths.items() if path is None):
        say(_("Not saved for {judge}: there is a result from more pairs of the same questions.", judge=judge))
    _show_probes(run, bias, paths)
    failed = run.states["failed"]
    tried = failed + run.states["scored"]
    msg = _("{failed} of {tried} grades failed. {saved}", failed=failed, tried=tried, saved=saved)
    return exit_code_of_failures(failed, tried, settings.max_failed, msg)


def _announce_probes(run: "ProbeRun") -> None:

    model = run.context.models()["judge"]
    counts = _(
        "{pairs}, {answers} to grade, judges: {judges}.",
        pairs=ngettext("{n} pair", "{n} pairs", n=len(run.probes)),
        answers=ngettext("{n} answer", "{n} answers", n=len(run.contexts)),
        judges=", ".join(run.judges),
    )
    grader = (
        _("No model configured: lexical stand-ins grade (no language model, no cost).")
        if model == LEXICAL
        else _("Model: {model}. At most {total}.", model=model, total=total([run.forecast()]))
    )
    say(sentences(counts, grader))
    for note in family_notes(run.settings.model_dump(), run.context.models()):
        say(_("Warning: {note}", note=note.text) if note.tone == "alarm" else note.text)


def _show_probes(run: "ProbeRun", bias: "Bias", paths: dict[str, Path | None]) -> None:

    models, as_json = run.context.models(), run.settings.json_output
    languages, settings = report.languages_of(bias), run.settings.model_dump()
    for language in languages:
        notes = family_notes(settings, models)
        shown_probes = report.probes_report(bias, language, run.grader, models["judge"], notes)
        print_report(shown_probes, as_json=as_json)
    stream = sys.stderr if as_json else sys.stdout
    for path in filter(None, paths.values()):
        stream.write(safe_text(shown(_("Saved: {path}", path=path), languages[-1])) + "\n")
    if not as_json:
        return
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
                        _row_json(row) for row in bias.broken if row.judge in (judge, f"{judge}.correctness")
                    ],
                    "saved": str(paths[judge]) if paths[judge] else None,
                }
                for judge in run.judges
            },
            "rows": [_row_json(row) for row in bias.rows],
            "warnings": [str(note.text) for note in family_notes(settings, models)],
            "failed": run.states["failed"],
            **_spent(run.context.ledger),
        }
    )


def _row_json(row: "BiasRow") -> dict[str, Any]:

    return rounded(row.model_dump(mode="json"))  # type: ignore[no-any-return]
