"""The page of a run in finished values, and which conversations it has room for."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from simulator.core.document import Chart, Report, Section, Series, local_time
from simulator.core.translations import points, target_points
from simulator.core.types import Conversation, Results, Score, TurnScores
from simulator.diagnosis.recommendations import Fix, cause_name, certainty
from simulator.report import fixes, tables
from simulator.report.context import ReportContext, corrected_line, lowest_score, verdict
from simulator.report.html_comparison import PageParts, comparison_sections
from simulator.report.html_conversations import (
    FEELING,
    ConversationViews,
    anchors_of,
    page_words,
    passage_entries,
    red_questions,
)
from simulator.report.painters.run_page import (
    ConversationView,
    Ending,
    Filters,
    FixCard,
    FixCards,
    HeatColumn,
    HeatMap,
    HeatRow,
    RedCard,
    RedEntry,
    RedQuestion,
    RunPage,
    ScoreCard,
    Square,
)
from simulator.report.run import note_lines, run_report
from simulator.stats.comparison import RunComparison
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.red import worst_severity
from simulator.stats.summary import WeakestMean, excerpt, weakest_mean
from simulator.storage.results import conversations_with_scores, select_conversations

# Room for the conversations of a page, in bytes, and the estimated markup around each part of one.
_CONVERSATIONS_SIZE = 6_800_000
_CONVERSATION_MARKUP, _TURN_MARKUP, _GRADE_MARKUP = 900, 500, 130
# So many questions are shown, of each so many red turns whole, and so many more by their reason.
SHOWN_QUESTIONS, SHOWN_WHOLE, SHOWN_BRIEF = 20, 3, 12
# So many fixes are shown whole, so many folded; the rest is counted.
CARDS_SHOWN, CARDS_FOLDED = 3, 12
# Notes that are no alarms are folded when there are more.
OPEN_NOTES = 2
# The question in a link is cut to a little more than fits on a line of a card.
_LINK_LENGTH = 50
# Where links lead to a conversation that is not shown: to the list.
ELSEWHERE = "talks"


def run_page(
    context: ReportContext,
    share: float = 1.0,
    earlier: PageParts | None = None,
    changes: RunComparison | None = None,
) -> RunPage:
    """The page of a run, with what fits into this share (0..1) of the room for conversations.

    `earlier` is a run that this one is compared with, and `changes` are the statistics of the two, which are
    worked out where they are not passed.
    """
    return _Builder(context, share).page(earlier, changes)


class _Builder:
    """Makes the page of one run."""

    def __init__(self, context: ReportContext, share: float) -> None:
        self.context, self.summary, self.words = context, context.summary, context.names
        self.say, self.language = page_words(context.names), context.language
        self.questions = red_questions(self.summary)
        self.shown = shown_conversations(context.results, self.summary, self._linked(), share)
        self.anchors = anchors_of(context.results, self.shown)
        self.weakest = weakest_mean(self.summary)

    def page(self, earlier: PageParts | None, changes: RunComparison | None) -> RunPage:
        context, summary, words, say = self.context, self.summary, self.words, self.say
        results, run = context.results, context.results.run
        quoted = {
            (red.conversation, red.turn) for turns in self._shown_questions() for red in turns[:SHOWN_WHOLE]
        }
        views = ConversationViews(context, self.shown, quoted)
        conversations = [views.conversation(at, c) for at, c in select_conversations(results, self.shown)]
        title = say("compare_title") if earlier else words("title")
        adapter = run.settings.get("adapter")
        notes = note_lines(context)
        alarms, others = notes[: (n := sum(note.tone == "alarm" for note in notes))], notes[n:]
        left = self.questions[SHOWN_QUESTIONS:]
        report = run_report(context, self.anchors)
        return RunPage(
            report=report,
            words=words,
            say=say,
            head=f"{self._score()} · {title} · {run.id}",
            title=title,
            created=run.created.isoformat(),
            about=(
                run.id,
                f"{local_time(run.created):%Y-%m-%d %H:%M %Z}",
                f"{words('adapter')}: {adapter}" if adapter else "",
            ),
            nav=tuple(self._nav(report)),
            banners=(
                *([(words("standin"), words("standin_why"))] if summary.offline else []),
                *([(words("unfinished_run"), "")] if summary.status != "finished" else []),
            ),
            score=self._score_card(len(alarms)),
            red=self._red_card(),
            fixes=self._fix_cards(),
            alarms=alarms,
            notes=others,
            notes_folded=say("other_notes", n=str(len(others))) if len(others) > OPEN_NOTES else "",
            notes_none="" if notes else words("missing_none", turns=summary.turns),
            heat=self._heat_map(views.judges),
            endings=tuple(self._endings()),
            questions=[self._red_question(turns) for turns in self._shown_questions()],
            questions_more=say("questions_more", n=f"{len(left):,}", red=f"{sum(map(len, left)):,}")
            if left
            else "",
            questions_none=words("no_red" if summary.graded else "no_score"),
            filters=self._filters(views.judges),
            conversations=conversations,
            part=self._part(conversations),
            flawed=any(turn.flaws for view in conversations for turn in view.turns),
            passages=passage_entries(views.passages, conversations),
            rows=summary.rows,
            compared=self._compared(earlier, conversations, changes),
        )

    def _linked(self) -> list[str]:
        """The conversations that other parts of the page lead to."""
        quoted = [red for turns in self._shown_questions() for red in turns[: SHOWN_WHOLE + SHOWN_BRIEF]]
        shown_fixes = self.context.improvements.fixes[: CARDS_SHOWN + CARDS_FOLDED]
        examples = [example for fix in shown_fixes for example in fix.examples]
        return [*(example.conversation for example in examples), *(red.conversation for red in quoted)]

    def _nav(self, report: Report) -> Iterator[tuple[str, str]]:
        """What the head of the page leads to."""
        leads = {"before", "heat", "course", "reddest", "talks", "technical"}
        leads |= {section.key for section in self.context.sections}
        for section in report.shown_in("page"):
            if section.key in leads:
                yield section.key, self.words("red") if section.key == "reddest" else section.title

    def _shown_questions(self) -> list[list[RedTurn]]:
        return self.questions[:SHOWN_QUESTIONS]

    def _score(self) -> str:
        best = self.summary.corrected or self.summary
        return points(best.score, against=self.context.gate.target)

    def _score_card(self, alarms: int) -> ScoreCard:
        context, summary, words = self.context, self.summary, self.words
        best, target = summary.corrected or summary, context.gate.target
        lowest = lowest_score(context.results, summary)
        said = verdict(context.gate, summary.score, words)
        corrected = corrected_line(summary, target, words)
        lines = [words("graded_of", n=summary.graded, planned=summary.planned)]
        if summary.corrected:
            lines.insert(0, words("corrected_by", n=summary.corrected.n))
        elif summary.interval:
            low, high = map(points, summary.interval)
            lines.insert(0, words("interval", low=low, high=high))
        else:
            lines.insert(0, words("no_interval"))
        if summary.bot_failures and summary.answered_score is not None:
            lines.append(words("answered_score", score=points(summary.answered_score)))
        return ScoreCard(
            score=self._score(),
            verdict=words("no_score") if summary.score is None else said,
            passed=context.gate.passed,
            at=None if summary.score is None else best.score,
            interval=best.interval,
            target=target,
            target_text="" if target is None else f"{words('target')} {points(target)}",
            lowest=lowest,
            lowest_text="" if lowest is None else words("lowest_mark", n=target_points(lowest)),
            automatic=summary.score if corrected else None,
            description=words("ruler", score=points(best.score), more=said),
            corrected=corrected,
            lines=tuple(lines),
            alarms=self.say("alarms", n=str(alarms)) if alarms else "",
        )

    def _red_card(self) -> RedCard:
        """The number of red turns, and a bar for each reason, which may stand beside another."""
        summary, words = self.summary, self.words
        kinds = sorted(summary.red_kinds.items(), key=lambda item: -item[1])
        names = tuple(words.name("mark", kind) for kind, _ in kinds)
        bars = Series("", tuple(float(n) for _, n in kinds), tuple(f"{n:,}" for _, n in kinds))
        line = words("no_red") if summary.turns and not summary.red else ""
        if summary.red_second:
            line = words("second_only", n=summary.red_second)
        return RedCard(
            red=f"{summary.red:,}",
            turns=words("of_turns", turns=summary.turns),
            is_red=bool(summary.red),
            kinds=Chart("bars", "", words("red_turns"), names, (bars,)) if kinds else None,
            line=line,
        )

    def _fix_cards(self) -> FixCards:
        """What to fix, best first, with links to examples."""
        found, language = self.context.improvements, self.language
        shown = tuple(map(self._fix_card, found.fixes[: CARDS_SHOWN + CARDS_FOLDED]))
        more, left = len(found.fixes) - CARDS_SHOWN, len(found.fixes) - len(shown)
        spoilt = sum(len(fix.turns) for fix in found.customer)
        below = [fixes.FIXES(language, "customer_line", turns=f"{spoilt:,}")] if spoilt else []
        if not (found.fixes or found.customer):
            below = [self.words("fix_none" if self.summary.graded else "no_score")]
        return FixCards(
            cards=shown[:CARDS_SHOWN],
            folded=shown[CARDS_SHOWN:],
            more=fixes.FIXES(language, "more", n=f"{more:,}") if more > 0 else "",
            left=fixes.FIXES(language, "more", n=f"{left:,}") if left else "",
            lead=fixes.lead_text(found, self.words),
            below=tuple(filter(None, (*below, fixes.how_text(found, self.words)))),
        )

    def _fix_card(self, fix: Fix) -> FixCard:
        found, words, language = self.context.improvements, self.words, self.language
        best = max(each.gain for each in found.fixes)
        links = []
        for example in fix.examples:
            if anchor := self.anchors.get((example.conversation, example.turn)):
                name = example.case if words.rows else words.name("persona", example.persona)
                links.append((anchor, f"{name}: {excerpt(example.question, _LINK_LENGTH)}"))
        first = fix.examples[0]
        return FixCard(
            what=fix.what,
            first=links[0][0] if links else "",
            cause=cause_name(fix.cause, language),
            sure=certainty(fix.sure, language),
            counts=fixes.counts_text(fix, words),
            gain=fixes.gain_text(fix, found, language),
            bar=round(100 * fix.gain / best, 1) if best else 0.0,
            links=tuple(links),
            reason=fixes.failure_text(first, words) or first.reason,
        )

    def _heat_map(self, judges: Sequence[str]) -> HeatMap:
        """The means by customer and judge; `judges` are in the order of the filter."""
        summary, words, say, trusts = self.summary, self.words, self.say, self.context.trusts
        numbers = {name: str(judges.index(name)) for name in summary.judges}
        limit, lowest = summary.rules.overall, lowest_score(self.context.results, summary)
        note = words("heat_note_plain") if limit is None else words("heat_note", limit=target_points(limit))
        notes = [note] if lowest is None else [note, words("lowest", n=target_points(lowest))]
        notes += [say("first_note")] if self.weakest else []
        notes += [say("trust_note")] if trusts.judges else []
        total = summary.total
        return HeatMap(
            columns=(HeatColumn(words("score")), *map(self._heat_column, summary.judges)),
            rows=tuple(self._heat_rows(numbers)),
            limit=limit,
            first=self._weakest_text(self.weakest) if self.weakest else "",
            first_persona=str(self.weakest.persona + 1) if self.weakest else "",
            first_judge=numbers[self.weakest.judge] if self.weakest else "",
            trusted=bool(trusts.judges),
            note=" ".join(notes),
            total_name=words("total", n=total.n) if total.of else "",
            total=words("total_of", value=f"{total.value:.1f}", of=total.of) if total.of else "",
        )

    def _weakest_text(self, weakest: WeakestMean) -> str:
        return self.say(
            "first_line",
            judge=self.words.name("judge", weakest.judge),
            persona=self.words.name("persona", self.summary.personas[weakest.persona].persona),
            n=f"{weakest.mean.n:,}",
            value=points(weakest.mean.mean, against=self.summary.rules.overall),
        )

    def _heat_column(self, name: str) -> HeatColumn:
        """The head of a judge's column; its trust is empty where nothing is known of any judge."""
        title, trusts = self.words.name("judge", name), self.context.trusts
        if not trusts.judges:
            return HeatColumn(title)
        trust = trusts.judges.get(name)
        text = self.say(f"trust_{trust.level if trust else 'rule'}")
        return HeatColumn(title, text, warned=bool(trust and trust.warnings))

    def _heat_rows(self, numbers: Mapping[str, str]) -> Iterator[HeatRow]:
        summary, weakest = self.summary, self.weakest
        judges = ["", *summary.judges]
        for place, cells in enumerate(tables.personas_table(summary, self.language).rows):
            name, score, red, *rest = cells
            whole = place >= len(summary.personas)
            squares = tuple(
                Square(
                    text=cell.text,
                    note=cell.note,
                    value=None if judge.partition("@")[0] == FEELING else cell.number,
                    red=cell.red,
                    first=weakest is not None and (place, judge) == (weakest.persona, weakest.judge),
                    judge=numbers.get(judge, ""),
                    links=cell.number is not None and bool(cell.note),
                )
                for judge, cell in zip(judges, (score, *rest), strict=True)
            )
            note = "" if name.number is None else self.words("conversations_n", n=int(name.number))
            yield HeatRow(name.text, note, "" if whole else str(place + 1), red.text, squares, whole)

    def _endings(self) -> Iterator[Ending]:
        """How conversations ended, and last those that have not."""
        summary = self.summary
        for how, n in summary.ended.items():
            yield Ending(how, self.words.name("ended", how), n)
        if (left := summary.planned - sum(summary.ended.values())) > 0:
            yield Ending("", self.words("in_progress"), left)

    def _red_question(self, turns: Sequence[RedTurn]) -> RedQuestion:
        """A question with its red turns, the most telling first."""
        say, case = self.say, next(each for each in self.summary.cases if each.case == turns[0].case)
        others = len(turns) - SHOWN_WHOLE
        more = others - SHOWN_BRIEF
        return RedQuestion(
            question=case.question,
            severity=worst_severity(turns[0].marks),
            about=f"{case.case} · {self.words('fix_row', red=len(turns), turns=case.turns)}",
            whole=tuple(map(self._red_entry, turns[:SHOWN_WHOLE])),
            brief=tuple(map(self._red_entry, turns[SHOWN_WHOLE : SHOWN_WHOLE + SHOWN_BRIEF])),
            folded=say("red_others", n=f"{others:,}") if others > 0 else "",
            more=say("red_more", n=f"{more:,}") if more > 0 else "",
        )

    def _red_entry(self, red: RedTurn) -> RedEntry:
        words = self.words
        return RedEntry(
            mark=tables.mark_text(red, words),
            who=f"{words.name('persona', red.persona)} · {words('turn_n', n=red.turn)}",
            question=red.question,
            answer=fixes.failure_text(red, words) or red.answer,
            reason="" if red.failure else red.reason,
            anchor=self.anchors.get((red.conversation, red.turn), ELSEWHERE),
        )

    def _filters(self, judges: Sequence[str]) -> Filters:
        summary, words, limit = self.summary, self.words, self.summary.rules.overall
        grades = sorted({0.4, 0.6, 0.8, 1.0, *([limit] if limit else [])})
        return Filters(
            personas=[
                (str(at), words.name("persona", each.persona)) for at, each in enumerate(summary.personas, 1)
            ],
            judges=[words.name("judge", name) for name in judges],
            grades=[target_points(grade) for grade in grades],
            limit="" if limit is None else target_points(limit),
            endings=[(how, words.name("ended", how)) for how in summary.ended],
        )

    def _part(self, conversations: Sequence[ConversationView]) -> str:
        """That the page shows only some of the conversations; empty where it shows all."""
        summary, results = self.summary, self.context.results
        total = summary.graded + summary.missing + summary.unrecorded
        if not summary.rows:
            total = sum(bool(each.turns or each.ended) for each in results.conversations)
        if len(conversations) == total:
            return ""
        red = sum(view.red for view in conversations)
        counts = {"n": len(conversations), "all": total, "red": red, "of": summary.red}
        key = "part_red" if red < summary.red else "part_others"
        return self.say(key, **{name: f"{n:,}" for name, n in counts.items()})

    def _compared(
        self,
        earlier: PageParts | None,
        conversations: Sequence[ConversationView],
        changes: RunComparison | None,
    ) -> list[Section] | None:
        """The comparison with an earlier run, or None; conversations that are not shown link to the list."""
        if earlier is None:
            return None
        context = self.context
        anchors = dict.fromkeys(context.results.conversations.ids, ELSEWHERE)
        anchors |= {view.id: view.anchor for view in conversations}
        later = PageParts(context.results, self.summary, context.gate)
        return comparison_sections(earlier, later, anchors, self.words, changes)


