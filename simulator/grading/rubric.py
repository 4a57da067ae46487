"""Rubrics (judges/*.toml), which a model grades by, and the frame that every rubric is asked in.

A prompt is put together so that what is the same for all turns comes first, and can be cached by the
endpoint:

    system    the rules of judging                      judges/_frame.toml, system
              the criterion and its worked examples     the rubric
              the desk's rules of conduct               --guidelines
              what was learned from people's labels     desk.toml
              the form of the reply                     the rubric's fields
    user      the material: history, question,          the turn, each piece quoted under a coded tag
              reference, passages, answer
              a reminder of the task                    judges/_frame.toml, closing

A rubric says which pieces it `needs` (without them it skips) and which it is shown (`material`): one that
grades fluency is shown no reference, which could only mislead it. Where several rubrics share a call, the
material is what any of them uses, and of each only the examples that are marked `combined` are shown.

The answer of the bot is hostile until proven otherwise: it is quoted with a code that depends on everything
else in the prompt, and the reminder after it has the last word.

`fingerprint` is a hash of all of that but the material, with form and model. It is stored with every grade,
and grades with different ones are never compared as if they were one judge's.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from simulator.cases.files import read_text
from simulator.core import replies, shelves
from simulator.core.errors import PromptError, is_unknown_item, value_problem
from simulator.core.messages import _
from simulator.core.templates import (
    LANGUAGES,
    check_languages,
    fingerprint,
    quote,
    quote_lines,
    read_toml,
    render,
    request,
    seal_of,
)
from simulator.core.types import GradingContext, Language, Passage, Rule, Value
from simulator.grading.desk import NO_DESK, DeskRules

# Characters of retrieved text in a prompt; passages beyond it are left out, and the prompt says so.
LONGEST_MATERIAL = 24_000
# Characters of each earlier message in a prompt: judges look at this turn, and only need to know what came
# before.
LONGEST_EARLIER = 4000
# Characters of retrieved text in the prompt about a whole conversation, where passages only help to compare.
LONGEST_RETRIEVED = 8000
# Characters of a call of a tool in a prompt, and of all together; of what lies further back only names are
# shown, and of no more than so many.
LONGEST_CALL, LONGEST_CALLS, MOST_CALLS = 2000, 12_000, 200
# What a rubric of turns may be shown, in the order of the prompt. The guidelines are the same for all turns,
# and stand with the criterion.
Piece = Literal["guidelines", "history", "question", "reference", "passages", "tools", "answer"]
_PIECES: tuple[Piece, ...] = get_args(Piece)
# What a rubric is shown that does not say what it uses, beside what it needs: one of the user's own is most
# often about the answer alone.
_USUAL: tuple[Piece, ...] = ("guidelines", "history", "question", "answer")
_NEEDED: dict[str, Piece] = {"reference": "reference", "passages": "passages", "retrieval": "passages"}
# The keys of a worked example that show material, in this order; the others are the reply's fields.
_EXAMPLE_MATERIAL = ("question", "reference", "passages", "answer", "transcript")
# Marks the examples that are also shown where several rubrics share a prompt.
_COMBINED = "combined"
# Stands in an example for the fields of the reply that it leaves out.
_LEFT_OUT = {"ja": "…", "en": "..."}

# The texts of judges/_frame.toml, with their variables.
_FRAME: dict[str, set[str]] = {
    **{
        name: set()
        for name in (
            "system", "closing", "answerable", "unanswerable", "nothing", "no_passages", "none_expected",
            "none_came_up", "unrecorded",
        )
    },
    # What is shown under a heading of its own.
    **{
        name: {name}
        for name in (
            "guidelines", "history", "question", "details", "reference", "passages", "tools", "answer",
        )
    },
    **{f"example_{name}": {"text"} for name in _EXAMPLE_MATERIAL},
    "desk": {"rules", "examples"},
    "material": {"pieces"},
    "first_reference": {"question", "reference"},
    "conversation": {"transcript", "reference"},
    "retrieved": {"passages"},
    "expected": {"sentences"},
    "task_one": {"criterion", "form"},
    "task_all": {"criteria", "form"},
    "again": {"problem"},
    "no_reference": {"turn"},
    "disagree": {"reference", "passages"},
    "sentence_unmet": {"sentence", "why"},
    "sentences_met": {"count"},
    "no_verdict": {"sentence"},
    "no_answer": {"kind"},
    "no_stand_in": {"judge"},
    "cut": {"count"},
    "left_out": {"count"},
    "capped": {"field", "grade", "said", "limit"},
    "worked_examples": {"examples"},
    "example": {"shown", "reply"},
}  # fmt: skip
# The texts that the material is put together from, beside those of its pieces.
_MATERIAL = ("material", "details", "first_reference", "answerable", "unanswerable")
_CONVERSATION = ("conversation", "details", "tools", "retrieved", "no_answer", "answerable", "unanswerable")


class _Wording(BaseModel):
    """What a file says in one language, beside its title and its criterion.

    Of a field that is a list of items, `fields` says what each key of an item means.
    """

    fields: dict[str, replies.Meaning] = {}
    examples: list[dict[str, Any]] = []


class JudgeFile(BaseModel):
    """The tables of judges/NAME.toml; docs/judges.md says what each key is for."""

    model_config = ConfigDict(extra="forbid")

    needs: tuple[Literal["reference", "passages", "retrieval", "expect"], ...] = ()
    material: tuple[Piece, ...] = ()
    value: str = ""
    grades: Literal["answer", "customer", "retrieval", "conversation"] = "answer"
    fields: dict[str, str] = Field(min_length=1)
    caps: dict[str, float | tuple[float, ...]] = {}
    short: tuple[str, ...] = ()
    ja: _Wording
    en: _Wording

    @model_validator(mode="after")
    def _is_shown_what_it_needs(self) -> Self:
        # A judge of whole conversations sees the transcript, of which there are no pieces.
        whole = self.grades == "conversation"
        if self.material and whole:
            raise ValueError(
                _("material is for judges of single answers: this one is shown the whole conversation")
            )
        if ("expect" in self.needs) > whole:
            raise ValueError(_("what a question expects is shown only to judges of whole conversations"))
        needed = {_NEEDED[need] for need in self.needs if need in _NEEDED}
        if missing := needed - {*(self.material or _PIECES)}:
            raise ValueError(_("it needs {name}, which is not in material", name=min(missing)))
        return self

    @model_validator(mode="after")
    def _the_short_form_is_a_part(self) -> Self:
        if not self.short:
            return self
        if unknown := [key for key in self.short if key not in self.fields]:
            raise ValueError(_("short names {name}, which is not in [fields]", name=unknown[0]))
        if self.value and self.value not in self.short:
            raise ValueError(_("short leaves out {name}, the verdict", name=self.value))
        return self

    @model_validator(mode="after")
    def _only_grades_cap(self) -> Self:
        graded = (self.value, *self.caps) if self.caps else ()
        for key in graded:
            if self.fields.get(key) not in {"grade", "binary", "share", "feeling"}:
                raise ValueError(_("caps are of grades, and {name} is none", name=key))
        return self

    @model_validator(mode="after")
    def _every_field_has_a_meaning(self) -> Self:
        for key, kind in self.fields.items():
            if kind not in replies.FIELD_KINDS:
                msg = _(
                    "[fields] {key} = '{kind}' is unknown; there are {kinds}",
                    key=key,
                    kind=kind,
                    kinds=", ".join(replies.FIELD_KINDS),
                )
                raise ValueError(msg)
            items = replies.FIELD_KINDS[kind].items
            for language in LANGUAGES:
                meaning = getattr(self, language).fields.get(key)
                if not meaning:
                    raise ValueError(_("[{language}.fields] {key} is missing", language=language, key=key))
                # Of a list of items the model is shown what each key of an item means, in the order in which
                # it thinks.
                if items and tuple(meaning) != items:
                    msg = _(
                        "[{language}.fields.{key}] must say what {items} are, in order",
                        language=language,
                        key=key,
                        items=", ".join(items),
                    )
                    raise ValueError(msg)
        return self


class _RuleFile(Value):
    """The one list of a file of rules."""

    rules: tuple[Rule, ...] = Field(min_length=1)

    @field_validator("rules")
    @classmethod
    def _no_two_alike(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        for rule_id, n in Counter(rule.id for rule in rules).items():
            if n > 1:
                raise ValueError(_("{n:d} rules have the id '{id}'", n=n, id=rule_id))
        return rules


@cache
def _form(name: str, fields: tuple[tuple[str, str], ...]) -> type[replies.Reply]:
    """The form with these fields and their kinds; made once, because that takes milliseconds."""
    kinds = {key: replies.FIELD_KINDS[kind] for key, kind in fields}
    left_out = {key: kind.left_out for key, kind in kinds.items() if kind.left_out is not ...}
    return replies.create_form(name, {key: kind.type for key, kind in kinds.items()}, left_out)


class ReplySchema:
    """A form that a model fills in about a turn: criterion, fields of the reply, worked examples.

    All of the file is checked when it is read, its worked examples by filling in the form with them: an
    example with a grade of 6 would teach the model to break the form.
    """

    def __init__(
        self, path: Path, values: Mapping[Language, Mapping[str, str]] = {}, *, short: bool = False
    ) -> None:
        """Reads and checks the file; the form is named like it.

        `values` are what its criterion may use as variables, in each language. `short`: where the file has a
        shorter criterion and form, they are used (`--judging small`).
        """
        self.path, self.name, self._values = path, path.stem.removeprefix("_"), values
        self._tables = read_toml(path)
        variables = {name for of_language in values.values() for name in of_language}
        # Only what is shown to a model may have variables.
        texts = {"title": set(), "criterion": variables}
        if self._tables.get("short"):
            texts["short"] = variables
        check_languages(path, self._tables, texts)
        try:
            self._file = JudgeFile.model_validate(self._tables)
        except ValidationError as error:
            first = error.errors()[0]
            places = first["loc"][:-1] if is_unknown_item(first) else first["loc"]
            place = "".join(f"{part}: " for part in places)
            msg = _("{path}: {place}{problem}.", path=path, place=place, problem=value_problem(first))
            raise PromptError(msg) from None
        self.is_short = short and bool(self._file.short)
        kept = self._file.short if self.is_short else tuple(self._file.fields)
        self.needs, self.fields = self._file.needs, {key: self._file.fields[key] for key in kept}
        self.material = self._file.material or (
            *_USUAL,
            *(_NEEDED[need] for need in self.needs if need in _NEEDED),
        )
        keys = {*self._file.fields, *_EXAMPLE_MATERIAL, _COMBINED}
        for language in LANGUAGES:
            examples = self.examples(language)
            # Beside one that shows the whole reply the others may show a part of it.
            has_whole = any(self.fields.keys() <= example.keys() for example in examples)
            for example in examples:
                must = {self._file.value} if has_whole else self.fields.keys()
                try:
                    # With the fields of the short form only, where that is in use.
                    reply = {key: example[key] for key in self.fields if key in {*must, *example}}
                    self._form_of(reply).model_validate(reply)
                    problem = ", ".join(example.keys() - keys)
                except (KeyError, ValidationError) as error:
                    problem = " ".join(str(error).split())
                if problem:
                    msg = _(
                        "{path}: a worked example does not fill in the form ({error}).",
                        path=path,
                        error=problem,
                    )
                    raise PromptError(msg)

    def title(self, language: Language) -> str:
        """What people call this judge."""
        return str(self._tables[language]["title"])

    def criterion(self, language: Language) -> str:
        """The definition, with a sentence per grade."""
        key = "short" if self.is_short else "criterion"
        return render(self._tables[language][key], **self._values.get(language, {}))

    def field_meanings(self, language: Language) -> dict[str, tuple[str, replies.Meaning]]:
        """Kind and meaning of every field of the reply."""
        meanings = getattr(self._file, language).fields
        return {key: (kind, meanings[key]) for key, kind in self.fields.items()}

    def examples(self, language: Language, *, combined: bool = False) -> list[dict[str, Any]]:
        """Worked examples: what is shown, and its reply; all, or those marked `combined`."""
        every: list[dict[str, Any]] = getattr(self._file, language).examples
        return (
            [example_shown for example_shown in every if example_shown.get(_COMBINED)] if combined else every
        )

    @cached_property
    def form(self) -> type[replies.Reply]:
        """The reply to this form alone."""
        return self._form_of(self.fields)

    def _form_of(self, keys: Container[str]) -> type[replies.Reply]:
        """The form with these of its fields."""
        return _form(self.name, tuple(field for field in self.fields.items() if field[0] in keys))

    def missing(self, context: GradingContext) -> str | None:
        """The first need that the context does not have; None if it has all of them."""
        if not self.needs:
            return None
        answer = context.turn.answer
        has = {
            "reference": bool(context.references),
            "passages": bool(answer.passages),
            "retrieval": bool(answer.passages) or answer.shows_passages,
            "expect": bool(context.case.expect),
        }
        return next((need for need in self.needs if not has[need]), None)


class Rubric(ReplySchema):
    """A criterion that a model grades by: a form of which one field is the verdict."""

    def __init__(self, path: Path, *, short: bool = False) -> None:
        """Reads and checks the file; the judge is named like it."""
        super().__init__(path, short=short)
        self.name = path.stem
        self.value, self.grades = self._file.value, self._file.grades
        # The verdict is at most so high where that field is at most so high.
        self.caps = {
            key: limits if isinstance(limits, tuple) else (limits,)
            for key, limits in self._file.caps.items()
            if key in self.fields
        }
        self.kind = replies.FIELD_KINDS.get(self.fields.get(self.value, ""), replies.FIELD_KINDS["text"])
        if self.kind.scale is None:
            msg = _(
                "{path}: value = '{value}' must name one of its fields that can be a grade.",
                path=path,
                value=self.value,
            )
            raise PromptError(msg)
        self.scale: tuple[float, float] = self.kind.scale


Judge = Rubric | Callable[..., Any]
# What an answer must not do, by the language of the case.
Rules = Mapping[Language, tuple[Rule, ...]]


def grades_whole(judge: "Judge | ReplySchema") -> bool:
    """Whether a judge grades whole conversations, and not their turns; a function's module says so, too."""
    if isinstance(judge, Rubric):
        return judge.grades == "conversation"
    return getattr(sys.modules.get(getattr(judge, "__module__", "")), "GRADES", "") == "conversation"


