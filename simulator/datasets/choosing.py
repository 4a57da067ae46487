"""Who grades when nobody is named: the judges that fit the form of the data."""

from collections import Counter
from typing import NamedTuple

from simulator.datasets.forms import Form, form_of, usual_form
from simulator.types import Case

# Judges by the form that most references have, the first one decides what is right.
BY_FORM: dict[Form, tuple[str, ...]] = {
    "number": ("exact_match",),
    "word": ("exact_match", "contains"),
    "json": ("exact_match",),
    "code": ("rouge_l", "exact_match"),
    "sentence": ("rouge_l", "meteor", "cosine_similarity"),
    "text": ("rouge_l", "cosine_similarity"),
}
WITHOUT_REFERENCES = ("relevance", "groundedness", "fluency")


class Chosen(NamedTuple):
    """The judges, and by what of the data they were chosen: a word to say it with."""

    judges: tuple[str, ...]
    why: str


class Profile:
    """What the rows of a data set have, counted as they are read.

    `names` are the labels, but for choices, and `columns` those of which no field of a case is made.
    """

    def __init__(self) -> None:
        """No row yet."""
        self.rows = self.labels = self.choices = self.references = 0
        self.forms: Counter[Form] = Counter()
        self.names: dict[str, None] = {}
        self.columns: dict[str, None] = {}

    def add(self, case: Case) -> None:
        """One more row."""
        self.rows += 1
        self.columns |= dict.fromkeys(case.values)
        if case.label is not None:
            self.labels += 1
            self.choices += bool(case.choices)
            if not case.choices:
                self.names[case.label] = None
        if case.references_at(1):
            self.references += 1
            self.forms[form_of(case.references_at(1)[0])] += 1

    def judges(self) -> Chosen:
        """Choices with a label, labels, references by their form, or nothing to compare with."""
        if 2 * self.choices > self.rows:
            return Chosen(("choice",), "choices with a label")
        if 2 * self.labels > self.rows:
            return Chosen(("label",), "a label")
        form = usual_form(self.forms.elements())
        if form is not None and 2 * self.references > self.rows:
            return Chosen(BY_FORM[form], f"references: {form}")
        return Chosen(WITHOUT_REFERENCES, "no references")
