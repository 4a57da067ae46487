"""What a "judge is wrong" does: the same answer is shown as disputed, in that run and in later ones.

    week 1   answer A is red, and the review says that the judge is wrong
    week 2   A again, or in other words (the judge's model says that they are the same): disputed
             without a model, another answer to that question: "disputed last time", and no more
    week 3   the review says of it that the judge is right: the dispute is over

A disputed answer stays red, in the score and in the gate: people's words never change a grade. It is counted
beside the red ones, painted grey, and left out of the questions that need review.

The newest word about an answer counts, whatever run it was said in. Words are read from the files of earlier
runs when a report is made, so that one that is taken back is gone everywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from simulator.core.errors import InputError
from simulator.core.settings import stored_settings
from simulator.core.types import Dispute, Disputed, HumanVerdict, Results
from simulator.results.figures import RedTurn
from simulator.results.red import grading_judges, gravest_reason, primary_judge
from simulator.results.rows import Key
from simulator.results.same_faults import DISPUTED, fault_keys, kind_of, pair_note, same_pairs
from simulator.results.turns import marked_turns
from simulator.sheets.model import answer_key
from simulator.storage.results import conversations_with_scores, select_turns
from simulator.storage.run_file import RUN_FILE, read_run, run_ids
from simulator.storage.words import all_words

# So many earlier runs of the folder are looked at, the newest ones.
LAST = 20


class _Word(NamedTuple):
    """What people said of a mark, and when: it disputes an answer, if they call the judge wrong."""

    dispute: Dispute
    given: datetime
    is_wrong: bool


class _Answer(NamedTuple):
    """A red answer by its key, the fault that it has, its turn, and what people said of its mark."""

    key: str
    fault: str
    place: Key
    word: _Word | None = None


def read_results(path: Path, earlier: Sequence[str] | None = None) -> Results:
    """A run as reports show it: with what was disputed in earlier runs.

    `earlier` are the ids of the runs before it, where these are known; else those of its folder.
    """
    return with_disputes(read_run(path), path, earlier)


def with_disputes(results: Results, path: Path, earlier: Sequence[str] | None = None) -> Results:
    """The results of the run file `path` with what was disputed in earlier runs."""
    folder = path.resolve().parent.parent
    if earlier is None:
        ids = run_ids(folder)
        earlier = ids[: ids.index(results.run.id)] if results.run.id in ids else []
    disputes = tuple(_disputes_in(folder, earlier))
    return results.model_copy(update={"disputes": disputes}) if disputes else results


def disputed_in(folder: Path) -> list[str]:
    """The keys of the answers that are disputed in the runs of a folder."""
    return [dispute.key for dispute in _disputes_in(folder, run_ids(folder))]


def _disputes_in(folder: Path, runs: Sequence[str]) -> Iterable[Dispute]:
    """The answers that are disputed by the newest word about each, oldest first."""
    words = list[tuple[_Word, frozenset[str]]]()
    for path in (folder / name / RUN_FILE for name in runs[-LAST:]):
        try:
            words += _words(read_run(path)) if all_words(path) else ()
        except InputError:  # damaged, or with settings that are no longer understood
            continue
    disputes = dict[str, Dispute]()
    for word, repeated in sorted(words, key=lambda item: item[0].given):
        key = word.dispute.key
        # Who says that the judge is right says it of the earlier answers, too, that this one repeats.
        for settled in (key, *(() if word.is_wrong else repeated)):
            disputes.pop(settled, None)
        if word.is_wrong:
            # It stands since the run in which that was first said.
            since = disputes[key].run if key in disputes else word.dispute.run
            disputes[key] = word.dispute.model_copy(update={"run": since})
    return disputes.values()


def _words(results: Results) -> Iterator[tuple[_Word, frozenset[str]]]:
    """What people said of the red answers of a run, and the disputes of earlier runs that each repeats."""
    settings = stored_settings(results.run.settings)
    primary = primary_judge(grading_judges(results, settings.judges))
    wanted = {place[0] for place in _marked(results)}
    ids = [id_ for id_ in results.conversations.ids if id_ in wanted]
    reasons = {
        (conversation.id, turn.index): gravest_reason(marks)
        for conversation, by_turn in conversations_with_scores(results, ids)
        for turn, marks in marked_turns(conversation, by_turn, settings.red, primary)
        if marks
    }
    pairs = [*same_pairs(results, DISPUTED)]
    for answer in _answers(results, reasons):
        if answer.word:
            yield answer.word, frozenset(first for first, fault in pairs if fault == answer.fault)


def _marked(results: Results) -> dict[Key, HumanVerdict]:
    """The word about the mark of each turn, where there is one."""
    words = (verdict for verdict in results.verdicts if verdict.source != "blind" and verdict.judge_is)
    return {verdict.key: verdict for verdict in words}


def _answers(results: Results, reasons: Mapping[Key, str]) -> Iterator[_Answer]:
    """The answers at these places, which are red for these reasons."""
    words, fault_of = _marked(results), fault_keys(results)
    since = {dispute.key: dispute.run for dispute in results.disputes}
    for conversation, turn in select_turns(results, reasons):
        place, key = (conversation.id, turn.index), answer_key(conversation.case, turn)
        answer = _Answer(key, fault_of(conversation.case, turn), place)
        if said := words.get(place):
            dispute = Dispute(
                key=key,
                run=since.get(key, results.run.id),
                language=conversation.case.language,
                line=turn.user,
                answer=turn.answer.text,
                objection=reasons[place],
                comment=said.comment,
            )
            given, is_wrong = said.given or results.run.created, said.judge_is == "wrong"
            answer = answer._replace(word=_Word(dispute, given, is_wrong))
        yield answer


def disputed_answers(results: Results, red: Sequence[RedTurn]) -> dict[Key, Disputed]:
    """The red turns whose answer is disputed, in this run or by what was said in earlier ones."""
    if not red or not (results.disputes or _marked(results)):
        return {}
    faults: dict[str, list[_Answer]] = {}
    for answer in _answers(results, {turn.key: turn.reason for turn in red}):
        faults.setdefault(answer.fault, []).append(answer)
    # No answer is no other wording of one.
    silent = {turn.key for turn in red if turn.failure}
    disputed = dict[Key, Disputed]()
    for fault, answers in faults.items():
        # What was said of one of them is said of all: they are one row.
        word = next((answer.word for answer in answers if answer.word), None)
        if word is None:
            said = _inherited(results, fault, {answer.key for answer in answers})
            if said and not said.is_same and answers[0].place in silent:
                continue
        else:  # else the judge is right, or it is open
            said = Disputed(dispute=word.dispute, is_same=True) if word.is_wrong else None
        if said:
            disputed |= {answer.place: said for answer in answers}
    return disputed


def _inherited(results: Results, fault: str, keys: set[str]) -> Disputed | None:
    """What earlier runs say of a fault; `keys` are those of its answers."""
    same_question = [dispute for dispute in results.disputes if kind_of(dispute.key) == kind_of(fault)]
    unknown = None
    # The newest first.
    for dispute in reversed(same_question):
        is_same = dispute.key in keys or results.notes.get(pair_note(DISPUTED, dispute.key, fault))
        if is_same is True:
            return Disputed(dispute=dispute, is_same=True)
        unknown = unknown or (dispute if is_same is None else None)
    return Disputed(dispute=unknown, is_same=False) if unknown else None
