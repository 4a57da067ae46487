"""A chain: prompts that are asked one after the other, each with what the ones before it came to."""

import asyncio
import contextlib
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, JsonValue, ValidationError

from simulator.core import shelves
from simulator.core.errors import BotFailure, InputError, PromptError, UnknownName
from simulator.core.settings import (
    FILES,
    Settings,
    bot_named_in,
    judges_named_in,
    named_in,
    plain,
    prompt_named_in,
)
from simulator.core.templates import read_toml
from simulator.core.types import (
    Answer,
    Bot,
    Case,
    Conversation,
    Failure,
    Passage,
    Query,
    Step,
    Text,
    Traits,
    Usage,
    Value,
    traits_of,
)
from simulator.data.datasets import labels_in
from simulator.grading.outputs import object_within, output_text
from simulator.runner.conversation import answered
from simulator.runner.prompt_file import Prompt, files_of, read_prompt
from simulator.runner.prompts import Lacks, MissingVariable, PromptedBot, check_examples, lacks, rows_of

# The whole among the names of its links.
WHOLE = "chain"


class Link(Value):
    """One prompt of a chain; `settings` are what its own run is told, by the names of rehearsal.toml."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    prompt: Text
    cases: str | None = None
    adapter: str | None = None
    set: dict[str, str] = Field(default={})
    settings: dict[str, JsonValue] = Field(default={})

    @property
    def told(self) -> dict[str, Any]:
        """What a run of this link alone is told beside what all are told."""
        own = {"prompt": self.prompt, "cases": self.cases, "adapter": self.adapter, "set": self.set}
        return {**self.settings, **{key: value for key, value in own.items() if value}}


class Chain(Value):
    """The links in their order. `settings` are those of every run, `whole` those of the whole alone."""

    path: str
    title: str = ""
    settings: dict[str, JsonValue] = Field(default={})
    whole: dict[str, JsonValue] = Field(default={})
    links: Annotated[tuple[Link, ...], Field(min_length=1)]

    @property
    def cases(self) -> str | None:
        """The rows of the whole."""
        named = self.whole.get("cases")
        return None if named is None else str(named)

    def before(self, name: str) -> tuple[str, ...]:
        """The names of the links that are asked before one."""
        names = [link.name for link in self.links]
        return tuple(names[: names.index(name)])


LINKS = "links"
_OF_A_LINK = ("name", "prompt", "cases", "adapter", "set")
# At the top of the file these are about the whole chain; a link has its own, or the usual ones.
_OF_THE_WHOLE = frozenset(
    {"cases", "outputs", "judges", "target", "max_major", "labels", "positive", "scoring"}
)
# What the program itself says, or what would be another run.
_NOT_TOLD = frozenset({
    "protocol", "prompt", "resume", "replay", "dry_run", "ask_bot", "json_output", "shard",
})  # fmt: skip


def is_chain(path: Path) -> bool:
    """Whether this is a TOML file with [[links]]."""
    if path.suffix.lower() != ".toml" or not path.is_file():
        return False
    try:
        return isinstance(read_toml(path).get(LINKS), list)
    except PromptError:
        return False  # who reads it for what it is says what is wrong with it


def read_chain(path: Path) -> Chain:
    """The chain of a file. Files that it names are looked up beside it, then where the user stands.

    Raises PromptError, with the file and the link, for what does not hold together.
    """
    told = read_toml(path)
    given = told.pop(LINKS, None)
    if not isinstance(given, list) or not given or not all(isinstance(link, dict) for link in given):
        msg = f"{path}: a chain has [[links]], each with a name and a prompt. See docs/prompts.md."
        raise PromptError(msg)
    title = str(told.pop("title", ""))
    common = dict(_settings(path, "", told, _NOT_TOLD))
    links = tuple(_link(path, number, link) for number, link in enumerate(given, 1))
    names = [link.name for link in links]
    _check_names(path, names)
    return Chain(
        path=str(path),
        title=title,
        settings={key: value for key, value in common.items() if key not in _OF_THE_WHOLE},
        whole={key: value for key, value in common.items() if key in _OF_THE_WHOLE},
        links=links,
    )


def _check_names(path: Path, names: Sequence[str]) -> None:
    """No two names that one variable could mean."""
    for name in names:
        other = next((each for each in names if each.startswith(f"{name}_")), "")
        told = {
            "stands twice": names.count(name) > 1,
            "is what the whole is called": name == WHOLE,
            f"begins the name '{other}', so that ${other} could mean either": bool(other),
        }
        for why in (why for why, wrong in told.items() if wrong):
            msg = f"{path}: the link's name '{name}' {why}: choose another."
            raise PromptError(msg)


def _link(path: Path, number: int, given: Mapping[str, Any]) -> Link:
    where = f"link {given.get('name', number)}: "
    own = {key: value for key, value in given.items() if key in _OF_A_LINK}
    rest = {key: value for key, value in given.items() if key not in _OF_A_LINK}
    if isinstance(own.get("prompt"), str):
        own["prompt"] = prompt_named_in(path, own["prompt"])
    own |= dict(_settings(path, where, {k: own[k] for k in ("cases", "adapter") if k in own}, frozenset()))
    if isinstance(own.get("set"), dict):
        own["set"] = {key: plain(value) for key, value in own["set"].items()}
    try:
        return Link(**own, settings=dict(_settings(path, where, rest, _NOT_TOLD)))
    except ValidationError as error:
        first = error.errors()[0]
        named = ".".join(map(str, first["loc"]))
        why = "letters, digits and _ only, for it is part of $variables" if named == "name" else first["msg"]
        msg = f"{path}: {where}{named}: {why}."
        raise PromptError(msg) from None


def _settings(
    path: Path, where: str, given: Mapping[str, Any], refused: frozenset[str]
) -> Iterator[tuple[str, Any]]:
    """What is told by the names of rehearsal.toml, its files found."""
    for key, value in given.items():
        if key in refused or key not in Settings.model_fields:
            raise UnknownName("setting", key, Settings.model_fields.keys() - refused, f"({where}in {path})")
        if key in FILES and isinstance(value, str):
            yield key, named_in(path, value)
        elif key == "adapter" and isinstance(value, str):
            yield key, bot_named_in(path, value)
        elif key == "judges":
            yield key, judges_named_in(path, value)
        else:
            yield key, value


# So much of the time that a customer waits is for the links; the rest is for saying which was late.
_SHARE = 0.99


class LinkCall(NamedTuple):
    """One link at its work; `own` when its bot is not the one that the whole run is told of."""

    name: str
    bot: PromptedBot
    own: bool = False


class ChainBot:
    """Has the places of the run's own bot; `timeout` in seconds is for all links together."""

    def __init__(self, links: Sequence[LinkCall], bot: Any, timeout: float) -> None:
        """`bot` is the run's own bot, whichever links it is asked by."""
        self.links, self.bot, self.timeout = tuple(links), bot, timeout
        self.traits = Traits(places=traits_of(bot).places)

    async def __call__(self, query: Query) -> Answer:
        """The last link's answer, with every link's as its steps; a link's failure is the chain's."""
        loop = asyncio.get_running_loop()
        late = loop.time() + self.timeout * _SHARE
        earlier: dict[str, str] = {}
        passages: tuple[Passage, ...] | None = None
        steps: list[Step] = []
        for link in self.links:
            answer = await _asked(link, query, Before(earlier, passages), max(late - loop.time(), 0.001))
            steps.append(Step(link=link.name, text=answer.text, seconds=answer.seconds, usage=answer.usage))
            if answer.error is not None:
                return _failed(link.name, answer.error, steps)
            passages = answer.passages if answer.shows_passages else passages
            earlier |= outcome(link.name, answer.text)
        return _whole(answer, steps, passages)

    async def aclose(self) -> None:
        """Closes the connections of every bot, once."""
        for each in (self.bot, *(link.bot for link in self.links if link.own)):
            closed = getattr(each, "aclose", lambda: None)()
            if inspect.isawaitable(closed):
                await closed


