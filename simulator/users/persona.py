"""The customer as a model plays it: the dialogue with roles swapped, and the guard's retry.

The model is the customer, so what the customer said is the assistant's part, and what the desk said the
user's:

    system      who you are, what you come with, what matters now, and the form of the reply
    user        the desk's greeting
    assistant   月額はいくらですか？                    (turn 1)
    user        <desk 1a2b3c4d>990円です。</desk 1a2b3c4d>    (the bot's answer, quoted: it is data)

For each line:

1. `cues_of` draws what matters in it (users/rules.py); the prompt says it.
2. The model fills in `NextLine`: what it asked for, what it got, how it feels, why, stay or leave, the words.
3. `ruled` decides what follows: who would be content with a refusal stays, who is out of patience leaves.
4. `Guard` looks at the words. A line that breaks a rule is asked for once more, with the problem named; a
   second broken one ends the conversation as `user_failed`, which is held against nobody.

The model never sees a reference. It could not unknow it, and would lead the bot to the right answer.
"""

import re
from typing import TypeVar

from simulator.core.errors import MalformedReply, ModelFailure
from simulator.core.messages import _, encodable
from simulator.core.replies import NextLine, Reply
from simulator.core.templates import quote, seal_of, stable_int
from simulator.core.types import Case, Language, Next, Persona, Reaction, Turn, Utterance
from simulator.models.client import Messages, Model
from simulator.models.reading import parse_reply
from simulator.text.acts import apologises, ends_with_question, is_refusal
from simulator.text.evidence import says_it_again
from simulator.users.base import UserPrompts
from simulator.users.rules import cues_of, reactions_to, ruled, style_of

Form = TypeVar("Form", bound=Reply)
# Characters of an answer of the desk that the customer model reads: nobody reads more in a chat.
LONGEST_ANSWER = 4000
# What quotes the desk in the prompt, where a model copies it into its own line.
_CODED_TAG = re.compile(r"</?(?:desk|case) [0-9a-f]{8}>")
# A telephone number, or a time of day: 0120-123-456, 9:00. "990円です" has a figure to come back to,
# "0120-123-456に 9:00からお電話ください" has none.
_HOW_TO_CALL = re.compile(r"\d[\d()-]{7,}|\d{1,2}:\d\d")


