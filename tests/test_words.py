"""One word for one thing, in both languages: the glossary of CONTRIBUTING, held against all that people read.

Read are the catalogue (what the program says), README and the pages of docs/. Prompts are not: their words
were measured with models.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from simulator.core.messages import DOMAIN, LOCALES

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md"))

# What stands instead of a word of the glossary, by that word.
OTHER = {
    "お客様役": r"人物|ペルソナ|(?<!お)客(?!様|観)|タイプ",
    "回答": r"(?<!パ)ターン(?!ド)",
    "点、点数": r"スコア|評点|素点",
    "採点役": r"ジャッジ|採点者(?!、)|採点項目",
    "要確認": r"赤い(?!セル|行|もの| ✗)|赤く",
    "異議あり": r"異論|不服",
    "合格、不合格、判定保留": r"未達|未到達|達成",
    "確かさ": r"確信度|確からし",
    "人との一致": r"採点の確かさ",
    "模範回答": r"正解(?!率|ラベル)|期待する回答|正しい回答|正しい答え",
    "記事、検索された部分": r"資料|文書(?!ID)|ナレッジ(?!ベース)|パッセージ",
    "公開の判断": r"終了判定|リリース可",
    "簡易採点（AIなし）": r"代役|簡易判定|簡易プログラム|字面の比較",
    "重大、中、軽微": r"中程度",
    "校正": r"較正",
    "基準値": r"しきい値|閾値",
    "このパソコン": r"この(?:マシン|機械|コンピューター)",
    "追加パッケージ": r"追加機能|extra の",
    "気持ち": r"気分",
    "前回と同じ発言": r"再演",
    "やり取り、繰り返す、分かる、詳しい、決まり": r"やりとり|くり返|わか[らりるっ]|くわし|きまり",
    "フォルダー、メモリー": r"フォルダ(?!ー)|メモリ(?!ー)",
    "3件（空けない）": r"(?:\}|(?<![\w.])\d+) (?:[件回問行人点秒円個種組列台つ割]|文字|会話|ターン)",
}
# Half-width signs in what the program says; a line of a log is quoted as it is written.
SIGN = r"(?<=[ぁ-んァ-ヶ一-龠」])(?<!ユーザー)(?<!ボット): |\([^()]*[ぁ-んァ-ヶ一-龠][^()]*\)"
# Where another word is right: headings of question files that are read, too; the answer to a question of
# multiple choice; what a desk's own rules and a public data set say.
RIGHT = (
    r"^\| (?:模範回答|必要な記事|ラベル|お客様の事情|検索された部分|それまでの会話) \|[^|]*\|",
    r"`正解`|選択肢D,正解|正解：（|資料にある会員特典|良いライブラリの文書",
    # Titles that stand in measured prompts.
    r"資料の裏づけ（|正解例との一致（",
)

# The same in English, and turns of phrase that documentation does without.
ENGLISH = {
    "customer": r"personas?",
    "answer, message": r"turns?",
    "needs review": r"red|reds",
    "reference answer": r"(?:right|correct|expected|gold(?:en)?) answers?",
    "article": r"knowledge base|documents",
    "simple scoring (no AI)": r"stand-ins?|lexical (?:judge|scoring)",
    "serious": r"major|grave(?:st)?|severe",
    "who, no one": r"whoever|nobody",
    "next to, also": r"besides?",
    "said, given": r"told",
    "your": r"of (?:its|their|your|our) own",
    "no longer": r"no more(?= (?:read|counted|computed|shown|used))",
    "missing": r"there is no such|names nobody",
}
# Where they are right: names of options, fields, settings and files, and their values; the cells that are
# red; LangChain's and lm_eval's documents; "in turn".
ENGLISH_RIGHT = (
    r"`[^`]*`|--[\w-]+(?:[ =][\w,{}/.-]+)?|\{\w+[^}]*\}|\[\w[\w.]*\]|[\w/]*\b(?:docs|personas)/[\w{}./-]*",
    r"'turn >= [^']*'|turn\.completeness|: turn,claims|REHEARSAL_TURNS=5|\(turns = 5\)|as = \"turns\"",
    r"conversation, turn(?:, reviewer| and grade)|history, turns or answers|^turn (?=\S* ?is not a whole)",
    r"red cells?|severity: major|texts, mappings or documents|extra 'documents'|\bin turn\b",
    r"documents of a task|^Measured by lm_eval.*|^documents$|Documents that could not",
)
# On the pages, too: the judge `turn` and names of code; files and titles of links; what LangChain calls so.
ENGLISH_PAGES_RIGHT = (
    r"\*\*turn\*\*|default: turn,|--judge turn,|persona=|r\['red'\]|^\| customer \(persona in code\).*",
    r"\(?personas\.(?:ja\.)?md|LangChain documents",
)


def others(text: str) -> list[str]:
    """Every word that stands instead of one of the glossary, with that one."""
    for right in RIGHT:
        text = re.sub(right, "", text)
    return [f"{hit[0]} -> {word}" for word, other in OTHER.items() for hit in re.finditer(other, text)]


def english_others(text: str) -> list[str]:
    """The same of an English text."""
    for right in ENGLISH_RIGHT:
        text = re.sub(right, "", text, flags=re.MULTILINE)
    return [
        f"{hit[0]} -> {word}"
        for word, other in ENGLISH.items()
        for hit in re.finditer(rf"\b(?:{other})\b", text, re.IGNORECASE)
    ]


def sentences(language: str) -> list[str]:
    """What a catalogue makes of the program's sentences; in English those of the source, too."""
    said: list[str] = []
    for path in {LOCALES / language, LOCALES / "ja"}:
        with (path / "LC_MESSAGES" / f"{DOMAIN}.po").open("rb") as file:
            for message in read_po(file):
                texts = [message.string] if path.name == language else []
                texts += [message.id] if language == "en" else []
                for text in texts if message.id else ():
                    said += [text] if isinstance(text, str) else text or ()
    return said


