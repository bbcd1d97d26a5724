"""`holdfast failover`: run the servers and agents, ask them, steer them.

One module a command: those that change something are in `operate`, what is drawn for people in `views`.
"""

from holdfast.cli.lazy import Lazy

CHANGING = ("enrol", "switch", "promote", "pause", "resume", "settings", "sweep", "revive", "recover")

command = Lazy(
    "failover",
    package=__name__,
    summaries={
        "server": "Serve agents and operators, and drive the groups.",
        "agent": "Run beside what is protected, on each of its machines.",
        "status": "Each group: its primary, its standbys, what it waits for.",
        "history": "What happened to a group, and why.",
        "why": "The last change of roles, told step by step.",
        "enrol": "Make a one-time token with which one instance joins a group.",
        "switch": "Hand the role over to a standby, and follow it to the end.",
        "promote": "Make one standby the primary.",
        "pause": "No change of roles for a while.",
        "resume": "End a pause.",
        "settings": "Show or change a group's settings.",
        "sweep": "End zombies whose time is over; say that a machine is gone.",
        "revive": "Let a zombie be promoted again, once it is mended.",
        "recover": "After a restored database: say who served last.",
        "clients": "Make clients and their tokens; needs the database.",
        "migrate": "Bring a database's schema up to date.",
        "doctor": "Check the database, the server, tokens and settings.",
    },
    text="""Keep one primary alive per agent through spot interruptions, with standbys.

Settings come from ./holdfast.toml, or from the file that --config names, and from the
environment, which outranks the file: `lease_s = 10` in [failover] is FAILOVER_LEASE_SEC there.

\b
Begin with:
  holdfast failover clients add shop      a client, and its operator's token
  holdfast failover server                one server; start as many as you like
  holdfast failover enrol db --out db-1   a one-time token for the first machine
  holdfast failover agent --help          what runs on each machine
""",
    folders=dict.fromkeys(CHANGING, "operate"),
)
