"""The tree is the architecture: one table says who may import whom, and imports inside functions count."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from scripts import house

ROOT = Path(__file__).resolve().parent.parent
# From the top down. A package imports those on lower floors, and none on its own; nor does a
# room of the lab import another; nothing imports the lab: `plugins` finds its rooms. Their commands stand
# above the command line, whose options they take; the rest of a room (`rooms`) stands below it.
# Within a package imports go one way, too. What each package is for: docs/architecture.md.
FLOORS = (
    ("lab",),
    ("__main__", "pytest_plugin"),
    ("cli",),
    ("web",),
    ("api",),
    ("rooms",),
    ("plugins",),
    ("testset",),
    ("report",),
    ("results",),
    ("runner",),
    ("extending",),
    ("users", "grading"),
    ("sheets", "storage"),
    ("privacy", "cases", "models"),
    ("text",),
    ("core",),
    ("shelves",),
)
# Imports that still point the wrong way, as `module -> module`. The list may only shrink.
WRONG: frozenset[str] = frozenset(())
# How modules hang together, everything counted (scripts/house.py): what may only fall. Whoever makes one
# smaller writes the smaller number here.
CEILINGS = {
    "longest_chain": 22,
    "package_cycles": 0,
    "module_cycles": 0,
    "own_imports_as_strings": 0,
    "own_names_joined": 2,
    "own_names_in_toml": 2,  # of pyproject.toml: the command, and the plugin of pytest
}
# Our own modules that functions import, and how many in each module; elsewhere imports stand at the top.
# What comes with them takes longer than all that a page of help, or a run without a workbook, does.
IN_FUNCTIONS = {
    "simulator.api": 8,  # the engine and the reports, by the first call
    "simulator.lab.dask.driver": 1,  # sent as code
    "simulator.cli.evaluate": 1,  # the engine
    "simulator.lab.harness.command": 1,  # lm_eval
    "simulator.api.run": 2,  # the reports, and what is asked when all is graded
    "simulator.cli.app": 2,  # what reads settings, keys and the cache where something is wrong
    "simulator.cli.run_or_resume": 2,  # the reports, and what shows a forecast
    "simulator.cli.simulate": 1,
    "simulator.cases.workbooks": 2,  # openpyxl
}
# Calls that load a module by its name, `__getattr__` of a module: the only modules with any, and how many.
LOADERS = {
    "simulator.cli.app": 1,  # the table of commands
    "simulator.plugins": 4,  # rooms of the lab, packages of third parties
    "simulator.core.loading": 4,  # users' own code, and the shelves'
    "rag_adapters._host": 3,  # the same in the interpreter of a user's bot, which has none of our modules
}
# Heavy libraries, and the only places that may import them.
DOORS = {
    "openai": ("simulator/models/", "simulator/lab/export/batch.py", "rag_adapters/openai_chat.py"),
    "langchain": ("simulator/models/providers.py", "rag_adapters/"),
    "langchain_core": ("simulator/models/providers.py", "rag_adapters/"),
    "faiss": ("rag_adapters/",),
    "dask": ("simulator/lab/dask/",),
    "distributed": ("simulator/lab/dask/",),
    "gspread": ("simulator/sheets/",),
    "google": ("simulator/sheets/",),
    "oauth2client": ("simulator/sheets/",),
    "pandas": ("simulator/core/types.py", "simulator/lab/matrix/figures.py"),
    "lm_eval": ("simulator/lab/harness/",),
    "datasets": ("simulator/lab/harness/",),
}
SHELVES = ("judges", "rag_adapters")


class Import(NamedTuple):
    """An imported module, with the name taken from it, if any; `inside` a function or at the top."""

    module: str
    name: str
    inside: bool


class Module(NamedTuple):
    """A file of the engine as the tests see it; imports for type checkers alone are left out."""

    name: str
    path: str
    imports: tuple[Import, ...]
    functions: tuple[tuple[str, bool], ...]


def modules(*folders: str) -> Iterator[Module]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield read(path)


@cache
def parsed() -> dict[Path, ast.Module]:
    return {source.path: source.tree for source in house.sources().values()}


@cache
def read(path: Path) -> Module:
    """What the tests ask of a file, kept: to parse them all takes a second."""
    tree = parsed().get(path) or ast.parse(path.read_text(encoding="utf-8"))
    place = path.relative_to(ROOT)
    name = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
    found: list[Import] = []
    functions: list[tuple[str, bool]] = []

    def look(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.expr) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        ):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.append((node.name, bool(ast.get_docstring(node))))
            inside = True
        elif isinstance(node, ast.Import):
            found.extend(Import(alias.name, "", inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name.split(".")[: None if path.name == "__init__.py" else -1]
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            found.extend(Import(base, alias.name, inside) for alias in node.names)
        for child in ast.iter_child_nodes(node):
            look(child, inside)

    look(tree, False)
    return Module(name, place.as_posix(), tuple(found), tuple(functions))


@cache
def engine() -> Mapping[str, Module]:
    """The modules of simulator/ by name; the root, which re-exports, stands above all floors."""
    return {module.name: module for module in modules("simulator") if module.name != "simulator"}


def imported(module: Module, *, inside: bool = True) -> set[str]:
    """The modules of the engine that this one imports, those that functions import only if `inside`."""
    known = engine()
    found = set()
    for each in module.imports:
        if each.inside and not inside:
            continue
        whole = f"{each.module}.{each.name}"
        target = whole if whole in known else each.module
        if target in known and target != module.name:
            found.add(target)
    return found


def package(module: str) -> str:
    """`simulator.results.gate` is of `results`, `simulator.lab.load.pace` of `lab.load`."""
    parts = module.split(".")
    return ".".join(parts[1:3]) if parts[1] == "lab" and len(parts) > 2 else parts[1]


def floor(module: str) -> int:
    top = module.split(".")[1]
    if top == "lab" and not module.endswith((".command", ".plugin")):
        top = "rooms"
    return next(number for number, packages in enumerate(FLOORS) if top in packages)


def circle(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """Names of which each reaches the next, and the last is the first; none where there is no circle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as found:
        names: list[str] = found.args[1]
        return names
    return []


