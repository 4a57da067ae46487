"""Which column of a question file means what, in Japanese and in English."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from pydantic import JsonValue

# A field of a case, then headers that mean it. Where a row fills several of them, the earliest counts.
_HEADERS = """
id          id case_id question_id qid no #
id          番号 質問番号 項番 通番 識別子
question    question 質問 質問文 質問内容 問い 問題 問題文 設問
question    問い合わせ 問合せ 問い合わせ内容 問合せ内容 お問い合わせ お問い合わせ内容 お問合せ お問合せ内容
question    ご質問 ご質問内容 ご相談内容 相談内容 お客様の質問 お客様からの質問
question    発話 user_input query input prompt text
turns       turns ターン
history     history chat_history 履歴 会話履歴 対話履歴 これまでの会話
language    language lang locale 言語
references  references reference 正解 正解例 正答 正解文 模範回答 模範解答 期待回答 期待する回答
references  正しい回答 正しい答え 解答 解答例 回答例 望ましい回答 あるべき回答
references  想定回答 参照回答 ground_truth ground_truths reference_answer reference_answers
references  expected expected_answer expected_output gold_answer correct_answer
passages    passages gold_passage_ids gold_passages passage_ids passage_id gold_ids relevant_ids
passages    根拠ID 根拠文書ID 正解文書 正解文書ID 文書ID 参照ID
answerable  answerable answerability 回答可否 回答可能 回答可
handover    handover handoff escalation
handover    有人対応 有人引き継ぎ 有人引継ぎ 引き継ぎ 引継ぎ エスカレーション
goal        goal 目的 顧客の目的 要望 ゴール
facts       facts 事実 前提 前提情報 顧客情報 顧客の事情
choices     choices options 選択肢
label       label ラベル 正解ラベル
answer      answer 回答 回答文 応答 ボットの回答 response actual_output bot_answer prediction
error       error エラー エラー内容
contexts    contexts context 根拠 根拠文 根拠文書 文脈 コンテキスト 検索結果 参照文
contexts    retrieved_contexts retrieval_context
script      script 台本 followups follow_ups 以後の発言 続きの発言
recorded    recorded recorded_answers 記録回答 記録した回答
tags        tags tag 分類 タグ カテゴリ カテゴリー 種別 区分 category categories subject topic 科目 教科
"""


def _table() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for line in _HEADERS.strip().splitlines():
        field, *names = line.split()
        table[field] = (*table.get(field, ()), *names)
    return table


COLUMNS: Mapping[str, tuple[str, ...]] = _table()

# In these columns of a table a line break begins another item; elsewhere it belongs to the text.
ONE_PER_LINE = frozenset({"references", "ground_truths", "reference_answers"})

# Columns of public data sets that are known not to concern a rehearsal.
EXTRAS = frozenset(
    {
        "dataset", "group", "meta", "metadata", "scale", "labels", "published_scores", "annotators",
        "distractor_passage_ids", "context_ids", "movie_title", "passage_prefix", "level", "sentences",
        "values",
    }
)  # fmt: skip


@lru_cache(maxsize=4096)
def normalised(header: str) -> str:
    """A header without what people vary: width, case, spaces, `_`, `-`, a final dot, a note in brackets."""
    plain = unicodedata.normalize("NFKC", header).casefold()
    plain = re.sub(r"[\s_\-*]", "", re.sub(r"(?<=[\w\s*])[(\[【][^()\[\]【】]*[)\]】]$", "", plain))
    return plain.rstrip(".:")


_FIELDS = {normalised(alias): field for field, aliases in COLUMNS.items() for alias in aliases}
_RANKS = {normalised(alias): rank for aliases in COLUMNS.values() for rank, alias in enumerate(aliases)}
_EXTRAS = frozenset(map(normalised, EXTRAS))
_ONE_PER_LINE = frozenset(map(normalised, ONE_PER_LINE))


def field_of(header: str) -> str | None:
    """The field of a case that a header means, or None."""
    return _FIELDS.get(normalised(header))


def is_extra(header: str) -> bool:
    """Whether a column is known to be of no concern to a rehearsal."""
    return normalised(header) in _EXTRAS


def one_per_line(header: str) -> bool:
    """Whether a cell under this header lists one item per line."""
    return normalised(header) in _ONE_PER_LINE


def columns_by_field(values: Mapping[str, JsonValue]) -> dict[str, str]:
    """For each field the column of this row that fills it: the first of its aliases that is not empty."""
    found: dict[str, str] = {}
    for header, field in _fields_in(tuple(values)):
        if not is_empty(values[header]):
            found.setdefault(field, header)
    if not has_question(found.values()):
        found.pop("question", None)
    return found


@lru_cache(maxsize=64)
def _fields_in(headers: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The headers that mean a field, each with it; of several for one field, the one that counts first."""
    known = [(header, field_of(header) or "") for header in headers if field_of(header)]
    return tuple(sorted(known, key=lambda each: _RANKS[normalised(each[0])]))


def is_empty(value: JsonValue) -> bool:
    """Whether a value says nothing: null, an empty list or object, or blank text."""
    return not value.strip() if isinstance(value, str) else value is None or value in ([], {})


def has_question(headers: Iterable[str]) -> bool:
    """Whether some column says what the customer asks.

    A knowledge base has a `text` column too, so that one asks only beside a label.
    """
    named = [(field_of(header), normalised(header)) for header in headers]
    asked = {name for field, name in named if field in {"question", "turns"}}
    return bool(asked - {"text"}) or ("text" in asked and any(field == "label" for field, _ in named))
