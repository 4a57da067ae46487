"""The engine of a rehearsal. What adapters, judges and personas may import is listed in `__all__`.

Names are looked up when they are first used, so that importing one word loads one module.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from simulator.api import (
        RunResults,
        acompare,
        aevaluate,
        agrade,
        arehearse,
        compare,
        evaluate,
        grade,
        rehearse,
    )
    from simulator.core import answers as returned
    from simulator.core.answers import MOST_PASSAGES, passages_of
    from simulator.core.concurrency import is_async, on_a_thread
    from simulator.core.errors import BotFailure, InputError, Transient, value_problem
    from simulator.core.messages import Message as Sentence
    from simulator.core.messages import _, changed, message_of, ngettext, say, sentences
    from simulator.core.secrets import is_telling
    from simulator.core.shelves import describe_error, user_object
    from simulator.core.templates import Texts, read_text_file
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
        Rule,
        Score,
        Traits,
        Turn,
        Usage,
        token_count,
        traits_of,
    )
    from simulator.data.knowledge import read_knowledge
    from simulator.models.cache import close_to_others, private_file, private_folder
    from simulator.models.exchange import (
        ACCEPTED,
        PIECE,
        BodyError,
        client_words,
        http_client,
        unpacked,
        whole_body,
    )
    from simulator.models.limiter import Notices, wait_asked_for
    from simulator.storage.run_file import open_run
    from simulator.text import choices as multiple_choice
    from simulator.text import metrics
    from simulator.text.acts import is_handover
    from simulator.text.entities import Specific, located, specifics_of
    from simulator.text.typography import nfkc, straight, straight_pattern

# Public names that are modules.
_MODULES = frozenset({"metrics", "multiple_choice", "returned"})
# The public names of each module.
_NAMES = {
    "api": "RunResults acompare aevaluate agrade arehearse compare evaluate grade rehearse",
    "core.answers": "MOST_PASSAGES passages_of returned",
    "core.concurrency": "is_async on_a_thread",
    "core.errors": "BotFailure InputError Transient value_problem",
    "core.messages": "Sentence _ changed message_of ngettext say sentences",
    "core.secrets": "is_telling",
    "core.shelves": "describe_error user_object",
    "core.templates": "Texts read_text_file",
    "core.types": "Answer Bot Case Chat Embed Fill GradingContext Message Passage Query Rule Score Traits"
    " Turn Usage token_count traits_of",
    "data.knowledge": "read_knowledge",
    "models.cache": "close_to_others private_file private_folder",
    "models.exchange": "ACCEPTED BodyError PIECE client_words http_client unpacked whole_body",
    "models.limiter": "Notices wait_asked_for",
    "storage.run_file": "open_run",
    "text.acts": "is_handover",
    "text.choices": "multiple_choice",
    "text.entities": "Specific located specifics_of",
    "text.metrics": "metrics",
    "text.typography": "nfkc straight straight_pattern",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "ACCEPTED",
    "MOST_PASSAGES",
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
    "Rule",
    "RunResults",
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
    "acompare",
    "aevaluate",
    "agrade",
    "arehearse",
    "changed",
    "client_words",
    "close_to_others",
    "compare",
    "describe_error",
    "evaluate",
    "grade",
    "http_client",
    "is_async",
    "is_handover",
    "is_telling",
    "located",
    "message_of",
    "metrics",
    "multiple_choice",
    "nfkc",
    "ngettext",
    "on_a_thread",
    "open_run",
    "passages_of",
    "private_file",
    "private_folder",
    "read_knowledge",
    "read_text_file",
    "rehearse",
    "returned",
    "say",
    "sentences",
    "specifics_of",
    "straight",
    "straight_pattern",
    "token_count",
    "traits_of",
    "unpacked",
    "user_object",
    "value_problem",
    "wait_asked_for",
    "whole_body",
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
