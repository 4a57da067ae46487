"""Any table with one message a row: who speaks, what was said, and to which conversation it belongs."""

from collections.abc import Iterator, Mapping
from typing import Any

from simulator.core.errors import UnknownName
from simulator.core.messages import _
from simulator.data.logs.talks import Line, Skipped, Talk, in_time, role_of, seconds, talk_of, text_of
from simulator.data.values import normalised

NAME = "a table with one message a row"
# The columns, by every name that is known for them, in the order in which they are taken.
_NAMES = """
id        conversation_id ticket_id session_id chat_id thread_id talk_id dialog_id dialogue_id conversationid
id        sessionid channel_id room_id case_id 会話ID 会話番号 セッションID チケットID チケット番号
id        問い合わせ番号 お問い合わせ番号 スレッドID 対話ID 受付番号 チャットID
role      role author_role sender_role speaker sender author_type sender_type from direction speaker_type who
role      話者 発話者 発言者 送信者 役割 話し手 ロール 送信元 発信者 区分 種別 sender_name author
text      text message body content utterance msg message_text comment 本文 発言 発話 メッセージ 内容
text      テキスト 発言内容 発話内容 メッセージ内容 会話内容
time      created_at timestamp time sent_at date datetime createdat 日時 時刻 送信日時 発話日時 会話日時
time      作成日時 投稿日時
rating    csat rating score satisfaction feedback nps 評価 満足度 スコア 顧客満足度
language  language lang locale 言語
visible   public is_public internal private is_internal 公開 内部
"""
COLUMNS: dict[str, list[str]] = {}
for _line in _NAMES.strip().splitlines():
    _field, *_names = _line.split()
    COLUMNS.setdefault(_field, []).extend(_names)
_KNOWN = {normalised(name): field for field, names in COLUMNS.items() for name in names}


def columns_of(headers: Any) -> dict[str, str]:
    """By field the column that holds it: the first of its names that there is."""
    found: dict[str, tuple[int, str]] = {}
    for header in headers:
        name = normalised(str(header))
        if field := _KNOWN.get(name):
            rank = [normalised(each) for each in COLUMNS[field]].index(name)
            found[field] = min(found.get(field, (rank, header)), (rank, header))
    return {field: header for field, (_rank, header) in found.items()}


def renamed(record: Any, columns: Mapping[str, str]) -> dict[str, Any]:
    """A record with the columns that `--columns` names under the names that are known here.

    Raises UnknownName for a field that a message does not have, and for a column that the file does not have.
    """
    for field, column in columns.items():
        if field not in COLUMNS:
            raise UnknownName(_("field of a message in --columns"), field, COLUMNS)
        if column not in record:
            raise UnknownName(_("column in --columns"), column, record)
    return {COLUMNS[field][0]: record[column] for field, column in columns.items()}


def matches(record: Any) -> bool:
    """Columns for who speaks and what was said, and none for the answer."""
    named = columns_of(record)
    has_answer = any(
        normalised(str(key)) in {"answer", "回答", "response", "question", "質問"} for key in record
    )
    return {"role", "text"} <= named.keys() and isinstance(record.get(named["text"]), str) and not has_answer


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The rows by conversation, in time order; rows of one may stand apart."""
    talks: dict[str, list[Line]] = {}
    languages: dict[str, str] = {}
    columns: dict[str, str] = {}
    for record in records:
        columns = columns or columns_of(record)
        value = {field: record.get(column) for field, column in columns.items()}
        role = role_of(value["role"])
        visible = normalised(str(columns.get("visible", "")))
        flag = str(value.get("visible") or "").strip().lower()
        hidden = (
            flag in ("true", "1", "yes")
            if "internal" in visible or "private" in visible or "内部" in visible
            else flag in ("false", "0", "no")
        )
        if not role or hidden:
            skipped.note(_("rows of neither a customer nor the desk (notes, the system)"))
            continue
        id_ = str(value.get("id") or "1")
        rating = {columns["rating"]: value["rating"]} if value.get("rating") not in (None, "") else {}
        talks.setdefault(id_, []).append(
            Line(role, text_of(value["text"]), seconds(value.get("time")), (), rating)
        )
        if value.get("language"):
            languages.setdefault(id_, str(value["language"]))
    for id_, lines in talks.items():
        yield talk_of(id_, in_time(lines), language=languages.get(id_))
