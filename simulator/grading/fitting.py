"""The right answers of a data set, output by output: their form, and the judges that fit it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias

from simulator.core.messages import Message, _, shown
from simulator.core.templates import LANGUAGES
from simulator.core.types import Case, Language
from simulator.data.datasets import answer_form, judges_of_form
from simulator.data.files import language_of
from simulator.grading.metric_file import DEFAULT, Metric, MetricFile, metric_file_text
from simulator.grading.outputs import output_text, whole_object
from simulator.text.normalise import plain_form
from simulator.text.normalise import tokenizer as tokenizer_called

AnswerForm: TypeAlias = Literal[
    "label", "choice", "repeated", "number", "phrase", "code", "json", "sentence", "text"
]

FORMS: Mapping[AnswerForm, Message] = {
    "label": _("labels"),
    "choice": _("choices"),
    "repeated": _("a few words, again and again"),
    "number": _("numbers"),
    "phrase": _("short phrases"),
    "code": _("code or commands"),
    "json": _("JSON"),
    "sentence": _("sentences"),
    "text": _("long explanations"),
}
# Why a judge fits a form of right answers, or does not; the table is data/choosing.toml.
_REASONS: Mapping[AnswerForm, Mapping[str, Message]] = {
    "label": {
        "label": _("reads one of a few words from the answer, and counts accuracy and F1"),
        "em": _("where the answer is nothing but the label: it is the same or it is not"),
        "meteor": _("short labels are below 1 even where they are the same (one word has 0.5)"),
        "cosine_similarity": _("opposite labels (positive, negative) lie close together"),
        "gpt_similarity": _("a model call for what comparing decides"),
    },
    "choice": {
        "choice": _("reads the letter or the text of a choice from the answer, and counts accuracy"),
        "em": _("an answer by letter is not the text of the choice, nor the other way round"),
        "rougeL": _("choices that share words score high though they are wrong"),
        "gpt_similarity": _("a model call for what comparing decides"),
    },
    "repeated": {
        "em": _(
            "one of a few words: it is the same or it is not (call the column label, and there is F1, too)"
        ),
        "contains": _("right where the word stands within a sentence, too"),
        "meteor": _("short words are below 1 even where they are the same (one word has 0.5)"),
        "cosine_similarity": _("opposite words (positive, negative) lie close together"),
        "gpt_similarity": _("a model call for what comparing decides"),
    },
    "number": {
        "contains": _("right where the number stands within a sentence, too"),
        "em": _("the same or not, with 1.0, 1 and full-width digits read alike"),
        "rougeL": _("1000 and 1500 are just different: 0 or 1, however far apart"),
        "meteor": _("one number has 0.5 even where it is the same"),
        "cosine_similarity": _("different numbers lie close together"),
    },
    "phrase": {
        "em": _("hardly anything to word differently: it is the same or it is not"),
        "contains": _("right where the phrase stands within a sentence, too"),
        "meteor": _(
            "the shorter, the farther from 1 even where it is the same (0.5 for one word, 0.94 for two)"
        ),
        "rougeL": _("another name that differs by a word scores high"),
        "cosine_similarity": _("another name of the same kind scores high"),
    },
    "code": {
        "rougeL": _("counts what stands in the same order: an argument too few or too many costs its share"),
        "em": _("counts those that do not differ by a character"),
        "meteor": _("hardly minds words too many"),
        "cosine_similarity": _("a command that does not run lies close to the right one"),
        "gpt_similarity": _("overlooks a single character, and costs a model call"),
    },
    "json": {
        "em": _("the same or not, after keys are sorted and spaces are gone"),
        "rougeL": _("brackets and keys in common score high, whatever the values"),
        "cosine_similarity": _("other values hardly show in an embedding"),
    },
    "sentence": {
        "cosine_similarity": _("the same meaning scores high, however it is put"),
        "gpt_similarity": _("a model reads how near the meanings are (negations and figures too)"),
        "gpt_correctness": _("a model reads whether its point is right"),
        "em": _("one other word, and it is not the same"),
        "rougeL": _(
            "a first look without a model (another order or wording scores low though the meaning is"
            " the same)"
        ),
        "meteor": _("an opposite sentence that differs by a word can beat a paraphrase"),
    },
    "text": {
        "gpt_correctness": _("a model reads whether the point of a long explanation is right"),
        "gpt_similarity": _("a model reads how near the meanings are (negations and figures too)"),
        "em": _("long texts are never the same"),
        "rougeL": _("a first look without a model (changes with wording and length though both are right)"),
        "meteor": _("changes with wording and length though both are right"),
        "cosine_similarity": _("the same topic lies close together, mistakes and all"),
    },
}
# Right answers are a few words when there are few different ones, each of them several times.
_MOST_LABELS, _LEAST_OF_EACH = 20, 4
# References of an output that are looked at for METEOR.
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


def reason(form: AnswerForm, judge: str) -> Message:
    """Why a judge fits a form, or does not: one line."""
    return _REASONS[form][judge]


def suggested_file(profiles: Iterable[AnswerProfile]) -> str:
    """A metric file to begin with: the judges that fit, with thresholds where they need one; "" for none."""
    return metric_file_text(
        {
            (profile.output, fit.judge): fit.threshold
            for profile in profiles
            for fit in profile.fits
            if fit.fits and fit.in_file
        }
    )


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
    """The METEOR thresholds that a copy of the reference would miss: of n tokens it has 1 - 0.5 / n³."""
    cut = tokenizer_called(tokenizer).cut
    texts: dict[str, dict[str, None]] = {}
    for case in cases:
        for output, text, _output in _of_references(case):
            if len(references := texts.setdefault(output, {})) < _MOST_METEOR:
                references[text] = None
    found = []
    for output, references in texts.items():
        for metric in file.metrics(output):
            if metric.judge == "meteor" and metric.threshold is not None:
                lengths = {text: len(cut(text)) for text in references if text.strip()}
                values = {text: 1 - 0.5 / n**3 if n else 0.0 for text, n in lengths.items()}
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


def _reasons(form: AnswerForm, judge: str) -> dict[str, str]:
    return {language: shown(reason(form, judge), language) for language in LANGUAGES}
