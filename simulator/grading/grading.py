"""The judges of a run: made once from its settings, and put together into a panel.

From names (--judges turn,em,mine.py:strict) to calls:

    a rubric, with a model          ModelJudge: one call for all rubrics (combined), or one for each; those of
                                    whole conversations that this program comes with share one, too
    a rubric, without one           LexicalStandIn: counted where counting can judge it, else skipped
    a function of the shelf         FunctionJudge, given what its parameters name: embed, fill, rules ...
    a function of the user's own    the same
    --panel MODEL (lab/judging)     every rubric once more, asked of that model; scores `turn@MODEL`
    --outputs FILE (lab/datasets)   OutputPanel, which puts each output before its judges
    --retest SHARE                  a second call, with another seed, for the turns that were drawn

Everything is read and checked here, before the run file is made: lists, guidelines, rules, forms.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.cases.files import read_text
from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.roles import JUDGE_TEMPERATURE, further_judges
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES, fingerprint, stable_int
from simulator.core.types import CONVERSATION, EXPECTATIONS, LEXICAL, PASSED, RETEST, Case, GradingContext
from simulator.core.version import __version__
from simulator.grading.desk import DeskRules, read_desk
from simulator.grading.lexical import STAND_INS, lexical_score
from simulator.grading.model_judge import FormFiller, ModelJudge
from simulator.grading.offered import added_arguments, further_models, outputs_of
from simulator.grading.panel import (
    NO_RETEST,
    FunctionJudge,
    JudgeCall,
    LexicalStandIn,
    Panel,
    Retest,
    counting,
)
from simulator.grading.rubric import (
    Judge,
    PromptFrame,
    ReplySchema,
    Rubric,
    grades_whole,
    load_form,
    load_judge,
    read_rules,
)
from simulator.models.by_role import Models
from simulator.models.client import Model
from simulator.models.limiter import GRADING
from simulator.text.embedding import hash_embed


class Grading:
    """Everything that grades in a run; invalid judges, guidelines and lists are reported when it is made."""

    def __init__(self, settings: Settings, models: Models, desk: DeskRules | None = None) -> None:
        """Reads the judges, the guidelines and the team's lists; connects to nothing yet.

        `desk` is tried in the place of the working folder's desk.toml.
        """
        self.settings, self.models = settings, models
        guidelines = Path(settings.guidelines or shelves.JUDGES / "_guidelines.toml")
        self.desk = read_desk() if desk is None else desk
        self.frame = PromptFrame(shelves.JUDGES / "_frame.toml", guidelines, self.desk)
        self.outputs = outputs_of(settings)
        self.answer_judges = _load_judges(
            # `passed` is made of the outputs' scores; without outputs it is an unknown judge.
            [name for name in settings.judges if not self.outputs or name != PASSED],
            short=settings.judging == "small",
        )
        functions = (judge for judge in self.judges.values() if not isinstance(judge, Rubric))
        names = {name for function in functions for name in inspect.signature(function).parameters}
        # Read before anything is paid: a list that is not there is reported at once.
        self.lists = {"contacts": contacts_of(settings), **added_arguments(settings, names)}
        self.rules = read_rules(settings.rules)
        self.load_form = functools.cache(functools.partial(load_form, rules=self.rules))
        self._attack_form = functools.cache(
            lambda name, rule: load_form(name, dict.fromkeys(LANGUAGES, (rule,)))
        )
        self.panelists = further_judges(further_models(settings), settings)
        # Judges of whole conversations are called once, when it is over.
        self.of_turns, self.of_conversations = (
            {n: j for n, j in self.answer_judges.items() if self._is_whole(j) is whole}
            for whole in (False, True)
        )
        calls, whole_calls = self.judge_calls(self.of_turns), self.judge_calls(self.of_conversations)
        if self.outputs:
            self.panel: Panel = self.outputs.panel(self.judge_calls, calls)
        else:
            retest = NO_RETEST
            if settings.retest:
                seed = stable_int(settings.seed, RETEST)
                # The same judges make their calls in the same order, so each call meets its own second one.
                judges = (self.of_turns, self.of_conversations)
                second = (call for some in judges for call in self.judge_calls(some, seed))
                pairs = zip((*calls, *whole_calls), second, strict=True)
                # Counting says the same twice, and would only take time.
                asking = {call: again for call, again in pairs if _asks_model(call)}
                retest = Retest(settings.retest, settings.seed, asking)
            self.panel = Panel(calls, whole_calls, retest)

    @property
    def judges(self) -> dict[str, Judge]:
        """All judges by name, those of whole answers first."""
        return {**self.answer_judges, **(self.outputs.judges if self.outputs else {})}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scores that every turn gets: the judges', and those of further models."""
        verdict = (PASSED,) if self.outputs and self.outputs.decides else ()
        return (*verdict, *self._names(self.of_turns))

    @property
    def conversation_names(self) -> tuple[str, ...]:
        """The names of the scores that every whole conversation gets."""
        return self._names(self.of_conversations)

    def _is_whole(self, judge: Judge) -> bool:
        """Whether a judge grades whole conversations; of a row, which is one turn, a function grades that."""
        return grades_whole(judge) and (isinstance(judge, Rubric) or self.settings.protocol != "single_turn")

    def _names(self, judges: Mapping[str, Judge]) -> tuple[str, ...]:
        """The judges' names, then `rubric@model` for each further model: only rubrics are asked of it."""
        rubrics = _rubrics(judges.values())
        further = (f"{rubric.name}@{panelist.model}" for panelist in self.panelists for rubric in rubrics)
        return (*judges, *further)

    def names_of(self, context: GradingContext) -> set[str]:
        """The names of the scores that this turn or conversation gets, those of its outputs included."""
        if context.closing is not None:
            return set(self.conversation_names)
        return {*self.names, *(self.outputs.names(context) if self.outputs else ())}

    @property
    def judges_per_turn(self) -> list[tuple[str, Judge]]:
        """Each judge as often as it grades one turn; a judge of several outputs once for each of them."""
        return [*self.of_turns.items(), *(self.outputs.judges_per_row if self.outputs else ())]

    @property
    def conversation_rubrics(self) -> list[list[Rubric]]:
        """The rubrics that grade a whole conversation, by the calls in which they are asked."""
        return self._grouped_whole(_rubrics(self.of_conversations.values()))

    def _grouped_whole(self, rubrics: list[Rubric]) -> list[list[Rubric]]:
        """What the customer got and what the team expects are told from one reading of the dialogue."""
        shared = [rubric for rubric in rubrics if rubric.name in (CONVERSATION, EXPECTATIONS)]
        if self.settings.judging != "combined" or len(shared) < 2:
            return [[rubric] for rubric in rubrics]
        return [shared, *([rubric] for rubric in rubrics if rubric not in shared)]

    @property
    def is_combined(self) -> bool:
        """Whether one model call fills in the forms of all rubrics."""
        return self.settings.judging == "combined" and not self.outputs and len(self.rubrics) > 1

    @property
    def rubrics(self) -> list[Rubric]:
        """The rubrics, as often as a model is asked about one turn."""
        return _rubrics(judge for _unused, judge in self.judges_per_turn)

    @functools.cached_property
    def forms(self) -> list[ReplySchema]:
        """The forms that function judges have a model fill in."""
        return [
            self.load_form(name)
            for name, judge in self.judges_per_turn
            if not isinstance(judge, Rubric) and shelves.has_form(name, judge)
        ]

    def is_graded_twice(self, conversation: str, turn: int) -> bool:
        """Whether models grade this turn a second time."""
        return self.panel.retest.draws(conversation, turn)

    def judge_calls(self, judges: Mapping[str, Judge], seed: int | None = None) -> list[JudgeCall]:
        """The calls that grade with these judges: by a model or its lexical stand-ins, and by functions.

        Functions are given the judge's first model only; the calls of further models come last.
        `seed` is another one than the run's, for a second grading.
        """
        seed = self.settings.seed if seed is None else seed
        # Functions may count without a model; what they ask a model for is None then.
        endpoint, rubrics = self.models.endpoints["judge"], _rubrics(judges.values())
        if endpoint is None:
            stand_ins: list[JudgeCall] = [
                LexicalStandIn(
                    rubric,
                    functools.partial(lexical_score, rubric.name) if rubric.name in STAND_INS else None,
                    self.frame,
                )
                for rubric in rubrics
            ]
            return stand_ins + self._function_calls(judges, None, seed)
        first, *further = (
            self.models.at(endpoint_asked, temperature=JUDGE_TEMPERATURE, priority=GRADING)
            for endpoint_asked in (endpoint, *self.panelists)
        )
        calls = self._model_calls(rubrics, first, seed) + self._function_calls(judges, first, seed)
        for panelist, model in zip(self.panelists, further, strict=True):
            calls += self._model_calls(rubrics, model, seed, suffix=f"@{panelist.model}")
        return calls

    def _model_calls(
        self, rubrics: list[Rubric], model: Model, seed: int, suffix: str = ""
    ) -> list[JudgeCall]:
        """One call for all rubrics if they are combined, else one for each; whole conversations by group."""
        whole = any(map(grades_whole, rubrics))
        if whole:
            groups = self._grouped_whole(rubrics)
        else:
            groups = [rubrics] if self.is_combined else [[rubric] for rubric in rubrics]
        return [
            ModelJudge(
                group,
                self.frame,
                model,
                seed=seed,
                alone=len(group) == 1 if whole else not self.is_combined,
                suffix=suffix,
            )
            for group in groups
        ]

    def _function_calls(self, judges: Mapping[str, Judge], model: Model | None, seed: int) -> list[JudgeCall]:
        """A call for each judge that is no rubric, with all that a function may ask for by parameter name."""
        embedder = self.models.role("embed", priority=GRADING)
        arguments = {
            "embed": embedder.embed if embedder else _embed_lexically,
            "fill": FormFiller(self._form_for, self.frame, model, seed) if model else None,
            "labels": self.settings.labels,
            "rules": self.rules,
            **self.lists,
        }
        return [
            FunctionJudge(name, judge, arguments, self.frame, self._function_rubric(name, judge, model))
            for name, judge in judges.items()
            if not isinstance(judge, Rubric)
        ]

    def _form_for(self, name: str, case: Case) -> ReplySchema:
        """The form of a function judge for a case; of an attack it is about the one rule that it is after."""
        return self._attack_form(name, case.attack) if case.attack else self.load_form(name)

    def _function_rubric(self, name: str, judge: Callable[..., Any], model: Model | None) -> str:
        """A hash of all that decides a function judge's grades: version, models, lists, its own files.

        Only what it asks for: a changed list of contacts does not make grades of `rouge_l` another judge's.
        """
        # Also its texts: _keigo_ja.toml decides as much as keigo.py.
        sources = [path.read_text(encoding="utf-8", errors="replace") for path in shelves.judge_files(judge)]
        grading = model.endpoint.model if model else LEXICAL
        endpoint = self.models.endpoints["embed"]
        embed = endpoint.model if endpoint else LEXICAL
        lists = {**self.lists, "rules": self.rules, "labels": self.settings.labels}
        asked = (repr(lists[key]) for key in inspect.signature(judge).parameters if key in lists)
        return fingerprint(name, __version__, embed, grading, *sources, *asked)


