"""Contest scoring: five metrics from 1 to 5 and their total, printed as RAG contests print them."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any

from pydantic import Field

from simulator import __version__
from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.roles import LEXICAL, Endpoint, panelists
from simulator.core.settings import Settings
from simulator.core.shelves import CONTEST_NAMES, judge_name
from simulator.core.templates import fingerprint
from simulator.core.types import PASSED, Embed, GradingContext, Results, Score, Spending, Value
from simulator.data.files import read_text
from simulator.grading.judge import (
    FormFiller,
    FunctionJudge,
    JudgeCall,
    LexicalStandIn,
    ModelJudge,
    Panel,
    counting,
)
from simulator.grading.outputs import OutputJudges
from simulator.grading.rubric import PromptFrame, ReplySchema, Rubric, load_form, load_judge
from simulator.models.client import Model
from simulator.models.limiter import GRADING
from simulator.models.providers import Models
from simulator.text.normalise import tokenizer

HEAD = "***** Result *****"
_NAME_OF = {judge: name for name, judge in CONTEST_NAMES.items()}


class Metric(Value):
    """One metric: its mean grade (1..5) over `n` of the `planned` rows, and `why` others were not graded."""

    name: str
    judge: str
    mean: float | None
    n: int
    planned: int
    why: str = ""


class RequestedMetrics(Value):
    """The metrics that were asked for, in the contest's order, and what their judges used."""

    metrics: tuple[Metric, ...]
    cost: dict[str, Spending] = Field(default={})

    @property
    def average_score(self) -> dict[str, float | None]:
        """The means by name, rounded to 4 decimals; None for a metric of which nothing could be graded."""
        return {each.name: None if each.mean is None else round(each.mean, 4) for each in self.metrics}

    @property
    def total_score(self) -> float | None:
        """The sum of the means there are; None where there are none."""
        means = [each.mean for each in self.metrics if each.mean is not None]
        return fsum(means) if means else None

    def as_json(self) -> dict[str, Any]:
        """What is printed, and calls, tokens and dollars by metric."""
        total = self.total_score
        spent = {name: each.model_dump() for name, each in self.cost.items()}
        return {
            "average_score": self.average_score,
            "total_score": None if total is None else round(total, 3),
            "n": {each.name: each.n for each in self.metrics},
            "cost": spent,
        }


def contest_settings(settings: Settings) -> Settings:
    """Who grades, and each metric in a call of its own, where nobody says otherwise.

    Judges may be called as the contest calls them. Raises InputError where none of its metrics is among them.
    """
    if settings.scoring != "contest":
        return settings
    if settings.outputs:
        msg = "--scoring contest grades whole answers: leave out --outputs, or leave out --scoring."
        raise InputError(msg)
    given = settings.judges if "judges" in settings.model_fields_set else tuple(CONTEST_NAMES)
    judges = tuple(dict.fromkeys(CONTEST_NAMES.get(name, name) for name in given))
    if not set(map(judge_name, judges)) & set(_NAME_OF):
        msg = f"--scoring contest adds up {', '.join(CONTEST_NAMES)}: name at least one of them in --judges."
        raise InputError(msg)
    judging = settings.judging if "judging" in settings.model_fields_set else "separate"
    return settings.model_copy(update={"judges": judges, "judging": judging})


def is_contest(results: Results) -> bool:
    """Whether a run was scored so."""
    return results.run.settings.get("scoring") == "contest"


def contest(results: Results) -> RequestedMetrics:
    """The contest's figures of a run: the metrics that its settings name."""
    named: Any = results.run.settings.get("judges") or ()
    judges = {judge_name(str(name)) for name in named}
    planned = sum(len(conversation.turns) for conversation in results.conversations)
    by_judge: dict[str, list[Score]] = {judge: [] for judge in _NAME_OF if judge in judges}
    for score in results.scores:
        if score.judge in by_judge:
            by_judge[score.judge].append(score)
    return RequestedMetrics(
        metrics=tuple(_metric(judge, scores, planned) for judge, scores in by_judge.items()),
        cost={metric_names(each): results.judging[each] for each in sorted(results.judging, key=_order)},
    )


def _order(judges: str) -> int:
    """Where a call's first judge stands among the metrics; others follow them."""
    return next((at for at, judge in enumerate(_NAME_OF) if judge in judges.split(",")), len(_NAME_OF))


