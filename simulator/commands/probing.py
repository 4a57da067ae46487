"""`calibrate --probes`: what moves the judges that should not, shown and stored."""

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.addons.bias_probes.grade import ProbeRun
    from simulator.core.types import Language
    from simulator.stats.bias import Bias, BiasRow

DONE, INCOMPLETE = 0, 3


def perform(work: "ProbeRun") -> int:
    """Grades all probes, shows and keeps what came of it; gives the exit code."""
    from simulator.commands.calibrate import show_forecast
    from simulator.core.errors import InputError, RehearsalError
    from simulator.models.pricing import check_prices

    if work.settings.dry_run:
        return show_forecast(work.forecast(), as_json=work.settings.json_output)
    check_prices(work.settings, [("judge", work.stage.models()["judge"])])
    _announce(work)
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
    _show(work, bias, paths)
    return _exit_code(work)


def _graded(work: "ProbeRun") -> "Bias":
    from simulator.commands.calibrate import progress_on_stderr

    with progress_on_stderr(len(work.exhibits)) as progress, contextlib.redirect_stdout(sys.stderr):
        return asyncio.run(work.grade(progress))


def _kept(work: "ProbeRun") -> str:
    if work.settings.cache in ("on", "refresh"):
        return "What was graded is in the response cache: the same command pays for the rest only."
    return f"With --cache {work.settings.cache} nothing was kept."


def _announce(work: "ProbeRun") -> None:
    from simulator.commands.announce import counted
    from simulator.commands.calibrate import total
    from simulator.core.roles import LEXICAL
    from simulator.report.judges import family_notes

    model = work.stage.models()["judge"]
    said = f"{counted(len(work.probes), 'pair')}, {counted(len(work.exhibits), 'answer')} to grade,"
    by_model = f"Model: {model}. At most {total(work.forecast())}."
    by_stand_in = "No model configured: lexical stand-ins grade (no language model, no cost)."
    _say(f"{said} judges: {', '.join(work.judges)}. {by_stand_in if model == LEXICAL else by_model}")
    for note in family_notes(work.settings.model_dump(), work.stage.models(), "en"):
        _say(f"Warning: {note.text}" if note.alarm else note.text)


def _show(work: "ProbeRun", bias: "Bias", paths: dict[str, Path | None]) -> None:
    from rich.console import Console

    from simulator.addons.bias_probes.report import ProbeReport
    from simulator.addons.calibration.report import WORDS
    from simulator.core.templates import LANGUAGES
    from simulator.report.judges import family_notes

    models, settings = work.stage.models(), work.settings.model_dump()
    key = work.grader
    who: dict[Language, str] = {each: WORDS(each, key, model=models["judge"]) for each in LANGUAGES}
    notes = {language: family_notes(settings, models, language) for language in LANGUAGES}
    console = Console(stderr=work.settings.json_output)
    report = ProbeReport(bias, console)
    report.paint(who, notes)
    for path in filter(None, paths.values()):
        console.print(WORDS(report.languages[-1], "saved", path=str(path)), highlight=False, markup=False)
    if work.settings.json_output:
        sys.stdout.write(json.dumps(_as_json(work, bias, paths), ensure_ascii=False) + "\n")


def _as_json(work: "ProbeRun", bias: "Bias", paths: dict[str, Path | None]) -> dict[str, Any]:
    from simulator.report.judges import family_notes

    spent, models = work.stage.ledger, work.stage.models()
    return {
        "probes": bias.probes,
        "answers": bias.exhibits,
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


def _exit_code(work: "ProbeRun") -> int:
    failed, tried = work.states["failed"], work.states["failed"] + work.states["scored"]
    if failed <= work.settings.max_failed * tried:
        return DONE
    _say(f"error: {failed} of {tried} grades failed. {_kept(work)}")
    return INCOMPLETE


def _say(text: str) -> None:
    from simulator.core.translations import plain

    sys.stderr.write(" ".join(plain(text).split()) + "\n")
