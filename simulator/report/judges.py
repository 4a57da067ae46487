"""How far each judge can be trusted: its agreement with people, what moves it, whether it has drifted.

A mean alone does not say whether people would agree with it, so judge trust stands beside it. Judges that
only compare by rule (labels, choices, exact match, ROUGE and so on) are left out until someone has
calibrated them: they claim nothing but what they count, and "not calibrated" would be noise. Offline
stand-ins are left out whoever has calibrated them: they do not judge a bot.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulator.core.document import Fact, Facts, Section
from simulator.core.messages import shown
from simulator.core.roles import LEXICAL
from simulator.core.shelves import canonical_judge
from simulator.core.templates import Texts
from simulator.core.translations import Words, words_of
from simulator.core.types import PASSED, Language, Results
from simulator.models.families import same_family
from simulator.privacy.patterns import mask
from simulator.report.comparison import replay_note
from simulator.report.context import JudgeTrust, JudgeTrusts, Note, TrustLevel
from simulator.report.extras import consistency_line
from simulator.runner.labelled_answers import JudgeName
from simulator.runner.masking import masks_of
from simulator.runner.merge import merge_summary
from simulator.stats import judge_trust
from simulator.stats.bias import BiasRow
from simulator.stats.calibration import ENOUGH_ROWS
from simulator.stats.figures import Summary
from simulator.stats.judge_trust import Calibration, Drift, bias_for, calibration_for, short_number

TEXTS = Texts(Path(__file__).with_name("judge_trust.toml"))
MERGED = Texts(Path(__file__).with_name("merged.toml"))
# These compare with the row by rule, and claim no more.
BY_RULE = frozenset((
    "exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf", "label", "choice", PASSED,
))  # fmt: skip
# The least agreement of each level: AUROC after Hosmer and Lemeshow (.7 acceptable, .8 excellent), and rank
# correlation; below the last of them, or where chance is not ruled out, it is doubtful.
_LEVELS: Mapping[str, tuple[tuple[float, TrustLevel], ...]] = {
    "AUROC": ((0.8, "well"), (0.7, "fair"), (0.6, "weak")),
    "rho": ((0.6, "well"), (0.4, "fair"), (0.2, "weak")),
}
# A longer list of judges is folded on a page.
OPEN_AT_MOST = 8
_CHANCE = {"AUROC": 0.5, "rho": 0.0}


def judge_trusts(
    results: Results, summary: Summary, language: Language, folder: Path = judge_trust.FOLDER
) -> JudgeTrusts:
    """The trust in every judge, from the calibrations that `folder` holds of exactly its rubric."""
    drifts, words = drifts_of(results), words_of(summary, language)
    trusts = {
        name: _trust(name, judge.rubrics, drifts, words, folder)
        for name, judge in summary.judges.items()
        if not _is_stand_in(name, judge.rubrics, results.run.models)
    }
    judges = {
        name: trust
        for name, trust in trusts.items()
        if trust.calibration or trust.warnings or not by_rule(name)
    }
    notes = [note for drift in drifts for note in _drift_notes(drift, words)]
    notes += family_notes(results.run.settings, results.run.models, language)
    if replay := replay_note(results.run, language):
        notes.append(Note(text=replay))
    if (masked := masks_of(results)) is not None:
        kinds = [f"{mask(kind, language)} {n:,}" for kind, n in masked.items()]
        key = "note_masked" if kinds else "note_unmasked"
        notes.append(Note(text=TEXTS(language, key, kinds=", ".join(kinds))))
    notes += _merged_notes(results, language)
    if inconsistency := consistency_line(results, language):
        notes.append(Note(text=inconsistency, alarm=True))
    return JudgeTrusts(judges=judges, notes=tuple(notes))


def by_rule(name: str) -> bool:
    """Whether a judge compares by rule and needs no calibration; `path.em` is such a judge of one output."""
    judge = name.partition("@")[0]
    return canonical_judge(judge) in BY_RULE or canonical_judge(judge.rpartition(".")[2]) in BY_RULE


def _is_stand_in(name: str, rubrics: Sequence[str], models: Mapping[str, str]) -> bool:
    """Whether a judge counts words in place of a model, or rests on embeddings that do."""
    if models.get("judge") == LEXICAL or any(rubric.startswith(f"{LEXICAL}-") for rubric in rubrics):
        return True
    return canonical_judge(name.partition("@")[0]) == "cosine" and models.get("embed") == LEXICAL


def trust_section(trusts: JudgeTrusts, words: Words) -> Section | None:
    """Calibrated judges one by one, the others in one line; None where nothing is known of any."""
    language, facts, others = words.language, [], []
    for name, trust in trusts.judges.items():
        title = words.name("judge", name)
        if trust.calibration or trust.warnings:
            parts = filter(None, (TEXTS(language, trust.level), trust.calibration))
            facts.append(Fact(title, TEXTS(language, "stop").join(parts), trust.warnings))
        else:
            others.append(title)
    if others:
        text = TEXTS(language, "not_compared", judges=words("comma").join(others))
        facts.append(Fact(TEXTS(language, "not_calibrated"), text))
    if not facts:
        return None
    return Section(
        "trust", TEXTS(language, "title"), (Facts(tuple(facts)),), folded=len(facts) > OPEN_AT_MOST
    )


def drifts_of(results: Results) -> tuple[Drift, ...]:
    """The drift checks that are stored with a run; empty where another version stored them differently."""
    stored = results.notes.get("drift")
    try:
        return tuple(Drift.model_validate(each) for each in stored) if isinstance(stored, list) else ()
    except ValidationError:
        return ()


def family_notes(settings: Mapping[str, Any], models: Mapping[str, str], language: Language) -> list[Note]:
    """Whether the judge grades a bot of its own family, or shares one with the customer."""
    judge, bot, user = models.get("judge", ""), _bot_model(settings, models), models.get("user", "")
    notes = []
    if same_family(judge, bot):
        notes.append(Note(text=TEXTS(language, "family_bot", judge=judge, other=bot), alarm=True))
    if same_family(judge, user):
        notes.append(Note(text=TEXTS(language, "family_user", judge=judge, other=user)))
    return notes


def bias_text(row: BiasRow, part: str, language: Language) -> str:
    """A probe's outcome as a phrase: what was changed, and by how many grades it moved the judge."""
    figures = {"moved": _signed(row.difference or 0.0)}
    if row.kind == "flipped_fact":
        figures = {"caught": f"{100 * min(row.fell or 0.0, row.turned or 0.0):.0f}"}
    head = TEXTS(language, "of_part", part=part) if part and row.judge.endswith(".correctness") else ""
    return head + TEXTS(language, row.kind, **figures)


