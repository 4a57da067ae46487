"""Single-turn data sets: valid and skipped rows of a file, their labels, and the judges that fit them."""

import contextlib
import json
import random
import re
import tempfile
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, overload

from simulator.core.errors import CaseFileError, InputError
from simulator.core.messages import Message, Sentence, _, restored, stored
from simulator.core.settings import Sample
from simulator.core.shelves import canonical_judge
from simulator.core.templates import read_toml
from simulator.core.types import Case, Conversation, Language, compact
from simulator.data.cases import case_of, row_id
from simulator.data.files import quote
from simulator.data.readers import read_rows
from simulator.data.values import Row, RowFault, field_of, has_question, row_fault
from simulator.text.choices import place_of
from simulator.text.normalise import plain_form
from simulator.text.segments import CJK

# By label, the texts that may stand for it in an answer, the label itself included.
Labels: TypeAlias = Mapping[str, tuple[str, ...]]


def labels_in(cases: Iterable[Case]) -> tuple[str, ...]:
    """The labels of these cases: numbers by size, others in the order of their first row."""
    return sort_labels(case.label for case in cases if case.label)


def sort_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once: numbers by size, others in their order."""
    unique = dict.fromkeys(labels)
    if unique and all(label.removeprefix("-").isdecimal() for label in unique):
        return tuple(sorted(unique, key=float))
    return tuple(unique)


def label_forms(
    labels: Iterable[str], wordings: Iterable[Mapping[str, str]] = ()
) -> dict[str, tuple[str, ...]]:
    """By label the texts that stand for it; `wordings` are those of a prompt, one mapping per language.

    The labels that a prompt names come first, in its order.
    """
    by_language = list(wordings)
    every = dict.fromkeys([*(label for wording in by_language for label in wording), *labels])
    return {
        label: tuple(dict.fromkeys([*(wording[label] for wording in by_language if label in wording), label]))
        for label in every
    }


def labels_of(case: Case, labels: Labels) -> Labels:
    """The labels that a row chooses from: its own choices when its label is one of them, else all."""
    if case.label is not None and case.label in case.choices:
        return {choice: labels.get(choice, (choice,)) for choice in case.choices}
    return labels


def label_problem(label: str | None, allowed: Collection[str]) -> Sentence | str | None:
    """The error in the label of one row, to be put behind its file and line; None when it is valid.

    An empty `allowed` allows every label.
    """
    if label is None or not label.strip():
        return _("the label is empty; every row needs one.")
    if allowed and label not in allowed:
        return _("the label {label} is none of: {allowed}.", label=quote(label), allowed=", ".join(allowed))
    return None


def label_set_problem(labels: Collection[str]) -> Sentence | str | None:
    """The error in a set of labels: there is only one, or two are read alike. None when it is valid."""
    if len(labels) == 1:
        return _(
            "every row has the label {labels}: there is nothing to tell apart.",
            labels=quote(next(iter(labels))),
        )
    forms: dict[str, str] = {}
    for label in labels:
        other = forms.setdefault(plain_form(label), label)
        if other != label:
            return _(
                "the labels {other} and {label} differ in nothing that an answer shows.",
                other=quote(other),
                label=quote(label),
            )
    return None


Need = Literal["references", "label", "choices"]

# What a judge needs of a case.
_COLUMN: Mapping[Need, str] = {"references": "reference", "label": "label", "choices": "choices"}
_LISTED = 8


def missing_need(case: Case, needs: Sequence[Collection[Need]]) -> Need | None:
    """What a row lacks so that no judge can grade it; `needs` has what each judge needs. None if one can."""
    has = {"references": case.references_at(1), "label": case.label is not None, "choices": case.choices}
    missing = [next((need for need in sorted(judge) if not has[need]), None) for judge in needs]
    return missing[0] if missing and all(missing) else None


def missing_need_message(need: Need, judges: Sequence[str], headers: Iterable[str] = ()) -> str:
    """The error for what a row lacks; it names the column as the file's headers do."""
    own = next((header for header in headers if field_of(header) == need), None)
    fix = f"fill the column '{_COLUMN[need]}'" if own is None else _("fill the column {own}", own=quote(own))
    purpose = f"judge{'s'[: len(judges) > 1]} {', '.join(judges)} compare{'s'[: len(judges) == 1]} with"
    return f"no {_COLUMN[need]}, which {purpose}; {fix}."


