"""The engine of a rehearsal. What adapters, judges and personas may import is listed in `__all__`.

Names are looked up when they are first used, so that importing one word loads one module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from simulator import metrics, multiple_choice
    from simulator.errors import InputError, RagFailure
    from simulator.knowledge import read_knowledge
    from simulator.lexical import is_handover
    from simulator.prompts import Texts
    from simulator.specifics import Specific, located, specifics_of
    from simulator.types import (
        Answer,
        Case,
        Chat,
        Embed,
        Exhibit,
        Fill,
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
    "Fill": "types",
    "Message": "types",
    "Passage": "types",
    "Query": "types",
    "Rag": "types",
    "Score": "types",
    "Turn": "types",
    "Usage": "types",
    "InputError": "errors",
    "Texts": "prompts",
    "Specific": "specifics",
    "is_handover": "lexical",
    "located": "specifics",
    "metrics": "metrics",
    "multiple_choice": "multiple_choice",
    "read_knowledge": "knowledge",
    "module_of_file": "user_code",
    "search_first": "user_code",
    "specifics_of": "specifics",
    "RagFailure": "errors",
}

__all__ = [
    "Answer",
    "Case",
    "Chat",
    "Embed",
    "Exhibit",
    "Fill",
    "InputError",
    "Message",
    "Passage",
    "Query",
    "Rag",
    "RagFailure",
    "Score",
    "Specific",
    "Texts",
    "Turn",
    "Usage",
    "__version__",
    "is_handover",
    "located",
    "metrics",
    "module_of_file",
    "multiple_choice",
    "read_knowledge",
    "search_first",
    "specifics_of",
]


def __getattr__(name: str) -> Any:
    """The public name `name`, from the module it lives in."""
    if name not in _HOME:
        msg = f"module 'simulator' has no attribute '{name}'"
        raise AttributeError(msg)
    home = import_module(f"simulator.{_HOME[name]}")
    return home if _HOME[name] == name else getattr(home, name)