def _metric(judge: str, scores: Iterable[Score], planned: int) -> Metric:
    every = list(scores)
    grades = [score.raw for score in every if score.state == "scored" and score.raw is not None]
    why = next((score.reason for score in every if score.state != "scored"), "")
    mean = fsum(grades) / len(grades) if grades else None
    return Metric(name=_NAME_OF[judge], judge=judge, mean=mean, n=len(grades), planned=planned, why=why)


def metric_names(judges: str) -> str:
    """What the contest calls the judges of one call, which are separated by commas."""
    return ",".join(_NAME_OF.get(judge, judge) for judge in judges.split(","))


def printed(found: RequestedMetrics) -> str:
    """The result as contests print it, without a line break at its end."""
    total = found.total_score
    shown = "None" if total is None else f"{total:.3f}"
    return f"{HEAD}\naverage_score: {found.average_score}\ntotal_score: {shown}"


def not_graded(found: RequestedMetrics) -> Iterator[str]:
    """A line for each metric of which rows could not be graded, with the first reason."""
    for each in found.metrics:
        if each.n < each.planned:
            count = f"{each.n:,} of {each.planned:,} rows graded" if each.n else "nothing could be graded"
            why = f" ({' '.join(each.why.split())})" if each.why else ""
            yield (
                f"{each.name}: {count}{why}; the mean is of the others."
                if each.n
                else f"{each.name}: {count}{why}."
            )


Judge = Rubric | Callable[..., Any]


class Grading:
    """Made once per run; whatever is wrong with judges, guidelines or lists shows here."""

    def __init__(self, settings: Settings, models: Models) -> None:
        """Reads the judges, the guidelines and the team's lists; connects to nothing yet."""
        self.settings, self.models = settings, models
        guidelines = Path(settings.guidelines or shelves.JUDGES / "_guidelines.toml")
        self.frame = PromptFrame(shelves.JUDGES / "_frame.toml", guidelines)
        self.outputs = OutputJudges.of(settings)
        self.whole = _judges([name for name in settings.judges if not self.outputs or name != PASSED])
        self.lists = {
            "contacts": contacts_of(settings),
            "ng_words": lines_of_list(settings.ng_words, "--ng-words"),
        }
        tokenizer(settings.tokenizer)  # an unknown or missing one is told before anything is paid
        self.panelists = panelists(settings)
        whole = self.judgings(self.whole)
        self.panel = self.outputs.panel(self.judgings, whole) if self.outputs else Panel(whole)

    @property
    def judges(self) -> dict[str, Judge]:
        """Everyone who grades, by name: the whole answer, or outputs of it."""
        return {**self.whole, **(self.outputs.judges if self.outputs else {})}

    @property
    def names(self) -> tuple[str, ...]:
        """What scores of every turn are filed under: the judges, and those of the panel's further models."""
        rubrics = _rubrics(self.whole.values())
        beside = (f"{r.name}@{panelist.model}" for panelist in self.panelists for r in rubrics)
        verdict = (PASSED,) if self.outputs and self.outputs.file.decides else ()
        return (*verdict, *self.whole, *beside)

    def names_of(self, context: GradingContext) -> set[str]:
        """What scores of this turn are filed under: it depends on the outputs that its answer should have."""
        return {*self.names, *(self.outputs.names(context) if self.outputs else ())}

    @property
    def asked(self) -> list[tuple[str, Judge]]:
        """Who is asked about one turn; a judge of several outputs once for each."""
        return [*self.whole.items(), *(self.outputs.asked if self.outputs else ())]

    @property
    def together(self) -> bool:
        """Whether one model call fills in the forms of all judges."""
        return self.settings.judging == "combined" and not self.outputs and len(self.rubrics) > 1

    @property
    def rubrics(self) -> list[Rubric]:
        """The judges that a model plays, as often as they are asked about one turn."""
        return _rubrics(judge for _, judge in self.asked)

    @functools.cached_property
    def forms(self) -> list[ReplySchema]:
        """What the shelf's function judges have a model fill in."""
        return [
            load_form(name) for name, judge in self.asked if name in shelves.form_names() and callable(judge)
        ]

    def judgings(self, judges: Mapping[str, Judge]) -> list[JudgeCall]:
        """These judges at their work: a model, its stand-ins, and functions."""
        endpoint, rubrics = self.models.endpoints["judge"], _rubrics(judges.values())
        if endpoint is None:
            found: list[JudgeCall] = [LexicalStandIn(r, _stand_in(r.name), self.frame) for r in rubrics]
            return found + self._by_function(judges, None)
        model = self._grading_model(endpoint)
        found = self._by_model(rubrics, model) + self._by_function(judges, model)
        for panelist in self.panelists:
            found += self._by_model(rubrics, self._grading_model(panelist), filed=f"@{panelist.model}")
        return found

    def _grading_model(self, endpoint: Endpoint) -> Model:
        temperature = self.settings.judge_temperature
        return self.models.at(endpoint, temperature=temperature, priority=GRADING)

    def _by_model(self, rubrics: list[Rubric], model: Model, filed: str = "") -> list[JudgeCall]:
        together = self.together
        groups = [rubrics] if together else [[rubric] for rubric in rubrics]
        seed, votes = self.settings.seed, self.settings.votes
        return [
            ModelJudge(g, self.frame, model, seed=seed, alone=not together, votes=votes, filed=filed)
            for g in groups
        ]

    def _by_function(self, judges: Mapping[str, Judge], model: Model | None) -> list[JudgeCall]:
        fill = (
            FormFiller(functools.cache(load_form), self.frame, model, self.settings.seed) if model else None
        )
        given = {
            "embed": self._embed(),
            "fill": fill,
            "tokenizer": self.settings.tokenizer,
            "labels": self.settings.labels,
            **self.lists,
        }
        return [
            FunctionJudge(name, judge, given, self.frame, self._function_rubric(name, judge, model))
            for name, judge in judges.items()
            if not isinstance(judge, Rubric)
        ]

    def _embed(self) -> Embed:
        model = self.models.role("embed", priority=GRADING)
        return model.embed if model else _embed_lexically

    def _function_rubric(self, name: str, judge: Judge, model: Model | None) -> str:
        """Stands for the version, the models it may ask, the lists that it looks at, and its own files."""
        files = shelves.judge_files(judge) if callable(judge) else []
        own = [path.read_text(encoding="utf-8", errors="replace") for path in files]
        grading = model.endpoint.model if model else LEXICAL
        endpoint = self.models.endpoints["embed"]
        embed = endpoint.model if endpoint else LEXICAL
        wanted = inspect.signature(judge).parameters if callable(judge) else {}
        lists = [line for key, lines in self.lists.items() if key in wanted for line in lines]
        lists += [" = ".join((label, *texts)) for label, texts in self.settings.labels.items()]
        return fingerprint(name, __version__, embed, grading, self.settings.tokenizer, *own, *lists)


