"""Models of OpenAI-compatible endpoints and of other providers: the modules, as a call meets them.

by_role      the models of a run: `Models.role("judge").ask(messages, Form, again)`
client       one request from question to reply, top to bottom; providers: the same through LangChain
connections  what all models of a process share
cache        a reply that was paid for before; pricing: what one may cost, and what is left of the budget
patience     whether it is worth another attempt, and whether anybody is answered there
limiter      a place among the calls in flight, and pauses after a 429
exchange     one request and its answer; bodies: which cannot fill the memory; network: proxies, certificates
refusals     what an endpoint says that gives no reply, and of which kind it is; abilities: what is learnt
failures     what is said of a call that failed
forms        a form as it is asked for; reading: the form in a reply; completion: the text in an answer
context      whether the whole prompt was read
embedding    requests for vectors, joined
"""
