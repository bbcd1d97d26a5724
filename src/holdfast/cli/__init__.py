"""The command line: one module a command, each imported only when it is called."""

import click

from holdfast.cli.lazy import Lazy

main = click.version_option(package_name="holdfast")(
    Lazy(
        "holdfast",
        package=__name__,
        summaries={
            "up": "Watch the three parts live in the simulated world.",
            "sim": "Live through one seed of the simulated world, and judge it.",
            "autoscaler": "Scale up and scale down the workers of a cluster.",
            "failover": "Keep one primary alive, with standbys.",
            "leases": "Share the shards of a stream among its workers.",
        },
        text="Holdfast keeps spot fleets on AWS standing.",
    )
)
