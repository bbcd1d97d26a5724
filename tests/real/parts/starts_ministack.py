"""A run that starts MiniStack, tells where it is, and then hangs until it is killed."""

import json
import signal

from tools.parts.catalog.ministack import PART

if __name__ == "__main__":
    started = PART.start()
    print(json.dumps({"folder": str(started.running.folder), "endpoint": started.endpoint}), flush=True)
    signal.pause()
