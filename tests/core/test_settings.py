"""Everything a run can be told: flags over environment over rehearsal.toml over defaults."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from scripts import reference
from simulator import plugins
from simulator.core.errors import InputError
from simulator.core.messages import Language
from simulator.core.settings import (
    SETTINGS_FILE,
    Settings,
    dollars,
    flag,
    is_set,
    load_settings,
    offer_settings,
    resolve_path,
    stored_settings,
)
from simulator.core.types import RedRules

REDACTED: tuple[tuple[Literal["on", "auto", "off"], str], ...] = (
    ("on", "demo"), ("off", "recorded"), ("auto", "recorded"), ("auto", "demo"),
)  # fmt: skip
FLAG, ENVIRONMENT, TOML = {"turns": 2}, {"REHEARSAL_TURNS": "5"}, "turns = 7"


def written(text: str) -> None:
    """A rehearsal.toml where the test stands."""
    Path(SETTINGS_FILE).write_text(text, encoding="utf-8")


def problem(flags: Mapping[str, Any] = {}, environ: Mapping[str, str] = {}) -> str:
    """The one line that the user is told."""
    with pytest.raises(InputError) as met:
        load_settings(flags, environ=environ)
    assert "\n" not in str(met.value)
    return str(met.value)


@pytest.mark.parametrize(
    ("flags", "environ", "toml", "turns"),
    [
        ({}, {}, "", 3),
        ({}, ENVIRONMENT, TOML, 5),
        (FLAG, ENVIRONMENT, TOML, 2),
        ({"turns": None}, {"REHEARSAL_TURNS": ""}, TOML, 7),
    ],
)
def test_the_nearest_word_counts(
    flags: dict[str, Any], environ: dict[str, str], toml: str, turns: int
) -> None:
    """Flag, then environment, then file, then default; what is empty was not said."""
    written(toml)

    assert load_settings(flags, environ=environ).turns == turns


@pytest.mark.parametrize(("toml", "word"), [("true", "on"), ("false", "off"), ('"auto"', "auto")])
def test_a_switch_is_also_true_or_false(toml: str, word: str) -> None:
    """As people write it in TOML."""
    written(f"redact = {toml}")

    assert load_settings({}, environ={}).redact == word


def test_a_path_in_a_file_is_found_beside_that_file(tmp_path: Path) -> None:
    """Else from where the program runs; how much a terminal shows is a setting, too."""
    (tmp_path / "angry.toml").touch()

    names = ("angry.toml", "calm.toml", "")
    assert [resolve_path(tmp_path / "mix.toml", name) for name in names] == [
        str(tmp_path / "angry.toml"), "calm.toml", "",
    ]  # fmt: skip
    assert [Settings(verbose=verbose).view for verbose in (False, True)] == ["brief", "terminal"]
    assert [is_set(Settings(turns=turns), name) for turns, name in ((3, "turns"), (4, "turns"),
    (4, "no"))] == [
        False, True, False,
    ]  # fmt: skip
    logs = [Settings(redact=redact, adapter=bot).redacts for redact, bot in REDACTED]
    assert logs == [True, False, True, False]
    assert Settings(redact="off", redact_patterns="x").redact == "off"
    assert Settings(redact_patterns="x").redacts


def test_money_has_the_digits_it_needs() -> None:
    """Cents, and four digits below a tenth of a dollar."""
    told = [dollars(amount) for amount in (0, 0.00009, 0.0001, 0.0999, 0.1, 5)]

    assert told == ["0.00", "<0.0001", "0.0001", "0.0999", "0.10", "5.00"]


def test_every_setting_can_stand_in_the_environment() -> None:
    """Lists and adapter settings are separated by commas; variables of other programs are not looked at."""
    found = load_settings({}, environ={
        "REHEARSAL_PERSONA": "angry, calm", "REHEARSAL_SET": "url=http://x,model=m",
        "REHEARSAL_SEED": "0", "REHEARSAL_LABELS": "fees, returns",
        "REHEARSAL_RETEST": "0.5", "REHEARSAL_LANGUAGE": "en", "REHEARSAL_JSON_OUTPUT": "yes",
        "REHEARSAL_JUDGE_KEY": "secret", "REHEARSAL_RED": "x", "TURNS": "9",
    })  # fmt: skip

    assert found.persona == ("angry", "calm")
    assert found.set == {"url": "http://x", "model": "m"}
    assert found.labels == {"fees": ("fees",), "returns": ("returns",)}
    assert (found.seed, found.retest, found.language, found.json_output) == (0, 0.5, "en", True)
    assert found.turns == 3
    assert "secret" not in repr(found)


def test_every_setting_can_stand_in_the_file() -> None:
    """Tables too: adapter settings of any type, rules of red; a byte order mark does no harm."""
    written("""\ufeff# 設定
