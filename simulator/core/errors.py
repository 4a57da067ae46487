"""Everything that can go wrong and is expected to.

    RehearsalError
    ├── InputError              the user can fix it: one line, exit code 2
    │   ├── UnknownName         a persona, judge, adapter or setting that does not exist
    │   ├── CaseFileError       a data file that cannot be read, with file and line
    │   ├── PromptError         a prompt, persona or judge file that does not hold together
    │   └── RunFileError        a run file that is missing, foreign, or held by another process
    └── BoundaryFailure         data, not a crash: typed, counted, the run goes on
        ├── BotFailure          the bot's own failure
        │   └── Transient       the same question may not meet it again
        └── ModelFailure        the user, judge or embedding model's failure
            ├── MalformedReply  it answered, but not in the agreed form; `raw` is what it said
            ├── OutOfPatience   one call took as long as calls may take in all: it is not split up or repeated
            │   └── Outage      nobody was answered for as long: nothing else can succeed now
            └── AccessDenied    the key or the endpoint was refused: nothing else can succeed

Any other exception is a bug of ours and is meant to surface; one that ends a run does as Unforeseen.

The command line turns them into exit codes: an InputError is 2, any other RehearsalError 3 (the run is
incomplete and can be resumed), a bug 4. Few BoundaryFailures get that far: `runner/conversation.py` stores
those of the bot as `Answer.error`, judges those of the model as a failed `Score`. Of these only the HOPELESS
end a run: an endpoint that refuses a key once refuses it again, and one that is away is away for all.

A message is one line that says what is wrong, where, and what to do instead.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args
from unicodedata import normalize

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from simulator.core.messages import Message, _, message_of, quote, restored, sentences, shown, stored

# What the program says of something, or others said: stored as template and values, or as it was said.
Said = Annotated[
    Message | str,
    BeforeValidator(restored),
    PlainSerializer(stored),
]


FailureKind = Literal[
    "timeout", "error", "empty", "malformed", "refused", "off_scale", "denied", "unreachable", "guard",
    "unrecorded", "only_tools",
]  # fmt: skip


class Failure(BaseModel):
    """Why a boundary (bot, model) gave nothing usable; `kind` is a word to count by.

    `timeout`, `unreachable` (no connection) and `denied` (key, account or address refused) are of the
    transport, `empty`, `malformed` and `off_scale` of the answer. `refused`: a content filter, or a model
    that would not. `only_tools`: the bot called tools and said nothing. `guard`: a customer's line that broke
    the rules twice. `error` is everything else. `unrecorded` is nobody's failure: a log has no answer to what
    the customer said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kind: FailureKind
    message: Said


class RehearsalError(Exception):
    """Base of all expected errors. The message is one line that says what to do; `str(error)` is English.

    Pass a `Message`, which is translated, or a `str` for text of another program.
    """

    def __init__(self, message: Message | str = "") -> None:
        super().__init__(message)

    @property
    def message(self) -> Message | str:
        """The message as it was passed; translated where it is shown."""
        return message_of(self)


class Unforeseen(Exception):
    """A bug of ours ended a run, whose file is `run`; the bug itself is the cause."""

    def __init__(self, run: Path) -> None:
        super().__init__(f"the run {run.parent.name} was ended by a bug")
        self.run = run


class InputError(RehearsalError):
    """Something that the user can fix: a setting, a file, a key. Commands end with exit code 2."""


def near_names(name: str, names: Iterable[str], likeness: float = 0.51) -> tuple[str, ...]:
    """The known names that are like this one, at most two."""
    import difflib  # a page of help names nothing wrong

    # It finds trun -> turn and patiense -> patience, and offers nothing for a word of another kind (foo).
    folded = {_folded(known): known for known in names}
    near = difflib.get_close_matches(_folded(name), list(folded), n=2, cutoff=likeness)
    return tuple(map(folded.__getitem__, near))


def _near_titles(name: str, titles: Mapping[str, Message | str]) -> tuple[Message, ...]:
    """The names whose title has this word, or else the first of its kanji that says which.

    怒り -> angry (怒っているお客様), "in a hurry" -> hurried (Customer in a hurry)
    """
    word = _folded(name)
    # A Latin letter or two stand in some title by chance.
    parts = [word] if len(word) > 2 or not word.isascii() else []
    texts = {
        id_: _folded(f"{shown(title, 'ja')}\n{shown(title, 'en')}").splitlines()
        for id_, title in titles.items()
    }
    for part in [*parts, *(letter for letter in word if "一" <= letter <= "鿿")]:
        near = [id_ for id_, text in texts.items() if any(title.startswith(part) for title in text)]
        near = near or [id_ for id_, text in texts.items() if any(part in title for title in text)]
        if 0 < len(near) <= 2:
            return tuple(_("{name} ({title})", name=id_, title=titles[id_]) for id_ in near)
    return ()


def _folded(name: str) -> str:
    """A name without what an input method or a capital letter makes of it."""
    return normalize("NFKC", name).casefold().strip()


def did_you_mean(name: str, names: Iterable[str], likeness: float = 0.51) -> Message | None:
    """Offers the known names that are like this one; None where none is."""
    return _offered(near_names(name, names, likeness))


def _offered(names: Sequence[Message | str]) -> Message | None:
    return _("Did you mean {names}?", names=names) if names else None


# More names than a reader takes in on one line.
_MANY = 10


