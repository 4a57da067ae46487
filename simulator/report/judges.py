"""How far each judge can be trusted: its agreement with people, what moves it, whether it has drifted.

A mean alone does not say whether people would agree with it, so its standing stands beside it. Judges
that only compare by rule (labels, choices, exact match, ROUGE and so on) are left out until someone has
calibrated them: they claim nothing but what they count, and "not calibrated" would be noise. Offline
stand-ins have no standing, whoever has calibrated them: they are no judgement of a bot.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from simulator.core.roles import LEXICAL
from simulator.core.shelves import our_name
from simulator.core.templates import Texts
from simulator.core.translations import Words, words_of
from simulator.core.types import PASSED, Language, Results, Value
from simulator.models.families import same_family
from simulator.privacy.patterns import mask
from simulator.report.comparison import replay_note
from simulator.report.context import Note
from simulator.report.extras import consistency_line
from simulator.report.run import merged_note
from simulator.runner.labelled import JudgeName
from simulator.runner.masking import masks_of
from simulator.stats import judge_trust
from simulator.stats.bias import BiasRow
from simulator.stats.calibration import ENOUGH
from simulator.stats.figures import Summary
from simulator.stats.judge_trust import Calibration, Drift, bias_for, calibration_for, short

TEXTS = Texts(Path(__file__).with_name("standing.toml"))
# These compare with the row by rule, and claim no more.
BY_RULE = frozenset((
    "exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf", "label", "choice", PASSED,
))  # fmt: skip
# From where on agreement is called so: AUROC after Hosmer and Lemeshow (.7 acceptable, .8 excellent),
# and rank correlation; below the last of them, or where chance is not ruled out, it is doubtful.
_LEVELS: Mapping[str, tuple[tuple[float, "Level"], ...]] = {
    "AUROC": ((0.8, "well"), (0.7, "fair"), (0.6, "weak")),
    "rho": ((0.6, "well"), (0.4, "fair"), (0.2, "weak")),
}
_CHANCE = {"AUROC": 0.5, "rho": 0.0}

Level = Literal["well", "fair", "weak", "doubtful", "few", "not_calibrated"]


class JudgeTrust(Value):
    """One judge: `calibration` is its agreement with people (None: not calibrated), `level` that in words."""

    calibration: str | None
    level: str
    warnings: tuple[str, ...] = ()


class JudgeTrusts(Value):
    """All judges of a run that have a standing, by name, and what its reader must know besides."""

    judges: dict[str, JudgeTrust] = Field(default_factory=dict)
    notes: tuple[Note, ...] = ()


class Block(NamedTuple):
    """A line of a report: a judge (or all that nobody has calibrated), its standing, its warnings."""

    title: str
    text: str
    warnings: tuple[str, ...] = ()


UNKNOWN = JudgeTrusts()


def standings(
    results: Results, summary: Summary, language: Language, folder: Path = judge_trust.FOLDER
) -> JudgeTrusts:
    """The standing of every judge, from what is kept in `folder` of exactly its rubric."""
    drifts, words = drifts_of(results), words_of(summary, language)
    found = {
        name: _standing(name, judge.rubrics, drifts, words, folder)
        for name, judge in summary.judges.items()
        if not _is_stand_in(name, judge.rubrics, results.run.models)
    }
    shown = {n: s for n, s in found.items() if s.calibration or s.warnings or not by_rule(n)}
    notes = [note for drift in drifts for note in _drift_notes(drift, words)]
    notes += family_notes(results.run.settings, results.run.models, language)
    if replay := replay_note(results.run, language):
        notes.append(Note(text=replay))
    if (masked := masks_of(results)) is not None:
        notes.append(Note(text=_masked(masked, language)))
    if (merged := merged_note(results, language))[0]:
        notes.append(Note(text=merged[0], alarm=merged[1]))
    if told := consistency_line(results, language):
        notes.append(Note(text=told, alarm=True))
    return JudgeTrusts(judges=shown, notes=tuple(notes))


def by_rule(name: str) -> bool:
    """Whether a judge compares by rule: nothing of it can be calibrated. `path.em` is one for an output."""
    judge = name.partition("@")[0]
    return our_name(judge) in BY_RULE or our_name(judge.rpartition(".")[2]) in BY_RULE


def _is_stand_in(name: str, rubrics: Sequence[str], models: Mapping[str, str]) -> bool:
    """Whether a judge counted words where a model should have graded, or graded beside such judges."""
    if models.get("judge") == LEXICAL or any(rubric.startswith(f"{LEXICAL}-") for rubric in rubrics):
        return True
    return our_name(name.partition("@")[0]) == "cosine" and models.get("embed") == LEXICAL


def blocks(known: JudgeTrusts, words: Words) -> list[Block]:
    """What a report shows: calibrated judges and warnings one by one, the others together."""
    language, found = words.language, []
    rest = [n for n, each in known.judges.items() if not each.calibration and not each.warnings]
    for name, each in known.judges.items():
        if name not in rest:
            parts = filter(None, (each.level, each.calibration))
            text = TEXTS(language, "stop").join(parts)
            found.append(Block(words.name("judge", name), text, each.warnings))
    if rest:
        names = words("comma").join(words.name("judge", name) for name in rest)
        text = TEXTS(language, "not_compared", judges=names)
        found.append(Block(TEXTS(language, "not_calibrated"), text))
    return found


def heading(language: Language) -> str:
    """What stands above the blocks."""
    return TEXTS(language, "title")


def with_notes(found: Sequence[Note], known: JudgeTrusts) -> tuple[Note, ...]:
    """A report's notes and these, alarms first."""
    return tuple(sorted((*found, *known.notes), key=lambda note: not note.alarm))


