"""The update drill on desks of 200 articles with 12 planted changes, in both languages.

One desk is invented here; each article has a question about a fact of its own. Changed are two
prices, a deadline, hours, a telephone number, a yes that becomes a no, a price that nobody asks about; one
article is withdrawn, one renamed, one split, one only reworded, and one is added. The bundled bot searches
the new texts, a half of them, or still the old ones, while `--knowledge` is always the new folder.

- Every question whose fact was changed has to be named: moved, stale, quoted though withdrawn, or with a
  reference to be fixed.
- No other question may be called stale.
- The bot that was updated is no regression; the other two are.

The other desk of each language is public text: a bank's articles (tau2_banking, MIT) and passages of an
encyclopaedia (jsquad, share-alike: read where it lies, never copied). A question leaves one figure of one
sentence out; eleven such figures change, one article is withdrawn. The sets are not part of this checkout:
the folder is `../shared/data`, or REHEARSAL_BENCH_DATA.

    python -m benchmarks.updates         make bench-drill
"""

import contextlib
import csv
import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import DATA
from benchmarks.customers_data import Row, rows_of
from simulator.cli.app import main as run
from simulator.core.types import Language
from simulator.text.segments import sentences

ARTICLES = 200


class Wording(NamedTuple):
    """An article of a language, its question and the right answer; and what the planted changes say."""

    thing: str
    article: str
    asks: dict[str, str]
    answers: dict[str, str]
    denied: tuple[str, str]
    reworded: tuple[str, str]
    added: str


_KINDS = ("price", "days", "hours", "phone", "cancel")
_EN = Wording(
    "{adjective} {noun} service",
    "# {thing}\n\nThe {thing} costs {price:,} yen a month. Applications for the {thing} take {days} business"
    " days. The desk of the {thing} is open from 9:00 to {hours}:00. The telephone number of the {thing} is"
    " {phone}. You can cancel the {thing} online.\n",
    {
        "price": "How much does the {thing} cost a month?",
        "days": "How many business days do applications for the {thing} take?",
        "hours": "Until when is the desk of the {thing} open?",
        "phone": "What is the telephone number of the {thing}?",
        "cancel": "Can I cancel the {thing} online?",
    },
    {
        "price": "The {thing} costs {price:,} yen a month.",
        "days": "Applications for the {thing} take {days} business days.",
        "hours": "The desk of the {thing} is open from 9:00 to {hours}:00.",
        "phone": "The telephone number of the {thing} is {phone}.",
        "cancel": "Yes, you can cancel the {thing} online.",
    },
    ("You can cancel the {thing} online.", "You cannot cancel the {thing} online."),
    ("Applications for the {thing} take", "From the day on which you apply for the {thing} it takes"),
    "# Gift vouchers\n\nGift vouchers cost 5,000 yen each.\n",
)
_JA = Wording(
    "{adjective}{noun}サービス",
    "# {thing}\n\n{thing}の月額料金は{price:,}円です。"
    "{thing}のお申し込みの審査には{days}営業日かかります。"
    "{thing}の受付は9時から{hours}時までです。{thing}の電話番号は{phone}です。{thing}はウェブで解約できます。\n",
    {
        "price": "{thing}の月額料金はいくらですか",
        "days": "{thing}のお申し込みの審査には何営業日かかりますか",
        "hours": "{thing}の受付は何時までですか",
        "phone": "{thing}の電話番号を教えてください",
        "cancel": "{thing}はウェブで解約できますか",
    },
    {
        "price": "{thing}の月額料金は{price:,}円です。",
        "days": "{thing}のお申し込みの審査には{days}営業日かかります。",
        "hours": "{thing}の受付は9時から{hours}時までです。",
        "phone": "{thing}の電話番号は{phone}です。",
        "cancel": "はい、{thing}はウェブで解約できます。",
    },
    ("{thing}はウェブで解約できます。", "{thing}はウェブで解約できません。"),
    ("{thing}のお申し込みの審査には", "{thing}のお申し込みをいただいてから審査が終わるまでに"),
    "# ギフト券\n\nギフト券は1枚5,000円です。\n",
)
_WORDS: dict[Language, tuple[Wording, tuple[str, ...], tuple[str, ...]]] = {
    "en": (
        _EN,
        ("Amber", "Birch", "Cedar", "Dune", "Elm", "Fern", "Grove", "Harbour", "Iris", "Juniper"),
        ("Archive", "Backup", "Calendar", "Delivery", "Energy", "Fitness", "Garden", "Hosting", "Insurance",
         "Jewel", "Kitchen", "Laundry", "Music", "News", "Office", "Parking", "Quiz", "Repair", "Security",
         "Travel"),
    ),
    "ja": (
        _JA,
        ("あかね", "いぶき", "うぐいす", "えにし", "かえで", "こだま", "さくら", "しおさい", "すみれ",
         "つばき"),
        ("保管", "配送", "清掃", "修理", "翻訳", "駐車", "会計", "予約", "写真", "印刷", "音楽",
         "園芸",
         "料理", "健康", "旅行", "警備", "洗濯", "電力", "保険", "学習"),
    ),
}  # fmt: skip


