"""Your bot, as the rehearsal sees it: a question in, the answer and the passages it came from out."""

PASSAGES = {
    "returns": "到着後14日以内の未使用品に限り返品できます。Unused items can be returned within 14 days.",
    "fees": "送料は全国一律550円です。Delivery costs 550 yen anywhere in Japan.",
}


def answer(question: str):
    """Replace these lines with a call of your own system."""
    found = max(PASSAGES.items(), key=lambda item: len(set(question) & set(item[1])))
    return found[1], [{"id": found[0], "text": found[1]}]
