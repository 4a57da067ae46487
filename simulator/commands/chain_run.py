"""A chain of prompts: each link alone on its own rows, then the whole on its rows, and one table of all."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.addons.matrix.plan import DataSet, Matrix
from simulator.core.errors import InputError, UnknownName
from simulator.runner.chains import WHOLE, Chain, is_chain, read_chain

if TYPE_CHECKING:
    from simulator.commands.matrix_run import Shaping

# These stand in the chain itself, for each link and for the whole.
_OF_THE_CHAIN = ("prompt", "outputs", "labels", "positive")


def chain_given(files: Sequence[str], link: str | None) -> Path | None:
    """The chain that a command line is about; None where it names none."""
    chains = [Path(name) for name in files if is_chain(Path(name))]
    if chains and len(files) == 1:
        return chains[0]
    if chains or link is not None:
        msg = "a chain is evaluated alone: python run.py evaluate chain.toml --link NAME"
        raise InputError(msg)
    return None


def run_chain(path: Path, flags: Mapping[str, Any], shape: "Shaping", link: str | None = None) -> int:
    """Runs every link and the whole, each by itself, or only the one called `link`; gives the exit code."""
    from simulator.addons.matrix.plan import resolved
    from simulator.commands.matrix_run import run_matrix
    from simulator.commands.simulate import hold

    chain = read_chain(path)
    for name in _OF_THE_CHAIN:
        if flags.get(name):
            msg = f"--{name}: {path} says it for each link."
            raise InputError(msg)
    matrix = matrix_of(chain, link)
    if link is not None:
        (one,) = resolved(matrix, flags, shape)
        if one.outputs is None:  # else they have to be written down first, as those of a matrix are
            return hold(one.settings)
    return run_matrix(matrix, flags, shape)


def matrix_of(chain: Chain, link: str | None = None) -> Matrix:
    """The chain as runs: a data set for each link, with its prompt, and one for the whole."""
    data = tuple(_data(chain))
    if link is not None:
        known = [each.name for each in chain.links]
        data = tuple(each for each in data if each.name == link)
        if link not in (*known, WHOLE):
            raise UnknownName(f"link of {chain.path}", link, known)
    if not data:
        what = "this link has no rows of its own" if link else "neither a link nor the whole has rows"
        msg = f'{chain.path}: {what}: write cases = "rows.csv" there.'
        raise InputError(msg)
    return Matrix(data=data, settings=chain.settings, title=chain.title, chain=True)


def _data(chain: Chain) -> Iterator[DataSet]:
    for link in chain.links:
        if link.cases is not None:
            yield DataSet(name=link.name, cases=link.cases, settings=link.told)
    if chain.cases is not None:
        told = {**chain.whole, "prompt": chain.path}
        yield DataSet(name=WHOLE, cases=chain.cases, settings=told)
