"""What the page shows of conversations: turns and grades, red questions, passages, underlined words.

Claims that an answer's passages do not bear out are underlined in it. Judges copy the answer's words, but not
always exactly: both sides are compared after NFKC, without spaces and case. What still cannot be found is
marked at the sentence nearest to it, or not at all.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal, NamedTuple

from pydantic import JsonValue

from simulator.core.document import Text
from simulator.core.messages import _, pgettext, safe_text
from simulator.core.titles import Titles, title
from simulator.core.types import Conversation, Language, Passage, Results, Score, Severity, Turn, TurnScores
from simulator.diagnosis.recommendations import heading_of
from simulator.report import tables
from simulator.report.context import ReportContext
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.red import RANK, worst_severity
from simulator.storage.results import select_conversations
from simulator.text.typography import straight

# Longer texts are cut: whole ones are in the run file.
LONGEST = 6000
# The judge that reads how the customer feels.
FEELING = "tone"
# With more red conversations than this, all of them start folded.
OPEN_AT_MOST = 6
# Red turns that are printed beside those that stand under their question: paper is limited.
ON_PAPER = 60
# The judge whose grade each mark rests on; of other marks it is the deciding judge.
_JUDGE_OF_MARK = {"groundedness": "groundedness", "correctness": "", "claims": "claims", "facts": "facts"}
_FEELINGS = {
    -2: _("angry"),
    -1: _("discontent"),
    0: pgettext("of a feeling", "even"),
    1: _("relieved"),
    2: _("glad"),
}
# What else a score says of its grade, beside the figures behind it.
_NO_FIGURES = {"overall", "failed_votes", "spread", FEELING, "feeling"}

FlawKind = Literal["contradicted", "not_found"]
_RANK: Mapping[FlawKind, int] = {"contradicted": 0, "not_found": 1}
# A sentence that shares less than this of the claim's pairs of characters is not the one that was meant.
NEAREST = 0.5
_SENTENCE = re.compile(r"[^。！？!?\n]*?(?:[。！？!?\n]+|\.(?=\s)|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Flaw:
    """Words of an answer that are not borne out; `passage` is the id of what contradicts them, or empty.

    `number` counts them in the order in which they stand in the answer, from 1.
    """

    kind: FlawKind
    judge: str
    words: str
    passage: str = ""
    number: int = 0


class Span(NamedTuple):
    """A stretch of an answer, and what is wrong with it; `ends` when the flaw ends here."""

    text: str
    flaw: Flaw | None = None
    ends: bool = False


class FlawNote(NamedTuple):
    """A flaw, label and anchor of the passage that says otherwise, and whether it is not in the answer."""

    flaw: Flaw
    label: str
    anchor: str
    lost: bool


class GradeView(NamedTuple):
    """The grade of a judge, in short (`chip`) and whole; `beside` marks a further model's.

    `instead` is shown where its reason would say nothing new.
    It keeps no score: what judges say beside their grades would take most of the memory of a large page.
    """

    judge: str
    chip: Text
    grade: Text
    reason: Text
    instead: Text
    figures: list[tuple[Text, float]]
    votes: Text
    steps: list[Text]
    red: bool
    beside: bool


class TurnView(NamedTuple):
    """A turn with what is said about it; a `paper` one is red, and printed here as it is quoted nowhere.

    `rest` follows the `answer`: that it was cut, or what is said where there is none.
    """

    turn: Turn
    anchor: str
    red: RedTurn | None
    mark: Text
    severity: Severity | Literal[""]
    paper: bool
    feeling: tuple[str, Text] | None
    answer: list[Span]
    rest: Text
    rewritten: tuple[Text, ...]
    why: Text
    flaws: list[FlawNote]
    grades: list[GradeView]
    skipped: tuple[Text, ...]
    incorrect: JsonValue
    passages: list[tuple[str, str, str]]


class ConversationView(NamedTuple):
    """A conversation with its turns; `lows` has the lowest grade (0..100) of each judge."""

    conversation: Conversation
    anchor: str
    ending: Text
    expected: str
    greeting: str
    reds: list[RedTurn]
    severity: Severity | Literal[""]
    opened: bool
    lows: str
    turns: list[TurnView]


class ConversationViews:
    """Turns conversations into views; `passages` has the anchors of passages by label and text."""

    def __init__(
        self,
        context: ReportContext,
        shown: Collection[str],
        anchors: Mapping[tuple[str, int], str],
        quoted: Container[tuple[str, int]],
    ) -> None:
        """`shown` are the ids of the conversations whose views will be made; `anchors` lead to their turns.

        `quoted` are the red turns that stand elsewhere on the page as well, and are not printed here.
        """
        self._context, self._summary, self._anchors, self._quoted = context, context.summary, anchors, quoted
        self._titles = context.titles
        self.passages: dict[tuple[str, str], str] = {}
        self._greeting = context.results.run.settings.get("greeting")
        self.judges = _with_panel(self._summary.judges)
        red = {each.conversation for each in self._summary.reddest if each.conversation in shown}
        self._is_open, self._printed = len(red) <= OPEN_AT_MOST, 0

    def conversation(self, number: int, c: Conversation, by_turn: TurnScores) -> ConversationView:
        """The view of a conversation, which has this number in the plan, and these scores."""
        rows = self._summary.rows
        keys = [(c.id, turn.index) for turn in c.turns]
        scores = [by_turn.get(turn.index, {}) for turn in c.turns]
        reds = [self._context.red[key] for key in keys if key in self._context.red]
        return ConversationView(
            conversation=c,
            anchor=_anchor(number),
            ending=tables.ending(c) if c.reason or not rows else "",
            expected=tables.expected_text(c.case) if rows else "",
            greeting="" if rows else _in_language(self._greeting, c.case.language),
            reds=reds,
            severity=worst_severity(mark for red in reds for mark in red.marks) if reds else "",
            opened=bool(reds) and self._is_open,
            lows=",".join(_lowest(judge, scores) for judge in self.judges),
            turns=[self._turn(c, turn, scored) for turn, scored in zip(c.turns, scores, strict=True)],
        )

    def _turn(self, c: Conversation, turn: Turn, scores: Mapping[str, Score]) -> TurnView:
        key, titles = (c.id, turn.index), self._titles
        red = self._context.red.get(key)
        graded = [scores[name] for name in self.judges if name in scores]
        answer = tables.answer_text(turn, red.failure if red else None)
        said = answer if isinstance(answer, str) else ""
        spans, listed = marked(said[:LONGEST], flaws(scores))
        paper = red is not None and key not in self._quoted and self._printed < ON_PAPER
        self._printed += paper
        return TurnView(
            turn=turn,
            anchor=self._anchors[key],
            red=red,
            mark=tables.mark_text(red) if red else "",
            severity=worst_severity(red.marks) if red else "",
            paper=paper,
            feeling=_feeling(scores.get(FEELING)),
            answer=spans,
            rest=_left_out(said) if said else answer,
            rewritten=tuple(titles("rule", rule) for rule in turn.broken_rules),
            why=why(red, turn) if red else "",
            flaws=[self._note(flaw, spans, turn) for flaw in listed],
            grades=[self._grade(score, red) for score in graded],
            skipped=tuple(titles("judge", score.judge) for score in graded if score.state == "skipped"),
            incorrect=_incorrect(scores.get("turn"), red),
            passages=[self._passage(passage) for passage in turn.answer.passages],
        )

    def _note(self, flaw: Flaw, spans: list[Span], turn: Turn) -> FlawNote:
        """What stands below an answer about words of it that are not borne out."""
        passage = next((p for p in turn.answer.passages if flaw.passage and p.id == flaw.passage), None)
        label, _score, anchor = self._passage(passage) if passage else ("", "", "")
        return FlawNote(flaw, label, anchor, lost=not any(span.flaw == flaw for span in spans))

    def _grade(self, score: Score, red: RedTurn | None) -> GradeView:
        """The view of a grade, red when one of the turn's marks rests on it; a skipped judge has none."""
        marks = red.marks if red else ()
        deciding = {_JUDGE_OF_MARK.get(mark.kind, self._summary.primary) for mark in marks}
        grade = _grade_text(score)
        scored = score.state == "scored"
        return GradeView(
            judge=score.judge,
            chip=(grade.partition(" / ")[0] if isinstance(grade, str) else grade) if scored else "–",
            grade="" if score.state == "skipped" else grade,
            reason=cut(score.reason) or "–",
            instead=_instead_of_reason(score, red),
            figures=_figures(score, self._titles),
            votes=_votes(score),
            steps=[cut(str(step)) for step in _listed(score, "steps")],
            red=score.judge in deciding and scored,
            beside=_is_beside(score.judge, self._summary.judges),
        )

    def _passage(self, passage: Passage) -> tuple[str, str, str]:
        """Label, retrieval score and anchor of a passage; its text is collected once."""
        label = passage.source or passage.id
        anchor = self.passages.setdefault((label, passage.text), f"p{len(self.passages) + 1}")
        return label, "" if passage.score is None else f"{passage.score:.2f}", anchor


