"""What every report of a run shares: the verdict, and notes to read before relying on the figures.

`ReportContext` is what worksheets, Markdown and files are made from.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import Field

from simulator.core.document import Section
from simulator.core.replies import FIFTHS, share_of
from simulator.core.settings import CheckFormat
from simulator.core.translations import Words, points, target_points, words_of
from simulator.core.types import Language, Results, Score, TurnScores, Value
from simulator.diagnosis.evidence import RootCause
from simulator.diagnosis.recommendations import Improvements
from simulator.report.answerable import answerable_sections
from simulator.report.extras import load_section
from simulator.report.gate import gate_notes, verdict_text
from simulator.report.sections import sections
from simulator.sheets.model import SheetWords
from simulator.stats.corrected import ENOUGH_GRADES, STRATA, CorrectedScore, Shortage
from simulator.stats.figures import JudgeSummary, RedTurn, Summary
from simulator.stats.gate import CONDITION_PROBLEMS, Finding, Gate
from simulator.storage.results import conversations_with_scores

# Problems that the verdict and the notes on the gate's conditions report already.
REPORTED_BY_GATE = CONDITION_PROBLEMS | {"below"}
_SCORE_PROBLEMS = frozenset({"below", "corrected_below"})
_INTERVAL_PROBLEMS = frozenset({"unsure", "corrected_below", "corrected_unsure"})


class Note(Value):
    """One sentence; `alarm` when it decides whether the result can be used at all."""

    text: str
    alarm: bool = False


# How well a judge agrees with people; each is a key of judge_trust.toml.
TrustLevel = Literal["well", "fair", "weak", "doubtful", "few", "not_calibrated"]


class JudgeTrust(Value):
    """One judge: `calibration` words its agreement with people (None: not calibrated)."""

    calibration: str | None
    level: TrustLevel
    warnings: tuple[str, ...] = ()


class JudgeTrusts(Value):
    """The trust in each judge of a run by name, and notes that every report of the run shows."""

    judges: dict[str, JudgeTrust] = Field(default_factory=dict)
    notes: tuple[Note, ...] = ()


UNKNOWN = JudgeTrusts()


def verdict(gate: Gate, score: float | None, words: Words) -> str:
    """The gate in one phrase."""
    if gate.conditions:
        return verdict_text(gate, words)
    if gate.target is None:
        return words("no_target")
    target = target_points(gate.target)
    if gate.passed:
        return words("passed", target=target)
    if score is None or gate.incomplete:
        return words("undecided", target=target)
    return _missed_text(gate, score, target, words)


def _missed_text(gate: Gate, score: float, target: str, words: Words) -> str:
    too_many = next((finding for finding in gate.findings if finding.problem == "major"), None)
    if too_many and not any(finding.problem in _SCORE_PROBLEMS for finding in gate.findings):
        figures = {key: too_many.figures[key] for key in ("major", "cases")}
        return words("missed_major", target=target, **figures)
    if gate.unsettled:
        return words("unsettled", target=target)
    score = gate.corrected.score if gate.corrected else score
    return words("missed", target=target, short=short_of(score, gate.target or 0.0))


def short_of(score: float, target: float) -> str:
    """How many points a score is below the target, consistent with both as they are shown."""
    return f"{100 * target - float(points(score, against=target)):.4g}"


def lowest_score(results: Results, summary: Summary) -> float | None:
    """The lowest possible score (0..1); None where the deciding judge's scale reaches down to 0."""
    scales = (s.scale for s in results.scores.of_judge(summary.primary, "scored"))
    return share_of(FIFTHS[0], FIFTHS) if next(scales, None) == FIFTHS else None


def counts_text(numbers: Mapping[str, int], group: str, words: Words) -> str:
    """'timeout 3, error 1', most frequent first; `group` is the table in which words has the names."""
    ranked = sorted(numbers.items(), key=lambda item: -item[1])
    return words("comma").join(f"{words.name(group, kind)} {n:,}" for kind, n in ranked)


def notes(summary: Summary, gate: Gate, words: Words) -> tuple[Note, ...]:
    """Everything that is missing from the figures or shaped them, alarms first.

    That the target was missed is not among them: it is the verdict itself.
    """
    unsorted = [
        *(Note(text=text, alarm=alarm) for text, alarm in gate_notes(summary, gate, words)),
        *(_finding_note(f, summary, gate, words) for f in gate.findings if f.problem not in REPORTED_BY_GATE),
        *correction_notes(summary, words),
        *_conversation_notes(summary, words),
        *(note for name, judge in summary.judges.items() for note in _judge_notes(name, judge, words)),
        *_undecided_notes(summary, words),
        *_skipped_notes(summary, words),
        *_agreement_notes(summary, words),
        *_customer_notes(summary, words),
    ]
    return tuple(sorted(unsorted, key=lambda note: not note.alarm))