def case_label_problem(case: Case, labels: Collection[str]) -> Sentence | str | None:
    """The error in the label of a case: not one of its own choices, or not in `labels`; None when valid."""
    if case.label is None:
        return None
    if case.choices:
        if place_of(case.label, case.choices) is not None:
            return None
        count = len(case.choices)
        return _(
            "the label {label} is none of the {count} choices: {listed}.",
            label=quote(case.label),
            count=count,
            listed=_listed(case.choices),
        )
    return label_problem(case.label, labels)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(quote(name) for name in names[:_LISTED]) + more


Form = Literal["number", "phrase", "json", "code", "sentence", "text"]

# The longest phrase: characters in Japanese, words in English.
_MAX_PHRASE = {True: 12, False: 4}
# The longest sentence, likewise.
_MAX_SENTENCE = {True: 80, False: 40}

_NUMBER = re.compile(r"[¥$€£-]?\s*\d[\d,]*(?:\.\d+)?\s*(?:%|％|[^\W\d_]{1,3})?")
_CODE = re.compile(
    r"```|[{};]\s*(?:\n|$)|(?:^|\n)\s*(?:SELECT|INSERT|UPDATE|DELETE|def|class|import|function|const|let|var"
    r"|curl|git|docker|kubectl|sudo|cd|ls|grep)\s|(?:^|\s)--?[a-z][\w-]*(?:[=\s]|$)|=>|==|\w\(\w*\)"
)
# A short Japanese sentence without its full stop: something, a particle, and a predicate at the end.
_PREDICATE = re.compile(r"[^\s]+[がをはにでもへ].*(?:[るたすいだうくむぶぬつぐ]|ません|です|ます)")
_IS_CJK = re.compile(f"[{CJK}]")
_ENDS = re.compile(r"[。．.!?！？]\s*$")
_END = re.compile(r"[。！？]|[.!?](?:\s|$)")