class PersonaUser:
    """A model that plays one persona through one conversation."""

    def __init__(
        self, persona: Persona, prompts: UserPrompts, model: Model, *, seed: int, turns: int, greeting: str
    ) -> None:
        """`turns` is the most there can be; `seed` belongs to this conversation."""
        self.persona, self.prompts, self.model = persona, prompts, model
        self.seed, self.turns, self.greeting = seed, turns, greeting

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, or leaving, as the persona's rules have it: see `simulator.users.rules`.

        A draft that breaks the guard, or says goodbye where the rules let nobody go, is asked for once more.
        Raises ModelFailure if the second draft breaks the guard, too. After the last turn the words reach
        nobody: a goodbye is kept, also where the rules would not let go, and any other line ends with it.
        """
        language, messages = case.language, self.messages(case, turns)
        broken: list[str] = []
        overruled: Next | None = None
        for attempt in range(2):
            line = await self.draft(language, messages, stable_int(self.seed, len(turns), attempt))
            reaction = self._reaction(case, turns, line)
            overruled = overruled or reaction.overruled
            utterance = Utterance(
                text=line.message.strip(),
                next=reaction.next,
                reason=reaction.why,
                broken_rules=tuple(broken),
                reaction=reaction.model_copy(update={"overruled": overruled}),
            )
            is_last = len(turns) >= self.turns
            # The rules have the customer leave where the model would have stayed, and asked something.
            is_closing = reaction.next != "stay" and line.next == "stay"
            if is_closing and ends_with_question(utterance.text, language):
                utterance = utterance.model_copy(update={"text": ""})  # no question is a closing line
            if is_last and reaction.next == "stay":
                says_goodbye = line.next != "stay" or self.prompts.says_goodbye(language, utterance.text)
                return utterance.model_copy(update={"next": "over"} if says_goodbye else {})
            # A closing line is not checked: it is shown in the report, but the bot never reads it.
            is_heard = reaction.next == "stay"
            rule = self._broken_rule(line.message, case, turns) if is_heard else None
            # The model wanted to leave, and the rules keep it: its goodbye would make no sense to the bot.
            if is_heard and line.next != "stay" and not attempt:
                says_goodbye = self.prompts.says_goodbye(language, line.message.strip())
                rule = "leaving" if says_goodbye or rule == "empty" else rule
            if rule is None:
                return utterance
            broken += [rule] if rule != "leaving" else []
            problem = self.prompts.problem(language, rule)
            messages = [
                *messages,
                {"role": "assistant", "content": line.message.strip() or "-"},
                {"role": "user", "content": self.prompts.text(language, "retry", problem=problem)},
            ]
        msg = _("the customer model broke the rule '{rule}' twice", rule=broken[-1])
        raise ModelFailure("guard", msg, raw=line.message)

    def _reaction(self, case: Case, turns: tuple[Turn, ...], line: NextLine) -> Reaction:
        """What the model makes of the last answer, bounded by the rules; no answer gives nothing."""
        answer, language = turns[-1].answer, case.language
        # What no answer gave is not for the model to say.
        failed = answer.error is not None or not answer.text.strip()
        said = Reaction(
            asked=line.asked.strip(),
            got="nothing" if failed else line.got,
            feeling=line.feeling,
            why=line.why.strip(),
            next=line.next,
        )
        is_last = len(turns) >= self.turns
        asks = ends_with_question(line.message, language)
        return ruled(
            self.persona,
            [*reactions_to(turns), said],
            repeated=says_it_again(answer.text, [turn.answer.text for turn in turns[:-1]], language),
            apologised=apologises(answer.text, language) and not is_refusal(answer.text, language),
            asks=asks and not is_last and not self.prompts.says_goodbye(language, line.message.strip()),
            is_last=is_last,
        )

    def _broken_rule(self, text: str, case: Case, turns: tuple[Turn, ...]) -> str | None:
        """The guard's verdict, given all that this customer has said, was told and can know."""
        if _CODED_TAG.search(text):
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
                *(case.goal or "", *case.facts.knows, *voice.knows),
            ],
            norm=guard.norm(voice),
        )

    async def draft(self, language: Language, messages: Messages, seed: int) -> NextLine:
        """What the model makes of a prompt, before any rule was applied."""
        return await self.model.ask(
            messages,
            NextLine,
            lambda problem: self.prompts.text(language, "again", problem=problem),
            seed=seed,
            read=read_line,
        )

    def messages(self, case: Case, turns: tuple[Turn, ...]) -> Messages:
        """The prompt, which says what matters after the last answer: it may ask back or refuse."""
        answer, language = turns[-1].answer.text, case.language
        asked_back, refused = ends_with_question(answer, language), is_refusal(answer, language)
        return self.prompt(case, turns, asked_back=asked_back, refused=refused)

    def prompt(
        self, case: Case, turns: tuple[Turn, ...], *, asked_back: bool = False, refused: bool = False
    ) -> Messages:
        """The dialogue with roles swapped: the desk is the model's user, the customer its assistant."""
        voice = self.persona.speaks(case.language)
        earlier, usual = reactions_to(turns), self.prompts.usual(case.language)
        cues = cues_of(
            self.persona,
            earlier,
            self.seed,
            usual,
            asked_back=asked_back,
            refused=refused,
            has_figure=bool(turns) and has_figure(turns[-1].answer.text),
            complains=case.is_complaint,
        )
        matter = self.prompts.matter(case, self.persona)
        answers = [turn.answer.text[:LONGEST_ANSWER] for turn in turns]
        # The case cannot open a section, nor an answer of the desk close its own.
        seal = seal_of(matter, *(m.content for m in case.history), *answers)
        system = self.prompts.text(
            case.language,
            "system",
            name=voice.name,
            voice=voice.voice.strip(),
            case=quote("case", matter, seal),
            style=self.prompts.style(case.language, style_of(self.persona, self.seed, usual)),
            cues=self.prompts.cues(
                case.language, cues, earlier[-1].feeling if earlier else self.persona.feeling
            ),
            form=self.prompts.form(case.language),
        )
        messages: Messages = [{"role": "system", "content": system}]
        messages.append({"role": "user", "content": self.greeting})
        swapped = {"user": "assistant", "assistant": "user"}
        for m in case.history:
            said = m.content if m.role == "user" else quote("desk", m.content, seal)
            messages.append({"role": swapped[m.role], "content": said})
        for turn, answer in zip(turns, answers, strict=True):
            messages.append({"role": "assistant", "content": turn.user})
            said = quote("desk", answer, seal) if answer else self.prompts.text(case.language, "silence")
            messages.append({"role": "user", "content": said})
        return messages


def has_figure(answer: str) -> bool:
    """Whether an answer has a figure to talk of: how to call, and when, is none."""
    return bool(re.search(r"\d", _HOW_TO_CALL.sub("", answer)))


def read_line(text: str, reply_form: type[NextLine]) -> NextLine:
    """The reply of the customer model; `**DONE**` ends the conversation only if it is the whole message.

    Simulators are often prompted to end that way, and some models do so unasked.
    """
    # Also **DONE**, `DONE` and 「DONE」。 with whatever stands around it.
    line = spoken(text, reply_form)
    if line.message.strip(" \t\n*_#`\"'「」。.!！") == "DONE":
        return NextLine(message="", next="satisfied", why="DONE")
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
    return reply_form.model_validate(encodable(line.model_dump()))