def anchors_of(results: Results, shown: Container[str] | None = None) -> dict[tuple[str, int], str]:
    """Where the page of a run has each turn of the conversations that it shows (None: of all of them)."""
    ids = frozenset(results.conversations.ids) if shown is None else shown
    return {
        (conversation.id, turn.index): f"{_anchor(number)}-t{turn.index}"
        for number, conversation in select_conversations(results, ids)
        for turn in conversation.turns
    }


def _anchor(number: int) -> str:
    """Where a page has the conversation with this number in the plan; ids are untrusted."""
    return f"c{number}"


def cut(text: str) -> Text:
    """A text that fits on a page, with how much of it was left out."""
    text = safe_text(text)
    return _("{text}{more}", text=text[:LONGEST], more=_left_out(text)) if len(text) > LONGEST else text


def _left_out(text: str) -> Text:
    """How much of a text does not fit on a page; empty where all of it does."""
    n = len(text) - LONGEST
    return _("… ({n} more characters are in the run file)", n=n) if n > 0 else ""


def _lowest(judge: str, by_turn: Iterable[Mapping[str, Score]]) -> str:
    """The lowest grade of a judge, 0..100; empty where it graded nothing."""
    graded = (scores[judge] for scores in by_turn if judge in scores)
    values = [score.value for score in graded if score.state == "scored" and score.value is not None]
    return f"{100 * min(values):.4g}" if values else ""


