"""The tree is the architecture: imports go one way, files and functions stay small."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# From the bottom up. A module may import from its own layer (without cycles) and from those below.
LAYERS = (
    (
        "types", "encodable", "compact", "errors", "given", "settings", "row_settings", "conditions", "money",
        "notation", "hidden",
    ),
    (
        "llm", "connections", "cache", "prompts", "store", "cases", "knowledge", "files", "replies", "limits",
        "rates", "reading", "embedding", "spending", "allowance", "kept_answers",
        "endpoints", "providers", "user_code", "lexical", "counting", "verbatim",
        "mistypings", "typing_variation", "schema", "kinds", "votes", "metrics", "specifics", "redaction",
        "multiple_choice",
        "datasets", "overview",
    ),
    (
        "conversation", "users", "judging", "find", "guard", "rubrics", "offline", "opening", "scripts",
        "models", "grading", "masking", "outputs",
    ),
    (
        "cluster", "sizes", "amounts", "experience", "plan", "row_plan", "stage", "experiment", "outcome",
        "regrading", "forecast", "calibration", "probes",
        "analysis", "reports", "review", "making", "customers", "blame", "fixes", "changes", "pairwise",
        "examination", "purging", "merging", "load",
        "prompting", "thresholds", "matrix", "harness", "contest",
    ),
    ("commands",),
)  # fmt: skip
# Heavy libraries, and the only places that may import them.
DOORS = {
    "openai": ("simulator/llm.py", "simulator/connections.py", "rag_adapters/openai_chat.py"),
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


def modules(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


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
    for path, tree in modules("simulator"):
        name = path.removesuffix(".py").replace("/", ".")
        if name == "simulator.__init__":
            continue
        for target in imports(tree):
            known = target.startswith("simulator.") and target.split(".")[1] in {
                n for names in LAYERS for n in names
            }
            if known and layer(target) > layer(name):
                wrong.append(f"{name} -> {target}")

    assert wrong == []


def test_nothing_inside_imports_the_package_root() -> None:
    """`simulator` re-exports; a part that imported it would make a cycle. Its version is data."""
    wrong = [
        path
        for path, tree in modules("simulator")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "simulator"
        and any(alias.name[0].isupper() for alias in node.names)
    ]

    assert wrong == []


def test_there_are_no_import_cycles() -> None:
    """Module-level imports inside the engine form no circle."""
    edges: dict[str, set[str]] = {}
    known = {
        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for path, _ in modules("simulator")
    }
    for path, tree in modules("simulator"):
        name = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        top = ast.Module(
            body=[n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))], type_ignores=[]
        )
        edges[name] = {t for t in imports(top) if t in known and t != "simulator"} - {name}

    def walk(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        for target in edges[name]:
            walk(target, (*path, name))

    for name in edges:
        walk(name, ())


def test_shelves_import_only_the_public_names() -> None:
    """Judges and adapters see `simulator` and nothing inside it."""
    wrong = [
        f"{path} -> {target}"
        for path, tree in modules(*SHELVES)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for target in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
        if target.startswith("simulator.")
    ]

    assert wrong == []


def test_heavy_libraries_are_imported_only_at_their_doors() -> None:
    """openai, langchain, faiss, gspread and pandas each have one place."""
    wrong = [
        f"{path} -> {target}"
        for path, tree in modules("simulator", *SHELVES)
        for target in imports(tree)
        if (doors := DOORS.get(target.split(".")[0])) and not path.startswith(doors)
    ]

    assert wrong == []


def test_every_public_name_is_there() -> None:
    """`simulator.__all__` holds no name that cannot be imported."""
    import simulator

    for name in simulator.__all__:
        assert getattr(simulator, name) is not None
    with pytest.raises(AttributeError):
        simulator.nothing  # noqa: B018


def test_files_and_functions_stay_small() -> None:
    """No file over 400 lines, no function over 60, median function at most 8 lines."""
    lengths, wrong = [], []
    for path, tree in modules("simulator", *SHELVES, "tests", "benchmarks"):
        lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
        wrong += [f"{path}: {lines} lines"] if lines > 400 else []
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                wrong += [f"{path}: {node.name} has {length} lines"] if length > 60 else []
                lengths += [length] if not path.startswith(("tests", "benchmarks")) else []

    assert wrong == []
    assert sorted(lengths)[len(lengths) // 2] <= 8
    assert sorted(lengths)[int(len(lengths) * 0.9)] <= 30


def test_every_test_says_what_is_expected() -> None:
    """Each test function has a docstring."""
    wrong = [
        f"{path}: {node.name}"
        for path, tree in modules("tests")
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
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


def test_help_imports_no_heavy_library() -> None:
    """`run.py --help` starts without openai, langchain, faiss, pandas, numpy or jinja2."""
    heavy = ["openai", "langchain", "langchain_core", "faiss", "pandas", "numpy", "jinja2", "gspread"]
    script = (
        "import sys; sys.argv = ['run.py', '--help']; sys.path.insert(0, '.');"
        "from simulator.commands.app import main; main(['--help']);"
        f"sys.exit(','.join(m for m in {heavy!r} if m in sys.modules) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
