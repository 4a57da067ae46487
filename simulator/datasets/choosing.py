"""Who grades when nobody is named: the judges that fit the form of the data."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.shelves import our_name
from simulator.core.templates import read_toml
from simulator.core.types import Case
from simulator.datasets.forms import Form, form_of, usual_form

FILE = Path(__file__).with_suffix(".toml")
_TOLD = {"choice": "choices with a label", "label": "a label", "none": "no references"}


@cache
def table(form: str) -> dict[str, Any]:
    """What is known of a form: which judges are taken, which fit, and which do not."""
    found: dict[str, Any] = read_toml(FILE)["forms"][form]
    return found


def taken(form: str, *, offline: bool) -> tuple[str, ...]:
    """The judges that are taken where nobody names any; the first one decides what is right."""
    known = table(form)
    return tuple(map(our_name, known.get("offline", known["taken"]) if offline else known["taken"]))


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

    @property
    def form(self) -> str:
        """What most rows have: choices with a label, a label, references of a form; or `none` of these."""
        if 2 * self.choices > self.rows:
            return "choice"
        if 2 * self.labels > self.rows:
            return "label"
        form = usual_form(self.forms.elements())
        return form if form is not None and 2 * self.references > self.rows else "none"

    def judges(self, *, offline: bool = False) -> Chosen:
        """The judges of the form of most rows; `offline` says that no model judges."""
        told = _TOLD.get(self.form, f"references: {self.form}")
        last = "; no model to judge, so what compares words comes first"
        more = last if offline and "offline" in table(self.form) else ""
        return Chosen(taken(self.form, offline=offline), told + more)
