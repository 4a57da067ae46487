"""Whether a guess of the persona rests on how the lines are worded, and on nothing else."""

from benchmarks.voices import NaiveBayes, grams, persona_guesses
from simulator.core.types import Conversation, Facts
from tests.customer_conversations import QUESTION, UNRELATED, a_case, a_person, a_talk

ASKED, OTHER = QUESTION["ja"], UNRELATED["ja"]


def voiced_by(who: str, case: str, *lines: str) -> Conversation:
    exchanges = ((ASKED, OTHER), *((line, OTHER) for line in lines))
    return a_talk(*exchanges, persona=who, case=a_case(id=case))


def test_personas_are_guessed_from_lines_that_others_of_them_said() -> None:
    """Two ways of speaking are told apart by other lines of theirs."""
    conversations = [
        voiced_by("angry", "1", "いい加減にしてください！早く答えろ！"),
        voiced_by("angry", "2", "いい加減にして！答えろ！早く！"),
        voiced_by("calm", "1", "恐れ入りますが、もう少し詳しくお聞かせいただけますか。"),
        voiced_by("calm", "2", "恐れ入ります。もう少しお聞かせいただければと存じます。"),
    ]

    assert len(set(persona_guesses(conversations, ()))) == 1


def test_a_guess_does_not_know_the_very_lines_it_judges() -> None:
    """The same line with the question in it is no evidence, however often it is in the phrases."""
    mine = ("「$question」と聞いているのです。",)
    people = [a_person("angry", pressing=mine), a_person("calm", pressing=("なるほど、さようですか。",))]
    line = f"「{ASKED.rstrip('？')}」と聞いているのです。"
    conversations = [
        voiced_by("angry", "1", line),
        voiced_by("calm", "1", "聞いているのです。なぜでしょう。"),
    ]

    assert persona_guesses(conversations, people)[0] == 0


def test_nobody_is_guessed_where_there_is_one_persona() -> None:
    """There would be nothing to tell."""
    assert persona_guesses([voiced_by("angry", "1", "早く！")], ()) == (0, 0)


def test_naive_bayes_prefers_the_label_that_a_text_is_like() -> None:
    """By runs of characters, and by none when there are none."""
    model = NaiveBayes({"a": ["aaaa"], "b": ["bbbb"]})

    assert model.guess("aab a") == "a"
    assert model.guess("aaaa", without=["aaaa"], own="a") in {"a", "b"}
    assert grams("Ab", (3,)) == (" ab", "ab ")


def test_facts_that_are_taken_up_are_no_style() -> None:
    """The same fact said by two personas tells nothing of either."""
    facts = Facts(knows=("人数は4名。うち子ども1名",))
    conversations = [
        a_talk(
            (ASKED, OTHER),
            (f"{mark}、人数は4名。うち子ども1名", OTHER),
            persona=who,
            case=a_case(id=i, facts=facts),
        )
        for i, who, mark in (
            ("1", "angry", "だから"),
            ("2", "angry", "いいから"),
            ("1", "calm", "はい"),
            ("2", "calm", "はい"),
        )
    ]

    assert persona_guesses(conversations, ())[1] == 4


def test_a_question_that_is_taken_up_cut_is_no_style_either() -> None:
    """As far as the line follows it, wherever in the line it stands: as if it were not there."""
    question = "引っ越し先の住所で光回線を使い続けるには、どのような手続きが必要ですか"
    before = "ですから、何度も申し上げているとおり、"

    def guessed(quoted: str) -> tuple[int, int]:
        talks = [
            a_talk((question, OTHER), (line, OTHER), persona=who, case=a_case(id=rest, question=question))
            for rest in ("もう一度。", "早く。")
            for who, line in (("angry", before + quoted + rest), ("calm", before + rest))
        ]
        return persona_guesses(talks, ())

    assert guessed(f"{question[:20]}…") == guessed("")
