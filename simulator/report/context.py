"""What a reader must know before relying on the figures, and figures as people read them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from simulator.core.settings import CheckFormat
from simulator.core.translations import Words, goal, points, words_of
from simulator.core.types import Language, Results, Score, Value
from simulator.diagnosis.evidence import Blame
from simulator.diagnosis.recommendations import Improvements, improvements_of
from simulator.report.gate import sentences, verdict_of
from simulator.sheets.model import SheetWords
from simulator.stats.corrected import ENOUGH, STRATA, CorrectedScore, Shortage
from simulator.stats.figures import JudgeSummary, RedTurn, Summary
from simulator.stats.gate import SHORTCOMINGS, Finding, Gate
from simulator.storage.results import StoredConversations

SAID_ELSEWHERE = SHORTCOMINGS | {"below"}
_OF_THE_SCORE = frozenset({"below", "corrected_below"})
_OF_THE_INTERVAL = frozenset({"unsure", "corrected_below", "corrected_unsure"})


class Note(Value):
    """One sentence; `alarm` when it decides whether the result can be used at all."""

    text: str
    alarm: bool = False


def verdict(gate: Gate, score: float | None, words: Words) -> str:
    """The gate in one phrase."""
    if gate.conditions:
        return verdict_of(gate, words)
    if gate.target is None:
        return words("no_target")
    target = goal(gate.target)
    if gate.passed:
        return words("passed", target=target)
    if score is None or gate.incomplete:
        return words("undecided", target=target)
    return _not_passed(gate, score, target, words)


def _not_passed(gate: Gate, score: float, target: str, words: Words) -> str:
    too_many = next((finding for finding in gate.findings if finding.problem == "major"), None)
    if too_many and not any(finding.problem in _OF_THE_SCORE for finding in gate.findings):
        figures = {key: too_many.figures[key] for key in ("major", "cases")}
        return words("missed_major", target=target, **figures)
    if gate.unsettled:
        return words("unsettled", target=target)
    score = gate.corrected.score if gate.corrected else score
    return words("missed", target=target, short=short_of(score, gate.target or 0.0))


def short_of(score: float, target: float) -> str:
    """How many points a score is below the target, consistent with both as they are shown."""
    return f"{100 * target - float(points(score, against=target)):.4g}"


def counts(found: Mapping[str, int], group: str, words: Words) -> str:
    """'timeout 3, error 1', most frequent first."""
    ranked = sorted(found.items(), key=lambda item: -item[1])
    return words("comma").join(f"{words.name(group, kind)} {n:,}" for kind, n in ranked)


def notes(summary: Summary, gate: Gate, words: Words) -> tuple[Note, ...]:
    """Everything that is missing from the figures or shaped them, alarms first.

    That the target was missed is not among them: it is the verdict itself.
    """
    found = [
        *(Note(text=text, alarm=alarm) for text, alarm in sentences(summary, gate, words)),
        *(_finding(f, summary, gate, words) for f in gate.findings if f.problem not in SAID_ELSEWHERE),
        *notes_of_people(summary, words),
        *_conversations(summary, words),
        *(note for name, judge in summary.judges.items() for note in _judge(name, judge, words)),
        *_undecided(summary, words),
        *_skipped(summary, words),
        *_agreement(summary, words),
        *_played(summary, words),
    ]
    return tuple(sorted(found, key=lambda note: not note.alarm))


def _finding(finding: Finding, summary: Summary, gate: Gate, words: Words) -> Note:
    """What the gate found, on the scale to 100."""
    corrected, target = gate.corrected, gate.target
    score, interval = (
        (corrected.score, corrected.interval) if corrected else (summary.score, summary.interval)
    )
    if finding.problem not in _OF_THE_INTERVAL or target is None or interval is None:
        return Note(text=words(f"note.{finding.problem}", **finding.figures), alarm=True)
    low, high = (points(end, against=target) for end in interval)
    shown = {"score": points(score, against=target), "target": goal(target), "low": low, "high": high}
    return Note(text=words(f"note.{finding.problem}", **shown), alarm=True)


def corrected_line(summary: Summary, target: float | None, words: Words) -> str:
    """'自動 87 → 補正後 82（78〜86）', or the same in English; empty when nothing was corrected."""
    if summary.corrected is None:
        return ""
    figures = (summary.corrected.score, *summary.corrected.interval)
    score, low, high = (points(value, against=target) for value in figures)
    return words("corrected", auto=points(summary.score), score=score, low=low, high=high)


def notes_of_people(summary: Summary, words: Words) -> list[Note]:
    """What people's blind grades did to the score, or how many more it takes."""
    if summary.corrected:
        return [Note(text=_correction(summary.corrected, words))]
    return [Note(text=_shortage(summary.shortage, words))] if summary.shortage else []


