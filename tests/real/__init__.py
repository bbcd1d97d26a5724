"""Tests against the real outside systems of `tools/parts`: slow, and worth it.

What needs none of them belongs elsewhere.  A part that is not installed skips its
tests; with HOLDFAST_REAL=1 it fails them.
"""
