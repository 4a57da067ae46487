"""What must be the same here and on every worker, so that a grade is the same wherever it is made."""

import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from contextlib import suppress

from simulator import __version__
from simulator.cluster import ROOT

# All that a run notes of itself, and what carries it to the workers.
COMPARED = ("openai", "langchain-core", "faiss-cpu", "pydantic", "numpy", "dask", "distributed")
# The folders that make up the program; two copies of it are the same when all of this is.
_PROGRAM = ("simulator", "judges", "personas", "rag_adapters", "demo")
_SUFFIXES = (".py", ".toml")


def about() -> dict[str, str]:
    """Versions of Python, of this program and of packages, and a hash of the program's own files."""
    found = {"rehearsal": __version__, "python": ".".join(platform.python_version_tuple()[:2])}
    for package in COMPARED:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found | {"program": _program()}


def _program() -> str:
    """Read anew each time: desks start from the files as they are, however long their worker has run."""
    files = (path for folder in _PROGRAM for path in (ROOT / folder).rglob("*"))
    known = sorted(path for path in files if path.suffix in _SUFFIXES and path.is_file())
    digest = hashlib.sha256()
    for path in known:
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """The first thing that is not the same, in words; None when all is."""
    for name, version in here.items():
        found = there.get(name, "none")
        if found != version and name == "program":
            return "its copy of the program has other files than this one"
        if found != version:
            return f"it has {name} {found}, this machine {version}"
    return None