judges = "turn,fluency"
target = 80
[set]
url = "http://x"
stream = true
top = 3
request = { message = "$question", "資料" = [1, 2] }
[red]
overall = 0.6
groundedness = false
""")
    found = load_settings({})

    assert (found.judges, found.target) == (("turn", "fluency"), 0.8)
    assert found.set == {
        "url": "http://x", "stream": "true", "top": "3",
        "request": '{"message": "$question", "資料": [1, 2]}',
    }  # fmt: skip
    assert found.red == RedRules(overall=0.6, groundedness=0)


@pytest.mark.parametrize(("given", "kept"), [
    (0.9, 0.9), (90, 0.9), (1, 1.0), (70.5, 0.705), ("85", 0.85), ("1%", 0.01),
])  # fmt: skip
def test_ninety_means_nine_tenths(given: Any, kept: float) -> None:
    """A target is a share or a percentage."""
    assert load_settings({"target": given}).target == pytest.approx(kept)


@pytest.mark.parametrize(
    ("name", "within", "beyond"),
    [
        ("turns", (1, 50), (0, 51, 1.5)), ("repeats", (1, 100), (0, 101)), ("limit", (1,), (0,)),
        ("sample", (1,), (0,)), ("concurrency", (1, 10_000), (0, 10_001)), ("calls", (1, 10_000),
        (0, 10_001)),
        ("retest", (0, 1), (-0.01, 1.01)), ("timeout", (0.01, 3600), (0, 3600.5)),
        ("patience", (0.01, 3600), (0, 3600.5)), ("budget", (0.01, 1e9), (0, -1, math.inf)),
    ],
)  # fmt: skip
def test_a_number_has_its_bounds(name: str, within: tuple[Any, ...], beyond: tuple[Any, ...]) -> None:
    """The ends are allowed, what lies beyond them is refused."""
    assert [getattr(load_settings({name: value}), name) for value in within] == [*within]
    for value in beyond:
        assert problem({name: value}).startswith(f"{flag(name)} {value}: must be ")


@pytest.mark.parametrize(
    ("name", "typed", "means"),
    [
        ("columns", ["references=answer, question = Q"], {"references": "answer", "question": "Q"}),
        ("to", "excel,md,sheet,html,xlsx,csv", ("xlsx", "markdown", "sheets", "csv")),
        ("judges", ["a,b", "a"], ("a", "b")), ("user_model", "a,a", ("a", "a")),
        ("labels", {"1": ["1", "fine"]}, {"1": ("1", "fine")}), ("cases", ["q.csv"], "q.csv"),
        ("set", [" url =http://h?a=b"], {"url": "http://h?a=b"}), ("redact_patterns", "a{3,5}", ("a{3,5}",)),
        ("budget", "800円", 800 / 150), ("budget", "¥1,500", 10.0), ("budget", "$.5", 0.5),
        ("budget", "5USD", 5.0),
        ("prices", {"m": {"input": 3, "currency": "JPY"}}, {"m": (3 / 150e6, 0.0, 3 / 150e6)}),
        ("prices", {"m": {"input": 3, "output": 4, "cached_input": 3}}, {"m": (3e-6, 4e-6, 3e-6)}),
    ],
)  # fmt: skip
def test_what_people_type_is_understood(name: str, typed: Any, means: Any) -> None:
    """A text with commas or a list; in dollars or in yen."""
    kept = getattr(load_settings({name: typed}), name)

    if name == "prices":
        kept = {model: pytest.approx(tuple(price.rates)) for model, price in kept.items()}
    assert (kept == pytest.approx(means)) if name == "budget" else (kept == means)


@pytest.mark.parametrize(
    ("name", "typed", "told"),
    [
        ("columns", ["references"], "'references' is not OURS=HEADING"), ("columns", ["=x"],
        "is not OURS=HEADING"),
        ("columns", ["x="], "is not OURS=HEADING"), ("cases", ["a.csv", "b.csv"], "takes one file"),
        ("redact_patterns", "[", "'[' is not a valid regular expression ("), ("set", ["=x"],
        "'=x' is not key=value"),
        ("persona", [","], "names nothing"), ("budget", "1,5", "is not an amount"),
        ("budget", "¥5usd", "is not"),
        ("budget", "5 apples", "is not an amount"), ("budget", "0,01", "is not an amount"),
        ("prices", {"m": {"input": 1, "cached_input": 2}},
        "--prices m: cached_input is higher than input; write"),
        ("prices", {"m": {"input": -1}}, "--prices m input: must be at least 0; write"),
        ("runs", "https://shop.example/runs", "is an address; name a folder or file on this machine"),
        ("tests", "s3://bucket/tests.jsonl", "is an address"), ("language", "jp", "one of ja, en, all"),
        ("limit", "x" * 61, f"--limit {'x' * 57}...: must"), ("limit", "x" * 60, f"--limit {'x' * 60}: must"),
    ],
)  # fmt: skip
def test_what_nobody_can_mean_is_one_line(name: str, typed: Any, told: str) -> None:
    """With what was typed, shortened where it is long."""
    assert told in problem({name: typed})


def test_who_is_slow_is_waited_for() -> None:
    """Two minutes for a call with its retries, or as long as one answer may take."""
    given: tuple[dict[str, Any], ...] = (
        {},
        {"timeout": 119},
        {"timeout": 300},
        {"timeout": 300, "patience": 5},
    )

    assert [load_settings(flags).patience for flags in given] == [120, 120, 300, 5]


WRONG: dict[str, Any] = {
    "turns": 51, "language": "fr", "timeout": 3601, "budget": -5, "offline": "perhaps", "judges": [","],
    "set": ["no-equals-sign"],
}  # fmt: skip


def test_numbers_and_words_may_be_full_width_or_capitals() -> None:
    """As an input method for Japanese types them."""
    settings = load_settings(
        {
            "limit": "３",
            "timeout": "１．５",
            "calls": "６４",
            "language": "ＪＡ",
            "redact": "OFF",
            "causes": "Ids",
        }
    )

    assert (settings.limit, settings.timeout, settings.calls) == (3, 1.5, 64)
    assert (settings.language, settings.redact, settings.causes) == ("ja", "off", "ids")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_one_line_that_names_its_flag(name: str) -> None:
    """The flag as it is typed, the value, and what is allowed."""
    told = problem({name: WRONG[name]})

    assert told.startswith(f"{flag(name)} ")
    assert told.endswith(".")


@pytest.mark.parametrize("name", ["turns", "language", "timeout", "offline"])
def test_a_wrong_value_elsewhere_is_named_as_it_stands_there(name: str) -> None:
    """The variable of the environment, or the key and the file."""
    assert problem(environ={f"REHEARSAL_{name.upper()}": str(WRONG[name])}).startswith(
        f"REHEARSAL_{name.upper()} "
    )
    value = WRONG[name]
    written(f"{name} = {value!r}")
    assert problem().startswith(f"{name} in {SETTINGS_FILE}: ")


@pytest.mark.parametrize(
    ("variable", "near"),
    [("REHEARSAL_TURN", "REHEARSAL_TURNS"), ("REHEARSAL_JUGE_KEY", "REHEARSAL_JUDGE_KEY")],
)
def test_a_misspelt_variable_is_one_line_with_the_nearest_name(variable: str, near: str) -> None:
    """As a misspelt key of the file; a secret of the user's that settings name is none."""
    assert f"unknown variable: '{variable}'. Did you mean {near}" in problem(environ={variable: "2"})
    load_settings({}, environ={"REHEARSAL_SHOP_KEY": "x", "REHEARSAL_JUDGE_EXTRA": "{}", "REHEARSALS": "1"})


