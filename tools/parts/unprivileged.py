"""Programs that refuse to run as root: run as another user, who owns the folder that they write to.

The programs themselves may lie where only root can look, in the cache below root's home.
So that user keeps one right of root's, to read and to search folders, and no other.
"""

import os
import pwd
import shutil
from pathlib import Path

USER = "nobody"


def prefix() -> list[str]:
    """What stands before such a program; nothing where the caller is not root.

    The death of the keeper is told to the program anew: a change of the user forgets it.
    """
    if os.geteuid() != 0:
        return []
    entry = pwd.getpwnam(USER)
    right = "+dac_read_search"
    return [
        "setpriv",
        *(f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"),
        "--securebits=+no_setuid_fixup",  # else access(2) forgets the right
        *(f"--inh-caps={right}", f"--ambient-caps={right}", "--pdeathsig=KILL"),
        "--",
    ]


def hand_over(folder: Path) -> None:
    """Make this folder theirs."""
    if os.geteuid() == 0:
        shutil.chown(folder, USER)