def _with_panel(judges: Collection[str]) -> list[str]:
    """The judges in their order, each followed by the panel's further models that grade by its rubric."""
    names = list(judges)

    def place(name: str) -> tuple[int, bool]:
        beside = _is_beside(name, judges)
        return names.index(name.partition("@")[0] if beside else name), beside

    return sorted(names, key=place)


def _is_beside(name: str, judges: Container[str]) -> bool:
    """Whether a further model of the panel grades under this name, beside one of the judges."""
    judge, beside, _ = name.partition("@")
    return bool(beside) and judge in judges


def _grade_text(score: Score) -> Text:
    """A grade as people read it: '4 / 5', a share as '67%', a feeling with its sign."""
    if score.state == "scored" and score.raw is not None:
        if score.scale[0] < 0:
            return signed(score.raw)
        if score.scale == (0, 1):
            return _("{n} %", n=f"{100 * score.raw:.0f}")
    return tables.grade_text(score)


def _feeling(score: Score | None) -> tuple[str, Text] | None:
    """How the customer felt in a turn: '−2' and 'angry'; None when it was not graded."""
    if score is None or score.state != "scored" or score.raw is None:
        return None
    return signed(score.raw), _FEELINGS[max(-2, min(2, round(score.raw)))]


def why(red: RedTurn, turn: Turn) -> Text:
    """The judge's reason for the gravest mark; for a turn without an answer, what went wrong."""
    if red.failure is None:
        return red.reason
    kind, error = title("failure", red.failure), turn.answer.error
    return _("{name}: {value}", name=kind, value=error.message) if error else kind


def signed(feeling: float | None) -> str:
    """`+1`, `−0.5`, `0`, with a minus that is as wide as a plus; "–" for None."""
    text = "–" if feeling is None else f"{feeling:+.1f}".removesuffix(".0").replace("-", "−")
    return text if text.strip("+−0.") else "0"


def _figures(score: Score, titles: Titles) -> list[tuple[Text, float]]:
    """The figures behind a grade: the turn judge's categories, a cosine before it was binned."""
    return [
        (titles("category", name), value)
        for name, value in score.detail.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name not in _NO_FIGURES
    ]


def _instead_of_reason(score: Score, red: RedTurn | None) -> Text:
    if score.by_rule:
        return _("graded by rule")
    return _("as above") if red and score.reason and score.reason == red.reason else ""


