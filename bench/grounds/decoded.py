"""`python -m bench.grounds.decoded FOLDER`: how much memory nodes and pods take, decoded once, in MB.

The lists are those of `bench.watch.idle`; their bytes are read before the first measurement.
"""

import gc
import sys
from pathlib import Path

import msgspec

from holdfast.adapters.kubernetes.lists import Page
from holdfast.cloud.kubernetes import KubeNode, Pod


def resident_mb(pid: str = "self") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has ended")


def main(folder: Path) -> float:
    nodes, pods = msgspec.json.Decoder(Page[KubeNode]), msgspec.json.Decoder(Page[Pod])
    gc.collect()
    before_mb = resident_mb()
    kept = (
        [nodes.decode(path.read_bytes()).items for path in sorted(folder.glob("nodes-*"))],
        [pods.decode(path.read_bytes()).items for path in sorted(folder.glob("pods-*"))],
    )
    gc.collect()
    took_mb = resident_mb() - before_mb
    assert kept
    return took_mb


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
