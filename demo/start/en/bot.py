"""A sample bot. Have `answer` call your own bot instead."""

# A word to look for in the question, and the article that answers it
ARTICLES = {
    "delivery": "Delivery costs 5 dollars, and is free for orders over 50 dollars.",
    "return": "Unused items can be returned within 7 days of delivery.",
    "pay": "You can pay by credit card or by bank transfer.",
}
SORRY = "I am sorry, I cannot answer that: our documents do not say anything about it."


def answer(question: str):
    """The reply to the customer, and the passages it was made from."""
    for topic, text in ARTICLES.items():
        if topic in question.lower():
            return text, [{"id": topic, "text": text}]
    return SORRY, []
