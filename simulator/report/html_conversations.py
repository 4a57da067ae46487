"""What the page shows of conversations: turns and grades, red questions, passages, underlined words.

Claims that an answer's passages do not bear out are underlined in it. Judges copy the answer's words, but not
always exactly: both sides are compared after NFKC, without spaces and case. What still cannot be found is
marked at the sentence nearest to it, or not at all.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from pydantic import JsonValue

from simulator.core.messages import shown as in_language
from simulator.core.templates import Texts
from simulator.core.translations import TextLookup, Words, safe_text, text_lookup
from simulator.core.types import Conversation, Language, Passage, Results, Score, Turn
from simulator.diagnosis.recommendations import heading_of
from simulator.report import tables
from simulator.report.context import ReportContext
from simulator.report.painters.run_page import (
    ConversationView,
    Flaw,
    FlawKind,
    FlawNote,
    GradeView,
    PassageEntry,
    Span,
    TurnView,
)
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.red import RANK, worst_severity
from simulator.storage.results import select_conversations, select_scores
from simulator.text.typography import straight

PAGE = Texts(Path(__file__).with_name("page.toml"))
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

_RANK: Mapping[FlawKind, int] = {"contradicted": 0, "not_found": 1}
# A sentence that shares less than this of the claim's pairs of characters is not the one that was meant.
NEAREST = 0.5
_SENTENCE = re.compile(r"[^。！？!?\n]*?(?:[。！？!?\n]+|\.(?=\s)|$)", re.DOTALL)


def page_words(words: Words) -> TextLookup:
    """The words that only the page shows."""
    return text_lookup(PAGE, "html", words.language, rows=words.rows)


class _Everything(Container[str]):
    def __contains__(self, _: object) -> bool:
        return True


EVERYTHING = _Everything()


class ConversationViews:
    """Turns conversations into views; `passages` has the anchors of passages by label and text."""

    def __init__(
        self, context: ReportContext, shown: Container[str], quoted: Container[tuple[str, int]]
    ) -> None:
        """`shown` are the ids of the conversations whose views will be made.

        `quoted` are the red turns that stand elsewhere on the page as well, and are not printed here.
        """
        self._summary, self._words, self._quoted = context.summary, context.names, quoted
        self.passages: dict[tuple[str, str], str] = {}
        self._greeting = context.results.run.settings.get("greeting")
        self._red = context.red
        self._scores: dict[tuple[str, int], dict[str, Score]] = {}
        for score in select_scores(context.results, shown):
            self._scores.setdefault((score.conversation, score.turn), {})[score.judge] = score
        self.judges = with_panel(self._summary.judges)
        self._numbers = {each.persona: str(at) for at, each in enumerate(self._summary.personas, 1)}
        red = {each.conversation for each in self._summary.reddest if each.conversation in shown}
        self._is_open, self._printed = len(red) <= OPEN_AT_MOST, 0

    def conversation(self, number: int, c: Conversation) -> ConversationView:
        """The view of a conversation; its anchor is made from `number`, for ids are untrusted."""
        anchor, words, rows = _anchor(number), self._words, self._summary.rows
        red = [self._red[c.id, turn.index] for turn in c.turns if (c.id, turn.index) in self._red]
        return ConversationView(
            anchor=anchor,
            id=c.id,
            language=c.case.language,
            who=c.case.id if rows else words.name("persona", c.persona),
            question=c.case.question,
            goal=c.case.goal or "",
            expected=tables.expected_text(c.case) if rows else "",
            persona=self._numbers.get(c.persona, ""),
            ended=c.ended.value if c.ended else "",
            ending=tables.ending(c, words) if c.reason or not rows else "",
            reason=c.reason,
            score=self._summary.conversation_scores.get(c.id),
            red=len(red),
            severity=worst_severity(mark for each in red for mark in each.marks) if red else "",
            lows=self._lows(c),
            opened=bool(red) and self._is_open,
            greeting="" if rows else _in_language(self._greeting, c.case.language),
            history=[("user" if line.role == "user" else "desk", line.content) for line in c.case.history],
            turns=[self._turn(anchor, c, turn) for turn in c.turns],
            closing=c.closing,
        )

    def _lows(self, c: Conversation) -> str:
        """The lowest grade of every judge, 0..100, in their order, separated by commas."""
        by_turn = [self._scores.get((c.id, turn.index), {}) for turn in c.turns]
        lows = []
        for judge in self.judges:
            values = [
                score.value
                for scores in by_turn
                if (score := scores.get(judge)) and score.state == "scored" and score.value is not None
            ]
            lows.append(f"{100 * min(values):.4g}" if values else "")
        return ",".join(lows)

    def _turn(self, conversation: str, c: Conversation, turn: Turn) -> TurnView:
        """The view of a turn."""
        words, key, anchor = self._words, (c.id, turn.index), _turn_anchor(conversation, turn.index)
        scores, red = self._scores.get(key, {}), self._red.get(key)
        graded = [scores[name] for name in self.judges if name in scores]
        failure = red.failure if red else None
        spans, found = marked(_cut(tables.answer_text(turn, failure, words), words), flaws(scores))
        paper = red is not None and key not in self._quoted and self._printed < ON_PAPER
        self._printed += paper
        return TurnView(
            number=turn.index,
            anchor=anchor,
            user=_cut(turn.user, words),
            feeling=feeling(scores.get(FEELING), words.language),
            answer=spans,
            silent=failure is not None,
            seconds="" if turn.answer.seconds is None else f"{turn.answer.seconds:.1f}",
            rewritten=words("comma").join(words.name("rule", rule) for rule in turn.broken_rules),
            red=red is not None,
            paper=paper,
            severity=worst_severity(red.marks) if red else "",
            mark=tables.mark_text(red, words) if red else "",
            why=why(red, turn, words) if red else "",
            flaws=[self._note(flaw, spans, turn) for flaw in found],
            grades=[self._grade(score, red) for score in graded],
            skipped=words("comma").join(words.name("judge", s.judge) for s in graded if s.state == "skipped"),
            incorrect=_incorrect(scores.get("turn"), red),
            passages=[self._passage(passage) for passage in turn.answer.passages],
            steps=[(step.link, _cut(step.text, words)) for step in turn.answer.steps],
        )

    def _note(self, flaw: Flaw, spans: list[Span], turn: Turn) -> FlawNote:
        """What stands below an answer about words of it that are not borne out."""
        passage = next((p for p in turn.answer.passages if flaw.passage and p.id == flaw.passage), None)
        label, _, anchor = self._passage(passage) if passage else ("", "", "")
        language, judge = self._words.language, self._words.name("judge", flaw.judge)
        where = PAGE(language, "flaw_where", passage=label) if label else ""
        what = PAGE(language, flaw.kind)
        title = PAGE(language, "flaw_title", number=str(flaw.number), what=what, judge=judge, where=where)
        return FlawNote(flaw, title, judge, label, anchor, lost=not any(span.flaw == flaw for span in spans))

    def _grade(self, score: Score, red: RedTurn | None) -> GradeView:
        """The view of a grade, red when one of the turn's marks rests on it; a skipped judge has none."""
        marks = red.marks if red else ()
        deciding = {_JUDGE_OF_MARK.get(mark.kind, self._summary.primary) for mark in marks}
        grade = grade_text(score, self._words)
        return GradeView(
            title=self._words.name("judge", score.judge),
            chip=grade.partition(" / ")[0] if score.state == "scored" else "–",
            grade="" if score.state == "skipped" else grade,
            reason=_cut(score.reason, self._words),
            figures=_figures(score, self._words),
            votes=_votes(score, self._words.language),
            steps=_steps(score, self._words),
            red=score.judge in deciding and score.state == "scored",
            by_rule=score.by_rule,
            beside=is_beside(score.judge, self._summary.judges),
        )

    def _passage(self, passage: Passage) -> tuple[str, str, str]:
        """Label, retrieval score and anchor of a passage; its text is collected once."""
        anchor = self.passages.setdefault(
            (passage.source or passage.id, passage.text), f"p{len(self.passages) + 1}"
        )
        return passage.source or passage.id, "" if passage.score is None else f"{passage.score:.2f}", anchor


