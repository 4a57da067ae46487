"""The tree is the architecture: imports go one way."""

import ast
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
# From the bottom up. A module may import from its own layer (without cycles) and from those below.
LAYERS = (
    (
        "types", "traits", "encodable", "compact", "errors", "given", "settings", "row_settings",
        "conditions", "money", "notation", "hidden", "typography",
    ),
    (
        "llm", "connections", "exchange", "bodies", "patience",
        "cache", "prompts", "store", "cases", "knowledge", "files", "replies", "limits",
        "repairs", "rates", "reading", "embedding", "spending", "allowance", "kept_answers",
        "endpoints", "providers", "user_code", "threads", "passages", "returned", "lexical", "counting",
        "verbatim", "mistypings", "typing_variation", "schema", "kinds", "votes", "verdicts", "metrics",
        "specifics", "multiple_choice", "redaction",
        "datasets", "overview", "messages",
    ),
    (
        "conversation", "users", "judging", "find", "guard", "rubrics", "offline", "opening", "scripts",
        "models", "grading", "masking", "outputs",
    ),
    (
        "cluster", "sizes", "amounts", "heard", "experience", "plan", "row_plan", "whose_bot", "stage",
        "experiment", "outcome", "regrading", "forecast", "calibration", "probes",
        "analysis", "reports", "review", "making", "customers", "blame", "fixes", "changes", "pairwise",
        "examination", "purging", "merging", "load",
        "prompting", "thresholds", "matrix", "harness", "contest",
    ),
    ("commands",),
)  # fmt: skip
# Heavy libraries, and the only places that may import them.
DOORS = {
    "openai": (
        "simulator/llm.py",
        "simulator/connections.py",
        "simulator/exchange.py",
        "rag_adapters/openai_chat.py",
    ),
    "langchain": ("simulator/providers.py", "rag_adapters/"),
    "langchain_core": ("simulator/providers.py", "rag_adapters/"),
    "faiss": ("rag_adapters/",),
    "dask": ("simulator/cluster/",),
    "distributed": ("simulator/cluster/",),
    "gspread": ("simulator/reports/sheets/",),
    "google": ("simulator/reports/sheets/",),
    "oauth2client": ("simulator/reports/sheets/",),
    "pandas": ("simulator/analysis/", "simulator/reports/"),
    "lm_eval": ("simulator/harness/",),
    "datasets": ("simulator/harness/",),
}
SHELVES = ("judges", "rag_adapters")


class Import(NamedTuple):
    """What is imported: a module and, after `from`, names of it; `top` when the module's own body says so."""

    module: str
    names: tuple[str, ...]
    top: bool


class Function(NamedTuple):
    name: str
    length: int
    documented: bool


class Module(NamedTuple):
    path: str
    lines: int
    imports: tuple[Import, ...]
    functions: tuple[Function, ...]


def modules(*folders: str) -> Iterator[Module]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield read(path)


@cache
def read(path: Path) -> Module:
    """What the tests ask of a module, kept: to parse them all takes a second, and their trees are large."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    top = {id(node) for node in tree.body}
    imported, functions = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [Import(alias.name, (), id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            imported.append(Import(node.module or "", names, id(node) in top))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.append(measured(node))
    return Module(path.relative_to(ROOT).as_posix(), text.count("\n"), tuple(imported), tuple(functions))


def measured(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    documented = bool(ast.get_docstring(node))
    body = node.body[1:] if documented else node.body
    length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
    return Function(node.name, length, documented)


def targets(imports: Iterable[Import]) -> Iterator[str]:
    """The modules imported, and under `from` also each name, which may be a module."""
    for each in imports:
        if each.module:
            yield each.module
            yield from (f"{each.module}.{name}" for name in each.names)


def layer(module: str) -> int:
    part = module.split(".")[1]
    return next(number for number, names in enumerate(LAYERS) if part in names)


def test_every_module_of_the_engine_has_a_layer() -> None:
    """A new module is placed deliberately."""
    placed = {name for names in LAYERS for name in names}
    found = {
        path.relative_to(ROOT / "simulator").parts[0].removesuffix(".py")
        for path in (ROOT / "simulator").rglob("*.py")
    }

    assert found - placed - {"__init__"} == set()


def test_imports_go_down_only() -> None:
    """No module imports from a layer above its own."""
    wrong = []
    for module in modules("simulator"):
        name = module.path.removesuffix(".py").replace("/", ".")
        if name == "simulator.__init__":
            continue
        for target in targets(module.imports):
            known = target.startswith("simulator.") and target.split(".")[1] in {
                n for names in LAYERS for n in names
            }
            if known and layer(target) > layer(name):
                wrong.append(f"{name} -> {target}")

    assert wrong == []


def test_nothing_inside_imports_the_package_root() -> None:
    """`simulator` re-exports; a part that imported it would make a cycle. Its version is data."""
    wrong = [
        module.path
        for module in modules("simulator")
        for each in module.imports
        if each.module == "simulator" and any(name[0].isupper() for name in each.names)
    ]

    assert wrong == []


def test_there_are_no_import_cycles() -> None:
    """Module-level imports inside the engine form no circle."""
    named = {
        module.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): module
        for module in modules("simulator")
    }
    edges = {
        name: {t for t in targets(each for each in module.imports if each.top) if t in named}
        - {name, "simulator"}
        for name, module in named.items()
    }
    walked: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        for target in edges[name] - walked:
            walk(target, (*path, name))
        walked.add(name)

    for name in edges:
        walk(name, ())


def test_shelves_import_only_the_public_names() -> None:
    """Judges and adapters see `simulator` and nothing inside it."""
    wrong = [
        f"{module.path} -> {each.module}"
        for module in modules(*SHELVES)
        for each in module.imports
        if each.module.startswith("simulator.")
    ]

    assert wrong == []


def test_heavy_libraries_are_imported_only_at_their_doors() -> None:
    """openai, langchain, faiss, gspread and pandas each have one place."""
    wrong = [
        f"{module.path} -> {target}"
        for module in modules("simulator", *SHELVES)
        for target in targets(module.imports)
        if (doors := DOORS.get(target.split(".")[0])) and not module.path.startswith(doors)
    ]

    assert wrong == []


def test_every_public_name_is_there() -> None:
    """`simulator.__all__` holds no name that cannot be imported."""
    import simulator

    for name in simulator.__all__:
        assert getattr(simulator, name) is not None
    with pytest.raises(AttributeError):
        simulator.nothing  # noqa: B018


def test_every_test_says_what_is_expected() -> None:
    """Each test function has a docstring."""
    wrong = [
        f"{module.path}: {function.name}"
        for module in modules("tests")
        for function in module.functions
        if function.name.startswith("test_") and not function.documented
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
