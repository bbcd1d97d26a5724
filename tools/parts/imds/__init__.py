"""The instance metadata service, version 2, scripted.

One server plays any number of instances: each is found under its id as a path prefix
(`/i-1/latest/…`), or alone on a port of its own.  Times in notices are fixed when the
notice is given and never slide.  `python -m tools.parts.imds` runs it alone; the EC2
stand-in runs it inside itself.
"""
