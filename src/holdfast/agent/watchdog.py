"""Kills what is protected when its lease is over: `python -I -S watchdog.py --page FILE --protect WHAT`.

Rule 1: the agent writes a deadline into a page of memory that both share; from that moment on, by a clock
        that runs during suspend, no protected process lives: not the one that is found first, and none
        that appears later.  Only the agent takes the deadline back, by 0 or by a later one.
Rule 2: counting needs no disk, no network and no import.  What must be read to find the processes is read
        by a second thread; if that one hangs, what it found last is killed all the same.
Rule 3: it counts visibly, says whether it could kill what it has found, and tries on a child of its own
        whether a kill works at all: the agent asks for no lease otherwise.

One file, standard library only: it is started as a script, with as little of an interpreter as there is.
"""

import _thread
import errno
import mmap
import os
import resource
import signal
import sys
import time

TYPE_CHECKING = False  # the module `typing` costs more than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 16_384
MAGIC = 0x484F4C4446415354
(
    IS_PAGE,  # MAGIC
    BOOT,  # the boot of this machine to which all times belong
    DEADLINE,  # ns; 0: disarmed.  Written by the agent, as are the next three
    EPOCH,
    AGENT,  # when the agent last counted, ns
    AGENT_PID,
    HOOK,  # the process group of a hook that may still start a service; 0: none
    PROTECT,  # what the watchdog protects, as a number
    WATCHDOG,  # when it last counted, ns
    WATCHDOG_PID,
    FOUND,  # when the processes were last looked for, ns
    ABLE,  # 1: it can kill all that it has found
    TARGETS,  # how many live
    KILLS,  # how many it has killed
    KILLED,  # when it last killed one, ns
) = range(15)

TICK_S, FIND_S = 0.05, 0.25
LEFT_ALONE_S = 30
CGROUPS = "/sys/fs/cgroup"


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def boot_number() -> int:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return int(file.read().replace("-", "")[:15], 16)


def number_of(text: str) -> int:
    """The same for the same text in every process, which `hash` is not."""
    number = 5381
    for byte in text.encode():
        number = (number * 33 + byte) & 0x7FFFFFFFFFFFFFF
    return number


def open_page(path: str) -> "tuple[mmap.mmap, memoryview]":
    """The page as bytes and as words of 64 bits, each of which is read and written whole."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # With its blocks, so that no later write can fail.  A full disk may take a part of it without a word.
        if os.fstat(fd).st_size < SIZE and os.write(fd, bytes(SIZE)) < SIZE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        page = mmap.mmap(fd, SIZE)
    finally:
        os.close(fd)
    return page, memoryview(page).cast("q")


class Protected:
    """What stands behind pid:N, pidfile:FILE, unit:NAME, cgroup:PATH or command:TEXT, with its children."""

    KINDS = ("pid", "pidfile", "unit", "cgroup", "command")

    def __init__(self, what: str) -> None:
        self.what = what
        self.kind, _, self.name = what.partition(":")
        if self.kind not in self.KINDS or not self.name:
            raise ValueError(f"{what!r} is none of pid:N, pidfile:FILE, unit:NAME, cgroup:PATH, command:TEXT")
        if self.kind == "pid" and not self.name.isdigit():
            raise ValueError(f"{what!r}: after pid: comes a number")
        self.first: int | None = None
        if self.kind == "pid":
            self.first = _started(int(self.name))
        self.excluded = {0, 1, os.getpid()}
        self.fds: dict[int, int] = {}
        self.cgroup = ""
        self.unseen = False
        """The last look could not see all of them: there may be more than were found."""

    def find(self) -> int:
        """Look for them; how many live.  Raises nothing: what cannot be read is as it was."""
        try:
            pids = self._pids() - self.excluded
        except (OSError, ValueError):
            self.unseen = True
            return len(self.fds)
        unseen = False
        for pid in [pid for pid in self.fds if pid not in pids or not _lives(pid)]:
            os.close(self.fds.pop(pid))
        for pid in pids:
            if pid not in self.fds and _lives(pid):
                try:
                    self.fds[pid] = os.pidfd_open(pid)
                except ProcessLookupError:
                    continue  # it has ended meanwhile
                except OSError:
                    unseen = True
        self.unseen = unseen
        return len(self.fds)

    def able(self) -> bool:
        """Whether this process can see all of them, and may kill all that it has found."""
        if self.unseen:
            return False
        if self.kind in ("unit", "cgroup") and os.geteuid() != 0:
            folder = self.cgroup
            if folder and not os.access(os.path.join(folder, "cgroup.kill"), os.W_OK):
                return False
        for fd in list(self.fds.values()):
            try:
                signal.pidfd_send_signal(fd, 0)
            except ProcessLookupError:
                continue
            except OSError:
                return False
        return True

    def kill(self) -> int:
        """Kill all that were found; how many there were.  A second call kills what is left.

        All are stopped before the first is killed: a shell or a supervisor among them would see its child
        die, and might start another one before its own turn comes.
        """
        if self.cgroup:
            _tried(_write, os.path.join(self.cgroup, "cgroup.kill"), "1")  # an older kernel has none
        self._send(signal.SIGSTOP)
        return self._send(signal.SIGKILL)

    def _send(self, number: int) -> int:
        sent = 0
        for fd in list(self.fds.values()):
            try:
                signal.pidfd_send_signal(fd, number)
                sent += 1
            except OSError:
                continue
        return sent

    def _pids(self) -> "set[int]":
        if self.kind == "pid":
            pid = int(self.name)
            return _family([pid]) if self.first is not None and _started(pid) == self.first else set()
        if self.kind == "pidfile":
            try:
                with open(self.name) as file:
                    text = file.read(32).strip()
            except FileNotFoundError:
                return {pid for pid in self.fds if _lives(pid)}  # removed too early: what was found counts
            return _family([int(text)] if text.isdigit() else [])
        if self.kind == "command":
            return _family(self._commands())
        self.cgroup = self.name if self.kind == "cgroup" else _unit_folder(self.name, self.cgroup)
        if self.kind == "cgroup" and not self.cgroup.startswith("/"):
            self.cgroup = os.path.join(CGROUPS, self.cgroup)
        return _members(self.cgroup) if self.cgroup else set()

    def _commands(self) -> "list[int]":
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/cmdline", "rb") as file:
                        line = file.read(4096).replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if self.name in line and self.what not in line:  # not the agent, which is told this text
                    found.append(int(name))
        return found


def _stat(pid: int) -> "list[str]":
    """The fields after the command's name, of which the first is the state."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _lives(pid: int) -> bool:
    fields = _stat(pid)
    return bool(fields) and fields[0] not in "ZX"


