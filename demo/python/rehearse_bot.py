"""A bot of your own, rehearsed from Python: python demo/python/rehearse_bot.py"""

from simulator import rehearse


def answer(question: str):
    return "送料は全国一律550円です。", ["送料は全国一律550円です。"]


cases = [{"question": "送料はいくらですか？", "reference": "550円です。"}]
result = rehearse(answer, cases=cases, persona="calm", turns=2, offline=True)
print(result.score, [turn.reason for turn in result.red])
result.report("report.html")
