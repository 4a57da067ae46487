"""A form of several forms, of which one that is broken costs the others nothing."""

from collections.abc import Callable, Mapping, Sequence

from simulator.core import replies
from simulator.core.errors import AccessDenied, MalformedReply, ModelFailure
from simulator.models.client import Messages, Model

Parts = dict[str, replies.Reply | ModelFailure]
# The problems by part, and the whole reply; the messages and the form that ask for these parts once more.
Again = Callable[[Mapping[str, ModelFailure], str], tuple[Messages, type[replies.Reply]]]


async def ask_parts(
    model: Model, messages: Messages, reply_form: type[replies.Reply], again: Again, *, seed: int
) -> Parts:
    """The parts of the form, each filled in or why it is not: what cannot be read is asked for once more."""
    said = await model.complete(messages, seed, reply_form)
    parts: Parts = {**replies.read_parts(said.text, reply_form)}
    broken = _failed(parts)
    if not broken:
        return parts
    retry, retry_form = again(broken, said.text)
    try:
        second = await model.complete(retry, seed, retry_form)
    except AccessDenied:
        raise
    except ModelFailure as error:
        return parts | dict.fromkeys(broken, error)
    repaired = parts | _repaired(second.text, list(broken), retry_form)
    if _failed(repaired):
        # As in `Model.ask`; the first reply stays where it has been of use.
        useless = [said.request] if len(broken) == len(parts) else []
        model.connections.cache.forget(*useless, second.request)
    return repaired


def _failed(parts: Parts) -> dict[str, ModelFailure]:
    return {name: part for name, part in parts.items() if isinstance(part, ModelFailure)}


def _repaired(text: str, names: Sequence[str], reply_form: type[replies.Reply]) -> Parts:
    """The parts that were asked for once more: one by itself is read with and without its name."""
    if reply_form.model_fields.keys() == set(names):
        return {**replies.read_parts(text, reply_form)}
    [name] = names
    named = replies.read_parts(text, replies.form("grades", {name: reply_form}))
    if not isinstance(named[name], MalformedReply):
        return {**named}
    try:
        return {name: replies.read(text, reply_form)}
    except MalformedReply as error:
        return {name: error}
