"""The right answers of a data set, output by output: their form, and the judges that fit it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias

from simulator.core.templates import Texts
from simulator.core.types import Case, Language
from simulator.data.datasets import answer_form, judges_of_form
from simulator.data.files import language_of
from simulator.grading.metric_file import DEFAULT, Metric, MetricFile, threshold_text
from simulator.grading.outputs import output_text, whole_object
from simulator.text.normalise import plain_form
from simulator.text.overlap import meteor

AnswerForm: TypeAlias = Literal[
    "label", "choice", "repeated", "number", "phrase", "code", "json", "sentence", "text"
]

FILE = Path(__file__).with_name("fitting.toml")
WORDS = Texts(FILE)
# Right answers are a few words when there are few different ones, each of them several times.
_MOST_LABELS, _LEAST_OF_EACH = 20, 4
# References of an output that METEOR is computed for: it costs more than all the rest.
_MOST_METEOR = 2000


class JudgeFit(NamedTuple):
    """A judge that fits, or does not; `threshold` is one to begin with.

    `taken`: `evaluate` uses it unless judges are named; `in_file`: it goes into a suggested metric file.
    """

    judge: str
    fits: bool
    threshold: float | None = None
    taken: bool = False
    in_file: bool = True


class AnswerProfile(NamedTuple):
    """The right answers of one output: how many rows have one, their forms, languages and lengths."""

    output: str
    rows: int
    forms: Mapping[AnswerForm, int]
    languages: Mapping[Language, int]
    different: int
    length: float
    example: str

    @property
    def form(self) -> AnswerForm:
        """The form of most of them."""
        return max(self.forms, key=lambda form: self.forms[form])

    @property
    def language(self) -> Language:
        """The language of most of them."""
        return max(self.languages, key=lambda language: self.languages[language])

    @property
    def fits(self) -> list[JudgeFit]:
        """The judges that fit them, first choice first, then those that do not."""
        return fits_of(self.form)

    def as_json(self) -> dict[str, Any]:
        """The object of `--json`, with the reasons in both languages."""
        judges = {
            kind: {
                fit.judge: {"threshold": fit.threshold, **_reasons(self.form, fit.judge)}
                for fit in self.fits
                if fit.fits == (kind == "fit")
            }
            for kind in ("fit", "unfit")
        }
        figures = self._asdict() | {"length": round(self.length, 1)}
        return {"form": self.form, **figures, **judges}


def answer_profiles(cases: Iterable[Case]) -> list[AnswerProfile]:
    """The right answers of every output, `default` being those that are no JSON object."""
    texts: dict[str, list[tuple[str, AnswerForm]]] = {}
    for case in cases:
        for output, text, form in _of_case(case):
            texts.setdefault(output, []).append((text, form))
    return [_look(output, found) for output, found in texts.items()]


def fits_of(form: AnswerForm) -> list[JudgeFit]:
    """The judges of a form: those that fit, first choice first, then those that do not."""
    row = judges_of_form(form)
    fits = [
        JudgeFit(
            each["name"], True, each.get("threshold"), each["name"] in row["taken"], each.get("file", True)
        )
        for each in row["fit"]
    ]
    return [*fits, *(JudgeFit(name, False) for name in row["unfit"])]


def reason(form: AnswerForm, judge: str, language: Language) -> str:
    """Why a judge fits a form, or does not: one line."""
    return WORDS(language, f"{form}_{judge}")


def metric_file_text(profiles: Iterable[AnswerProfile]) -> str:
    """A metric file to begin with: the judges that fit, with thresholds where they need one; "" for none."""
    entries_of = {
        profile.output: [_entry(fit) for fit in profile.fits if fit.fits and fit.in_file]
        for profile in profiles
    }
    lines = [
        f"  {json.dumps(output, ensure_ascii=False)}: [{', '.join(entries)}]"
        for output, entries in entries_of.items()
        if entries
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n" if lines else ""


class UnreachableThreshold(NamedTuple):
    """A METEOR threshold that identical text would miss, in so many references of an output.

    `value` is the METEOR of the reference itself.
    """

    output: str
    metric: Metric
    references: int
    of: int
    example: str
    value: float


def unreachable_thresholds(
    cases: Iterable[Case], file: MetricFile, tokenizer: str
) -> list[UnreachableThreshold]:
    """The METEOR thresholds that a copy of the reference itself would miss."""
    texts: dict[str, dict[str, None]] = {}
    for case in cases:
        for output, text, _ in _of_references(case):
            if len(references := texts.setdefault(output, {})) < _MOST_METEOR:
                references[text] = None
    found = []
    for output, references in texts.items():
        for metric in file.metrics(output):
            if metric.judge == "meteor" and metric.threshold is not None:
                values = {text: meteor(text, [text], tokenizer).value for text in references if text.strip()}
                low = {text: value for text, value in values.items() if value < metric.threshold - 1e-9}
                if low:
                    worst = min(low, key=lambda text: (low[text], text))
                    found.append(
                        UnreachableThreshold(output, metric, len(low), len(values), worst, low[worst])
                    )
    return found


def _of_case(case: Case) -> Iterable[tuple[str, str, AnswerForm]]:
    """The label of a row, where it has one, instead of a reference that is plain text."""
    if case.label:
        yield DEFAULT, case.label, "choice" if case.choices else "label"
    yield from (each for each in _of_references(case) if not (case.label and each[0] == DEFAULT))


def _of_references(case: Case) -> Iterable[tuple[str, str, AnswerForm]]:
    """The outputs of a row's first right answer, with the form of each."""
    references = case.references_at(1)
    if not references:
        return
    found = whole_object(references[0])
    if found is None:
        yield DEFAULT, references[0], answer_form(references[0])
        return
    for key, value in found.items():
        text = output_text(value)
        yield key, text, "json" if isinstance(value, dict | list) else answer_form(text)


def _look(output: str, found: list[tuple[str, AnswerForm]]) -> AnswerProfile:
    forms = Counter(form for _, form in found)
    different = len({plain_form(text) for text, _ in found})
    common = forms.most_common(1)[0][0]
    few = different <= _MOST_LABELS and different * _LEAST_OF_EACH <= len(found)
    if few and common in ("phrase", "number"):
        forms = Counter({"repeated": len(found)})
        common = "repeated"
    return AnswerProfile(
        output=output,
        rows=len(found),
        forms=dict(forms.most_common()),
        languages=dict(Counter(language_of(text) for text, _ in found).most_common()),
        different=different,
        length=median(len(text) for text, _ in found),
        example=next((text for text, form in found if form == common), found[0][0]),
    )


def _entry(fit: JudgeFit) -> str:
    name = json.dumps(fit.judge, ensure_ascii=False)
    return (
        name if fit.threshold is None else f'{{"name": {name}, "threshold": {threshold_text(fit.threshold)}}}'
    )


def _reasons(form: AnswerForm, judge: str) -> dict[str, str]:
    return {language: reason(form, judge, language) for language in ("ja", "en")}
