"""Carries what the cloud tells to the shell, as EventBridge would."""

import threading

from holdfast.adapters.aws.events import notices_of
from tools.endure.load import Late
from tools.endure.shells import Shell
from tools.parts.ec2.client import Ec2Control

PATIENCE_S = 1.0


class Courier:
    def __init__(self, ec2: Ec2Control, shell: Shell) -> None:
        self._ec2, self._shell = ec2, shell
        self._read = len(ec2.events())
        self._stopping = threading.Event()
        self.problem = ""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                new = self._ec2.events(self._read, wait_s=PATIENCE_S)
                # A rule lets through only what says that a machine leaves.
                told = [event for event in new if notices_of(event).notices]
                if told:
                    self._shell.tell(told)
                self._read += len(new)
        except (Late, OSError) as error:
            if not self._stopping.is_set():
                self.problem = f"events could not be delivered: {error}"

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(300)