def shown_conversations(
    results: Results, summary: Summary, first: Iterable[str], share: float = 1.0
) -> Collection[str]:
    """The ids of the conversations to show: everything if it fits, else red ones and a sample of the others.

    Those in `first` come before the red ones, these gravest first; the sample is spread evenly over the plan.
    `share` (0..1) shrinks the room for them, where an estimate was too low.
    """
    room = _CONVERSATIONS_SIZE * share
    if results.is_sampled:
        return _shown_of_many(results, summary, first, room)
    sizes = _sizes(results)
    if sum(sizes.values()) <= room:
        return sizes.keys()
    red = dict.fromkeys((*first, *(each.conversation for each in summary.reddest)))
    others = [key for key in sizes if key not in red]
    shown = set()
    for key in (*red, *_spread(others)):
        room -= sizes.get(key, 0)
        if room < 0:
            break
        shown.add(key)
    return shown


def _shown_of_many(results: Results, summary: Summary, first: Iterable[str], room: float) -> Collection[str]:
    """The same for a large data set, reading no more conversations than the page can hold."""
    red = dict.fromkeys((*first, *(each.conversation for each in summary.reddest)))
    keys = [*red, *_spread([key for key in results.conversations.ids if key not in red])]
    shown, passages = set(), set[tuple[str, str]]()
    for conversation, by_turn in conversations_with_scores(results, keys):
        room -= _size(conversation, by_turn, passages)
        if room < 0:
            break
        shown.add(conversation.id)
    return shown


