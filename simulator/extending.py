"""What judges and adapters are written with: the types, texts and comparisons, connections and replies.

Those on the shelves import this module alone. One of your own finds the types in `simulator`, too; what is
only here changes with the program.
"""

# Nothing is used here: it is there to be imported.
# mypy: implicit-reexport
# ruff: noqa: F401

from simulator.cases.knowledge import read_knowledge
from simulator.core import answers as returned
from simulator.core.answers import MOST_PASSAGES, kind, passages_of
from simulator.core.choosing import Chooser, Choosing, Unsupported
from simulator.core.clock import TimeLimit
from simulator.core.concurrency import is_async, on_a_thread
from simulator.core.errors import BotFailure, InputError, LoginPage, Transient, value_problem
from simulator.core.loading import describe_error, other_python, user_object
from simulator.core.messages import Message, _, changed, say, sentences
from simulator.core.roles import is_http_address
from simulator.core.secrets import is_telling, mask_secrets, written_out
from simulator.core.templates import Texts, read_text_file
from simulator.core.tool_calls import tool_calls_in, tool_calls_of
from simulator.core.types import (
    Answer,
    Bot,
    Case,
    Chat,
    ChatMessage,
    Embed,
    Fill,
    GradingContext,
    Passage,
    Query,
    Rule,
    Score,
    ToolCall,
    Traits,
    Usage,
    traits_of,
    usage_told,
)
from simulator.models.bodies import ACCEPTED, PIECE, BodyError, codec_of, decoded, unpacked, whole_body
from simulator.models.exchange import session_of
from simulator.models.network import (
    authorities,
    blocked_by,
    check_way,
    client_words,
    is_this_machine,
    proxy_for,
    through,
)
from simulator.models.patience import Notices
from simulator.models.refusals import how_it_ended, refusal_in, refused_in, text_of_page, wait_asked_for
from simulator.text import metrics, normalise
from simulator.text.normalise import is_quoted_from
from simulator.text.typography import nfkc, straight, straight_pattern
