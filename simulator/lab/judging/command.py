"""`calibrate --probes`: what sways a judge, on pairs of answers that differ in one known way."""

import sys
from pathlib import Path

from simulator.api.progress import stdout_to_stderr
from simulator.cli.forecast import judged, spent_json
from simulator.cli.terminal import exit_code_of_failures, print_json, say
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import _, ngettext, safe_text, shown
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES
from simulator.lab.judging import report
from simulator.lab.judging.grade import ProbeRequest, ProbeRun
from simulator.report.judges import family_notes
from simulator.report.painters.console import print_report
from simulator.results.figures import rounded


def probe(
    judges: str,
    settings: Settings,
    folder: Path,
    *,
    cases: str | None,
    language: str | None,
    limit: int | None,
) -> int:
    """Tries judges (names with commas) together, for they see the same pairs; returns the exit code."""
    names = tuple(dict.fromkeys(name.strip() for name in judges.split(",") if name.strip()))
    if not names:
        raise InputError(_("--judge names nobody."))
    spoken = next((option for option in LANGUAGES if option == language), None)
    if language and spoken is None:
        raise UnknownName(_("language"), language, LANGUAGES)
    with stdout_to_stderr():
        run = ProbeRun(ProbeRequest(names, cases, spoken, limit), settings, folder)
    return _probe(run)


def _probe(run: ProbeRun) -> int:
    """Grades the pairs of probes, shows and saves what moved the judge; returns the exit code."""
    settings, models = run.settings, run.context.models()
    about = _(
        "{pairs}, {answers} to grade, judges: {judges}.",
        pairs=ngettext("{n} pair", "{n} pairs", n=len(run.probes)),
        answers=ngettext("{n} answer", "{n} answers", n=len(run.contexts)),
        judges=", ".join(run.judges),
    )
    # Said before money is spent: a judge of the bot's family may be the wrong one to calibrate.
    notes = family_notes(settings.model_dump(), models)
    if not settings.dry_run:
        for note in notes:
            say(_("Warning: {note}", note=note.text) if note.tone == "alarm" else note.text)
    pieces, most = len(run.contexts), run.forecast()
    bias = judged(settings, run.grade, about, models["judge"], pieces=pieces, most=most)
    paths = run.keep(bias)
    for judge in (judge for judge, path in paths.items() if path is None):
        say(_("Not saved for {judge}: there is a result from more pairs of the same questions.", judge=judge))
    languages = report.languages_of(bias)
    for language in languages:
        shown_probes = report.probes_report(bias, language, run.grader, models["judge"], notes)
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
                "warnings": [str(note.text) for note in notes],
                "failed": run.states["failed"],
                **spent_json(run.context.ledger),
            }
        )
    failed = run.states["failed"]
    return exit_code_of_failures(failed, failed + run.states["scored"], settings.max_failed)
