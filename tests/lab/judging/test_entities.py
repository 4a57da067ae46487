"""Checkable details: one meaning for every spelling, and labelled answers in both languages."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.lab.judging.entities import Specific, located, specifics_of
from simulator.text.numerals import value_of
from tests.paths import FIXTURES
from tests.properties import examples

LANGUAGES = ("ja", "en")
# Pieces that details are made of, so that drawn texts hold many of them and near misses.
PIECES = (
    "1万円", "10,000", "円", "¥", "$5", "令和6年", "4月", "1日", "3日間", "午後6時", "18:00", "～", "から",
    "平日", "土日祝", "03-1234-5678", "+81", "https://example.jp/a", "info@example.jp", "%", "10", "/", "-",
    "(", ")", " ", "\n", "。", "May ", "the 3rd", "to ", "9 a.m.", "Monday", "days", "two ", "one ", "千",
    "一", "十分", "割", "R6.4.1", "か月", "#9110",
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


def rows(language: str) -> list[dict[str, Any]]:
    lines = (FIXTURES / f"facts_{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def is_labelled(specific: Specific, label: str) -> bool:
    """A label is the text as written, or another spelling of the same detail."""
    told = [(each.kind, each.canonical) for each in specifics_of(label)]
    return specific.text == label or told == [(specific.kind, specific.canonical)]


def compared(specifics: Iterable[Specific], labels: Sequence[str]) -> Counter[str]:
    rest, counts = list(labels), Counter[str]()
    for specific in specifics:
        label = next((each for each in rest if is_labelled(specific, each)), None)
        counts["right" if label else "too many"] += 1
        if label:
            rest.remove(label)
    return counts + Counter({"left out": len(rest)})


def counted(chosen: Iterable[dict[str, Any]], *keys: str) -> tuple[float, float]:
    """Precision and recall over the items labelled `missing`, or `missing` and `found`."""
    total = Counter[str]()
    for row in chosen:
        texts = [*row["passages"], *row["contacts"], row["question"]]
        for key in keys:
            is_found = key == "found"
            told = [s for s in specifics_of(row["answer"]) if (located(s, texts) is not None) is is_found]
            total += compared(told, row[key])
    right = total["right"]
    return right / (right + total["too many"]), right / (right + total["left out"])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("part", ["dev", "held"])
def test_labelled_answers_are_read_as_people_read_them(language: str, part: str) -> None:
    """Precision and recall of .95 at the least, over what is missing and over all details."""
    chosen = [row for row in rows(language) if row["part"] == part]

    for keys in (("missing",), ("missing", "found")):
        assert min(counted(chosen, *keys)) >= 0.95


@pytest.mark.parametrize(
    ("spellings", "canonical"),
    [
        (("１万円", "10,000円", "¥10,000", "1万円", "一万円", "10,000 yen", "ten thousand yen"), "10000円"),
        (
            (
                "令和6年4月1日",
                "2024年4月1日",
                "2024/4/1",
                "2024-04-01",
                "R6.4.1",
                "April 1, 2024",
                "1 April 2024",
                "2024年４月１日",
                "令和六年四月一日",
            ),
            "2024年4月1日",
        ),
        (("平成31年4月30日", "H31.4.30", "2019年4月30日"), "2019年4月30日"),
        (("昭和64年1月7日", "S64.1.7", "7 January 1989"), "1989年1月7日"),
        (("午後6時", "18時", "18:00", "6 p.m.", "6pm", "１８：００", "PM 6:00"), "18:00"),
        (("9時～18時", "9:00-18:00", "午前9時から午後6時まで", "9 a.m. to 6 p.m.", "9〜18時"), "9:00-18:00"),
        (("from 7.30 to 18.30.", "7:30 am to 6:30 pm", "7.30 a.m. to 6.30 p.m."), "7:30-18:30"),
        (
            ("03-1234-5678", "０３（１２３４）５６７８", "03 1234 5678", "+81-3-1234-5678", "0312345678"),
            "0312345678",
        ),
        (
            ("https://example.jp/a", "https://example.jp/a/", "https://example.jp/a。", "「example.jp/a」"),
            "https://example.jp/a",
        ),
        (("info@example.jp", "ｉｎｆｏ＠ｅｘａｍｐｌｅ．ｊｐ", "INFO@example.jp、"), "info@example.jp"),
        (("10%", "１０％", "10パーセント", "10 percent", "1割"), "10%"),
        (("3か月", "三ヶ月", "3 months", "three months", "3-month"), "3か月"),
        (("3～5営業日", "3-5 business days", "3 to 5 business days"), "3～5営業日"),
        (("14日間", "2週間", "14 days", "two weeks", "336時間"), "1209600秒"),
        (("2年", "24か月", "two years", "24 months"), "24か月"),
        (("1年半", "18か月", "1.5 years", "one and a half years"), "18か月"),
        (("1時間半", "90分", "1.5 hours", "5400 seconds", "5,400,000ミリ秒"), "5400秒"),
        (("1.2 kg", "1,200 g", "1.2キロ", "0.0012トン", "1,200,000 mg"), "1200g"),
        (("150cm", "1.5メートル", "1,500mm", "0.0015 km"), "1.5m"),
        (("0.4L", "400ml", "4dl", "400 cc"), "400ml"),
        (("20 Ah", "20,000 mAh"), "20000mah"),
        (("2TB", "2,000ギガバイト"), "2000000mb"),
        (("1.2 kW", "1200ワット"), "1200w"),
        (("大さじ2", "2 tbsp", "two tablespoons"), "2大さじ"),
        (("1, 3 or 5 years", "1, 3 and 5 years", "1、3または5年"), "12～36～60か月"),
        (("100 requests", "100リクエスト"), "100 things"),
    ],
)
def test_all_spellings_are_the_same_detail(spellings: tuple[str, ...], canonical: str) -> None:
    """NFKC, calendars, clocks, scales, languages: one canonical form."""
    assert {spelling: [s.canonical for s in specifics_of(spelling)] for spelling in spellings} == {
        spelling: [canonical] for spelling in spellings
    }


@pytest.mark.parametrize(
    "text",
    [
        "1. 開く", "(2) 押す", "2つ", "一度", "第三者", "十分です", "一人で", "数千円", "[12]", "①開く",
        "3種類", "iOS 17", "5G", "24/7", "one day", "e.g. node.js", "Step 2 minutes", "This may help",
        "万が一", "一時的に", "1回", "二重", "No. 5",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_detail_is_left_out(text: str) -> None:
    """List marks, citations, small counts, idioms and version numbers."""
    assert specifics_of(text) == ()


@pytest.mark.parametrize(
    ("told", "known", "place"),
    [
        # A near miss is a miss: what differs in one sign, unit or day is not the same.
        ("10,000円", "1,000円", None),
        ("18時", "8時", None),
        ("2024年", "2025年", None),
        ("03-1234-5678", "03-1234-5679", None),
        ("https://example.jp/a", "https://example.jp/b", None),
        ("10%", "10円", None),
        ("毎月3日", "3日間", None),
        ("3日間", "3日に締め切り", None),
        ("3日以内", "3営業日", None),
        ("2024年4月1日", "4月1日", None),
        ("土日9:00-18:00", "平日9:00-18:00", None),
        ("10GB", "10MB", None),
        ("$10", "10円", None),
        ("9:00-17:00", "9:00-18:00、10:00-17:00", None),
        ("info@example.jp", "info@example.com", None),
        # A date is found in a fuller one, a time in opening hours, an amount in a table.
        ("4月1日", "2024年4月1日", 1),
        ("18時", "9:00-18:00", 1),
        ("9:00-18:00", "平日9:00-18:00", 1),
        ("9:00-18:00", "9時開店、18時閉店", 1),
        ("土曜9:00-18:00", "月～土 9:00-18:00", 1),
        ("3 business days", "within 3 business\ndays", 1),
        ("午後6時", "営業は午後\n6時まで、または午\n後6時半まで", 1),
        ("0円", "無料", 1),
        ("50%", "半額", 1),
        ("9,800円", "月額（円） | 9,800", 1),
        ("31 May 2026", "1 to 31 May 2026", 1),
        ("2026年6月30日", "2026年5月1日～6月30日", 1),
        ("3日", "3日間", 1),
        ("3日", "毎月3日", 1),
        ("14日", "2週間", 1),
        ("2週間", "14日", 1),
        ("6か月", "半年", 1),
        ("30分", "half an hour", 1),
        ("100 puffs", "100回", 1),
    ],
)
def test_a_detail_is_found_in_what_says_as_much(told: str, known: str, place: int | None) -> None:
    """Or more."""
    assert [located(specific, ["", known]) for specific in specifics_of(told)] == [place]


def test_days_stay_with_their_hours() -> None:
    """平日 and 土日祝 are kept in the words of the detail, and 除く turns them round."""
    texts = ["平日は9:00～18:00", "9:00～18:00（土日祝を除く）", "Mon-Fri 9:00-18:00"]
    told = [specifics_of(text)[0] for text in texts]

    assert [specific.text for specific in told] == texts
    assert len({specific.canonical for specific in told}) == 1


@given(TEXTS, TEXTS, TEXTS)
@settings(max_examples=examples(80), deadline=None)
def test_what_the_passages_say_verbatim_is_found(before: str, answer: str, after: str) -> None:
    """Whatever stands around it, on lines of its own."""
    passage = f"{before}\n{answer}\n{after}"

    assert [s for s in specifics_of(answer) if located(s, [passage]) is None] == []


@given(TEXTS)
@settings(max_examples=examples(120), deadline=None)
def test_canonical_forms_are_idempotent(text: str) -> None:
    """The canonical spelling of a detail is read as that very detail, codes with letters apart.

    TEL0312345678 is a telephone number, and A0-312345678 is none until its hyphen is gone.
    """
    for specific in specifics_of(text):
        if specific.kind == "number" and not specific.canonical[0].isdigit():
            continue
        again = specifics_of(specific.canonical)

        assert [(each.kind, each.canonical) for each in again] == [(specific.kind, specific.canonical)]


@pytest.mark.parametrize("piece", ["1,", "一万", "1-", "a@", "9時から", "月・"])
@pytest.mark.timeout(15)
def test_long_hostile_texts_are_read_in_linear_time(piece: str) -> None:
    """50 kB of anything takes a fraction of a second, so that what grows with the square is cut off."""
    specifics_of((piece * 50_000)[:50_000])


@pytest.mark.parametrize(
    ("numeral", "value"),
    [
        ("1万5千", 15_000),
        ("一万五千", 15_000),
        ("二千二十四", 2024),
        ("二〇二四", 2024),
        ("2億3,000万", 230_000_000),
        ("十", 10),
        ("三百三", 303),
        ("1.5万", 15_000),
        ("twenty-four", 24),
        ("two hundred thousand", 200_000),
        ("万", None),
    ],
)
def test_numerals_have_a_value(numeral: str, value: int | None) -> None:
    """Kanji by place or by power, scales behind figures, English words."""
    assert value_of(numeral) == value
