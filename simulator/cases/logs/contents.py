"""Which columns of a table hold the conversation, who speaks and what was said, told by what stands in them.

A table with one message a row is read by the names of its columns where they are usual ones (`table`). Others
are told by their cells: few words for speakers, long texts, and what several rows have in common.

    問い合わせ番号   発言者区分   本文
    Q-1             お客様       光回線の月額料金はいくらですか？
    Q-1             自動応答     マンションの光1ギガは月額4,180円です。
        -> id 問い合わせ番号, role 発言者区分, text 本文

    call, spk, txt with 1 and 2 below spk -> Unclear: say who is the customer, user=1

A table of questions must never be taken for a log. So everything has to fit: both sides speak, by words that
are known; nearly every conversation has both; one column alone can be the text, one the conversation; and no
column holds right answers. Whatever falls short of that is `Unclear`, which says what to write, or nothing.
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import Any, NamedTuple

from simulator.cases.headings import NAMES, field_of, has_question, normalised
from simulator.cases.logs.table import ANYBODY, LogLayout, columns_of, header_means, is_silent, speaker
from simulator.cases.logs.values import seconds
from simulator.core.messages import Message, _, printable, quote

# Characters of a value that are looked at; the longest word for a speaker; words that a message names.
_MOST_LOOKED_AT, _LONGEST_WORD, _MOST_WORDS = 300, 20, 5
# Share of the rows in which a column has to have what it is taken for.
_NEARLY_ALL = 0.95
# Half of all conversations have both sides, at least; of so many texts of the desk not most are questions.
_BOTH, _FEW_TEXTS, _MOST_ASKING = 0.5, 3, 0.6
# Of two columns with long texts one is the text if it is so much longer.
_LONGER = 2.0
# Fields of a case that a table of questions has and a log does not.
_OF_QUESTIONS = frozenset({
    "references", "answer", "choices", "label", "answerable", "goal", "facts", "script", "recorded",
    "history",
})  # fmt: skip
_DATE = re.compile(r"\d{4}[-/年.]\d{1,2}[-/月.]\d{1,2}|\d{1,2}/\d{1,2}/\d{4}|\d{1,2}:\d\d")
# What a name of a conversation looks like, apart from measured values.
_HAS_DIGIT, _MEASURED = re.compile(r"\d"), re.compile(r"[-+]?\d*[.,]\d+%?|-\d+|\d+%")
# A text that somebody wrote has kana, or several words.
_WRITTEN = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]|\w\s+\w")
_ASKS = re.compile(r"(?:[?？]|か。?|ください。?)\s*$")
_OF_IDS, _OF_SPEAKERS, _OF_CUSTOMERS, _OF_TEXTS = (
    tuple(NAMES["hints"][name]) for name in ("id", "role", "user", "text")
)


class Unclear(Exception):
    """A table that looks like a log, but that does not say enough; `why` is a clause with what to write.

    `is_question_file` where it has a column of questions: it is read as a question file all the same.
    """

    def __init__(self, why: Message, *, is_question_file: bool = False) -> None:
        super().__init__()
        self.why, self.is_question_file = why, is_question_file


class _Column(NamedTuple):
    """A column: its name, and its texts by row, stripped and cut, empty where a row has none."""

    name: str
    texts: tuple[str, ...]

    @property
    def filled(self) -> list[str]:
        return [text for text in self.texts if text]

    def share(self, fits: Callable[[str], Any]) -> float:
        """The share of the rows with a text for which `fits` says yes."""
        return sum(bool(fits(text)) for text in self.filled) / (len(self.filled) or 1)

    @property
    def is_full(self) -> bool:
        return len(self.filled) >= _NEARLY_ALL * len(self.texts)


def layout_of(records: Iterable[Mapping[str, Any]]) -> LogLayout | None:
    """The columns of a table with one message a row; None for a table that is none.

    Raises Unclear where it is one, or may be, and which column holds what cannot be told for certain.
    """
    columns = _columns(records)
    names = [column.name for column in columns]
    if any(field_of(name) in _OF_QUESTIONS for name in names):
        return None
    roles = [column for column in columns if _is_role(column)]
    # A column "turn" may number the turns.
    counted = {column.name for column in columns if column.share(str.isdecimal) == 1}
    questions = [name for name in names if name not in counted and header_means(name) != "text"]
    if has_question(questions):
        _look_at_questions(columns, roles)
        return None
    if not roles:
        if customers := _customers(columns):
            return customers
        _look_at_codes(columns)
        return None
    role = _one_role(roles, columns)
    spoken = _spoken(role)
    ids = _ids([column for column in columns if column not in roles], spoken)
    texts = [column for column in columns if column not in roles and column not in ids and _is_text(column)]
    text = _one_text(texts, role, ids)
    if text is None:
        return None
    id_ = _one_id(ids, role, text)
    said = [line for line, who in zip(text.texts, spoken, strict=True) if who in ("assistant", "agent")]
    if len(said) >= _FEW_TEXTS and sum(bool(_ASKS.search(line)) for line in said) > _MOST_ASKING * len(said):
        raise Unclear(
            _("most answers in {text} are questions; if it is a log after all: {columns}",
              text=quote(text.name), columns=named(id=id_.name, role=role.name, text=text.name))
        )  # fmt: skip
    return _layout(columns, id=id_.name, role=role.name, text=text.name)


def _look_at_questions(columns: list[_Column], roles: list[_Column]) -> None:
    """Raises Unclear for a question file in which customers and the desk speak within one conversation."""
    id_ = columns_of(column.name for column in columns).get("id")
    asked = next(column.name for column in columns if field_of(column.name) == "question")
    if id_ and roles and _ids([column for column in columns if column.name == id_], _spoken(roles[0])):
        why = _(
            "read as questions, one per row; if it holds conversations of customers and the desk: {columns}",
            columns=named(id=id_, role=roles[0].name, text=asked),
        )
        raise Unclear(why, is_question_file=True)


def _spoken(role: _Column) -> list[str]:
    return [*map(speaker, role.texts)]


def known_words(values: Iterable[Any]) -> tuple[set[str], list[str]]:
    """Who speaks in a column of speakers: the roles, and the words that are of nobody known, commonest first.

    Words of the system ("system", メモ) are neither.
    """
    words = Counter(" ".join(str(value).split()) for value in values if value not in (None, ""))
    roles = {word: speaker(word) for word in words}
    return {role for role in roles.values() if role}, [
        word for word, _n in words.most_common() if not roles[word] and not is_silent(word)
    ]


def named(**columns: str) -> str:
    """`--columns "id=call,role=spk,text=txt"`, to be copied: a name of a column cannot become a command."""
    given = printable(",".join(f"{ours}={theirs}" for ours, theirs in columns.items()))
    return f"--columns {shlex.quote(given)}" if _OF_SHELLS & set(given) else f'--columns "{given}"'


_OF_SHELLS = frozenset('"$`\\!')


def who_is_who(words: Sequence[str], columns: Mapping[str, str], first: str = "") -> Message:
    """That words for speakers are not known, and the line that says who they are."""
    customer = first or words[0]
    others = "|".join(word for word in words if word != customer) or "..."
    return _(
        "{role} has words that do not say who speaks ({words}); say who is the customer and who answers, for"
        " example: {columns}",
        role=quote(columns["role"]), words=tuple(map(quote, words)),
        columns=named(**columns, user=customer, assistant=others),
    )  # fmt: skip


def unknown_speakers(words: Sequence[str], columns: Mapping[str, str]) -> Message:
    """That beside the customers others speak whom nobody knows, and the line that says who they are."""
    desk = ANYBODY if len(words) > _MOST_WORDS else "|".join(words)
    return _(
        "{role} has words that do not say who speaks ({words}); if they answer, write {columns}",
        role=quote(columns["role"]), words=_some(words), columns=named(**_usual(columns), agent=desk),
    )  # fmt: skip


def _some(words: Sequence[str]) -> tuple[Message | str, ...]:
    """The first words, quoted."""
    return (*map(quote, words[:_MOST_WORDS]), *(["…"] if len(words) > _MOST_WORDS else []))


def what_was_read(layout: LogLayout, records: Iterable[Mapping[str, Any]]) -> Message:
    """What was taken for what, in one line."""
    columns = dict(layout.columns)
    rows = list(records)
    if "role" not in columns:
        return _(
            "columns recognized by their contents: text {text}, all by customers; if that is wrong:"
            " {columns}",
            text=quote(columns["text"]), columns=named(**_usual(columns), role="..."),
        )  # fmt: skip
    words: dict[str, list[str]] = {"user": [], "desk": [], "": []}
    for word in dict.fromkeys(str(row.get(columns["role"]) or "").strip() for row in rows):
        words["desk" if (who := speaker(word)) in ("assistant", "agent") else who].append(word)
    return _(
        "columns recognized by their contents: conversation {id}, speaker {role} (customer: {user}; desk:"
        " {desk}), text {text}; if that is wrong: {columns}",
        id=quote(columns["id"]), role=quote(columns["role"]), user=_some(words["user"]),
        desk=_some(words["desk"]),
        text=quote(columns["text"]), columns=named(**_usual(columns)),
    )  # fmt: skip


def _usual(columns: Mapping[str, str]) -> dict[str, str]:
    return {field: columns[field] for field in ("id", "role", "text", "time") if field in columns}


def _columns(records: Iterable[Mapping[str, Any]]) -> list[_Column]:
    """The columns that hold texts, numbers or nothing, in their order."""
    rows = [record for record in records if isinstance(record, dict)]
    names = dict.fromkeys(name for row in rows for name in row)
    named_values = [(str(name), [row.get(name) for row in rows]) for name in names]
    return [
        _Column(
            name, tuple("" if value is None else str(value)[:_MOST_LOOKED_AT].strip() for value in values)
        )
        for name, values in named_values
        if not any(isinstance(value, (list, dict)) for value in values)
    ]


def _is_role(column: _Column) -> bool:
    """Whether customers and the desk speak in it, and hardly anybody who is not known."""
    if field_of(column.name) and header_means(column.name) != "role":
        return False
    roles, _unknown = known_words(column.texts)
    return (
        column.is_full
        and "user" in roles and bool(roles & {"assistant", "agent"})
        and column.share(lambda word: speaker(word) or is_silent(word)) >= _NEARLY_ALL
    )  # fmt: skip


def _one_role(roles: list[_Column], columns: list[_Column]) -> _Column:
    """The column of speakers; of several that say the same the one that tells most apart."""
    sides = {tuple(speaker(text) == "user" for text in role.texts) for role in roles}
    if len(sides) > 1:
        text = max(columns, key=lambda column: sum(map(len, column.texts)))
        raise Unclear(
            _("{names} may each say who speaks; name one: {columns}",
              names=tuple(quote(role.name) for role in roles),
              columns=named(id="...", role=roles[0].name, text=text.name))
        )  # fmt: skip
    return max(roles, key=lambda role: len(known_words(role.texts)[0]))


def _is_time(column: _Column) -> bool:
    return column.share(lambda text: _DATE.match(text) and len(text) <= 40) >= _NEARLY_ALL


def _is_text(column: _Column) -> bool:
    """Whether people wrote it: hardly ever the same, and no names, addresses or times."""
    if (field := field_of(column.name)) and header_means(column.name) != "text" and field != "question":
        return False
    filled = column.filled
    if len(filled) < 2 or _is_time(column):
        return False
    is_written = column.share(_WRITTEN.search) >= (0.3 if header_means(column.name) == "text" else 0.6)
    is_varied = len(set(filled)) >= 0.5 * len(filled)
    is_address = column.share(lambda text: re.match(r"https?://|\S+@\S+\.\w+$", text)) > 0.5
    return is_written and is_varied and not is_address and median(map(len, filled)) >= 6


def _one_text(texts: list[_Column], role: _Column, ids: list[_Column]) -> _Column | None:
    """The text by its name, or the longest one where it is much longer; None where there is none."""
    by_name = columns_of(column.name for column in texts)
    if "text" in by_name:
        return next(column for column in texts if column.name == by_name["text"])
    longest = sorted(texts, key=lambda column: -sum(map(len, column.texts)))
    if len(longest) > 1:
        lengths = [sum(map(len, column.texts)) for column in longest[:2]]
        if lengths[0] < _LONGER * lengths[1]:
            raise Unclear(
                _("{names} may each be what was said; name one: {columns}",
                  names=tuple(quote(column.name) for column in longest),
                  columns=named(id=ids[0].name if ids else "...", role=role.name, text=longest[0].name))
            )  # fmt: skip
    return longest[0] if longest else None


def _groups(column: _Column) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for number, text in enumerate(column.texts):
        groups.setdefault(text, []).append(number)
    return groups


def _runs(column: _Column) -> float:
    """How often a group is left and come back to: 1 where its rows stand together."""
    return sum(1 for _each in groupby(column.texts)) / len(set(column.texts))


def _ids(columns: list[_Column], spoken: list[str]) -> list[_Column]:
    """The columns that may name the conversation, by rows in common that have both sides."""
    by_name = columns_of(column.name for column in columns)
    candidates = []
    for column in columns:
        is_known = column.name == by_name.get("id")
        other = header_means(column.name) or field_of(column.name)
        if (
            not column.is_full
            or (other not in (None, "id") and not is_known)
            or (_is_time(column) and not is_known)
        ):
            continue
        looks = column.share(lambda text: _HAS_DIGIT.search(text) and not _MEASURED.fullmatch(text))
        is_name = looks >= _NEARLY_ALL or _hints(column.name, _OF_IDS)
        if not is_known and (not is_name or len(set(column.texts)) < 2 or _counts(column)):
            continue
        groups = _groups(column)
        sides = [{spoken[row] for row in rows} for rows in groups.values()]
        both = sum("user" in speakers and bool(speakers & {"assistant", "agent"}) for speakers in sides)
        if both >= _BOTH * len(groups):
            candidates.append((not is_known, column))
    if any(not unknown for unknown, _column in candidates):
        return [column for unknown, column in candidates if not unknown]
    together = [column for _unknown, column in candidates if _runs(column) == 1]
    return together or [column for _unknown, column in candidates]


def _counts(column: _Column) -> bool:
    """Whether it numbers the lines of a conversation, or its turns: 1, 2, 3, 1, 2."""
    if not all(text.isdecimal() and len(text) < 4 for text in column.texts):
        return False
    numbers = [*map(int, column.texts)]
    falls = sum(later < earlier for earlier, later in pairwise(numbers))
    return falls > 0 and min(numbers) < 2 and _runs(column) > 1


def _one_id(ids: list[_Column], role: _Column, text: _Column) -> _Column:
    """The finest of the columns: a customer has several conversations, a conversation has one customer."""
    if not ids:
        raise Unclear(
            _("no column says which rows are one conversation; name it, or leave id out if all of them are"
              " one: {columns}", columns=named(id="...", role=role.name, text=text.name))
        )  # fmt: skip
    finest = max(ids, key=lambda column: len(set(column.texts)))
    for other in ids:
        if len(set(zip(finest.texts, other.texts, strict=True))) > len(set(finest.texts)):
            raise Unclear(
                _("{names} may each name the conversation; name one: {columns}",
                  names=tuple(quote(column.name) for column in (finest, other)),
                  columns=named(id=finest.name, role=role.name, text=text.name))
            )  # fmt: skip
    return finest


def _layout(columns: Sequence[_Column], **chosen: str) -> LogLayout:
    """The chosen columns, and the others that are known by their names or, for the time, by their cells."""
    by_name = columns_of(column.name for column in columns)
    taken = {field: name for field, name in by_name.items() if field not in {"id", "role", "text"}} | chosen
    times = [column for column in columns if column.name not in chosen.values() and column.is_full]
    times = [column for column in times if _is_time(column) and seconds(column.filled[0]) is not None]
    if "time" not in taken and times:
        # Of when the conversation began and when a line was said, the one that changes.
        taken["time"] = max(times, key=lambda column: len(set(column.texts))).name
    return LogLayout(tuple(taken.items()))


def _customers(columns: Sequence[_Column]) -> LogLayout | None:
    """A table of what customers said, by the name of its text, without a column for who speaks."""
    texts = [column for column in columns if _is_text(column)]
    of_customers = [
        column for column in texts
        if _hints(column.name, _OF_CUSTOMERS) and _hints(column.name, _OF_TEXTS)
    ]  # fmt: skip
    is_other = any(_hints(column.name, _OF_SPEAKERS) for column in columns if column not in of_customers)
    if len(texts) != 1 or len(of_customers) != 1 or is_other:
        return None
    by_name = columns_of(column.name for column in columns)
    chosen = {"id": by_name["id"]} if "id" in by_name else {}
    layout = _layout(columns, **chosen, text=of_customers[0].name)
    return layout._replace(speakers=(("*", "user"),))


def _look_at_codes(columns: Sequence[_Column]) -> None:
    """Raises Unclear for a table with lines by speakers whose words are not known, or by nobody."""
    by_name = columns_of(column.name for column in columns)
    texts = [column for column in columns if _is_text(column)]
    if not texts:
        return
    text = by_name.get("text") or max(texts, key=lambda column: sum(map(len, column.texts))).name
    id_ = {"id": by_name["id"]} if "id" in by_name else {}
    by_hint = [column for column in columns if _hints(column.name, _OF_SPEAKERS) and column.is_full]
    for column in by_hint:
        roles, unknown = known_words(column.texts)
        if "user" in roles and unknown:
            id_column = id_ or {"id": _best_id(columns, column, text)}
            raise Unclear(unknown_speakers(unknown, id_column | {"role": column.name, "text": text}))
    for column in columns:
        groups = _conversation(columns, column, text, id_)
        words = [*dict.fromkeys(column.filled)]
        is_hinted = _hints(column.name, _OF_SPEAKERS) or header_means(column.name) == "role"
        if not groups or not column.is_full or column.name == text or max(map(len, words)) > _LONGEST_WORD:
            continue
        if not (2 <= len(words) <= _MOST_WORDS) or (field_of(column.name) and not is_hinted):
            continue
        rows = [row for several in groups.values() for row in pairwise(several)]
        turns = sum(column.texts[first] != column.texts[second] for first, second in rows)
        begins = Counter(column.texts[several[0]] for several in groups.values())
        first, often = begins.most_common(1)[0]
        # They speak in turn, and the same one begins nearly always.
        is_dialogue = turns >= 0.6 * len(rows) and often >= 0.6 * len(groups)
        if is_hinted or (is_dialogue and (id_ or len(groups) > 1)):
            id_column = id_ or {"id": _best_id(columns, column, text)}
            raise Unclear(who_is_who(words, id_column | {"role": column.name, "text": text}, first))
    if id_ and "text" in by_name:
        raise Unclear(
            _("no column says who speaks; name it with role=..., or, where only customers speak, write"
              " {columns}",
              columns=named(**id_, text=text, user="*"))
        )  # fmt: skip


def _candidates(columns: Sequence[_Column], role: _Column, text: str) -> Iterator[_Column]:
    for column in columns:
        if column is role or column.name == text or not column.is_full or _is_time(column):
            continue
        repeats = 1 < len(set(column.texts)) <= 0.75 * len(column.texts)
        if repeats and column.share(_HAS_DIGIT.search) >= _NEARLY_ALL and not _counts(column):
            yield column


def _best_id(columns: Sequence[_Column], role: _Column, text: str) -> str:
    candidates = [*_candidates(columns, role, text)]
    return max(candidates, key=lambda column: len(set(column.texts))).name if candidates else "..."


def _conversation(
    columns: Sequence[_Column], role: _Column, text: str, id_: Mapping[str, str]
) -> dict[str, list[int]]:
    """The rows by what seems to name the conversation; all of them are one where nothing does."""
    name = id_.get("id") or _best_id(columns, role, text)
    id_column = next((column for column in columns if column.name == name), None)
    return _groups(id_column) if id_column else {"": [*range(len(role.texts))]}


def _hints(name: str, words: Iterable[str]) -> bool:
    return any(word in normalised(name) for word in words)