class Before(NamedTuple):
    """What the links before one came to: variables, and the passages that one of them showed last."""

    values: Mapping[str, str]
    passages: tuple[Passage, ...] | None


async def _asked(link: LinkCall, query: Query, before: Before, timeout: float) -> Answer:
    texts = None if before.passages is None else tuple(passage.text for passage in before.passages)

    async def once(asked: Query) -> Any:
        try:
            return await link.bot.ask(asked, before.values, texts)
        except MissingVariable as error:
            told = f"its prompt needs ${error.variable}, which no link before it gave"
            raise BotFailure("malformed", told) from None

    own = query.model_copy(update={"session": f"{query.session}/{link.name}"})
    places = traits_of(link.bot).places if link.own else None
    async with places or contextlib.nullcontext():
        return await answered(once, own, timeout)


def outcome(name: str, text: str) -> dict[str, str]:
    """What later links may use of a link's answer: `$intent`, `$intent_category`, `$intent_address_city`."""
    found = object_within(text)
    return {name: text, **dict(_flat(name, found or {}))}


def _flat(name: str, found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        yield f"{name}_{key}", _said(value)
        if isinstance(value, Mapping):
            yield from _flat(f"{name}_{key}", value)


def _said(value: Any) -> str:
    """A JSON value as a prompt says it: texts and numbers as they were written."""
    if isinstance(value, str):
        return value
    return output_text(value) if isinstance(value, (dict, list)) else json.dumps(value)


def _failed(name: str, error: Failure, steps: list[Step]) -> Answer:
    failure = error.model_copy(update={"message": f"link {name}: {error.message}"})
    return Answer(text="", error=failure, steps=tuple(steps), usage=_usage(steps))


def _whole(last: Answer, steps: list[Step], passages: tuple[Passage, ...] | None) -> Answer:
    return last.model_copy(
        update={
            "passages": passages or (),
            "shows_passages": passages is not None,
            "seconds": None,  # of all links: whoever asked the chain has timed it
            "usage": _usage(steps),
            "steps": tuple(steps),
        }
    )


def _usage(steps: list[Step]) -> Usage | None:
    """What all links took together; of several models, by no name, for no price fits their sum."""
    known = [step.usage for step in steps if step.usage]
    if not known:
        return None
    models = {usage.model for usage in known}
    return Usage(
        model=models.pop() if len(models) == 1 else "",
        tokens_in=sum(usage.tokens_in for usage in known),
        tokens_out=sum(usage.tokens_out for usage in known),
    )


# An adapter's name and its settings in, the bot out.
Connect = Callable[[str, Mapping[str, str]], Awaitable[Bot]]
# Nothing is sent to it: the answers are there already.
RECORDED = "recorded"


class AppliedPrompts:
    """The prompts of a run, read before anything else: a broken one shows at once."""

    def __init__(self, settings: Settings) -> None:
        """Raises PromptError for a file that does not hold together."""
        self.settings = settings
        name = settings.prompt or ""
        self.chain: Chain | None = read_chain(Path(name)) if is_chain(Path(name)) else None
        named = [link.prompt for link in self.chain.links] if self.chain else [name]
        self.prompts: tuple[Prompt, ...] = tuple(read_prompt(each, settings.shots) for each in named)
        for prompt in self.prompts:
            check_examples(prompt)
        for prompt in self.prompts[:-1]:
            if prompt.choosing == "labels" and not prompt.labels:
                msg = f"{prompt.path}: in a chain, it has to name its labels: write [labels]."
                raise PromptError(msg)

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that these prompts are made of, but none of the shelf."""
        chain = (Path(self.chain.path),) if self.chain else ()
        own = (path for prompt in self.prompts for path in files_of(prompt))
        return tuple(dict.fromkeys((*chain, *(path for path in own if path.parent != shelves.PROMPTS))))

    @property
    def code(self) -> tuple[str, ...]:
        """The user's own functions that links ask."""
        links = self.chain.links if self.chain else ()
        return tuple(link.adapter for link in links if link.adapter and ":" in link.adapter)

    def lacks(self, case: Case) -> str | None:
        """What a row lacks for these prompts, in words that follow its file and line; None for nothing."""
        return next((said for each in self._lacks if (said := each(case))), None)

    @cached_property
    def _lacks(self) -> tuple[Lacks, ...]:
        names = [link.name for link in self.chain.links] if self.chain else [""]
        return tuple(
            lacks(prompt, frozenset(names[:number]) if self.chain else frozenset())
            for number, prompt in enumerate(self.prompts)
        )

    async def around(self, bot: Bot, plan: Sequence[Conversation], connect: Connect) -> Bot:
        """The bot as it is asked with these prompts; what was recorded is answered as it is."""
        if self.settings.adapter == RECORDED:
            return bot
        row, labels = rows_of(plan), self._labels(plan)
        if self.chain is None:
            return PromptedBot(bot, self.prompts[0], row, labels)
        links = []
        for link, prompt in zip(self.chain.links, self.prompts, strict=True):
            own = link.adapter is not None or bool(link.set)
            adapter, given = self.settings.adapter, self.settings.set
            if own:
                given = link.set if link.adapter not in (None, adapter) else {**given, **link.set}
                adapter = link.adapter or adapter
            linked = await connect(adapter, given) if own else bot
            links.append(LinkCall(link.name, PromptedBot(linked, prompt, row, labels), own))
        return ChainBot(links, bot, self.settings.timeout)

    @property
    def told(self) -> str:
        """Each prompt with its version, in their order: `intent 1 -> reply 3`."""
        return " -> ".join(f"{prompt.name} {prompt.version}" for prompt in self.prompts)

    def fingerprints(self) -> dict[str, str]:
        """The hash of each prompt, for the run file."""
        return {f"prompt:{prompt.name}": prompt.hash for prompt in self.prompts}

    def versions(self) -> dict[str, str]:
        """The version that each prompt file says it has, for the run file."""
        return {f"prompt:{prompt.name}": prompt.version for prompt in self.prompts}

    @property
    def labels(self) -> tuple[Mapping[str, str], ...]:
        """What is said for each label, language by language; of a chain, by its last link."""
        return tuple(self.prompts[-1].labels.values())

    def _labels(self, plan: Iterable[Conversation]) -> tuple[str, ...]:
        """All labels, where a prompt has to be told."""
        asking = any(prompt.choosing == "labels" and not prompt.labels for prompt in self.prompts)
        if not asking or self.settings.labels:
            return tuple(self.settings.labels)
        found = labels_in(conversation.case for conversation in plan)
        if not found:
            msg = f"{self.prompts[-1].path}: no row has a label to choose: write [labels], or --labels A,B."
            raise InputError(msg)
        return found


def applied(settings: Settings) -> AppliedPrompts | None:
    """The prompts that the settings name; None where rows are sent as they are."""
    if settings.prompt is None:
        return None
    if settings.protocol != "single_turn":
        msg = "prompt: only `evaluate` applies a prompt; a customer of a rehearsal speaks for themselves."
        raise InputError(msg)
    return AppliedPrompts(settings)