class UnknownName(InputError):
    """A name that is not on the shelf; near names are offered.

    All names are listed beside the near ones, because often the name is right and the kind is not. Where they
    are many, `listed` says in a sentence where they stand. `titles` are what people read instead of names,
    and may type.
    """

    def __init__(
        self,
        kind: Message | str,
        name: str,
        names: Iterable[str],
        hint: Message | str = "",
        listed: Message | None = None,
        *,
        titles: Mapping[str, Message | str] = MappingProxyType({}),
    ) -> None:
        ordered = sorted(names)
        if listed is None or len(ordered) <= _MANY:
            listed = _("There are: {names}.", names=", ".join(ordered)) if ordered else None
        super().__init__(
            sentences(
                _("unknown {kind}: '{name}'.", kind=kind, name=name),
                # A title says more than a name that is only a little alike.
                _offered(() if near_names(name, ordered, 0.8) else _near_titles(name, titles))
                or did_you_mean(name, ordered),
                listed,
                hint,
            )
        )


# What pydantic finds wrong with a value, by the type of its error; the names are those of its context. They
# follow the name of a setting or a place in a file: "retest in rehearsal.toml: 2: must be at most 1."
_VALUE_PROBLEMS: dict[str, Message] = {
    "missing": _("missing"),
    "extra_forbidden": _("not a known key"),
    "literal_error": _("must be one of {expected}"),
    "greater_than": _("must be more than {gt:g}"),
    "greater_than_equal": _("must be at least {ge:g}"),
    "less_than": _("must be less than {lt:g}"),
    "less_than_equal": _("must be at most {le:g}"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), _("must be a whole number")),
    **dict.fromkeys(("float_type", "float_parsing"), _("must be a number")),
    "finite_number": _("must be a finite number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), _("must be true or false")),
    **dict.fromkeys(("string_type", "path_type"), _("must be text")),
    **dict.fromkeys(("list_type", "tuple_type"), _("must be a list")),
    **dict.fromkeys(("dict_type", "model_type"), _("must be a table of names and values")),
    "string_too_short": _("must have {min_length} characters or more"),
    "string_too_long": _("must have {max_length} characters or fewer"),
    "too_short": _("must have {min_length} items or more, not {actual_length}"),
    "string_pattern_mismatch": _("must match the pattern '{pattern}'"),
}


def is_unknown_item(problem: Mapping[str, Any]) -> bool:
    """Whether a word of a list is none of those it may have: it is named itself, and not by its number."""
    return problem["type"] == "literal_error" and any(isinstance(place, int) for place in problem["loc"][-1:])


def value_problem(problem: Mapping[str, Any]) -> Message | str:
    """What is wrong with a value, of pydantic's `errors()`; a sentence of pydantic where it has no other."""
    context = problem.get("ctx", {})
    if problem["type"] == "value_error":
        return message_of(context["error"])
    if problem["type"] == "literal_error":
        # Of pydantic's "'', 'ja' or 'en'" the empty word is how a setting is left out.
        words = re.findall(r"'([^']*)'", context["expected"])
        context = {**context, "expected": tuple(filter(None, words)) or context["expected"]}
    problem_text = _VALUE_PROBLEMS.get(problem["type"])
    if is_unknown_item(problem):
        name = quote(str(problem["input"]))
        return _("{name} is unknown; it must be one of {expected}", name=name, **context)
    return problem_text.format(**context) if problem_text else str(problem["msg"])


class CaseFileError(InputError):
    """A data file that cannot be used."""


class PromptError(InputError):
    """A prompt, persona or judge file that cannot be used."""


class RunFileError(InputError):
    """A run file that cannot be used."""


class BoundaryFailure(RehearsalError):
    """A failure outside our own code; `failure` is what is stored of it.

    `raw` is what was said instead, for whoever looks into a run file; it may be long. Raises InputError for a
    kind that is no FailureKind.
    """

    def __init__(self, kind: str, message: Message | str, raw: str = "") -> None:
        super().__init__(message)
        if kind not in (kinds := get_args(FailureKind)):
            raise InputError(_("a failure has no kind '{kind}'; use one of {kinds}.", kind=kind, kinds=kinds))
        self.failure = Failure(kind=kind, message=message)
        self.raw = raw


class BotFailure(BoundaryFailure):
    """The bot gave no usable answer. That answer gets the lowest grade."""


class Transient(BotFailure):
    """A failure of the bot that may pass, so that it is asked again: no connection, HTTP 429 or 5xx.

    `wait` is the seconds to wait before, as the bot asks for; None if it does not say.
    """

    def __init__(self, kind: str, message: Message | str, wait: float | None = None) -> None:
        super().__init__(kind, message)
        self.wait = wait


class ModelFailure(BoundaryFailure):
    """The simulator's own model gave nothing usable."""


class MalformedReply(ModelFailure):
    """A reply that is not in the agreed form, even after repair."""


class OutOfPatience(ModelFailure):
    """A call that took all of --patience, or would have had to wait for longer."""


class Outage(OutOfPatience):
    """The endpoint answered nobody for all of --patience: the run is interrupted, and can be resumed."""


class AccessDenied(ModelFailure):
    """The endpoint refused the key, the account or the model: the run stops at once, and can be resumed."""


class LoginPage(AccessDenied, InputError):
    """A web page came where JSON was promised, before anything was answered: the address or key is wrong."""


# Failures of one call after which no other can succeed.
HOPELESS = (AccessDenied, Outage)
