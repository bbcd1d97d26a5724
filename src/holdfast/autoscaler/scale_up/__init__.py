"""Adding workers: where to ask for them, the request, and what became of it.

Here belong the pure steps of a scale-up, from intent to end.  Whether to scale up is said by `decide`.
"""