def anchors_of(results: Results, shown: Container[str] = EVERYTHING) -> dict[tuple[str, int], str]:
    """Where the page of a run has each turn that it shows."""
    return {
        (conversation.id, turn.index): _turn_anchor(_anchor(number), turn.index)
        for number, conversation in select_conversations(results, shown)
        for turn in conversation.turns
    }


def _anchor(number: int) -> str:
    return f"c{number}"


def _turn_anchor(conversation: str, turn: int) -> str:
    return f"{conversation}-t{turn}"


def with_panel(judges: Mapping[str, object]) -> list[str]:
    """The judges in their order, each followed by the panel's further models that grade by its rubric."""
    further = [name for name in judges if is_beside(name, judges)]
    return [
        name
        for judge in judges
        if judge not in further
        for name in (judge, *(each for each in further if each.partition("@")[0] == judge))
    ]


def is_beside(name: str, judges: Container[str]) -> bool:
    """Whether a further model of the panel grades under this name, beside one of the judges."""
    judge, beside, _ = name.partition("@")
    return bool(beside) and judge in judges


def grade_text(score: Score, words: Words) -> str:
    """A grade as people read it: '4 / 5', a share as '67%', a feeling with its sign."""
    if score.state != "scored" or score.raw is None:
        return tables.grade_text(score, words)
    if score.scale[0] < 0:
        return _signed(score.raw)
    if score.scale == (0, 1):
        return PAGE(words.language, "percent", n=f"{100 * score.raw:.0f}")
    return tables.grade_text(score, words)


