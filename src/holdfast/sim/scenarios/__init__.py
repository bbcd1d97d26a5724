"""The three parts, living: load comes and goes, machines die, streams are resharded.

Each scenario brings its own piece of the world, starts the processes that work on it,
judges every step, and says at the end what has not healed.
"""

from holdfast.sim.scenarios.agreeing import Agreeing
from holdfast.sim.scenarios.scaling import Scaling
from holdfast.sim.scenarios.scenario import Scenario
from holdfast.sim.scenarios.taking_over import TakingOver

__all__ = ["Agreeing", "Scaling", "Scenario", "TakingOver"]
