"""A bot of your own as a pytest test: pytest demo/python --rehearse-offline"""

from rehearse_bot_en import answer, cases


def test_the_bot_may_go_out(rehearse):
    result = rehearse(answer, cases, persona="calm", turns=2, target=60)
    assert result.passed
