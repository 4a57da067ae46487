"""The world of a test: an empty folder, a clean environment, no network but loopback."""

import gc
import os
import pickle
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core import messages, shelves
from simulator.core.secrets import is_secret
from tests.commands import Command, Done
from tests.servers.openai import OpenAIServer, serve

# Pages and terminals tell the time of the machine's own zone: in tests it is the same everywhere.
os.environ["TZ"] = "UTC"
# Messages are English here, whatever the machine speaks; tests of the Japanese ones say so.
os.environ["LC_ALL"] = "C.UTF-8"
if hasattr(time, "tzset"):
    time.tzset()
# A shell starts what is to run in the background without Ctrl-C, and with it all that this process starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Nobody outside is asked, so nobody is trusted: to read a hundred authorities takes each client 10 ms.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
# NLTK brings a package with which openpyxl reads XML slowly: whoever installs the program does not have it.
os.environ["OPENPYXL_DEFUSEDXML"] = "False"
# Each run is a SQLite file, and on a disk each of its commits waits for the disk: in memory all goes faster.
_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder in it that only this user can read
if _MEMORY.is_dir() and not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC and disk_usage(_MEMORY).free > 2e9:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# NLTK takes these along if they are there, a second for each worker, and no test asks it for what needs them.
NOT_FOR_NLTK = ("scipy", "sklearn")
# To look for garbage after each 700 objects takes a tenth of the time of tests that write workbooks.
GARBAGE = 20_000

_NUMBERS = count()
_LEFT_EMPTY: list[Path] = []


def read_once(loads: Callable[..., Any]) -> Callable[..., Any]:
    """Parses a text once, and unpacks a copy for whoever asks for it again.

    Every run reads the same dozen TOML files, which takes a tenth of a short one.
    """
    packed = lru_cache(256)(lambda *text, **options: pickle.dumps(loads(*text, **options)))
    return lambda *text, **options: pickle.loads(packed(*text, **options))  # noqa: S301 - packed here


tomllib.loads = read_once(tomllib.loads)


def pytest_configure(config: pytest.Config) -> None:
    """Says how hard properties are tried; who only hands out tests to workers need not know."""
    if not config.getoption("numprocesses", None):
        from tests.properties import load_profile

        load_profile()


def pytest_collection() -> None:
    """Thousands of tests and all that they import: nothing of it is ever garbage, and it is compiled once."""
    gc.disable()
    sys.dont_write_bytecode = False
    sys.modules.update(dict.fromkeys(NOT_FOR_NLTK))  # type: ignore[arg-type]


# Tests of the core that show the program as a whole, with commands of the lab: help, guides, catalogues.
OF_THE_LAB = {
    "tests/cli/test_command_line.py": ("test_an_option_that_means_something_else_here_says_so",),
    "tests/cases/test_damaged_logs.py": (
        "test_lines_that_cannot_be_read_are_counted_and_named[calibrate]",
        "test_a_log_that_was_cut_off_is_refused[calibrate",
    ),
    "tests/cases/test_log_tables.py": ("test_where_columns_cannot_be_named",),
    "tests/cli/test_dataset_pages.py": ("",),
    "tests/cli/test_evaluate.py": (
        "test_judges_fit_the_data[more5-label]", "test_judges_fit_the_data[more6-choice]",
    ),
    "tests/cli/test_list.py": ("test_the_list_is_as",),
    "tests/cli/test_help.py": (
        "test_lines_fit", "test_a_page_names_every", "test_a_group_alone",
        "test_every_command_can_print_json",
    ),
    "tests/core/test_catalogues.py": ("test_every_sentence_of_the_source",),
    "tests/core/test_settings.py": ("test_the_reference_says",),
    "tests/grading/test_one_file.py": ("test_the_list_and_the_reference",),
    "tests/report/test_fixing_pages.py": ("",),
    "tests/runner/test_plan.py": tuple(
        f'test_what_the_bot_is_not_shown_and_what_is_not_compared_is_said["{column}"'
        for column in ("choices", "label")
    ),
    "tests/runner/test_prompted_runs.py": ("",),
    "tests/runner/test_bot_choice.py": ("test_lm_eval_asks_no_bot_unsaid",),
    "tests/results/review/test_review.py": ("test_labels_go_to_calibrate",),
    "tests/results/test_simulators.py": ("test_where_one_customer_plays_one_model_is_named",),
    "tests/test_api.py": (
        "test_it_works_within_an_event_loop", "test_recorded_answers_are_compared",
        "test_settings_of_the_lab",
    ),
    "tests/test_pages.py": ("test_every_command_is_one",),
    "tests/test_schemas.py": ("test_they_are_those_of_the_program",),
    "tests/test_seed_systems.py": (
        "test_prompts_by_id_times_data_sets_times_models", "test_a_task_file_of_the_harness",
        "test_multiple_choice_has", "test_each_key_of_an_answer_has", "test_classification_by_few_shots",
    ),
}  # fmt: skip


