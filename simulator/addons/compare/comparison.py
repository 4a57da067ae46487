"""One comparison of two or more runs, from their names to outcomes and figures."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from simulator.addons.compare.figures import PairwiseFigures, compared
from simulator.addons.compare.grade import (
    ORDERS,
    Outcome,
    PairJudge,
    PairLexicalJudge,
    PairModelJudge,
    PairPrompt,
    by_rule,
    distinct,
    has_evidence,
    judge_pairs,
)
from simulator.addons.compare.plan import matched
from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import _, language_of_most
from simulator.core.roles import GRADING, endpoints
from simulator.core.settings import Settings
from simulator.core.types import LEXICAL, Language, Results, Spending
from simulator.models import Models
from simulator.models.pricing import Ledger
from simulator.runner.estimate import prompt_tokens
from simulator.stats.figures import rounded
from simulator.storage.run_file import find_run, read_run

# Runs are shown as A, B, C ...
MOST = 10
# Tokens of a reply.
REPLY_TOKENS = 320


class PairwiseResult(NamedTuple):
    """All that a report is made from.

    `overall` has the grades (0..1) by run, conversation and turn, `names` the titles of personas.
    """

    figures: PairwiseFigures
    outcomes: Sequence[Outcome]
    model: str
    language: Language
    overall: Mapping[tuple[str, str, int], float]
    names: Mapping[str, str]


def as_json(result: PairwiseResult) -> dict[str, Any]:
    """The figures, then every pair that was compared; numbers with four decimals."""
    figures = result.figures
    return {
        "runs": list(figures.runs),
        "judge": result.model,
        "offline": result.model == LEXICAL,
        **rounded(figures.model_dump(mode="json", exclude={"problem"})),
        "duels": [{**rounded(duel.model_dump(mode="json")), "lead": duel.lead} for duel in figures.duels],
        "outcomes": [
            {
                **rounded(outcome.model_dump(mode="json", exclude={"question", "answers"})),
                "disagreed": outcome.disagreed,
                "lengths": [len("".join(text.split())) for text in outcome.answers],
            }
            for outcome in result.outcomes
        ],
    }


class Comparison:
    """One comparison; whatever is wrong with the input is raised when it is made."""

    def __init__(self, names: Sequence[str], settings: Settings, *, anchor: bool = False) -> None:
        """Every run against every other; with `anchor` the first one against the others."""
        self.settings = settings
        if not 2 <= len(names) <= MOST:
            n = len(names)
            msg = _("compare takes 2 to {most} runs, and was given {n}: compare A B.", most=MOST, n=n)
            raise InputError(msg)
        # By their files, in the order in which they were named.
        self.runs: dict[Path, Results] = {}
        for path in (find_run(name, Path(settings.runs)) for name in names):
            results = read_run(path)
            if results.run.id in [other.run.id for other in self.runs.values()]:
                raise InputError(_("run {run} is named twice; compare different runs.", run=results.run.id))
            self.runs[path] = results
        first = next(iter(self.runs.values()))
        self.matches = {
            (one.run.id, other.run.id): matched(one, other)
            for one, other in combinations(self.runs.values(), 2)
            if not anchor or one is first
        }
        if not any(match.pairs for match in self.matches.values()):
            one, other = next(iter(self.matches))
            msg = _(
                "no turn of {one} and {other} can be compared: other questions, personas, or"
                " customers who said something else. Hold the second with --replay {one}.",
                one=one,
                other=other,
            )
            raise InputError(msg)
        self.ledger = Ledger.of(settings)
        self._models = Models(endpoints(settings), settings, self.ledger)
        if self.model == LEXICAL:
            self._leave_out_unjudged()
        self.pairs = [pair for match in self.matches.values() for pair in match.pairs]
        guidelines = Path(settings.guidelines or shelves.JUDGES / "_guidelines.toml")
        self.prompt = PairPrompt(shelves.JUDGES / "_pairwise.toml", guidelines)

    def _leave_out_unjudged(self) -> None:
        """Without a model, only pairs with evidence are compared: by length or overlap alone is by chance."""
        for names, match in self.matches.items():
            judged = tuple(filter(has_evidence, match.pairs))
            self.matches[names] = match._replace(pairs=judged, unjudged=len(match.pairs) - len(judged))
        if not any(match.pairs for match in self.matches.values()):
            msg = _(
                "without a model, compare holds answers against references or passages, and none of the"
                " {n} pairs has any. Set a key, or give the questions references.",
                n=sum(match.unjudged for match in self.matches.values()),
            )
            raise InputError(msg)

    @property
    def model(self) -> str:
        """The judge's model; `lexical` for the stand-in."""
        endpoint = self._models.endpoints["judge"]
        return endpoint.model if endpoint else LEXICAL

    @property
    def rubric(self) -> str:
        """The fingerprint of the prompt, the reply's form and the model."""
        return self.prompt.fingerprint(self.model)

    @property
    def language(self) -> Language:
        """The language most turns are in; Japanese on a tie."""
        return language_of_most(pair.one.case.language for pair in self.pairs)

    @cached_property
    def judge(self) -> PairJudge:
        """A model, or the stand-in where there is none."""
        model = self._models.role("judge", temperature=self.settings.judge_temperature, priority=GRADING)
        if model is None:
            return PairLexicalJudge()
        return PairModelJudge(self.prompt, model, self.settings.seed)

    def forecast(self) -> Spending:
        """Calls, tokens and dollars at most: what the response cache has costs nothing."""
        if self.model == LEXICAL:
            return Spending()
        judged = [pair for pair in distinct(self.pairs).values() if by_rule(pair) is None]
        calls = [self.prompt.messages(pair, first) for pair in judged for first in ORDERS]
        tokens_in, tokens_out = sum(map(prompt_tokens, calls)), REPLY_TOKENS * len(calls)
        return self.ledger.prices.spending(self.model, len(calls), tokens_in, tokens_out)

    async def judged(self, on_outcome: Callable[[Outcome], None]) -> list[Outcome]:
        """The outcome of every pair; `on_outcome` gets each as soon as it is there."""
        try:
            return await judge_pairs(self.pairs, self.judge, self.settings.calls, on_outcome)
        finally:
            await self._models.close()

    def result(self, outcomes: Sequence[Outcome]) -> PairwiseResult:
        """What the outcomes say."""
        runs = {results.run.id: results for results in self.runs.values()}
        # The run's own Overall tells which wins are clear.
        overall = {
            (run, score.conversation, score.turn): score.value
            for run, results in runs.items()
            for score in results.scores
            if score.judge == "turn" and score.value is not None
        }
        personas = [persona for results in runs.values() for persona in results.personas]
        return PairwiseResult(
            compared(tuple(runs), outcomes, self.matches, self.settings.seed),
            outcomes,
            self.model,
            self.language,
            overall,
            {persona.id: persona.speaks(self.language).name for persona in personas},
        )
