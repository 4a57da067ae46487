"""Plans a run: which of the cases are asked, by whom, and which judges fit them.

A plan is a sequence of conversations that nobody has held yet. Those of dialogues are cases times personas
times repeats; a row of a data set is asked once, by nobody in particular. The id of a conversation, such as
`angry/fees-01#1`, says all three, and with the run's seed it decides every random choice in it: so neither
the order of the cases nor a limit changes what is said in one conversation.

    cases a, b; personas angry, calm; 2 repeats    angry/a#1  angry/a#2  calm/a#1  calm/a#2  angry/b#1 ...
    no persona named                               one of three for each case, by lot: calm/a#1  calm/b#1
    two customers' models                          angry@m1/a#1  angry@m2/a#1  ...
    rows of a data set                             scripted/a#1  scripted/b#1
    --replay                                       the conversations of that run, emptied

The cases come from a file (`cases/cases.py`), a Google Sheet, a workbook, or the bundled ones. A data set of
a million rows is not read into memory: a plan keeps where its rows are, and makes a conversation when it is
looked at.
"""

import inspect
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, overload

from simulator.cases.cases import (
    QUESTIONS,
    CaseObjects,
    ColumnUse,
    DataSet,
    DatasetRequest,
    Labels,
    SkippedRows,
    dataset_of,
    read_cases,
    read_dataset,
)
from simulator.cases.profile import Need, case_label_problem, label_forms, label_set_problem, sort_labels
from simulator.core import shelves
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import Message, _, language_of, listed, sentences
from simulator.core.roles import check_one_player, endpoints
from simulator.core.settings import SMALL_JUDGES, Settings
from simulator.core.types import EXPECTATIONS, PASSED, RISK, TOOLS, Case, Conversation, Persona
from simulator.grading.offered import outputs_of
from simulator.grading.rubric import Judge, Rubric, grades_whole, load_judge
from simulator.runner.masking import masked_case, masked_conversations, redactor_of
from simulator.runner.prompts import AppliedPrompt
from simulator.sheets.questions import cases_of_sheet, cases_of_workbook
from simulator.storage.run_file import find_run, read_run
from simulator.users.attack import attack_cases
from simulator.users.details import detailed, fits, listed_personas
from simulator.users.mix import Mix, read_mix

# Without --persona, each case gets one of these, as in the article that this program follows.
USUAL_PERSONAS = ("angry", "calm", "beginner")
BUNDLED = (shelves.DEMO / "cases" / "ja.csv", shelves.DEMO / "cases" / "en.csv")
# What these judges compare the answer with; of other judges the needed fields are found by the names of their
# parameters (`reference`, `references`), or by what their rubric says that it needs.
_COMPARES: dict[str, frozenset[Need]] = {"label": frozenset({"label"}), "choice": frozenset({"label"})}
# This many of the skipped rows are listed in the message.
_LISTED = 3


