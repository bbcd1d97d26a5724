"""Translations between the parts' ports and real systems.  They decide nothing.

An adapter's only knowledge is the other side's format, and which of its answers mean
"done", "not done" and "nobody can say".
"""
