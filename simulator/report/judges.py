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

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulator.core.document import Fact, FactList, Line, Section, Text
from simulator.core.messages import Message, _
from simulator.core.shelves import canonical_judge
from simulator.core.titles import title
from simulator.core.types import LEXICAL, Language, Results
from simulator.grading.rubric import JudgeName
from simulator.privacy.patterns import mask
from simulator.report.tables import replay_note, signed
from simulator.report.trust import JudgeTrust, JudgeTrusts, TrustLevel, by_rule
from simulator.results import judge_trust
from simulator.results.calibration import ENOUGH_ROWS
from simulator.results.figures import Summary
from simulator.results.judge_trust import BiasRow, Drift, bias_for, calibration_for, short_number
from simulator.runner.masking import masks_of

# A name begins where no letter stands before it: "my-gpt-4" has one, "calming" is none of "calm".
_STARTS = r"(?<![a-z])"
# The makers of models and the names they go by; a name may belong to two (a distilled model).
#     gpt-4.1, openai:o3-mini -> gpt               Llama-3.1-Swallow-8B -> llama (made of it)
#     anthropic:claude-sonnet-4 -> claude          deepseek-r1-distill-qwen-32b -> deepseek, qwen
# A provider's name counts only as a prefix with : or /; behind openrouter/ and ollama/ anybody's model
# stands.
FAMILIES: dict[str, re.Pattern[str]] = {
    family: re.compile(_STARTS + f"(?:{names})")
    for family, names in {
        "gpt": r"(?:chat)?gpt|o[1-9](?![a-z0-9])|davinci|openai(?=[:/])",
        "claude": r"claude|anthropic(?=[:/])",
        "gemini": r"gemini|gemma|palm-?2|google(?:_genai|_vertexai)?(?=[:/])",
        "llama": r"(?:code)?llama|vicuna|elyza|swallow",
        "qwen": r"qwen|qwq",
        "mistral": r"mistral|mixtral|ministral|magistral|codestral|devstral",
        "deepseek": r"deepseek",
        "phi": r"phi-?\d",
        "command": r"command-|c4ai-|cohere(?=[:/])",
        "grok": r"grok|xai(?=[:/])",
        "nova": r"nova-(?:micro|lite|pro|premier)",
        "plamo": r"plamo",
        "sarashina": r"sarashina",
        "llm-jp": r"llm-?jp",
        "calm": r"(?:open-)?calm\d?(?![a-z])",
        "glm": r"(?:chat)?glm",
        "kimi": r"kimi|moonshot",
        "granite": r"granite",
    }.items()
}
# Names of stand-ins, which belong to no family.
_NO_MODEL = frozenset(("", "lexical", "none"))


def families(model: str) -> frozenset[str]:
    """The families of a model by its name; an unknown model is a family of its own.

    "my/own-model" -> {"own-model"}: without its provider, so that one model behind two doors is one family.
    Empty for stand-ins, which are of no family, not even of each other's.
    """
    name = model.strip().lower()
    if name in _NO_MODEL:
        return frozenset()
    names_of_families = frozenset(family for family, names in FAMILIES.items() if names.search(name))
    return names_of_families or frozenset((re.split(r"[:/]", name)[-1],))


def same_family(judge_model: str, bot_model: str) -> bool:
    """Whether the judge may favour the bot because both are of one family (gpt-4.1 and gpt-4o-mini).

    Self-preference: Panickssery et al., 2024. Worth a warning, not an error. False for stand-ins.
    """
    return bool(families(judge_model) & families(bot_model))


# The least agreement of each level: AUROC after Hosmer and Lemeshow (.7 acceptable, .8 excellent), and rank
# correlation; below the last of them, or where chance is not ruled out, it is doubtful.
_LEVELS: Mapping[str, tuple[tuple[float, TrustLevel], ...]] = {
    "AUROC": ((0.8, "well"), (0.7, "fair"), (0.6, "weak")),
    "rho": ((0.6, "well"), (0.4, "fair"), (0.2, "weak")),
}
# A longer list of judges is folded on a page.
OPEN_AT_MOST = 8
# What grades reach that have nothing to do with people's.
_CHANCE = {"AUROC": 0.5, "rho": 0.0}
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
    "curt": _("answering curtly"),
    "angry": _("an angry customer"),
    "twin": _("the same in the other language"),
    "shuffled": _("another order of passages"),
    "longer": _("one more correct sentence"),
}


def judge_trusts(
    results: Results, summary: Summary, language: Language, folder: Path = judge_trust.FOLDER
) -> JudgeTrusts:
    """The trust in every judge, from the calibrations that `folder` holds of exactly its rubric.

    Its notes are what else a reader has to know before trusting figures: drift, a judge of the bot's own
    family, that the run is a replay, and what was masked.
    """
    stored = results.notes.get("drift")
    try:
        drifts = [Drift.model_validate(drift) for drift in stored] if isinstance(stored, list) else []
    except ValidationError:  # another version stored them differently
        drifts = []
    judges = {}
    for name, judge in summary.scores.judges.items():
        trust = _trust(name, judge.rubrics, drifts, language, folder)
        # A judge that compares by rule is named only where there is something to say of it.
        is_known = trust.calibration or trust.warnings or not by_rule(name)
        if is_known and not _is_stand_in(name, judge.rubrics, results.run.models):
            judges[name] = trust
    notes = [note for drift in drifts for note in drift_notes(drift)]
    notes += family_notes(results.run.settings, results.run.models)
    if replay := replay_note(results.run):
        notes.append(Line(replay, "soft"))
    if masked := masks_of(results):
        kinds = [_("{name} {n}", name=mask(kind, language), n=n) for kind, n in masked.items()]
        notes.append(Line(_("Personal data is masked: {kinds}.", kinds=kinds), "soft"))
    elif masked is not None:
        notes.append(Line(_("Personal data would be masked; none was found."), "soft"))
    return JudgeTrusts(judges=judges, notes=tuple(notes))


