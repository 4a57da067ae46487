"""`doctor CASES`: the forms of the right answers of a data set, and which judges fit them."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from simulator.cli.terminal import DONE, print_json
from simulator.core.messages import Message, _, ngettext, pgettext, safe_text, shown
from simulator.core.roles import endpoints
from simulator.core.settings import Settings
from simulator.core.types import Language
from simulator.data.cases import DataSet, DatasetRequest
from simulator.data.datasets import judges_of_form
from simulator.grading.fitting import (
    FORMS,
    AnswerProfile,
    UnreachableThreshold,
    answer_profiles,
    reason,
    suggested_file,
    unreachable_thresholds,
)
from simulator.grading.metric_file import DEFAULT, read_metric_file
from simulator.runner.plan import read_data

_LONGEST = 60
_LANGUAGES: dict[str, Message] = {"ja": _("Japanese"), "en": _("English")}
_DEFAULT = pgettext("a judge that is taken by default", "*")
_FIT, _UNFIT = pgettext("a judge that fits", "+"), pgettext("a judge that does not fit", "-")


def examine_cases(name: str, outputs: str | None, settings: Settings) -> int:
    """Prints the forms, the judges and a metric file; with `outputs` also unreachable thresholds."""
    file = read_metric_file(outputs) if outputs else None
    request = DatasetRequest(settings.case_language, asks=False, columns=settings.columns)
    data, offline = read_data(name, request, settings), endpoints(settings)["judge"] is None
    rows = data.rows(settings.language, None, settings.limit)
    forms = answer_profiles(rows)
    warnings = unreachable_thresholds(rows, file, settings.tokenizer) if file else []
    if settings.json_output:
        figures = {
            "cases": name,
            "rows": len(rows),
            "skipped": data.skipped.as_json(),
            "outputs": {look.output: look.as_json() for look in forms},
            "metrics": json.loads(suggested_file(forms) or "null"),
            "evaluate": list(data.profile.judges(offline=offline).judges),
            "warnings": [_warning_json(warning) for warning in warnings],
        }
        print_json(figures)
        return DONE
    language: Language = "en" if _is_english(data) else "ja"
    for line in _lines(name, len(rows), forms, data, warnings, offline=offline):
        sys.stdout.write(safe_text(shown(line, language)) + "\n")
    return DONE


def _is_english(data: DataSet) -> bool:
    """Whether most of the first 200 rows are English."""
    rows = data.rows()
    english = sum(rows[at].language == "en" for at in range(min(len(rows), 200)))
    return 2 * english > min(len(rows), 200)


def _lines(
    name: str,
    rows: int,
    forms: Sequence[AnswerProfile],
    data: DataSet,
    warnings: Sequence[UnreachableThreshold],
    *,
    offline: bool,
) -> Iterator[Message | str]:
    yield ngettext(
        "Right answers and the judges that fit them  {file} ({n} row)",
        "Right answers and the judges that fit them  {file} ({n} rows)",
        n=rows,
        file=Path(name).name,
    )
    if data.skipped.count:
        first = data.skipped.listed[0].message
        yield ngettext(
            "{n} row left out, not readable: {first}",
            "{n} rows left out, not readable: {first}",
            n=data.skipped.count,
            first=first,
        )
    if not forms:
        yield _(
            "No row has a reference or a label. Judges that need none: relevance, groundedness, fluency"
            " (--judges)."
        )
    yield _chosen_judges(data, offline=offline)
    for look in forms:
        yield ""
        yield from _output_lines(look, rows, data.profile.form)
    yield from (_("! {warning}", warning=_warning(warning)) for warning in warnings)
    if file := suggested_file(forms).rstrip():
        yield ""
        yield _("Metric file (save it, for example as metric_output_info.json, for evaluate --outputs):")
        yield file
        yield _(
            "Thresholds are there to begin with: thresholds suggest --write takes them from answers"
            " labelled right"
            " and wrong."
        )


def _chosen_judges(data: DataSet, *, offline: bool) -> Message:
    """The judges that `evaluate` chooses where none are named."""
    judges = data.profile.judges(offline=offline).judges
    if offline and "offline" in judges_of_form(data.profile.form):
        return _(
            "* evaluate takes these unless told: {judges} (no model to judge, so what compares words"
            " comes first)",
            judges=judges,
        )
    return _("* evaluate takes these unless told: {judges}", judges=judges)


def _output_lines(look: AnswerProfile, rows: int, form: str) -> Iterator[Message]:
    others = [_("{form} {n}", form=FORMS[each], n=n) for each, n in look.forms.items() if each != look.form]
    yield _(
        "Output {output}: {form} ({n}/{rows}, {languages}, {different} different, median length"
        " {length:g} characters)",
        output=_output_name(look.output),
        form=(FORMS[look.form], *others),
        n=look.rows,
        rows=rows,
        languages=[_("{form} {n}", form=_LANGUAGES[key], n=n) for key, n in look.languages.items()],
        different=look.different,
        length=float(look.length),
    )
    yield _("  e.g. {example}", example=_short(look.example))
    widest = max(len(fit.judge) for fit in look.fits)
    by_default = look.output == DEFAULT and look.form in {form, "repeated"}
    for fit in look.fits:
        mark = _DEFAULT if fit.taken and by_default else _FIT if fit.fits else _UNFIT
        judge, why = f"{fit.judge:{widest}}", reason(look.form, fit.judge)
        if fit.threshold is None:
            yield _("  {mark} {judge}  {why}", mark=mark, judge=judge, why=why)
        else:
            yield _(
                "  {mark} {judge}  {why} (threshold to begin with: {threshold:g})",
                mark=mark,
                judge=judge,
                why=why,
                threshold=float(fit.threshold),
            )


def _output_name(output: str) -> Message | str:
    return _("(whole answer)") if output == DEFAULT else output


def _warning(warning: UnreachableThreshold) -> Message:
    return _(
        "Output {output}: a METEOR threshold of {threshold:g} is missed by the reference itself ({n} of {of},"
        " e.g. '{example}' has {value:.4g}). Such answers pass all the same; lower the threshold, or use em.",
        output=_output_name(warning.output),
        threshold=warning.metric.threshold,
        n=warning.references,
        of=warning.of,
        example=_short(warning.example),
        value=warning.value,
    )


def _warning_json(warning: UnreachableThreshold) -> dict[str, object]:
    fields = {key: getattr(warning, key) for key in ("output", "references", "of", "example")}
    metric = {
        "metric": warning.metric.name,
        "threshold": warning.metric.threshold,
        "value": round(warning.value, 4),
    }
    return fields | metric | {"message": str(_warning(warning))}


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _LONGEST].split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