def contacts_of(settings: Settings) -> tuple[str, ...]:
    """What the desk makes public of itself, one a line."""
    return lines_of_list(settings.contacts or _demo_contacts(settings), "--contacts")


def _demo_contacts(settings: Settings) -> str | None:
    """The bundled bot with its bundled texts has a contact list, too."""
    bundled = settings.adapter == "demo" and "knowledge" not in settings.set
    return str(shelves.DEMO / "contacts.txt") if bundled else None


def lines_of_list(name: str | None, option: str) -> tuple[str, ...]:
    """The lines of a list that the team keeps; empty ones and # comments are left out."""
    if name is None:
        return ()
    try:
        lines = read_text(Path(name)).splitlines()
    except InputError as error:
        msg = f"{option}: {error}"
        raise InputError(msg) from None
    return tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


async def _embed_lexically(texts: list[str]) -> list[list[float]]:
    from simulator.text.embedding import hash_embed

    return await counting(hash_embed, texts)  # type: ignore[no-any-return]


def _stand_in(name: str) -> Callable[..., Any] | None:
    from simulator.grading.lexical import STAND_INS, LexicalJudge

    return LexicalJudge(name).graded if name in STAND_INS else None


def _rubrics(judges: Iterable[Judge]) -> list[Rubric]:
    return [judge for judge in judges if isinstance(judge, Rubric)]


def _judges(names: Sequence[str]) -> dict[str, Judge]:
    judges = {shelves.judge_name(name): load_judge(name) for name in names}
    if len(judges) < len(names):
        filed = [shelves.judge_name(name) for name in names]
        twice = next(name for name in filed if filed.count(name) > 1)
        msg = f"--judges names two judges called '{twice}': their grades would be filed under one name."
        raise InputError(msg)
    return judges
