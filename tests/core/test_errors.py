"""Every expected failure is one line that says what to do, and its type says who has to do it."""

import pytest

from simulator.core import errors
from simulator.core.errors import (
    AccessDenied,
    BotFailure,
    BoundaryFailure,
    InputError,
    MalformedReply,
    ModelFailure,
    RehearsalError,
    UnknownName,
)


@pytest.mark.parametrize(
    ("name", "names", "hint", "message"),
    [
        (
            "angri",
            ["calm", "angry"],
            "",
            "unknown persona 'angri'. Did you mean angry? There are: angry, calm.",
        ),
        ("x", ["calm", "angry"], "", "unknown persona 'x'. There are: angry, calm."),
        ("x", [], "", "unknown persona 'x'."),
        ("x", [], "Write one.", "unknown persona 'x'. Write one."),
    ],
)
def test_an_unknown_name_is_answered_with_the_known(
    name: str, names: list[str], hint: str, message: str
) -> None:
    """Near names first, then all there are, then what else can be done."""
    assert str(UnknownName("persona", name, names, hint)) == message


def test_types_say_who_mends_it() -> None:
    """The user's own to mend, and failures outside, are told apart by their base."""
    to_mend = {"UnknownName", "CaseFileError", "PromptError", "RunFileError"}
    outside = {"BotFailure", "Transient", "ModelFailure", "MalformedReply", "AccessDenied", "OutOfPatience"}
    found = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}

    assert {n for n, kind in found.items() if issubclass(kind, InputError)} == to_mend | {"InputError"}
    assert {n for n, kind in found.items() if issubclass(kind, BoundaryFailure)} == outside | {
        "BoundaryFailure"
    }
    assert all(issubclass(found[name], RehearsalError) for name in to_mend | outside)


def test_a_failure_outside_is_data() -> None:
    """Its kind and message are what is stored; a malformed reply keeps what was said."""
    bot, reply = (
        BotFailure("timeout", "no answer within 60 s"),
        MalformedReply("malformed", "no JSON", raw="hm"),
    )

    assert (bot.failure.kind, bot.failure.message, str(bot)) == ("timeout", str(bot), "no answer within 60 s")
    assert (reply.raw, reply.failure.kind) == ("hm", "malformed")
    assert isinstance(AccessDenied("denied", "401"), ModelFailure)


def test_a_kind_is_a_word_to_count_by() -> None:
    """Only the known kinds are taken."""
    with pytest.raises(ValueError, match="kind"):
        BotFailure("strange", "?")
