"""Single-turn data sets: rows of a file, what is wrong with some of them, and who grades them."""

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
from simulator.core.settings import Sample
from simulator.core.shelves import our_name
from simulator.core.templates import read_toml
from simulator.core.types import Case, Conversation, Language, compact
from simulator.data.cases import case_of, numbered
from simulator.data.files import shown
from simulator.data.readers import read_rows
from simulator.data.values import Row, RowFault, fault, field_of, has_question
from simulator.text.choices import place_of
from simulator.text.normalise import plain_form
from simulator.text.segments import CJK

# For each label, in order, the texts that may stand for it in an answer; the label itself is one of them.
Labels: TypeAlias = Mapping[str, tuple[str, ...]]


def labels_in(cases: Iterable[Case]) -> tuple[str, ...]:
    """The labels that occur, numbers by size and all others as the data set has them first."""
    return in_order(case.label for case in cases if case.label)


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once, numbers by size and all others as they come."""
    found = dict.fromkeys(labels)
    return tuple(sorted(found, key=float)) if found and all(map(_is_number, found)) else tuple(found)


def label_forms(labels: Iterable[str], said: Iterable[Mapping[str, str]] = ()) -> dict[str, tuple[str, ...]]:
    """Each label with what stands for it; `said` is what a prompt says for labels, language by language.

    The labels that a prompt names come first, in its order: they are the whole set.
    """
    named = list(said)
    whole = dict.fromkeys([*(label for each in named for label in each), *labels])
    return {
        label: tuple(dict.fromkeys([*(each[label] for each in named if label in each), label]))
        for label in whole
    }


def labels_of(case: Case, labels: Labels) -> Labels:
    """The labels that a row chooses among: its own choices when its label is one of them, else all."""
    if case.label is not None and case.label in case.choices:
        return {choice: labels.get(choice, (choice,)) for choice in case.choices}
    return labels


def label_problem(label: str | None, allowed: Collection[str]) -> str | None:
    """What is wrong with the label of one row, in words that follow its file and line; None if nothing is.

    `allowed` is the whole set where it is known; an empty one allows every label.
    """
    if label is None or not label.strip():
        return "the label is empty; every row needs one."
    if allowed and label not in allowed:
        return f"the label {shown(label)} is none of: {', '.join(allowed)}."
    return None


def label_set_problem(labels: Collection[str]) -> str | None:
    """What is wrong with all labels together: only one, or two that are read as one and the same."""
    if len(labels) == 1:
        return f"every row has the label {shown(next(iter(labels)))}: there is nothing to tell apart."
    forms: dict[str, str] = {}
    for label in labels:
        other = forms.setdefault(plain_form(label), label)
        if other != label:
            return f"the labels {shown(other)} and {shown(label)} differ in nothing that an answer shows."
    return None


def _is_number(label: str) -> bool:
    return label.removeprefix("-").isdecimal()


Need = Literal["references", "label", "choices"]

_COLUMN: Mapping[Need, str] = {"references": "reference", "label": "label", "choices": "choices"}
_LISTED = 8


def lacking(case: Case, needs: Sequence[Collection[Need]]) -> Need | None:
    """What a row lacks so that not one judge can grade it; `needs` are those of each judge."""
    has = {"references": case.references_at(1), "label": case.label is not None, "choices": case.choices}
    missing = [next((need for need in sorted(each) if not has[need]), None) for each in needs]
    return missing[0] if missing and all(missing) else None


def told_lacking(need: Need, judges: Sequence[str], headers: Iterable[str] = ()) -> str:
    """The sentence about it; of the file's own headers it names the one that is meant."""
    own = next((header for header in headers if field_of(header) == need), None)
    way = f"fill the column '{_COLUMN[need]}'" if own is None else f"fill the column {shown(own)}"
    who = f"judge{'s'[: len(judges) > 1]} {', '.join(judges)} compare{'s'[: len(judges) == 1]} with"
    return f"no {_COLUMN[need]}, which {who}; {way}."


def outside(case: Case, labels: Collection[str]) -> str | None:
    """What is wrong with a label that is none of the row's own choices, or of `labels` if there are any."""
    if case.label is None:
        return None
    if case.choices:
        if place_of(case.label, case.choices) is not None:
            return None
        count = len(case.choices)
        return f"the label {shown(case.label)} is none of the {count} choices: {_listed(case.choices)}."
    return label_problem(case.label, labels)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(shown(name) for name in names[:_LISTED]) + more


