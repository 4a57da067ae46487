"""What an answer needed: matched by id, source, text and content."""

from hypothesis import given
from hypothesis import strategies as st

from simulator.core.types import Answer, Case, GradingContext, Passage, Turn
from simulator.diagnosis.evidence import Corpus, NeededArticles, is_of, need_of, share_held

FEE = Passage(
    id="ja/17-fee",
    text="# 解約金\n\n24か月以内に解約すると、解約金4,800円がかかります。",
    source="ja/17-fee.md",
)
RETURN = Passage(id="ja/19-return", text="# 機器の返却\n\n機器は解約日の翌月20日までに返却してください。")
PLANS = Passage(id="ja/01-plans", text="# 料金プラン\n\nマンションの月額料金は4,180円です。")
LIBRARY = Corpus([FEE, RETURN, PLANS])


def context(
    *retrieved: Passage, shows: bool = True, gold: tuple[str, ...] = ("ja/17-fee",)
) -> GradingContext:
    """A turn that asks for the fee, with these passages."""
    case = Case(
        id="fee", question="解約金はいくらですか", language="ja", answerable=True, passages=gold,
        references=(("24か月以内の解約には、解約金4,800円がかかります。",),),
    )  # fmt: skip
    answer = Answer(text="分かりません。", passages=retrieved, shows_passages=shows)
    turn = Turn(index=1, user=case.question, answer=answer)
    return GradingContext(conversation="angry/fee#0", case=case, persona="angry", turn=turn)


def place(*retrieved: Passage, corpus: Corpus | None = LIBRARY, **more: object) -> str:
    """Where the needed article was."""
    return need_of(context(*retrieved, **more), corpus).place  # type: ignore[arg-type]


def test_the_place_of_the_needed_article_is_found() -> None:
    """Retrieved, only in the knowledge, not even there, or not known."""
    assert place(FEE) == "retrieved"
    assert place(RETURN, PLANS) == "not_retrieved"
    assert place(RETURN, corpus=Corpus([RETURN, PLANS])) == "lacking"
    assert place(RETURN, corpus=None) == "outside"
    assert place(shows=False) == "hidden"


def test_without_gold_the_article_is_found_by_the_reference() -> None:
    """Cases without gold ids, and ids of another making, are settled by what the reference says."""
    assert need_of(context(RETURN, gold=()), LIBRARY) == NeededArticles("not_retrieved", ("ja/17-fee",))
    assert need_of(context(RETURN, gold=("kb-0017",)), LIBRARY).articles == ("ja/17-fee",)
    assert place(FEE, gold=("kb-0017",)) == "retrieved"


def test_passages_are_matched_by_id_source_and_text() -> None:
    """Chunks of an article count as the article, whatever the bot calls them."""
    piece = "24か月以内に解約すると、解約金4,800円がかかります。"

    assert is_of(Passage(id="ja/17-fee#2", text="x"), "ja/17-fee", None)
    assert is_of(Passage(id="7", text="x", source="ja/17-fee.md"), "ja/17-fee", None)
    assert is_of(Passage(id="7", text=piece), "ja/17-fee", LIBRARY)
    assert not is_of(Passage(id="7", text=PLANS.text), "ja/17-fee", LIBRARY)
    assert not is_of(Passage(id="ja/17-fees", text="x"), "ja/17-fee", None)


def test_another_number_does_not_hold_a_reference() -> None:
    """The same sentence with another amount is half as good."""
    text = "24か月以内に解約すると、解約金9,900円がかかります。"
    reference = "24か月以内の解約には、解約金4,800円がかかります。"

    assert share_held(reference, [FEE.text], "ja") > 0.8
    assert share_held(reference, [text], "ja") <= 0.5


def test_the_search_finds_articles_by_their_words() -> None:
    """The words of a question bring the article that has them first."""
    assert LIBRARY.ranked("機器の返却期限")[0] == RETURN
    assert LIBRARY.finds("解約金はいくら", ["ja/17-fee"], 1)
    assert Corpus([]).ranked("何か") == []


@given(st.text(), st.text(), st.text())
def test_any_text_can_be_searched(text: str, question: str, reference: str) -> None:
    """Ranks and shares exist for whatever is in an article or a question."""
    corpus = Corpus([Passage(id="a", text=text)])

    assert len(corpus.ranked(question)) <= 1
    assert 0 <= share_held(reference, [text], "ja") <= 1


def test_a_piece_without_the_answer_is_not_the_article() -> None:
    """A bot that cuts its articles finer may retrieve the right one without the part that answers."""
    head = Passage(id="ja/17-fee", text="# 解約金\n\n24か月以内に解約すると、")
    tail = Passage(id="ja/17-fee#2", text="24か月以内に解約すると、解約金4,800円がかかります。")

    assert need_of(context(head), LIBRARY) == NeededArticles(
        "not_retrieved", ("ja/17-fee",), exact=True, cut=True
    )
    assert need_of(context(head, tail), LIBRARY) == NeededArticles("retrieved", ("ja/17-fee",))
    assert need_of(context(RETURN), LIBRARY).cut is False


def test_only_an_article_that_the_case_names_is_known_exactly() -> None:
    """By its name in the knowledge base, in the turn that asks the case's question; all else is words."""
    assert need_of(context(RETURN), LIBRARY) == NeededArticles("not_retrieved", ("ja/17-fee",), exact=True)
    assert not need_of(context(RETURN, gold=()), LIBRARY).exact
    assert not need_of(context(RETURN, gold=("kb-0017",)), LIBRARY).exact
    assert not need_of(context(RETURN), None).exact


ELSEWHERE = Passage(id="ja/30-moving", text="# 引っ越し\n\n24か月以内の解約には、解約金4,800円がかかります。")
REWORDED = Passage(
    id="ja/31-leaving",
    text="# おやめになるとき\n\n2年たたずに契約を終える方から、解約金4,800円をいただきます。",
)
MONTHLY = Passage(id="ja/32-split", text="# 解約金の分割\n\n解約金は、月2,400円ずつ2回に分けてお支払いです。")


def test_no_article_that_is_there_is_called_missing() -> None:
    """Said by another one in whatever words, it was not found; to be worked out, nobody can tell."""
    for gold in (("ja/17-fee",), ("kb-0017",), ()):
        there = need_of(context(RETURN, gold=gold), Corpus([RETURN, PLANS, ELSEWHERE]))
        assert there == NeededArticles("not_retrieved", ("ja/30-moving",))
        assert place(ELSEWHERE, corpus=Corpus([RETURN, PLANS, ELSEWHERE]), gold=gold) == "retrieved"
        reworded = need_of(context(RETURN, gold=gold), Corpus([RETURN, PLANS, REWORDED]))
        assert reworded == NeededArticles("not_retrieved", (REWORDED.id,))
        doubtful = need_of(context(RETURN, gold=gold), Corpus([RETURN, PLANS, MONTHLY]))
        assert doubtful == NeededArticles("doubtful", (MONTHLY.id,))
        assert place(RETURN, corpus=Corpus([RETURN, PLANS]), gold=gold) == "lacking"
