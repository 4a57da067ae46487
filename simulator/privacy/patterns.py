"""The patterns of patterns.toml, compiled, each with its check."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.privacy.lists import CHECKS as NUMBERS
from simulator.privacy.lists import Span, value
from simulator.privacy.names import CHECKS as NAMES

_KANJI = "一-鿿㐀-䶿々ヶケノツ之"
_PREFECTURE = (
    "(?:北海道|東京都?|大阪府?|京都府?|(?:青森|岩手|宮城|秋田|山形|福島|茨城|栃木|群馬|埼玉|千葉|神奈川|新潟|富山|石川|福井"
    "|山梨|長野|岐阜|静岡|愛知|三重|滋賀|兵庫|奈良|和歌山|鳥取|島根|岡山|広島|山口|徳島|香川|愛媛|高知|福岡|佐賀|長崎|熊本"
    "|大分|宮崎|鹿児島|沖縄)県)"
)
# Cities whose names are written in kana run into the particles around them: told one by one.
_KANA_CITY = (
    "さいたま|つくばみらい|つくば|いわき|ひたちなか|かすみがうら|さくら|みどり|ふじみ野|いすみ|あきる野|かほく|あわら|みよし"
    "|いなべ|たつの|さぬき|うきは|みやま|えびの|いちき串木野|うるま|にかほ|つがる|むつ|せたな|せたな|ときがわ|みなかみ"
)
_CITY = rf"(?:{_KANA_CITY}|[{_KANJI}]{{1,6}}?)[市区町村郡]"
_WHERE = re.compile(rf"{_PREFECTURE}|{_CITY}")
# What may stand between the city and the house number.
_BEFORE = re.compile(rf"(?:[{_KANJI}ァ-ヶーぁ-んA-Za-z 字]|\d{{1,2}}条){{1,36}}$")
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
_BUILDING = re.compile(
    rf"[ ,、]?(?:{_NAME_OF_BUILDING})"
    rf" ?(?:[A-Z]?-?\d{{1,4}}(?:-\d{{1,4}})?(?:号室|号|階|F|室)?{_NO_COUNT}|{_AT_END})"
    rf"|[ ,、]?\d{{1,4}}(?:号室|号|階|F)|[ ]\d{{3,4}}(?!\d|-|円){_AT_END}"
)
_FLOOR = re.compile(
    r"[ ,、]?(?:[A-Z]?-?\d{1,4}(?:号室|階|F|室)|[A-Z]棟 ?\d{1,4}(?:号室?)?"
    r"|[〇一二三四五六七八九十]{1,4}号室?)"
)
_NAMED_BUILDING = re.compile(rf"{_KINDS}|号室|[ァ-ヶー]{{3}}[^、。]{{0,12}}\d")
_ROOM = re.compile(r"[ ,、]?\d{1,4}(?:号室|号|階|F)?")
_NUMBERED = re.compile(r"丁目|番|号|\d[-ーの]\d")
# A number of people or yen stands behind a place as well: 横浜市人口370万.
_COUNTED = re.compile(r" ?[^\s、。にでへとの)(,」です]")
_END_OF_TOLD = re.compile(
    r"です|でし|でございます|になり|に(?:なっ|して|変|住|お願|届|送|引|転)|へ(?:変|の|お願|送|届)|から(?:引|転|変|の)|宛|まで|(?<=[\d号室地階])[にでへとの]|(?:のまま|より|なの|なん)"
)


def address_ja(match: re.Match[str]) -> Span | None:
    """An address around a house number: a prefecture or city before it, a building behind it."""
    text, (start, end) = match.string, match.span()
    told = match[0].rstrip(" -ーの")
    end = start + len(told)
    before = _BEFORE.search(text, max(0, start - _REACH), start)
    where = _WHERE.search(before[0]) if before else None
    if not before or not where:
        return None
    has_prefecture = bool(re.match(_PREFECTURE, where[0])) and bool(
        re.search(r"[市区町村郡]", before[0][where.end() :])
    )
    town = before[0][where.end() :]
    numbered = _NUMBERED.search(told)
    alone = not _COUNTED.match(text, end) and len(told) > 1
    if not numbered and not (
        (has_prefecture or alone) and re.search(rf"[{_KANJI}][{_KANJI}ァ-ヶー]{{1,10}}$", town)
    ):
        return None
    if re.search(r"(?:から|まで|では|には|での|にも|とは|ので|です|ます|より)", town):
        return None
    return before.start() + where.start(), _with_building(text, end)


def _with_building(text: str, end: int) -> int:
    """The end of an address that goes on with a building, a floor or a room."""
    building = _BUILDING.match(text, end, end + 40)
    if building and (_NAMED_BUILDING.search(building[0]) or _ROOM.fullmatch(building[0])):
        end = building.end()
    floor = _FLOOR.match(text, end, end + 12)
    return floor.end() if floor else end


def address_told(match: re.Match[str]) -> Span | None:
    """What stands behind 住所は, as far as it is a place."""
    start, end = value(match)
    told = match["v"]
    stop = _END_OF_TOLD.search(told)
    if stop:
        end = start + stop.start()
    elif re.search(r"[をがはも]", told) or len(told) > 50:
        return None
    place = match.string[start:end].rstrip()
    return (start, start + len(place)) if _is_place(place) else None


def _is_place(told: str) -> bool:
    """Whether a text is a place and no sentence about one: 市区町村 and 市外 are words, not cities."""
    if re.match(r"市区町村|(?:都道府県|市町村)", told):
        return False
    town = _WHERE.search(told)
    rest = told[town.end() :] if town else ""
    return bool(town) and len(rest) >= 1 and not re.search(r"[をがはも、]|(?:内|外|以外|限定|在住)$", rest)


def street(match: re.Match[str]) -> Span | None:
    """An English street address; "2 Easy Way" needs its capitals, "24 Hour Drive" is none."""
    return None if _NO_STREET.search(match[0].split(",")[0]) else value(match)


def lower_street(match: re.Match[str]) -> Span | None:
    """14 elm street, without capitals: only where no common word stands before the street."""
    return None if _NO_STREET.search(match[0]) or _COMMON.search(match[0]) else value(match)


def told_street(match: re.Match[str]) -> Span | None:
    """What stands behind "I live at", where it has a number and no word for a plan or a product."""
    return None if _NO_STREET.search(match["v"]) or _NO_PLACE.search(match["v"]) else value(match)


_NO_PLACE = re.compile(
    r"\b(?:Plan|Plus|Pro|Premium|Basic|Version|Order|Ticket|Windows|Office|Step|Page|Gate|Tier|Percent|GB|Mbps|USD|January|February|March|April|May|June|July|August|September|October"
    r"|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
)
_NO_STREET = re.compile(r"\b(?:Hours?|Days?|Minutes?|Year|Month|Week|Items?|Steps?)\b", re.IGNORECASE)
_COMMON = re.compile(r"\b(?:mins?|ways?|miles?|km|times?|more|new|free|lane|people|of|the|and|to|in|for)\b")


CHECKS = {
    "address_ja": address_ja,
    "address_told": address_told,
    "street": street,
    "told_street": told_street,
    "lower_street": lower_street,
}


FILE = Path(__file__).with_name("patterns.toml")
_PART = re.compile("«([a-z_]+)»")
_CHECKS = NUMBERS | NAMES | CHECKS

Check = Callable[[re.Match[str]], Span | None]


class Pattern(NamedTuple):
    """One kind of personal data in one form; `check` gives what of a match is masked, or None.

    What a text must have for any match is told by `needs`, so that most patterns are not tried on most texts.
    """

    kind: str
    needs: frozenset[str]
    regex: re.Pattern[str]
    check: Check


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns, the one that names an overlap first."""
    tables = read_toml(FILE)
    return tuple(
        Pattern(
            table["kind"],
            frozenset(table.get("needs", "").split()),
            re.compile(_filled(table["pattern"], tables["parts"])),
            _CHECKS[table["check"]] if "check" in table else value,
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
    both = [one for pair in read_toml(FILE)["masks"].values() for one in pair]
    return re.compile("|".join(map(re.escape, both)))


@cache
def kinds_of_masks() -> dict[str, str]:
    """The kind that each mask of either language stands for."""
    return {one: kind for kind, pair in read_toml(FILE)["masks"].items() for one in pair}


_SIGNS = {
    "digit": re.compile(r"\d"),
    "latin": re.compile("[A-Za-zÀ-žḀ-ỿ]"),
    "japanese": re.compile("[々-〇ぁ-ヿ㐀-鿿豈-﫿ｦ-ﾟ𠀀-𯨟]"),
    "mask": re.compile("\ue000"),
}


def signs(text: str) -> frozenset[str]:
    """Which of digits, Latin letters, Japanese ones and masks a text has."""
    return frozenset(name for name, sign in _SIGNS.items() if sign.search(text))


def _filled(pattern: str, parts: dict[str, Any]) -> str:
    while _PART.search(pattern):
        pattern = _PART.sub(lambda part: str(parts[part[1]]), pattern)
    return pattern
