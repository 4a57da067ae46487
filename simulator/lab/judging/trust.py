"""How far each judge can be trusted: its agreement with people, what moves it, whether it has drifted.

A mean alone does not say whether people would agree with it, so judge trust stands beside it. Judges that
only compare by rule (labels, choices, exact match, ROUGE and so on) are left out until someone has
calibrated them: they claim nothing but what they count, and "not calibrated" would be noise. Offline
stand-ins are left out whoever has calibrated them: they do not judge a bot.

A calibration counts for exactly the rubric (prompt, form and model, by its hash) that it was made with. One
judge in a report:

    Groundedness   people mostly agree: agreement with people AUROC .89 [.84–.93] (answers: 222, mtrag_human
                   faithfulness)
                   ! CHECK: an angry customer moves it by -0.41

The level in front is by the size of the agreement, and only where its interval rules chance out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from simulator.core.document import Fact, FactList, Line, Section, Text
from simulator.core.messages import Message, _, shown
from simulator.core.settings import Settings
from simulator.core.shelves import canonical_judge
from simulator.core.titles import title
from simulator.core.types import LEXICAL, Language, Results, Value
from simulator.lab.judging.figures import ENOUGH_ROWS
from simulator.lab.judging.stored import (
    FLIPPED,
    BiasRow,
    Drift,
    bias_for,
    calibration_for,
    short_number,
)
from simulator.report.tables import signed
from simulator.results.figures import Summary
from simulator.results.scores import by_rule
from simulator.storage.results import report_language

# How well a judge agrees with people: the first four by its agreement below, `few` where fewer
# answers were compared than that takes, `not_calibrated` where nobody compared any with this rubric and
# model.
TrustLevel = Literal["well", "fair", "weak", "doubtful", "few", "not_calibrated"]


class JudgeTrust(Value):
    """One judge: `calibration` words its agreement with people (None: not calibrated).

    `warnings` are what is known to sway it, and that its grades have drifted since it was calibrated.
    """

    calibration: Text | None
    level: TrustLevel
    warnings: tuple[Text, ...] = ()


# The least AUROC of each level, after Hosmer and Lemeshow (.7 acceptable, .8 excellent); below the last of
# them, or where chance (.5) is not ruled out, it is doubtful.
_LEVELS: tuple[tuple[float, TrustLevel], ...] = ((0.8, "well"), (0.7, "fair"), (0.6, "weak"))
_CHANCE = 0.5
# The key of the section; its figures stand with each judge in --json.
KEY = "trust"
_TRUST: dict[TrustLevel, Message] = {
    "well": _("people mostly agree"),
    "fair": _("people often agree"),
    "weak": _("people often disagree"),
    "doubtful": _("people are not shown to agree"),
    "few": _("too few answers to tell yet"),
    "not_calibrated": _("not calibrated"),
}
# What was done to an answer, its customer or its passages without making it better or worse: the probes of
# `calibrate --probes` that should not move a judge (`lab/judging`).
_CHANGES: dict[str, Message] = {
    "padding": _("adding thanks"),
    "angry": _("an angry customer"),
    "shuffled": _("another order of passages"),
}


def judge_trusts(results: Results, summary: Summary, language: Language) -> dict[str, JudgeTrust]:
    """The trust in every judge, from what is stored of exactly its rubric."""
    judges, drifts = {}, drifts_of(results)
    for name, judge in summary.scores.judges.items():
        trust = _trust(name, judge.rubrics, drifts, language)
        # A judge that compares by rule is named only where there is something to say of it.
        is_known = trust.calibration or trust.warnings or not by_rule(name)
        if is_known and not _is_stand_in(name, judge.rubrics, results.run.models):
            judges[name] = trust
    return judges


def drifts_of(results: Results) -> list[Drift]:
    """The drift of each judge that `--check` found before the run."""
    noted = results.notes.get("drift")
    return [Drift.model_validate(drift) for drift in noted] if isinstance(noted, list) else []


def drift_remarks(results: Results) -> Iterator[Line]:
    """What reports of a run say of drift, before anybody relies on its figures."""
    for drift in drifts_of(results):
        yield from drift_notes(drift)


def _is_stand_in(name: str, rubrics: Sequence[str], models: Mapping[str, str]) -> bool:
    """Whether a judge counts words in place of a model, or rests on embeddings that do."""
    role = "embed" if canonical_judge(name.partition("@")[0]) == "cosine" else "judge"
    lexical = {models.get("judge"), models.get(role), *(rubric.partition("-")[0] for rubric in rubrics)}
    return LEXICAL in lexical


def trust_section(results: Results, summary: Summary, _settings: Settings) -> Section | None:
    """Calibrated judges one by one, the others in one line; None where nothing is known of any.

    Its figures are `calibration` and `warnings` of each judge.
    """
    language = report_language(results)
    trusts = judge_trusts(results, summary, language)
    facts, others = [], []
    for name, trust in trusts.items():
        if trust.calibration or trust.warnings:
            text: Text = _TRUST[trust.level]
            if trust.calibration:
                text = _("{level}: {agreement}", level=text, agreement=trust.calibration)
            facts.append(Fact(title("judge", name), text, trust.warnings))
        else:
            others.append(title("judge", name))
    if not facts:
        return None
    if others:
        text = _("{judges} (not yet compared with people)", judges=others)
        facts.append(Fact(_TRUST["not_calibrated"], text))
    figures = {
        name: {
            "calibration": trust.calibration and shown(trust.calibration, language),
            "warnings": [shown(text, language) for text in trust.warnings],
        }
        for name, trust in trusts.items()
    }
    blocks = (FactList(tuple(facts)),)
    return Section(KEY, _("How far to trust the judges"), blocks, folded=True, figures=figures)


def bias_text(row: BiasRow) -> Message:
    """A probe's outcome as a phrase: what was changed, and by how many grades it moved the judge."""
    if row.kind == FLIPPED:
        caught = f"{100 * min(row.fell or 0.0, row.turned or 0.0):.0f}"
        text = _("only {caught} % of answers with one changed fact were noticed", caught=caught)
    else:
        moved = _moved(row.difference or 0.0, places=2)
        text = _("{change} moves it by {moved}", change=_CHANGES[row.kind], moved=moved)
    if row.judge.endswith(".correctness"):
        return _("{part}: {text}", part=title("category", "correctness"), text=text)
    return text


