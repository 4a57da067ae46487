"""`calibrate FILE`: how far a judge agrees with people's labels."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import takes
from simulator.core.settings import load
from simulator.core.translations import language_of, told_in

if TYPE_CHECKING:
    from simulator.addons.bias_probes.grade import ProbeRequest
    from simulator.addons.calibration.grade import LabelComparison
    from simulator.addons.calibration.report import CalibrationRun
    from simulator.core.settings import Settings
    from simulator.core.types import Score, Spending
    from simulator.stats.judge_trust import Calibration

    Given = Mapping[str, str | None]

DONE, INCOMPLETE = 0, 3

# fmt: off
File = Annotated[str | None, typer.Argument(
    metavar="FILE", help="Labelled answers: JSONL, CSV, YAML, Excel (also .gz). None with --probes.",
    show_default=False,
)]
Judge = Annotated[str, typer.Option(
    "--judge", metavar="NAME", show_default=False,
    help="Who is calibrated: a judge that `list` shows, your own file, or a part like turn.completeness. "
    "With --probes also several: turn,claims.",
)]
Label = Annotated[str | None, typer.Option(
    "--label", metavar="NAME", show_default=False, help="What people labelled: a key of `labels`.",
)]
Good = Annotated[str | None, typer.Option(
    "--good", metavar="VALUE", show_default=False,
    help="From which label on an answer is good, or the text that is good. "
    "Default: what rounds to the top of the scale.",
)]
Precision = Annotated[float, typer.Option(
    "--precision", metavar="SHARE", min=0.01, max=1.0, show_default=False,
    help="Also show the grade from which this share of the answers is good. [default: 0.9]",
)]
By = Annotated[str | None, typer.Option(
    "--by", metavar="FIELD", show_default=False,
    help="Agreement for each value of this column or `meta` field. Default: its domains.",
)]
Limit = Annotated[int | None, typer.Option(
    "--limit", metavar="N", min=1, show_default=False,
    help="Only so many answers, by lot; with --probes so many pairs of each kind.",
)]
Probes = Annotated[bool, typer.Option(
    "--probes", help="Instead of labels: pairs of answers whose difference is known. What moves the judge?",
)]
Cases = Annotated[str | None, typer.Option(
    "--cases", metavar="FILE", show_default=False,
    help="With --probes: your questions, with right answers. Default: the bundled ones.",
)]
Knowledge = Annotated[str | None, typer.Option(
    "--knowledge", metavar="FOLDER", show_default=False,
    help="With --cases: the texts that hold the passages your questions name.",
)]
Spoken = Annotated[str | None, typer.Option(
    "--language", metavar="ja|en", show_default=False, help="With --probes: one language only.",
)]
Judges = Annotated[str | None, typer.Option(
    "--judges", metavar="NAME,...", show_default=False,
    help="The judges of your runs: with --judging combined they share one prompt with this one.",
)]
Folder = Annotated[str, typer.Option(
    "--calibrations", metavar="FOLDER", show_default=False,
    help="Where calibrations are kept. [default: calibrations]",
)]
# fmt: on


@takes(
    "offline", "judge_model", "embed_model", "judge_temperature", "judging", "votes", "guidelines",
    "contacts", "ng_words", "cache", "budget", "prices", "jpy_per_usd",
    "calls", "timeout", "seed", "max_failed", "dry_run",
    "json_output",
)  # fmt: skip
def command(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    judge: Judge,
    file: File = None,
    label: Label = None,
    good: Good = None,
    precision: Precision = 0.9,
    by: By = None,
    limit: Limit = None,
    judges: Judges = None,
    calibrations: Folder = "calibrations",
    probes: Probes = False,
    cases: Cases = None,
    knowledge: Knowledge = None,
    language: Spoken = None,
) -> int:
    """Compare a judge with people's labels: agreement, leniency, and from which grade on to trust it.

    The figures are kept in calibrations/, bound to prompt and model, and stand beside that judge's
    grades in later reports. Repeated after an interruption, it pays for nothing twice.

    With --probes no labels are needed: right answers are changed in one known way (a wrong figure,
    thanks, curtness, an angry customer), and what moves a judge that should not is kept as well.
    """
    settings = load({**flags, "judges": [judges] if judges else None})
    _check_mode(
        {"FILE": file, "--label": label}, {"--good": good, "--by": by},
        {"--cases": cases, "--knowledge": knowledge, "--language": language}, probes=probes,
    )  # fmt: skip
    if probes:
        from simulator.addons.bias_probes.grade import ProbeRequest, named, spoken

        asked = ProbeRequest(named(judge), cases, knowledge, spoken(language), limit)
        return _probe(asked, settings, Path(calibrations))
    from simulator.addons.calibration.report import CalibrationRequest, CalibrationRun

    wish = CalibrationRequest(str(file), judge, str(label), good, by, precision, limit)
    with contextlib.redirect_stdout(sys.stderr):  # what a judge's own code prints is none of the result
        work = CalibrationRun(wish, settings, Path(calibrations))
    return _perform(work)


def _check_mode(needed: "Given", labels: "Given", probing: "Given", *, probes: bool) -> None:
    """Raises InputError for what belongs to the other way of calibrating, or is missing."""
    from simulator.core.errors import InputError

    stray = {**needed, **labels} if probes else probing
    if given := [name for name, value in stray.items() if value is not None]:
        msg = f"{given[0]} {'does not go' if probes else 'only goes'} with --probes."
        raise InputError(msg)
    if not probes and (absent := [name for name, value in needed.items() if value is None]):
        msg = f"{absent[0]} is missing: calibrate FILE --judge NAME --label LABEL, or --probes --judge NAME."
        raise InputError(msg)


def _probe(wish: "ProbeRequest", settings: "Settings", folder: Path) -> int:
    from simulator.addons.bias_probes.grade import ProbeRun

    pass

    with contextlib.redirect_stdout(sys.stderr):
        work = ProbeRun(wish, settings, folder)
    return perform(work)


def _perform(work: "CalibrationRun") -> int:
    from simulator.core.errors import InputError, RehearsalError
    from simulator.models.pricing import check_prices

    runner = work.runner()
    estimate = work.forecast(runner)
    if work.settings.dry_run:
        return show_forecast(estimate, as_json=work.settings.json_output)
    if estimate.calls:
        check_prices(work.settings, [("judge", work.context.models()["judge"])])
    _announce(work, estimate)
    try:
        with progress_on_stderr(len(work.rows)) as progress, contextlib.redirect_stdout(sys.stderr):
            graded = asyncio.run(work.grade(runner, progress))
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        because = str(error).rstrip(".") or "interrupted"
        _say(f"error: {because}. What was graded is kept: the same command goes on from there.")
        return INCOMPLETE
    compared = work.compare(graded)
    calibration = work.calibration(compared)
    path = _stored(work, calibration)
    runner.forget()
    _show(work, compared, calibration, path)
    return _exit_code(work, compared)


def _stored(work: "CalibrationRun", calibration: "Calibration") -> Path | None:
    """A sample does not replace the same calibration from more answers."""
    from simulator.stats import judge_trust

    if judge_trust.is_better_known(calibration, work.folder):
        _say(f"Not stored: {work.folder / work.file_name} was made from more answers than these.")
        return None
    return judge_trust.save(calibration, work.folder)


def _show(
    work: "CalibrationRun", compared: "LabelComparison", calibration: "Calibration", path: Path | None
) -> None:
    from rich.console import Console

    from simulator.addons.calibration.report import CalibrationReport, paint

    grader, _ = work.grader()
    console = Console(stderr=work.settings.json_output)
    paint(
        CalibrationReport(calibration, compared, work.label, work.domain, work.settings.seed, grader, path),
        console,
    )
    if work.settings.json_output:
        shown = _as_json(work, compared, calibration, path)
        sys.stdout.write(json.dumps(shown, ensure_ascii=False) + "\n")


def _as_json(
    work: "CalibrationRun", compared: "LabelComparison", calibration: "Calibration", path: Path | None
) -> dict[str, Any]:
    spent, counts = work.context.ledger, compared.counts
    about = {key: getattr(calibration, key) for key in ("judge", "label", "n", "rubric", "dataset", "model")}
    figures = {key: value for key, value in calibration.figures.items() if key != "n"}
    return {
        **about,
        **figures,
        "language": calibration.language,
        "rows": counts.rows,
        "skipped": counts.skipped,
        "failed": counts.failed,
        "unlabelled": counts.unlabelled,
        "file": calibration.file,
        "saved": str(path) if path else None,
        "calls": {role: used.calls for role, used in spent.roles.items()},
        "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 4),
    }


def _exit_code(work: "CalibrationRun", compared: "LabelComparison") -> int:
    counts = compared.counts
    tried = counts.rows - counts.skipped
    if counts.failed <= work.settings.max_failed * tried:
        return DONE
    _say(f"error: {counts.failed} of {tried} grades failed ({counts.reason}). The same command tries again.")
    return INCOMPLETE


def _announce(work: "CalibrationRun", estimate: "Spending") -> None:
    from simulator.cli.announce import counted

    said = f"{counted(len(work.rows), 'answer')}, judge: {work.title}."
    grader, model = work.grader()
    if grader == "by_model":
        said += f" Model: {model}. At most {total(estimate)}."
    elif grader == "by_stand_in":
        said += " No model configured: a lexical stand-in grades (no language model, no cost)."
    if work.apart:
        said += f" References are read as acceptable answers parted by '{work.apart}'."
    _say(said)


def show_forecast(estimate: "Spending", *, as_json: bool) -> int:
    """The forecast of `--dry-run`."""
    if as_json:
        shown = {
            "forecast": {"judge": estimate.model_dump(exclude={"cached"})},
            "cost_usd": estimate.cost_usd,
        }
        sys.stdout.write(json.dumps(shown, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"At most {total(estimate)}. Nothing was started.\n")
    return DONE


def total(estimate: "Spending") -> str:
    """`36 model calls, about 31,000 tokens, 0.12 USD`."""
    from simulator.cli.announce import total as of_all

    return of_all({"judge": estimate})


@contextlib.contextmanager
def progress_on_stderr(rows: int) -> "Iterator[Callable[[Score], None]]":
    """A bar when stderr is a terminal; otherwise nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # only for eyes
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    what = TextColumn(told_in(language_of(os.environ), "graded"))
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), what, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=max(1, rows))
        yield lambda _: bar.advance(task)


