"""Multiple choice: accuracy by subject with its error, letters and baselines, in every view."""

import json
from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.core.settings import Settings
from simulator.core.types import Case, Conversation, GradingContext, Language, Results, Score
from simulator.lab.datasets.choice import choice
from simulator.lab.datasets.classification import choices
from simulator.lab.datasets.plugin import PLUGIN
from simulator.report.context import ReportContext
from simulator.report.run_page import run_page
from simulator.runner.prompts import PromptRenderer, read_prompt
from tests.report.views import context_of, markdown
from tests.run_helpers import a_run_of_rows
from tests.sample_runs import decide, summed

# Subject, right letter, reply: five of eight right, one that states nothing.
ROWS = [
    ("history", "A", "Answer: A"), ("history", "B", "Answer: A"), ("history", "C", "答え: C"),
    ("algebra", "D", "Answer: A"), ("algebra", "A", "Answer: A"), ("algebra", "B", "Answer: B"),
    ("algebra", "C", "I cannot tell."), ("", "D", "D"),
]  # fmt: skip
# The first line of its template for multiple choice.
SIMPLE_EVALS = (
    "Answer the following multiple choice question. The last line of your response should be of the "
    "following format: 'Answer: $LETTER' (without quotes) where LETTER is one of ABCD. "
    "Think step by step before answering."
)
TEXTS = ("one", "two", "three", "the last")


def a_run(rows: Sequence[tuple[str, str, str]] = tuple(ROWS), language: Language = "en") -> Results:
    """A finished run of these rows, graded by the judge itself."""
    known = {"question": "q?", "language": language, "choices": TEXTS}
    cases = [
        (
            Case(id=f"{at}", label=TEXTS["ABCD".index(letter)], tags=tuple(filter(None, [subject])), **known),
            reply,
        )
        for at, (subject, letter, reply) in enumerate(rows)
    ]

    def graded(talk: Conversation) -> Iterator[Score]:
        seen = GradingContext(conversation=talk.id, case=talk.case, persona="scripted", turn=talk.turns[0])
        filed = {"judge": "choice", "conversation": talk.id, "turn": 1, "scale": (0, 1)}
        yield choice(seen).model_copy(update=filed)

    return a_run_of_rows(cases, graded)


def a_report(results: Results, language: Language) -> ReportContext:
    summary = summed(results, ("choice",))
    added = (build(results, summary, Settings()) for build in PLUGIN.sections)
    gate = decide(summary, None)
    return context_of(results, summary, gate, language, added=tuple(filter(None, added)))


def test_figures() -> None:
    """By subject in the order of the data set, with n; what could not be read is wrong and counted."""
    found = choices(a_run())
    assert found is not None

    assert (found.accuracy.right, found.accuracy.n, found.accuracy.not_extracted) == (5, 8, 1)
    assert found.accuracy.stderr == pytest.approx(sqrt(0.625 * 0.375 / 7))
    assert {name: (each.right, each.n) for name, each in found.subjects.items()} == {
        "history": (2, 3), "algebra": (2, 4), "": (1, 1),
    }  # fmt: skip
    assert list(found.subjects) == ["history", "algebra", ""]
    assert found.subjects[""].stderr is None
    assert (found.chance, found.longest) == (0.25, 0.25)


def test_what_was_not_graded_is_not_counted() -> None:
    """A failed grade is no wrong answer; a silent bot's is."""
    results = a_run(ROWS[:3])
    first, second, third = results.scores
    failed = first.model_copy(update={"state": "failed", "value": None, "raw": None, "detail": {}})
    silent = Score(
        judge="choice", conversation=second.conversation, turn=1, state="scored", value=0, raw=0, scale=(0, 1)
    )
    of_another = failed.model_copy(update={"judge": "fluency"})
    found = choices(results.model_copy(update={"scores": (failed, of_another, silent, third)}))
    assert found is not None

    assert (found.accuracy.right, found.accuracy.n, found.failed) == (1, 2, 1)


@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_view_has_the_table(language: Language) -> None:
    """Page and Markdown, in the reader's language."""
    results = a_run(language=language)
    context = a_report(results, language)
    shown = ("科目別", "抽出不可") if language == "ja" else ("By subject", "Not extracted")
    page = run_page(context).decode()

    for view in (page, markdown(context).replace("\\", "")):
        for text in (*shown, "algebra", "0.5000 ± 0.2887", "0.6250 ± 0.1830", "0.250"):
            assert text in view


@pytest.mark.parametrize("variant", ["", ":plain", ":expert"])
@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_template(variant: str, language: Language) -> None:
    """In English word for word that of simple-evals; the variants differ in the system prompt alone."""
    case = Case(id="1", question="Which?", language=language, choices=TEXTS, label="one")
    asked = PromptRenderer(read_prompt(f"choose{variant}"))(case)

    assert asked.user.endswith("\n\nWhich?\n\nA) one\nB) two\nC) three\nD) the last")
    assert asked.choices == ()  # the letter is read behind the reasoning
    assert bool(asked.system) == (variant not in ("", ":plain"))
    if language == "en":
        assert asked.user.partition("\n")[0] == SIMPLE_EVALS
    else:
        assert "「答え: X」" in asked.user
        assert "ABCD" in asked.user


def test_a_file_end_to_end(tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`evaluate` of the bundled questions with the bundled prompt; the judge is chosen by the data."""
    (tmp_path / "bot.py").write_text(
        "def answer(text):\n    assert '答え: X' in text and 'A) ' in text\n"
        "    return '考えました。\\n答え: B'\n",
        encoding="utf-8",
    )
    file = str(root / "demo" / "datasets" / "multiple_choice.csv")

    assert main(["evaluate", file, "--prompt", "choose:expert", "--adapter", "bot.py:answer", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["judges"]) == ["choice"]
    assert (found["choices"]["n"], found["choices"]["right"], found["choices"]["not_extracted"]) == (12, 5, 0)
    assert list(found["choices"]["subjects"]) == ["地理", "理科", "国語"]
