"""Models of OpenAI-compatible endpoints and of other providers: calls, limits, cache, prices, embeddings.

The package by module: `by_role` has the models of a run, `client` makes a call, `providers` one through
LangChain, `exchange` is the single request, `limiter` says when it may go out, `waits` for how long the
endpoint asks to be left alone, `outage` whether anybody is answered, `refusals` what is not supported,
`context` whether the whole prompt was read, `cache` keeps replies, `pricing` counts what they cost,
`reading` makes a form of a reply, and `embedding` joins requests for vectors.
"""