def _say(text: str) -> None:
    from simulator.core.translations import plain

    sys.stderr.write(" ".join(plain(text).split()) + "\n")


if TYPE_CHECKING:
    from simulator.addons.bias_probes.grade import ProbeRun
    from simulator.core.types import Language
    from simulator.stats.bias import Bias, BiasRow


def perform(work: "ProbeRun") -> int:
    """Grades all probes, shows and keeps what came of it; gives the exit code."""
    pass
    from simulator.core.errors import InputError, RehearsalError
    from simulator.models.pricing import check_prices

    if work.settings.dry_run:
        return show_forecast(work.forecast(), as_json=work.settings.json_output)
    check_prices(work.settings, [("judge", work.context.models()["judge"])])
    _probing_announce(work)
    try:
        bias = _graded(work)
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        because = str(error).rstrip(".") or "interrupted"
        _say(f"error: {because}. {_kept(work)}")
        return INCOMPLETE
    paths = work.keep(bias)
    for judge, path in paths.items():
        if path is None:
            _say(f"Not stored for {judge}: more pairs of the same questions are kept already.")
    _probing_show(work, bias, paths)
    return _probing_exit_code(work)


def _graded(work: "ProbeRun") -> "Bias":
    pass

    with progress_on_stderr(len(work.contexts)) as progress, contextlib.redirect_stdout(sys.stderr):
        return asyncio.run(work.grade(progress))