def _spread(keys: Sequence[str]) -> Iterator[str]:
    """All keys in an order whose first ones are spread over the whole: every 64th, then those between."""
    step = 64
    for start in range(step):
        yield from keys[start::step]


def _sizes(results: Results) -> dict[str, int]:
    """The estimated bytes of each conversation on a page; a passage counts once, where it is first shown."""
    passages: set[tuple[str, str]] = set()
    return {
        conversation.id: _size(conversation, by_turn, passages)
        for conversation, by_turn in conversations_with_scores(results)
        if conversation.turns or conversation.ended
    }


def _size(conversation: Conversation, by_turn: TurnScores, passages: set[tuple[str, str]]) -> int:
    grades = sum(_grade_size(score) for by_judge in by_turn.values() for score in by_judge.values())
    case = conversation.case
    texts = [
        case.question,
        conversation.closing,
        conversation.reason,
        *(line.content for line in case.history),
    ]
    for turn in conversation.turns:
        texts += [turn.user, turn.answer.text]
        for passage in turn.answer.passages:
            if (key := (passage.source or passage.id, passage.text)) not in passages:
                passages.add(key)
                texts.append(passage.text)
    return _CONVERSATION_MARKUP + _TURN_MARKUP * len(conversation.turns) + sum(map(_bytes, texts)) + grades


def _grade_size(score: Score) -> int:
    steps = score.detail.get("steps")
    listed = map(str, steps) if isinstance(steps, list) else ()
    return _GRADE_MARKUP + _bytes(score.reason) + sum(map(_bytes, listed))


def _bytes(text: str) -> int:
    """Roughly the bytes of a text in UTF-8, without encoding it."""
    return len(text) if text.isascii() else 3 * len(text)
