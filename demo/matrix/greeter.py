"""A bot that only greets: what any other one has to beat."""


def greet(language: str) -> str:
    """The same words for every question."""
    return "お問い合わせありがとうございます。" if language == "ja" else "Thank you for contacting us."
