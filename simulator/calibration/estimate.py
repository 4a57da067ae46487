"""What grading given answers will take, from the real prompts, before anything is paid."""

from collections.abc import Sequence

from simulator.calibration.grading import graders_of
from simulator.core import shelves
from simulator.core.types import GradingContext, Spending
from simulator.grading.judge import FunctionJudge, ModelJudge, Panel
from simulator.grading.rubric import ReplySchema, load_form
from simulator.models.pricing import together
from simulator.sizes import GRADE, GRADES, tokens
from simulator.stage import Stage


def forecast(stage: Stage, panel: Panel, exhibits: Sequence[GradingContext]) -> Spending:
    """Calls, tokens and dollars at most; nothing where no model grades. Dollars are None without a price."""
    asked: list[Spending] = []
    endpoint, prices = stage.endpoints["judge"], stage.ledger.prices
    for judging in panel.judgings:
        if isinstance(judging, ModelJudge):
            form = GRADES + GRADE * (len(judging.rubrics) - 1)
            size = sum(_size(stage, each, judging.rubrics, alone=judging.alone) for each in exhibits)
            model = judging.model.endpoint.model
            calls = len(exhibits) * judging.votes
            asked.append(prices.spending(model, calls, size * judging.votes, form * calls))
        elif endpoint and isinstance(judging, FunctionJudge):
            for name in set(graders_of(judging)) & set(shelves.form_names()):
                size = sum(_size(stage, each, [load_form(name)], alone=True) for each in exhibits)
                calls = len(exhibits)
                asked.append(prices.spending(endpoint.model, calls, size, GRADE * calls))
    return together(asked)


def _size(stage: Stage, exhibit: GradingContext, forms: Sequence[ReplySchema], *, alone: bool) -> int:
    messages = stage.grading.frame.prompt(exhibit, forms, alone=alone)
    return sum(tokens(message["content"]) for message in messages)