# The files that take longest, by how long: one that came last would run alone, with all other cores idle.
LONGEST = (
    "tests/web/test_open.py", "tests/test_seed_systems.py", "tests/sheets/test_weeks.py",
    "tests/report/test_browser.py", "tests/lab/dask/test_runs.py", "tests/cases/test_hostile_files.py",
    "tests/runner/test_outage.py", "tests/test_api.py", "tests/cli/test_command_line.py",
    "tests/lab/export/test_batch.py", "tests/runner/test_budget.py", "tests/web/test_both_ways.py",
    "tests/test_packaging.py", "tests/test_plugins.py", "tests/results/review/test_team.py",
    "tests/cli/test_dataset_pages.py", "tests/cli/test_story.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, all others in the order of their folders.

    A checkout without the lab (scripts/without-lab) leaves out what types its commands.
    """
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(place)))
    if (shelves.ROOT / "simulator" / "lab").is_dir():
        return
    for item in items:
        beginnings = OF_THE_LAB.get(item.nodeid.partition("::")[0], ())
        if item.name.startswith(beginnings):
            item.add_marker(pytest.mark.skip(reason="types commands of the lab"))


def pytest_collection_finish() -> None:
    """To look through it for cycles, again and again, would take seconds."""
    gc.freeze()
    gc.set_threshold(GARBAGE)
    gc.enable()
    for name in NOT_FOR_NLTK:
        del sys.modules[name]
    sys.dont_write_bytecode = True  # a test writes a bot twice in a second: what is compiled would be stale


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder, kept when its test fails.

    Most tests write nothing: their folder is the next test's, which spares making and removing thousands.
    """
    if _LEFT_EMPTY:
        folder = _LEFT_EMPTY.pop()
    else:
        folder = tmp_path_factory.getbasetemp() / f"test-{next(_NUMBERS)}"
        folder.mkdir(0o700)
    failed = request.session.testsfailed
    yield folder
    if folder.is_dir() and not any(folder.iterdir()):
        _LEFT_EMPTY.append(folder)
    elif request.session.testsfailed == failed:
        rmtree(folder, ignore_errors=True)


@cache
def _is_of_this_machine(name: str) -> bool:
    """Whether a variable of the environment is a secret, or tells the program what to do."""
    told = name.startswith(("REHEARSAL_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_"))
    return told or name.upper().endswith("_PROXY") or is_secret(name)


@pytest.fixture(autouse=True)
def clean_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test stands in a folder of its own, without secrets, endpoints or caches of this machine."""
    for name in list(os.environ):
        if _is_of_this_machine(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(messages, "_called", messages.CHECKOUT)  # a Python call says it for the process
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return shelves.ROOT


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[None]:
    """What a test brings into the process goes again."""
    before, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    sys.path[:] = path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command line in this process, where the test stands."""

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        return Done(main(arguments), *capsys.readouterr())

    return run


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """The fake endpoint, configured for every role."""
    with serve() as started:
        monkeypatch.setenv("OPENAI_BASE_URL", started.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield started