class Plan(Sequence[Conversation]):
    """The conversations of a run, each made when it is accessed: every case with its personas and repeats."""

    def __init__(
        self,
        cases: Sequence[Case],
        personas: Sequence[str],
        repeats: int = 1,
        seed: int | None = None,
        *,
        frequencies: Sequence[float] | None = None,
        models: Sequence[str] = (),
        detailed: Callable[[Case, str], Case] | None = None,
        fits: Callable[[Case, str], bool] | None = None,
    ) -> None:
        """With a `seed` each case is played by one of the personas, chosen at random; else by all of them.

        They are as likely as their `frequencies`, or each as likely as the others. Of several `models` each
        plays all of it. `detailed` gives a case what its persona knows beside it; whom it `fits` draw
        it, or all if it fits none.
        """
        self.cases, self._personas, self._repeats, self._seed = cases, personas, repeats, seed
        self._frequencies, self._models = frequencies, models or ("",)
        self._detailed = detailed or (lambda case, _persona: case)
        self._fits = fits or (lambda _case, _persona: True)
        self._of_case = repeats * len(self._models) * (len(personas) if seed is None else 1)

    def __len__(self) -> int:
        """The number of conversations."""
        return len(self.cases) * self._of_case

    @overload
    def __getitem__(self, index: int) -> Conversation: ...

    @overload
    def __getitem__(self, index: slice) -> list[Conversation]: ...

    def __getitem__(self, index: int | slice) -> Conversation | list[Conversation]:
        """One or several; the repeats of a persona follow one another."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place, number = divmod(range(len(self))[index], self._of_case)
        case = self.cases[place]
        number, who = divmod(number, len(self._models))
        persona, repeat = divmod(number, self._repeats)
        name = self._personas[persona]
        if self._seed is not None:
            # Seeded by the case, so that neither --limit nor another order changes its persona. A plain
            # string as seed is hashed by `random` with SHA-512: the same in every process and version.
            rng = random.Random(f"{self._seed}/{case.id}")  # noqa: S311 - a choice, not a secret
            everyone = [*range(len(self._personas))]
            places = [at for at in everyone if self._fits(case, self._personas[at])] or everyone
            if self._frequencies is None:
                name = self._personas[rng.choice(places)]
            else:
                name = self._personas[rng.choices(places, [self._frequencies[at] for at in places])[0]]
        model = self._models[who]
        key = f"{name}{'@' if model else ''}{model}/{case.id}#{repeat + 1}"
        case = self._detailed(case, name)
        return Conversation(id=key, case=case, persona=name, repeat=repeat + 1, user_model=model)


def cases_of_plan(plan: Sequence[Conversation]) -> Sequence[Case]:
    """The cases of a plan, each once; those of a new run are read from their file when they are accessed."""
    # Without going through all conversations, of which there may be millions.
    if isinstance(plan, Plan):
        return plan.cases
    return tuple({conversation.case.id: conversation.case for conversation in plan}.values())


class PlannedRun(NamedTuple):
    """The conversations of a run in their order, the personas that occur in them, and what the data decides.

    `settings` name the judges that grade, `judges_chosen_for` the form of the data by which they were chosen,
    "" if the user named them. `columns` says which columns have no effect, `sample_message` how many rows
    were sampled, `unfit_message` which questions do not fit some of the personas.
    """

    plan: Sequence[Conversation]
    personas: tuple[Persona, ...]
    settings: Settings
    skipped: SkippedRows
    columns: ColumnUse = ColumnUse()
    judges_chosen_for: Message | str = ""
    sample_message: Message | str = ""
    unfit_message: Message | str = ""

    @property
    def ignored_columns(self) -> Message | None:
        """Which columns have no effect, and what was meant."""
        # With a prompt, any column may be one of its variables.
        if not self.columns.unused or self.settings.prompt is not None:
            return None
        return _ignored(self.settings.cases, self.columns)

    def messages(self) -> Iterator[Message | str]:
        """Lines on columns without effect, the sample, judges chosen, who asks what, and skipped rows."""
        if self.ignored_columns:
            yield self.ignored_columns
        in_rows = self.settings.protocol == "single_turn"
        is_asked = self.settings.adapter != "recorded"
        if self.columns.answers and is_asked and not (in_rows and self.columns.has_references):
            # A column of answers beside the questions often holds the right ones, named like a bot's own.
            yield _(
                "{cases}: the column {column} is read as earlier answers of a bot, and ignored. If "
                "it holds the reference answers: --columns references={column}",
                cases=self.settings.cases,
                column=self.columns.answers[0],
            )
        if in_rows:
            yield from self._of_labels()
        yield from filter(None, (self.sample_message, self.unfit_message))
        if self.judges_chosen_for:
            names = ", ".join(self.settings.judges)
            yield _(
                "Judges that fit the data ({form}): {names}. Others: --judges NAME,...",
                form=self.judges_chosen_for,
                names=names,
            )
        if left_out := self.skipped.left_out_message(str(self.settings.cases)):
            yield left_out
        if count := self.skipped.count:
            yield _(
                "{count} of {rows} rows left out:",
                count=count,
                rows=self.skipped.rows,
            )
            yield from (_("  {row}", row=row.message) for row in self.skipped.listed[:_LISTED])
            if count > _LISTED:
                yield _("  and {n} more; the report lists them.", n=count - _LISTED)

    def _of_labels(self) -> Iterator[Message]:
        """Lines on choices of which none is right, and on choices and labels that nobody shows the bot."""
        cases, judges, adapter = self.settings.cases, self.settings.judges, self.settings.adapter
        if self.columns.lacks_right_choice:
            msg = _("{cases}: no column says which choice is right. If one does: --columns label=COLUMN")
            yield msg.format(cases=cases)
        if adapter == "recorded" or self.settings.prompt is not None:
            return
        if "choice" in judges:
            yield _("{cases}: the bot is sent no choices. To show them: --prompt choose", cases=cases)
        if "label" in judges and adapter == "openai_chat":
            yield _("{cases}: the bot is sent no labels. To name them: --prompt labels", cases=cases)


def _ignored(cases: str | None, columns: ColumnUse) -> Message:
    unused = ", ".join(columns.unused)
    meant = columns.meant or columns.sorted_by
    return sentences(_("{cases}: ignored columns: {unused}.", cases=cases, unused=unused), meant)


def read_plan(settings: Settings, given: CaseObjects | None = None) -> PlannedRun:
    """Plans a run: each case of `settings.cases` with each persona, or once if it is a row of a data set.

    Cases that are `given` as objects take the place of a file.
    Raises CaseFileError for a file without a valid row, and at the first invalid one in the questions of
    conversations.
    """
    # The questions are those of the earlier run, whatever --cases says.
    if settings.replay:
        replayed = _replayed_plan(find_run(settings.replay, settings.runs), settings)
        if {conversation.user_model for conversation in replayed[0]} != {*settings.user_model}:
            check_one_player(settings)  # who goes on after a line that no longer fits
        asked = [conversation.case for conversation in replayed[0]]
        if _chooses_judges(settings):
            settings = _with_judges(
                settings,
                attacks=any(case.attack for case in asked),
                tools=any(case.tools for case in asked),
                expects=any(case.expect for case in asked),
            )
        return PlannedRun(*replayed, settings, SkippedRows())
    attacker = _attacker(settings)
    prompt = AppliedPrompt(settings) if settings.prompt else None
    labels = label_forms(settings.labels, tuple(prompt.prompt.labels.values())) if prompt else settings.labels
    data = _read(settings, labels, prompt, given, attacker)
    # A Python call prints nothing, so what would be a line of a command is an error.
    if given is not None and prompt is None and data.columns.meant:
        raise InputError(_ignored(settings.cases, data.columns))
    chosen_for: Message | str = ""
    is_open = _chooses_judges(settings)
    if settings.protocol == "single_turn":
        settings, chosen_for = _fitted(settings, data, labels)
    if is_open:
        expects = data.expects and settings.protocol == "dialogue"
        settings = _with_judges(
            settings, attacks=attacker is not None, tools=data.names_tools, expects=expects
        )
    language = settings.language
    # The bundled questions are there in both; which of them were asked stands in the run's settings.
    if language is None and (settings.cases is None or attacker):
        language = language_of(os.environ)
        settings = settings.model_copy(update={"language": language})
    message: Message | str = ""
    cases = data.rows(language, settings.sample, settings.limit)
    if size := settings.sample:  # before --limit is applied
        rows = len(data.rows(language))
        message = _("All {rows} rows are used: the sample asks for {size}.", rows=rows, size=size)
        if size < rows:
            message = _("{size} of {rows} rows at random.", size=size, rows=rows)
    message = _others_questions(settings, given, attacker) or message
    plan, personas, unfit = _played(settings, cases)
    return PlannedRun(plan, personas, settings, data.skipped, data.columns, chosen_for, message, unfit)


def _others_questions(
    settings: Settings, given: CaseObjects | None, attacker: Persona | None
) -> Message | str:
    """Whose questions are asked where they are not the user's; empty where that is no surprise."""
    is_own = bool(settings.cases) or given is not None
    if attacker:
        brings = _("{persona} brings its own questions; no others are asked.", persona=attacker.id)
        return brings if is_own else ""
    if is_own or settings.adapter == "demo":
        return ""
    return _("The demo's questions are asked, about a telecom company; yours: --cases FILE.")