def load_judge(name: str, *, short: bool = False) -> Judge:
    """A judge by its name on the shelf, `./mine.toml` or `mine.py:strict`: a rubric, or a function."""
    source = shelves.judge_source(name)
    return Rubric(source, short=short) if isinstance(source, Path) else source


def load_form(name: str, rules: Rules | None = None) -> ReplySchema:
    """What a function judge asks a model to fill in, by the judge's name.

    Its criterion may use $rules, by default those of the shelf.
    """
    texts = {
        language: {
            "rules": "\n".join(f"- {rule.id}: {' '.join(rule.text.split())}" for rule in rules_of_language)
        }
        for language, rules_of_language in (rules or read_rules(None)).items()
    }
    return ReplySchema(shelves.form_path(name), texts)


class PromptFrame:
    """judges/_frame.toml and the guidelines: what all rubrics share."""

    def __init__(self, path: Path, guidelines: Path, desk: DeskRules = NO_DESK) -> None:
        """`guidelines` is TOML with [ja] and [en] text, or plain text for both; `desk` was learned."""
        self._tables = read_toml(path)
        check_languages(path, self._tables, _FRAME)
        self._guidelines, self._desk = read_guidelines(guidelines), desk
        self._systems: dict[tuple[object, ...], str] = {}
        self._last_material: tuple[GradingContext | None, dict[str, str]] = (None, {})

    def text(self, language: Language, key: str, /, **values: str) -> str:
        """A rendered text of the frame."""
        return render(self._tables[language][key], **values)

    def guidelines(self, language: Language) -> str:
        """The rules for the desk's behaviour."""
        return self._guidelines[language]

    def prompt(
        self, context: GradingContext, rubrics: Sequence[ReplySchema], *, alone: bool
    ) -> list[dict[str, str]]:
        """The messages to the model: rules and task, then the material, and last a reminder of the task.

        What is the same for all turns comes first, byte for byte, for endpoints that cache the beginnings of
        prompts. The reminder keeps what a bot wrote from having the last word.
        """
        language = context.case.language
        closing = self.text(language, "closing")
        return request(
            self._system(language, rubrics, alone=alone), f"{self._quoted(context, rubrics)}\n\n{closing}"
        )

    def _system(self, language: Language, rubrics: Sequence[ReplySchema], *, alone: bool) -> str:
        """The rules and the task; rendered once, for it is the same for every turn."""
        key = (language, alone, *rubrics)
        if key not in self._systems:
            task = self.task(language, rubrics, alone=alone)
            self._systems[key] = f"{self.text(language, 'system')}\n\n{task}"
        return self._systems[key]

    def _quoted(self, context: GradingContext, rubrics: Sequence[ReplySchema]) -> str:
        """The material that these rubrics use; the judges of a turn are asked one after the other."""
        language, whole = context.case.language, context.closing is not None
        # The same object: all judges of a turn get one context.
        if self._last_material[0] is not context:
            if whole:
                pieces = {"": self._conversation(context), "expect": self._expected(context)}
            else:
                pieces = self._material(context)
            self._last_material = (context, pieces)
        pieces = self._last_material[1]
        if whole:  # what is expected is told to nobody who is not asked about it
            is_asked = any("expect" in rubric.needs for rubric in rubrics)
            return "\n\n".join((pieces[""], pieces["expect"]) if is_asked else (pieces[""],))
        used = {piece for rubric in rubrics for piece in rubric.material}
        return self.text(
            language, "material", pieces="\n\n".join(text for key, text in pieces.items() if key in used)
        )

    def task(self, language: Language, rubrics: Sequence[ReplySchema], *, alone: bool) -> str:
        """What is to be graded, by which guidelines and in which form."""
        if alone:
            form = replies.skeleton(rubrics[0].field_meanings(language))
            criteria = self._criterion(language, rubrics[0], alone=True)
        else:
            form = replies.skeleton({rubric.name: rubric.field_meanings(language) for rubric in rubrics})
            criteria = "\n\n".join(
                f"[{rubric.name}] {rubric.title(language)}\n{self._criterion(language, rubric, alone=False)}"
                for rubric in rubrics
            )
        # Once for all rubrics of a call, and not in each of them.
        if any("guidelines" in rubric.material and not grades_whole(rubric) for rubric in rubrics):
            guidelines = self.text(language, "guidelines", guidelines=self._guidelines[language])
            criteria = f"{criteria}\n\n{guidelines}"
            if self._desk:
                rules, examples = self._desk.prompt_parts()
                nothing = self.text(language, "nothing")
                desk = self.text(language, "desk", rules=rules, examples=examples or nothing)
                criteria = f"{criteria}\n\n{desk}"
        key, name = ("task_one", "criterion") if alone else ("task_all", "criteria")
        return self.text(language, key, **{name: criteria, "form": form})

    def _criterion(self, language: Language, rubric: ReplySchema, *, alone: bool) -> str:
        """The criterion and its worked examples: all where it stands alone, else those for that."""
        criterion, examples = rubric.criterion(language), rubric.examples(language, combined=not alone)
        if not examples:
            return criterion
        shown = "\n\n".join(self._example(rubric, example, language) for example in examples)
        return f"{criterion}\n\n{self.text(language, 'worked_examples', examples=shown)}"

    def _example(self, rubric: ReplySchema, example: Mapping[str, Any], language: Language) -> str:
        texts = {key: example[key] for key in _EXAMPLE_MATERIAL if key in example}
        shown = [
            self.text(language, f"example_{key}", text=text if isinstance(text, str) else "\n".join(text))
            for key, text in texts.items()
        ]
        # Runs of fields that the example leaves out become one mark.
        runs = groupby(rubric.fields, lambda key: key in example)
        parts = [_reply_part(example, keys) if there else _LEFT_OUT[language] for there, keys in runs]
        return self.text(language, "example", shown="\n".join(shown), reply=f"{{{', '.join(parts)}}}")

    def fingerprint(self, rubrics: Sequence[ReplySchema], model: str, *, alone: bool) -> str:
        """A hash of everything but the material: prompt texts in both languages, reply form, caps, model.

        The same for all turns of a run, also where some of the rubrics are skipped.
        """
        # The guidelines are part of the task, and hashed with it.
        used = {piece for rubric in rubrics for piece in rubric.material} - {"guidelines"}
        material = _CONVERSATION if any(map(grades_whole, rubrics)) else (*_MATERIAL, *sorted(used))
        if any("expect" in rubric.needs for rubric in rubrics):
            material = (*material, "expected")
        texts = [
            text
            for language in LANGUAGES
            for text in (
                *(self._tables[language][key] for key in ("system", *material, "closing")),
                self.task(language, rubrics, alone=alone),
            )
        ]
        caps = [
            f"{key} {' '.join(f'{cap:g}' for cap in limits)}"
            for rubric in rubrics
            if isinstance(rubric, Rubric)
            for key, limits in rubric.caps.items()
        ]
        return fingerprint(*texts, *caps, model)

    def _material(self, context: GradingContext) -> dict[str, str]:
        """Each piece of the material with its heading, in the order of the prompt."""
        language, answer = context.case.language, context.turn.answer
        nothing = self.text(language, "nothing")
        # By characters: tokens depend on the model, and the hash of a prompt must not.
        fitting, left_out = within(answer.passages, LONGEST_MATERIAL)
        history = earlier_lines(context)
        passage_texts = [f"[{passage.id}] {passage.text}" for passage in fitting] or [nothing]
        references = context.right_answers or (nothing,)
        called = tool_lines(context)
        parts = (part for message in (*history, *(called or ())) for part in message)
        seal = seal_of(
            *parts, context.turn.user, answer.text, *passage_texts, *references, context.case.question
        )
        passages = [quote("passage", text, seal) for text in passage_texts]
        if left_out:
            passages.append(self.text(language, "cut", count=str(left_out)))
        pieces = {
            "history": quote_lines(history, seal) or nothing,
            "question": quote("question", context.turn.user, seal),
            "reference": self._reference(
                context, [quote("reference", text, seal) for text in references], seal
            ),
            "passages": "\n".join(passages),
            # Left out where the bot shows no tools, as a prompt without them would ask about nothing.
            **({} if called is None else {"tools": quote_lines(called, seal) or nothing}),
            "answer": quote("answer", answer.text, seal),
        }
        shown = {key: self.text(language, key, **{key: text}) for key, text in pieces.items()}
        # In its first line a customer says no more than the case's question.
        if context.turn.index > 1:
            shown["question"] += self._details(context, seal)
        return shown

    def _details(self, context: GradingContext, seal: str) -> str:
        """What was made up for the customer, so that no judge takes it for an invention of anybody's."""
        details = "\n".join(quote("detail", text, seal) for text in context.case.details)
        return f"\n\n{self.text(context.case.language, 'details', details=details)}" if details else ""

    def _conversation(self, context: GradingContext) -> str:
        """The whole dialogue, each line under a tag with the number of its turn, and the references."""
        language, case = context.case.language, context.case
        # Turn 0 is what was said before the first one: requests of it count, answers to it do not.
        lines = [("customer-0" if m.role == "user" else "desk-0", m.content) for m in case.history]
        for turn in context.turns:
            error = turn.answer.error
            none = self.text(language, "no_answer", kind=error.kind) if error else ""
            lines += [(f"customer-{turn.index}", turn.user), (f"desk-{turn.index}", turn.answer.text or none)]
        if context.closing:
            lines.append(("customer-leaving", context.closing))
        lines = [(tag, text[:LONGEST_EARLIER]) for tag, text in lines]
        references = [
            (f"reference-{at}", text) for at, texts in enumerate(case.references, 1) for text in texts
        ]
        called = tool_lines(context)
        retrieved, left_out = retrieved_lines(context)
        seal = seal_of(*(text for _tag, text in (*lines, *references, *(called or ()), *retrieved)))
        references_shown = [quote_lines(references, seal)] if references else []
        if case.answerable is not None:
            references_shown.append(self.text(language, "answerable" if case.answerable else "unanswerable"))
        nothing = self.text(language, "nothing")
        transcript = self.text(
            language,
            "conversation",
            transcript=quote_lines(lines, seal),
            reference="\n".join(references_shown) or nothing,
        )
        parts = [transcript + self._details(context, seal)]
        if retrieved:
            passages = [quote_lines(retrieved, seal)]
            if left_out:
                passages.append(self.text(language, "cut", count=str(left_out)))
            parts.append(self.text(language, "retrieved", passages="\n".join(passages)))
        if called is not None:
            parts.append(self.text(language, "tools", tools=quote_lines(called, seal) or nothing))
        return "\n\n".join(parts)

    def _expected(self, context: GradingContext) -> str:
        """The sentences that the case expects, each under a tag with its number."""
        sentences, said = (
            context.case.expect,
            (part for t in context.turns for part in (t.user, t.answer.text)),
        )
        seal = seal_of(*sentences, *said, context.closing or "")
        lines = [(f"expectation-{number}", sentence) for number, sentence in enumerate(sentences, 1)]
        return self.text(context.case.language, "expected", sentences=quote_lines(lines, seal))

    def _reference(self, context: GradingContext, quoted: list[str], seal: str) -> str:
        """The references, and whether they are answerable; on later turns with the first question."""
        case, language = context.case, context.case.language
        is_later = context.turn.index > 1
        if is_later and context.references:
            return "\n".join(quoted)
        if case.answerable is not None:
            quoted = [*quoted, self.text(language, "answerable" if case.answerable else "unanswerable")]
        if not is_later or (not context.right_answers and case.answerable is None):
            return "\n".join(quoted)
        question = quote("first", case.question, seal)
        return self.text(language, "first_reference", question=question, reference="\n".join(quoted))


