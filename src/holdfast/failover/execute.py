"""Carries effects out on the port of machines.  It decides nothing."""

from holdfast.failover.ports import Effect, Launch, Launched, Machines, NotLaunched
from holdfast.kernel import Busy


def perform(machines: Machines | None, effect: Effect) -> Launched | NotLaunched | None:
    """Each effect says what a second call does.  Raises Busy or Unknown."""
    if machines is None:
        raise Busy("no machines are configured")
    if isinstance(effect, Launch):
        return machines.launch(effect)
    machines.terminate(effect)
    return None
