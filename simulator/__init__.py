"""The engine of a rehearsal. What adapters, judges and personas may import is listed in `__all__`.

Names are looked up when they are first used, so that importing one word loads one module.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from simulator.core import answers as returned
    from simulator.core.answers import passages_of
    from simulator.core.bodies import ACCEPTED, PIECE, BodyError, unpacked
    from simulator.core.concurrency import is_async, on_a_thread
    from simulator.core.errors import BotFailure, InputError, Transient, value_problem
    from simulator.core.messages import Message as Sentence
    from simulator.core.messages import _, changed, message_of, ngettext, say, sentences
    from simulator.core.secrets import is_telling
    from simulator.core.shelves import user_object
    from simulator.core.templates import Texts
    from simulator.core.types import (
        Answer,
        Bot,
        Case,
        Chat,
        Embed,
        Fill,
        GradingContext,
        Message,
        Passage,
        Query,
        Score,
        Traits,
        Turn,
        Usage,
        traits_of,
    )
    from simulator.data.knowledge import read_knowledge
    from simulator.models.cache import close_to_others, private_file, private_folder
    from simulator.models.exchange import client_words, http_client
    from simulator.models.limiter import wait_asked_for
    from simulator.models.patience import Notices
    from simulator.text import choices as multiple_choice
    from simulator.text import metrics
    from simulator.text.acts import is_handover
    from simulator.text.entities import Specific, located, specifics_of
    from simulator.text.typography import straight, straight_pattern

# Public names that are modules.
_MODULES = frozenset({"metrics", "multiple_choice", "returned"})
_HOME = {
    "BodyError": "core.bodies",
    "unpacked": "core.bodies",
    "ACCEPTED": "core.bodies",
    "PIECE": "core.bodies",
    "client_words": "models.exchange",
    "close_to_others": "models.cache",
    "private_file": "models.cache",
    "private_folder": "models.cache",
    "http_client": "models.exchange",
    "wait_asked_for": "models.limiter",
    "Notices": "models.patience",
    "Answer": "core.types",
    "Case": "core.types",
    "Chat": "core.types",
    "Embed": "core.types",
    "GradingContext": "core.types",
    "Fill": "core.types",
    "Message": "core.types",
    "Passage": "core.types",
    "Query": "core.types",
    "Bot": "core.types",
    "Score": "core.types",
    "Turn": "core.types",
    "Usage": "core.types",
    "InputError": "core.errors",
    "value_problem": "core.errors",
    "Sentence": "core.messages",
    "_": "core.messages",
    "changed": "core.messages",
    "message_of": "core.messages",
    "ngettext": "core.messages",
    "say": "core.messages",
    "sentences": "core.messages",
    "Texts": "core.templates",
    "Specific": "text.entities",
    "is_async": "core.concurrency",
    "is_handover": "text.acts",
    "is_telling": "core.secrets",
    "located": "text.entities",
    "metrics": "text.metrics",
    "multiple_choice": "text.choices",
    "on_a_thread": "core.concurrency",
    "passages_of": "core.answers",
    "returned": "core.answers",
    "read_knowledge": "data.knowledge",
    "straight": "text.typography",
    "straight_pattern": "text.typography",
    "specifics_of": "text.entities",
    "BotFailure": "core.errors",
    "Traits": "core.types",
    "Transient": "core.errors",
    "traits_of": "core.types",
    "user_object": "core.shelves",
}

__all__ = [
    "ACCEPTED",
    "PIECE",
    "Answer",
    "BodyError",
    "Bot",
    "BotFailure",
    "Case",
    "Chat",
    "Embed",
    "Fill",
    "GradingContext",
    "InputError",
    "Message",
    "Notices",
    "Passage",
    "Query",
    "Score",
    "Sentence",
    "Specific",
    "Texts",
    "Traits",
    "Transient",
    "Turn",
    "Usage",
    "_",
    "__version__",
    "changed",
    "client_words",
    "close_to_others",
    "http_client",
    "is_async",
    "is_handover",
    "is_telling",
    "located",
    "message_of",
    "metrics",
    "multiple_choice",
    "ngettext",
    "on_a_thread",
    "passages_of",
    "private_file",
    "private_folder",
    "read_knowledge",
    "returned",
    "say",
    "sentences",
    "specifics_of",
    "straight",
    "straight_pattern",
    "traits_of",
    "unpacked",
    "user_object",
    "value_problem",
    "wait_asked_for",
]


# Names of earlier versions, which go with the next release.
_FORMERLY = {"Exhibit": "GradingContext", "Rag": "Bot", "RagFailure": "BotFailure"}


def __getattr__(name: str) -> Any:
    """The public name `name`, from the module it lives in."""
    if name in _FORMERLY:
        msg = f"simulator.{name} is now simulator.{_FORMERLY[name]}"
        warnings.warn(msg, DeprecationWarning, stacklevel=2)
        name = _FORMERLY[name]
    if name not in _HOME:
        msg = f"module 'simulator' has no attribute '{name}'"
        raise AttributeError(msg)
    home = import_module(f"simulator.{_HOME[name]}")
    # `Message` is here that of a dialogue, and one of the program's own is a `Sentence`.
    return home if name in _MODULES else getattr(home, "Message" if name == "Sentence" else name)