def contacts_of(settings: Settings) -> tuple[str, ...]:
    """The desk's public contacts: those of `--contacts`, or of the bundled bot with its bundled texts."""
    # With other texts the demo bot is another company's desk.
    bundled = settings.adapter == "demo" and "knowledge" not in settings.set
    return read_list(
        settings.contacts or (str(shelves.DEMO / "contacts.txt") if bundled else None), "--contacts"
    )


def read_list(name: str | None, option: str) -> tuple[str, ...]:
    """The lines of a team's list, without empty lines and # comments; InputError names the option."""
    if name is None:
        return ()
    try:
        lines = read_text(Path(name)).splitlines()
    except InputError as error:
        raise InputError(_("{option}: {problem}", option=option, problem=error)) from None
    return tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


async def _embed_lexically(texts: list[str]) -> list[list[float]]:
    vectors: list[list[float]] = await counting(hash_embed, texts)
    return vectors


def _asks_model(call: JudgeCall) -> bool:
    """Whether a call asks the judge's own model, and may say something else when it asks again.

    The calls of further models have a suffix, and are not repeated.
    """
    if isinstance(call, FunctionJudge):
        return call.arguments.get("fill") is not None
    return isinstance(call, ModelJudge) and not call.suffix


def _rubrics(judges: Iterable[Judge]) -> list[Rubric]:
    return [judge for judge in judges if isinstance(judge, Rubric)]


def _load_judges(names: Sequence[str], *, short: bool) -> dict[str, Judge]:
    """The judges by their own name, in the order given."""
    judges: dict[str, Judge] = {}
    for name in names:
        own_name, judge = shelves.judge_name(name), load_judge(name, short=short)
        # mine.py:turn and the shelf's turn, or em and exact_match.
        if own_name in judges:
            msg = _(
                "--judges names two judges called '{name}': their grades would be filed under one name.",
                name=own_name,
            )
            raise InputError(msg)
        judges[own_name] = judge
    return judges
