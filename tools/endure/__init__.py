"""A campaign against the autoscaler on the real parts: load, spot notices and SIGKILL, round after round.

`python -m tools.endure --hours 1` goes on for as long as it is told; the tests run a short one.
"""