def _attacker(settings: Settings) -> Persona | None:
    """The persona that brings its own questions; None where customers ask those of a file.

    Raises InputError where it is named among others: they would ask different questions.
    """
    if settings.protocol != "dialogue" or not settings.persona or _mix(settings.persona):
        return None
    personas = _personas(settings.persona)
    attacker = next((persona for persona in personas if persona.goals), None)
    if attacker and len(personas) > 1:
        msg = _("--persona {persona} brings its own questions: name no other.", persona=attacker.id)
        raise InputError(msg)
    return attacker


def _chooses_judges(settings: Settings) -> bool:
    """Whether the data says who grades: judges that were named, or chosen for outputs, stay as they are."""
    return "judges" not in settings.model_fields_set or settings.judges == SMALL_JUDGES


def _with_judges(settings: Settings, *, attacks: bool, tools: bool, expects: bool) -> Settings:
    """The settings with the judges of what the cases name; attacks have one of their own."""
    if not (attacks or tools or expects):
        return settings
    named = (*settings.judges, *[TOOLS] * tools, *[EXPECTATIONS] * expects)
    return settings.model_copy(update={"judges": (RISK,) if attacks else named})


def _played(
    settings: Settings, cases: Sequence[Case]
) -> tuple[Sequence[Conversation], tuple[Persona, ...], Message | str]:
    """The conversations, the personas that occur in them, and what is said of questions that fit not all.

    Raises InputError where no question fits anybody.
    """
    mix = _mix(settings.persona) if settings.protocol == "dialogue" else None
    if settings.protocol == "single_turn":
        personas = [shelves.scripted()]
    else:
        personas = mix.personas if mix else _personas(settings.persona or USUAL_PERSONAS)
    # Personas that were named all ask every question; those of a mix, and the usual three, take turns by lot.
    draws = len(personas) > 1 and (mix or not settings.persona)
    seed, frequencies = settings.seed if draws else None, mix.frequencies if mix else None
    models = settings.user_model if settings.protocol == "dialogue" and len(settings.user_model) > 1 else ()
    if models and settings.adapter == "recorded":
        check_one_player(settings)
    by_id = {persona.id: persona for persona in personas}
    # Nobody plays the lines of a log, nor the rows of a data set.
    is_played = settings.protocol == "dialogue" and settings.adapter != "recorded"

    if is_played:
        _check_listed(cases, by_id)

    def asks(case: Case, persona: str) -> bool:
        return not is_played or fits(case, by_id[persona])

    def with_details(case: Case, persona: str) -> Case:
        return detailed(case, by_id[persona], settings.seed) if is_played else case

    plan_of = partial(
        Plan,
        cases,
        [persona.id for persona in personas],
        settings.repeats,
        seed,
        frequencies=frequencies,
        models=models,
        fits=asks,
    )
    plan: Sequence[Conversation] = plan_of(detailed=with_details)
    # Who asks what, without the details, which take longer to draw than all else here.
    drawn = plan_of()
    unfit = [talk for talk in drawn if not asks(talk.case, talk.persona)] if is_played else []
    message: Message | str = ""
    if unfit:
        left_out = {talk.id for talk in unfit}
        plan = tuple(talk for talk in plan if talk.id not in left_out)
        pairs = [*dict.fromkeys(f"{talk.persona}/{talk.case.id}" for talk in unfit)]
        text = _("Not asked, because the question does not fit the customer: {pairs}.")
        message = text.format(pairs=listed(pairs, _LISTED))
        if not plan:
            raise InputError(message)
    if seed is None:
        return plan, tuple(personas), message
    # With few questions not everybody is drawn, and reports list only those who came.
    present = {talk.persona for talk in (drawn if not unfit else plan)}
    return plan, tuple(persona for persona in personas if persona.id in present), message