def _reply_part(example: Mapping[str, Any], keys: Iterable[str]) -> str:
    return json.dumps({key: example[key] for key in keys}, ensure_ascii=False)[1:-1]


def earlier_lines(context: GradingContext) -> list[tuple[str, str]]:
    """Tag (customer or desk) and text of everything that was said before this turn."""
    history = context.case.history
    lines = [("customer" if message.role == "user" else "desk", message.content) for message in history]
    for turn in context.earlier:
        lines += [("customer", turn.user), ("desk", turn.answer.text)]
    return [(role, text[:LONGEST_EARLIER]) for role, text in lines]


def retrieved_lines(context: GradingContext) -> tuple[list[tuple[str, str]], int]:
    """Tag and text of what was retrieved in a conversation, and how many passages are left out for length.

    Each passage once, under the turn where it first came: ("passage-2", "[fees] Leaving costs 4,800 yen.")
    """
    first: dict[tuple[str, str], int] = {}
    for turn in context.turns:
        for passage in turn.answer.passages:
            first.setdefault((passage.id, passage.text), turn.index)
    every = [Passage(id=key, text=text) for key, text in first]
    fitting, left_out = within(every, LONGEST_RETRIEVED)
    return [
        (f"passage-{turn}", f"[{passage.id}] {passage.text}")
        for passage, turn in zip(fitting, [*first.values()], strict=False)
    ], left_out


