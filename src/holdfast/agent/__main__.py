"""`python -m holdfast.agent` is `holdfast failover agent`, without the packages of the command line."""

import sys

from holdfast.agent.main import main

sys.exit(main(sys.argv[1:]))