def _trust(name: str, rubrics: Sequence[str], drifts: Sequence[Drift], language: Language) -> JudgeTrust:
    """What is stored of exactly these rubrics, in words: agreement, and what is known to move the judge.

    `level` is by the size of the agreement, unless its interval does not rule out chance or too few answers
    were compared. A bias is warned of in the language of the run.
    """
    # A further model of the panel grades under `turn@model`; its calibration is filed under the judge.
    judge = name.partition("@")[0]
    # One in another language than the run's counts where there is none in it, and is named as such.
    calibration = calibration_for(judge, rubrics, language)
    bias = bias_for(judge, rubrics)
    rows = [r for r in bias.broken if r.language == language] if bias else []
    warnings = [_("CHECK: {what}", what=tuple(map(bias_text, rows)))] if rows else []
    if calibration and calibration.poor_discrimination:
        text = _(
            "Poor discrimination: when calibrated, {percent} % of its grades were {grade}",
            percent=f"{100 * calibration.share:.0f}",
            grade=f"{calibration.commonest:g}",
        )
        warnings.append(text)
    warnings += [
        _("grades have drifted since calibration ({shift} points)", shift=_moved(100 * drift.shift, places=0))
        for drift in drifts
        if drift.drifted and drift.judge == name
    ]
    if calibration is None:
        return JudgeTrust(calibration=None, level="not_calibrated", warnings=tuple(warnings))
    value, (low, high) = calibration.auroc, calibration.interval or (None, None)
    level: TrustLevel = "doubtful"
    if calibration.n < ENOUGH_ROWS:
        level = "few"
    elif value is not None and low is not None and low > _CHANCE:
        level = next((level for limit, level in _LEVELS if value >= limit), "doubtful")
    interval = f" [{short_number(low)}–{short_number(high)}]" if low is not None and high is not None else ""
    data: list[Text] = [f"{calibration.dataset} {calibration.label}"]
    if calibration.language != language:
        data.append(_("Japanese data") if calibration.language == "ja" else _("English data"))
    # `人との一致 AUROC .89 [.84–.93]（222件、mtrag_human faithfulness）`
    agreement = _(
        "agreement with people {figure} (answers: {n}, {data})",
        n=calibration.n,
        figure=f"AUROC {short_number(value)}{interval}",
        data=data,
    )
    return JudgeTrust(calibration=agreement, level=level, warnings=tuple(warnings))


def drift_notes(drift: Drift) -> Iterator[Line]:
    """Whether a judge grades the same answers as it did when it was calibrated."""
    judge = title("judge", drift.judge)
    text = _(
        "Checked for drift. {judge} grades {n} calibrated answers as it did ({shift} points on average)."
    )
    if drift.drifted:
        text = _(
            "Grades have drifted since calibration. {judge} moved by {shift} points of 100 on average (the"
            " same {n} answers). Do not compare with earlier scores."
        )
    text = text.format(n=drift.n, judge=judge, shift=_moved(100 * drift.shift, places=0))
    yield Line(text, "alarm" if drift.drifted else "soft")
    if not drift.same_rubric:
        changed = _("{judge}: prompt or model are no longer those of the calibration.", judge=judge)
        yield Line(changed, "alarm")
    if drift.failed:
        failed = _("{judge}, answers of the drift check that were not graded: {n}.")
        yield Line(failed.format(n=drift.failed, judge=judge), "soft")


def _moved(by: float, places: int) -> str:
    """With the minus that programs read: these sentences are in `--json`, too."""
    return signed(by, places).replace("−", "-")
