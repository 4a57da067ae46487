"""What customers ask in logs, and no test question or no article is about: topics, by the words they use.

    asked        "学割はありますか", "学割の申し込み方法は"      the word 学割 in two dialogues
    questions    none has 学割                              a topic that no question covers
    articles     none has 学割                              a topic that no article answers

Words find candidates and understand nothing: who asks for the price in another word than the articles seems
to ask for something else. So a word counts where at least `FEWEST` dialogues have it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from simulator.core.document import excerpt
from simulator.core.types import Value
from simulator.privacy.patterns import masks
from simulator.text.overlap import content
from simulator.text.segments import normalise, tokens

# In so many dialogues a word has to stand before it is a topic.
FEWEST = 2
# So many of the customers' lines are shown for a topic, and so much of each.
_EXAMPLES, _LENGTH = 3, 120
# Verbs and nouns of any request, which are about nothing.
_ANY_REQUEST = """
    want need like know tell help hello thank thanks please get got make made use using used work works
    working question questions ask asking try tried back day days today yesterday still way thing anything
    something possible let look looking see say said find found think sure ok give trouble problem issue
    質問 確認 方法 場合 今日 昨日 先日 利用 使用 可能 希望 教示 連絡 回答 対応 状況 予定 自分 必要 問題 内容
    具体 相談 問合 合わ
"""
_EMPTY = content(_ANY_REQUEST) | frozenset(_ANY_REQUEST.split())
_RUN = re.compile("[一-龥々ァ-ヺー]+")


class Topic(Value):
    """A word, in how many dialogues customers use it, and some of their lines, masked."""

    word: str
    dialogues: int
    examples: tuple[str, ...]


class Gaps(Value):
    """Topics of customers that no question covers, and that no article answers, the most frequent first.

    `unanswered` is None where the articles are not known. `dialogues` are those in which something is asked.
    """

    dialogues: int
    uncovered: tuple[Topic, ...]
    unanswered: tuple[Topic, ...] | None

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return self.model_dump(mode="json")


def gaps_of(requests: Mapping[str, str], questions: Iterable[str], articles: Iterable[str]) -> Gaps:
    """What these customers ask, by dialogue, that the words of questions and of articles do not have."""
    texts = list(articles)
    return Gaps(
        dialogues=len(requests),
        uncovered=_topics(requests, _words(questions)),
        unanswered=_topics(requests, _words(texts)) if texts else None,
    )


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(content(text) for text in texts))


def _topics(requests: Mapping[str, str], there: frozenset[str]) -> tuple[Topic, ...]:
    """The words that are not there, each dialogue in that of its words which most have."""
    # What was masked is about nobody's topic; one character, 教 of 教えて, is grammar more often than not.
    plain = {id_: masks().sub(" ", text) for id_, text in requests.items()}
    by_word: dict[str, set[str]] = defaultdict(set)
    for id_, text in plain.items():
        for word in content(text) - there - _EMPTY:
            if len(word) > 1 and not word.isdecimal():
                by_word[word].add(id_)
    left, topics = set(requests), list[Topic]()
    while by_word:
        word, ids = max(by_word.items(), key=lambda item: (len(item[1] & left), item[0]))
        ids = ids & left
        if len(ids) < FEWEST:
            break
        left -= ids
        lines = [text for id_, text in requests.items() if id_ in ids]
        examples = dict.fromkeys(excerpt(line, _LENGTH) for line in lines)
        name = _spelling(word, [plain[id_] for id_ in plain if id_ in ids])
        topics.append(Topic(word=name, dialogues=len(ids), examples=tuple(examples)[:_EXAMPLES]))
    return tuple(topics)


def _spelling(word: str, texts: Iterable[str]) -> str:
    """How customers write a word most often: 学割 of 学割, charges of charg."""
    spellings = Counter(
        run
        for text in texts
        for run in (*_RUN.findall(normalise(text)), *tokens(text))
        if word in content(run)
    )
    return spellings.most_common(1)[0][0] if spellings else word
