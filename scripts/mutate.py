"""`make mutate`: whether the tests notice when the program does something else.

cosmic-ray changes one operator, number or condition at a time in the modules that grades, gates and costs
rest on. The tests that touch the changed line must then fail. A seeded sample is tried, until the minutes are
over; what no test noticed is shown as a difference. Exit codes: 0 enough were noticed, 1 too few, 2 the tests
fail as they are.

mutmut 3 does not fit: it changes nothing outside of functions, and its wrappers hide the functions from what
reads signatures here. Only the runner is ours, because cosmic-ray's runs the same tests for every line.
"""

import argparse
import linecache
import multiprocessing
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import chain
from pathlib import Path

from cosmic_ray.commands.init import _all_work_items
from cosmic_ray.modules import find_modules
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_item import MutationSpec
from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = tuple(f"simulator/{name}" for name in ("core", "grading", "results", "storage", "models"))
# Beside the packages' own tests: those of the packages and commands that use them most.
TESTS = ("core", "grading", "results", "storage", "models", "judges", "runner", "report", "cli",
         "rag_adapters", "lab/judging", "lab/load")  # fmt: skip
ENOUGH = 0.9
# Unions in annotations fall when the module is read; `is` and `==` are the same for members, small numbers.
# Without its decorator everything fails, or, where that was `cache`, nothing; `frozen` is for us.
_NEEDLESS = re.compile(
    r"BinaryOperator_BitOr|RemoveDecorator|_(Eq|NotEq|Lt|LtE|Gt|GtE)_Is(Not)?$|_Is_Eq$|_IsNot_NotEq$"
)
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not browser")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
# Tests of one change, what they may take together (one alone has its own limit), and so many at a time.
_MOST, _SECONDS, _JOBS = 250, 300, 2


def main(arguments: list[str] | None = None) -> int:
    """Tries a sample, shows what no test noticed, and says whether enough was noticed."""
    parser = argparse.ArgumentParser(prog="scripts.mutate")
    parser.add_argument("packages", nargs="*", default=PACKAGES, help="files or folders to change")
    parser.add_argument("--number", type=int, default=200, help="so many changes at most (200)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other changes (1)")
    parser.add_argument("--minutes", type=float, default=30, help="no change begins after these (30)")
    asked = parser.parse_args(arguments)
    until = time.monotonic() + 60 * asked.minutes
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        if _measure(data := Path(folder) / "coverage"):
            return 2
        touching = Touching(data)
        mutants = sample([Path(package) for package in asked.packages], asked.number, asked.seed)
        differences = list[str]()
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(_JOBS, context, _enter_copy, (folder,)) as pool:
            trials = [pool.submit(_try, mutant, touching.tests(mutant), until) for mutant in mutants]
            for line, difference in filter(None, (survivor.result() for survivor in as_completed(trials))):
                differences.append(difference)
                print(line, flush=True)
    tried, killed = len(differences), differences.count("")
    share = killed / max(tried, 1)
    print("", *filter(None, differences), sep="\n")
    print(f"{killed} of {tried} changes were noticed ({share:.1%}); {ENOUGH:.0%} are needed.")
    return 0 if share >= ENOUGH else 1


def _measure(data: Path) -> int:
    """Runs the tests as they are, and records in `data` which of them touches which line."""
    options = f"-n {_JOBS} --dist loadfile --cov-context=test --cov-report=".split()
    options += [f"--cov={package}" for package in PACKAGES]
    command = [*_PYTEST, *options, *(f"tests/{name}" for name in TESTS)]
    environment = os.environ | {"COVERAGE_FILE": str(data)}
    return subprocess.run(command, env=environment, check=False).returncode


def sample(folders: list[Path], number: int, seed: int) -> list[MutationSpec]:
    """`number` places of the source by lot, each with one of the changes that it allows."""
    places: dict[tuple[Path, tuple[int, int]], list[MutationSpec]] = {}
    for item in _all_work_items(sorted(find_modules(folders)), {}):
        (mutant,) = item.mutations
        if not _NEEDLESS.search(mutant.operator_name) and "frozen=" not in _line(mutant):
            places.setdefault((mutant.module_path, mutant.start_pos), []).append(mutant)
    lot = random.Random(seed)
    drawn = lot.sample(sorted(places), min(number, len(places)))
    return [lot.choice(places[place]) for place in drawn]


def _line(mutant: MutationSpec) -> str:
    """The line of the source in which it begins."""
    return linecache.getline(str(mutant.module_path), mutant.start_pos[0])


class Touching:
    """Which tests touch a line, from what was measured."""

    def __init__(self, data: Path) -> None:
        measured = CoverageData(str(data))
        measured.read()
        self._lines = {
            Path(module).relative_to(ROOT): {
                line: {name.split("|")[0].split("[")[0] for name in names}
                for line, names in measured.contexts_by_lineno(module).items()
            }
            for module in measured.measured_files()
        }

    def tests(self, mutant: MutationSpec) -> list[str]:
        """The tests that may notice; first those of the line, of its package, of most of its module.

        What runs when the module is read (limits, defaults of arguments), or nowhere, concerns all tests that
        touch the module; a line inside a longer statement is the statement's.
        """
        lines = self._lines.get(mutant.module_path, {})
        line = max((start for start in lines if start <= mutant.start_pos[0]), default=0)
        first = lines.get(line, set())
        touched = Counter(chain(*lines.values())) if len(first) < 2 or "" in first else Counter(first)
        folder = f"tests/{mutant.module_path.parent.name}/"
        near = sorted(touched, key=lambda test: (test not in first, folder not in test, -touched[test], test))
        return [test for test in near if test][:_MOST]


def _enter_copy(folder: str) -> None:
    """Gives a worker a copy of its own to change; relative paths are in it from here on."""
    copy = Path(tempfile.mkdtemp(dir=folder)) / "copy"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache"))
    os.chdir(copy)


def _try(mutant: MutationSpec, tests: list[str], until: float) -> tuple[str, str] | None:
    """Changes this copy: a line about it, and the difference if no test noticed; None when it is too late."""
    if time.monotonic() > until:
        return None
    chosen = Path("tests.txt").resolve()
    chosen.write_text("\n".join(tests), encoding="utf-8")
    command = [*_PYTEST, "-x", f"@{chosen}"] if tests else ["true"]
    result = mutate_and_test([mutant], shlex.join(command), _SECONDS)
    failed = _FAILED.search(result.output or "")
    end = f"noticed by {failed[1] if failed else 'an end of all'}" if result.is_killed else "NOT NOTICED"
    place = f"{mutant.module_path}:{mutant.start_pos[0]} {mutant.operator_name.removeprefix('core/')}"
    return f"{place}: {end} ({len(tests)} tests)", "" if result.is_killed else str(result.diff)


if __name__ == "__main__":
    sys.exit(main())