def _check_listed(cases: Iterable[Case], played: Iterable[str]) -> None:
    """Raises UnknownName for a question that names a persona which does not exist."""
    known = {*shelves.persona_names(), *played}
    for case in cases:
        for name in listed_personas(case):
            if name not in known:
                hint = _("Name your own with --persona, or put its file into personas/.")
                what = _("customer of question {id}", id=case.id)
                titles = shelves.file_titles(shelves.PERSONAS, known)
                raise UnknownName(what, name, known, hint, shelves.LISTED, titles=titles)


def _mix(names: Sequence[str]) -> Mix | None:
    """The mix of customers that is named, None where personas are; InputError for a mix among others.

    A mix and a persona of the user's own are both called by the name of a TOML file; only its content tells.
    """
    if not any(name.endswith(".toml") for name in names):
        return None
    mixes = {name: mix for name in names if (mix := read_mix(name))}
    if mixes and len(names) > 1:
        msg = _(
            "--persona {mix} is a mix, which says itself who comes: name no other.", mix=next(iter(mixes))
        )
        raise InputError(msg)
    return next(iter(mixes.values()), None)


def _replayed_plan(run: Path, settings: Settings) -> tuple[tuple[Conversation, ...], tuple[Persona, ...]]:
    """The conversations of a run that have begun, to be played again from the start."""
    results = read_run(run)
    # Case, persona and id stay: scores of both runs are compared by id.
    unplayed = {"turns": (), "ended": None, "reason": "", "closing": "", "reaction": None}
    conversations: Iterable[Conversation] = results.conversations
    if settings.redacts:
        conversations = masked_conversations(conversations, redactor_of(settings))
    plan = (conversation.model_copy(update=unplayed) for conversation in conversations if conversation.turns)
    return tuple(plan), results.personas


def _personas(names: Iterable[str]) -> list[Persona]:
    """The personas of these names; `all` are those of the shelf that ask the questions of a file.

    Raises InputError if two have one id.
    """
    by_name = dict[str, Persona]()
    for name in names:
        by_name |= shelves.customers() if name == "all" else {name: shelves.persona(name)}
    personas = [*by_name.values()]
    ids = [persona.id for persona in personas]
    for persona in personas:
        if ids.count(persona.id) > 1:
            msg = _(
                "--persona names two called '{persona}': rename the file of one of them.", persona=persona.id
            )
            raise InputError(msg)
    return personas


