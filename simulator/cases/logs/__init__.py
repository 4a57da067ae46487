"""Conversations in the files that other programs write: formats are rows of a table.

Records are JSON objects: the items of a list, the lines of JSONL, the rows of a table with texts, or the one
object that a file is, without the pages and the lines of loggers around them. Files of one format that are
given together are read as one. A format says what its records hold, and `talks` makes conversations of it.

    file -> records -> format_of the first 20 -> parts (lines, steps, notes) -> talks_in -> row_of -> Case

Two traces of Langfuse with one session,

    {"id": "t-1", "sessionId": "s-1", "input": "How much?", "output": "5 yen", "scores": [...],
     "observations": [{"type": "RETRIEVER", "output": [{"id": "d1", "page_content": "It costs 5 yen."}]}]}
    {"id": "t-2", "sessionId": "s-1", "input": "And a house?", "output": "7 yen", "observations": []}

are one case: id s-1, question "How much?", script "And a house?", recorded "5 yen" with the passage d1 and "7
yen", tag user-feedback=1. And the program says: read as Langfuse; conversations 1, turns 2, answers 2.

A new format is a `Format` with a function that yields parts (rarer ones are in lab/logs); what it leaves out
it yields as a message, which is counted. Nothing in a log can stop the reading of the rest: values of a kind
that nobody expects are no text, lines that cannot be read are counted and named, and so are records of
another format. Only a file that was cut off, and one without a customer's line, is refused.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from simulator.cases.dialogues import LogTalk, objects, row_of
from simulator.cases.fields import decoded
from simulator.cases.files import files_of
from simulator.cases.formats import Format, Record, further_formats, of_each
from simulator.cases.headings import MESSAGE_HEADINGS, NAMES, columns_option, takes_columns
from simulator.cases.logs import langfuse, messages, table
from simulator.cases.logs.table import ANYBODY
from simulator.cases.logs.talks import Skipped, talks_in
from simulator.cases.row import MAX_CELL, CutOff, LeftOut, Row, RowFault
from simulator.cases.tables import file_rows
from simulator.core.errors import CaseFileError
from simulator.core.messages import Message, _, listed, printable, quote, say, sentences

# Says a thing once, however often a file is read.
_tell = cache(say)
# So many records at the beginning of a file are held against the formats: the first lines of a log are often
# of the system. Wrappers are so deep at most.
_HEAD, _DEEPEST = 20, 4
# So many rows at most tell what the columns of a table hold, where their names do not.
_MOST_SAMPLED = 2000
# What wraps records: pages of an interface, lines of a logger.
_WRAPS = NAMES["logs"]["wraps"]
# Of the lines that cannot be read, and of words for speakers, the first ones are named.
_MOST_NAMED, _MOST_WORDS = 10, 5
# More turns than a conversation has that anybody had: a log of another kind, read as one.
_MOST_TURNS = 10_000

LANGFUSE = Format("Langfuse", langfuse.is_langfuse, of_each(langfuse.langfuse))
MESSAGES = Format("OpenAI messages / ShareGPT", messages.matches, of_each(messages.parts))
TABLE = Format(_("a table with one message a row"), table.matches, table.parts)
# The formats of files, each with its records.
Opened = list[tuple[Format, Iterator[Any]]]


def formats() -> tuple[Format, ...]:
    """The formats in the order in which a file is held against them.

    The last two have the others as special cases.
    """
    return (LANGFUSE, *further_formats(), MESSAGES, TABLE)


def format_of(record: Any) -> Format | None:
    """The format of a record, or of what it wraps; None where it is of none.

    Bare records go first: a trace whose output holds OpenAI messages is a trace.
    """
    if not isinstance(record, dict):
        return None
    # Generators: most records are told by the first few formats, and unwrapping takes longer.
    bare = (format_ for format_ in formats() if format_.matches(record))
    wrapped = (
        format_ for format_ in formats() if any(map(format_.matches, unwrapped(record, format_, most=_HEAD)))
    )
    return next(bare, None) or next(wrapped, None)


def unwrapped(record: Record, format_: Format, depth: int = 0, most: int | None = None) -> Iterator[Record]:
    r"""The records of a format in a page or in a line of a logger; the record itself where it wraps none.

        {"data": [{...}, {...}], "has_more": true}     -> both records
        {"timestamp": ..., "message": "{\"sender_id\": ...}"} -> the one in the text
        {"id": "c-1", "messages": [...]}               -> messages that know their conversation_id c-1

    At most `_DEEPEST` wrappers, by the keys of `_WRAPS` in their order. Of each list in it only the first
    `most` objects are looked at.
    """
    if depth < _DEEPEST and not format_.matches(record):
        for key in _WRAPS:
            value = decoded(record.get(key))
            # A page says of which conversation its messages are.
            ids = _ids(record) if isinstance(value, list) else {}
            items = [ids | item for item in objects(value if isinstance(value, list) else [value])[:most]]
            inside = (unwrapped(item, format_, depth + 1, most) for item in items)
            if any(map(format_.matches, chain.from_iterable(inside))):
                for item in items:
                    yield from unwrapped(item, format_, depth + 1, most)
                return
    yield record


def _ids(record: Record) -> Record:
    ids = {name: value for name, value in record.items() if str(name).lower().endswith("id")}
    return {"conversation_id": ids.pop("id")} | ids if "id" in ids else ids


def opened(path: Path, columns: Mapping[str, str] | None = None) -> Opened:
    """The formats of a file, or of the files of a folder, each with its records; none of an unknown format.

    `columns` are those of `--columns` for a table with one message a row. Of a folder, a file that cannot be
    read is an error; a table that is of no format but has ids is read along with the messages that have them
    (cases beside their comments).
    """
    if columns:
        # Whoever names columns has said what the file is.
        records = _records(path)
        head = [*islice(records, _MOST_SAMPLED)]
        names = {name: None for record in head if isinstance(record, dict) for name in record}
        return [(_table_of(table.layout_named(columns, names), head), chain(head, records))]
    by_format: dict[Format, Iterator[Any]] = {}
    about: list[Iterator[Any]] = []
    others: list[Path] = []
    files = files_of(path)
    for file in files:
        records = _records(file)
        head, cut = _up_to_a_fault(islice(records, _HEAD))
        format_ = next(filter(None, map(format_of, head)), None)
        if format_ in (None, TABLE) and not cut:
            more, cut = _up_to_a_fault(islice(records, _MOST_SAMPLED))
            head += more
            format_ = _table(file, head, is_named=format_ is not None)
        # Alone, a file that cannot be read as records may still be a table of questions.
        if cut and (format_ or len(files) > 1):
            raise cut
        if format_:
            by_format[format_] = chain(by_format.get(format_, ()), head, records)
        elif (first := next((record for record in head if isinstance(record, dict)), None)) and table.joins(
            first
        ):
            about.append(chain(head, records))
        else:
            others.append(file)
    if tables := [format_ for format_ in by_format if format_.name == TABLE.name]:
        by_format[tables[0]] = chain(by_format[tables[0]], *about)
    for file in others if by_format else ():
        _tell(_("{path}: no log of conversations of a known format; left out.", path=file))
    return list(by_format.items())


def _up_to_a_fault(records: Iterable[Any]) -> tuple[list[Any], CaseFileError | None]:
    """The records up to where they cannot be read, and why that is."""
    read: list[Any] = []
    try:
        read.extend(records)
    except CaseFileError as error:
        return read, error
    return read, None


def _table(file: Path, head: list[Any], *, is_named: bool) -> Format | None:
    """The format of a table: as its names say where its cells agree, else as these say; None for no log.

    Says what was taken for what by its cells. Raises CaseFileError where nobody knows who speaks.
    """
    rows = [inside for record in head if isinstance(record, dict) for inside in unwrapped(record, TABLE)]
    roles, unknown = set[str](), list[str]()
    if is_named:
        role = MESSAGE_HEADINGS.columns_of(dict.fromkeys(name for row in rows for name in row))["role"]
        words = [row.get(role) for row in rows]
        roles, unknown = {*map(table.speaker, words)}, table.unknown_words(words)
        if table.has_both(roles) or ("user" in roles and not unknown):
            return TABLE._replace(one_sided=not table.has_both(roles))
    if layout := table.layout_of(rows):
        recognized = _(
            "{path}: columns recognized by their contents; if that is wrong, rename the columns in the file"
            " to conversation_id, role and text.",
            path=file,
        )
        _tell(_or_with(recognized, layout.columns))
        return _table_of(layout, rows)
    if unknown:
        unclear = _(
            "{path}: who speaks is not clear: {words}. In the file, write user for the customer, assistant"
            " for the bot, agent for people at the desk.",
            path=file,
            words=listed([quote(word) for word in unknown], _MOST_WORDS),
        )
        codes = {} if "user" in roles else {"user": unknown[0]}
        raise CaseFileError(_or_with(unclear, codes | {"agent": ANYBODY}))
    return TABLE if is_named else None


def _or_with(what: Message, columns: Mapping[str, str]) -> Message:
    """What to do in the file, and how to say it instead where there is --columns."""
    option = _("Or write {option}.", option=columns_option(columns)) if takes_columns() else None
    return sentences(what, option)


def _table_of(layout: table.LogLayout, head: list[Any]) -> Format:
    """The format of a table with these columns; one-sided where the desk does not speak in its first rows."""
    role, codes = layout.columns.get("role", ""), layout.speakers
    roles = {table.speaker(row.get(role), codes) for row in head if isinstance(row, dict)}
    one_sided = not role or roles.isdisjoint({"assistant", "agent"})
    return TABLE._replace(marks=_anything, parts=layout.parts, one_sided=one_sided)


def _anything(_record: Record) -> bool:
    """Whoever told the columns of a table has said what its records are."""
    return True


def _records(path: Path) -> Iterator[Any]:
    """The records of a file, and in the place of one that cannot be read what is wrong with it.

    Raises CutOff for a file that ends in the middle of one.
    """
    for row in file_rows(path, lambda names: len([name for name in names if name]) > 1):
        if isinstance(row, CutOff):
            raise row
        yield row if isinstance(row, RowFault) else row.values


def rows_of_file(path: Path, columns: Mapping[str, str] | None = None) -> Iterator[Row] | None:
    """A row for each conversation of a file, as in a question file; None for an unknown format.

    `columns` are those of `--columns` for a table with one message a row. Says what was read, and what was
    not and why; raises CaseFileError where no customer says anything.
    """
    formats = opened(path, columns)
    return _rows_of_talks(path, formats) if formats else None


def _rows_of_talks(path: Path, formats: Opened) -> Iterator[Row]:
    ids: Counter[str] = Counter()
    for number, talk in enumerate(_all_talks(path, formats), 1):
        ids[talk.id] += 1
        row = row_of(talk)
        yield Row(number, row | {"id": f"{talk.id}~{ids[talk.id]}"} if ids[talk.id] > 1 else row)


def rated_rows(path: Path) -> list[Row] | None:
    """A row for each rated answer of a log, with its ratings as labels; None for an unknown format.

    For `calibrate`: question, answer, passages and all that was said before, `labels` by the name of the
    rating, and the conversation as `group`, because answers of one conversation are not independent. Raises
    CaseFileError where no answer was rated.
    """
    formats = opened(path)
    if not formats:
        return None
    rows: list[Row] = []
    for talk in _all_talks(path, formats):
        said = [{"role": role, "content": text} for role, text in talk.history]
        for at, turn in enumerate(talk.turns, 1):
            if turn.ratings and turn.answer:
                row: dict[str, Any] = {"id": f"{talk.id}-{at}", "question": turn.question}
                row |= {"answer": turn.answer, "labels": dict(turn.ratings), "group": talk.id}
                if said:
                    row["history"] = list(said)
                if turn.passages:
                    row["contexts"] = [text for _id, text in turn.passages]
                rows.append(Row(len(rows) + 1, row))
            said.append({"role": "user", "content": turn.question})
            said.append({"role": "assistant", "content": turn.answer})
    if not rows:
        msg = _("{path}: read as {name}, but no answer in it was rated.", path=path, name=formats[0][0].name)
        raise CaseFileError(msg)
    return rows


def _all_talks(path: Path, formats: Opened) -> Iterator[LogTalk]:
    """The conversations of all formats; one that holds none is told, and refused where none holds any."""
    empty: list[Message] = []
    for of_format in formats:
        why = yield from _talks(path, *of_format)
        empty += [why] if why else []
    if len(empty) == len(formats):
        raise CaseFileError(empty[0])
    # Of a folder, a file without a conversation is told, and the others are read.
    for why in empty:
        _tell(why)


def _talks(path: Path, format_: Format, records: Iterator[Any]) -> Generator[LogTalk, None, Message | None]:
    """The conversations of one format; what there is instead of them, where there is none.

    Yields as it reads. At its end it says, once for a file, how many conversations, turns and answers were
    read, and what was not and why, with counts.
    """
    skipped, talks, turns, answers = Skipped(), 0, 0, 0
    faults: list[RowFault] = []
    try:
        parts = format_.parts(_bare(records, format_, skipped, faults))
        for talk in talks_in(parts, skipped, format_.gap, format_.one_sided):
            if not talk.turns:
                skipped.note(_("conversations without a customer's message"))
            elif _is_endless(talk):
                skipped.note(
                    _("conversations of more than {n:,} messages, or with an endless one", n=_MOST_TURNS)
                )
            else:
                talks, turns = talks + 1, turns + len(talk.turns)
                answers += sum(bool(turn.answer) for turn in talk.turns)
                yield talk
    # JSON that is nested so deeply comes from nobody's program.
    except RecursionError:
        raise CaseFileError(
            _("{path}: {why}.", path=path, why=_("objects within each other too deeply"))
        ) from None
    if faults:
        skipped.note(_damaged(faults), len(faults))
    reasons = tuple(_("{reason}: {n}", reason=reason, n=n) for reason, n in skipped.items())
    if not talks:
        return _(
            "{path}: read as {name}, but there is no conversation in it ({why}).",
            path=path, name=format_.name, why=reasons or (_("no customer says anything"),),
        )  # fmt: skip
    read = _(
        "{path}: read as {name}; conversations {talks}, messages {turns}, answers {answers}.",
        path=path, name=format_.name, talks=talks, turns=turns, answers=answers,
    )  # fmt: skip
    _tell(sentences(read, _("Not read: {reasons:clauses}.", reasons=reasons) if reasons else None))
    return None


def _is_endless(talk: LogTalk) -> bool:
    texts = [text for _role, text in talk.history]
    for turn in talk.turns:
        texts += [turn.question, turn.answer, *(text for _id, text in turn.passages)]
    return len(talk.turns) > _MOST_TURNS or max(map(len, texts)) > MAX_CELL


def _damaged(faults: list[RowFault]) -> Message:
    """The lines that cannot be read: where the first ones are, with their file where there are several."""
    several = len({fault.file for fault in faults}) > 1
    named = [(printable(fault.file), fault.row.place) for fault in faults[:_MOST_NAMED]]
    places = [_("{file}, {place}", file=file, place=place) if several else place for file, place in named]
    more = ("…",) if len(faults) > _MOST_NAMED else ()
    return _("lines that cannot be read ({places})", places=(*places, *more))


def _bare(
    records: Iterable[Any], format_: Format, skipped: Skipped, faults: list[RowFault]
) -> Iterator[Record]:
    """The records of this format without what wraps them.

    Records of another format are counted; faulty rows become faults.
    """
    for record in records:
        if isinstance(record, LeftOut):
            skipped.note(_("hidden rows"))
        elif isinstance(record, RowFault):
            faults.append(record)
        else:
            for inside in unwrapped(record, format_):
                if format_.matches(inside) or (other := format_of(inside)) is None:
                    yield inside
                else:
                    skipped.note(
                        _("records of another format ({name}); put them in another file", name=other.name)
                    )