def _finding_note(finding: Finding, summary: Summary, gate: Gate, words: Words) -> Note:
    """A problem that the gate found, its figures on the scale to 100."""
    corrected, target = gate.corrected, gate.target
    score, interval = (
        (corrected.score, corrected.interval) if corrected else (summary.score, summary.interval)
    )
    if finding.problem not in _INTERVAL_PROBLEMS or target is None or interval is None:
        return Note(text=words(f"note.{finding.problem}", **finding.figures), alarm=True)
    low, high = (points(end, against=target) for end in interval)
    figures = {
        "score": points(score, against=target),
        "target": target_points(target),
        "low": low,
        "high": high,
    }
    return Note(text=words(f"note.{finding.problem}", **figures), alarm=True)


def corrected_line(summary: Summary, target: float | None, words: Words) -> str:
    """'自動 87 → 補正後 82（78〜86）', or the same in English; empty when nothing was corrected."""
    if summary.corrected is None:
        return ""
    figures = (summary.corrected.score, *summary.corrected.interval)
    score, low, high = (points(value, against=target) for value in figures)
    return words("corrected", auto=points(summary.score), score=score, low=low, high=high)


def correction_notes(summary: Summary, words: Words) -> list[Note]:
    """How people's blind grades corrected the score, or how many more grades that takes."""
    if summary.corrected:
        return [Note(text=_correction_text(summary.corrected, words))]
    return [Note(text=_shortage_text(summary.shortage, words))] if summary.shortage else []


def _correction_text(corrected: CorrectedScore, words: Words) -> str:
    biases = [
        words(f"note.bias_{name}", how=_bias_text(corrected.bias[name], words))
        for name in STRATA
        if name in corrected.bias
    ]
    return words("note.correction", n=corrected.n, biases=words("comma").join(biases))


def _bias_text(bias: float, words: Words) -> str:
    """Whether the judge is lenient or strict, and by how many points out of 100."""
    size = points(abs(bias))
    if size == "0":
        return words("note.level")
    return words("note.lenient" if bias > 0 else "note.strict", points=size)


def _shortage_text(shortage: Shortage, words: Words) -> str:
    """How many more grades a correction takes, and of which turns."""
    if shortage.turns < ENOUGH_GRADES:
        return words("note.labels_few", n=shortage.labels, enough=ENOUGH_GRADES, turns=shortage.turns)
    if shortage.labels < ENOUGH_GRADES:
        return words("note.labels", n=shortage.labels, more=shortage.more)
    if not shortage.more:
        return words("note.labels_one_case", n=shortage.labels)
    kind, more = ("red", shortage.red) if shortage.red else ("not_red", shortage.not_red)
    return words(f"note.labels_{kind}", n=shortage.labels, more=more)


def _conversation_notes(summary: Summary, words: Words) -> list[Note]:
    """Conversations without a grade, and turns without an answer."""
    notes = []
    if summary.missing:
        notes.append(Note(text=words("note.missing", n=summary.missing), alarm=True))
    if summary.bot_failures:
        n, kinds = sum(summary.bot_failures.values()), counts_text(summary.bot_failures, "failure", words)
        key = "note.silent" if n == summary.turns else "note.bot"
        notes.append(Note(text=words(key, n=n, turns=summary.turns, kinds=kinds), alarm=True))
    if summary.unrecorded:
        every = summary.unrecorded == summary.turns
        key = "note.unrecorded_all" if every else "note.unrecorded"
        notes.append(Note(text=words(key, n=summary.unrecorded, turns=summary.turns), alarm=every))
    return notes


def _judge_notes(name: str, judge: JudgeSummary, words: Words) -> list[Note]:
    """What one judge could not grade."""
    title, notes = words.name("judge", name), []
    if judge.failed:
        kinds = counts_text(judge.failures, "failure", words)
        text = words(
            "note.grades_failed", judge=title, failed=judge.failed, of=judge.n + judge.failed, kinds=kinds
        )
        notes.append(Note(text=text, alarm=True))
    if len(judge.rubrics) > 1:
        notes.append(Note(text=words("note.rubrics", judge=title, n=len(judge.rubrics)), alarm=True))
    return notes