def test_a_variable_of_a_room_that_is_missing_is_said_to_belong_to_it() -> None:
    """It is not misspelt."""
    offer_settings(list, lambda name, shown: plugins.missing(shown, "dask") if name == "workers" else None)
    try:
        belongs = "belongs to the lab (dask), which is not installed here"
        assert f"REHEARSAL_WORKERS {belongs}" in problem(environ={"REHEARSAL_WORKERS": "2"})
        assert f"--workers {belongs}" in problem({"workers": "2"})
    finally:
        plugins.offer()


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("turn = 3", "unknown setting: 'turn'. Did you mean turns"),
        ("[red]\noveral = 0.7", "unknown key of [red]: 'overal'. Did you mean overall"),
        ("[red]\noverall = 70", "red in rehearsal.toml: overall 70: must be at most 1."),
        ("set = 5", "set in rehearsal.toml: 5: must be a table of settings."),
        ("persona = ['angry', 5]", "persona in rehearsal.toml: 5: must be text."),
        ("target = nan", "target in rehearsal.toml: nan: "),
        ("judges = []", "judges in rehearsal.toml: : names nothing."),
        ("turns = 3\nturns = 4", "rehearsal.toml: not valid TOML ("),
    ],
)
def test_a_broken_file_is_one_line(toml: str, told: str) -> None:
    """Unknown keys with near names, wrong values with the key, broken TOML with its line."""
    written(toml)

    assert told in problem()