def _trust(
    name: str, rubrics: Sequence[str], drifts: Sequence[Drift], words: Words, folder: Path
) -> JudgeTrust:
    # A further model of the panel grades under `turn@model`; its calibration is filed under the judge.
    judge, language = name.partition("@")[0], words.language
    calibration = calibration_for(judge, rubrics, language, folder)
    bias = bias_for(judge, rubrics, folder)
    rows = [r for r in bias.broken if r.language == language or r.kind == "twin"] if bias else []
    warnings = []
    if rows:
        part = words.name("category", "correctness")
        moved = TEXTS(language, "comma").join(bias_text(row, part, language) for row in rows)
        warnings.append(TEXTS(language, "check", what=moved))
    if calibration and calibration.figures.get("poor_discrimination"):
        commonest: Any = calibration.figures.get("commonest") or {}
        percent, grade = f"{100 * commonest.get('share', 0):.0f}", f"{commonest.get('grade', 0):g}"
        warnings.append(TEXTS(language, "poor", percent=percent, grade=grade))
    warnings += [
        TEXTS(language, "drifted", shift=_shift_text(drift), n=f"{drift.n:,}")
        for drift in drifts
        if drift.drifted and _judge_of(drift) == name
    ]
    if calibration is None:
        return JudgeTrust(calibration=None, level="not_calibrated", warnings=tuple(warnings))
    text, level = _agreement_text(calibration, language), _level(calibration)
    return JudgeTrust(calibration=text, level=level, warnings=tuple(warnings))