def _correction(corrected: CorrectedScore, words: Words) -> str:
    biases = [
        words(f"note.bias_{name}", how=_how(corrected.bias[name], words))
        for name in STRATA
        if name in corrected.bias
    ]
    return words("note.correction", n=corrected.n, biases=words("comma").join(biases))


def _how(bias: float, words: Words) -> str:
    """Which way the judge is off, and by how many points of a hundred."""
    shown = points(abs(bias))
    way = "level" if shown == "0" else "lenient" if bias > 0 else "strict"
    return words(f"note.{way}", **({} if way == "level" else {"points": shown}))


def _shortage(lacking: Shortage, words: Words) -> str:
    """How many more grades it takes, and of which turns."""
    if lacking.turns < ENOUGH:
        return words("note.labels_few", n=lacking.labels, enough=ENOUGH, turns=lacking.turns)
    if lacking.labels < ENOUGH:
        return words("note.labels", n=lacking.labels, more=lacking.more)
    if not lacking.more:
        return words("note.labels_one_case", n=lacking.labels)
    kind, more = ("red", lacking.red) if lacking.red else ("not_red", lacking.not_red)
    return words(f"note.labels_{kind}", n=lacking.labels, more=more)


def _conversations(summary: Summary, words: Words) -> list[Note]:
    """Conversations without a grade, and turns without an answer."""
    found = []
    if summary.missing:
        found.append(Note(text=words("note.missing", n=summary.missing), alarm=True))
    if summary.bot_failures:
        n, kinds = sum(summary.bot_failures.values()), counts(summary.bot_failures, "failure", words)
        key = "note.silent" if n == summary.turns else "note.bot"
        found.append(Note(text=words(key, n=n, turns=summary.turns, kinds=kinds), alarm=True))
    if summary.unrecorded:
        every = summary.unrecorded == summary.turns
        text = words(
            "note.unrecorded_all" if every else "note.unrecorded", n=summary.unrecorded, turns=summary.turns
        )
        found.append(Note(text=text, alarm=every))
    return found


def _judge(name: str, judge: JudgeSummary, words: Words) -> list[Note]:
    """What one judge could not grade."""
    title, found = words.name("judge", name), []
    if judge.failed:
        kinds = counts(judge.failures, "failure", words)
        text = words(
            "note.grades_failed", judge=title, failed=judge.failed, of=judge.n + judge.failed, kinds=kinds
        )
        found.append(Note(text=text, alarm=True))
    if len(judge.rubrics) > 1:
        found.append(Note(text=words("note.rubrics", judge=title, n=len(judge.rubrics)), alarm=True))
    return found


def _undecided(summary: Summary, words: Words) -> list[Note]:
    """Turns without a verdict, whose case has to be looked at by somebody."""
    n = sum(judge.undecided for judge in summary.judges.values())
    return [Note(text=words("note.undecided", n=n), alarm=True)] if n else []


def _skipped(summary: Summary, words: Words) -> list[Note]:
    """Judges that had nothing to grade against on some turns; outputs, which not all answers have, aside."""
    names = [
        f"{words.name('judge', name)} ({judge.n:,}/{judge.planned:,})"
        for name, judge in summary.judges.items()
        if judge.skipped > judge.undecided and "." not in name
    ]
    return [Note(text=words("note.skipped", judges=words("comma").join(names)))] if names else []


