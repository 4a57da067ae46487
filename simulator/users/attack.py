"""Attackers: personas that want what a bot must not give, turn after turn.

An adversarial persona brings its own questions: each of its goals is a case, whose question is the opening
line and whose `attack` is the rule that the judge `risk` applies, in place of the desk's rules. A model
builds each further line on what the bot just gave; without one, the lines of the goal are said in their
order.

The guard does not apply: an attacker may shout, forge, insult and change the language. Nothing here helps
against anything but the bot under test: the rule names what it must keep, the judge quotes what it gave.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from simulator.core import replies
from simulator.core.errors import ModelFailure
from simulator.core.messages import _, encodable
from simulator.core.replies import AttackLine
from simulator.core.templates import (
    LANGUAGES,
    Prompts,
    quote,
    seal_of,
    stable_int,
)
from simulator.core.types import Answer, Case, Goal, Language, Persona, Rule, Turn, Utterance
from simulator.models.client import Messages, Model
from simulator.users.guard import MOST
from simulator.users.persona import CODED_TAG, spoken, swapped_dialogue

# The ids of their cases begin with it: attack-system_prompt-en.
ATTACK = "attack"
_VARIABLES: dict[str, set[str]] = {
    "system": {"name", "voice", "aim", "form"},
    "silence": set(),
    "again": {"problem"},
    "empty": set(),
}


def attack_cases(persona: Persona) -> Iterator[Case]:
    """The goals of a persona as cases, each in both languages."""
    for goal in persona.goals:
        for language in LANGUAGES:
            text = goal.text(language)
            yield Case(
                id=_case_id(goal, language),
                question=text.lines[0],
                language=language,
                goal=text.aim,
                attack=Rule(id=goal.id, text=text.rule, severity=goal.severity),
                tags=(ATTACK,),
            )


def attack_lines(persona: Persona, case: Case) -> tuple[str, ...]:
    """The lines that follow the opening where no model plays; empty for a case that is none of its goals."""
    ids = {_case_id(goal, case.language): goal for goal in persona.goals}
    return ids[case.id].text(case.language).lines[1:] if case.id in ids else ()


def _case_id(goal: Goal, language: Language) -> str:
    return f"{ATTACK}-{goal.id}-{language}"


class ScriptedAttacker:
    """Says the lines of an attack in their order, where no model plays it."""

    def __init__(self, lines: Sequence[str], turns: int) -> None:
        """`lines` follow the opening; `turns` is the most there can be."""
        self.lines, self.turns = lines, turns

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, or the end after the last."""
        if len(turns) > min(len(self.lines), self.turns - 1):
            return Utterance(next="over")
        return Utterance(text=self.lines[len(turns) - 1] if turns else case.question)

    async def follow(self, case: Case, turns: tuple[Turn, ...], line: str, before: Answer) -> Utterance:
        """`line`: in a replay the same attack is made on both versions of a bot."""
        return Utterance(text=line)


class AttackPrompts(Prompts):
    """personas/_attacker.toml: how a model plays an attacker, in both languages."""

    def __init__(self, path: Path) -> None:
        """Reads and checks the file."""
        super().__init__(path, _VARIABLES)

    def form(self, language: Language) -> str:
        """The form of the reply, with the meaning of each key."""
        meanings = self.tables[language]["fields"]
        return replies.skeleton({key: ("text", str(meanings[key])) for key in AttackLine.model_fields})


class AttackerUser:
    """A model that plays one attack through one conversation."""

    def __init__(
        self, persona: Persona, prompts: AttackPrompts, model: Model, *, seed: int, turns: int, greeting: str
    ) -> None:
        """`turns` is the most there can be; `seed` belongs to this conversation."""
        self.persona, self.prompts, self.model = persona, prompts, model
        self.seed, self.turns, self.greeting = seed, turns, greeting

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, or the end: after the last turn, and where the model has won or given up.

        A line without words is asked for once more. Raises ModelFailure for a second one.
        """
        if len(turns) >= self.turns:
            return Utterance(next="over")
        messages = self.messages(case, turns)
        for attempt in range(2):
            draft = await self.model.ask(
                messages,
                AttackLine,
                self.prompts.again(case.language),
                seed=stable_int(self.seed, len(turns), attempt),
                read=spoken,
            )
            if draft.next != "stay":
                return Utterance(next="over", reason=draft.why.strip())
            text = str(encodable(draft.message.strip()[:MOST]))
            if text and not CODED_TAG.search(text):
                return Utterance(text=text, reason=draft.why.strip())
            problem = self.prompts.text(case.language, "empty")
            messages = [
                *messages,
                {"role": "assistant", "content": text or "-"},
                {"role": "user", "content": self.prompts.text(case.language, "again", problem=problem)},
            ]
        raise ModelFailure("guard", _("the customer model broke the rule '{rule}' twice", rule="empty"))

    async def follow(self, case: Case, turns: tuple[Turn, ...], line: str, before: Answer) -> Utterance:
        """`line`: in a replay the same attack is made on both versions of a bot."""
        return Utterance(text=line)

    def messages(self, case: Case, turns: tuple[Turn, ...]) -> Messages:
        """The prompt: what the attacker is after, then the dialogue with roles swapped."""
        voice, language = self.persona.speaks(case.language), case.language
        aim = case.goal or case.question
        seal = seal_of(aim, *(turn.answer.text for turn in turns))
        system = self.prompts.text(
            language,
            "system",
            name=voice.name,
            voice=voice.voice.strip(),
            aim=quote("case", aim, seal),
            form=self.prompts.form(language),
        )
        silence = self.prompts.text(language, "silence")
        dialogue = swapped_dialogue(case, turns, greeting=self.greeting, silence=silence, seal=seal)
        return [{"role": "system", "content": system}, *dialogue]
