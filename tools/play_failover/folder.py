"""What a person needs here: settings, an environment, and commands that start, kill and freeze machines.

A machine is a folder with a counter and its agent.  Everything on it carries the folder's path on its
command line, so that killing a machine whole kills just that.
"""

import shlex
import sys
from pathlib import Path

from tools.parts.ports import free_port

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / "examples" / "failover" / "hooks"
AGENT = "db"
MACHINES = (1, 2, 3)

SETTINGS = """\
# Written by `make failover` for the server that it has started.

[failover]
listen = "127.0.0.1:{port}"
server = "http://127.0.0.1:{port}"
lease_s = 6
heartbeat_s = 1
request_timeout_s = 2
"""
START = """\
#!/bin/sh
# start N: a machine comes up, enrols if it is new, and waits to be asked.
set -eu
n=${{1:?a number: start 1}}
cd {folder}
at=$PWD/machine-$n
mkdir -p "$at/data"
if [ ! -e "$at/state" ]; then
    rm -f "$at/enrol"
    holdfast failover enrol {agent} --out "$at/enrol"
fi
service=$((20000 + {port} % 10000 + 10 * n)) health=$((20001 + {port} % 10000 + 10 * n))
COUNTER_FOLDER=$at/data COUNTER_PORT=$service COUNTER_PYTHON={python} \\
    setsid {python} -m holdfast.agent --server http://127.0.0.1:{port} --enrol "$at/enrol" \\
    --hooks {hooks} --instance "{agent}-$n" --address "127.0.0.1:$service" --listen "127.0.0.1:$health" \\
    --imds off --state "$at/state" --run "$at/run" --protect "pidfile:$at/data/counter.pid" \\
    </dev/null >>"$at/agent.log" 2>&1 &
echo $! >"$at/agent.pid"
echo "127.0.0.1:$service" >"$at/address"
echo "machine $n is up: its counter is at 127.0.0.1:$service, its log is machine-$n/agent.log"
"""
KILL_MACHINE = """\
#!/bin/sh
# kill-machine N: agent, watchdog and counter, all at once, as when a machine loses its power.
at={folder}/machine-${{1:?a number: kill-machine 1}}/
pkill -KILL -f "$at" && echo "machine $1 is gone"
"""
SIGNAL_AGENT = """\
#!/bin/sh
# {name} N: {what}
at={folder}/machine-${{1:?a number: {name} 1}}
kill -{signal} "$(cat "$at/agent.pid")" && echo "the agent of machine $1 got SIG{signal}; its counter runs on"
"""
SERVER = """\
#!/bin/sh
# start-server: the server, again if it was killed.
cd {folder} || exit 1
[ -e server.pid ] && kill -0 "$(cat server.pid)" 2>/dev/null && echo "it is running already" && exit 1
setsid holdfast failover server </dev/null 2>>server.log &
echo $! >server.pid
"""
KILL_SERVER = """\
#!/bin/sh
# kill-server: the server dies in the middle of its work.  Leases run on; after one of them, primaries stop.
kill -KILL "$(cat {folder}/server.pid)" && echo "the server is gone: start-server brings it back"
"""
WHO = """\
#!/bin/sh
# who: which counters take a write at this moment.  There is never more than one.
for at in {folder}/machine-*/; do
    answer=$(curl -s -m 1 -X POST "http://$(cat "$at/address")/add" 2>/dev/null) || answer="(no answer)"
    echo "$(basename "$at"): $answer"
done
"""


def furnish(folder: Path, port: int) -> None:
    (folder / "holdfast.toml").write_text(SETTINGS.format(port=port))
    programs = folder / "bin"
    programs.mkdir()
    (programs / "holdfast").symlink_to(Path(sys.executable).parent / "holdfast")
    fill = {
        "folder": shlex.quote(str(folder)),
        "agent": AGENT,
        "port": port,
        "python": shlex.quote(sys.executable),
        "hooks": shlex.quote(str(HOOKS)),
    }
    texts = {
        "start": START.format(**fill),
        "kill-machine": KILL_MACHINE.format(**fill),
        "who": WHO.format(**fill),
        "start-server": SERVER.format(**fill),
        "kill-server": KILL_SERVER.format(**fill),
        **{
            name: SIGNAL_AGENT.format(**fill, name=name, signal=signal, what=what)
            for name, signal, what in (
                (
                    "kill-agent",
                    "KILL",
                    "only the agent dies; the watchdog ends the counter when the lease is over.",
                ),
                ("freeze-agent", "STOP", "the agent hangs, as on a machine that swaps."),
                ("wake-agent", "CONT", "a frozen agent goes on where it was."),
            )
        },
    }
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (folder / "env").write_text(f'export PATH={shlex.quote(str(programs))}:"$PATH"\n')


def chosen_port() -> int:
    return free_port()
