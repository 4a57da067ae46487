"""The patterns of patterns.toml, compiled, each with its check.

A check sees a match of its pattern and says whether it is masked, or which part of it; what only looks like
personal data is not. Those of numbers and addresses are here, those of names in names.py.

An entry of the table is a kind, a regular expression in which «part» stands for an entry of [parts], what a
text must have for it to match at all (`needs`), and the name of a check:

    [[find]]
    kind = "reference"
    pattern = '(?<![A-Za-z0-9&#])#(?P<v>«code»)«not_count»'
    check = "long_code"

Masked is the group `v` where there is one, so that the label in front stays readable: "order number
[reference number]". A new kind of data is an entry, and labelled lines in tests/fixtures/personal_*.tsv that
show what it finds and what it leaves alone.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple

from simulator.core.patterns import LazyPattern
from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.privacy.names import NAME_CHECKS, Check, Span, word_list

_FEWEST, _MANY = 3, 5
# Japanese numbers that are free to call or of a company's choice: no person has one.
_NOBODYS = ("0120", "0800", "0570", "0990")
_NOBODYS_NUMBER = LazyPattern(
    r"(?:(?:0120|0570|0990)(?:[- ]?\d{3}){2}|(?:0120|0570|0990)[- ]?\d{2}[- ]?\d{4}"
    r"|0800[- ]?\d{3}[- ]?\d{4})$"
    r"|(?:\+?1[-. ]?)?\(?8(?:00|33|44|55|66|77|88)\)?[-. ]\d{3}[-. ]\d{4}$"
    r"|0(?:800|808|845|870|300|330|345) \d{3} ?\d{3,4}$"
)
# ZX81KP, as airlines and hotels give them; without a digit it would be any word in capitals.
_LOCATOR = LazyPattern(r"(?=[A-Z]*\d)[A-Z0-9]{5,8}")
# s.tachibana91, behind a word such as login ID
_LOGIN = LazyPattern(r"[a-z]{1,12}[.-]?[a-z]{2,16}\d{2,4}")
# NS-1004, A1B2C3D4: what a system numbers
_SERIES = LazyPattern(
    r"[A-Z]{2,5}-?\d{3,8}(?:-[A-Z0-9]{1,4})?|[A-Z]-\d{4,8}|(?=[A-Z]*\d[A-Z]*\d[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{6,12}"
)
# taro_yamada, hiro_0423
_USER_NAME = LazyPattern(r"[a-z]_[a-z0-9]")


def luhn(match: re.Match[str]) -> bool:
    """A payment card: the digits' Luhn sum is right (ISO/IEC 7812).

    One in ten numbers of this length passes by chance, which is why a bare one needs a card's first digit,
    too. 4111 1111 1111 1111 passes; sixteen equal digits do not count.
    """
    digits = [int(d) for d in re.sub(r"\D", "", match[0])]
    doubled = [sum(divmod(2 * d, 10)) for d in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def my_number(match: re.Match[str]) -> bool:
    """A Japanese Individual Number: the twelfth digit checks the eleven before it.

    The weights are those of the ministerial ordinance of 2014 (総務省令第85号): 6 5 4 3 2 7 6 5 4 3 2, and a
    rest of 0 or 1 gives the digit 0.
    """
    digits = [int(d) for d in re.sub(r"\D", "", match[0])]
    rest = sum(d * w for d, w in zip(digits[:11], (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2), strict=True)) % 11
    right = 0 if rest <= 1 else 11 - rest
    return len(set(digits)) > 1 and digits[11] == right


def iban(match: re.Match[str]) -> bool:
    """An international bank account number: 1 modulo 97 (ISO 13616).

    The four signs at the front go to the end, letters count from 10 (A) to 35 (Z).
    """
    plain = match[0].replace(" ", "")
    number = "".join(str(10 + ascii_uppercase.index(c)) if c.isalpha() else c for c in plain[4:] + plain[:4])
    return 15 <= len(plain) <= 34 and int(number) % 97 == 1


def phone(match: re.Match[str]) -> Span | bool:
    """A telephone number: 10 or 11 digits within the country, 8 to 15 with its code; dates are none.

    Numbers that no person has are not masked: 0120 and 0800 are free to call, 0570 and 0990 a company's
    choice. A bracket that opens before the number and closes after it belongs to the sentence.
    """
    written = re.split(r"内線|[a-z]", match[0], flags=re.IGNORECASE)[0]
    digits = re.sub(r"\D", "", written)
    span = match.start() + (written.startswith("(") and ")" not in written), match.end()
    if written.startswith("+"):
        return span if 8 <= len(digits) <= 15 else False
    national = digits.startswith("0") and not digits.startswith(("00", *_NOBODYS))
    return span if national and len(digits) in (10, 11) else False


def somebodys(match: re.Match[str]) -> bool:
    """A telephone number behind a word for one, or of ten digits; free ones and services' are nobody's."""
    return not _NOBODYS_NUMBER.match(match["v"] if "v" in match.re.groupindex else match[0])


def either(match: re.Match[str]) -> Span:
    """The one of the groups `v` and `w` that matched."""
    return match.span("v") if match["v"] else match.span("w")


def abroad(match: re.Match[str]) -> bool:
    """A telephone number with 00 and the code of a country."""
    return 10 <= len(re.sub(r"\D", "", match[0])) <= 16


def code(match: re.Match[str]) -> bool:
    """A number somebody is known by: three digits at least, or capitals with a digit, or a user name.

    Stands behind a word such as 会員番号 or "order number": A-12345, ZX81KP, s.tachibana91, taro_yamada.
    """
    enough = sum(map(str.isnumeric, match["v"])) >= _FEWEST
    enough = enough or bool(_LOCATOR.fullmatch(match["v"]) or _LOGIN.fullmatch(match["v"]))
    return somebodys(match) and (enough or bool(_USER_NAME.search(match["v"])))


def long_code(match: re.Match[str]) -> bool:
    """As `code`, where only a bare "order" or "#" stands before it: five digits at least.

    "order 3 boxes" and "#1 in town" are no numbers of anybody; "order 88412" and "case NS-1004" are.
    """
    enough = sum(map(str.isnumeric, match["v"])) >= _MANY or bool(_SERIES.fullmatch(match["v"]))
    return somebodys(match) and (enough or bool(_USER_NAME.search(match["v"])))


def labelled_code(match: re.Match[str]) -> bool:
    """A code behind a word and "number", unless it numbers things: 型番号, part number."""
    label = match["label"]
    of_things = label.endswith(tuple(word_list("no_label_ja"))) or label.lower() in word_list("no_label_en")
    return not of_things and code(match)


def past_date(match: re.Match[str]) -> bool:
    """A whole date of the last century that no word such as "since" makes the day of something else.

    Whoever writes "14 September 1986" in a chat with a desk mostly gives a date of birth; "since 14 September
    1986" is a company's.
    """
    before = match.string[max(0, match.start() - 24) : match.start()]
    behind = match.string[match.end() : match.end() + 12]
    return not (_OTHER_DAY.search(before) or _SINCE.match(behind))


# What makes a date that of a company, a contract or a thing: before it, or behind it (`_SINCE`).
_OTHER_DAY = LazyPattern(
    r"(?i:since|founded|built|established|released|launched|opened|signed|dated|effective|bought|made|joined)"
    r"|創業|創立|設立|発売|開業|開店|施行|制定|竣工|購入|契約|加入|製造|入会|改正|築"
)
_SINCE = LazyPattern(
    r"に?(?:創業|創立|設立|発売|開業|施行|制定|竣工|購入|契約|加入|製造|入会|改正|から|以降|以前|まで|付|の?地震|の?法)"
)


def spelt_number(match: re.Match[str]) -> bool:
    """A telephone number in kanji digits, or a number in spelt digits of seven at least."""
    return 10 <= len(re.sub(r"[^〇零一二三四五六七八九]", "", match["v"])) <= 11


def spelt_email(match: re.Match[str]) -> bool:
    """An address spelt with signs or words for @ and the dot; two plain words around an "at" are none."""
    return bool(_SPELT.search(match[0]))


# What shows that an "at" is the sign @: a dot in words, a bracket around it, or a sign in its place.
_SPELT = LazyPattern(r"dot|ド[ッっ]ト|どっと|[(\[]at|アット|あっと|[☆■◎●★◆]")


_KANJI = "一-鿿㐀-䶿々ヶケノツ之"
_PREFECTURE = (
    "(?:北海道|東京都?|大阪府?|京都府?|(?:青森|岩手|宮城|秋田|山形|福島|茨城|栃木|群馬|埼玉|千葉|神奈川|新潟|富山|石川|福井"
    "|山梨|長野|岐阜|静岡|愛知|三重|滋賀|兵庫|奈良|和歌山|鳥取|島根|岡山|広島|山口|徳島|香川|愛媛|高知|福岡|佐賀|長崎|熊本"
    "|大分|宮崎|鹿児島|沖縄)県)"
)
# Cities whose names are written in kana run into the particles around them: listed one by one.
_KANA_CITY = (
    "さいたま|つくばみらい|つくば|いわき|ひたちなか|かすみがうら|さくら|みどり|ふじみ野|いすみ|あきる野|かほく|あわら|みよし"
    "|いなべ|たつの|さぬき|うきは|みやま|えびの|いちき串木野|うるま|にかほ|つがる|むつ|せたな|せたな|ときがわ|みなかみ"
)
_CITY = rf"(?:{_KANA_CITY}|[{_KANJI}]{{1,6}}?)[市区町村郡]"


_WHERE = LazyPattern(rf"{_PREFECTURE}|{_CITY}")
# What may stand between the city and the house number.
_BEFORE = LazyPattern(rf"(?:[{_KANJI}ァ-ヶーぁ-んA-Za-z 字]|\d{{1,2}}条){{1,36}}$")
_REACH = 40
_KINDS = (
    "ビル(?:ディング)?|マンション|荘|棟|館|寮|団地|ハイツ|コーポ(?:ラス)?|アパート|タワー|レジデンス|メゾン|ハウス"
    "|ヴィラ|コート|パレス|ヒルズ|プラザ|ハイム|シャトー|テラス"
)
_NAME_OF_BUILDING = (
    rf"[A-Za-z0-9]{{1,6}}[{_KANJI}ァ-ヶーA-Za-z・]{{1,16}}?(?:{_KINDS})|"
    rf"(?:第\d)?[{_KANJI}ァ-ヶーA-Za-z・'ぁ-ん]{{1,16}}?(?:{_KINDS})?"
    r"|[ァ-ヶーA-Za-z・][ァ-ヶーA-Za-z・一-鿿 ]{1,18}"
)
_NO_COUNT = r"(?!\d|月|日|時|円|台|個|名|件)"
_AT_END = r"(?=[、。にで\s]|です|$)"
# Behind a house number: a building by its name and its room, or a room alone. A number with a counter behind
# it (3個, 5月) is neither.
_BUILDING = LazyPattern(
    rf"[ ,、]?(?:{_NAME_OF_BUILDING})"
    rf" ?(?:[A-Z]?-?\d{{1,4}}(?:-\d{{1,4}})?(?:号室|号|階|F|室)?{_NO_COUNT}|{_AT_END})"
    rf"|[ ,、]?\d{{1,4}}(?:号室|号|階|F)|[ ]\d{{3,4}}(?!\d|-|円){_AT_END}"
)
_FLOOR = LazyPattern(
    r"[ ,、]?(?:[A-Z]?-?\d{1,4}(?:号室|階|F|室)|[A-Z]棟 ?\d{1,4}(?:号室?)?"
    r"|[〇一二三四五六七八九十]{1,4}号室?)"
)
_NAMED_BUILDING = LazyPattern(rf"{_KINDS}|号室|[ァ-ヶー]{{3}}[^、。]{{0,12}}\d")
_ROOM = LazyPattern(r"[ ,、]?\d{1,4}(?:号室|号|階|F)?")
_BLOCK = LazyPattern(r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})丁目")
_NUMBERED = LazyPattern(r"丁目|番|号|\d[-ーの]\d")
# A number of people or yen stands behind a place as well: 横浜市人口370万.
_COUNTED = LazyPattern(r" ?[^\s、。にでへとの)(,」です]")
# How the sentence goes on behind an address: 〜です, 〜に変更, 〜へ届けて, 〜から.
_END_OF_ADDRESS = LazyPattern(
    r"です|でし|でございます|になり|に(?:なっ|して|変|住|お願|届|送|引|転)|へ(?:変|の|お願|送|届)|から(?:引|転|変|の)|宛|まで|(?<=[\d号室地階])[にでへとの]|(?:のまま|より|なの|なん)"
)


def address_ja(match: re.Match[str]) -> Span | bool:
    """An address around a house number: a prefecture or city before it, a building or room behind it.

    東京都渋谷区神南1-2-3 渋谷ビル405号室 is masked as one. The pattern matches the house number alone, which
    is rare in text; from there the place is looked for backwards (at most `_REACH` characters) and the
    building forwards. A bare number needs a whole place before it and nothing counted behind it:
    横浜市人口370万 is none, and 谷町四丁目 is a station.
    """
    text, start = match.string, match.start()
    house_number = match[0].rstrip(" -ーの")
    end = start + len(house_number)
    before = _BEFORE.compiled.search(text, max(0, start - _REACH), start)
    where = _WHERE.search(before[0]) if before else None
    if not before or not where:
        return False
    town = before[0][where.end() :]
    if _BLOCK.fullmatch(house_number) and where[0].endswith(("町", "村")):  # 谷町四丁目 is a station
        return False
    if not _NUMBERED.search(house_number):
        # A bare number needs a whole place before it, and no counted thing behind it.
        whole = re.match(_PREFECTURE, where[0]) and re.search(r"[市区町村郡]", town)
        alone = not _COUNTED.match(text, end) and len(house_number) > 1
        if not ((whole or alone) and re.search(rf"[{_KANJI}][{_KANJI}ァ-ヶー]{{1,10}}$", town)):
            return False
    if re.search(r"(?:から|まで|では|には|での|にも|とは|ので|です|ます|より)", town):
        return False
    building = _BUILDING.compiled.match(text, end, end + 40)
    if building and (_NAMED_BUILDING.search(building[0]) or _ROOM.fullmatch(building[0])):
        end = building.end()
    floor = _FLOOR.compiled.match(text, end, end + 12)
    return before.start() + where.start(), floor.end() if floor else end


def labelled_address(match: re.Match[str]) -> Span | bool:
    """The text behind 住所は, as far as it is a place.

    It ends before the words that go on with the sentence (です, に変更, へ届けて); what has more words of a
    sentence in it is none.
    """
    start, end = match.span("v")
    text = match["v"]
    stop = _END_OF_ADDRESS.search(text)
    if stop:
        end = start + stop.start()
    elif re.search(r"[をがはも]", text) or len(text) > 50:
        return False
    place = match.string[start:end].rstrip()
    if re.match(r"市区町村|(?:都道府県|市町村)", place):  # words for places, as 市外 is
        return False
    town = _WHERE.search(place)
    rest = place[town.end() :] if town else ""
    is_sentence = re.search(r"[をがはも、]|(?:内|外|以外|限定|在住)$", rest)
    return (start, start + len(place)) if rest and not is_sentence else False


def street(match: re.Match[str]) -> bool:
    """An English street address; "2 Easy Way" needs its capitals, "24 Hour Drive" is none."""
    return not _NO_STREET.search(match[0].split(",")[0])


def labelled_street(match: re.Match[str]) -> bool:
    """The text behind "I live at", where it has a number and no word for a plan or a product."""
    return not (_NO_STREET.search(match["v"]) or _NO_PLACE.search(match["v"]))


_NO_PLACE = LazyPattern(
    r"\b(?:Plan|Plus|Pro|Premium|Basic|Version|Order|Ticket|Windows|Office|Step|Page|Gate|Tier|Percent|GB|Mbps|USD|January|February|March|April|May|June|July|August|September|October"
    r"|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
)
_NO_STREET = LazyPattern(r"\b(?:Hours?|Days?|Minutes?|Year|Month|Week|Items?|Steps?)\b", re.IGNORECASE)


FILE = Path(__file__).with_name("patterns.toml")
_PART = LazyPattern("«([a-z_]+)»")
# By the names that patterns.toml calls them.
_CHECKS = NAME_CHECKS | {
    check.__name__: check
    for check in (
        luhn, my_number, iban, phone, somebodys, either, abroad, code, long_code, labelled_code,
        past_date, spelt_number, spelt_email, address_ja,
        labelled_address, street, labelled_street,     )
}  # fmt: skip


class Pattern(NamedTuple):
    """One kind of personal data in one form.

    `needs` is what a text must have for any match, so that most patterns are not tried on most texts.
    """

    kind: str
    needs: frozenset[str]
    regex: re.Pattern[str]
    check: Check | None

    def spans(self, text: str) -> Iterator[Span]:
        """What of the text is masked: of each match its group `v` or all, unless its check says otherwise."""
        for match in self.regex.finditer(text):
            outcome = self.check(match) if self.check else True
            if outcome is True:
                yield match.span("v" if "v" in match.re.groupindex else 0)
            elif outcome:
                yield outcome


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns, the one that names an overlap first."""
    tables = read_toml(FILE)
    return tuple(
        Pattern(
            table["kind"],
            frozenset(table.get("needs", "").split()),
            re.compile(_filled(table["pattern"], tables["parts"])),
            _CHECKS[table["check"]] if "check" in table else None,
        )
        for table in tables["find"]
    )


