"""`doctor CASES`: the forms of the right answers of a data set, and which judges fit them."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.cli.terminal import DONE, print_json
from simulator.core.messages import shown
from simulator.core.settings import Settings
from simulator.core.translations import safe_text
from simulator.core.types import Language
from simulator.grading.fitting import (
    WORDS,
    AnswerProfile,
    UnreachableThreshold,
    answer_profiles,
    metric_file_text,
    reason,
    unreachable_thresholds,
)
from simulator.grading.metric_file import DEFAULT, read_metric_file

if TYPE_CHECKING:
    from simulator.data.cases import DataSet

_LONGEST = 60


def examine_cases(name: str, outputs: str | None, settings: Settings) -> int:
    """Prints the forms, the judges and a metric file; with `outputs` also unreachable thresholds."""
    file = read_metric_file(outputs) if outputs else None
    data = _read(name, settings)
    rows = data.rows(settings.language, None, settings.limit)
    forms = answer_profiles(rows)
    warnings = unreachable_thresholds(rows, file, settings.tokenizer) if file else []
    if settings.json_output:
        shown = {
            "cases": name,
            "rows": len(rows),
            "skipped": data.skipped.as_json(),
            "outputs": {look.output: look.as_json() for look in forms},
            "metrics": json.loads(metric_file_text(forms) or "null"),
            "evaluate": list(data.profile.judges(offline=_is_offline(settings)).judges),
            "warnings": [_warning_json(warning) for warning in warnings],
        }
        print_json(shown)
        return DONE
    language: Language = "en" if _is_english(data) else "ja"
    for line in _lines(name, len(rows), forms, data, warnings, language, offline=_is_offline(settings)):
        sys.stdout.write(safe_text(line) + "\n")
    return DONE


def _read(name: str, settings: Settings) -> "DataSet":
    from simulator.data.cases import DatasetRequest
    from simulator.runner.plan import read_data

    request = DatasetRequest(settings.case_language, asks=False, columns=settings.columns)
    return read_data(name, request, settings)


def _is_offline(settings: Settings) -> bool:
    from simulator.core.roles import endpoints

    return endpoints(settings)["judge"] is None


def _is_english(data: "DataSet") -> bool:
    """Whether most of the first 200 rows are English."""
    rows = data.rows()
    english = sum(rows[at].language == "en" for at in range(min(len(rows), 200)))
    return 2 * english > min(len(rows), 200)


def _lines(  # noqa: PLR0917 - all that is shown
    name: str,
    rows: int,
    forms: Sequence[AnswerProfile],
    data: "DataSet",
    warnings: Sequence[UnreachableThreshold],
    language: Language,
    *,
    offline: bool,
) -> Iterator[str]:
    yield WORDS(language, "title", file=Path(name).name, rows=f"{rows:,}")
    if data.skipped.count:
        first = shown(data.skipped.listed[0].message, language)
        yield WORDS(language, "left_out", n=f"{data.skipped.count:,}", first=first)
    if not forms:
        yield WORDS(language, "none")
    yield _chosen_judges(data, language, offline=offline)
    for look in forms:
        yield ""
        yield from _output_lines(look, rows, language, data.profile.form)
    yield from (f"! {_warning(warning, language)}" for warning in warnings)
    if file := metric_file_text(forms).rstrip():
        yield ""
        yield f"{WORDS(language, 'file')}:"
        yield file
        yield WORDS(language, "note")


def _chosen_judges(data: "DataSet", language: Language, *, offline: bool) -> str:
    """The judges that `evaluate` chooses where none are named."""
    from simulator.data.datasets import judges_of_form

    key = "taken_offline" if offline and "offline" in judges_of_form(data.profile.form) else "taken"
    judges = ("、" if language == "ja" else ", ").join(data.profile.judges(offline=offline).judges)
    return f"{WORDS(language, 'default')} {WORDS(language, key, judges=judges)}"


def _output_lines(look: AnswerProfile, rows: int, language: Language, form: str) -> Iterator[str]:
    comma = "、" if language == "ja" else ", "
    languages = comma.join(f"{WORDS(language, key)} {n:,}" for key, n in look.languages.items())
    yield WORDS(
        language,
        "output",
        output=WORDS(language, "whole") if look.output == DEFAULT else look.output,
        form=comma.join([WORDS(language, look.form), *_other_forms(look, language)]),
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


def _other_forms(look: AnswerProfile, language: Language) -> list[str]:
    """The other forms there are, with how many rows have them."""
    return [f"{WORDS(language, form)} {n:,}" for form, n in look.forms.items() if form != look.form]


def _warning(warning: UnreachableThreshold, language: Language) -> str:
    return WORDS(
        language,
        "meteor",
        output=WORDS(language, "whole") if warning.output == DEFAULT else warning.output,
        threshold=f"{warning.metric.threshold:g}",
        n=f"{warning.references:,}",
        of=f"{warning.of:,}",
        example=_short(warning.example),
        value=f"{warning.value:.4g}",
    )


def _warning_json(warning: UnreachableThreshold) -> dict[str, object]:
    fields = {key: getattr(warning, key) for key in ("output", "references", "of", "example")}
    metric = {
        "metric": warning.metric.name,
        "threshold": warning.metric.threshold,
        "value": round(warning.value, 4),
    }
    return fields | metric | {"message": _warning(warning, "en")}


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _LONGEST].split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
