"""One comparison of two runs, from their names to outcomes and figures."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
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
    matched,
)
from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import _, language_of_most
from simulator.core.roles import GRADING, endpoints
from simulator.core.settings import Settings
from simulator.core.types import LEXICAL, Language, Spending
from simulator.models import Models
from simulator.models.pricing import Ledger
from simulator.runner.estimate import prompt_tokens
from simulator.stats.figures import rounded
from simulator.storage.run_file import find_run, read_run

# Tokens of a reply.
REPLY_TOKENS = 320


class PairwiseResult(NamedTuple):
    """All that a report is made from; `names` are the titles of personas."""

    figures: PairwiseFigures
    outcomes: Sequence[Outcome]
    model: str
    language: Language
    names: Mapping[str, str]


def as_json(result: PairwiseResult) -> dict[str, Any]:
    """The figures, then every pair that was compared; numbers with four decimals."""
    figures = result.figures
    return {
        "runs": [figures.duel.a, figures.duel.b],
        "judge": result.model,
        "offline": result.model == LEXICAL,
        **rounded(figures.model_dump(mode="json", exclude={"problem", "duel"})),
        "duels": [{**rounded(figures.duel.model_dump(mode="json")), "lead": figures.duel.lead}],
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

    def __init__(self, names: Sequence[str], settings: Settings) -> None:
        """Reads both runs, and pairs their turns."""
        self.settings = settings
        if len(names) != 2:
            n = len(names)
            raise InputError(_("compare takes two runs, and was given {n}: compare A B.", n=n))
        one, other = (read_run(find_run(name, settings.runs)) for name in names)
        if one.run.id == other.run.id:
            raise InputError(_("run {run} is named twice; compare different runs.", run=one.run.id))
        self.runs = one, other
        self.match = matched(one, other)
        if not self.match.pairs:
            msg = _(
                "no turn of {one} and {other} can be compared: other questions, personas, or"
                " customers who said something else. Hold the second with --replay {one}.",
                one=one.run.id,
                other=other.run.id,
            )
            raise InputError(msg)
        self.ledger = Ledger.of(settings)
        self._models = Models(endpoints(settings), settings, self.ledger)
        if self.model == LEXICAL:
            # Without evidence a stand-in could only go by length or overlap: that is chance.
            n, judged = len(self.match.pairs), tuple(filter(has_evidence, self.match.pairs))
            if not judged:
                msg = _(
                    "without a model, compare holds answers against references or passages, and none of the"
                    " {n} pairs has any. Set a key, or give the questions references.",
                    n=n,
                )
                raise InputError(msg)
            self.match = self.match._replace(pairs=judged, unjudged=n - len(judged))
        self.pairs = self.match.pairs
        guidelines = Path(settings.guidelines or shelves.JUDGES / "_guidelines.toml")
        self.prompt = PairPrompt(shelves.JUDGES / "_pairwise.toml", guidelines)

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
        personas = [persona for run in self.runs for persona in run.personas]
        one, other = (run.run.id for run in self.runs)
        return PairwiseResult(
            compared((one, other), outcomes, self.match, self.settings.seed),
            outcomes,
            self.model,
            self.language,
            {persona.id: persona.speaks(self.language).name for persona in personas},
        )