def test_painters_import_core_alone() -> None:
    """They draw finished values: a cause, a gate or a mean cannot be computed where none can be imported."""
    painters = "simulator.report.painters"
    found = {
        f"{module.name} -> {target}"
        for module in engine().values()
        if module.name.startswith(painters)
        for target in imported(module)
        if not target.startswith(("simulator.core", painters))
    }

    assert found == set()


def test_every_package_has_a_floor() -> None:
    """A new package is placed deliberately."""
    placed = {name for packages in FLOORS for name in packages}

    assert {module.split(".")[1] for module in engine()} | {"lab", "rooms"} == placed


def test_imports_go_down_only() -> None:
    """No module imports from its own floor or one above, but within its package; functions count."""
    wrong = {
        f"{name} -> {target}"
        for name, module in engine().items()
        for target in imported(module)
        if package(name) != package(target) and floor(target) <= floor(name)
    }

    assert wrong - WRONG == set(), "these point the wrong way"
    assert WRONG - wrong == set(), "these are gone: take them off the list"


def test_packages_form_no_circle() -> None:
    """No package reaches itself through others, not even through an import inside a function."""
    edges: dict[str, set[str]] = {}
    for name, module in engine().items():
        edges.setdefault(package(name), set()).update(map(package, imported(module)))

    assert circle({name: targets - {name} for name, targets in edges.items()}) == []


def test_modules_form_no_circle() -> None:
    """No module reaches itself, not even through an import inside a function."""
    assert circle({name: imported(module) for name, module in engine().items()}) == []