def drifts_of(results: Results) -> tuple[Drift, ...]:
    """The drift check that is stored with a run; what another version wrote says nothing."""
    kept = results.notes.get("drift")
    try:
        return tuple(Drift.model_validate(each) for each in kept) if isinstance(kept, list) else ()
    except ValidationError:
        return ()


def family_notes(settings: Mapping[str, Any], models: Mapping[str, str], language: Language) -> list[Note]:
    """Whether the judge grades a bot of its own family, or shares one with the customer."""
    judge, bot, user = models.get("judge", ""), _bot_model(settings, models), models.get("user", "")
    found = []
    if same_family(judge, bot):
        found.append(Note(text=TEXTS(language, "family_bot", judge=judge, other=bot), alarm=True))
    if same_family(judge, user):
        found.append(Note(text=TEXTS(language, "family_user", judge=judge, other=user)))
    return found


def bias_text(row: BiasRow, part: str, language: Language) -> str:
    """A probe's outcome as a phrase: what was changed, and by how many grades it moved the judge."""
    told = {"moved": _signed(row.difference or 0.0)}
    if row.kind == "flipped_fact":
        told = {"caught": f"{100 * min(row.fell or 0.0, row.turned or 0.0):.0f}"}
    head = TEXTS(language, "of_part", part=part) if part and row.judge.endswith(".correctness") else ""
    return head + TEXTS(language, row.kind, **told)


def _standing(
    name: str, rubrics: Sequence[str], drifts: Sequence[Drift], words: Words, folder: Path
) -> JudgeTrust:
    # A further model of the panel grades under `turn@model`; what it is worth is filed under the judge.
    judge, language = name.partition("@")[0], words.language
    calibration = calibration_for(judge, rubrics, language, folder)
    bias = bias_for(judge, rubrics, folder)
    rows = [r for r in bias.broken if r.language == language or r.kind == "twin"] if bias else []
    warnings = [_bias_warning(rows, words)] if rows else []
    if calibration and calibration.figures.get("poor_discrimination"):
        warnings.append(_poor(calibration, language))
    warnings += [_drift_warning(d, language) for d in drifts if d.drifted and _of(d) == name]
    level = _level(calibration) if calibration else "not_calibrated"
    text = _agreement(calibration, language) if calibration else None
    return JudgeTrust(calibration=text, level=TEXTS(language, level), warnings=tuple(warnings))


def _level(calibration: Calibration) -> Level:
    name, value, low, _ = calibration.headline
    if calibration.n < ENOUGH:
        return "few"
    if value is None or low is None or low <= _CHANCE[name]:
        return "doubtful"
    return next((level for limit, level in _LEVELS[name] if value >= limit), "doubtful")


def _agreement(calibration: Calibration, language: Language) -> str:
    """`人との一致 AUROC .89 [.84–.93]（222件、mtrag_human faithfulness）`."""
    name, value, low, high = calibration.headline
    between = f" [{short(low)}–{short(high)}]" if low is not None and high is not None else ""
    told = {
        "figure": f"{name} {short(value)}{between}",
        "n": f"{calibration.n:,}",
        "data": f"{calibration.dataset} {calibration.label}",
    }
    if calibration.language == language:
        return TEXTS(language, "agreement", **told)
    return TEXTS(language, "agreement_abroad", of=TEXTS(language, f"of_{calibration.language}"), **told)


def _bias_warning(rows: Sequence[BiasRow], words: Words) -> str:
    language, part = words.language, words.name("category", "correctness")
    told = TEXTS(language, "comma").join(bias_text(row, part, language) for row in rows)
    return TEXTS(language, "check", what=told)


def _poor(calibration: Calibration, language: Language) -> str:
    commonest: Any = calibration.figures.get("commonest") or {}
    told = {"percent": f"{100 * commonest.get('share', 0):.0f}", "grade": f"{commonest.get('grade', 0):g}"}
    return TEXTS(language, "poor", **told)


def _drift_warning(drift: Drift, language: Language) -> str:
    return TEXTS(language, "drifted", shift=_points(drift), n=f"{drift.n:,}")


def _drift_notes(drift: Drift, words: Words) -> list[Note]:
    told = {"judge": words.name("judge", _of(drift)), "n": f"{drift.n:,}"}
    key, language = "note_drifted" if drift.drifted else "note_steady", words.language
    found = [Note(text=TEXTS(language, key, shift=_points(drift), **told), alarm=drift.drifted)]
    if not drift.same_rubric:
        found.append(Note(text=TEXTS(language, "note_changed", judge=told["judge"]), alarm=True))
    if drift.failed:
        found.append(Note(text=TEXTS(language, "note_failed", judge=told["judge"], n=f"{drift.failed:,}")))
    return found


def _masked(counts: Mapping[str, int], language: Language) -> str:
    """How much personal data is masked, by the masks that a reader meets."""
    kinds = [f"{mask(kind, language)} {n:,}" for kind, n in counts.items()]
    return TEXTS(language, "note_masked" if kinds else "note_unmasked", kinds=", ".join(kinds))


def _of(drift: Drift) -> str:
    return JudgeName.of(drift.judge).judge


def _points(drift: Drift) -> str:
    """A shift of 0..1 on the scale to 100, with its sign."""
    return _signed(100 * drift.shift, places=0)


def _signed(value: float, places: int = 2) -> str:
    """`+0.4`, `-0.97`, `0`."""
    text = f"{value:+.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if text.strip("+-0.") else "0"


def _bot_model(settings: Mapping[str, Any], models: Mapping[str, str]) -> str:
    """The bundled bot's model, or the one that an adapter was told with `--set model`; empty if unknown."""
    if settings.get("adapter", "demo") == "demo":
        return models.get("demo", "")
    told = settings.get("set")
    return str(told.get("model", "")) if isinstance(told, Mapping) else ""
