"""How the judges agree with people on public label sets, beside trivial scorers and people.

    python -m benchmarks.validity [--limit N] [--data FOLDER] [--set NAME] [--offline] [--judge-model MODEL]

Without an endpoint the offline stand-ins grade. With one (the usual environment) the model grades; replies
are cached, so a repeat continues and pays for nothing twice. The sets are not part of this checkout (some
are share-alike): the folder is `../shared/data` or REHEARSAL_BENCH_DATA, and any folder with files called
judge_labels_* or pairwise_* of the same shape will do. Files of one set are also shown together.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import DATA, lexical_validity, pairwise_validity, trivial
from benchmarks.validity_pairs import Pairing, pairings
from simulator.core.errors import InputError, RehearsalError
from simulator.core.roles import endpoints
from simulator.core.settings import Settings, load_settings
from simulator.core.shelves import judge_names
from simulator.lab.judging.calibration import LabelComparison, compare
from simulator.lab.judging.calibration_report import with_interval
from simulator.lab.judging.figures import Scorer
from simulator.lab.judging.rows import GradedRow, grade_rows, score_name
from simulator.models.pricing import Ledger
from simulator.runner.labelled_answers import (
    LabelFile,
    LabelledAnswer,
    judging_context,
    read_dimension,
    read_labels,
    sample_rows,
)


class Measured(NamedTuple):
    """One judge on one label."""

    judge: str
    pairing: Pairing
    compared: LabelComparison


class Bench:
    """One pass over the sets: every judge grades a set once, however many labels it is compared with."""

    def __init__(self, settings: Settings, limit: int | None) -> None:
        """Knows who grades: models where there is an endpoint."""
        self.settings, self.limit = settings, limit
        self.endpoints = endpoints(settings)
        self.ledger = Ledger.of(settings)

    def measure(self, file: LabelFile) -> Iterator[Measured]:
        """Every fitting pair of judge and label; those for which there is nothing to compare are left out."""
        rows = sample_rows(file.rows, self.limit, self.settings.seed)
        graded: dict[str, list[GradedRow]] = {}
        for pairing in pairings(file):
            for judge in pairing.judges:
                if judge in judge_names() and judge not in graded:
                    graded[judge] = self._grade(judge, rows)
                if judge in graded and (compared := self._compared(file, pairing, judge, graded[judge])):
                    yield Measured(judge, pairing, compared)

    def _compared(
        self, file: LabelFile, pairing: Pairing, judge: str, graded: Sequence[GradedRow]
    ) -> LabelComparison | None:
        label = read_dimension(file, pairing.label, pairing.good)
        try:
            return compare(file, graded, label, seed=self.settings.seed)
        except InputError as error:
            if any(each.score.state == "failed" for each in graded):
                print(f"{judge}: {error}", file=sys.stderr)
            return None

    def _grade(self, judge: str, rows: Sequence[LabelledAnswer]) -> list[GradedRow]:
        context = judging_context(self.settings, judge, ledger=self.ledger)

        async def grade() -> list[GradedRow]:
            try:
                return await grade_rows(context, score_name(context, judge), rows)
            finally:
                await context.close(None)

        return asyncio.run(grade())


def label_files(data: Path, names: Sequence[str]) -> list[Path]:
    """The label files under a folder, of sets whose name has one of `names` in it."""
    found = sorted(path for path in data.rglob("judge_labels_*") if ".json" in path.name)
    return [path for path in found if not names or any(name in path.name for name in names)]


def label_sets(paths: Sequence[Path]) -> Iterator[LabelFile]:
    """Each file, and after the last file of a data set all of its files together."""
    by_name: dict[str, list[LabelFile]] = {}
    for path in paths:
        file = read_labels(path)
        by_name.setdefault(file.dataset, []).append(file)
    for dataset, files in by_name.items():
        yield from files
        if len(files) > 1:
            rows = {row.case.id: row for file in files for row in file.rows}
            yield files[-1]._replace(path=Path(f"{dataset}, together"), rows=tuple(rows.values()))


def main(arguments: Sequence[str] = ()) -> None:
    """A table for each set."""
    options = _parse(arguments)
    settings = load_settings(
        {"offline": options.offline, "judge_model": options.judge_model, "budget": options.budget}
    )
    files = label_files(options.data, options.set) if options.data.is_dir() else []
    pairs = pairwise_validity.pair_files(options.data, options.set) if options.data.is_dir() else []
    if not files and not pairs:
        print(
            "validity            skipped: no label sets; put judge_labels_*.jsonl or pairwise_*.jsonl into"
            f" {options.data} (or set REHEARSAL_BENCH_DATA)."
        )
        return
    bench, started = Bench(settings, options.limit), time.perf_counter()
    print(f"validity            {_who(bench)}")
    for file in label_sets(files):
        _show_set(bench, file)
    pairwise_validity.show(pairs, settings, bench.ledger, options.limit)
    if bench.endpoints["judge"] is None and not options.set:
        print()
        lexical_validity.main(options.data)
    calls = sum(role.calls for role in bench.ledger.roles.values())
    cost = "cost unknown" if bench.ledger.spent.cost_usd is None else f"{bench.ledger.spent.cost_usd:.2f} USD"
    took = f"{len(files) + len(pairs)} files in {time.perf_counter() - started:.0f} s"
    print(f"\n{took}, {calls} model calls, {cost}")


def _show_set(bench: Bench, file: LabelFile) -> None:
    started = time.perf_counter()
    languages = "/".join(sorted({row.case.language for row in file.rows}))
    print(f"\n## {file.path.name} ({file.dataset}, {languages}, {len(file.rows):,} rows)")
    print(f"{'':36}{'n':>6}  {'AUROC':18}{'kappa':18}{'judge-people':18}")
    last = ""
    for measured in bench.measure(file):
        if measured.pairing.label != last:
            last = measured.pairing.label
            _show_label(file, measured, bench.settings.seed)
        _show_judge(measured)
    print(f"({time.perf_counter() - started:.0f} s)")


def _show_label(file: LabelFile, measured: Measured, seed: int) -> None:
    """What has to be beaten, on the rows of the first judge."""
    label = read_dimension(file, measured.pairing.label, measured.pairing.good)
    figures = measured.compared.figures
    print(f"{label.good} ({figures.good:,} of {figures.n:,} good, {figures.groups:,} groups)")
    if figures.humans:
        print(_line("  people (one and the rest)", figures.humans))
    rows = [
        (grade.row, people.mean >= label.good_from - 1e-9)
        for grade in measured.compared.grades
        if (people := label.human_grade(grade.row))
    ]
    for scorer in trivial.measured(rows, seed):
        print(_line(f"  trivial {scorer.name}", scorer))


def _show_judge(measured: Measured) -> None:
    figures, counts = measured.compared.figures, measured.compared.counts
    status = f"{with_interval(figures.kappa):18}{with_interval(figures.leniency, signed=True):18}"
    notes = [f"{counts.failed} failed"] if counts.failed else []
    if figures.poor:
        notes.append(f"{figures.share:.0%} are {figures.commonest:g}")
    print(_line(f"> {measured.judge}", figures.judge, f"{status}{', '.join(notes)}"))


def _line(name: str, scorer: Scorer, more: str = "") -> str:
    return f"{name:36}{scorer.n:>6,}  {with_interval(scorer.auroc):18}{more}".rstrip()


def _who(bench: Bench) -> str:
    endpoint = bench.endpoints["judge"]
    if endpoint is None:
        return "offline stand-ins (word overlap); live: untested, no endpoint"
    return f"judge {endpoint.model} at {endpoint.address}, --judging {bench.settings.judging}"


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validity")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of label sets")
    parser.add_argument("--set", action="append", default=[], help="only sets with this in their name")
    parser.add_argument("--limit", type=int, help="only so many rows of each set, by lot")
    parser.add_argument("--offline", action="store_true", help="the stand-ins, whatever is configured")
    parser.add_argument("--judge-model", help="model that grades")
    parser.add_argument("--budget", type=float, help="stop once so many dollars are spent")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except RehearsalError as stopped:
        sys.exit(f"error: {stopped}")