@cache
def mask(kind: str, language: Language) -> str:
    """What stands for something of this kind: [電話番号] or [phone number]."""
    return str(read_toml(FILE)["masks"][kind][language == "en"])


@cache
def masks() -> re.Pattern[str]:
    """Every mask in either language."""
    return re.compile("|".join(map(re.escape, mask_kinds())))


@cache
def mask_kinds() -> dict[str, str]:
    """The kind that each mask of either language stands for."""
    return {mask: kind for kind, pair in read_toml(FILE)["masks"].items() for mask in pair}


@cache
def _signs() -> dict[str, re.Pattern[str]]:
    return {
        "digit": re.compile(r"\d"),
        "latin": re.compile("[A-Za-zÀ-žḀ-ỿ]"),
        "japanese": re.compile("[々-〇ぁ-ヿ㐀-鿿豈-﫿ｦ-ﾟ𠀀-𯨟]"),
        "mask": re.compile("\ue000"),
    }


def scripts_in(text: str) -> frozenset[str]:
    """Which of digits, Latin letters, Japanese ones and masks a text has.

    Most of the 172 patterns need one of them and are skipped: an English line is never searched for 様.
    """
    return frozenset(name for name, sign in _signs().items() if sign.search(text))


def _filled(pattern: str, parts: dict[str, Any]) -> str:
    while _PART.search(pattern):
        pattern = _PART.sub(lambda part: str(parts[part[1]]), pattern)
    return pattern