Form = Literal["number", "phrase", "json", "code", "sentence", "text"]

# A word or a name is at most this long: characters in Japanese, words in English.
_WORD = {True: 12, False: 4}
# From here on an answer is a text of several sentences.
_TEXT = {True: 80, False: 40}

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


def form_of(text: str) -> Form:
    """What one right answer is: a number, a short phrase, JSON, code or a command, a sentence, or more."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return "number"
    if _is_json(text):
        return "json"
    if _CODE.search(text):
        return "code"
    japanese = bool(_IS_CJK.search(text))
    length = len(text) if japanese else len(text.split())
    if length <= _WORD[japanese] and not (_ENDS.search(text) or _PREDICATE.fullmatch(text)):
        return "phrase"
    return "text" if length > _TEXT[japanese] or len(_END.findall(text)) > 2 else "sentence"


def usual_form(forms: Iterable[Form]) -> Form | None:
    """The form that most have; of several as frequent, the longest; None for none."""
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


FILE = Path(__file__).with_name("choosing.toml")
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


# The note of a run that tells of them.
NOTE = "rows_skipped"
# So many are listed in it.
_SKIPPED_LISTED = 1000


class SkippedRow(NamedTuple):
    """Where a row stands (`line 5`), the line itself, and what is wrong with it."""

    place: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


class SkippedRows:
    """All that are left out of one data set."""

    def __init__(self, rows: int = 0, count: int = 0, listed: tuple[SkippedRow, ...] = ()) -> None:
        """`rows` are all rows of the file, `count` those that are left out."""
        self.rows, self.count, self.listed = rows, count, list(listed)

    def add(self, found: RowFault) -> None:
        """One more."""
        self.count += 1
        if len(self.listed) < _SKIPPED_LISTED:
            self.listed.append(SkippedRow(found.row.place, found.row.line, found.what))

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> "SkippedRows":
        """As a run has noted it."""
        told = notes.get(NOTE)
        if not isinstance(told, dict):
            return cls()
        return cls(told["rows"], told["count"], tuple(SkippedRow(**each) for each in told["listed"]))

    def as_json(self) -> dict[str, Any]:
        """As it is noted with a run, and shown by `--json`: in the order of the file."""
        listed = sorted(self.listed, key=lambda row: row.line)
        return {"rows": self.rows, "count": self.count, "listed": [row._asdict() for row in listed]}


# What is held in memory before a file is made.
_HELD = 8_000_000


class Spool:
    """Cases in the order in which they were added; each is made anew when it is asked for."""

    def __init__(self) -> None:
        """Empty."""
        self._file = tempfile.SpooledTemporaryFile(max_size=_HELD)  # noqa: SIM115 - lives as long as the run
        weakref.finalize(self, self._file.close)
        self._starts = array("Q", [0])

    def __len__(self) -> int:
        """How many there are."""
        return len(self._starts) - 1

    def add(self, case: Case) -> None:
        """One more."""
        body = case.model_dump_json(exclude_defaults=True).encode()
        try:
            self._file.seek(self._starts[-1])
            self._file.write(body)
        except OSError as error:
            msg = (
                f"the rows cannot be kept beside each other ({error.strerror}); set TMPDIR to a larger disk."
            )
            raise InputError(msg) from None
        self._starts.append(self._starts[-1] + len(body))

    def __getitem__(self, at: int) -> Case:
        """The one that was added as number `at`, from 0."""
        self._file.seek(self._starts[at])
        return Case.model_validate_json(self._file.read(self._starts[at + 1] - self._starts[at]))


class Rows(Sequence[Case]):
    """Some of the cases of a spool, in an order of their own; none is held here."""

    def __init__(self, spool: Spool, order: Sequence[int], name: Callable[[int], str | None]) -> None:
        """`order` are their places in the spool; `name` gives the id of one that has none of its own."""
        self._spool, self._order, self._name = spool, order, name
        self._places: dict[str, int] = {}
        self._at = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> Case: ...

    @overload
    def __getitem__(self, at: slice) -> "Rows": ...

    def __getitem__(self, at: int | slice) -> "Case | Rows":
        """One of them, or some."""
        if isinstance(at, slice):
            return Rows(self._spool, self._order[at], self._name)
        place = self._order[at]
        name = self._name(place)
        return self._spool[place] if name is None else compact(self._spool[place], id=name)

    def of_id(self, key: str) -> Case | None:
        """The one of this id, if there is one. Mostly they are asked for in their order."""
        for at in (self._at, self._at + 1):
            if at < len(self) and (case := self[at]).id == key:
                self._at = at
                return case
        if not self._places:
            self._places = {case.id: at for at, case in enumerate(self)}
        self._at = self._places.get(key, -1)
        return None if self._at < 0 else self[self._at]


class RowPlan(Sequence[Conversation]):
    """One conversation of one turn for each row and repeat; none is held here."""

    def __init__(self, rows: Rows, persona: str, repeats: int) -> None:
        """All repeats of a row stand together."""
        self.cases, self._persona, self._repeats = rows, persona, repeats

    def __len__(self) -> int:
        """How many there are."""
        return len(self.cases) * self._repeats

    @overload
    def __getitem__(self, at: int) -> Conversation: ...

    @overload
    def __getitem__(self, at: slice) -> list[Conversation]: ...

    def __getitem__(self, at: int | slice) -> Conversation | list[Conversation]:
        """One of them, or some."""
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        row, repeat = divmod(range(len(self))[at], self._repeats)
        case = self.cases[row]
        key = f"{self._persona}/{case.id}#{repeat + 1}"
        return Conversation(id=key, case=case, persona=self._persona, repeat=repeat + 1)


# The id of a row that has none of its own, until it is known how many there are; no file can hold it.
_UNNAMED = "\0"


class DatasetRequest(NamedTuple):
    """How the rows are to be read.

    `asks` is False where a prompt makes the question of a row. `labels` are all labels there are; without
    any, every label is right. `mask` is given each case and its number before the case is kept.
    `columns` are those of `--columns`; `lacks` says what a row has not got that its prompt needs.
    """

    language: Language | None = None
    strict: bool = False
    asks: bool = True
    labels: Collection[str] = ()
    mask: Callable[[Case, int], Case] = lambda case, _: case
    columns: Mapping[str, str] | None = None
    lacks: Callable[[Case], str | None] = lambda _: None


class DataSet:
    """The good rows of a file, what is wrong with the others, and what the good ones have."""

    def __init__(self, path: Path, wish: DatasetRequest) -> None:
        """No row yet: `read_dataset` and `dataset_of` fill it."""
        self.path, self.wish = path, wish
        self.profile, self.skipped = Profile(), SkippedRows()
        self._spool = Spool()
        self._lines, self._numbers, self._good = array("q"), array("q"), array("q")
        self._places: dict[str, int] = {}
        self._headers: dict[str, None] = {}
        self._sheet: str | None = None
        self._first: RowFault | None = None

    def wrong(self, found: RowFault) -> None:
        """A row that is left out. Raises CaseFileError when the first one is to stop everything."""
        self._first = self._first or found
        if self.wish.strict:
            raise CaseFileError(str(found)) from None
        self.skipped.add(found)

    def take(self, row: Row, case: Case) -> None:
        """A row as a case; raises RowFault where it cannot be one of this data set."""
        if said := outside(case, self.wish.labels):
            raise fault(self.path, row, said)
        if said := self.wish.lacks(case):
            raise fault(self.path, row, said)
        own = case.id != _UNNAMED
        if own and case.id in self._places:
            first = row._replace(line=self._places[case.id]).place
            what = f"the id {shown(case.id)} is already on {first}; give every row its own."
            raise fault(self.path, row, what)
        if own:
            self._places[case.id] = row.line
        self._sheet = row.sheet
        if not row.values.keys() <= self._headers.keys():
            self._headers |= dict.fromkeys(row.values)
        self.profile.add(case)
        self._good.append(len(self._spool))
        self._lines.append(row.line)
        self._numbers.append(0 if own else self.skipped.rows)
        self._spool.add(self.wish.mask(case, self.skipped.rows))

    def check(self, needs: Sequence[Collection[Need]], judges: Sequence[str]) -> None:
        """Leaves out the rows that not one of these judges can grade; `needs` are those of each."""
        every = {"references": self.profile.references, "label": self.profile.labels}
        complete = {need for need, count in every.items() if count == self.profile.rows}
        if any(complete >= set(each) for each in needs):
            return

        def problem(case: Case) -> str | None:
            need = lacking(case, needs)
            return None if need is None else told_lacking(need, judges, self._headers)

        self.leave_out(problem)

    def leave_out(self, problem: Callable[[Case], str | None]) -> None:
        """Leaves out the rows that something is wrong with: `problem` says what it is."""
        asked, self._good = self._good, array("q")
        for place in asked:
            if (said := problem(self._spool[place])) is None:
                self._good.append(place)
            else:
                self.wrong(self._fault(place, said))
        self._check_some()

    def rows(
        self, language: str | None = None, sample: Sample | None = None, limit: int | None = None
    ) -> Rows:
        """The good rows in a language (None and "all": any), of these so many by lot, of these the first."""
        there = self._in(language)
        if not there:
            msg = f"none of the {len(self._good)} rows is in '{language}': leave out --language."
            raise CaseFileError(msg)
        if sample is not None and sample.size < len(there):
            drawn = random.Random(sample.seed).sample(range(len(there)), sample.size)  # noqa: S311 - a lot
            there = [there[at] for at in drawn]
        return Rows(self._spool, there[:limit], self._name)

    def _in(self, language: str | None) -> Sequence[int]:
        if language in (None, "all"):
            return self._good
        return [place for place in self._good if self._spool[place].language == language]

    def spoken(self, language: str | None = None) -> int:
        """How many good rows there are in a language (None and "all": any)."""
        return len(self._in(language))

    def done(self) -> None:
        """All rows have been taken: raises CaseFileError where not one is left."""
        self._check_numbers()
        self._check_some()
        self._places.clear()

    def _name(self, place: int) -> str | None:
        """The id of a row that has none of its own."""
        return numbered(self._numbers[place], self.skipped.rows) if self._numbers[place] else None

    def _check_numbers(self) -> None:
        """A row without an id has its number, which another row may have for its id."""
        for place in list(self._good) if self._places else ():
            name = self._name(place)
            if name in self._places:
                first = Row(self._places[name], {}, sheet=self._sheet).place
                what = f"it has no id, and its number, {name}, is the id on {first}; give it one."
                self._good.remove(place)
                self.wrong(self._fault(place, what))

    def _check_some(self) -> None:
        if self._good:
            return
        if self._first is None:
            msg = f"{self.path}: no rows in it; write one per line below the column names."
            raise CaseFileError(msg)
        more = f" None of the {self.skipped.rows} rows can be used." if self.skipped.rows > 1 else ""
        raise CaseFileError(f"{self._first}{more}")

    def _fault(self, place: int, what: str) -> RowFault:
        return fault(self.path, Row(self._lines[place], {}, sheet=self._sheet), what)


def read_dataset(path: Path, wish: DatasetRequest) -> DataSet:
    """The data set of a CSV, TSV, JSONL, JSON, YAML or Excel file (also `.gz`).

    Raises CaseFileError for a file without one good row, and where it cannot be read any further.
    """
    found = DataSet(path, wish)

    def unreadable(wrong: RowFault) -> None:
        found.skipped.rows += 1
        found.wrong(wrong)

    for row in read_rows(path, has_question if wish.asks else _named, unreadable, wish.columns):
        found.skipped.rows += 1
        try:
            case = case_of(path, row, _UNNAMED, wish.language, with_values=True, asks=wish.asks)
            found.take(row, case)
        except RowFault as wrong:
            found.wrong(wrong)
    found.done()
    return found


def has_rows_in(
    path: Path, language: Language, *, asks: bool = True, columns: Mapping[str, str] | None = None
) -> bool:
    """Whether some row of a file is in a language; it is read no further than to the first one.

    Where nothing can be read, who reads it to ask its rows says why.
    """
    found = False
    with contextlib.suppress(CaseFileError):
        for case in good_cases(path, DatasetRequest(language, asks=asks, columns=columns)):
            found = True
            if case.language == language:
                return True
    return not found


def good_cases(path: Path, wish: DatasetRequest) -> Iterator[Case]:
    """The cases of the rows of a file that make one, as they are read; of the others nothing is said."""
    for row in read_rows(path, has_question if wish.asks else _named, lambda _: None, wish.columns):
        with contextlib.suppress(RowFault):
            yield case_of(path, row, _UNNAMED, wish.language, asks=wish.asks)


def dataset_of(name: str, cases: Iterable[Case], wish: DatasetRequest) -> DataSet:
    """The data set of cases that were read already: from a sheet, or from a workbook of ours."""
    found = DataSet(Path(name), wish)
    for number, case in enumerate(cases, 1):
        found.skipped.rows += 1
        try:
            found.take(Row(number, {}, sheet=""), case)
        except RowFault as wrong:
            found.wrong(wrong)
    found.done()
    return found


def _named(headers: Iterable[str]) -> bool:
    """Whether these can be the columns that a prompt makes a question of."""
    names = [header for header in headers if header]
    return has_question(names) or len(names) > 1
