"""From the names of runs to figures: who is compared with whom, who judges, and what it takes."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.roles import LEXICAL, endpoints
from simulator.core.settings import Settings
from simulator.core.types import Language, Results, Spending
from simulator.models.client import Connections
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger
from simulator.models.providers import Models
from simulator.pairwise.figures import Apart, Compared, compared
from simulator.pairwise.judging import ModelJudging, PairJudging, by_rule
from simulator.pairwise.kept import Kept
from simulator.pairwise.outcome import Outcome
from simulator.pairwise.pairs import Matched, Pair, matched
from simulator.pairwise.prompt import PairPrompt
from simulator.pairwise.sitting import judged
from simulator.pairwise.stand_in import StandInJudging
from simulator.runner.estimate import tokens
from simulator.storage.run_file import find_run, read_run

# Runs are shown as A, B, C ...
MOST = 10
# Tokens of a filled-in form.
REPLY = 320


class Chosen(NamedTuple):
    """The runs in the order given, with where they are."""

    paths: tuple[Path, ...]
    results: tuple[Results, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(each.run.id for each in self.results)


class Comparing:
    """One comparison; whatever is wrong with the input shows when it is made."""

    def __init__(self, names: Sequence[str], settings: Settings, *, anchor: bool = False) -> None:
        """Every run against every other; with `anchor` the first one against the others."""
        self.settings = settings
        self.runs = _runs(names, Path(settings.runs))
        ids = self.runs.ids
        self.matches = {
            (ids[i], ids[j]): matched(self.runs.results[i], self.runs.results[j])
            for i, j in combinations(range(len(ids)), 2)
            if not anchor or i == 0
        }
        if not self.pairs:
            raise InputError(_nothing(self.matches))
        guidelines = Path(settings.guidelines or shelves.JUDGES / "_guidelines.toml")
        self.prompt = PairPrompt(shelves.JUDGES / "_pairwise.toml", guidelines)
        self.ledger = Ledger.of(settings)
        self._connections = Connections.of(settings)
        self._models = Models(endpoints(settings), self._connections, self.ledger)

    @property
    def pairs(self) -> list[Pair]:
        """All comparable turns."""
        return [pair for match in self.matches.values() for pair in match.pairs]

    @property
    def model(self) -> str:
        """Who judges; `lexical` for the stand-in."""
        endpoint = self._models.endpoints["judge"]
        return endpoint.model if endpoint else LEXICAL

    @property
    def rubric(self) -> str:
        """Stands for the prompt, the form and the model."""
        return self.prompt.fingerprint(self.model)

    @property
    def language(self) -> Language:
        """The language most turns are in; Japanese on a tie."""
        english = sum(pair.one.case.language == "en" for pair in self.pairs)
        return "en" if english > len(self.pairs) / 2 else "ja"

    @cached_property
    def judge(self) -> PairJudging:
        """A model, or the stand-in where there is none."""
        model = self._models.role("judge", temperature=self.settings.judge_temperature, priority=GRADING)
        if model is None:
            return StandInJudging()
        return ModelJudging(self.prompt, model, self.settings.seed, self._kept)

    def forecast(self) -> Spending:
        """What is still to be paid at most: what earlier sittings kept is paid already."""
        judge = self.judge
        if not isinstance(judge, ModelJudging):
            return Spending()
        asked = [messages for p in self.pairs if by_rule(p) is None for messages in judge.open_calls(p)]
        tokens_in = sum(tokens(message["content"]) for messages in asked for message in messages)
        return self.ledger.prices.spending(self.model, len(asked), tokens_in, REPLY * len(asked))

    async def judged(self, told: Callable[[Outcome], None]) -> list[Outcome]:
        """The outcome of every pair."""
        try:
            return await judged(self.pairs, self.judge, self.settings.calls, told)
        finally:
            await self._connections.close()

    def figures(self, outcomes: Sequence[Outcome]) -> Compared:
        """What the outcomes say."""
        apart = {names: Apart(match.differing, match.alone) for names, match in self.matches.items()}
        return compared(self.runs.ids, outcomes, apart, self.settings.seed)

    def overall(self, run: str) -> dict[tuple[str, int], float]:
        """The run's own Overall (0..1) by conversation and turn: which wins are clear."""
        results = self.runs.results[self.runs.ids.index(run)]
        return {
            (s.conversation, s.turn): s.value
            for s in results.scores
            if s.judge == "turn" and s.value is not None
        }

    def _kept(self, pair: Pair) -> Kept:
        """Beside the run that was held later; ids sort by time."""
        return self._files[max(pair.a, pair.b)]

    @cached_property
    def _files(self) -> Mapping[str, Kept]:
        places = zip(self.runs.ids, self.runs.paths, strict=True)
        return {run: Kept(path.parent, self.rubric) for run, path in places}


def _runs(names: Sequence[str], folder: Path) -> Chosen:
    if not 2 <= len(names) <= MOST:
        msg = f"compare takes 2 to {MOST} runs, and was given {len(names)}: compare A B."
        raise InputError(msg)
    paths = tuple(find_run(name, folder) for name in names)
    found = Chosen(paths, tuple(read_run(path) for path in paths))
    twice = next((run for run in found.ids if found.ids.count(run) > 1), None)
    if twice:
        msg = f"run {twice} is named twice; compare different runs."
        raise InputError(msg)
    return found


def _nothing(matches: Mapping[tuple[str, str], Matched]) -> str:
    one, other = next(iter(matches))
    return (
        f"no turn of {one} and {other} can be compared: other questions, personas, or customers who said "
        f"something else. Hold the second with --replay {one}."
    )