def _is_stand_in(name: str, rubrics: Sequence[str], models: Mapping[str, str]) -> bool:
    """Whether a judge counts words in place of a model, or rests on embeddings that do."""
    role = "embed" if canonical_judge(name.partition("@")[0]) == "cosine" else "judge"
    lexical = {models.get("judge"), models.get(role), *(rubric.partition("-")[0] for rubric in rubrics)}
    return LEXICAL in lexical


def trust_section(trusts: JudgeTrusts) -> Section | None:
    """Calibrated judges one by one, the others in one line; None where nothing is known of any."""
    facts, others = [], []
    for name, trust in trusts.judges.items():
        if trust.calibration or trust.warnings:
            text: Text = _TRUST[trust.level]
            if trust.calibration:
                text = _("{level}: {agreement}", level=text, agreement=trust.calibration)
            facts.append(Fact(title("judge", name), text, trust.warnings))
        else:
            others.append(title("judge", name))
    if others:
        text = _("{judges} (not yet compared with people)", judges=others)
        facts.append(Fact(_TRUST["not_calibrated"], text))
    if not facts:
        return None
    blocks = (FactList(tuple(facts)),)
    return Section("trust", _("How far to trust the judges"), blocks, folded=len(facts) > OPEN_AT_MOST)


def family_notes(settings: Mapping[str, Any], models: Mapping[str, str]) -> list[Line]:
    """A warning where the judge grades a bot of its own family."""
    judge = models.get("judge", "")
    # The bundled bot's model, or the one that `--set model` names for an adapter.
    adapter_settings = settings.get("set")
    bot = str(adapter_settings.get("model", "")) if isinstance(adapter_settings, Mapping) else ""
    if settings.get("adapter", "demo") == "demo":
        bot = models.get("demo", "")
    if same_family(judge, bot):
        text = _(
            "The judge rates its own family (judge {judge}, bot {other}). Models tend to grade their own kind"
            " more kindly."
        )
        return [Line(text.format(judge=judge, other=bot), "alarm")]
    return []


def bias_text(row: BiasRow) -> Message:
    """A probe's outcome as a phrase: what was changed, and by how many grades it moved the judge."""
    if row.kind == "flipped_fact":
        caught = f"{100 * min(row.fell or 0.0, row.turned or 0.0):.0f}"
        text = _("only {caught} % of answers with one changed fact were noticed", caught=caught)
    else:
        moved = _moved(row.difference or 0.0, places=2)
        text = _("{change} moves it by {moved}", change=_CHANGES[row.kind], moved=moved)
    if row.judge.endswith(".correctness"):
        return _("{part}: {text}", part=title("category", "correctness"), text=text)
    return text


def _trust(
    name: str, rubrics: Sequence[str], drifts: Sequence[Drift], language: Language, folder: Path
) -> JudgeTrust:
    """What is stored of exactly these rubrics, in words: agreement, and what is known to move the judge.

    `level` is by the size of the agreement, unless its interval does not rule out chance or too few answers
    were compared. A bias is warned of in the language of the run, or where it lies between languages.
    """
    # A further model of the panel grades under `turn@model`; its calibration is filed under the judge.
    judge = name.partition("@")[0]
    # One in another language than the run's counts where there is none in it, and is named as such.
    calibration = calibration_for(judge, rubrics, language, folder)
    bias = bias_for(judge, rubrics, folder)
    rows = [r for r in bias.broken if r.language == language or r.kind == "twin"] if bias else []
    warnings = [_("CHECK: {what}", what=tuple(map(bias_text, rows)))] if rows else []
    if calibration and calibration.figures.get("poor_discrimination"):
        commonest: Any = calibration.figures.get("commonest") or {}
        text = _(
            "Poor discrimination: when calibrated, {percent} % of its grades were {grade}",
            percent=f"{100 * commonest.get('share', 0):.0f}",
            grade=f"{commonest.get('grade', 0):g}",
        )
        warnings.append(text)
    warnings += [
        _("grades have drifted since calibration ({shift} points)", shift=_moved(100 * drift.shift, places=0))
        for drift in drifts
        if drift.drifted and JudgeName.of(drift.judge).judge == name
    ]
    if calibration is None:
        return JudgeTrust(calibration=None, level="not_calibrated", warnings=tuple(warnings))
    figure, value, low, high = calibration.headline
    level: TrustLevel = "doubtful"
    if calibration.n < ENOUGH_ROWS:
        level = "few"
    elif value is not None and low is not None and low > _CHANCE[figure]:
        level = next((level for limit, level in _LEVELS[figure] if value >= limit), "doubtful")
    interval = f" [{short_number(low)}–{short_number(high)}]" if low is not None and high is not None else ""
    data: list[Text] = [f"{calibration.dataset} {calibration.label}"]
    if calibration.language != language:
        data.append(_("Japanese data") if calibration.language == "ja" else _("English data"))
    # `人との一致 AUROC .89 [.84–.93]（222件、mtrag_human faithfulness）`
    agreement = _(
        "agreement with people {figure} (answers: {n}, {data})",
        n=calibration.n,
        figure=f"{figure} {short_number(value)}{interval}",
        data=data,
    )
    return JudgeTrust(calibration=agreement, level=level, warnings=tuple(warnings))


def drift_notes(drift: Drift) -> Iterator[Line]:
    """Whether a judge grades the same answers as it did when it was calibrated."""
    judge = title("judge", JudgeName.of(drift.judge).judge)
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
