"""The doctor: is everything there and allowed?  Each table, machine, permission and endpoint is tried.

Here belong questions to the world and their answers in words; nothing is changed.  What is asked is asked
as the autoscaler itself would: by the same adapters, with the same credentials.
"""

from holdfast.app.doctor.check import Check
from holdfast.app.doctor.run import run_checks

__all__ = ["Check", "run_checks"]
