"""The standing of a run's judges, from all labels that people gave in the runs of a folder.

    blind grades       worksheet Blind, `review --from FILE`: an answer is bad below the line of red answers
    opinions           "the judge is right / wrong" in Review and on the page: about answers it marked, mostly
    label files        `calibrate FILE`, and what `learn` kept aside (`calibrations/checked-*.json`)

A standing is bound to the rubric's hash, in which prompt, desk.toml and model are: a run that another prompt
graded says nothing of this one, though `grade RUN --again` lets its labels count.

Which answers people look at depends on what the judge said of them, so each weighs by the chance it had to
be looked at (Begg and Greenes, 1983): that of the blind sample, and the share of the marked answers (of those
not marked) of which the team gave an opinion. Where nobody looked at what was not marked, a run says nothing
of either side, for who knows how many bad answers are among them.
"""

from collections import Counter
from pathlib import Path

from simulator.core.settings import Settings
from simulator.core.types import LEXICAL, RedRules, Results
from simulator.grading.desk import read_desk
from simulator.results import judge_records
from simulator.results.certificate import CheckedAnswer, Standing, side_of
from simulator.results.figures import Summary
from simulator.results.judge_records import CheckedLabels, ProbedJudge, records_of
from simulator.results.red import is_red_alone
from simulator.results.review import blind_grades, is_called_bad, red_line
from simulator.sheets.model import answer_key
from simulator.storage.results import select_turns
from simulator.storage.run_file import labelled_runs


def with_standings(
    summary: Summary, settings: Settings, runs: Path, folder: Path = judge_records.FOLDER
) -> Summary:
    """The summary with the standing of every judge that one rubric graded by, from the labels in `runs`.

    Labels of runs are about the answer as a whole, and speak for the judge that decides; of others only label
    files and probes do.
    """
    standings = {}
    for name, judge in summary.scores.judges.items():
        rubrics = [rubric for rubric in judge.rubrics if rubric]
        if len(rubrics) == 1:
            decides = name == summary.scores.primary
            standings[name] = standing_of(name, rubrics[0], settings.red, runs if decides else None, folder)
    return summary.model_copy(update={"standings": standings})


def standing_of(
    judge: str, rubric: str, rules: RedRules, runs: Path | None, folder: Path = judge_records.FOLDER
) -> Standing:
    """What people's labels say of a judge with this rubric; without `runs` only label files are read."""
    if rubric.startswith(f"{LEXICAL}-"):
        return Standing(judge=judge, rubric=rubric, stand_in=True)
    answers = list[CheckedAnswer]()
    # What its prompt was learned from it has seen.
    learned = {*read_desk().history.questions}
    for results in labelled_runs(runs, rubric) if runs else ():
        checked = checked_answers(results, judge, rubric, rules)
        answers += (answer for answer in checked if answer.question not in learned)
    # A further model of the panel grades as `turn@model`; what is stored of it stands under the judge.
    name = judge.partition("@")[0]
    models = set[str]()
    for labels in records_of(CheckedLabels, name, [rubric], folder):
        models.add(labels.model)
        answers += [
            CheckedAnswer(question, bad, marked, f"{labels.source}/{at}")
            for at, (question, bad, marked) in enumerate(labels.answers)
        ]
    probes = next(records_of(ProbedJudge, name, [rubric], folder), None)
    return Standing(
        judge=judge,
        rubric=rubric,
        model=next(iter(sorted(models)), ""),
        bad=side_of(answers, bad=True),
        good=side_of(answers, bad=False),
        failed_probes=probes.failed if probes else None,
    )


def checked_answers(results: Results, judge: str, rubric: str, rules: RedRules) -> list[CheckedAnswer]:
    """The labelled answers of a run, weighed.

    Empty where a side was not looked at: of a run in which people saw only what was marked nobody knows what
    was missed.
    """
    scores = {
        (score.conversation, score.turn): score
        for score in results.scores.of_judge(judge, "scored")
        if score.rubric == rubric and not score.by_rule
    }
    marked = {place: is_red_alone(score, rules) for place, score in scores.items()}
    # What was said of the answer before this run was held chose nothing in it.
    began = results.run.created
    said = (
        (place, v)
        for v in results.verdicts
        if (place := v.key) in marked and not (v.given and v.given < began)
    )
    opinions = {
        place: is_bad
        for place, verdict in said
        if (is_bad := is_called_bad(verdict, marked=marked[place])) is not None
    }
    blind = {place: grade for place, grade in blind_grades(results.verdicts).items() if place in marked}
    line = red_line(rules)
    bad = opinions | {place: grade.value < line for place, grade in blind.items()}
    keys = {
        (conversation.id, turn.index): (conversation.case.id, answer_key(conversation.case, turn))
        for conversation, turn in select_turns(results, bad)
    }
    whole, looked_at = Counter(marked.values()), Counter(marked[place] for place in opinions)
    sampled = Counter(marked[place] for place in blind)
    chances = {}
    for place in bad:
        side = marked[place]
        by_lot = (blind[place].sampled or sampled[side] / whole[side]) if place in blind else 0.0
        chances[place] = 1 - (1 - by_lot) * (1 - looked_at[side] / whole[side])
    rarest = min(chances.values(), default=1.0)
    # What was not marked has to have been looked at, if there is any: only then misses would have shown.
    is_whole = all(any(marked[place] is side for place in bad) for side in whole)
    answers = [
        CheckedAnswer(question, bad[place], marked[place], key, rarest / chances[place])
        for place, (question, key) in keys.items()
    ]
    return answers if is_whole else []
