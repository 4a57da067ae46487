"""The engine of a rehearsal. What adapters, judges and personas may import is listed in `__all__`.

Names are looked up when they are first used, so that importing one word loads one module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from simulator.errors import InputError, RagFailure
    from simulator.knowledge import read_knowledge
    from simulator.types import (
        Answer,
        Case,
        Chat,
        Embed,
        Exhibit,
        Message,
        Passage,
        Query,
        Rag,
        Score,
        Turn,
        Usage,
    )
    from simulator.user_code import module_of_file, search_first

_HOME = {
    "Answer": "types",
    "Case": "types",
    "Chat": "types",
    "Embed": "types",
    "Exhibit": "types",
    "Message": "types",
    "Passage": "types",
    "Query": "types",
    "Rag": "types",
    "Score": "types",
    "Turn": "types",
    "Usage": "types",
    "InputError": "errors",
    "read_knowledge": "knowledge",
    "module_of_file": "user_code",
    "search_first": "user_code",
    "RagFailure": "errors",
}

__all__ = [
    "Answer",
    "Case",
    "Chat",
    "Embed",
    "Exhibit",
    "InputError",
    "Message",
    "Passage",
    "Query",
    "Rag",
    "RagFailure",
    "Score",
    "Turn",
    "Usage",
    "__version__",
    "module_of_file",
    "read_knowledge",
    "search_first",
]


def __getattr__(name: str) -> Any:
    """The public name `name`, from the module it lives in."""
    if name not in _HOME:
        msg = f"module 'simulator' has no attribute '{name}'"
        raise AttributeError(msg)
    return getattr(import_module(f"simulator.{_HOME[name]}"), name)