def glossary(page: str) -> list[list[str]]:
    """The cells of the rows of the glossary on a page."""
    table = re.search(r"^\|[^\n]*日本語[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)", page, re.MULTILINE)
    return (
        [[cell.strip() for cell in row.strip()[1:-1].split("|")] for row in table[1].splitlines()]
        if table
        else []
    )


@pytest.mark.parametrize("sentence", [
    "スコアを決めるターンです。", "この人物は、怒っている客です。", "目標は未達です。",
    "正解例と資料を比べます。",    "簡易な代役が採点します。", "結果は {n} 件です。",
])  # fmt: skip
def test_another_word_is_found(sentence: str) -> None:
    """In a sentence that somebody might write."""
    assert others(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["要確認の回答が{n}件あります。", "正解率は高く、客観的です。", "赤いセルは要確認の回答です。"],
)
def test_the_words_themselves_are_not(sentence: str) -> None:
    """Nor parts of longer words."""
    assert others(sentence) == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CONTRIBUTING.ja.md"])
def test_every_other_word_of_the_glossary_is_looked_for(page: str) -> None:
    """Of each row, and the words to use pass."""
    rows = glossary((ROOT / page).read_text(encoding="utf-8"))

    assert len(rows) >= 14
    for _english, japanese, others_of_it in rows:
        assert [word for word in re.split("、", others_of_it) if word and not others(word)] == [], japanese
        assert others(japanese) == []


def test_the_program_says_one_thing_with_one_word() -> None:
    """Every sentence of the Japanese catalogue, its signs too."""
    said = sentences("ja")

    assert len(said) > 1000
    assert [(text, found) for text in said if (found := others(text) + re.findall(SIGN, text))] == []


@pytest.mark.parametrize("sentence", ["2 red turns.", "A persona of its own.", "The right answer is told."])
def test_another_english_word_is_found(sentence: str) -> None:
    """In a sentence that somebody might write; names of options and fields pass."""
    assert english_others(sentence)
    assert (
        english_others("--persona angry: `red`, docs/personas.md, [red], {turns} answers, a red cell") == []
    )


def test_english_sentences_say_one_thing_with_one_word() -> None:
    """Every sentence of the source and its wording for rows."""
    said = sentences("en")

    assert len(said) > 1000
    assert [(text, found) for text in said if (found := english_others(text))] == []


def found_on(page: str, find: Callable[[str], list[str]]) -> list[tuple[str, list[str]]]:
    """The lines of a page with another word, outside of code: names of files and fields stay as they are."""
    text = (ROOT / page).read_text(encoding="utf-8")
    code = r"^```(?:csv|toml|python|json|yaml|jsonl)\n.*?^```"
    lines = re.sub(code, "", text, flags=re.MULTILINE | re.DOTALL).splitlines()
    return [(line, words) for line in lines if (words := find(line))]


@pytest.mark.parametrize("page", ["README.ja.md", *(page for page in PAGES if page.endswith(".ja.md"))])
def test_the_pages_do_too(page: str) -> None:
    """With the words of the Japanese glossary."""
    assert found_on(page, others) == []


@pytest.mark.parametrize(
    "page",
    [
        *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "skills/rehearsal/SKILL.md"),
        *(page for page in PAGES if not page.endswith(".ja.md")),
    ],
)
def test_the_english_pages_do_too(page: str) -> None:
    """With those of the English one."""
    right = "|".join(ENGLISH_PAGES_RIGHT)

    assert found_on(page, lambda line: english_others(re.sub(right, "", line))) == []
