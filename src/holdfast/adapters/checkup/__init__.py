"""Is everything there and allowed?  Each table, machine, permission and endpoint is tried, none touched.

Here belong questions to the world and their answers in words.  What is asked is asked as the
autoscaler itself would: by the same adapters, with the same credentials.
"""

from holdfast.adapters.checkup.check import Check
from holdfast.adapters.checkup.whole import checkup

__all__ = ["Check", "checkup"]
