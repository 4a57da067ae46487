"""`make bench-learn`: whether `learn` finds what a desk expects and nobody wrote down, and when it refuses.

    python -m benchmarks.learning [--record LANGUAGE SPOOL]

Two desks of 80 labelled answers (learning_rows/), one in each language, whose people follow two rules that no
rubric has: in Japanese, what is about ending a contract goes to a person, and an amount says whether tax is
included; in English, refunds go to the team, and days are said to be working days or calendar days. Two
comments of each are orders to the judge. The replies are those of readers in the model's place
(learning_verdicts.json): every answer graded, the rules proposed, the held answers graded once more.

A third desk has labels that follow nothing, and a rule that changes half of the verdicts; 1,000 draws have a
rubric that is neither better nor worse.
"""

import json
import random
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simulator.api.learning import rows_of_file
from simulator.core.templates import LANGUAGES
from simulator.core.types import Language, RedRules, Score
from simulator.grading.desk import NO_DESK
from simulator.grading.proposing import LabelledRow, Proposal, checked
from simulator.results.learning import RubricComparison, compare_rubrics, halves
from simulator.results.red import is_red_alone

HERE = Path(__file__).parent
ROWS, RECORDED = HERE / "learning_rows", HERE / "learning_verdicts.json"
SEED, SEEDS, DRAWS = 42, 10, 1000
# What a reply has to have for the verdict.
_GRADES = ("overall", "correctness", "completeness")


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures, or records the replies of a spool."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--record", nargs=2, metavar=("LANGUAGE", "SPOOL"))
    given = parser.parse_args(arguments).record
    if given:
        record(given[0], Path(given[1]))
        return
    replies = json.loads(RECORDED.read_text(encoding="utf-8"))
    for language in LANGUAGES:
        if language in replies:
            desk(language, replies[language])
    refused = sum(not noise(seed).is_better for seed in range(SEEDS))
    print(f"labels that follow nothing: refused with {refused} of {SEEDS} seeds")
    accepted = sum(no_difference(seed).is_better for seed in range(DRAWS))
    print(f"no difference: accepted in {accepted} of {DRAWS} draws ({100 * accepted / DRAWS:.1f} %)")


def desk(language: Language, replies: dict[str, Any]) -> None:
    """What `learn` makes of a desk, by the replies that were recorded."""
    rows = rows_of_file(str(ROWS / f"desk_{language}.jsonl"))
    before, after = ({key: is_marked(g) for key, g in replies[name].items()} for name in ("before", "after"))
    learn, held = halves(rows, SEED)
    differing = [r._replace(marked=before[r.question]) for r in learn if r.bad != before[r.question]]
    proposed = checked(Proposal.model_validate(replies["proposal"]), differing, NO_DESK, language)
    agreed = sum(row.bad == before[row.question] for row in rows)
    compared = compare_rubrics((r.question, r.bad, before[r.question], after[r.question]) for r in held)
    print(f"{language}: the judge agrees with people in {agreed} of {len(rows)} answers without the rules")
    for clause in proposed.clauses:
        print(f"    rule from {len(clause.labels)} labels: {clause.text}")
    print(
        f"    held half: {compared.before} of {compared.rows} before, {compared.after} after;"
        f" better {compared.better}, worse {compared.worse}, p = {compared.p:.2g};"
        f" {'accepted' if compared.is_better else 'refused'}"
    )


def is_marked(grades: dict[str, int]) -> bool:
    """Whether the verdict makes an answer red, at most as high as its parts allow."""
    overall = grades["overall"]
    for part in _GRADES[1:]:
        overall = min(overall, {1: 2, 2: 2, 3: 3}.get(grades[part], 5))
    score = Score(judge="turn", state="scored", value=overall / 5, raw=overall, detail=dict(grades))
    return is_red_alone(score, RedRules())


def noise(seed: int) -> RubricComparison:
    """One desk with labels by the toss of a coin, and a rule that changes half of the verdicts: its split."""
    lot, rows, verdicts = random.Random("noise"), list[LabelledRow](), dict[str, tuple[bool, bool]]()
    for row in rows_of_file(str(ROWS / "desk_en.jsonl")):
        rows.append(LabelledRow(row.label, row.question, row.context, lot.random() < 0.5))
        marked = lot.random() < 0.4
        verdicts[row.question] = marked, marked != (lot.random() < 0.5)
    return compare_rubrics(
        (row.question, row.bad, *verdicts[row.question]) for row in halves(rows, seed).held
    )


def no_difference(seed: int) -> RubricComparison:
    """40 held questions, on which either rubric is right with the same chance, .8."""
    lot = random.Random(f"equal {seed}")
    return compare_rubrics((str(at), True, lot.random() < 0.8, lot.random() < 0.8) for at in range(40))


def record(language: str, spool: Path) -> None:
    """Keeps the replies of a spool by the question that each prompt asks about."""
    rows = [json.loads(line) for line in (ROWS / f"desk_{language}.jsonl").read_text("utf-8").splitlines()]
    by_answer = {f"\n{row['question']}\n": row["id"] for row in rows}
    kept: dict[str, Any] = {"before": {}, "after": {}, "proposal": {}}
    for path in sorted((spool / "pending").glob("*.json")):
        messages = json.loads(path.read_text("utf-8"))["messages"]
        if len(messages) < 2:  # how much of a prompt the endpoint takes
            continue
        reply = json.loads((spool / "done" / f"{path.stem}.txt").read_text("utf-8"))
        if "clauses" in reply:
            kept["proposal"] = reply
            continue
        question = next(id_ for text, id_ in by_answer.items() if text in messages[-1]["content"])
        name = "after" if "<rule-1 " in messages[0]["content"] else "before"
        kept[name][question] = {grade: reply[grade] for grade in _GRADES}
    replies = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
    text = json.dumps({**replies, language: kept}, ensure_ascii=False, indent=1, sort_keys=True)
    RECORDED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
