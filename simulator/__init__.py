"""The engine of a rehearsal. What adapters, judges and personas may import is listed in `__all__`.

Names are looked up when they are first used, so that importing one word loads one module:

    from simulator import rehearse    the whole program
    from simulator import Answer      core/types.py and what that needs

To add a public name, import it below TYPE_CHECKING, for type checkers and editors, and name it in `_NAMES`,
for Python. Whoever reads the first list knows what a judge or an adapter can use; everything else may change.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simulator.core.version import __version__ as __version__

if TYPE_CHECKING:  # with `as`, which makes each a name of this package
    from simulator.api import RunResults as RunResults
    from simulator.api import acompare as acompare
    from simulator.api import aevaluate as aevaluate
    from simulator.api import agrade as agrade
    from simulator.api import arehearse as arehearse
    from simulator.api import compare as compare
    from simulator.api import evaluate as evaluate
    from simulator.api import grade as grade
    from simulator.api import rehearse as rehearse
    from simulator.core import answers, messages
    from simulator.core.answers import MOST_PASSAGES as MOST_PASSAGES
    from simulator.core.answers import passages_of as passages_of
    from simulator.core.answers import tool_calls_in as tool_calls_in
    from simulator.core.answers import tool_calls_of as tool_calls_of
    from simulator.core.concurrency import TimeLimit as TimeLimit
    from simulator.core.concurrency import is_async as is_async
    from simulator.core.concurrency import on_a_thread as on_a_thread
    from simulator.core.errors import BotFailure as BotFailure
    from simulator.core.errors import InputError as InputError
    from simulator.core.errors import Transient as Transient
    from simulator.core.errors import value_problem as value_problem
    from simulator.core.messages import _ as _
    from simulator.core.messages import changed as changed
    from simulator.core.messages import message_of as message_of
    from simulator.core.messages import ngettext as ngettext
    from simulator.core.messages import say as say
    from simulator.core.messages import sentences as sentences
    from simulator.core.secrets import is_telling as is_telling
    from simulator.core.secrets import mask_secrets as mask_secrets
    from simulator.core.secrets import written_out as written_out
    from simulator.core.shelves import describe_error as describe_error
    from simulator.core.shelves import other_python as other_python
    from simulator.core.shelves import user_object as user_object
    from simulator.core.templates import Texts as Texts
    from simulator.core.templates import read_text_file as read_text_file
    from simulator.core.types import Answer as Answer
    from simulator.core.types import Bot as Bot
    from simulator.core.types import Case as Case
    from simulator.core.types import Chat as Chat
    from simulator.core.types import Embed as Embed
    from simulator.core.types import Fill as Fill
    from simulator.core.types import GradingContext as GradingContext
    from simulator.core.types import Message as Message
    from simulator.core.types import Passage as Passage
    from simulator.core.types import Query as Query
    from simulator.core.types import Rule as Rule
    from simulator.core.types import Score as Score
    from simulator.core.types import ToolCall as ToolCall
    from simulator.core.types import Traits as Traits
    from simulator.core.types import Turn as Turn
    from simulator.core.types import Usage as Usage
    from simulator.core.types import token_count as token_count
    from simulator.core.types import traits_of as traits_of
    from simulator.core.types import usage_told as usage_told
    from simulator.data.knowledge import read_knowledge as read_knowledge
    from simulator.grading.lexical import response_of as response_of
    from simulator.models.cache import close_to_others as close_to_others
    from simulator.models.cache import private_file as private_file
    from simulator.models.cache import private_folder as private_folder
    from simulator.models.exchange import ACCEPTED as ACCEPTED
    from simulator.models.exchange import PIECE as PIECE
    from simulator.models.exchange import BodyError as BodyError
    from simulator.models.exchange import client_words as client_words
    from simulator.models.exchange import http_client as http_client
    from simulator.models.exchange import is_this_machine as is_this_machine
    from simulator.models.exchange import unpacked as unpacked
    from simulator.models.exchange import whole_body as whole_body
    from simulator.models.limiter import Notices as Notices
    from simulator.models.limiter import wait_asked_for as wait_asked_for
    from simulator.storage.run_file import open_run as open_run
    from simulator.text import choices
    from simulator.text import metrics as metrics
    from simulator.text.entities import Specific as Specific
    from simulator.text.entities import located as located
    from simulator.text.entities import specifics_of as specifics_of
    from simulator.text.normalise import is_quoted_from as is_quoted_from
    from simulator.text.typography import nfkc as nfkc
    from simulator.text.typography import straight as straight
    from simulator.text.typography import straight_pattern as straight_pattern

    Sentence = messages.Message
    returned = answers
    multiple_choice = choices

# Public names that are modules.
_MODULES = frozenset({"metrics", "multiple_choice", "returned"})
# The public names of each module.
_NAMES = {
    "api": "RunResults acompare aevaluate agrade arehearse compare evaluate grade rehearse",
    "core.answers": "MOST_PASSAGES passages_of returned tool_calls_in tool_calls_of",
    "core.concurrency": "TimeLimit is_async on_a_thread",
    "core.errors": "BotFailure InputError Transient value_problem",
    "core.messages": "Sentence _ changed message_of ngettext say sentences",
    "core.secrets": "is_telling mask_secrets written_out",
    "core.shelves": "describe_error other_python user_object",
    "core.templates": "Texts read_text_file",
    "core.types": "Answer Bot Case Chat Embed Fill GradingContext Message Passage Query Rule Score ToolCall"
    " Traits Turn Usage token_count traits_of usage_told",
    "data.knowledge": "read_knowledge",
    "models.cache": "close_to_others private_file private_folder",
    "models.exchange": (
        "ACCEPTED BodyError PIECE client_words http_client is_this_machine unpacked whole_body"
    ),
    "grading.lexical": "response_of",
    "models.limiter": "Notices wait_asked_for",
    "storage.run_file": "open_run",
    "text.choices": "multiple_choice",
    "text.entities": "Specific located specifics_of",
    "text.metrics": "metrics",
    "text.normalise": "is_quoted_from",
    "text.typography": "nfkc straight straight_pattern",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604


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
