"""The prompts that a run applies to each row: one, or a chain whose links use the answers of earlier ones.

In a chain, `$intent` in a later prompt is the whole answer of the link `intent`; if that is a JSON object,
its values are `$intent_category` and, of an object within it, `$intent_city_name`. Passages that a link
returns are those of the links after it, and of the chain. The answer of the chain is that of its last link;
the answers of all links are its steps, each with its seconds and tokens. A link's failure is the chain's,
and names the link.

A link is asked by the run's own bot, within its limits, or by one of its own, within those.
"""

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
from simulator.core.errors import BotFailure, InputError, PromptError, UnknownName, value_problem
from simulator.core.messages import Message, _
from simulator.core.settings import (
    FILE_SETTINGS,
    Settings,
    resolve_bot,
    resolve_judges,
    resolve_path,
    resolve_prompt,
    setting_text,
)
from simulator.core.templates import read_toml
from simulator.core.types import (
    Answer,
    Bot,
    Case,
    Conversation,
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
from simulator.runner.conversation import timed_answer
from simulator.runner.prompt_file import Prompt, files_of, read_prompt
from simulator.runner.prompts import (
    MissingVariable,
    PromptedBot,
    RowCheck,
    case_lookup,
    check_examples,
    row_check,
)

# The name of the whole chain beside those of its links.
WHOLE = "chain"
LINKS = "links"
_LINK_KEYS = ("name", "prompt", "cases", "adapter", "set")
# At the top of the file these settings are for the whole chain; a link has its own, or the defaults.
_WHOLE_SETTINGS = frozenset(
    {"cases", "outputs", "judges", "target", "max_major", "labels", "positive", "scoring"}
)
# Settings that the program makes itself, or that would make another kind of run.
_FORBIDDEN = frozenset({
    "protocol", "prompt", "resume", "replay", "dry_run", "json_output", "shard",
})  # fmt: skip
# Share of the timeout that all links have together; the rest is for reporting which link was late.
_LINKS_SHARE = 0.99
# Connects the bot of an adapter's name and settings.
Connect = Callable[[str, Mapping[str, str]], Awaitable[Bot]]
# The adapter of recorded answers: nothing is sent to it.
RECORDED = "recorded"


class Link(Value):
    """One prompt of a chain. `settings`, named as in rehearsal.toml, are for a run of this link alone."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    prompt: Text
    cases: str | None = None
    adapter: str | None = None
    set: dict[str, str] = Field(default={})
    settings: dict[str, JsonValue] = Field(default={})

    @property
    def run_settings(self) -> dict[str, Any]:
        """The settings of a run of this link alone, beside those of the whole file."""
        own = {"prompt": self.prompt, "cases": self.cases, "adapter": self.adapter, "set": self.set}
        return {**self.settings, **{key: value for key, value in own.items() if value}}


class Chain(Value):
    """The links in their order. `settings` are for every run, `whole` for runs of the whole chain only."""

    path: str
    title: str = ""
    settings: dict[str, JsonValue] = Field(default={})
    whole: dict[str, JsonValue] = Field(default={})
    links: Annotated[tuple[Link, ...], Field(min_length=1)]

    @property
    def cases(self) -> str | None:
        """The data set of the whole chain; None if the file names none."""
        cases = self.whole.get("cases")
        return None if cases is None else str(cases)

    def before(self, name: str) -> tuple[str, ...]:
        """The names of the links before one."""
        names = [link.name for link in self.links]
        return tuple(names[: names.index(name)])


def is_chain(path: Path) -> bool:
    """Whether this is a TOML file with [[links]]."""
    if path.suffix.lower() != ".toml" or not path.is_file():
        return False
    try:
        return isinstance(read_toml(path).get(LINKS), list)
    except PromptError:
        return False  # whoever reads it as a prompt reports what is invalid


def read_chain(path: Path) -> Chain:
    """Reads a chain. Files that it names are looked up beside it, then in the current folder.

    Raises PromptError, with the file and the link, if it is invalid.
    """
    content = read_toml(path)
    tables = content.pop(LINKS, None)
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        msg = _(
            "{path}: a chain has [[links]], each with a name and a prompt. See docs/prompts.md.", path=path
        )
        raise PromptError(msg)
    title = str(content.pop("title", ""))
    common = dict(_settings(path, "", content, _FORBIDDEN))
    links = tuple(_link(path, number, table) for number, table in enumerate(tables, 1))
    names = [link.name for link in links]
    _check_names(path, names)
    return Chain(
        path=str(path),
        title=title,
        settings={key: value for key, value in common.items() if key not in _WHOLE_SETTINGS},
        whole={key: value for key, value in common.items() if key in _WHOLE_SETTINGS},
        links=links,
    )


def _check_names(path: Path, names: Sequence[str]) -> None:
    """Raises PromptError for names that make a variable ambiguous."""
    for name in names:
        begins_another = any(each.startswith(f"{name}_") for each in names)
        if names.count(name) > 1 or name == WHOLE or begins_another:
            msg = _(
                "{path}: the link's name '{name}' is used twice, begins another one, or means the whole"
                " chain: choose another.",
                path=path,
                name=name,
            )
            raise PromptError(msg)


def _link(path: Path, number: int, table: Mapping[str, Any]) -> Link:
    where = f"link {table.get('name', number)}: "
    own = {key: value for key, value in table.items() if key in _LINK_KEYS}
    rest = {key: value for key, value in table.items() if key not in _LINK_KEYS}
    if isinstance(own.get("prompt"), str):
        own["prompt"] = resolve_prompt(path, own["prompt"])
    own |= dict(_settings(path, where, {k: own[k] for k in ("cases", "adapter") if k in own}, frozenset()))
    if isinstance(own.get("set"), dict):
        own["set"] = {key: setting_text(value) for key, value in own["set"].items()}
    try:
        return Link(**own, settings=dict(_settings(path, where, rest, _FORBIDDEN)))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        why = (
            _("letters, digits and _ only, for it is part of $variables")
            if field == "name"
            else value_problem(first)
        )
        msg = _("{path}: {where}{field}: {why}.", path=path, where=where, field=field, why=why)
        raise PromptError(msg) from None


def _settings(
    path: Path, where: str, table: Mapping[str, Any], forbidden: frozenset[str]
) -> Iterator[tuple[str, Any]]:
    """Names and values of settings, with the files that they name resolved."""
    for key, value in table.items():
        if key in forbidden or key not in Settings.model_fields:
            known = Settings.model_fields.keys() - forbidden
            raise UnknownName(_("setting"), key, known, f"({where}in {path})")
        if key in FILE_SETTINGS and isinstance(value, str):
            yield key, resolve_path(path, value)
        elif key == "adapter" and isinstance(value, str):
            yield key, resolve_bot(path, value)
        elif key == "judges":
            yield key, resolve_judges(path, value)
        else:
            yield key, value


class LinkCall(NamedTuple):
    """A link with its prompted bot; `own` if that is not the bot of the whole run."""

    name: str
    bot: PromptedBot
    own: bool = False


class ChainBot:
    """A bot that asks all links of a chain in turn, within the places of the run's own bot."""

    def __init__(self, links: Sequence[LinkCall], bot: Any, timeout: float) -> None:
        """`bot` is the run's own bot; `timeout` in seconds is for all links together."""
        self.links, self.bot, self.timeout = tuple(links), bot, timeout
        self.traits = Traits(places=traits_of(bot).places)

    async def __call__(self, query: Query) -> Answer:
        """The last link's answer, with the answers of all links as steps; a link's failure is the chain's."""
        loop = asyncio.get_running_loop()
        # One deadline for all links: the caller, too, waits for the whole chain only so long.
        deadline = loop.time() + self.timeout * _LINKS_SHARE
        earlier: dict[str, str] = {}
        passages: tuple[Passage, ...] | None = None
        steps: list[Step] = []
        for link in self.links:
            seconds = max(deadline - loop.time(), 0.001)
            answer = await _ask_link(link, query, earlier, passages, seconds)
            steps.append(Step(link=link.name, text=answer.text, seconds=answer.seconds, usage=answer.usage))
            if answer.error is not None:
                reason = _("link {name}: {reason}", name=link.name, reason=answer.error.message)
                failure = answer.error.model_copy(update={"message": reason})
                return Answer(text="", error=failure, steps=tuple(steps), usage=_usage(steps))
            passages = answer.passages if answer.shows_passages else passages
            earlier |= link_variables(link.name, answer.text)
        whole = {
            "passages": passages or (),
            "shows_passages": passages is not None,
            "seconds": None,  # measured for all links together by whoever asks the chain
            "usage": _usage(steps),
            "steps": tuple(steps),
        }
        return answer.model_copy(update=whole)

    async def aclose(self) -> None:
        """Closes the connections of every bot, once."""
        for each in (self.bot, *(link.bot for link in self.links if link.own)):
            closed = getattr(each, "aclose", lambda: None)()
            if inspect.isawaitable(closed):
                await closed


async def _ask_link(
    link: LinkCall,
    query: Query,
    earlier: Mapping[str, str],
    passages: tuple[Passage, ...] | None,
    timeout: float,
) -> Answer:
    """A link's answer; `earlier` are the variables of links before, `passages` what one returned last."""
    texts = None if passages is None else tuple(passage.text for passage in passages)

    async def bot(query: Query) -> Any:
        try:
            return await link.bot.ask(query, earlier, texts)
        except MissingVariable as error:
            problem = _(
                "its prompt needs ${variable}, which no earlier link returned", variable=error.variable
            )
            raise BotFailure("malformed", problem) from None

    own = query.model_copy(update={"session": f"{query.session}/{link.name}"})
    places = traits_of(link.bot).places if link.own else None
    async with places or contextlib.nullcontext():
        return await timed_answer(bot, own, timeout)


def link_variables(name: str, text: str) -> dict[str, str]:
    """The variables of a link's answer for later links: `$intent`, `$intent_category`, `$intent_city`.

    Texts and numbers are put into a prompt as they were written.
    """
    return {name: text, **dict(_flat(name, object_within(text) or {}))}


def _flat(name: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, (dict, list)):
            yield f"{name}_{key}", output_text(value)
        else:
            yield f"{name}_{key}", value if isinstance(value, str) else json.dumps(value)
        if isinstance(value, Mapping):
            yield from _flat(f"{name}_{key}", value)


def _usage(steps: list[Step]) -> Usage | None:
    """The tokens of all links; without a model's name if there are several, for no price fits their sum."""
    usages = [step.usage for step in steps if step.usage]
    if not usages:
        return None
    models = {usage.model for usage in usages}
    return Usage(
        model=models.pop() if len(models) == 1 else "",
        tokens_in=sum(usage.tokens_in for usage in usages),
        tokens_out=sum(usage.tokens_out for usage in usages),
    )


class AppliedPrompts:
    """The prompts of a run, read before anything else so that an invalid one is reported at once."""

    def __init__(self, settings: Settings) -> None:
        """Raises PromptError for an invalid file."""
        self.settings = settings
        name = settings.prompt or ""
        self.chain: Chain | None = read_chain(Path(name)) if is_chain(Path(name)) else None
        names = [link.prompt for link in self.chain.links] if self.chain else [name]
        self.prompts: tuple[Prompt, ...] = tuple(read_prompt(each, settings.shots) for each in names)
        for prompt in self.prompts:
            check_examples(prompt)
        for prompt in self.prompts[:-1]:
            if prompt.choosing == "labels" and not prompt.labels:
                msg = _(
                    "{prompt}: in a chain, it has to name its labels: write [labels].", prompt=prompt.path
                )
                raise PromptError(msg)

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that these prompts consist of, except those of the shelf."""
        chain = (Path(self.chain.path),) if self.chain else ()
        own = (path for prompt in self.prompts for path in files_of(prompt))
        return tuple(dict.fromkeys((*chain, *(path for path in own if path.parent != shelves.PROMPTS))))

    @property
    def code(self) -> tuple[str, ...]:
        """The user's own functions (`bot.py:answer`) that links ask."""
        links = self.chain.links if self.chain else ()
        return tuple(link.adapter for link in links if link.adapter and ":" in link.adapter)

    def row_check(self, case: Case) -> Message | None:
        """What a row lacks for these prompts, as a text to follow its file and line; None if nothing."""
        return next((problem for check in self._row_checks if (problem := check(case))), None)

    @cached_property
    def _row_checks(self) -> tuple[RowCheck, ...]:
        names = [link.name for link in self.chain.links] if self.chain else [""]
        return tuple(
            row_check(prompt, frozenset(names[:number]) if self.chain else frozenset())
            for number, prompt in enumerate(self.prompts)
        )

    async def around(self, bot: Bot, plan: Sequence[Conversation], connect: Connect) -> Bot:
        """The bot asked with these prompts; recorded answers are returned unchanged."""
        if self.settings.adapter == RECORDED:
            return bot
        lookup, labels = case_lookup(plan), self._labels(plan)
        if self.chain is None:
            return PromptedBot(bot, self.prompts[0], lookup, labels)
        links = []
        for link, prompt in zip(self.chain.links, self.prompts, strict=True):
            own = link.adapter is not None or bool(link.set)
            adapter, adapter_settings = self.settings.adapter, self.settings.set
            if own:
                is_other = link.adapter not in (None, adapter)
                adapter_settings = link.set if is_other else {**adapter_settings, **link.set}
                adapter = link.adapter or adapter
            link_bot = await connect(adapter, adapter_settings) if own else bot
            links.append(LinkCall(link.name, PromptedBot(link_bot, prompt, lookup, labels), own))
        return ChainBot(links, bot, self.settings.timeout)

    @property
    def summary(self) -> str:
        """The prompts with their versions, in order: `intent 1 -> reply 3`."""
        return " -> ".join(f"{prompt.name} {prompt.version}" for prompt in self.prompts)

    def fingerprints(self) -> dict[str, str]:
        """The hash of each prompt, for the run file."""
        return {f"prompt:{prompt.name}": prompt.hash for prompt in self.prompts}

    def versions(self) -> dict[str, str]:
        """The version that each prompt file states, for the run file."""
        return {f"prompt:{prompt.name}": prompt.version for prompt in self.prompts}

    @property
    def labels(self) -> tuple[Mapping[str, str], ...]:
        """The text of each label, for each language; in a chain, those of its last link."""
        return tuple(self.prompts[-1].labels.values())

    def _labels(self, plan: Iterable[Conversation]) -> tuple[str, ...]:
        """The data set's labels; from the plan if a prompt needs them and neither it nor --labels has any."""
        needed = any(prompt.choosing == "labels" and not prompt.labels for prompt in self.prompts)
        if not needed or self.settings.labels:
            return tuple(self.settings.labels)
        labels = labels_in(conversation.case for conversation in plan)
        if not labels:
            msg = _(
                "{prompts}: no row has a label to choose: write [labels], or --labels A,B.",
                prompts=self.prompts[-1].path,
            )
            raise InputError(msg)
        return labels


def applied_prompts(settings: Settings) -> AppliedPrompts | None:
    """The prompts in the settings; None if rows are sent unchanged. Raises InputError outside `evaluate`."""
    if settings.prompt is None:
        return None
    if settings.protocol != "single_turn":
        raise InputError(_("prompt: only `evaluate` applies a prompt; simulated customers have their own."))
    return AppliedPrompts(settings)