def test_a_file_that_cannot_be_read_is_told() -> None:
    """Neither Shift JIS nor a folder is taken for an empty file."""
    Path(SETTINGS_FILE).write_bytes("persona = '怒り'".encode("shift_jis"))
    assert "not UTF-8 (byte 11)" in problem()
    Path(SETTINGS_FILE).unlink()
    Path(SETTINGS_FILE).mkdir()
    assert f"{SETTINGS_FILE}: cannot be read" in problem()


def test_a_run_goes_on_with_its_own_settings() -> None:
    """What is stored is enough; how to start and to show it is not part of it."""
    begun = load_settings(
        {"turns": 2, "persona": ["calm"], "target": 90, "set": ["a=1"], "resume": "x", "to": ["json"]}
    )
    stored = begun.stored_values()

    assert not {"resume", "to", "runs", "json_output", "sheet"} & stored.keys()
    assert stored_settings(stored, resume="x", to=("json",)) == begun
    with pytest.raises(InputError, match=r"unknown setting: 'later'.*\(stored with the run\)"):
        stored_settings(stored | {"later": 1})
    with pytest.raises(InputError, match="turns of the run: 0: "):
        stored_settings(stored | {"turns": 0})


def test_set_flags_add_to_the_files_own(tmp_path: Path) -> None:
    """One key changes that key and keeps the others, which belong to the adapter that the file names."""
    text = 'adapter = "http"\n[set]\nurl = "u"\nanswer = "a"\n'
    (tmp_path / SETTINGS_FILE).write_text(text, encoding="utf-8")
    flags, environ = {"set": ["answer=b"]}, {"REHEARSAL_SET": "url=v"}

    assert load_settings(flags, tmp_path, {}).set == {"url": "u", "answer": "b"}
    assert load_settings(flags, tmp_path, environ).set == {"url": "v", "answer": "b"}
    assert load_settings({"adapter": "http"}, tmp_path, {}).set == {"url": "u", "answer": "a"}
    assert load_settings({"adapter": "bot.py:answer"}, tmp_path, {}).set == {}


def test_small_models_get_three_judges(tmp_path: Path) -> None:
    """By flag, environment or file; judges that are named anywhere stay, and a run keeps its own."""
    three = ("turn", "groundedness", "similarity")
    (tmp_path / SETTINGS_FILE).write_text('judging = "small"\n', encoding="utf-8")

    assert load_settings({"judging": "small"}, environ={}).judges == three
    assert load_settings({}, tmp_path, {}).judges == three
    assert load_settings({}, environ={"REHEARSAL_JUDGING": "small"}).judges == three
    assert load_settings({"judges": "turn,tone"}, tmp_path, {}).judges == ("turn", "tone")
    assert "fluency" in load_settings({"judging": "separate"}, tmp_path, {}).judges
    kept = stored_settings(Settings(judging="small").stored_values())
    assert (kept.judging, kept.judges) == ("small", three)


@pytest.mark.parametrize("language", reference.PAGES)
def test_the_reference_says_what_the_program_declares(language: Language) -> None:
    """After a change of an option, `python -m scripts.reference` writes it anew."""
    assert reference.PAGES[language].read_text(encoding="utf-8") == reference.page(language)
    assert reference.LAB_PAGES[language].read_text(encoding="utf-8") == reference.lab_page(language)
