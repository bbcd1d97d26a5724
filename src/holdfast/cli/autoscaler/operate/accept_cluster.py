"""`holdfast autoscaler accept-cluster`."""

from pathlib import Path

import click

from holdfast.cli.autoscaler.session import session
from holdfast.cli.session import busy, options, say, say_json


@click.command(name="accept-cluster")
@options
@click.option(
    "--forget-workers",
    is_flag=True,
    help="Machines of the old cluster count as never joined: what does not join this one is ended by and by.",
)
def command(config: Path | None, as_json: bool, forget_workers: bool) -> None:
    """Say that the cluster which answers now is the one to look after, because it was rebuilt.

    The record keeps the uid of the namespace kube-system, and refuses to work with any other cluster: it
    might be a wrong kubeconfig.  Check with `kubectl cluster-info` and `kubectl get nodes` first.

    \b
    Example:
      holdfast autoscaler accept-cluster
    """
    from holdfast.app.autoscaler.steer import change
    from holdfast.autoscaler import identity
    from holdfast.autoscaler.codec import SUBJECT

    with session(config, as_json, warns=False) as ours:
        with busy("asking which cluster this is"):
            autoscaler = ours.autoscaler()
            uid = autoscaler.kubernetes.cluster_uid()
            before = autoscaler.store.read(SUBJECT).value.cluster_uid
        changed = change(
            autoscaler.store,
            lambda cluster, now_s: identity.accept(cluster, uid, now_s, forget_workers=forget_workers),
        )
        if as_json:
            say_json({"cluster_uid": uid, "before": before, "changed": changed})
        elif changed:
            say(f"The cluster is {uid} from now on; it was {before or 'not known'}.")
        else:
            say(f"The cluster is {uid} already.")