def _votes(score: Score) -> Text:
    """Each vote of the judge, and how many could not be read; empty without votes."""
    votes = ", ".join(f"{vote:g}" for vote in _listed(score, "votes") if isinstance(vote, int | float))
    if not votes:
        return ""
    shown = _("votes {votes}", votes=votes)
    if score.detail.get("disagreement"):
        shown = _("votes {votes} (far apart)", votes=votes)
    if failed := score.detail.get("failed_votes"):
        return _("{shown} · votes that could not be read: {n}", shown=shown, n=failed)
    return shown


def _listed(score: Score, key: str) -> list[JsonValue]:
    """The list under this key of what the judge said beside its grade; empty where there is none."""
    value = score.detail.get(key)
    return value if isinstance(value, list) else []


def _incorrect(score: Score | None, red: RedTurn | None) -> JsonValue:
    """The grade for Correctness, where it made the turn red; else None."""
    marked_so = red is not None and any(mark.kind == "correctness" for mark in red.marks)
    return score.detail["correctness"] if score and marked_so else None


def _in_language(greeting: JsonValue, language: Language) -> str:
    """The bot's first line: one for all, or one for each language; empty when none is set."""
    text = greeting.get(language) if isinstance(greeting, dict) else greeting
    return text if isinstance(text, str) else ""


def red_questions(summary: Summary) -> list[list[RedTurn]]:
    """The red turns of each question; the gravest first, then those with most grave turns."""
    by_case: dict[str, list[RedTurn]] = {}
    for red in summary.reddest:
        by_case.setdefault(red.case, []).append(red)
    return [_varied(turns) for turns in sorted(by_case.values(), key=_gravity)]


def _gravity(turns: list[RedTurn]) -> tuple[int, int, int]:
    severities = [worst_severity(red.marks) for red in turns]
    gravest = min(severities, key=RANK.__getitem__)
    return RANK[gravest], -severities.count(gravest), -len(turns)


def _varied(turns: list[RedTurn]) -> list[RedTurn]:
    """The gravest first, and among equals other answers, then other customers, before more of the same."""
    answers, personas = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    places = []
    for red in turns:
        severity = worst_severity(red.marks)
        answers[severity, red.answer] += 1
        personas[severity, red.persona] += 1
        places.append((RANK[severity], answers[severity, red.answer], personas[severity, red.persona]))
    return [turns[at] for at in sorted(range(len(turns)), key=places.__getitem__)]


class PassageEntry(NamedTuple):
    """A passage: where links find it, its title (or nothing), and in how many red turns it was."""

    anchor: str
    title: str
    label: str
    text: str
    red: int


def passage_entries(
    anchors: Mapping[tuple[str, str], str], conversations: Sequence[ConversationView]
) -> list[PassageEntry]:
    """The passages of a page, those in most red turns first; `anchors` are by label and text."""
    red = Counter(
        anchor
        for conversation in conversations
        for turn in conversation.turns
        if turn.red
        for anchor in {anchor for _, _, anchor in turn.passages}
    )
    entries = [
        PassageEntry(anchor, heading_of(text), label, text, red[anchor])
        for (label, text), anchor in anchors.items()
    ]
    return sorted(entries, key=lambda entry: -entry.red)


def flaws(scores: Mapping[str, Score]) -> list[Flaw]:
    """What `claims` and `facts` found unsupported in a turn, contradictions first."""
    listed = [*_claims(scores.get("claims")), *_facts(scores.get("facts"))]
    return sorted(dict.fromkeys(listed), key=lambda flaw: _RANK[flaw.kind])


def marked(answer: str, unmarked: Iterable[Flaw]) -> tuple[list[Span], list[Flaw]]:
    """The answer cut at its flaws, and the flaws numbered as they appear; those not in it come last."""
    text, owners, placed = _FoldedText(answer), [-1] * len(answer), []
    listed: list[Flaw] = []
    for flaw in unmarked:
        # Facts are copied from the answer as they are: one that is not there means no nearby sentence.
        place = text.place(flaw.words, owners, near=flaw.judge != "facts")
        if place is None and flaw.judge == "facts" and _is_listed(flaw, listed):
            continue
        if place:
            owners[place[0] : place[1]] = [
                len(listed) if owner < 0 else owner for owner in owners[slice(*place)]
            ]
        placed.append(len(answer) if place is None else place[0])
        listed.append(flaw)
    order = sorted(range(len(listed)), key=placed.__getitem__)
    numbered = {old: replace(listed[old], number=new) for new, old in enumerate(order, 1)}
    return list(_spans(answer, owners, numbered)), [numbered[old] for old in order]


def _claims(score: Score | None) -> Iterator[Flaw]:
    for claim in _findings(score, "claims"):
        words, passage = claim.get("claim"), claim.get("passage")
        kind = next((kind for kind in _RANK if kind == claim.get("verdict")), None)
        if isinstance(words, str) and words.strip() and kind:
            yield Flaw(kind, "claims", words, passage if isinstance(passage, str) else "")


def _facts(score: Score | None) -> Iterator[Flaw]:
    for fact in _findings(score, "facts"):
        words = fact.get("text")
        if isinstance(words, str) and words.strip() and fact.get("found") is False:
            yield Flaw("not_found", "facts", words)


def _findings(score: Score | None, key: str) -> list[dict[str, JsonValue]]:
    """The findings of a score, as far as they have the expected shape."""
    findings = _listed(score, key) if score and score.state == "scored" else []
    return [each for each in findings if isinstance(each, dict)]


class _FoldedText:
    """A text as it is compared, with the place in the original of each of its characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded, self._places = _folded(text)

    def place(self, words: str, owners: list[int], *, near: bool) -> tuple[int, int] | None:
        """Start and end of the words in the original, or with `near` of the sentence nearest to them."""
        folded_words, _ = _folded(words)
        exact = self._exact(folded_words, owners)
        return exact or (self._nearest(folded_words, owners) if near else None)

    def _exact(self, folded_words: str, owners: list[int]) -> tuple[int, int] | None:
        # No number is cut: '24' is not found in '240'.
        before = r"(?<!\d)" if folded_words[:1].isdecimal() else ""
        after = r"(?!\d)" if folded_words[-1:].isdecimal() else ""
        matches = re.finditer(rf"{before}(?={re.escape(folded_words)}{after})", self._folded)
        for at in (match.start() for match in matches if folded_words):
            first, end = self._places[at][0], self._places[at + len(folded_words) - 1][1]
            if owners[first] < 0:
                return first, end
        return None

    def _nearest(self, folded_words: str, owners: list[int]) -> tuple[int, int] | None:
        pairs = Counter(pairwise(folded_words))
        best, nearest = NEAREST, None
        for match in _SENTENCE.finditer(self._text):
            sentence = _folded(match[0])[0]
            shared = pairs & Counter(pairwise(sentence))
            share = shared.total() / pairs.total() if pairs else 0.0
            if share >= best and any(owner < 0 for owner in owners[match.start() : match.end()]):
                best, nearest = share + 1e-9, _trimmed(match)
        return nearest


def _folded(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text in NFKC with straight quotes, without spaces and case; and the origin of each character."""
    original = straight(text)
    folded, places = [], []
    for start, end in _clusters(original):
        for character in unicodedata.normalize("NFKC", original[start:end]).casefold():
            if not character.isspace():
                folded.append(character)
                places.append((start, end))
    return "".join(folded), places


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each character with the marks that combine with it: ﾊﾞ is one."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not (unicodedata.combining(text[at]) or text[at] in "\uff9e\uff9f"):
            yield start, at
            start = at


def _trimmed(match: re.Match[str]) -> tuple[int, int]:
    """A sentence without the spaces around it."""
    before = len(match[0]) - len(match[0].lstrip())
    return match.start() + before, match.start() + len(match[0].rstrip())


def _is_listed(flaw: Flaw, listed: Sequence[Flaw]) -> bool:
    """Whether the words of a flaw stand within those of another one."""
    words = _folded(flaw.words)[0]
    return any(words in _folded(other.words)[0] for other in listed)


def _spans(answer: str, owners: list[int], numbered: Mapping[int, Flaw]) -> Iterator[Span]:
    start, lasts = 0, {owner: at for at, owner in enumerate(owners, 1)}
    for owner, places in groupby(owners):
        end = start + len(list(places))
        yield Span(answer[start:end], numbered.get(owner), owner >= 0 and lasts[owner] == end)
        start = end
