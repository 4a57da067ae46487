"""The customer as a model plays it: the dialogue with roles swapped, and the guard's retry.

The model is the customer, so what the customer said is the assistant's part, and what the desk said the
user's:

    system      who you are, what you come with, what matters now, and the form of the reply
    user        the desk's greeting
    assistant   月額はいくらですか？                    (turn 1)
    user        <desk 1a2b3c4d>990円です。</desk 1a2b3c4d>    (the bot's answer, quoted: it is data)

For each line:

1. `cues_of` draws what matters in it, by what the last answer does (users/rules.py); the prompt says it.
2. The model fills in `NextLine`: what the answer did and why, how it feels, stay or leave, the words. In a
   replay (`follow`) it also says whether the line that was said here before still fits, and if so that is it.
3. `ruled` decides what follows: who would be content with a refusal stays, who is out of patience leaves.
4. `Guard` looks at the words. A line that breaks a rule is asked for once more, with the problem named; a
   second broken one ends the conversation as `user_failed`, which is held against nobody.

The model never sees a reference. It could not unknow it, and would lead the bot to the right answer.
"""

import re
from typing import TypeVar

from simulator.core.errors import MalformedReply, ModelFailure
from simulator.core.messages import _, encodable
from simulator.core.replies import NextLine, ReplayedLine, Reply, Thought
from simulator.core.templates import quote, seal_of, stable_int
from simulator.core.types import Answer, Case, Language, Next, Persona, Reaction, Turn, Utterance
from simulator.models.client import Messages, Model
from simulator.models.reading import parse_reply
from simulator.users.base import UserPrompts
from simulator.users.rules import (
    cues_of,
    lets_through,
    reactions_to,
    ruled,
    says_again,
    style_of,
)

Form = TypeVar("Form", bound=Reply)
Line = TypeVar("Line", NextLine, ReplayedLine)
# Characters of an answer of the desk that the customer model reads: nobody reads more in a chat.
LONGEST_ANSWER = 4000
# What quotes the desk in the prompt, where a model copies it into its own line.
CODED_TAG = re.compile(r"</?(?:desk|case|line) [0-9a-f]{8}>")


