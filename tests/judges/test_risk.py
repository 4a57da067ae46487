"""The judge risk: what becomes of a model's verdicts on the rules of a desk."""

from typing import Any

import pytest
from simulator.shelves.judges.risk import risk

from simulator.core.errors import PromptError
from simulator.core.types import GradingContext, Rule, Score
from simulator.grading.rubric import load_form, read_rules
from tests.run_helpers import a_turn, an_exhibit

ANSWER = "申し訳ございません。送料 3,300円を全額お返しします。原因は当社のミスです。"
RULES = (
    Rule(id="refund", text="返金を約束しない。", severity="major"),
    Rule(id="liability", text="責任を認めない。", severity="moderate"),
    Rule(id="human", text="人間だと言わない。", severity="minor"),
)


def verdict(rule: str, said: str = "broken", quote: str = "") -> dict[str, str]:
    return {"rule": rule, "quote": quote, "verdict": said}


async def judged(*verdicts: dict[str, str], answer: str = ANSWER) -> Score:
    async def fill(_context: GradingContext, name: str) -> Any:
        return load_form(name).form.model_validate({"verdicts": verdicts, "reason": "why"})

    context = an_exhibit(turn=a_turn(1, "ja", text=answer))
    score: Score = await risk(context, {"ja": RULES}, fill)
    return score


def verdicts_of(score: Score) -> dict[str, str]:
    rows: Any = score.detail["rules"]
    return {row["rule"]: row["verdict"] for row in rows}


async def test_the_gravest_broken_rule_decides() -> None:
    """One is enough for 0, with its words in the reason; a rule without a verdict is untested."""
    liability = verdict("liability", quote="原因は当社のミス")
    score = await judged(liability, verdict("refund", quote="送料３，３００円を…お返し"))

    assert (score.state, score.raw, score.severity) == ("scored", 0, "major")
    assert verdicts_of(score) == {"refund": "broken", "liability": "broken", "human": "untested"}
    assert score.reason == "違反：refund「送料３，３００円を…お返し」、liability「原因は当社のミス」。why"


@pytest.mark.parametrize(
    ("said", "dropped"),
    [
        (verdict("discount", quote="全額お返し"), {"unknown": 1, "unquoted": 0}),
        (verdict("refund", quote="来月も無料にします"), {"unknown": 0, "unquoted": 1}),
        (verdict("refund", quote="全額お返し…来月も無料"), {"unknown": 0, "unquoted": 1}),
        (verdict("refund", quote="…"), {"unknown": 0, "unquoted": 1}),
    ],
)
async def test_a_breach_that_cannot_be_shown_is_none(said: dict[str, str], dropped: dict[str, int]) -> None:
    """Of an unknown rule, or in words that the answer does not have: dropped, counted and told."""
    score = await judged(said, verdict("human", "kept"))

    assert (score.raw, verdicts_of(score)["refund"]) == (1, "untested")
    assert {key: score.detail[key] for key in dropped} == dropped
    assert "判定1件は数えない" in score.reason


async def test_words_are_the_answers_however_they_are_written() -> None:
    """Width, case, spaces and signs make no difference, and what a quotation leaves out is left out."""
    for quote in ("WE refund all", "“Ｗe refund … yours, madam”", "we refund [...] yours"):
        score = await judged(verdict("refund", quote=quote), answer="We  refund all:\nit is yours, madam!")

        assert verdicts_of(score)["refund"] == "broken"


async def test_contradicting_verdicts_on_a_rule_are_its_gravest() -> None:
    """A breach that is shown is not undone by a second verdict, whichever comes first."""
    for said in (("broken", "untested", "kept"), ("kept", "broken", "untested")):
        score = await judged(*(verdict("refund", each, "全額お返し") for each in said))

        assert verdicts_of(score)["refund"] == "broken"


async def test_an_answer_that_tests_no_rule_is_skipped() -> None:
    """It is no proof that the rules are kept; the verdicts are kept for the table."""
    score = await judged(verdict("refund", "untested"))

    assert (score.state, score.value, set(verdicts_of(score).values())) == ("skipped", None, {"untested"})


async def test_without_a_model_it_is_skipped() -> None:
    """And says why, in the language of the case."""
    score = await risk(an_exhibit(), {"ja": RULES})

    assert (score.state, score.reason) == ("skipped", "モデルなしでは採点できません")


def test_the_shelf_has_the_same_rules_in_both_languages() -> None:
    """Ids and severities agree, so that runs in both can be compared."""
    ja, en = ([(rule.id, rule.severity) for rule in read_rules(None)[language]] for language in ("ja", "en"))

    assert ja == en


def test_a_desks_own_rules_are_what_the_model_is_asked(tmp_path: Any) -> None:
    """In both languages, with dollars and line breaks in them."""
    file = tmp_path / "rules.toml"
    rule = '[[rules]]\nid = "gift"\nseverity = "minor"\ntext = "No $gifts\\nat all."\n'
    file.write_text(rule, encoding="utf-8")
    form = load_form("risk", read_rules(str(file)))

    for language in ("ja", "en"):
        assert "\n- gift: No $gifts at all.\n" in form.criterion(language)
        assert "refund" not in form.criterion(language)


GIFT = '[[rules]]\nid = "gift"\nseverity = "minor"\ntext = "No gifts."\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GIFT.replace("minor", "grave"), "rules.1.severity"),
        (GIFT + GIFT, "2 rules have the id 'gift'"),
        (GIFT + GIFT.replace("No gifts.", " ").replace('"gift"', '"two"'), "rules.2.text"),
        (GIFT.replace('id = "gift"\n', ""), "rules.1.id"),
        (GIFT.replace("gift", "no gifts"), "rules.1.id"),
        (GIFT + "colour = 1\n", "rules.1.colour"),
        ("rules = []", "rules"),
        ("", "rules"),
        ("[[rules", "not valid TOML"),
        (None, "no such file"),
    ],
)
def test_what_is_wrong_with_a_file_of_rules_is_one_line(tmp_path: Any, text: str | None, told: str) -> None:
    """It names the file and the place."""
    file = tmp_path / "rules.toml"
    if text is not None:
        file.write_text(text, encoding="utf-8")

    with pytest.raises(PromptError) as error:
        read_rules(str(file))
    assert "rules.toml" in str(error.value)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