def sheet_cases(name: str, settings: Settings) -> Sequence[Case] | None:
    """The cases of a Google Sheet or of a report's workbook; None for any other file."""
    if name.startswith("sheet:"):
        worksheet = settings.worksheet or ""
        return cases_of_sheet(name, settings.case_language, worksheet, settings.columns)
    if name.lower().endswith((".xlsx", ".xlsm")):
        return cases_of_workbook(Path(name), settings.case_language)
    return None


def _fitted(settings: Settings, data: DataSet, labels: Labels) -> tuple[Settings, Message | str]:
    """The settings with the judges and labels of a data set, and the form of the data that chose the judges.

    Judges that were named stay. Rows that none of the judges can grade are skipped: in a conversation such a
    judge skips a turn, but a row has only the one.
    """
    chosen_for: Message | str = ""
    if "judges" not in settings.model_fields_set:
        judges, chosen_for = data.profile.judges(offline=endpoints(settings)["judge"] is None)
        settings = settings.model_copy(update={"judges": judges})
    # A judge of whole conversations has nothing to say of a single question and answer.
    of_rows = tuple(name for name in settings.judges if name == PASSED or _grades_rows(load_judge(name)))
    if not of_rows:
        msg = _(
            "--judges {judges} grades whole conversations, and a row is one question and answer: "
            "name another judge.",
            judges=", ".join(settings.judges),
        )
        raise InputError(msg)
    settings = settings.model_copy(update={"judges": of_rows})
    if "label" in map(shelves.judge_name, settings.judges):
        all_labels = labels or label_forms(sort_labels(data.profile.names))
        if problem := label_set_problem(all_labels):
            msg = _(
                "{cases}: {problem} Name all there are: --labels A,B.", cases=settings.cases, problem=problem
            )
            raise InputError(msg)
        settings = settings.model_copy(update={"labels": all_labels})
    outputs = outputs_of(settings)
    if outputs is None:
        names = [shelves.judge_name(name) for name in settings.judges]
        data.check([_needs(name) for name in settings.judges], names)
    else:
        references = outputs.reference_check()
        data.skip_where(references)
        references.done()
    return settings, chosen_for


def _read(
    settings: Settings,
    labels: Labels,
    prompt: AppliedPrompt | None,
    given: CaseObjects | None,
    attacker: Persona | None,
) -> DataSet:
    """The cases that the settings name, or the bundled ones. Raises InputError for rows without a file."""

    def problem(case: Case) -> Message | str | None:
        lack = case_label_problem(case, labels)
        return lack or (prompt.row_check(case) if prompt else None)

    if settings.protocol == "single_turn":
        request = DatasetRequest(asks=prompt is None, problem=problem)
    else:
        request = QUESTIONS
    request = request._replace(language=settings.case_language, columns=settings.columns)
    if settings.redacts:
        request = request._replace(mask=partial(masked_case, redactor=redactor_of(settings)))
    if attacker:
        return dataset_of(attacker.id, attack_cases(attacker), request)
    if given is not None:
        return read_dataset(given, request)
    if settings.cases is not None:
        cases = sheet_cases(settings.cases, settings)
        if cases is not None:
            return dataset_of(settings.cases, cases, request)
        return read_dataset(Path(settings.cases), request)
    if settings.protocol == "single_turn":
        raise InputError(_("evaluate needs a data set: python run.py evaluate questions.jsonl"))
    if settings.columns:
        raise InputError(_("--columns is for your question file: name it with --cases."))
    language = settings.language or language_of(os.environ)
    bundled = (path for path in BUNDLED if language in (path.stem, "all"))
    return dataset_of("demo", (case for path in bundled for case in read_cases(path)), request)


def _grades_rows(judge: Judge) -> bool:
    """Whether a judge can say anything of a single question; a rubric of whole conversations cannot."""
    return not (isinstance(judge, Rubric) and grades_whole(judge))


def _needs(name: str) -> frozenset[Need]:
    """The fields of a row that a judge compares the answer with; none if it looks at the answer alone."""
    score_name, judge = shelves.judge_name(name), load_judge(name)
    if score_name in _COMPARES:
        return _COMPARES[score_name]
    needs = judge.needs if isinstance(judge, Rubric) else inspect.signature(judge).parameters
    return frozenset({"references"} if {"reference", "references"} & {*needs} else ())
