"""A bot of your own, rehearsed from Python: python demo/python/rehearse_bot.py"""

from simulator import rehearse


def answer(question: str):
    return "送料は全国一律550円です。", ["送料は全国一律550円です。"]


asks = [
    "送料はいくらですか？",
    "北海道までの送料は？",
    "沖縄も同じ送料ですか？",
    "送料は重さで変わりますか？",
    "離島の送料は？",
]
cases = [{"question": ask, "reference": "送料は全国一律550円です。"} for ask in asks]
if __name__ == "__main__":
    result = rehearse(answer, cases, persona="calm", turns=2, offline=True)
    print(result.score, [turn.reason for turn in result.red])
    result.report("report.html")