def feeling(score: Score | None, language: Language) -> str:
    """How the customer felt in a turn: '−2 怒り'; empty when it was not graded."""
    if score is None or score.state != "scored" or score.raw is None:
        return ""
    nearest = max(-2, min(2, round(score.raw)))
    return f"{_signed(score.raw)} {PAGE(language, f'feel_{nearest}')}"


def why(red: RedTurn, turn: Turn, words: Words) -> str:
    """The judge's reason for the gravest mark; for a turn without an answer, what went wrong."""
    if red.failure is None:
        return safe_text(red.reason)
    kind = words.name("failure", red.failure)
    error = turn.answer.error
    return f"{kind}: {safe_text(in_language(error.message, words.language))}" if error else kind


def _signed(value: float) -> str:
    """`+1`, `−2`, `0`, with a minus that is as wide as a plus."""
    return f"{value:+.3g}".replace("-", "−") if round(value, 2) else "0"


def _figures(score: Score, words: Words) -> str:
    """The figures behind a grade: the turn judge's categories, a cosine before it was binned."""
    figures = {
        name: value
        for name, value in score.detail.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and name not in {"overall", "failed_votes", "spread", FEELING, "feeling"}
    }
    return " · ".join(f"{words.name('category', name)} {value:.4g}" for name, value in figures.items())


def _votes(score: Score, language: Language) -> str:
    """Each vote of the judge, and whether they lie far apart; empty without votes."""
    votes = score.detail.get("votes")
    if not isinstance(votes, list):
        return ""
    listed = ", ".join(f"{vote:g}" for vote in votes if isinstance(vote, int | float))
    text = PAGE(language, "votes_apart" if score.detail.get("disagreement") else "votes", votes=listed)
    failed = score.detail.get("failed_votes")
    return f"{text} · {PAGE(language, 'failed_votes', n=str(failed))}" if failed else text


def _incorrect(score: Score | None, red: RedTurn | None) -> str:
    """The grade for Correctness, where it made the turn red."""
    marked_so = red is not None and any(mark.kind == "correctness" for mark in red.marks)
    return f"{score.detail['correctness']}" if score and marked_so else ""


def _steps(score: Score, words: Words) -> list[str]:
    """The judge's reasoning, step by step."""
    steps = score.detail.get("steps")
    return [_cut(str(step), words) for step in steps] if isinstance(steps, list) else []


def _in_language(greeting: JsonValue, language: Language) -> str:
    """The bot's first line: one for all, or one for each language; empty when none is set."""
    text = greeting.get(language) if isinstance(greeting, dict) else greeting
    return text if isinstance(text, str) else ""


def _cut(text: str, words: Words) -> str:
    """A text that fits on a page, without control codes."""
    text = safe_text(text)
    return text if len(text) <= LONGEST else text[:LONGEST] + words("cut", n=f"{len(text) - LONGEST:,}")


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
    findings = score.detail.get(key) if score and score.state == "scored" else None
    return [each for each in findings if isinstance(each, dict)] if isinstance(findings, list) else []


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
        at = self._folded.find(folded_words) if folded_words else -1
        while at >= 0:
            first, end = self._places[at][0], self._places[at + len(folded_words) - 1][1]
            if self._whole(at, at + len(folded_words)) and owners[first] < 0:
                return first, end
            at = self._folded.find(folded_words, at + 1)
        return None

    def _whole(self, at: int, end: int) -> bool:
        """Whether no number is cut: '24' is not found in '240'."""
        text = self._folded
        before = at > 0 and text[at - 1].isdecimal() and text[at].isdecimal()
        return not before and not (end < len(text) and text[end].isdecimal() and text[end - 1].isdecimal())

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
    start, lasts = 0, {owner: at for at, owner in enumerate(owners)}
    for at in range(1, len(answer) + 1):
        if at == len(answer) or owners[at] != owners[start]:
            owner = owners[start]
            yield Span(answer[start:at], numbered.get(owner), owner >= 0 and lasts[owner] == at - 1)
            start = at
