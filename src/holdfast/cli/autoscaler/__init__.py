"""`holdfast autoscaler`: run it, ask it, steer it.

One module a command: those that change something are in `operate`, what is drawn for people in `views`.
"""

from holdfast.cli.lazy import Lazy

CHANGING = ("pause", "resume", "abort", "sweep", "accept-cluster")

command = Lazy(
    "autoscaler",
    package=__name__,
    summaries={
        "run": "Run it in a loop, until it is told to stop.",
        "tick": "Take one turn, as a Lambda invocation does.",
        "status": "What it is doing, why, and what the fleet costs an hour.",
        "explain": "Why a node may not leave, or a pod finds no place.",
        "plan": "What would be done now; nothing is touched.",
        "pause": "Begin nothing new for a while.",
        "resume": "End a pause.",
        "abort": "End a scale-down that is open; its nodes stay.",
        "replace": "Replace a worker: a new one joins first, then the old one leaves.",
        "sweep": "Account for every machine and node; clear up what has no owner.",
        "accept-cluster": "Say that the cluster which answers now is the right one.",
        "history": "What happened, and why.",
        "cost": "What it costs: by node, pool, namespace and workload; what spot saves.",
        "notifications": "What operators are being told; --test sends a message.",
        "doctor": "Check every permission, table, endpoint and setting.",
    },
    folders=dict.fromkeys(CHANGING, "operate"),
    text="""Scale up and scale down the worker nodes of a k3s or Kubernetes cluster on EC2.

Settings come from ./holdfast.toml, or from the file that --config names, and from the
environment, which outranks the file: `cpu_up = 0.7` in [autoscaler] is CPU_UP there.

\b
Begin with:
  holdfast autoscaler doctor       is everything there and allowed?
  holdfast autoscaler plan         what would it do now?
  holdfast autoscaler run          let it work
""",
)
