"""`python -m tools.package_lambda`: the function's zip, with all that it imports but boto3, which Lambda has.

The API descriptions that botocore needs for its clients are cut down to the calls that are made,
and lie in `aws-models`: `holdfast.lambda_handler` points botocore there.

Everything is compiled beforehand: Lambda's folder is read-only, so what is not compiled is
compiled again at every cold start.  The compiled files are taken at their word (`unchecked`),
because unpacking does not keep the times by which they would be compared with their sources.

The zip is for the Python and the processor that built it.  The same sources give the same bytes.
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from holdfast.lambda_handler import MODELS
from tools import aws_calls

SOURCE: Final = Path(__file__).parents[1] / "src" / "holdfast"
OUT: Final = Path("build") / "holdfast-lambda.zip"
LIBRARIES: Final = ("msgspec", "urllib3")
NOT_OURS: Final = ("cli", "console", "failover", "leases", "sim")
"""Parts of holdfast that the function never imports."""
LEFT_OUT: Final = {".pyc", ".pyi", ".typed"}
SIZE_MAX: Final = 8_000_000
MADE_AT: Final = (2020, 1, 1, 0, 0, 0)
"""One time for all: else the same sources would give another zip each time."""
ARCHITECTURES: Final = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m tools.package_lambda", description="Build the zip.")
    words.add_argument("--out", type=Path, default=OUT, help=f"where to write it ({OUT})")
    words.add_argument("--settings", type=Path, help="a holdfast.toml to put beside the code")
    asked = words.parse_args()
    size = build(asked.out, settings=asked.settings)
    print(f"{asked.out}: {size / 1e6:.1f} MB of at most {SIZE_MAX / 1e6:.0f}")
    print(f"deploy it with Runtime={runtime()} Architecture={architecture()}")
    return 0 if size < SIZE_MAX else 1


def runtime() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def architecture() -> str:
    return ARCHITECTURES[platform.machine()]


def build(out: Path, *, settings: Path | None = None) -> int:
    """Write the zip; returns its size in bytes."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, path in _files():
            _lay(folder / name, path.read_bytes())
        for service in aws_calls.OF_THE_FUNCTION:
            name, told = _description(service)
            _lay(folder / name, told)
        if settings is not None:
            _lay(folder / "holdfast.toml", settings.read_bytes())
        _compile(folder)
        with zipfile.ZipFile(out, "w") as zipped:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                _put(zipped, path.relative_to(folder).as_posix(), path)
    return out.stat().st_size


def _lay(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _compile(folder: Path) -> None:
    """In a process of its own, with a hash seed of its own: else no two runs would give the same bytes.

    Tracebacks name the files where Lambda puts them.
    """
    argv = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    argv += ["-s", str(folder), "-p", "/var/task", str(folder)]
    subprocess.run(argv, env={**os.environ, "PYTHONHASHSEED": "0"}, check=True)


def _description(service: str) -> tuple[str, bytes]:
    name = f"{MODELS}/{service}/{aws_calls.version(service)}/service-2.json"
    return name, json.dumps(aws_calls.description(service), separators=(",", ":")).encode()


def _files() -> Iterator[tuple[str, Path]]:
    """Each file with its name in the zip."""
    yield from _below(SOURCE, "holdfast", NOT_OURS)
    for library in LIBRARIES:
        spec = importlib.util.find_spec(library)
        assert spec is not None, f"{library} is not installed: run `make check` once, which sets it up"
        for folder in spec.submodule_search_locations or ():
            yield from _below(Path(folder), library)
    for library in (*LIBRARIES, "botocore"):
        for file in metadata.files(library) or ():
            if file.name.startswith(("LICENSE", "NOTICE")) and ".dist-info" in file.parts[0]:
                yield f"licenses/{library}/{file.name}", Path(str(file.locate()))
    yield "licenses/holdfast/LICENSE", SOURCE.parents[1] / "LICENSE"


def _below(folder: Path, name: str, without: tuple[str, ...] = ()) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.is_file() and path.suffix not in LEFT_OUT and inside.parts[0] not in without:
            yield f"{name}/{inside.as_posix()}", path


def _put(zipped: zipfile.ZipFile, name: str, path: Path) -> None:
    entry = zipfile.ZipInfo(name, MADE_AT)
    entry.external_attr = (0o755 if path.suffix == ".so" else 0o644) << 16  # Lambda runs as another user
    entry.compress_type = zipfile.ZIP_DEFLATED
    zipped.writestr(entry, path.read_bytes(), compresslevel=9)


if __name__ == "__main__":
    sys.exit(main())
