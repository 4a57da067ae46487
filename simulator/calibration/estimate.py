"""What grading given answers will take, from the real prompts, before anything is paid."""

from collections.abc import Sequence

from simulator import find
from simulator.calibration.grading import graders_of
from simulator.forecast import GRADE, GRADES, tokens
from simulator.judging import FunctionJudging, ModelJudging, Panel
from simulator.rubrics import Form
from simulator.spending import cost_usd
from simulator.stage import Stage
from simulator.types import Exhibit, Spending, Usage


def forecast(stage: Stage, panel: Panel, exhibits: Sequence[Exhibit]) -> Spending:
    """Calls, tokens and dollars at most; nothing where no model grades. Dollars are None without a price."""
    asked: list[Spending] = []
    endpoint = stage.endpoints["judge"]
    for judging in panel.judgings:
        if isinstance(judging, ModelJudging):
            form = GRADES + GRADE * (len(judging.rubrics) - 1)
            size = sum(_size(stage, each, judging.rubrics, alone=judging.alone) for each in exhibits)
            model = judging.model.endpoint.model
            asked.append(_spending(model, len(exhibits) * judging.votes, size * judging.votes, form))
        elif endpoint and isinstance(judging, FunctionJudging):
            for name in set(graders_of(judging)) & set(find.form_names()):
                size = sum(_size(stage, each, [find.form(name)], alone=True) for each in exhibits)
                asked.append(_spending(endpoint.model, len(exhibits), size, GRADE))
    return _together(asked)


def _size(stage: Stage, exhibit: Exhibit, forms: Sequence[Form], *, alone: bool) -> int:
    messages = stage.grading.frame.prompt(exhibit, forms, alone=alone)
    return sum(tokens(message["content"]) for message in messages)


def _spending(model: str, calls: int, tokens_in: int, form: int) -> Spending:
    used = Usage(model=model, tokens_in=tokens_in, tokens_out=form * calls)
    return Spending(calls=calls, tokens_in=tokens_in, tokens_out=used.tokens_out, cost_usd=cost_usd(used))


def _together(asked: Sequence[Spending]) -> Spending:
    costs = [each.cost_usd for each in asked]
    return Spending(
        calls=sum(each.calls for each in asked),
        tokens_in=sum(each.tokens_in for each in asked),
        tokens_out=sum(each.tokens_out for each in asked),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )
