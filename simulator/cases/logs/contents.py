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
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from simulator.cases.headings import MESSAGE_HEADINGS, NAMES, field_of, has_question, normalised
from simulator.cases.logs.table import ANYBODY, LogLayout, is_silent, speaker
from simulator.cases.logs.values import seconds
from simulator.core.messages import Message, _, printable, quote

# Characters of a value that are looked at; the longest word for a speaker; words that a message names.
_MOST_LOOKED_AT, _LONGEST_WORD, _MOST_WORDS = 300, 20, 5
# Share of the rows in which a column has to have what it is taken for.
_NEARLY_ALL = 0.95
# Of conversations so many have both sides, and of two columns the text is so much longer; they speak in turn
# so often.
_BOTH, _LONGER, _IN_TURN = 0.5, 2.0, 0.6
# Of so many texts of the desk not most are questions.
_FEW_TEXTS, _MOST_ASKING = 3, 0.6
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
_OF_SHELLS = frozenset('"$`\\!')


class Unclear(Exception):
    """A table that looks like a log, but that does not say enough; `why` is a clause with what to write."""

    def __init__(self, why: Message) -> None:
        super().__init__()
        self.why = why


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

    @property
    def length(self) -> int:
        return sum(map(len, self.texts))

    @property
    def is_time(self) -> bool:
        return self.share(lambda text: _DATE.match(text) and len(text) <= 40) >= _NEARLY_ALL

    @property
    def is_role(self) -> bool:
        """Whether customers and the desk speak in it, and hardly anybody who is not known."""
        if field_of(self.name) and MESSAGE_HEADINGS.field_of(self.name) != "role":
            return False
        roles, _unknown = known_words(self.texts)
        is_known = self.share(lambda word: speaker(word) or is_silent(word)) >= _NEARLY_ALL
        return self.is_full and "user" in roles and _has_desk(roles) and is_known

    @property
    def is_text(self) -> bool:
        """Whether people wrote it: hardly ever the same, and no names, addresses or times."""
        field, meaning = field_of(self.name), MESSAGE_HEADINGS.field_of(self.name)
        if (field and meaning != "text" and field != "question") or self.is_time:
            return False
        is_written = self.share(_WRITTEN.search) >= (0.3 if meaning == "text" else 0.6)
        return is_written and len(self.filled) > 1 and len(set(self.filled)) >= 0.5 * len(self.filled)

    def rows_by_text(self) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = {}
        for number, text in enumerate(self.texts):
            groups.setdefault(text, []).append(number)
        return groups


def layout_of(records: Iterable[Mapping[str, Any]]) -> LogLayout | None:
    """The columns of a table with one message a row; None for a table that is none.

    Raises Unclear where it is one, or may be, and which column holds what cannot be told for certain.
    """
    columns = _columns(records)
    # A column "turn" may number the turns, and "text" hold the lines.
    asking = [
        c.name for c in columns if c.share(str.isdecimal) < 1 and MESSAGE_HEADINGS.field_of(c.name) != "text"
    ]
    if has_question(asking) or any(field_of(column.name) in _OF_QUESTIONS for column in columns):
        return None
    roles = [column for column in columns if column.is_role]
    texts = [column for column in columns if column.is_text and column not in roles]
    if not roles:
        if customers := _customers(columns, texts):
            return customers
        _look_at_codes(columns, texts)
        return None
    # Of several columns that say the same the one that tells most apart.
    role = max(roles, key=lambda column: len(known_words(column.texts)[0]))
    spoken = [*map(speaker, role.texts)]
    if any(
        [speaker(text) == "user" for text in other.texts] != [who == "user" for who in spoken]
        for other in roles
    ):
        raise _several(roles, "role", id="...", role=roles[0].name, text=max(columns, key=_length).name)
    ids = _ids([column for column in columns if column not in roles], spoken)
    text = _one_text([column for column in texts if column not in ids], role, ids)
    if text is None:
        return None
    chosen = {"id": _one_id(ids, role, text).name, "role": role.name, "text": text.name}
    said = [line for line, who in zip(text.texts, spoken, strict=True) if who in ("assistant", "agent")]
    if len(said) >= _FEW_TEXTS and sum(bool(_ASKS.search(line)) for line in said) > _MOST_ASKING * len(said):
        why = _("most answers in {text} are questions; if it is a log after all: {columns}",
                text=quote(text.name), columns=named(**chosen))  # fmt: skip
        raise Unclear(why)
    return _layout(columns, **chosen)


def _length(column: _Column) -> int:
    return column.length


def _has_desk(roles: set[str]) -> bool:
    return bool(roles & {"assistant", "agent"})


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