def answer_form(text: str) -> Form:
    """The form of a right answer: number, short phrase, JSON, code or command, sentence, or a longer text."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return "number"
    if _is_json(text):
        return "json"
    if _CODE.search(text):
        return "code"
    japanese = bool(_IS_CJK.search(text))
    length = len(text) if japanese else len(text.split())
    if length <= _MAX_PHRASE[japanese] and not (_ENDS.search(text) or _PREDICATE.fullmatch(text)):
        return "phrase"
    return "text" if length > _MAX_SENTENCE[japanese] or len(_END.findall(text)) > 2 else "sentence"


def most_common_form(forms: Iterable[Form]) -> Form | None:
    """The most frequent form, of equally frequent ones the longest; None without any form."""
    counts = Counter(forms)
    order: tuple[Form, ...] = ("phrase", "number", "code", "json", "sentence", "text")
    ranked = [(counts[form], place) for place, form in enumerate(order)]
    return order[max(ranked)[1]] if counts else None


def _is_json(text: str) -> bool:
    if text[:1] not in ("{", "["):
        return False
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False


_FORMS_FILE = Path(__file__).with_name("choosing.toml")
# How a form is called in messages; the others are forms of references.
_FORM_NAMES: dict[str, Message] = {
    "choice": _("choices with a label"),
    "label": _("a label"),
    "none": _("no references"),
}


@cache
def judges_of_form(form: str) -> dict[str, Any]:
    """The entry of a form in choosing.toml: the default judges, those that fit, and those that do not."""
    entry: dict[str, Any] = read_toml(_FORMS_FILE)["forms"][form]
    return entry


def default_judges(form: str, *, offline: bool) -> tuple[str, ...]:
    """The judges of a run that names none; the first one decides which answers are right."""
    entry = judges_of_form(form)
    return tuple(map(canonical_judge, entry.get("offline", entry["taken"]) if offline else entry["taken"]))


class JudgeChoice(NamedTuple):
    """The judges for a data set, and why they were chosen."""

    judges: tuple[str, ...]
    why: Message | str


class Profile:
    """Counts of what the rows of a data set have.

    `names` are the labels of rows without choices, `columns` the columns that fill no field of a case.
    """

    def __init__(self) -> None:
        self.rows = self.labels = self.choices = self.references = 0
        self.forms: Counter[Form] = Counter()
        self.names: dict[str, None] = {}
        self.columns: dict[str, None] = {}

    def add(self, case: Case) -> None:
        """Counts a row."""
        self.rows += 1
        self.columns |= dict.fromkeys(case.values)
        if case.label is not None:
            self.labels += 1
            self.choices += bool(case.choices)
            if not case.choices:
                self.names[case.label] = None
        if case.references_at(1):
            self.references += 1
            self.forms[answer_form(case.references_at(1)[0])] += 1

    @property
    def form(self) -> str:
        """What most rows have: `choice`, `label`, the form of their references, or `none` of these."""
        if 2 * self.choices > self.rows:
            return "choice"
        if 2 * self.labels > self.rows:
            return "label"
        form = most_common_form(self.forms.elements())
        return form if form is not None and 2 * self.references > self.rows else "none"

    def judges(self, *, offline: bool = False) -> JudgeChoice:
        """The default judges for the form of most rows; `offline`: for a run in which no model judges."""
        reason: Message | str = _FORM_NAMES.get(self.form) or _("references: {form}", form=self.form)
        if offline and "offline" in judges_of_form(self.form):
            reason = _("{form}; no model to judge, so what compares words comes first", form=reason)
        return JudgeChoice(default_judges(self.form, offline=offline), reason)


# The key of the note of a run about its skipped rows.
NOTE = "rows_skipped"
# How many of them the note lists.
_MAX_LISTED_ROWS = 1000


class SkippedRow(NamedTuple):
    """A skipped row: its place for people (`line 5`), its line, and what is wrong with it."""

    place: Message | str
    line: int
    why: Message | str

    def __str__(self) -> str:
        return str(self.message)

    @property
    def message(self) -> Message:
        """Both in one line."""
        return _("{place}: {why}", place=self.place, why=self.why)


class SkippedRows:
    """The skipped rows of a data set, of which the first are listed."""

    def __init__(self, rows: int = 0, count: int = 0, listed: tuple[SkippedRow, ...] = ()) -> None:
        """`rows` counts all rows of the file, `count` the skipped ones."""
        self.rows, self.count, self.listed = rows, count, list(listed)

    def add(self, fault: RowFault) -> None:
        """Counts a skipped row."""
        self.count += 1
        if len(self.listed) < _MAX_LISTED_ROWS:
            self.listed.append(SkippedRow(fault.row.place, fault.row.line, fault.what))

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> "SkippedRows":
        """The skipped rows in the notes of a run."""
        note = notes.get(NOTE)
        if not isinstance(note, dict):
            return cls()
        listed = (
            SkippedRow(restored(row["place"]), row["line"], restored(row["why"])) for row in note["listed"]
        )
        return cls(note["rows"], note["count"], tuple(listed))

    def as_json(self) -> dict[str, Any]:
        """The output of `--json`; rows are in the order of the file."""
        return self._as_dict(str)

    def as_note(self) -> dict[str, Any]:
        """The note of a run, from which `of` reads it."""
        return self._as_dict(stored)

    def _as_dict(self, text: Callable[[Message | str], Any]) -> dict[str, Any]:
        listed = [
            {"place": text(row.place), "line": row.line, "why": text(row.why)}
            for row in sorted(self.listed, key=lambda row: row.line)
        ]
        return {"rows": self.rows, "count": self.count, "listed": listed}


# How many bytes stay in memory; more are written to a temporary file.
_MAX_IN_MEMORY = 8_000_000


class CaseSpool:
    """A list of cases in a temporary file; a case is read when it is accessed."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_MAX_IN_MEMORY)  # noqa: SIM115 - lives as long as the run
        weakref.finalize(self, self._file.close)
        self._starts = array("Q", [0])

    def __len__(self) -> int:
        """The number of cases."""
        return len(self._starts) - 1

    def add(self, case: Case) -> None:
        """Appends a case."""
        body = case.model_dump_json(exclude_defaults=True).encode()
        try:
            self._file.seek(self._starts[-1])
            self._file.write(body)
        except OSError as error:
            why = error.strerror
            msg = _(
                "no room for the rows in the temporary folder ({why}); set TMPDIR to a bigger disk.", why=why
            )
            raise InputError(msg) from None
        self._starts.append(self._starts[-1] + len(body))

    def __getitem__(self, index: int) -> Case:
        """The case at an index from 0 on."""
        start, end = self._starts[index : index + 2]
        self._file.seek(start)
        return Case.model_validate_json(self._file.read(end - start))