def tool_lines(context: GradingContext) -> list[tuple[str, str]] | None:
    """Tag and text of each call of a tool up to this turn; None where the bot shows none of them.

    ("tool-2", 'refund({"order": 1}) -> done')
    """
    if all(turn.answer.tools is None for turn in context.turns):
        return None
    calls = [(turn.index, call) for turn in context.turns for call in turn.answer.tools or ()]
    room, lines = LONGEST_CALLS, list[tuple[str, str]]()
    for turn, call in reversed(calls[-MOST_CALLS:]):
        result = "" if call.result is None else f" -> {call.result}"
        text = f"{call.name}({call.arguments}){result}"[:LONGEST_CALL]
        room -= len(text)
        lines.append((f"tool-{turn}", text if room >= 0 else call.name))
    return lines[::-1]


def within(passages: Sequence[Passage], limit: int) -> tuple[list[Passage], int]:
    """The passages that fit into `limit` characters, in the retriever's order, and how many do not.

    The first is shown in any case, cut if it must be: of three of 10 characters, 25 hold two, and 1 is left
    out; of three of 30 they hold the first 25 characters of one, and 2 are left out.
    """
    # Whole passages or none: half of one may say the opposite of all of it.
    lengths = accumulate(len(passage.text) for passage in passages)
    fitting = [passage for passage, length in zip(passages, lengths, strict=True) if length <= limit]
    if passages and not fitting:
        fitting = [passages[0].model_copy(update={"text": passages[0].text[:limit]})]
    return fitting, len(passages) - len(fitting)


def read_guidelines(path: Path) -> dict[str, str]:
    """The rules for the desk's behaviour by language; a plain text serves both."""
    if path.suffix.lower() == ".toml":
        tables = read_toml(path)
        check_languages(path, tables, {"text": set()})
        return {language: str(tables[language]["text"]).strip() for language in LANGUAGES}
    return dict.fromkeys(LANGUAGES, read_text(path).strip())


def read_rules(path: str | None) -> Rules:
    """What answers must not do: a desk's own file serves both languages, without one it is the shelf's.

    Raises PromptError, which names the rule by its number from 1, for what is invalid.
    """
    if path is not None:
        return dict.fromkeys(LANGUAGES, _rules_of(Path(path)))
    return {language: _rules_of(shelves.JUDGES / f"_rules_{language}.toml") for language in LANGUAGES}


def _rules_of(path: Path) -> tuple[Rule, ...]:
    try:
        return _RuleFile.model_validate(read_toml(path)).rules
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
        msg = _(
            "--rules {path}: {place}: {problem}. Each [[rules]] has id, text and severity: major, moderate"
            " or minor.",
            path=path,
            place=place,
            problem=value_problem(first),
        )
        raise PromptError(msg) from None
