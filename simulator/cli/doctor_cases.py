"""`doctor CASES`: what the right answers of a data set look like, and which judges fit them."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.core.settings import Settings
from simulator.core.translations import told_in
from simulator.core.types import Language
from simulator.grading.fitting import (
    WORDS,
    Look,
    UnreachableThreshold,
    looks,
    metric_file,
    missed_by_identical,
    reason,
)
from simulator.grading.metric_file import DEFAULT, read_outputs

if TYPE_CHECKING:
    from simulator.data.datasets import DataSet

_LONGEST = 60


def examine_cases(name: str, outputs: str | None, settings: Settings) -> int:
    """Prints the forms, the judges and a metric file; with `outputs` also what METEOR would call wrong."""
    file = read_outputs(outputs) if outputs else None
    data = _read(name, settings)
    rows = data.rows(settings.language, None, settings.limit)
    found = looks(rows)
    warned = missed_by_identical(rows, file, settings.tokenizer) if file else []
    if settings.json_output:
        told = {
            "cases": name,
            "rows": len(rows),
            "skipped": data.skipped.as_json(),
            "outputs": {look.output: look.as_json() for look in found},
            "metrics": json.loads(metric_file(found) or "null"),
            "evaluate": list(data.profile.judges(offline=_is_offline(settings)).judges),
            "warnings": [_told(each) for each in warned],
        }
        sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
        return 0
    from simulator.core.translations import plain

    language: Language = "en" if _english(found, data) else "ja"
    for line in _lines(name, len(rows), found, data, warned, language, offline=_is_offline(settings)):
        sys.stdout.write(plain(line) + "\n")
    return 0


def _read(name: str, settings: Settings) -> "DataSet":
    from simulator.data.datasets import DatasetRequest, dataset_of, read_dataset
    from simulator.runner.plan import already_read

    fixed = settings.language if settings.language in ("ja", "en") else None
    wish = DatasetRequest(language=fixed, asks=False, columns=settings.columns)
    cases = already_read(name, fixed, settings)
    return read_dataset(Path(name), wish) if cases is None else dataset_of(name, cases, wish)


def _is_offline(settings: Settings) -> bool:
    from simulator.core.roles import endpoints

    return endpoints(settings)["judge"] is None


def _english(found: Sequence[Look], data: "DataSet") -> bool:
    """By the answers; labels and numbers have no language, then by the questions."""
    rows = data.rows()
    english = sum(rows[at].language == "en" for at in range(min(len(rows), 200)))
    return 2 * english > min(len(rows), 200)


def _lines(  # noqa: PLR0917 - all that is told
    name: str,
    rows: int,
    found: Sequence[Look],
    data: "DataSet",
    warned: Sequence[UnreachableThreshold],
    language: Language,
    *,
    offline: bool,
) -> Iterator[str]:
    yield WORDS(language, "title", file=Path(name).name, rows=f"{rows:,}")
    if data.skipped.count:
        first = told_in(language, str(data.skipped.listed[0]))
        yield WORDS(language, "left_out", n=f"{data.skipped.count:,}", first=first)
    if not found:
        yield WORDS(language, "none")
    yield _taken(data, language, offline=offline)
    for look in found:
        yield ""
        yield from _of_output(look, rows, language, data.profile.form)
    yield from (f"! {_warning(each, language)}" for each in warned)
    if offered := metric_file(found).rstrip():
        yield ""
        yield f"{WORDS(language, 'file')}:"
        yield offered
        yield WORDS(language, "note")


def _taken(data: "DataSet", language: Language, *, offline: bool) -> str:
    """Which judges grade where nobody names any, as `evaluate` chooses them."""
    from simulator.data.datasets import table

    key = "taken_offline" if offline and "offline" in table(data.profile.form) else "taken"
    judges = ("、" if language == "ja" else ", ").join(data.profile.judges(offline=offline).judges)
    return f"{WORDS(language, 'default')} {WORDS(language, key, judges=judges)}"


def _of_output(look: Look, rows: int, language: Language, form: str) -> Iterator[str]:
    comma = "、" if language == "ja" else ", "
    languages = comma.join(f"{WORDS(language, key)} {n:,}" for key, n in look.languages.items())
    yield WORDS(
        language,
        "output",
        output=WORDS(language, "whole") if look.output == DEFAULT else look.output,
        form=comma.join([WORDS(language, look.form), *_others(look, language)]),
        n=f"{look.rows:,}",
        rows=f"{rows:,}",
        languages=languages,
        different=f"{look.different:,}",
        length=f"{look.length:g}",
    )
    yield f"  {WORDS(language, 'example')} {_short(look.example)}"
    widest = max(len(fit.judge) for fit in look.fits)
    by_default = look.output == DEFAULT and look.form in {form, "repeated"}
    for fit in look.fits:
        mark = WORDS(language, "default" if fit.taken and by_default else "fit" if fit.fits else "unfit")
        begin = "" if fit.threshold is None else WORDS(language, "begin", threshold=f"{fit.threshold:g}")
        yield f"  {mark} {fit.judge:{widest}}  {reason(look.form, fit.judge, language)}{begin}"


def _others(look: Look, language: Language) -> list[str]:
    """The other forms there are, with how many rows have them."""
    return [f"{WORDS(language, form)} {n:,}" for form, n in look.forms.items() if form != look.form]


def _warning(each: UnreachableThreshold, language: Language) -> str:
    return WORDS(
        language,
        "meteor",
        output=WORDS(language, "whole") if each.output == DEFAULT else each.output,
        threshold=f"{each.metric.threshold:g}",
        n=f"{each.references:,}",
        of=f"{each.of:,}",
        example=_short(each.example),
        value=f"{each.value:.4g}",
    )


def _told(each: UnreachableThreshold) -> dict[str, object]:
    kept = {key: getattr(each, key) for key in ("output", "references", "of", "example")}
    metric = {"metric": each.metric.name, "threshold": each.metric.threshold, "value": round(each.value, 4)}
    return kept | metric | {"message": _warning(each, "en")}


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _LONGEST].split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