def unknown_speakers(words: Sequence[str], columns: Mapping[str, str], *, has_user: bool = True) -> Message:
    """That these words for speakers are not known, and a line that says who they are.

    Beside customers (`has_user`) all of them are people at the desk; else the first one is the customer.
    """
    who = {"agent": ANYBODY if len(words) > _MOST_WORDS else "|".join(words)}
    if not has_user:
        who = {"user": words[0], "assistant": "|".join(words[1:]) or "..."}
    return _(
        "{role} has words that do not say who speaks ({words}); say who they are, for example: {columns}",
        role=quote(columns["role"]), words=_some(words), columns=named(**_usual(columns), **who),
    )  # fmt: skip


def _several(columns: Sequence[_Column], field: str, **example: str) -> Unclear:
    """What is raised where several columns may hold a field."""
    names = tuple(quote(column.name) for column in columns)
    return Unclear(
        _(
            "{names} may each be {field}=...; name one: {columns}",
            names=names,
            field=field,
            columns=named(**example),
        )
    )


def _some(words: Sequence[str]) -> tuple[Message | str, ...]:
    """The first words, quoted."""
    return (*map(quote, words[:_MOST_WORDS]), *(["…"] if len(words) > _MOST_WORDS else []))


def what_was_read(layout: LogLayout, records: Iterable[Mapping[str, Any]]) -> Message:
    """What was taken for what, in one line."""
    columns = dict(layout.columns)
    if "role" not in columns:
        return _(
            "columns recognized by their contents: text {text}, all by customers; if that is wrong:"
            " {columns}",
            text=quote(columns["text"]), columns=named(**_usual(columns), role="..."),
        )  # fmt: skip
    words = dict.fromkeys(str(row.get(columns["role"]) or "").strip() for row in records)
    return _(
        "columns recognized by their contents: conversation {id}, speaker {role} (customer: {user}; desk:"
        " {desk}), text {text}; if that is wrong: {columns}",
        id=quote(columns["id"]), role=quote(columns["role"]), text=quote(columns["text"]),
        user=_some([word for word in words if speaker(word) == "user"]),
        desk=_some([word for word in words if speaker(word) in ("assistant", "agent")]),
        columns=named(**_usual(columns)),
    )  # fmt: skip


def _usual(columns: Mapping[str, str]) -> dict[str, str]:
    return {field: columns[field] for field in ("id", "role", "text", "time") if field in columns}


def _columns(records: Iterable[Mapping[str, Any]]) -> list[_Column]:
    """The columns that hold texts, numbers or nothing, in their order."""
    rows = list(records)
    columns = []
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if not any(isinstance(value, (list, dict)) for value in values):
            texts = ("" if value is None else str(value)[:_MOST_LOOKED_AT].strip() for value in values)
            columns.append(_Column(str(name), tuple(texts)))
    return columns


def _by_name(columns: Iterable[_Column]) -> dict[str, str]:
    return MESSAGE_HEADINGS.columns_of(column.name for column in columns)


def _one_text(texts: list[_Column], role: _Column, ids: list[_Column]) -> _Column | None:
    """The text by its name, or the longest one where it is much longer; None where there is none."""
    by_name = _by_name(texts)
    if "text" in by_name:
        return next(column for column in texts if column.name == by_name["text"])
    longest = sorted(texts, key=_length, reverse=True)
    if len(longest) > 1 and longest[0].length < _LONGER * longest[1].length:
        id_ = ids[0].name if ids else "..."
        raise _several(longest, "text", id=id_, role=role.name, text=longest[0].name)
    return longest[0] if longest else None


def _ids(columns: list[_Column], spoken: list[str]) -> list[_Column]:
    """The columns that may name the conversation, by rows in common that have both sides.

    The usual name goes first, then those whose rows stand together.
    """
    by_name = _by_name(columns).get("id")
    candidates = []
    for column in columns:
        groups = column.rows_by_text()
        is_other = (MESSAGE_HEADINGS.field_of(column.name) or field_of(column.name)) not in (
            None,
            "id",
        ) or column.is_time
        looks = column.share(lambda text: _HAS_DIGIT.search(text) and not _MEASURED.fullmatch(text))
        is_name = len(groups) > 1 and (looks >= _NEARLY_ALL or _hints(column.name, _OF_IDS))
        if not column.is_full or (column.name != by_name and (is_other or not is_name)):
            continue
        sides = [{spoken[row] for row in rows} for rows in groups.values()]
        if sum("user" in who and _has_desk(who) for who in sides) >= _BOTH * len(groups):
            candidates.append(column)
    together = [column for column in candidates if len(set(column.texts)) == len(list(groupby(column.texts)))]
    return [column for column in candidates if column.name == by_name] or together or candidates


