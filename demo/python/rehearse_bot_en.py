"""A bot of your own, rehearsed from Python: python demo/python/rehearse_bot_en.py"""

from simulator import rehearse


def answer(question: str):
    return "Shipping is 550 yen to anywhere in Japan.", ["Shipping is 550 yen to anywhere in Japan."]


asks = [
    "How much is shipping?",
    "How much is shipping to Hokkaido?",
    "Is shipping the same to Okinawa?",
    "Does shipping depend on the weight?",
    "What is shipping to the islands?",
]
cases = [{"question": ask, "reference": "Shipping is 550 yen to anywhere in Japan."} for ask in asks]
if __name__ == "__main__":
    result = rehearse(answer, cases, persona="calm", turns=2, offline=True)
    print(result.score, [turn.reason for turn in result.red])
    result.report("report.html")