class Desk(NamedTuple):
    """The articles before and after by id, the questions as rows, and which of them the update concerns."""

    before: dict[str, str]
    after: dict[str, str]
    questions: list[dict[str, str]]
    concerned: set[str]


def desk_of(language: Language) -> Desk:
    """The invented desk with its twelve changes."""
    wording, adjectives, nouns = _WORDS[language]
    before, questions, values = dict[str, str](), list[dict[str, str]](), list[dict[str, Any]]()
    for number in range(ARTICLES):
        thing = wording.thing.format(adjective=adjectives[number % 10], noun=nouns[number // 10])
        value = {
            "thing": thing,
            "price": 1_000 + 130 * (number % 40),  # five articles have each price
            "days": 2 + number % 8,
            "hours": 16 + number % 6,
            "phone": f"0120-55-{1000 + number}",
        }
        kind = _KINDS[number % len(_KINDS)]
        id_ = f"a{number:03}"
        values.append(value)
        before[id_] = wording.article.format(**value)
        questions.append({
            "id": f"q{number:03}",
            "question": wording.asks[kind].format(**value),
            "reference": wording.answers[kind].format(**value),
            "passages": id_,
        })  # fmt: skip
    after, concerned = dict(before), set[str]()

    def edit(number: int, old: str, new: str, *, asked: bool = True) -> None:
        id_, value = f"a{number:03}", values[number]
        old, new = old.format(**value), new.format(**value)
        assert old in after[id_], (id_, old)  # noqa: S101 - a planted change has to be one
        after[id_] = after[id_].replace(old, new)
        if asked:
            concerned.add(f"q{number:03}")

    def say(number: int, kind: str, new: object, *, asked: bool = True) -> None:
        said = wording.answers[kind]
        now = said.format(**{**values[number], kind: new})
        edit(number, said, now, asked=asked)

    for number in (10, 145):
        say(number, "price", values[number]["price"] + 275)
    say(21, "days", values[21]["days"] + 10)
    say(32, "hours", 23)
    say(43, "phone", "0120-77-4321")
    edit(54, *wording.denied)
    # Another fact than the one that is asked about.
    say(66, "price", values[66]["price"] + 275, asked=False)
    edit(77, *wording.reworded, asked=False)
    del after["a088"]
    concerned.add("q088")
    after["moved/b099"] = after.pop("a099")
    head, body = after.pop("a110").split("\n\n")
    parts = sentences(body)
    after["a110-fees"] = f"{head}\n\n{' '.join(parts[:2])}\n"
    after["a110-desk"] = f"{head}\n\n{' '.join(parts[2:])}\n"
    after["a900"] = wording.added
    return Desk(before, after, questions, concerned)


class PublicSet(NamedTuple):
    """Articles of a public set, the figure that a question leaves out, and what is asked in its place."""

    path: str
    figure: re.Pattern[str]
    asked: str
    question: str


_PUBLIC: dict[Language, PublicSet] = {
    "en": PublicSet(
        "tau2_banking/rag_corpus_tau2_banking_en.jsonl.gz",
        re.compile(r"(?<=\$)\d[\d,]*(?![\d.,]*\d)"),
        " how much",
        "{title}: {sentence}?",
    ),
    "ja": PublicSet(
        "jglue/rag_corpus_jsquad_ja.jsonl.gz",
        re.compile(r"(?<![\d.,])\d[\d,]*(?=年|人|円|メートル|km|万)"),
        "何",
        "{title}について。{sentence}？",
    ),
}


def public_desk(language: Language) -> Desk:
    """The first articles of a public set that have a sentence with one figure, every sixteenth changed."""
    source = _PUBLIC[language]
    before, questions = dict[str, str](), list[dict[str, str]]()
    articles = _with_one_figure(rows_of(DATA / source.path), source.figure)
    for number, (title, text, sentence) in enumerate(islice(articles, ARTICLES)):
        before[f"p{number:03}"] = f"# {title}\n\n{text}\n"
        asked = source.figure.sub(source.asked, sentence).rstrip("。. ")
        questions.append({
            "id": f"q{number:03}",
            "question": source.question.format(title=title, sentence=asked),
            "reference": sentence,
            "passages": f"p{number:03}",
        })  # fmt: skip
    after = dict(before)
    for row in questions[5 : 5 + 16 * 11 : 16]:
        old = row["reference"]
        new = source.figure.sub(lambda figure: str(int(figure[0].replace(",", "")) * 3 + 7), old)
        after[row["passages"]] = before[row["passages"]].replace(old, new)
    del after["p190"]
    concerned = {row["id"] for row in questions if before[row["passages"]] != after.get(row["passages"])}
    return Desk(before, after, questions, concerned)


def _with_one_figure(articles: Iterable[Row], figure: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """Title and text of each article that has one, and its first sentence with exactly one figure."""
    for article in articles:
        text = article["text"]
        for sentence in sentences(text):
            if 20 < len(sentence) < 200 and text.count(sentence) == 1 and len(figure.findall(sentence)) == 1:
                yield article["title"], text, sentence
                break


def _write(folder: Path, articles: dict[str, str]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    for id_, text in articles.items():
        path = folder / f"{id_}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def _printed(*words: str) -> tuple[int, str]:
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = run(list(words))
    if code not in (0, 1):
        raise RuntimeError(said.getvalue())
    return code, printed.getvalue()


def _latest(folder: Path) -> str:
    return max(path.name for path in folder.iterdir())


def figures(language: Language, folder: Path, desk: Desk) -> Iterator[dict[str, Any]]:
    """What `diff` says of three bots of a desk: updated, half updated, never updated."""
    runs = folder / "runs"
    old, new = _write(folder / "old", desk.before), _write(folder / "new", desk.after)
    changed = [id_ for id_, text in desk.before.items() if desk.after.get(id_) != text]
    half = dict(desk.after)
    for id_ in changed[::2]:
        half[id_] = desk.before[id_]
    for id_ in ("a110-fees", "a110-desk"):
        half.pop(id_, None)
    half |= {id_: text for id_, text in desk.before.items() if id_ == "a110"}
    cases = folder / "questions.csv"
    with cases.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(desk.questions[0]))
        writer.writeheader()
        writer.writerows(desk.questions)
    plain = (
        "--adapter", "demo", "--offline", "--runs", str(runs), "--persona", "calm",
        "--turns", "1", "--seed", "1", "--cases", str(cases), "--language", language,
    )  # fmt: skip
    _printed(*plain, "--knowledge", str(old), "--set", f"knowledge={old}")
    first = _latest(runs)
    for name, index in (("updated", new), ("half", _write(folder / "half", half)), ("never", old)):
        _printed(*plain, "--knowledge", str(new), "--set", f"knowledge={index}")
        code, said = _printed(
            "diff", str(runs / first), str(runs / _latest(runs)), "--runs", str(runs), "--json"
        )
        yield _judged(desk, json.loads(said)["update"], code) | {"bot": name}


def _judged(desk: Desk, update: dict[str, Any], code: int) -> dict[str, Any]:
    named = {row["case"] for key in ("moved", "stale", "withdrawn", "reference") for row in update[key]}
    rows = [row for key in ("stale", "withdrawn") for row in update[key]]
    # An answer that adds the old price to what was asked is stale, too.
    late = {row["case"] for row in rows if row["old"] not in row["answer"]}
    return {
        "code": code,
        "index_is_old": update["index_is_old"],
        "missed": sorted(desk.concerned - named),
        "wrongly_late": sorted(late - desk.concerned),
        "late": len(rows),
        "moved": len(update["moved"]),
        "references": len(update["reference"]),
    }


def main() -> int:
    """Prints a row for each desk and bot; 1 where anything was missed or wrongly called stale."""
    columns = ("code", "index_is_old", "missed", "wrongly_late", "late", "moved", "references")
    print(" " * 18 + "".join(f"{column:>14}" for column in columns))
    failed = False
    for language in _WORDS:
        desks: dict[str, Callable[[Language], Desk]] = {"invented": desk_of}
        if (DATA / _PUBLIC[language].path).is_file():
            desks["public"] = public_desk
        else:
            print(f"{language} public   left out: {DATA / _PUBLIC[language].path} is not there")
        for kind, build in desks.items():
            with tempfile.TemporaryDirectory() as folder:
                for row in figures(language, Path(folder), build(language)):
                    cells = (len(cell) if isinstance(cell := row[name], list) else cell for name in columns)
                    named = f"{language} {kind:8} {row['bot']:7}"
                    print(named + "".join(f"{cell!s:>14}" for cell in cells), flush=True)
                    wrong = [*row["missed"], *row["wrongly_late"]]
                    print(f"  {', '.join(wrong)}\n" if wrong else "", end="")
                    failed |= bool(wrong) or row["code"] != (row["bot"] != "updated")
                    failed |= row["index_is_old"] != (row["bot"] == "never")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
