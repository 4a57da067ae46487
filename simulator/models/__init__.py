"""Models of OpenAI-compatible endpoints and of other providers: the modules, as a call meets them.

by_role     the models of a run: `Models.role("judge").ask(messages, Form, again)`
client      one call from its request to its reply; providers: the same through LangChain
cache       a reply that was paid for before
pricing     what it may cost, what it did, and what is left of the budget
outage      whether anybody is answered there
limiter     a place among the calls in flight; rates: the requests and tokens of a minute
exchange    one request and its answer
refusals    what is learnt of an answer that refuses; waits: for how long it asks to be left alone
patience    whether it is worth another attempt
context     whether the whole prompt was read
reading     a form out of the text of a reply
embedding   requests for vectors, joined
"""