def _undecided_notes(summary: Summary, words: Words) -> list[Note]:
    """Turns without a verdict, whose case somebody has to look at."""
    n = sum(judge.undecided for judge in summary.judges.values())
    return [Note(text=words("note.undecided", n=n), alarm=True)] if n else []


def _skipped_notes(summary: Summary, words: Words) -> list[Note]:
    """Judges that had nothing to grade against on some turns; outputs, which not all answers have, aside."""
    names = [
        f"{words.name('judge', name)} ({judge.n:,}/{judge.planned:,})"
        for name, judge in summary.judges.items()
        if judge.skipped > judge.undecided and "." not in name
    ]
    return [Note(text=words("note.skipped", judges=words("comma").join(names)))] if names else []


def _agreement_notes(summary: Summary, words: Words) -> list[Note]:
    """How far a judge agrees with itself, and with further models."""
    notes = []
    for votes in summary.votes:
        judge = words.name("judge", votes.judge)
        text = words("note.votes", judge=judge, votes=votes.votes, n=votes.n, disagreed=votes.disagreed)
        notes.append(Note(text=text, alarm=votes.disagreed > votes.n / 4))
    for pair in summary.panel:
        kappa = "–" if pair.kappa is None else f"{pair.kappa:.2f}"
        figures = {"model": pair.model, "n": pair.n, "kappa": kappa, "shift": f"{100 * pair.shift:+.0f}"}
        notes.append(Note(text=words("note.panel", judge=words.name("judge", pair.judge), **figures)))
    return notes


def _customer_notes(summary: Summary, words: Words) -> list[Note]:
    """How the simulated customer behaved."""
    simulator, notes = summary.simulator, []
    if simulator.failed:
        notes.append(Note(text=words("note.user_failed", n=simulator.failed), alarm=True))
    if simulator.guarded:
        kinds = counts_text(simulator.rules, "rule", words)
        figures = {"n": simulator.guarded, "turns": summary.turns, "kinds": kinds}
        notes.append(Note(text=words("note.guarded", **figures)))
    return notes


class TurnGrades(Mapping[tuple[str, int], Mapping[str, Score]]):
    """The scores of each turn by judge, read one conversation at a time."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._latest: str | None = None
        self._scores: TurnScores = {}

    def __getitem__(self, key: tuple[str, int]) -> Mapping[str, Score]:
        """Those of a turn, by judge."""
        conversation, turn = key
        if conversation != self._latest:
            self._scores = self._results.scores.of_conversations([conversation]).get(conversation, {})
            self._latest = conversation
        return self._scores[turn]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """The turns that have scores."""
        for conversation, by_turn in conversations_with_scores(self._results):
            yield from ((conversation.id, turn) for turn in by_turn)

    def __len__(self) -> int:
        """How many turns have scores."""
        return sum(1 for _ in self)


@dataclass(frozen=True)
class ReportContext:
    """All that reports of a run are made from: its figures, what to fix, how far its judges are trusted.

    `page` is where its page is written.
    """

    results: Results
    summary: Summary
    gate: Gate
    language: Language
    improvements: Improvements
    trusts: JudgeTrusts = UNKNOWN
    page: str = ""
    check: CheckFormat = "text"

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
        """The scores of each turn by judge."""
        return TurnGrades(self.results)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What to know before relying on the figures, alarms first."""
        listed = (*notes(self.summary, self.gate, self.names), *self.trusts.notes)
        return tuple(sorted(listed, key=lambda note: not note.alarm))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """What only some runs have, in the order in which reports show it."""
        load = load_section(self.results, self.summary, self.language)
        return (*sections(self.results, self.language), *([load] if load else []))

    @cached_property
    def answerable(self) -> tuple[Section, ...]:
        """Whether the bot answers, declines and hands over where it should."""
        return answerable_sections(self.results, self.language)

    @cached_property
    def causes(self) -> dict[tuple[str, int], RootCause]:
        """The causes of the red turns."""
        return {(blame.conversation, blame.turn): blame for blame in self.improvements.root_causes}

    @cached_property
    def red(self) -> dict[tuple[str, int], RedTurn]:
        """The red turns."""
        return {(turn.conversation, turn.turn): turn for turn in self.summary.reddest}

    def key(self, *parts: object) -> str:
        """A row's key: it names the run, so that the rows of several runs can stand in one worksheet."""
        return "/".join(map(str, (self.results.run.id, *parts)))
