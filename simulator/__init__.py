"""The engine of a rehearsal. What adapters, judges and personas may import is listed in `__all__`.

Names are looked up when they are first used, so that importing one word loads one module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from simulator import metrics, multiple_choice, returned
    from simulator.bodies import ACCEPTED, PIECE, BodyError, unpacked
    from simulator.cache import close_to_others, private_file, private_folder
    from simulator.errors import InputError, RagFailure, Transient
    from simulator.exchange import client_words, http_client
    from simulator.find import user_object
    from simulator.hidden import is_telling
    from simulator.knowledge import read_knowledge
    from simulator.lexical import is_handover
    from simulator.passages import passages_of
    from simulator.patience import Notices
    from simulator.prompts import Texts
    from simulator.rates import wait_asked_for
    from simulator.specifics import Specific, located, specifics_of
    from simulator.threads import is_async, on_a_thread
    from simulator.traits import Traits, traits_of
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
    from simulator.typography import straight, straight_pattern

_HOME = {
    "BodyError": "bodies",
    "unpacked": "bodies",
    "ACCEPTED": "bodies",
    "PIECE": "bodies",
    "client_words": "exchange",
    "close_to_others": "cache",
    "private_file": "cache",
    "private_folder": "cache",
    "http_client": "exchange",
    "wait_asked_for": "rates",
    "Notices": "patience",
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
    "is_async": "threads",
    "is_handover": "lexical",
    "is_telling": "hidden",
    "located": "specifics",
    "metrics": "metrics",
    "multiple_choice": "multiple_choice",
    "on_a_thread": "threads",
    "passages_of": "passages",
    "returned": "returned",
    "read_knowledge": "knowledge",
    "straight": "typography",
    "straight_pattern": "typography",
    "specifics_of": "specifics",
    "RagFailure": "errors",
    "Traits": "traits",
    "Transient": "errors",
    "traits_of": "traits",
    "user_object": "find",
}

__all__ = [
    "ACCEPTED",
    "PIECE",
    "Answer",
    "BodyError",
    "Case",
    "Chat",
    "Embed",
    "Exhibit",
    "Fill",
    "InputError",
    "Message",
    "Notices",
    "Passage",
    "Query",
    "Rag",
    "RagFailure",
    "Score",
    "Specific",
    "Texts",
    "Traits",
    "Transient",
    "Turn",
    "Usage",
    "__version__",
    "client_words",
    "close_to_others",
    "http_client",
    "is_async",
    "is_handover",
    "is_telling",
    "located",
    "metrics",
    "multiple_choice",
    "on_a_thread",
    "passages_of",
    "private_file",
    "private_folder",
    "read_knowledge",
    "returned",
    "specifics_of",
    "straight",
    "straight_pattern",
    "traits_of",
    "unpacked",
    "user_object",
    "wait_asked_for",
]


def __getattr__(name: str) -> Any:
    """The public name `name`, from the module it lives in."""
    if name not in _HOME:
        msg = f"module 'simulator' has no attribute '{name}'"
        raise AttributeError(msg)
    home = import_module(f"simulator.{_HOME[name]}")
    return home if _HOME[name] == name else getattr(home, name)