class SpooledCases(Sequence[Case]):
    """Some of the cases of a spool, in any order, each read when it is accessed."""

    def __init__(self, spool: CaseSpool, order: Sequence[int], name: Callable[[int], str | None]) -> None:
        """`order` has indexes of the spool; `name` returns the id for a case without its own, else None."""
        self._spool, self._order, self._name = spool, order, name
        self._places: dict[str, int] = {}
        self._at = 0

    def __len__(self) -> int:
        """The number of cases."""
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Case: ...

    @overload
    def __getitem__(self, index: slice) -> "SpooledCases": ...

    def __getitem__(self, index: int | slice) -> "Case | SpooledCases":
        """One or several."""
        if isinstance(index, slice):
            return SpooledCases(self._spool, self._order[index], self._name)
        place = self._order[index]
        name = self._name(place)
        return self._spool[place] if name is None else compact(self._spool[place], id=name)

    def of_id(self, key: str) -> Case | None:
        """The case with this id, or None; fast when cases are requested in their order."""
        for at in (self._at, self._at + 1):
            if at < len(self) and (case := self[at]).id == key:
                self._at = at
                return case
        if not self._places:
            self._places = {case.id: at for at, case in enumerate(self)}
        self._at = self._places.get(key, -1)
        return None if self._at < 0 else self[self._at]