def _kept(work: "ProbeRun") -> str:
    if work.settings.cache in ("on", "refresh"):
        return "What was graded is in the response cache: the same command pays for the rest only."
    return f"With --cache {work.settings.cache} nothing was kept."


def _probing_announce(work: "ProbeRun") -> None:
    from simulator.cli.announce import counted

    pass
    from simulator.core.roles import LEXICAL
    from simulator.report.judges import family_notes

    model = work.context.models()["judge"]
    said = f"{counted(len(work.probes), 'pair')}, {counted(len(work.contexts), 'answer')} to grade,"
    by_model = f"Model: {model}. At most {total(work.forecast())}."
    by_stand_in = "No model configured: lexical stand-ins grade (no language model, no cost)."
    _say(f"{said} judges: {', '.join(work.judges)}. {by_stand_in if model == LEXICAL else by_model}")
    for note in family_notes(work.settings.model_dump(), work.context.models(), "en"):
        _say(f"Warning: {note.text}" if note.alarm else note.text)


def _probing_show(work: "ProbeRun", bias: "Bias", paths: dict[str, Path | None]) -> None:
    from rich.console import Console

    from simulator.addons.bias_probes.report import ProbeReport
    from simulator.addons.calibration.report import WORDS
    from simulator.core.templates import LANGUAGES
    from simulator.report.judges import family_notes

    models, settings = work.context.models(), work.settings.model_dump()
    key = work.grader
    who: dict[Language, str] = {each: WORDS(each, key, model=models["judge"]) for each in LANGUAGES}
    notes = {language: family_notes(settings, models, language) for language in LANGUAGES}
    console = Console(stderr=work.settings.json_output)
    report = ProbeReport(bias, console)
    report.paint(who, notes)
    for path in filter(None, paths.values()):
        console.print(WORDS(report.languages[-1], "saved", path=str(path)), highlight=False, markup=False)
    if work.settings.json_output:
        sys.stdout.write(json.dumps(_probing_as_json(work, bias, paths), ensure_ascii=False) + "\n")