@pytest.mark.parametrize("figure", CEILINGS)
def test_what_loads_modules_may_only_become_less(figure: str) -> None:
    """Chains, circles, imports in functions, and our modules as texts, however these are written."""
    assert house.hanging()[figure] <= CEILINGS[figure]


def test_modules_are_loaded_by_name_in_few_places() -> None:
    """No other module calls import_module, exec and the like, and none of these more often."""
    found = {
        name: calls.total() for name, source in house.sources().items() if (calls := house.doors(source))
    }

    assert {name: n for name, n in found.items() if n > LOADERS.get(name, 0)} == {}


def test_functions_import_ours_in_few_places() -> None:
    """An import at the top tells what a module needs; those in functions may only become fewer."""
    found = {
        name: sum(each.inside for each in house.imports(source)) for name, source in house.sources().items()
    }

    assert {name: n for name, n in found.items() if n > IN_FUNCTIONS.get(name, 0)} == {}


@pytest.mark.parametrize(("text", "strings", "joined", "calls"), [
    ("import simulator.results.gate", 0, 0, 0),
    ("X = 'simulator.results.gate'", 1, 0, 0),
    ("X = {'results.gate': 'decide'}", 1, 0, 0),
    ("X = ['core.types:Answer', 'simulator.results.gate:decide']", 2, 0, 0),
    ("X = f'simulator.cli.{__name__}'", 0, 1, 0),
    ("X = 'simulator.' + __name__", 0, 1, 0),
    ("def x():\n    'simulator.results.gate'", 0, 0, 0),
    ("X = 'The simulator. The gate, 2.5 USD, report.html'", 0, 0, 0),
    ("from importlib import import_module as get\nget('x')", 0, 0, 1),
    ("import importlib\nimportlib.import_module('x')\n__import__('x')\nexec('x')", 0, 0, 3),
    ("from importlib.metadata import entry_points\n[e.load() for e in entry_points()]", 0, 0, 2),
    ("from asyncio import run\nfrom importlib import import_module\nrun(import_module, 'x')", 0, 0, 1),
    ("def __getattr__(name): ...", 0, 0, 1),
    ("class X:\n    def __getattr__(self, name): ...", 0, 0, 0),
    ("import json\njson.load(open('x'))", 0, 0, 0),
])  # fmt: skip
def test_nothing_that_loads_a_module_goes_uncounted(text: str, strings: int, joined: int, calls: int) -> None:
    """Whichever way it is written; docstrings, prose and a JSON file load none."""
    source = house.Source("simulator.new", ROOT / "simulator" / "new.py", text, ast.parse(text))

    found = (len(house.named(source)), house.joined(source), house.doors(source).total())
    assert found == (strings, joined, calls)


def test_every_module_has_a_room() -> None:
    """The table names each, by itself or with what stands around it, and nothing that is not there."""
    rooms = house.rooms()
    homeless = {name for name, room in rooms.items() if not room and house.code(house.sources()[name])}
    table = tomllib.loads(house.ROOMS.read_text(encoding="utf-8"))
    listed = [
        *table["gone"],
        *(n for part in ("core", "lab") for names in table[part].values() for n in names),
    ]

    if not house.ROOT.joinpath("simulator", "lab").is_dir():  # the core without it
        listed = [name for name in listed if not name.startswith(house.LAB)]

    assert homeless == set()
    assert [name for name in listed if not any(f"{each}.".startswith(f"{name}.") for each in rooms)] == []
    assert len(listed) == len(set(listed))


def test_nothing_inside_imports_the_package_root() -> None:
    """`simulator` re-exports; a part that imported it would make a circle. Its version is data."""
    wrong = [
        module.path
        for module in engine().values()
        for each in module.imports
        if each.module == "simulator" and each.name[:1].isupper()
    ]

    assert wrong == []


def test_shelves_import_what_is_meant_for_them() -> None:
    """Judges and adapters see `simulator.extending`, and nothing else inside."""
    wrong = [
        f"{module.path} -> {each.module}"
        for module in modules(*SHELVES)
        for each in module.imports
        if each.module.partition(".")[0] == "simulator" and each.module != "simulator.extending"
    ]

    assert wrong == []


