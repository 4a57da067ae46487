"""Whether a row has what a prompt needs, before the first call."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from simulator.core.errors import PromptError
from simulator.core.types import Case
from simulator.data.files import shown
from simulator.prompting.prompt import Prompt
from simulator.prompting.rendering import MissingVariable, Rendering
from simulator.prompting.template import is_fixed

# A row in, what it lacks out, in words that follow its file and line; None when it lacks nothing.
Lacks = Callable[[Case], str | None]


def lacks(prompt: Prompt, links: AbstractSet[str] = frozenset()) -> Lacks:
    """What rows lack for a prompt; `links` are those asked before it, whose outcomes nobody knows yet."""
    rendering = Rendering(prompt, ("-",))  # which labels there are is known when all rows have been read
    earlier = Earlier(links)

    def told(case: Case) -> str | None:
        try:
            rendering.check(case, earlier)
        except MissingVariable as error:
            what = f"${error.variable}" if is_fixed(error.variable) else f"a column {shown(error.variable)}"
            return f"the prompt {prompt.name} needs {what}; {error.why}."
        return None

    return told


def check_examples(prompt: Prompt) -> None:
    """Raises PromptError for an example that lacks something, or has no right answer to show."""
    rendering = Rendering(prompt)
    for language in prompt.wordings:
        shown_here = prompt.shown(language)
        for example in shown_here.rows if shown_here.shots else ():
            asked = example.model_copy(update={"language": language})
            where = f"{prompt.path}: [examples] row {example.id}"
            if not rendering.right(asked):
                what = "references" if prompt.choosing == "nothing" else "label"
                msg = f"{where} has no {what} to show as its answer."
                raise PromptError(msg)
            try:
                rendering.as_example(asked, asked)
            except MissingVariable as error:
                msg = f"{where} lacks ${error.variable}, which the example uses."
                raise PromptError(msg) from None


class Earlier(Mapping[str, str]):
    """Stands for what links before one come to: any variable with the name of one of them."""

    def __init__(self, links: AbstractSet[str]) -> None:
        """`links` by their names."""
        self.links = links

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        found = name == "contexts" and bool(self.links)  # one of them may be a search
        return found or any(name == link or name.startswith(f"{link}_") for link in self.links)

    def __getitem__(self, name: str) -> str:
        if name in self:
            return "-"
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)
