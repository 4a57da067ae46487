"""What `--prompt` names, as a run applies it: one prompt, or a whole chain of them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from simulator.core import shelves
from simulator.core.errors import InputError, PromptError
from simulator.core.settings import Settings
from simulator.core.types import Case, Conversation, Rag
from simulator.data.datasets import labels_in
from simulator.prompting.asking import Prompted, rows_of
from simulator.prompting.chain import Chain
from simulator.prompting.chain_file import is_chain, read_chain
from simulator.prompting.chained import Asked, Chained
from simulator.prompting.checking import Lacks, check_examples, lacks
from simulator.prompting.prompt import Prompt
from simulator.prompting.reading import files_of, read_prompt

# An adapter's name and its settings in, the bot out.
Connect = Callable[[str, Mapping[str, str]], Awaitable[Rag]]
# Nothing is sent to it: the answers are there already.
RECORDED = "recorded"


class Applied:
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

    async def around(self, rag: Rag, plan: Sequence[Conversation], connect: Connect) -> Rag:
        """The bot as it is asked with these prompts; what was recorded is answered as it is."""
        if self.settings.adapter == RECORDED:
            return rag
        row, labels = rows_of(plan), self._labels(plan)
        if self.chain is None:
            return Prompted(rag, self.prompts[0], row, labels)
        links = []
        for link, prompt in zip(self.chain.links, self.prompts, strict=True):
            own = link.adapter is not None or bool(link.set)
            adapter, given = self.settings.adapter, self.settings.set
            if own:
                given = link.set if link.adapter not in (None, adapter) else {**given, **link.set}
                adapter = link.adapter or adapter
            bot = await connect(adapter, given) if own else rag
            links.append(Asked(link.name, Prompted(bot, prompt, row, labels), own))
        return Chained(links, rag, self.settings.timeout)

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
        found = labels_in(talk.case for talk in plan)
        if not found:
            msg = f"{self.prompts[-1].path}: no row has a label to choose: write [labels], or --labels A,B."
            raise InputError(msg)
        return found


def applied(settings: Settings) -> Applied | None:
    """The prompts that the settings name; None where rows are sent as they are."""
    if settings.prompt is None:
        return None
    if settings.protocol != "single_turn":
        msg = "prompt: only `evaluate` applies a prompt; a customer of a rehearsal speaks for themselves."
        raise InputError(msg)
    return Applied(settings)
