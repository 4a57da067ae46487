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
from string import ascii_uppercase
from typing import NamedTuple

from simulator.core.types import Language
from simulator.privacy.names import NAME_CHECKS, Check, Span, filled, part, table, word_list

_FEWEST, _MANY = 3, 5
# Japanese numbers that are free to call or of a company's choice: no person has one.
_NOBODYS = ("0120", "0800", "0570", "0990")


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
    return not part("nobodys_number").match(match["v"] if "v" in match.re.groupindex else match[0])


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
    enough = enough or bool(part("locator").fullmatch(match["v"]) or part("login").fullmatch(match["v"]))
    return somebodys(match) and (enough or bool(part("user_name").search(match["v"])))


def long_code(match: re.Match[str]) -> bool:
    """As `code`, where only a bare "order" or "#" stands before it: five digits at least.

    "order 3 boxes" and "#1 in town" are no numbers of anybody; "order 88412" and "case NS-1004" are.
    """
    enough = sum(map(str.isnumeric, match["v"])) >= _MANY or bool(part("series").fullmatch(match["v"]))
    return somebodys(match) and (enough or bool(part("user_name").search(match["v"])))


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
    return not (part("other_day").search(before) or part("since").match(behind))


def spelt_number(match: re.Match[str]) -> bool:
    """A telephone number in kanji digits, or a number in spelt digits of seven at least."""
    return 10 <= len(re.sub(r"[^〇零一二三四五六七八九]", "", match["v"])) <= 11


def spelt_email(match: re.Match[str]) -> bool:
    """An address spelt with signs or words for @ and the dot; two plain words around an "at" are none."""
    return bool(part("spelt_at").search(match[0]))


_REACH = 40


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
    before = part("before_house_number").search(text, max(0, start - _REACH), start)
    where = part("town").search(before[0]) if before else None
    if not before or not where:
        return False
    town = before[0][where.end() :]
    if part("block").fullmatch(house_number) and where[0].endswith(("町", "村")):  # 谷町四丁目 is a station
        return False
    if not part("numbered").search(house_number):
        # A bare number needs a whole place before it, and no counted thing behind it.
        whole = part("prefecture").match(where[0]) and re.search(r"[市区町村郡]", town)
        alone = not part("counted").match(text, end) and len(house_number) > 1
        if not ((whole or alone) and part("behind_town").search(town)):
            return False
    if re.search(r"(?:から|まで|では|には|での|にも|とは|ので|です|ます|より)", town):
        return False
    building = part("building").match(text, end, end + 40)
    if building and (part("named_building").search(building[0]) or part("room").fullmatch(building[0])):
        end = building.end()
    floor = part("floor").match(text, end, end + 12)
    return before.start() + where.start(), floor.end() if floor else end


def labelled_address(match: re.Match[str]) -> Span | bool:
    """The text behind 住所は, as far as it is a place.

    It ends before the words that go on with the sentence (です, に変更, へ届けて); what has more words of a
    sentence in it is none.
    """
    start, end = match.span("v")
    text = match["v"]
    stop = part("end_of_address").search(text)
    if stop:
        end = start + stop.start()
    elif re.search(r"[をがはも]", text) or len(text) > 50:
        return False
    place = match.string[start:end].rstrip()
    if re.match(r"市区町村|(?:都道府県|市町村)", place):  # words for places, as 市外 is
        return False
    town = part("town").search(place)
    rest = place[town.end() :] if town else ""
    is_sentence = re.search(r"[をがはも、]|(?:内|外|以外|限定|在住)$", rest)
    return (start, start + len(place)) if rest and not is_sentence else False


def street(match: re.Match[str]) -> bool:
    """An English street address; "2 Easy Way" needs its capitals, "24 Hour Drive" is none."""
    return not part("no_street").search(match[0].split(",")[0])


def labelled_street(match: re.Match[str]) -> bool:
    """The text behind "I live at", where it has a number and no word for a plan or a product."""
    return not (part("no_street").search(match["v"]) or part("no_place").search(match["v"]))


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
    return tuple(
        Pattern(
            entry["kind"],
            frozenset(entry.get("needs", "").split()),
            re.compile(filled(entry["pattern"])),
            _CHECKS[entry["check"]] if "check" in entry else None,
        )
        for entry in table("patterns")["find"]
    )


def mask(kind: str, language: Language) -> str:
    """What stands for something of this kind: [電話番号] or [phone number]."""
    return str(table("patterns")["masks"][kind][language == "en"])


@cache
def masks() -> re.Pattern[str]:
    """Every mask in either language."""
    return re.compile("|".join(map(re.escape, mask_kinds())))


@cache
def mask_kinds() -> dict[str, str]:
    """The kind that each mask of either language stands for."""
    return {mask: kind for kind, pair in table("patterns")["masks"].items() for mask in pair}


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