class RowPlan(Sequence[Conversation]):
    """The plan of a data set: a conversation for each row and repeat, made when it is accessed."""

    def __init__(self, rows: SpooledCases, persona: str, repeats: int) -> None:
        """The repeats of a row follow one another."""
        self.cases, self._persona, self._repeats = rows, persona, repeats

    def __len__(self) -> int:
        """The number of cases."""
        return len(self.cases) * self._repeats

    @overload
    def __getitem__(self, index: int) -> Conversation: ...

    @overload
    def __getitem__(self, index: slice) -> list[Conversation]: ...

    def __getitem__(self, index: int | slice) -> Conversation | list[Conversation]:
        """One or several."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        row, repeat = divmod(range(len(self))[index], self._repeats)
        case = self.cases[row]
        key = f"{self._persona}/{case.id}#{repeat + 1}"
        return Conversation(id=key, case=case, persona=self._persona, repeat=repeat + 1)


# The id of a row without one, until the number of rows is known; no file can contain it.
_UNNAMED = "\0"


class DatasetRequest(NamedTuple):
    """How to read a data set.

    `asks` is False when a prompt makes the question of a row. `labels` are the allowed labels; empty allows
    all. `mask` is applied to each case and its number before the case is stored. `columns` are those of
    `--columns`. `lacks` returns what a case lacks that its prompt needs, or None.
    """

    language: Language | None = None
    strict: bool = False
    asks: bool = True
    labels: Collection[str] = ()
    mask: Callable[[Case, int], Case] = lambda case, _: case
    columns: Mapping[str, str] | None = None
    lacks: Callable[[Case], str | None] = lambda _: None


class DataSet:
    """The valid rows of a file with their profile, and the skipped ones."""

    def __init__(self, path: Path, request: DatasetRequest) -> None:
        """An empty data set, which `read_dataset` and `dataset_of` fill."""
        self.path, self.request = path, request
        self.profile, self.skipped = Profile(), SkippedRows()
        self._spool = CaseSpool()
        self._lines, self._numbers, self._valid = array("q"), array("q"), array("q")
        self._places: dict[str, int] = {}
        self._headers: dict[str, None] = {}
        self._sheet: str | None = None
        self._first: RowFault | None = None

    def reject(self, fault: RowFault) -> None:
        """Skips a row. Raises CaseFileError when the request is strict."""
        self._first = self._first or fault
        if self.request.strict:
            raise CaseFileError(str(fault)) from None
        self.skipped.add(fault)

    def add(self, row: Row, case: Case) -> None:
        """Adds the case of a row. Raises RowFault when this data set cannot use it."""
        if problem := case_label_problem(case, self.request.labels) or self.request.lacks(case):
            raise row_fault(self.path, row, problem)
        has_id = case.id != _UNNAMED
        if has_id and case.id in self._places:
            first = row._replace(line=self._places[case.id]).place
            what = _(
                "the id {case} is already on {first}; give every row its own.",
                case=quote(case.id),
                first=first,
            )
            raise row_fault(self.path, row, what)
        if has_id:
            self._places[case.id] = row.line
        self._sheet = row.sheet
        if not row.values.keys() <= self._headers.keys():
            self._headers |= dict.fromkeys(row.values)
        self.profile.add(case)
        self._valid.append(len(self._spool))
        self._lines.append(row.line)
        self._numbers.append(0 if has_id else self.skipped.rows)
        self._spool.add(self.request.mask(case, self.skipped.rows))

    def check(self, needs: Sequence[Collection[Need]], judges: Sequence[str]) -> None:
        """Skips the rows that none of these judges can grade; `needs` has what each judge needs."""
        counts = {"references": self.profile.references, "label": self.profile.labels}
        complete = {need for need, count in counts.items() if count == self.profile.rows}
        if any(complete >= set(judge) for judge in needs):
            return

        def problem(case: Case) -> str | None:
            need = missing_need(case, needs)
            return None if need is None else missing_need_message(need, judges, self._headers)

        self.skip_where(problem)

    def skip_where(self, problem: Callable[[Case], Message | str | None]) -> None:
        """Skips the rows for which `problem` returns an error."""
        before, self._valid = self._valid, array("q")
        for place in before:
            if (what := problem(self._spool[place])) is None:
                self._valid.append(place)
            else:
                self.reject(self._fault(place, what))
        self._check_any_left()

    def rows(
        self, language: str | None = None, sample: Sample | None = None, limit: int | None = None
    ) -> SpooledCases:
        """The valid rows in a language (None and "all": any): a random sample, if any, cut to `limit`."""
        places = self._in(language)
        if not places:
            msg = _(
                "none of the {n} rows is in '{language}': leave out --language.",
                n=len(self._valid),
                language=language,
            )
            raise CaseFileError(msg)
        if sample is not None and sample.size < len(places):
            drawn = random.Random(sample.seed).sample(range(len(places)), sample.size)  # noqa: S311 - a sample
            places = [places[at] for at in drawn]
        return SpooledCases(self._spool, places[:limit], self._name)

    def _in(self, language: str | None) -> Sequence[int]:
        if language in (None, "all"):
            return self._valid
        return [place for place in self._valid if self._spool[place].language == language]

    def count_in(self, language: str | None = None) -> int:
        """How many valid rows are in a language (None and "all": any)."""
        return len(self._in(language))

    def finish(self) -> None:
        """Checks the whole after the last row. Raises CaseFileError when no row is valid."""
        self._check_numbers()
        self._check_any_left()
        self._places.clear()

    def _name(self, place: int) -> str | None:
        """The id for a row without one; None for the others."""
        return row_id(self._numbers[place], self.skipped.rows) if self._numbers[place] else None

    def _check_numbers(self) -> None:
        # A row without an id gets its number, which may be the id of another row.
        for place in list(self._valid) if self._places else ():
            name = self._name(place)
            if name in self._places:
                first = Row(self._places[name], {}, sheet=self._sheet).place
                what = _(
                    "it has no id, and its number, {name}, is the id on {first}; give it one.",
                    name=name,
                    first=first,
                )
                self._valid.remove(place)
                self.reject(self._fault(place, what))

    def _check_any_left(self) -> None:
        if self._valid:
            return
        if self._first is None:
            msg = _("{path}: no rows in it; write one per line below the column names.", path=self.path)
            raise CaseFileError(msg)
        more = f" None of the {self.skipped.rows} rows can be used." if self.skipped.rows > 1 else ""
        raise CaseFileError(f"{self._first}{more}")

    def _fault(self, place: int, what: Message | str) -> RowFault:
        return row_fault(self.path, Row(self._lines[place], {}, sheet=self._sheet), what)


def read_dataset(path: Path, request: DatasetRequest) -> DataSet:
    """The data set of a CSV, TSV, JSONL, JSON, YAML or Excel file (also `.gz`).

    Raises CaseFileError for a file without a valid row, or one that cannot be read to its end.
    """
    dataset = DataSet(path, request)

    def unreadable(fault: RowFault) -> None:
        dataset.skipped.rows += 1
        dataset.reject(fault)

    for row in read_rows(path, has_question if request.asks else _has_columns, unreadable, request.columns):
        dataset.skipped.rows += 1
        try:
            case = case_of(path, row, _UNNAMED, request.language, with_values=True, asks=request.asks)
            dataset.add(row, case)
        except RowFault as fault:
            dataset.reject(fault)
    dataset.finish()
    return dataset


def has_rows_in(
    path: Path, language: Language, *, asks: bool = True, columns: Mapping[str, str] | None = None
) -> bool:
    """Whether a row of a file is in a language; the file is read up to the first such row.

    Also True for a file without valid rows: whoever reads it for a run reports the error.
    """
    any_valid = False
    with contextlib.suppress(CaseFileError):
        for case in valid_cases(path, DatasetRequest(language, asks=asks, columns=columns)):
            any_valid = True
            if case.language == language:
                return True
    return not any_valid


def valid_cases(path: Path, request: DatasetRequest) -> Iterator[Case]:
    """The cases of the valid rows of a file; other rows are left out silently."""
    for row in read_rows(
        path, has_question if request.asks else _has_columns, lambda _: None, request.columns
    ):
        with contextlib.suppress(RowFault):
            yield case_of(path, row, _UNNAMED, request.language, asks=request.asks)


def dataset_of(name: str, cases: Iterable[Case], request: DatasetRequest) -> DataSet:
    """The data set of cases that were read elsewhere: from a Google sheet or a workbook of worksheets."""
    dataset = DataSet(Path(name), request)
    for number, case in enumerate(cases, 1):
        dataset.skipped.rows += 1
        try:
            dataset.add(Row(number, {}, sheet=""), case)
        except RowFault as fault:
            dataset.reject(fault)
    dataset.finish()
    return dataset


def _has_columns(headers: Iterable[str]) -> bool:
    """Whether a prompt can make questions of these columns: there are several, or one of questions."""
    names = [header for header in headers if header]
    return has_question(names) or len(names) > 1
