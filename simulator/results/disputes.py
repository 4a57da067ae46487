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

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from simulator.core.errors import InputError
from simulator.core.settings import stored_settings
from simulator.core.shelves import judge_name
from simulator.core.types import Conversation, Dispute, Disputed, HumanVerdict, Results, Turn
from simulator.results.figures import RedTurn
from simulator.results.red import deciding_judges, gravest_reason, primary_judge
from simulator.results.rows import Key
from simulator.results.same_faults import DISPUTED, fault_keys, pair_note, same_pairs
from simulator.results.turns import marked_turns
from simulator.sheets.model import answer_key
from simulator.storage.results import conversations_with_scores, select_conversations
from simulator.storage.run_file import RUN_FILE, read_run, run_ids
from simulator.storage.words import has_words

# So many earlier runs of the folder are looked at, the newest ones.
LAST = 20


class _Word(NamedTuple):
    """What people said of an answer's mark: a dispute, or with None that it is right or that it is open.

    `key` is that of the answer, `same` are the disputed answers of earlier runs which it was said to be.
    """

    given: datetime
    key: str
    dispute: Dispute | None
    same: frozenset[str]


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
    disputes = tuple(_disputes_in(folder / name / RUN_FILE for name in earlier[-LAST:]))
    return results.model_copy(update={"disputes": disputes}) if disputes else results


def disputed_in(folder: Path) -> list[str]:
    """The keys of the answers that are disputed in the runs of a folder."""
    return [
        dispute.key for dispute in _disputes_in(folder / name / RUN_FILE for name in run_ids(folder)[-LAST:])
    ]


def kind_of(key: str) -> str:
    """What answers to be compared have in common: the question, and whether they came first or later."""
    return key.rpartition("-")[0]


def _disputes_in(paths: Iterable[Path]) -> Iterable[Dispute]:
    """The answers that are disputed by the newest word about each, oldest first."""
    words = list[_Word]()
    for path in paths:
        try:
            words += _words(read_run(path)) if has_words(path) else ()
        except InputError:  # damaged, or with settings that are no longer understood
            continue
    disputes = dict[str, Dispute]()
    for word in sorted(words, key=lambda word: word.given):
        for key in (word.key, *word.same):
            disputes.pop(key, None)
        if word.dispute:
            disputes[word.key] = word.dispute
    return disputes.values()


def _marked(results: Results) -> dict[Key, HumanVerdict]:
    """The word about the mark of each turn, where there is one."""
    return {
        verdict.key: verdict for verdict in results.verdicts if verdict.source != "blind" and verdict.judge_is
    }


def _dispute(
    results: Results, conversation: Conversation, turn: Turn, objection: str, verdict: HumanVerdict
) -> Dispute:
    """A red answer, with what people said of it."""
    return Dispute(
        key=answer_key(conversation.case, turn),
        run=results.run.id,
        language=conversation.case.language,
        line=turn.user,
        answer=turn.answer.text,
        objection=objection,
        comment=verdict.comment,
    )


def _words(results: Results) -> Iterator[_Word]:
    """What people said of the marks of a run, of each answer once, where it is red."""
    words = _marked(results)
    settings = stored_settings(results.run.settings)
    judges = deciding_judges(map(judge_name, settings.judges), results.scores.judges)
    primary = primary_judge(judges or sorted(results.scores.judges))
    key_of, said = fault_keys(results), dict[str, _Word]()
    disputed_as: dict[str, set[str]] = defaultdict(set)
    for dispute_key, fault in same_pairs(results, DISPUTED):
        disputed_as[fault].add(dispute_key)
    wanted = {conversation for conversation, _turn in words}
    ids = [key for key in results.conversations.ids if key in wanted]
    for conversation, by_turn in conversations_with_scores(results, ids):
        for turn, marks in marked_turns(conversation, by_turn, settings.red, primary):
            verdict = words.get((conversation.id, turn.index))
            if not (verdict and marks):
                continue
            dispute = _dispute(results, conversation, turn, gravest_reason(marks), verdict)
            fault, given = key_of(conversation.case, turn), verdict.given or results.run.created
            if verdict.judge_is == "wrong":
                word = _Word(given, dispute.key, dispute, frozenset())
            else:
                word = _Word(given, dispute.key, None, frozenset(disputed_as.get(fault, ())))
            if word.key not in said or said[word.key].given <= word.given:
                said[word.key] = word
    yield from said.values()


def disputed_answers(results: Results, red: Sequence[RedTurn]) -> dict[Key, Disputed]:
    """The red turns whose answer is disputed, in this run or by what was said in earlier ones."""
    words = _marked(results)
    if not red or not (words or results.disputes):
        return {}
    reds = {turn.key: turn for turn in red}
    key_of, faults = fault_keys(results), dict[str, list[tuple[Key, str, Disputed | None]]]()
    for _n, conversation in select_conversations(results, {conversation for conversation, _turn in reds}):
        for turn in conversation.turns:
            place = conversation.id, turn.index
            if place not in reds:
                continue
            key, word = answer_key(conversation.case, turn), words.get(place)
            own = word and _dispute(results, conversation, turn, reds[place].reason, word)
            said = Disputed(dispute=own, is_same=word.judge_is == "wrong") if own and word else None
            faults.setdefault(key_of(conversation.case, turn), []).append((place, key, said))
    disputed = dict[Key, Disputed]()
    for fault, turns in faults.items():
        # What was said of one of them is said of all: they are one row.
        said = next((own for _place, _key, own in turns if own), None)
        if said is None:
            said = _inherited(results, fault, {key for _place, key, _own in turns})
            # No answer is no other wording of one.
            said = None if said and not said.is_same and reds[turns[0][0]].failure else said
        elif not said.is_same:  # the judge is right, or it is open
            continue
        if said:
            disputed |= {place: said for place, _key, _own in turns}
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