def _probing_as_json(work: "ProbeRun", bias: "Bias", paths: dict[str, Path | None]) -> dict[str, Any]:
    from simulator.report.judges import family_notes

    spent, models = work.context.ledger, work.context.models()
    return {
        "probes": bias.probes,
        "answers": bias.contexts,
        "seed": bias.seed,
        "source": work.source,
        "model": models["judge"],
        "judges": {
            judge: {
                "rubric": work.rubric(judge),
                "broken": [_row(row) for row in bias.broken if _is_of(row, judge)],
                "saved": str(paths[judge]) if paths[judge] else None,
            }
            for judge in work.judges
        },
        "rows": [_row(row) for row in bias.rows],
        "warnings": [note.text for note in family_notes(work.settings.model_dump(), models, "en")],
        "failed": work.states["failed"],
        "calls": {role: used.calls for role, used in spent.roles.items()},
        "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 4),
    }


def _row(row: "BiasRow") -> dict[str, Any]:
    from simulator.stats.calibration import rounded

    return rounded(row.model_dump(mode="json"))  # type: ignore[no-any-return]


def _is_of(row: "BiasRow", judge: str) -> bool:
    return row.judge in (judge, f"{judge}.correctness")


def _probing_exit_code(work: "ProbeRun") -> int:
    failed, tried = work.states["failed"], work.states["failed"] + work.states["scored"]
    if failed <= work.settings.max_failed * tried:
        return DONE
    _say(f"error: {failed} of {tried} grades failed. {_kept(work)}")
    return INCOMPLETE
