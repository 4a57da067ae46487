"""The titles of ids that people read: customers, judges, endings, failures.

Files, options and --json have ids (`gave_up`), which never change; people read titles (Gave up, あきらめた).
A rubric has its title in its own file (judges/NAME.toml). What has none is shown as it is called: a judge or
customer of the user's own.

    title("judge", "turn")        -> Overall
    title("judge", "turn@gpt-4o") -> Overall (gpt-4o): the same judge, asked of another model
    title("judge", "path.em")     -> path: Exact match: that judge of one output of the answer
    title("ended", "gave_up")     -> Gave up
"""

from collections.abc import Mapping

from simulator.core.messages import Message, _, pgettext, safe_text
from simulator.core.shelves import canonical_judge, judge_title
from simulator.core.target import CERTIFIED, COVERAGE, MAJOR, SECONDS
from simulator.core.types import ATTACKS_HELD

# What goes wrong between turns, as a mark of a turn, as a cause and as it is counted.
_LAPSES: dict[str, Message] = {
    "mixups": _("Another customer's case"),
    "contradictions": _("Contradiction"),
    "promises": _("Promise not kept"),
    "loops": pgettext("of the desk", "Repeated"),
    "forgotten": pgettext("of the desk", "Forgotten"),
    "closures": _("Closed too early"),
    "overlooked": _("Request missed"),
}
# By group, then by id. "rule" are the guard's rules (users/guard.py) and those of openings, "got" is what a
# customer got from an answer, "lapse" what went wrong between two turns, "state" whether a request was
# settled, "outcome" what became of a sentence that is expected.
TITLES: dict[str, dict[str, Message]] = {
    "persona": {
        "angry": _("Angry"),
        "calm": _("Calm"),
        "beginner": _("Beginner"),
        "hurried": _("In a hurry"),
        "elderly": _("Elderly"),
        "sceptical": _("Sceptical"),
        "verbose": _("Long-winded"),
        "non_native": _("Learning the language"),
        "off_topic": _("Strays"),
        "regular": _("Regular"),
        "demands_person": _("Wants a person"),
        "attackers": _("Attackers"),
    },
    "judge": {
        "turn": _("Overall"),
        "groundedness": _("Groundedness"),
        "similarity": _("Similarity"),
        "fluency": _("Fluency"),
        "cosine": _("Cosine"),
        "cosine_similarity": _("Cosine similarity"),
        "claims": _("Claims"),
        "facts": _("Facts"),
        "handover": _("Handover"),
        "risk": _("Business risk"),
        "keigo": _("Politeness"),
        "language_match": _("Same language"),
        "answer_relevancy": _("Answer relevancy"),
        "passed": _("All outputs passed"),
        "llm_similarity": _("LLM similarity"),
        "llm_correctness": _("LLM correctness"),
        "contains": _("Contains"),
        "token_f1": _("Token F1"),
        "chrf": _("chrF"),
        "exact_match": _("Exact match"),
        "rouge_l": _("ROUGE-L"),
        "main_metric": _("Main metric"),
        "meteor": _("METEOR"),
        "label": _("Label"),
        "choice": _("Choice"),
        "tools": _("Tools"),
    },
    # The figures of a target that are not judges.
    "figure": {
        "score": _("Score"),
        "answered_correctly": _("Did not refuse what it should answer"),
        "refused_correctly": _("Refused what it should"),
        "handover_correctly": _("Right handovers"),
        ATTACKS_HELD: _("Attacks held off"),
        COVERAGE: _("Articles tested"),
        "red": pgettext("a share", "Answers to review"),
        MAJOR: _("Questions with a serious error"),
        SECONDS: _("Seconds to answer (95 %)"),
        CERTIFIED: _("Certified judge"),
    },
    "category": {
        "understanding": _("Understanding"),
        "relevance": _("Relevance"),
        "completeness": _("Completeness"),
        "correctness": _("Correctness"),
        "coherence": _("Coherence"),
        "overall": _("Overall"),
        "conflicts_ignored": _("contradictions ignored"),
        "lapses_ignored": _("lapses ignored"),
        "expectations_ignored": _("expectations without a verdict"),
        "said": _("said by the model"),
    },
    "response": {
        "answered": _("Answered"),
        "partly": _("Answered in part"),
        "declined": _("Declined"),
        "asked_back": pgettext("an answer", "Asked back"),
        "handed_over": pgettext("an answer", "Handed over"),
        "nothing": _("Answered nothing"),
    },
    "mark": {
        "no_answer": _("No answer"),
        "overall": _("Low grade"),
        "groundedness": _("Not in the passages"),
        "correctness": _("Incorrect"),
        "claims": _("Unsupported claim"),
        "facts": _("Facts do not match"),
        "risk": _("Rule broken"),
        "tools": _("Tool missing or not allowed"),
        "expectations": _("Expectation not met"),
        "conversation": _("Not resolved"),
        **_LAPSES,
        "lapses": _("Lapse between answers"),
    },
    "state": {
        "resolved": pgettext("of a request", "resolved"),
        "partly": _("partly resolved"),
        "not": pgettext("of a request", "not resolved"),
    },
    "outcome": {
        "met": pgettext("of what is expected", "met"),
        "unmet": pgettext("of what is expected", "not met"),
        "open": pgettext("of what is expected", "did not come up"),
    },
    "lapse": _LAPSES,
    # Why an answer is red, as docs/fixing.md explains it. People pick one in the sheet, the usual ones first,
    # and last what is none of them.
    "cause": {
        "knowledge": _("Missing knowledge"),
        "outdated": _("Article wrong"),
        "retrieval": _("Not retrieved"),
        "spelling": _("Other wording"),
        "ignored": _("Found but not used"),
        "invented": _("Made up"),
        "should_refuse": _("Should decline"),
        "should_answer": _("Should answer"),
        "needless_question": _("Needless question"),
        "no_handover": _("No hand-over"),
        "lost_thread": _("Lost the thread"),
        "tone": _("Tone"),
        "forbidden": _("Rule broken"),
        "tools": pgettext("a cause", "Tools"),
        "expectations": _("Expectation not met"),
        **{kind: _LAPSES[kind] for kind in ("contradictions", "forgotten", "promises", "loops")},
        **{kind: _LAPSES[kind] for kind in ("mixups", "closures", "overlooked")},
        "no_answer": pgettext("a cause", "No answer"),
        "unclear": _("Unclear"),
        "other": pgettext("a cause", "Other"),
    },
    "ended": {
        "satisfied": _("Satisfied"),
        "satisfied_wrong": _("Satisfied with a wrong or invented answer"),
        "satisfied_unresolved": _("Satisfied without what they came for"),
        "handed_over": _("Handed over"),
        "turn_limit": _("Answer limit"),
        "gave_up": _("Gave up"),
        "rag_failed": _("Bot failed"),
        "user_failed": _("Simulator failed"),
        "endpoint_failed": _("Endpoint failed"),
        "budget": _("Budget spent"),
        "interrupted": _("Interrupted"),
    },
    "got": {
        "answered": _("got everything"),
        "partly": _("got a part"),
        "declined": _("was turned down"),
        "nothing": pgettext("what the customer got", "got nothing"),
        "asked_back": _("was asked back"),
        "handed_over": _("was handed over"),
    },
    "failure": {
        "timeout": _("timeout"),
        "error": _("error"),
        "empty": _("empty"),
        "malformed": _("wrong format"),
        "refused": _("refused"),
        "unrecorded": _("not in the log"),
        "only_tools": _("only a tool call"),
        "off_scale": _("off the scale"),
        "denied": _("access denied"),
        "unreachable": _("unreachable"),
        "guard": _("guard"),
    },
    "rule": {
        "empty": pgettext("of a message", "empty"),
        "too_long": _("too long"),
        "language": _("other language"),
        "reasoning": _("leaked reasoning"),
        "desk": _("spoke as the desk"),
        "repeat": _("repetition"),
        "both_sides": _("speaks for both sides"),
        "list": _("a list"),
        "stage": _("stage directions"),
        "markdown": _("formatting"),
        "emoji": _("emoji"),
        "flip": _("took the desk's part"),
        "reference": _("knew the answer"),
        "opening_numbers": _("opening: numbers changed"),
        "opening_codes": _("opening: codes changed"),
        "opening_negation": _("opening: negation changed"),
        "opening_asked": _("opening: asks something else"),
        "opening_words": _("opening: words lost"),
        "opening_failed": _("opening: none written"),
    },
    "role": {
        "user": pgettext("the simulated one", "Customer"),
        "judge": pgettext("the model that grades", "Judge"),
        "embed": _("Embeddings"),
        "demo": _("Demo bot"),
    },
    "status": {
        "running": _("running"),
        "finished": _("finished"),
        "interrupted": _("interrupted"),
        "stopped": _("stopped"),
    },
}


class Titles:
    """The titles of ids; those of the run's own customers are in the language of its report."""

    def __init__(self, personas: Mapping[str, str] | None = None) -> None:
        self._personas = personas or {}

    def __call__(self, group: str, name: str) -> Message | str:
        """The title of an id in a group (persona, judge, ended, failure, rule, role, mark); else the id."""
        bare, beside, model = name.partition("@")
        if beside and group == "judge":
            return _("{judge} ({model})", judge=self(group, bare), model=safe_text(model))
        # From the right: an output may be address.city, and no judge's name holds a dot.
        output, dot, judge = name.rpartition(".")
        if dot and output and group == "judge":  # of one output of an answer
            return _("{output}: {judge}", output=safe_text(output), judge=self(group, judge))
        # Names of personas and models are the users' own, and may hold control codes.
        if group == "persona" and (persona := self._personas.get(name)):
            return safe_text(persona)
        if group != "judge":
            return TITLES[group].get(name) or safe_text(name)
        judge = canonical_judge(name)
        return TITLES[group].get(judge) or judge_title(judge) or safe_text(name)


title = Titles()
"""The titles of ids that no run names itself: of all but customers."""
