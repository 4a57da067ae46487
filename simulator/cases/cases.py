"""Reads cases from files: one row is one Case, whatever its headers and its encoding are; or is skipped.

    question,reference,tags
    How much?,4180 yen|It costs 4180 yen.,fees
        -> id "001", question "How much?", references (("4180 yen", "It costs 4180 yen."),), tags ("fees",)

Two ways to read. `read_cases` is for conversations: the first mistake is raised, and all of the file is read
before anything is returned, so that a wrong last row is found before a run is paid for. `read_dataset` is for
rows of a data set: a row that cannot be used is skipped, counted and named in the report.

In this order: `rows_of` makes rows of the file (cases/rows.py), `case_of` a case of a row (cases/fields.py
has the fields), the request's `mask` takes personal data out, and the case is kept as JSON until it is asked
for. So 100,000 rows take little memory, and a masked case is the only one that exists.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

from simulator.cases.case import case_of
from simulator.cases.headings import COLUMNS, choice_columns, field_of, has_question, is_extra, normalised
from simulator.cases.profile import Need, Profile, case_label_problem, missing_need, missing_need_message
from simulator.cases.row import (
    LeftOut,
    Reason,
    Row,
    RowFault,
    Rows,
    WorkbookSheet,
)
from simulator.cases.rows import rows_by_field, rows_of
from simulator.cases.structured import object_rows
from simulator.cases.workbooks import worksheet_rows
from simulator.core.errors import CaseFileError, did_you_mean
from simulator.core.messages import Message, _, ngettext, quote, restored, sentences, stored
from simulator.core.types import Case, Language

# What an evaluation takes for a label in an answer: {"1": ("wrong", "1")}, the label itself included.
Labels: TypeAlias = Mapping[str, tuple[str, ...]]
# What a program gives in place of a file: cases, or objects with the columns of one.
CaseObjects: TypeAlias = Sequence[Case] | Sequence[Mapping[str, Any]]
# What the settings, reports and errors of a run call these.
GIVEN = "cases"
# The fields that grades hang on, and how like a name of theirs a misspelt one is (1 is equal).
_GRADED_BY, _MISSPELT = ("references", "expect", "tools"), 0.88
# How many skipped rows the note of a run lists; all of them are counted. A file of a million broken rows must
# not fill the run file.
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
    """The skipped rows of a data set, of which the first are listed, and those that were left out on purpose.

    Saved as a note of the run (`as_note`), so that a report written later, perhaps in another language, can
    name them.
    """

    def __init__(self, rows: int = 0, count: int = 0, listed: tuple[SkippedRow, ...] = ()) -> None:
        """`rows` counts all rows of the file, `count` the skipped ones."""
        self.rows, self.count, self.listed = rows, count, list(listed)
        self.left_out: Counter[Reason] = Counter()

    def left_out_message(self, name: str) -> Message | None:
        """How many rows of the file `name` were left out, and why; None where there are none."""
        prepared, hidden = self.left_out["prepared"], self.left_out["hidden"]
        reasons = []
        if prepared:
            reasons.append(ngettext("{n} row without a question", "{n} rows without a question", n=prepared))
        if hidden:
            reasons.append(ngettext("{n} hidden row", "{n} hidden rows", n=hidden))
        return _("{name}: left out: {reasons}.", name=name, reasons=tuple(reasons)) if reasons else None

    def add(self, fault: RowFault) -> None:
        """Counts a skipped row."""
        self.count += 1
        if len(self.listed) < _MAX_LISTED_ROWS:
            self.listed.append(SkippedRow(fault.row.place, fault.row.line, fault.what))

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> "SkippedRows":
        """The skipped rows in the notes of a run."""
        note = notes.get("rows_skipped")
        if not isinstance(note, dict):
            return cls()
        listed = (
            SkippedRow(restored(row["place"]), row["line"], restored(row["why"])) for row in note["listed"]
        )
        return cls(note["rows"], note["count"], tuple(listed))

    def as_json(self, text: Callable[[Message | str], Any] = str) -> dict[str, Any]:
        """The output of `--json`, rows in the order of the file; `text` says how sentences are written."""
        listed = [
            {"place": text(row.place), "line": row.line, "why": text(row.why)}
            for row in sorted(self.listed, key=lambda row: row.line)
        ]
        return {"rows": self.rows, "count": self.count, "listed": listed}

    def as_note(self) -> dict[str, Any]:
        """The note of a run, from which `of` reads it."""
        return self.as_json(stored)


class DatasetRequest(NamedTuple):
    """How to read a file of cases.

    `strict` stops at the first invalid row. `asks` is False when a prompt makes the question of a row, for
    which `values` keeps the columns that fill no field; reports then show these as the question. `problem`
    returns why a case cannot be used, or None. `mask` is applied to each case and its number before the case
    is stored. `columns` are those of `--columns`.
    """

    language: Language | None = None
    strict: bool = False
    asks: bool = True
    problem: Callable[[Case], Message | str | None] = case_label_problem
    mask: Callable[[Case, int], Case] = lambda case, _: case
    columns: Mapping[str, str] | None = None
    values: bool = True

    def fits(self, headers: Iterable[str]) -> bool:
        """Whether questions can be made of these columns: one of questions, or several for a prompt."""
        names = [header for header in headers if header]
        return has_question(names) or (not self.asks and len(names) > 1)


# The questions of conversations: nothing is left out of them silently.
QUESTIONS = DatasetRequest(strict=True, problem=lambda _: None, values=False)


def row_id(number: int, count: int) -> str:
    """The id of a row without one: its number, with zeros so that `count` ids sort.

    Row 7 of 100 is 007, of 100,000 it is 000007. Where another row has that id, `~` is put behind it.
    """
    return f"{number:0{max(3, len(str(count)))}}"


class ColumnUse(NamedTuple):
    """The columns of a file that a run ignores, and those with recorded answers of a bot.

    `has_references` says whether a column holds right answers: a file with answers and without references,
    whose bot is not named, is asked about rather than graded against itself. `meant` offers the name of a
    column that grades hang on, and that none has, for an unused one that is written much like it; `sorted_by`
    likewise that of tags. `lacks_right_choice` says that there are choices, of which no column says which is
    right.
    """

    unused: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    has_references: bool = False
    meant: Message | None = None
    sorted_by: Message | None = None
    lacks_right_choice: bool = False

    @classmethod
    def of(cls, headers: Iterable[str]) -> Self:
        """The use of columns with these headers, in their order."""
        fields = {header: field_of(header) for header in headers}
        if any(normalised(header) == "q" for header in fields):  # beside choices A is the first of them
            fields |= {header: "answer" for header in fields if normalised(header) == "a"}
        choices = choice_columns(tuple(fields))
        is_key = bool(choices) or "choices" in fields.values()  # an answer beside choices is the right one
        unused = tuple(h for h, field in fields.items() if not field and not is_extra(h) and h not in choices)

        def meant(*of: str) -> Message | None:
            lacking = [name for field in of if field not in fields.values() for name in COLUMNS[field]]
            return next(filter(None, (did_you_mean(header, lacking, _MISSPELT) for header in unused)), None)

        return cls(
            unused,
            tuple(h for h, field in fields.items() if field == "answer" and not is_key),
            "references" in fields.values(),
            meant(*_GRADED_BY),
            meant("tags"),
            is_key and {"label", "references", "answer"}.isdisjoint(fields.values()),
        )


class _KeptRow(NamedTuple):
    """A valid row: its case as JSON, its line, and its number among all rows, 0 where it has an id."""

    case: bytes
    line: int
    number: int

    def read(self) -> Case:
        """The case, validated anew; `_UNNAMED` is its id where it has a number."""
        return Case.model_validate_json(self.case)


class KeptCases(Sequence[Case]):
    """Some of the cases of a data set, in any order, each read when it is accessed.

    A slice is another such sequence and copies no case.
    """

    def __init__(self, rows: Sequence[_KeptRow], name: Callable[[int], str]) -> None:
        """`name` returns the id of the row with a number."""
        self._rows, self._name = rows, name
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        """The number of cases."""
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        """One or several."""
        if isinstance(index, slice):
            return KeptCases(self._rows[index], self._name)
        row = self._rows[index]
        case = row.read()
        return case.model_copy(update={"id": self._name(row.number)}) if row.number else case

    def of_id(self, key: str) -> Case | None:
        """The case with this id, or None; all ids are read once."""
        self._places = self._places or {case.id: at for at, case in enumerate(self)}
        at = self._places.get(key)
        case: Case | None = None if at is None else self[at]
        return case


# Rows with their cases, and in the place of one that is none what is wrong with it.
Filled: TypeAlias = Iterator[tuple[Row, Case] | RowFault]
# The id of a row without one, until the number of rows is known; no file can contain it.
_UNNAMED = "\0"


class DataSet:
    """The valid rows of a file with their profile, and the skipped ones.

    Filled by `fill`; `check` may afterwards skip those that no judge can grade. `names_tools` says whether a
    row names tools, `expects` whether one says what is expected.
    """

    def __init__(self, path: Path, request: DatasetRequest) -> None:
        """An empty data set, for `fill`."""
        self.path, self.request = path, request
        self.skipped = SkippedRows()
        self.names_tools = self.expects = False
        self._rows: list[_KeptRow] = []
        # The lines of the rows by their ids, and the columns of all rows.
        self._lines: dict[str, int] = {}
        self._headers: dict[str, None] = {}
        self._sheet: str | None = None
        self._first: RowFault | None = None

    def fill(self, rows: Filled) -> Self:
        """Adds all rows in the order of the file. Raises CaseFileError when none is valid."""
        for row in rows:
            if isinstance(row, RowFault):
                self.skip(row)
            else:
                self.add(*row)
        self.finish()
        return self

    @property
    def columns(self) -> ColumnUse:
        """How the columns of the valid rows are used."""
        return ColumnUse.of(self._headers)

    @property
    def profile(self) -> Profile:
        """What the valid rows have."""
        profile = Profile()
        for row in self._rows:
            profile.add(row.read())
        return profile

    def skip(self, fault: RowFault) -> None:
        """Counts a row that is not a valid case. Raises RowFault when the request is strict.

        One that was left out on purpose is counted by itself.
        """
        if isinstance(fault, LeftOut):
            self.skipped.left_out[fault.why] += 1
            return
        self.skipped.rows += 1
        self._reject(fault)

    def _reject(self, fault: RowFault) -> None:
        self._first = self._first or fault
        if self.request.strict:
            raise fault from None
        self.skipped.add(fault)

    def add(self, row: Row, case: Case) -> None:
        """Adds the case of a row, or skips it when this data set cannot use it.

        What the request finds wrong (a label that is none, for one) and an id that was there before are
        faults. The case is masked before it is kept.
        """
        if problem := self.request.problem(case):
            self.skip(RowFault(self.path, row, problem))
            return
        has_id = case.id != _UNNAMED
        if case.id in self._lines:
            first = row._replace(line=self._lines[case.id]).place
            what = _(
                "the id {case} is already on {first}; give every row its own.",
                case=quote(case.id),
                first=first,
            )
            self.skip(RowFault(self.path, row, what))
            return
        self.skipped.rows += 1
        number = self.skipped.rows
        if has_id:
            self._lines[case.id] = row.line
        self._sheet = row.sheet
        # JSON rows may each have keys of their own; most have those of the rows before.
        if not row.values.keys() <= self._headers.keys():
            self._headers |= dict.fromkeys(row.values)
        self.names_tools = self.names_tools or bool(case.tools)
        self.expects = self.expects or bool(case.expect)
        masked = self.request.mask(case, number).model_dump_json(exclude_defaults=True).encode()
        self._rows.append(_KeptRow(masked, row.line, 0 if has_id else number))

    def check(self, needs: Sequence[Collection[Need]], judges: Sequence[str]) -> None:
        """Skips the rows that none of these judges can grade; `needs` has what each judge needs."""
        if all(needs):

            def problem(case: Case) -> Message | None:
                need = missing_need(case, needs)
                return missing_need_message(need, judges, self._headers) if need else None

            self.skip_where(problem)

    def skip_where(self, problem: Callable[[Case], Message | str | None]) -> None:
        """Skips the rows for which `problem` returns an error."""
        before, self._rows = self._rows, []
        for row in before:
            if (what := problem(row.read())) is None:
                self._rows.append(row)
            else:
                self._reject(RowFault(self.path, Row(row.line, {}, sheet=self._sheet), what))
        self.finish()

    def rows(
        self, language: str | None = None, sample: int | None = None, limit: int | None = None
    ) -> KeptCases:
        """The valid rows in a language (None and "all": any): a random sample, if any, cut to `limit`.

        The sample is `random.Random(0).sample` over the rows in their order, as simple-evals draws it.
        Raises CaseFileError where no row is in the language.
        """
        rows: Sequence[_KeptRow] = self._rows
        if language not in (None, "all"):
            rows = [row for row in rows if row.read().language == language]
        if not rows:
            msg = _(
                "none of the {n} rows is in '{language}': leave out --language.",
                n=len(self._rows),
                language=language,
            )
            raise CaseFileError(msg)
        if sample is not None and sample < len(rows):
            rows = random.Random(0).sample(rows, sample)  # noqa: S311 - a sample
        return KeptCases(rows[:limit], self._name)

    def finish(self) -> None:
        """Checks the whole after the last row. Raises CaseFileError when no row is valid."""
        if self._rows:
            return
        if self._first is None and (left_out := self.skipped.left_out_message(str(self.path))):
            raise CaseFileError(sentences(left_out, _("No row has a question.")))
        if self._first is None:
            msg = _("{path}: no rows in it; write one per line below the column names.", path=self.path)
            raise CaseFileError(msg)
        rows = self.skipped.rows
        # The first fault mostly is that of all: a column that is called otherwise.
        more = _("None of the {n} rows can be used.", n=rows) if rows > 1 else None
        raise CaseFileError(sentences(self._first.message, more))

    def _name(self, number: int) -> str:
        """The id of a row without one: its number, marked where another row has that id (003~)."""
        name = row_id(number, self.skipped.rows)
        return f"{name}~" if name in self._lines else name


def read_cases(
    path: str | Path, language: Language | None = None, columns: Mapping[str, str] | None = None
) -> tuple[Case, ...]:
    """The cases of a CSV, TSV, JSONL, JSON or Excel file (also `.gz`), in the file's order.

    `questions.xlsx#料金` names a worksheet; otherwise the only one with a column of questions is read.

    The language of a row is that of its column, else `language`, else the one its question is written in.
    `columns` are those of `--columns`: columns of the file, by field. The whole file is read before anything
    is returned, so that a wrong last row is found before a run is paid for. Raises CaseFileError.
    """
    return tuple(read_dataset(Path(path), QUESTIONS._replace(language=language, columns=columns)).rows())


def dataset_of_worksheet(
    source: str,
    sheet: WorkbookSheet,
    language: Language | None = None,
    columns: Mapping[str, str] | None = None,
) -> DataSet:
    """The cases of a worksheet that was read before, from Google Sheets or a workbook of our own.

    `source` is what errors call it.
    """
    path, request = Path(source), QUESTIONS._replace(language=language, columns=columns)
    read = partial(worksheet_rows, path, sheet, named=True)
    return DataSet(path, request).fill(
        _cases(path, rows_by_field(path, read, request.fits, columns), request)
    )


def read_dataset(source: Path | CaseObjects, request: DatasetRequest) -> DataSet:
    """The data set of a CSV, TSV, JSONL, JSON or Excel file (also `.gz`), or of objects.

    Raises CaseFileError for a file without a valid row, or one that cannot be read to its end.
    """
    return DataSet(_path(source), request).fill(_read(source, request))


def dataset_of(name: str, cases: Iterable[Case], request: DatasetRequest) -> DataSet:
    """The data set of cases that were read elsewhere: from a Google sheet or a workbook of worksheets."""
    return DataSet(Path(name), request).fill(_given(cases))


def valid_cases(
    source: Path | CaseObjects, request: DatasetRequest, headers: dict[str, None]
) -> Iterator[Case]:
    """The cases of the valid rows of a file or of objects; other rows are left out silently.

    `headers` is filled with those of the rows that were read.
    """
    for pair in _read(source, request):
        if not isinstance(pair, RowFault):
            row, case = pair
            headers |= dict.fromkeys(row.values)
            yield case


def _path(source: Path | CaseObjects) -> Path:
    """The file, or what errors call objects."""
    return source if isinstance(source, Path) else Path(GIVEN)


def _read(source: Path | CaseObjects, request: DatasetRequest) -> Filled:
    """The rows of a file or of objects, each with its case."""
    path = _path(source)
    if isinstance(source, Path):
        return _cases(path, rows_of(source, request.fits, request.columns), request)
    if not source:
        raise CaseFileError(_("the list of cases is empty."))
    if cases := [item for item in source if isinstance(item, Case)]:
        if len(cases) < len(source):
            raise CaseFileError(_("a list of cases holds Case objects or tables of columns, not both."))
        return _given(cases)
    rows = rows_by_field(path, lambda _fits: object_rows(path, source), request.fits, request.columns)
    return _cases(path, rows, request)


def _given(cases: Iterable[Case]) -> Filled:
    return ((Row(number, {}, sheet=""), case) for number, case in enumerate(cases, 1))


def _cases(path: Path, rows: Rows, request: DatasetRequest) -> Filled:
    """The case of each row, in their order, and in the place of an invalid row its fault."""
    for row in rows:
        if isinstance(row, RowFault):
            yield row
            continue
        try:
            case = case_of(
                path, row, _UNNAMED, language=request.language, asks=request.asks, values=request.values
            )
        except RowFault as fault:
            yield fault
        else:
            yield row, case
