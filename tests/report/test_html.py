"""The page: complete, escaped, self-contained, quick."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from simulator.core.types import Answer, Language, Results, ToolCall
from simulator.results.recommendations import improvements_of
from simulator.sheets.model import answer_key
from tests.diff_runs import Grades, a_result, grades_of, with_passages
from tests.golden_files import compare
from tests.report.views import PageParts, render, side_by_side
from tests.sample_pages import better, everywhere, full
from tests.sample_runs import JUDGES, decide, hostile, rehearsed, summed

XSS = (
    "x</script></style></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>"
    "{{ 7*7 }}{% raw %}javascript:alert(1)&lt;b&gt;\x00\x1b[31m\u202e\u2028"
)


Tag = tuple[str, tuple[str, ...]]


class Page(HTMLParser):
    """The tags, attributes and texts of a page."""

    VOID = ("meta", "input", "br", "rect", "circle", "path", "line")

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[Tag] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(sorted(name for name, _ in attrs))))
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def painted(results: Results, target: float | None = 0.9) -> PageParts:
    """A run with its figures."""
    judges = tuple(dict.fromkeys(score.judge for score in results.scores)) or JUDGES
    summary = summed(results, judges)
    return PageParts(results, summary, decide(summary, target))


def rendered(results: Results, language: Language = "ja", target: float | None = 0.9) -> str:
    """The page of a run."""
    return render(*painted(results, target), language)


def compared(language: Language = "ja") -> str:
    """The page that holds a run against an earlier one."""
    return side_by_side(painted(full(language)), painted(better(language)), language)


def test_it_looks_as_it_is_meant_to() -> None:
    """All that the page says, in its order."""
    said = (" ".join(text.split()) for text in Page(rendered(full("ja"), "ja")).texts)
    compare("report_page_ja.txt", "\n".join(filter(None, said)) + "\n")


@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_tag_is_closed_and_every_link_leads_somewhere(language: Language) -> None:
    """Well-formed, ids are unique, anchors exist, and nothing is loaded from elsewhere.

    A comparison leads to the conversations on the page of the later run.
    """
    page, beside = Page(rendered(full(language), language)), Page(compared(language))
    anchors = {value for _, name, value in Page(rendered(better(language))).attributes if name == "id"}
    onward = [value for _, name, value in beside.attributes if name == "href" and value[:1] != "#"]
    assert {link.partition("#")[0] for link in onward} == {"report.html"}
    assert {link.partition("#")[2] for link in onward} <= anchors
    ids = [value for _, name, value in page.attributes if name == "id"]
    links = [value for _, name, value in page.attributes if name in ("href", "src")]

    assert page.open == []
    assert len(ids) == len(set(ids))
    assert [link for link in links if link[:1] != "#" or link[1:] not in ids] == []


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else() -> None:
    """Hashes of exactly what is inlined, no network, no inline attribute."""
    page = rendered(hostile(XSS))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    for tag in ("style", "script"):
        (inlined,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        allowed = b64encode(sha256(inlined.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{allowed}&#39;" in policy[1]
    assert policy[1].startswith("default-src &#39;none&#39;")
    assert "unsafe" not in policy[1]
    assert not [name for _, name, _ in Page(page).attributes if name == "style" or name.startswith("on")]


def test_hostile_text_is_only_text() -> None:
    """In every field that others fill, ids included: the page has the tags that it has with a few letters."""

    def tags(text: str) -> tuple[list[Tag], list[Tag], set[Tag]]:
        """Those of the page of a run, of its comparison with itself, and of a page with everything."""
        run = painted(hostile(text))
        pages = (rendered(hostile(text)), side_by_side(run, run, "ja"), rendered(everywhere(text * 3)))
        one, beside, further = (Page(page).tags for page in pages)
        return one, beside, {*further}

    raw = rendered(hostile(XSS))
    one, beside, further = tags("x")
    assert tags(XSS)[:2] == (one, beside)
    assert tags(XSS)[2] <= further
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", raw)
    assert [v for _, name, v in Page(raw).attributes if name == "href" and not v.startswith("#")] == []
    assert "{{ 7*7 }}{% raw %}javascript:alert(1)&amp;lt;b&amp;gt;" in raw


@pytest.mark.parametrize(
    "change",
    [
        {"conversations": (), "scores": ()},
        {"scores": ()},
        {"personas": (), "spending": {}},
        {"run": rehearsed(settings={}, versions={}, prompts={}, models={}, status="running").run},
    ],
)
def test_incomplete_runs_can_be_painted(change: dict[str, object]) -> None:
    """Nothing graded, nothing held, settings of another version: a page all the same."""
    page = Page(rendered(rehearsed().model_copy(update=change)))

    assert page.open == []
    assert "リハーサルの結果" in page.text


def test_every_answer_and_every_fix_says_which_one_it_is() -> None:
    """Conversation, turn and the key of sheet and workbook, also of an answer under its question."""
    results = full()
    keys = {
        (c.id, str(turn.index)): answer_key(c.case, turn) for c in results.conversations for turn in c.turns
    }
    tags = re.findall(r"<(?:li|div)[^>]* data-conversation=[^>]*>", rendered(results))
    named = [tuple(re.findall(r' data-(?:conversation|turn|key)="([^"]*)"', tag)) for tag in tags]
    assert all(key == keys[conversation, turn] for conversation, turn, key in named)
    assert {(conversation, turn) for conversation, turn, _ in named} == set(keys)
    assert len([tag for tag in tags if tag.startswith("<li")]) > 0
    assert re.findall(r'<li data-fix="([^"]+)"', rendered(results))


def test_answers_stand_below_the_fix_that_mends_them() -> None:
    """The first answer of the page is one of the first fix, which links to it; each belongs to one fix."""
    run = painted(full("en"))
    fixes = improvements_of(run.results, run.summary).fixes
    page = render(*run, "en")
    groups = re.findall(r'<section class="group" id="fix-(\d+)">(.*?)</section>', page, re.DOTALL)
    answers = [
        (int(rank), conversation, int(turn))
        for rank, group in groups
        for conversation, turn in re.findall(r'<li data-conversation="([^"]*)" data-turn="(\d+)"', group)
    ]

    assert answers[0][0] == 1
    assert 'href="#fix-1"' in page.partition('<section class="group"')[0]
    assert all((conversation, turn) in fixes[rank - 1].turns for rank, conversation, turn in answers)
    assert [rank for rank, *_ in answers] == sorted(rank for rank, *_ in answers)


def page_of(run: Grades | Results) -> str:
    """The page of a run, or of one with these grades by the judge of turns."""
    results = run if isinstance(run, Results) else a_result(run)
    summary = summed(results, ("turn",))
    return render(results, summary, decide(summary, None), "en")


@pytest.mark.parametrize(("red", "shown", "is_open"), [(6, 6, 6), (7, 6, 0)])
def test_six_questions_of_a_fix_are_shown(red: int, shown: int, is_open: int) -> None:
    """To the others there are links; so many red conversations are open at once."""
    page = page_of(grades_of([0.2] * red + [1.0]))

    assert page.count('<details class="question"') == shown
    assert len(re.findall(r'<details class="talk"[^>]* open', page)) == is_open
    assert re.findall(r"1 more question<.summary><ul><li><a href=.#c\d-t1", page) == [
        '1 more question</summary><ul><li><a href="#c7-t1'
    ] * (red > shown)


@pytest.mark.parametrize(("answers", "left"), [(3, 0), (5, 2)])
def test_three_answers_of_a_question_are_shown_the_gravest_first(answers: int, left: int) -> None:
    """Of two with one text the customers share an entry."""
    values = (0.6, 0.4, 0.2, 0.1, 0.3)[:answers]
    page = page_of({("fee", "calm", n): [value] for n, value in enumerate((*values, values[0]), 1)})
    shown = re.findall(r'<li data-conversation="calm/fee#(\d)"', page)

    assert len(shown) == 3
    assert shown[0] != "1"
    assert (f"{left + 1} more of this question" in page) is (left > 0)


def test_a_page_has_what_the_run_has() -> None:
    """Passages where some came, what was made up for a customer where that was so."""
    plain = a_result(grades_of([1.0]))
    (talk,) = plain.conversations
    case = talk.case.model_copy(update={"details": ("is 30", "lives in Gifu")})
    told = plain.model_copy(update={"conversations": (talk.model_copy(update={"case": case}),)})
    pages = [page_of(run) for run in (plain, with_passages(plain, [["fees"]]), told)]

    assert ['id="shelf"' in page for page in pages] == [False, True, False]
    assert ["Invented for this customer: is 30、lives in Gifu" in page for page in pages] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(("n", "is_late"), [(100, False), (101, True)])
def test_lines_of_many_conversations_wait_until_somebody_opens_them(n: int, is_late: bool) -> None:
    """The page is there at once."""
    assert (page_of(grades_of([1.0] * n)).count('<noscript><div class="lines"') == n) is is_late


def red_cards(question: dict[str, object], answer: str) -> str:
    """The cards of a question that two customers put differently, and that got the same answer."""
    results = rehearsed("en")
    first = results.conversations[1]
    case = first.case.model_copy(update=question)
    turn = first.turns[0].model_copy(update={"answer": Answer(text=answer)})
    other = turn.model_copy(update={"user": "And what does it cost?"})
    one = first.model_copy(update={"case": case, "turns": (turn,)})
    two = one.model_copy(update={"id": "other", "turns": (other,)})
    graded = [each for each in results.scores if (each.conversation, each.turn) == (first.id, 1)]
    scores = [each.model_copy(update={"conversation": talk.id}) for talk in (one, two) for each in graded]
    page = rendered(
        results.model_copy(update={"conversations": (one, two), "scores": tuple(scores), "planned": 2}), "en"
    )
    return page.partition('<ol class="reddest">')[2].partition("</ol>")[0]


def test_a_red_answer_stands_once_and_whole_beside_the_expected_one() -> None:
    """However customers asked; where the material has no answer, that is what is expected."""
    answer = f"{'Of course. ' * 30}It is free."
    cards = red_cards({"references": (("It costs 4,800 yen.",),)}, answer)

    assert (cards.count("<li "), cards.count('class="chip"')) == (1, 2)
    assert answer in cards
    assert "Reference answer: It costs 4,800 yen." in cards
    unanswerable = red_cards({"references": (), "answerable": False}, answer)
    assert "Reference answer: Say that it is not in the material" in unanswerable


def with_tools(tools: tuple[ToolCall, ...] | None) -> Results:
    """A run whose first answer shows these calls."""
    results = rehearsed()
    first, *others = results.conversations
    turn, *later = first.turns
    turn = turn.model_copy(update={"answer": turn.answer.model_copy(update={"tools": tools})})
    first = first.model_copy(update={"turns": (turn, *later)})
    return results.model_copy(update={"conversations": (first, *others)})


def test_the_tools_that_a_bot_called_stand_below_its_answer() -> None:
    """With what they were given and gave back, as mere text; nothing is said of a bot that shows none."""
    call, plain = ToolCall(name=XSS, arguments=XSS, result=XSS), ToolCall(name="x", arguments="x", result="x")

    assert "呼び出したツール：2" in rendered(with_tools((call, plain)))
    assert Page(rendered(with_tools((call,)))).tags == Page(rendered(with_tools((plain,)))).tags
    assert "ツールの呼び出しなし" in rendered(with_tools(()))
    assert "ツール" not in rendered(with_tools(None))


def test_what_is_not_supported_stands_below_the_answer() -> None:
    """Contradictions first, with the passage; a score of another shape has none."""
    verdicts = [("a", "supported"), ("b", "not_found"), ("c", "contradicted"), ("", "not_found")]
    results = full("en")
    claims = [{"claim": words, "passage": "?", "verdict": verdict} for words, verdict in verdicts]
    detail = {"claims": [*claims, 7, None]}
    scores = tuple(
        score.model_copy(update={"detail": detail}) if score.judge == "claims" and score.detail else score
        for score in results.scores
    )
    page = rendered(results.model_copy(update={"scores": scores}), "en")
    (first, *_others) = re.findall(r'<ul class="claims shelf">(.*?)</ul>', page, re.DOTALL)

    assert re.findall("<q>(.)</q>", first) == ["c", "b"]