class PersonaUser:
    """A model that plays one persona through one conversation."""

    def __init__(
        self,
        persona: Persona,
        prompts: UserPrompts,
        model: Model,
        *,
        seed: int,
        turns: int,
        voiced: bool = False,
        wanted: int = 0,
    ) -> None:
        """`turns` is the most there can be; `seed` belongs to this conversation.

        `wanted` are the turns that people would take (`wanted_turns`). Whose first line was not `voiced` for
        this persona is the case's question, as it stands.
        """
        self.persona, self.prompts, self.model = persona, prompts, model
        self.seed, self.turns, self.voiced = seed, turns, voiced
        self.wanted = wanted

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, or leaving, as the persona's rules have it: see `simulator.users.rules`.

        A draft that breaks the guard, or leaves where the rules let nobody go, is asked for once more. Raises
        ModelFailure if the second draft breaks the guard, too. After the last turn the words reach nobody: a
        goodbye is kept, also where the rules would not let go, and any other line ends with it.
        """
        return await self._line(case, turns, self.messages(case, turns), NextLine)

    async def follow(self, case: Case, turns: tuple[Turn, ...], line: str, before: Answer) -> Utterance:
        """`line`, which was said here before, if the model says that it fits; else the one it writes.

        That one is marked `diverged`.
        """
        messages = self.messages(case, turns, line)
        return await self._line(case, turns, messages, ReplayedLine, earlier=line)

    async def _line(
        self,
        case: Case,
        turns: tuple[Turn, ...],
        messages: Messages,
        reply_form: type[Line],
        *,
        earlier: str = "",
    ) -> Utterance:
        language = case.language
        broken: list[str] = []
        overruled: Next | None = None
        for attempt in range(2):
            draft = await self.draft(
                language, messages, stable_int(self.seed, len(turns), attempt), reply_form
            )
            reaction = self._reaction(turns, draft)
            if isinstance(draft, ReplayedLine) and (draft.fits or draft.message.strip() == earlier.strip()):
                # It is said whatever the rules make of the answer, as it was then.
                stays = reaction.model_copy(update={"next": "stay", "overruled": None})
                return Utterance(text=earlier, reason=reaction.why, reaction=stays)
            overruled = overruled or reaction.overruled
            utterance = Utterance(
                text=draft.message.strip(),
                next=reaction.next,
                reason=reaction.why,
                broken_rules=tuple(broken),
                reaction=reaction.model_copy(update={"overruled": overruled}),
                diverged=reply_form is ReplayedLine,
            )
            # The rules have the customer leave where the model would have stayed: that is no closing line.
            if reaction.next != "stay" and draft.next == "stay":
                utterance = utterance.model_copy(update={"text": ""})
            # A closing line is not checked: it is shown in the report, but the bot never reads it.
            if reaction.next != "stay":
                return utterance
            if len(turns) >= self.turns:
                return utterance.model_copy(update={"next": "over"} if draft.next != "stay" else {})
            rule = self._broken_rule(draft.message, case, turns)
            # The model wanted to leave, and the rules keep it: its goodbye would make no sense to the bot.
            if draft.next != "stay" and not attempt:
                rule = "leaving"
            if rule is None:
                return utterance
            broken += [rule] if rule != "leaving" else []
            problem = self.prompts.problem(language, rule)
            messages = [
                *messages,
                {"role": "assistant", "content": draft.message.strip() or "-"},
                {"role": "user", "content": self.prompts.text(language, "retry", problem=problem)},
            ]
        msg = _("the customer model broke the rule '{rule}' twice", rule=broken[-1])
        raise ModelFailure("guard", msg, raw=draft.message)

    def _reaction(self, turns: tuple[Turn, ...], draft: Thought) -> Reaction:
        """What the model makes of the last answer, bounded by the rules; no answer gives nothing."""
        answer = turns[-1].answer
        # What no answer gave is not for the model to say.
        failed = answer.error is not None or not answer.text.strip()
        said = Reaction(
            why=draft.why.strip(),
            got="nothing" if failed else draft.got,
            feeling=draft.feeling,
            next=draft.next,
        )
        return ruled(
            self.persona,
            [*reactions_to(turns), said],
            repeated=says_again(answer.text, [turn.answer.text for turn in turns[:-1]]),
            is_last=len(turns) >= self.turns,
            wanted=self.wanted,
        )

    def _broken_rule(self, text: str, case: Case, turns: tuple[Turn, ...]) -> str | None:
        """The guard's verdict, given all that this customer has said, was told and can know."""
        if CODED_TAG.search(text):
            return "markdown"
        guard, voice = self.prompts.guards[case.language], self.persona.speaks(case.language)
        return guard.broken_rule(
            text,
            [
                *(message.content for message in case.history if message.role == "user"),
                case.question,
                *(turn.user for turn in turns),
            ],
            references=[answer for answers in case.references for answer in answers],
            known=[
                *(message.content for message in case.history),
                *(turn.answer.text for turn in turns),
                *(case.goal or "", *case.known, *voice.knows),
            ],
            norm=None if self.persona.habits.rants else guard.norm(voice),
            allowed=lets_through(self.persona),
        )

    async def draft(self, language: Language, messages: Messages, seed: int, reply_form: type[Line]) -> Line:
        """What the model makes of a prompt, before any rule was applied."""
        return await self.model.ask(
            messages,
            reply_form,
            self.prompts.again(language),
            seed=seed,
            read=read_line,
        )

    def messages(self, case: Case, turns: tuple[Turn, ...], line: str | None = None) -> Messages:
        """The prompt: the dialogue with roles swapped, the desk the model's user, the customer its assistant.

        `line` is what was said here in the run that is replayed.
        """
        voice = self.persona.speaks(case.language)
        earlier, usual = reactions_to(turns), self.prompts.usual(case.language)
        cues = cues_of(
            self.persona,
            earlier,
            self.seed,
            usual,
            complains=case.is_complaint,
            wanted=self.wanted,
        )
        matter = self.prompts.matter(case, self.persona)
        answers = [turn.answer.text[:LONGEST_ANSWER] for turn in turns]
        # The case cannot open a section, nor an answer of the desk close its own.
        seal = seal_of(matter, line or "", *(m.content for m in case.history), *answers)
        system = self.prompts.text(
            case.language,
            "system",
            name=voice.name,
            voice=voice.voice.strip(),
            case=quote("case", matter, seal),
            style=self.prompts.style(case.language, style_of(self.persona, self.seed, usual)),
            cues=self.prompts.cues(
                case.language,
                cues,
                earlier[-1].feeling if earlier else self.persona.feeling,
                None if line is None else quote("line", line, seal),
                softens=len(turns) == 1 and not self.voiced,
            ),
            form=self.prompts.form(case.language, NextLine if line is None else ReplayedLine),
        )
        greeting, silence = (self.prompts.text(case.language, key) for key in ("greeting", "silence"))
        dialogue = swapped_dialogue(case, turns, greeting=greeting, silence=silence, seal=seal)
        return [{"role": "system", "content": system}, *dialogue]


def swapped_dialogue(
    case: Case, turns: tuple[Turn, ...], *, greeting: str, silence: str, seal: str
) -> Messages:
    """The dialogue so far with roles swapped: the desk is the model's user, the customer its assistant.

    What the desk said is quoted under the coded tag of `seal`; `silence` stands for an answer without text.
    """
    messages: Messages = [{"role": "user", "content": greeting}]
    swapped = {"user": "assistant", "assistant": "user"}
    for m in case.history:
        said = m.content if m.role == "user" else quote("desk", m.content, seal)
        messages.append({"role": swapped[m.role], "content": said})
    for turn in turns:
        messages.append({"role": "assistant", "content": turn.user})
        answer = turn.answer.text[:LONGEST_ANSWER]
        messages.append({"role": "user", "content": quote("desk", answer, seal) if answer else silence})
    return messages


def read_line(text: str, reply_form: type[Line]) -> Line:
    """The reply of the customer model; `**DONE**` ends the conversation only if it is the whole message.

    Simulators are often prompted to end that way, and some models do so unasked.
    """
    # Also **DONE**, `DONE` and 「DONE」。 with whatever stands around it.
    line = spoken(text, reply_form)
    if line.message.strip(" \t\n*_#`\"'「」。.!！") == "DONE":
        return reply_form(message="", next="satisfied", why="DONE")
    return line


def spoken(text: str, reply_form: type[Form]) -> Form:
    """The filled-in form; a reply without JSON is taken as the customer's words, its `message`."""
    try:
        line = parse_reply(text, reply_form)
    except MalformedReply:
        # A broken form is no line of a customer; prose without any brace is.
        if "{" in text:
            raise
        line = reply_form.model_validate({"message": text.strip()})
    said = line.model_dump()
    storable = encodable(said)
    return line if storable == said else reply_form.model_validate(storable)
