"""Questions by rule: sentences, headings, wordings, near duplicates, pairs, and files that read back."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.addons.testset.files import content_of
from simulator.addons.testset.near_duplicates import NearDuplicates
from simulator.addons.testset.plan import (
    KINDS,
    OUT_OF_SCOPE,
    WORDINGS,
    Article,
    Index,
    Plan,
    outside,
    quotas,
    read_articles,
    readable,
)
from simulator.addons.testset.rules import RuleBasedTestSet, questions_of, worded
from simulator.core.errors import InputError
from simulator.core.types import Case, Facts, Language, Message, Passage
from simulator.data.cases import read_cases
from simulator.text.acts import is_refusal
from tests.properties import examples

TEXT = st.text(alphabet="あ解約金は円123 a|[{\"'\n,=-+:：。?", min_size=1, max_size=24).filter(
    lambda text: text.strip() == text
)


def article(text: str, id_: str = "a", source: str | None = None) -> Article:
    """An article of this text."""
    return Article(Passage(id=id_, text=text, source=source))


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("ホーム1ギガの解約金は4,800円です。", "ホーム1ギガの解約金はいくらですか"),
        ("支払証明書の郵送は1通550円です。", "支払証明書の郵送はいくらかかりますか"),
        ("変更する場合は、再手配料5,500円がかかります。", "変更する場合、再手配料はいくらかかりますか"),
        ("機器の返却期限は、解約日の翌月20日です。", "機器の返却期限はいつまでですか"),
        ("データ容量は、翌月に繰り越せません。", "データ容量は、翌月に繰り越せますか"),
        ("MNP転出の予約番号は不要です。", "MNP転出の予約番号は必要ですか"),
        ("残りの容量は、マイページで確認できます。", "残りの容量はどこで確認できますか"),
        ("Voice calls within Japan cost 22 yen per call.", "How much do voice calls within Japan cost?"),
        ("You cannot use any of your last 3 passwords.", "Can I use any of my last 3 passwords?"),
        ("You can create up to 50 sub-accounts.", "How many sub-accounts can I create?"),
        ("There is no fee for resuming your line.", "Is there any fee for resuming my line?"),
        ("An eSIM cannot be moved to another device.", "Can an eSIM be moved to another device?"),
        ("Unused data does not roll over at all.", "Does unused data roll over at all?"),
    ],
)
def test_a_sentence_becomes_the_question_it_answers(sentence: str, question: str) -> None:
    """The sentence is the right answer; what is said to the customer is asked by the customer."""
    [asked] = questions_of(article(sentence))

    assert (asked.question, asked.reference) == (question, sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "この手数料は330円です。",
        "ただし、手数料は330円です。",
        "当社の本社は東京です。",
        "それは無料です。",
        "It costs 330 yen a month.",
        "These are not available today.",
        "Retain physical checks until you confirm that funds are available.",
    ],
)
def test_what_does_not_stand_alone_gives_no_question(sentence: str) -> None:
    """A pronoun or a turn of speech is about something said before."""
    assert list(questions_of(article(sentence))) == []


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("# ルーターの設定\n\n1. 電源を入れます。\n2. つなぎます。", "ルーターの設定はどうすればいいですか"),
        ("# 鍵を忘れた場合\n\n窓口へ電話をかけて待ちます。", "鍵を忘れたときは、どうすればいいですか"),
        ("# Setting up your router\n\n1. Plug it in.\n2. Wait.", "How do I go about setting up my router?"),
        ("# If your payment is late\n\nWe will post a slip soon.", "What should I do if my payment is late?"),
        ("# Late slip\n\nWe take something off it each month.", "What can you tell me about the late slip?"),
    ],
)  # fmt: skip
def test_a_heading_is_asked_for_what_stands_below(text: str, question: str) -> None:
    """Steps are asked for as steps, the rest for what it is about."""
    assert [asked.question for asked in questions_of(article(text))] == [question]


def test_titles_tell_articles_apart() -> None:
    """A question that two articles answer differently names the article."""
    texts = [
        f"# {name}口座\n\n引き出しの手数料は{n}円です。引き出しはできます。"
        for name, n in (("金", 10), ("銀", 20))
    ]
    found = [article(text, id_=str(n)) for n, text in enumerate(texts)]
    cases = RuleBasedTestSet(found, Index(found), ("plain",), 42).make(("number",), 5).cases

    assert sorted(case.question for case in cases) == [
        "金口座について質問です。引き出しの手数料はいくらですか",
        "銀口座について質問です。引き出しの手数料はいくらですか",
    ]


@pytest.mark.parametrize("language", ["ja", "en"])
def test_no_right_answer_of_an_outside_question_is_an_answer(language: Language) -> None:
    """Each declines, and reads as declining."""
    articles = read_articles(_demo(language))
    made = RuleBasedTestSet(articles, Index(articles), ("plain",), 1).make(
        tuple(OUT_OF_SCOPE - {"false-fact"}), 40
    )

    assert len(made.cases) > 20
    assert all(is_refusal(case.references_at(1)[0], language) for case in made.cases)
    assert all(not case.passages and case.answerable is False for case in made.cases)


def test_a_neighbouring_topic_is_asked_only_where_nothing_speaks_of_it() -> None:
    """Any of its words in any article takes it away."""
    text = "、".join(word for each in outside()["ja"]["neighbours"] for word in each["words"])
    found = [article(f"ここでは{text}についてのすべてをご案内しています。")]

    assert RuleBasedTestSet(found, Index(found), ("plain",), 1).make(("neighbour",), 9).cases == ()


@pytest.mark.parametrize("language", ["ja", "en"])
def test_wordings_keep_what_is_asked(language: Language) -> None:
    """Polite and casual ones differ from the plain one and keep its figures and names."""
    for each in read_articles(_demo(language))[:20]:
        for asked in questions_of(each):
            for wording in WORDINGS:
                said, got = worded(asked, wording, language, random.Random(1))
                assert said.strip()
                assert (said == asked.question) == (got == "plain")
                if got in ("keigo", "casual"):
                    digits = [c for c in asked.question if c.isdigit()]
                    assert [c for c in said if c.isdigit()] == digits
                    assert "教えてくださいか" not in said
                    assert "ですかでしょうか" not in said


@given(st.lists(TEXT, max_size=12), st.lists(TEXT, max_size=12))
def test_near_duplicates_are_those_of_a_search_of_all_pairs(one: list[str], other: list[str]) -> None:
    """The index misses none that comparing with every text would find."""
    from simulator.addons.testset.near_duplicates import _DIGITS, _jaccard, _trigrams
    from simulator.text.segments import normalise

    near, kept = NearDuplicates(), list[str]()
    for text in [*one, *other]:
        same = [
            old
            for old in kept
            if _DIGITS.findall(normalise(old)) == _DIGITS.findall(normalise(text))
            and _jaccard(_trigrams(old), _trigrams(text)) >= near.same
        ]
        assert (near.add(text, text) is not None) == bool(same)
        if not same:
            kept.append(text)


def test_numbers_tell_questions_apart() -> None:
    """1 giga is not 10 giga; marks and width are nothing."""
    near = NearDuplicates()

    assert near.add("ホーム1ギガの解約金はいくらですか", "a") is None
    assert near.add("ホーム10ギガの解約金はいくらですか", "b") is None
    assert near.add("ホーム１ギガの解約金は、いくらですか？", "c") == "a"


def test_pairs_speak_of_the_same_and_of_one_language() -> None:
    """Rare terms count; every article is compared with few others."""
    found = [
        article("解約金はプランによって違います。解約の締め切りは毎月20日です。", "a"),
        article("解約金の支払い方法と、解約の締め切りについてご案内します。", "b"),
        article("ルーターのランプが赤く点滅したら、電源を入れ直します。", "c"),
        article("The cancellation fee depends on your plan and its deadline.", "d"),
    ]

    [(one, other), *_] = Index(found).pairs()
    assert {one.id, other.id} == {"a", "b"}


@given(st.integers(1, 300))
def test_quotas_add_up(number: int) -> None:
    """To the number that is asked for, and every kind is there from twelve on."""
    found = quotas(KINDS, number)

    assert sum(found.values()) == number
    assert all(found.values()) or number < 20


def test_a_plan_goes_on_where_it_stopped() -> None:
    """No id twice; the same seed gives the same tasks, another one others under other ids."""
    articles = read_articles(_demo("ja"))
    index = Index(articles)
    plan = Plan(articles, index, WORDINGS, 42)
    first, more = plan.take(KINDS, 40), plan.take(KINDS, 40)
    ids = [task.id for task in (*first, *more)]

    assert len(set(ids)) == len(ids) == 80
    assert Plan(articles, index, WORDINGS, 42).take(KINDS, 40) == first
    assert not {task.id for task in Plan(articles, index, WORDINGS, 7).take(KINDS, 40)} & set(ids)


@given(st.text(min_size=1, max_size=80))
def test_ids_stand_between_no_signs(id_: str) -> None:
    """Whatever passages are called, cases can be named after them."""
    name = readable(id_)

    assert name
    assert len(name) <= 50
    assert not set(name) & set("/#|:\n ")


TEXTS = st.lists(TEXT, max_size=2).map(tuple)
LINES = st.builds(Message, role=st.sampled_from(("user", "assistant")), content=TEXT)
CASES = st.builds(
    Case,
    id=st.integers(1, 9**9).map(str),
    question=TEXT.filter(lambda text: any(map(str.isalnum, text))),
    language=st.just("ja"),
    history=st.lists(LINES, max_size=2).map(tuple),
    references=st.lists(TEXT, max_size=2).map(lambda found: (tuple(found),) if found else ()),
    passages=st.lists(st.sampled_from(("ja/01#2", "b")), max_size=2, unique=True).map(tuple),
    answerable=st.sampled_from((True, False, None)),
    goal=st.none() | TEXT,
    facts=st.builds(Facts, knows=TEXTS, unknown=TEXTS),
    tags=st.just(("made", "simple", "plain")),
)  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".yaml"])
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(case=CASES)
def test_files_read_back_as_they_are(
    suffix: str, case: Case, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every field, whatever signs are in it."""
    path = tmp_path_factory.mktemp("made") / f"a{suffix}"
    path.write_bytes(content_of([case], path))

    assert read_cases(path) == (case,)


def test_titles_of_rows_and_of_files(tmp_path: Path) -> None:
    """A row's name is its title, the path of a file is none; too short passages are left out."""
    rows = [
        {"id": "1", "title": "送料", "text": "## 見出し\n" + "送料は全国一律で550円をいただいています。"},
        {"id": "2", "text": "短い"},
    ]
    path = tmp_path / "k.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")

    assert [(each.id, each.title) for each in read_articles(path)] == [("1", "送料")]
    with pytest.raises(InputError, match="none of its 2 passages is in --language en"):
        read_articles(path, "en")


def _demo(language: Language) -> Path:
    from simulator.core import shelves

    return shelves.DEMO / "knowledge" / language
