"""What is the same for all turns stands first in every prompt: endpoints cache beginnings, at a tenth."""

from itertools import takewhile

import pytest

from simulator.core import shelves
from simulator.core.templates import LANGUAGES
from simulator.core.types import Answer, Case, Language, Passage, Turn
from simulator.grading.rubric import Rubric
from tests.run_helpers import an_exhibit, frame

RUBRICS = sorted(path.stem for path in shelves.JUDGES.glob("[!_]*.toml"))


def beginning(first: str, second: str) -> str:
    """What two texts begin with in common."""
    return "".join(
        one for one, _other in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    )


def prompts(rubrics: list[Rubric], language: Language, *, alone: bool) -> list[str]:
    """Two prompts about turns that have nothing in common, of two questions."""
    made = []
    for word in ("alpha", "beta"):
        passage = Passage(id=f"{word}.md", text=f"{word} passage")
        answer = Answer(text=f"{word} answer", passages=(passage,))
        case = Case(
            id=word, question=f"{word} question", language=language, references=((f"{word} reference",),),
            goal=f"{word} goal", expect=(f"{word} expected",),
        )  # fmt: skip
        turn = Turn(index=1, user=f"{word} question", answer=answer)
        context = an_exhibit(case, turn=turn)
        if rubrics[0].name in {"conversation", "expectations"}:
            context = context.model_copy(update={"closing": f"{word} bye"})
        messages = frame().prompt(context, rubrics, alone=alone)
        made.append("\n".join(message["content"] for message in messages))
    return made


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", RUBRICS)
def test_the_constant_part_of_a_rubric_is_a_common_beginning(name: str, language: Language) -> None:
    """Rules, criterion, examples and form, to the first piece of the turn; what follows quotes the turn."""
    rubric = Rubric(shelves.JUDGES / f"{name}.toml")
    first, second = prompts([rubric], language, alone=True)
    common = beginning(first, second)

    assert rubric.criterion(language).strip() in common
    assert "alpha" not in common
    # Behind it stands the turn and a short reminder.
    assert len(first) - len(common) < 0.5 * len(first)
    behind = (set(first[len(common) :].splitlines()) & set(second[len(common) :].splitlines())) - {""}
    assert sum(map(len, behind)) < 0.2 * len(common)


@pytest.mark.parametrize("language", LANGUAGES)
def test_rubrics_in_one_call_have_a_common_beginning(language: Language) -> None:
    """All criteria of a combined call stand before the turn."""
    names = ("turn", "relevance", "groundedness", "similarity", "fluency")
    rubrics = [Rubric(shelves.JUDGES / f"{name}.toml") for name in names]
    common = beginning(*prompts(rubrics, language, alone=False))

    assert all(rubric.criterion(language).strip() in common for rubric in rubrics)
    assert "alpha" not in common