def _level(calibration: Calibration) -> TrustLevel:
    name, value, low, _ = calibration.headline
    if calibration.n < ENOUGH_ROWS:
        return "few"
    if value is None or low is None or low <= _CHANCE[name]:
        return "doubtful"
    return next((level for limit, level in _LEVELS[name] if value >= limit), "doubtful")


def _agreement_text(calibration: Calibration, language: Language) -> str:
    """`人との一致 AUROC .89 [.84–.93]（222件、mtrag_human faithfulness）`."""
    name, value, low, high = calibration.headline
    interval = f" [{short_number(low)}–{short_number(high)}]" if low is not None and high is not None else ""
    values = {
        "figure": f"{name} {short_number(value)}{interval}",
        "n": f"{calibration.n:,}",
        "data": f"{calibration.dataset} {calibration.label}",
    }
    if calibration.language == language:
        return TEXTS(language, "agreement", **values)
    return TEXTS(language, "agreement_abroad", of=TEXTS(language, f"of_{calibration.language}"), **values)


def _drift_notes(drift: Drift, words: Words) -> list[Note]:
    """Whether a judge grades the same answers as it did when it was calibrated."""
    language, judge, n = words.language, words.name("judge", _judge_of(drift)), f"{drift.n:,}"
    key = "note_drifted" if drift.drifted else "note_steady"
    text = TEXTS(language, key, shift=_shift_text(drift), judge=judge, n=n)
    notes = [Note(text=text, alarm=drift.drifted)]
    if not drift.same_rubric:
        notes.append(Note(text=TEXTS(language, "note_changed", judge=judge), alarm=True))
    if drift.failed:
        notes.append(Note(text=TEXTS(language, "note_failed", judge=judge, n=f"{drift.failed:,}")))
    return notes


def _merged_notes(results: Results, language: Language) -> list[Note]:
    """That the run was merged of several; an alarm where shards are missing or the runs differ."""
    merged = merge_summary(results.notes)
    if merged is None:
        return []
    sentences = [MERGED(language, "merged", n=str(len(merged.runs)))]
    # Where the plan holds the conversations of missing shards, nothing is missing once all have been resumed.
    unfinished = any(conversation.ended is None for conversation in results.conversations)
    if merged.missing and (unfinished or not merged.planned):
        sentences.append(MERGED(language, "missing", shards=", ".join(merged.missing)))
    if merged.differences:
        listed = MERGED(language, "stop").join(shown(each, language) for each in merged.differences)
        sentences.append(MERGED(language, "differences", differences=listed))
    text = ("" if language == "ja" else " ").join(sentences)
    return [Note(text=text, alarm=len(sentences) > 1)]


def _judge_of(drift: Drift) -> str:
    return JudgeName.of(drift.judge).judge


def _shift_text(drift: Drift) -> str:
    """A shift of 0..1 on the scale to 100, with its sign."""
    return _signed(100 * drift.shift, places=0)


def _signed(value: float, places: int = 2) -> str:
    """`+0.4`, `-0.97`, `0`."""
    text = f"{value:+.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if text.strip("+-0.") else "0"


def _bot_model(settings: Mapping[str, Any], models: Mapping[str, str]) -> str:
    """The bundled bot's model, or the one that `--set model` names for an adapter; empty if unknown."""
    if settings.get("adapter", "demo") == "demo":
        return models.get("demo", "")
    adapter_settings = settings.get("set")
    return str(adapter_settings.get("model", "")) if isinstance(adapter_settings, Mapping) else ""