def _agreement(summary: Summary, words: Words) -> list[Note]:
    """How far a judge agrees with itself, and with further models."""
    found = [
        Note(
            text=words(
                "note.votes", judge=words.name("judge", v.judge), votes=v.votes, n=v.n, disagreed=v.disagreed
            ),
            alarm=v.disagreed > v.n / 4,
        )
        for v in summary.votes
    ]
    for pair in summary.panel:
        kappa = "–" if pair.kappa is None else f"{pair.kappa:.2f}"
        figures = {"model": pair.model, "n": pair.n, "kappa": kappa, "shift": f"{100 * pair.shift:+.0f}"}
        title = words.name("judge", pair.judge)
        found.append(Note(text=words("note.panel", judge=title, **figures)))
    return found


def _played(summary: Summary, words: Words) -> list[Note]:
    """How the simulated customer behaved."""
    played, found = summary.simulator, []
    if played.failed:
        found.append(Note(text=words("note.user_failed", n=played.failed), alarm=True))
    if played.guarded:
        kinds = counts(played.rules, "rule", words)
        found.append(Note(text=words("note.guarded", n=played.guarded, turns=summary.turns, kinds=kinds)))
    return found


class StoredScores(Mapping[tuple[str, int], Mapping[str, Score]]):
    """The scores of each turn of a large data set; only those of one conversation are held."""

    def __init__(self, conversations: StoredConversations) -> None:
        """Knows where they are."""
        self._talks, self._last, self._found = conversations, "", dict[int, dict[str, Score]]()

    def __getitem__(self, key: tuple[str, int]) -> Mapping[str, Score]:
        """Those of a turn, by judge."""
        conversation, turn = key
        if conversation != self._last:
            self._last, ((_, self._found),) = conversation, self._talks.with_scores([conversation])
        return self._found[turn]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """The turns that have scores."""
        return (
            (conversation.id, turn) for conversation, by_turn in self._talks.with_scores() for turn in by_turn
        )

    def __len__(self) -> int:
        """How many turns have scores."""
        return sum(1 for _ in self)


@dataclass(frozen=True)
class ReportContext:
    """Everything that the worksheets are made from; `past` are the summaries of earlier runs.

    `mends` is what to mend, where somebody looked it up already; else it is told from the run alone.
    """

    results: Results
    summary: Summary
    gate: Gate
    language: Language
    check: CheckFormat = "text"
    past: Sequence[tuple[Results, Summary, Gate]] = field(default=())
    mends: Improvements | None = None

    @cached_property
    def words(self) -> SheetWords:
        """The words of the worksheets."""
        return SheetWords(self.language, rows=self.summary.rows)

    @cached_property
    def names(self) -> Words:
        """The names of judges, personas, endings and marks."""
        return words_of(self.summary, self.language)

    @cached_property
    def scores(self) -> Mapping[tuple[str, int], Mapping[str, Score]]:
        """The scores of each turn, by judge; those of a large data set are read when they are asked for."""
        if isinstance(self.results.conversations, StoredConversations):
            return StoredScores(self.results.conversations)
        found: dict[tuple[str, int], dict[str, Score]] = {}
        for score in self.results.scores:
            found.setdefault((score.conversation, score.turn), {})[score.judge] = score
        return found

    @cached_property
    def improvements(self) -> Improvements:
        """What to mend."""
        return self.mends or improvements_of(self.results, self.summary, self.language)

    @cached_property
    def causes(self) -> dict[tuple[str, int], Blame]:
        """The causes of the red turns."""
        return {(blame.conversation, blame.turn): blame for blame in self.improvements.blames}

    @cached_property
    def red(self) -> dict[tuple[str, int], RedTurn]:
        """The red turns."""
        return {(turn.conversation, turn.turn): turn for turn in self.summary.reddest}

    def key(self, *parts: object) -> str:
        """A row's key: it names the run, so that the rows of several runs can stand in one worksheet."""
        return "/".join(map(str, (self.results.run.id, *parts)))