def _started(pid: int) -> "int | None":
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def _family(pids: "list[int]") -> "set[int]":
    """These processes and all that descend from them."""
    found: set[int] = set()
    left = list(pids)
    while left:
        pid = left.pop()
        if pid in found:
            continue
        found.add(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as file:
                    left += [int(child) for child in file.read().split()]
        except OSError:
            continue
    return found


def _members(folder: str) -> "set[int]":
    found: set[int] = set()
    for place, _, _ in os.walk(folder):
        try:
            with open(os.path.join(place, "cgroup.procs")) as file:
                found |= {int(pid) for pid in file.read().split()}
        except OSError:
            continue
    return found


def _unit_folder(name: str, before: str) -> str:
    """Where the unit's control group is; none while it does not run."""
    if before and os.path.isdir(before):
        return before
    for place, folders, _ in os.walk(CGROUPS):
        if name in folders:
            return os.path.join(place, name)
    return ""


def _tried(call: "Callable[..., object]", *arguments: object) -> bool:
    try:
        call(*arguments)
    except OSError:
        return False
    return True


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


class Watchdog:
    def __init__(self, path: str, what: str, with_agent: bool) -> None:
        self.path, self.with_agent = path, with_agent
        self.page, self.words = open_page(path)
        self.protected = Protected(what)
        self.boot = boot_number()
        self.works = kill_works()
        self.gone = False
        """The page's file is no more, or is another's."""

    def count(self) -> None:
        """Until another watchdog takes over, or nothing is left to count for."""
        words, pid = self.words, os.getpid()
        words[PROTECT], words[WATCHDOG_PID] = number_of(self.protected.what), pid
        _thread.start_new_thread(self._find, ())
        while words[WATCHDOG_PID] == pid:
            now = now_ns()
            words[WATCHDOG] = now
            left_ns = self._left_ns(now)
            if left_ns is not None and left_ns <= 0:
                self._kill()
            elif left_ns is None and self._is_alone(now):
                return
            time.sleep(TICK_S if left_ns is None or left_ns <= 0 else min(TICK_S, left_ns / 1e9))

    def _left_ns(self, now: int) -> "int | None":
        """None: disarmed, or armed on another boot."""
        deadline = self.words[DEADLINE]
        return deadline - now if deadline and self.words[BOOT] == self.boot else None

    def _is_alone(self, now: int) -> bool:
        return self.gone or (self.with_agent and now - self.words[AGENT] > LEFT_ALONE_S * 1_000_000_000)

    def _kill(self) -> None:
        words = self.words
        hook = words[HOOK]
        if hook > 1:
            _tried(os.killpg, hook, signal.SIGKILL)
        killed = self.protected.kill()
        if killed:
            words[KILLS] += killed
            words[KILLED] = now_ns()

    def _find(self) -> None:
        """Looks for the processes, for as long as this process lives."""
        words, protected = self.words, self.protected
        while True:
            protected.excluded.add(words[AGENT_PID])
            words[TARGETS] = protected.find()
            words[ABLE] = 1 if self.works and protected.able() else 0
            words[FOUND] = now_ns()
            left_ns = self._left_ns(now_ns())
            if left_ns is not None and left_ns <= 0:
                self._kill()
            try:
                self.gone = os.stat(self.path).st_size < SIZE
            except OSError:
                self.gone = True
            soon = words[HOOK] > 1 or (left_ns is not None and left_ns <= 0)
            time.sleep(TICK_S if soon else FIND_S)


def kill_works() -> bool:
    """Tried on a child that does nothing but wait."""
    child = os.fork()
    if child == 0:
        while True:
            signal.pause()
    try:
        fd = os.pidfd_open(child)
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        os.close(fd)
    except OSError:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def be_urgent() -> None:
    """Before others when time or memory is short, and with a file for each process, where that is allowed."""
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    _tried(resource.setrlimit, resource.RLIMIT_NOFILE, (files_max, files_max))
    _tried(os.sched_setscheduler, 0, os.SCHED_RR, os.sched_param(1))
    _tried(_write, "/proc/self/oom_score_adj", "-1000")


def main(argv: "list[str]") -> int:
    given = {name: argv[n + 1] for n, name in enumerate(argv[:-1])}
    path, what = given.get("--page", ""), given.get("--protect", "")
    if not path or not what:
        sys.stderr.write("usage: python -I -S watchdog.py --page FILE --protect WHAT [--with-agent]\n")
        return 2
    try:
        watchdog = Watchdog(path, what, "--with-agent" in argv)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"holdfast watchdog: {error}\n")
        return 2
    be_urgent()
    watchdog.count()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