def _one_id(ids: list[_Column], role: _Column, text: _Column) -> _Column:
    """The finest of the columns: a customer has several conversations, a conversation has one customer."""
    if not ids:
        why = _(
            "no column says which rows are one conversation; name it, or leave id out if all of them are"
            " one: {columns}",
            columns=named(id="...", role=role.name, text=text.name),
        )
        raise Unclear(why)
    finest = max(ids, key=lambda column: len(set(column.texts)))
    for other in ids:
        if len(set(zip(finest.texts, other.texts, strict=True))) > len(set(finest.texts)):
            raise _several([finest, other], "id", id=finest.name, role=role.name, text=text.name)
    return finest


def _layout(columns: Sequence[_Column], **chosen: str) -> LogLayout:
    """The chosen columns, and the others that are known by their names or, for the time, by their cells."""
    others = {field: name for field, name in _by_name(columns).items() if field not in ("id", "role", "text")}
    times = [
        column for column in columns
        if column.name not in chosen.values() and column.is_full and column.is_time
        and seconds(column.filled[0]) is not None
    ]  # fmt: skip
    if times and "time" not in others:
        # Of when the conversation began and when a line was said, the one that changes.
        others["time"] = max(times, key=lambda column: len(set(column.texts))).name
    return LogLayout(tuple((others | chosen).items()))


def _customers(columns: Sequence[_Column], texts: Sequence[_Column]) -> LogLayout | None:
    """A table of what customers said, by the name of its text, without a column for who speaks."""
    if len(texts) != 1 or not (_hints(texts[0].name, _OF_CUSTOMERS) and _hints(texts[0].name, _OF_TEXTS)):
        return None
    if any(_hints(column.name, _OF_SPEAKERS) for column in columns if column is not texts[0]):
        return None
    by_name = _by_name(columns)
    chosen = {"id": by_name["id"]} if "id" in by_name else {}
    return _layout(columns, **chosen, text=texts[0].name)._replace(speakers=((ANYBODY, "user"),))


def _look_at_codes(columns: Sequence[_Column], texts: Sequence[_Column]) -> None:
    """Raises Unclear for a table with lines by speakers whose words are not known, or by nobody."""
    if not texts:
        return
    by_name = _by_name(columns)
    text = by_name.get("text") or max(texts, key=_length).name
    for column in columns:
        words = [*dict.fromkeys(column.filled)]
        if not column.is_full or column.name == text:
            continue
        id_ = by_name.get("id") or _likely_id(columns, column, text)
        chosen = {"id": id_ or "...", "role": column.name, "text": text}
        is_hinted = _hints(column.name, _OF_SPEAKERS) or MESSAGE_HEADINGS.field_of(column.name) == "role"
        roles, unknown = known_words(words)
        if is_hinted and "user" in roles and unknown:
            raise Unclear(unknown_speakers(unknown, chosen))
        if not 2 <= len(words) <= _MOST_WORDS or max(map(len, words)) > _LONGEST_WORD:
            continue
        if is_hinted or (id_ and not field_of(column.name) and _speak_in_turn(column, columns, id_)):
            raise Unclear(unknown_speakers(words, chosen, has_user=False))
    if {"id", "text"} <= by_name.keys():
        why = _(
            "no column says who speaks; name it with role=..., or, where only customers speak, write"
            " {columns}",
            columns=named(id=by_name["id"], text=text, user=ANYBODY),
        )
        raise Unclear(why)


def _likely_id(columns: Sequence[_Column], role: _Column, text: str) -> str:
    """The column that names conversations, if any may: with digits, and several rows in common."""
    candidates = [
        column for column in columns
        if column is not role and column.name != text and column.is_full and not column.is_time
        and 1 < len(set(column.texts)) <= 0.75 * len(column.texts)
        and column.share(_HAS_DIGIT.search) >= _NEARLY_ALL
    ]  # fmt: skip
    return max(candidates, key=lambda column: len(set(column.texts))).name if candidates else ""


def _speak_in_turn(role: _Column, columns: Sequence[_Column], id_: str) -> bool:
    """Whether its words change from row to row of a conversation, and the same one nearly always begins."""
    groups = next(column for column in columns if column.name == id_).rows_by_text().values()
    pairs = [pair for rows in groups for pair in pairwise(rows)]
    turns = sum(role.texts[first] != role.texts[second] for first, second in pairs)
    begins = max(Counter(role.texts[rows[0]] for rows in groups).values())
    return turns >= _IN_TURN * len(pairs) and begins >= _IN_TURN * len(groups)


def _hints(name: str, words: Iterable[str]) -> bool:
    return any(word in normalised(name) for word in words)