def test_heavy_libraries_are_imported_only_at_their_doors() -> None:
    """openai, langchain, faiss, gspread and pandas each have their place."""
    wrong = [
        f"{module.path} -> {each.module}"
        for module in modules("simulator", *SHELVES)
        for each in module.imports
        if (doors := DOORS.get(each.module.split(".")[0])) and not module.path.startswith(doors)
    ]

    assert wrong == []


def test_the_public_names_are_what_the_package_shows() -> None:
    """`dir(simulator)` shows each, and no module."""
    import simulator

    assert dir(simulator) == sorted(simulator.__all__)
    assert all(getattr(simulator, name) is not None for name in simulator.__all__)


def test_importing_one_public_name_loads_no_engine() -> None:
    """The engine is loaded by the first call: a bot that returns an Answer does not wait for it."""
    code = "import simulator, sys; print(*(name for name in sys.modules if name.startswith('simulator.')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    # What a plug-in may offer: no judge, and no reader.
    offered = {"simulator.grading", "simulator.grading.offered", "simulator.cases", "simulator.cases.formats"}
    offered |= {"simulator.results", "simulator.results.offered"}
    loaded = {name.split(".")[1] for name in {*done.stdout.split()} - offered}
    assert loaded <= {"api", "core", "plugins", "shelves"}
    assert not {"simulator.api.run", "simulator.models.client"} & set(done.stdout.split())


def test_every_test_says_what_is_expected() -> None:
    """Each test function has a docstring."""
    wrong = [
        f"{module.path}: {name}"
        for module in modules("tests")
        for name, documented in module.functions
        if name.startswith("test_") and not documented
    ]

    assert wrong == []


def committed() -> list[Path]:
    """Every file that is, or is about to be, in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_committed_files_name_no_registry_and_no_machine() -> None:
    """Lock file, code and docs name no registry host and no path of a machine."""
    hosts = ("pypi" + ".org", "python" + "hosted", "registry.npm" + "js", "/ro" + "ot/", "/wo" + "rk/")
    wrong = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in committed()
        for text in [path.read_text(encoding="utf-8", errors="replace")]
        for host in hosts
        if host in text
    ]

    assert wrong == []


# They say something to whoever sits at the terminal.
SAYING = frozenset({"write", "writelines", "print", "say", "echo"})
MAKING = frozenset({"_", "ngettext", "pgettext"})
# What programmers are told: whoever calls a function wrongly, or reads a traceback.
UNTOLD = frozenset({
    "AssertionError", "AttributeError", "KeyError", "NotImplementedError", "TypeError", "UnicodeDecodeError",
})  # fmt: skip
WORD = re.compile(r"(?<!\S)[A-Za-z]{2,}[.,:;]?(?!\S)")


def test_every_sentence_that_is_said_is_a_message() -> None:
    """English words that are written, printed, said or raised can be translated: they stand in `_(...)`."""
    # run.py says one sentence, in both languages.
    program = [source for source in house.sources().values() if source.name.startswith("simulator")]
    plain = {
        f"{source.name}:{line}": text
        for source in program
        for line, text in _said(source.tree)
        if len(WORD.findall(text)) > 1
    }

    assert len(program) > 100
    assert plain == {}


def _said(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts, and the parts of f-strings, that are said as they stand, with the lines they begin on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in SAYING:
            yield from _texts(*node.args)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            if _name(node.exc.func) not in UNTOLD:
                yield from _texts(*node.exc.args)
        elif isinstance(node, ast.Assign) and any(getattr(to, "id", "") == "msg" for to in node.targets):
            yield from _texts(node.value)


def _texts(*nodes: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Call) and _name(node.func) in MAKING:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        yield from _texts(*ast.iter_child_nodes(node))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
