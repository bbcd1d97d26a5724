"""The style of this repository as tests: what they refuse, they name by file, line and fix.

A rule is a function from text or a syntax tree to what is wrong with it.  Each is tried
twice: on samples that it must refuse or let pass, and on the repository.
"""
