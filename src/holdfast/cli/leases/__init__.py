"""`holdfast leases`: the agreed cap on leases, asked for, handed over and watched.  One module a command."""

from holdfast.cli.lazy import Lazy

command = Lazy(
    "leases",
    package=__name__,
    summaries={
        "status": "What is agreed, who has it in force, what stays unread.",
        "watch": "The same, again and again.",
        "cap": "Agree, and print what a KCL is to be told.",
        "exec": "Run a command under the live cap.",
        "run": "Be a live worker without a command.",
        "history": "How the cap changed, by whom and why.",
        "doctor": "Check settings, tables, stream, grants and expected workers.",
    },
    text="""Share the shards of a Kinesis stream among workers that come and go.

Settings come from ./holdfast.toml, or from the file that --config names, and from the
environment, which outranks the file: `app_name = "shop"` in [leases] is APP_NAME there.

\b
Begin with:
  holdfast leases cap              what would a KCL of this worker be told?
  holdfast leases exec -- COMMAND  run it, with that number in {max_leases}
""",
)
