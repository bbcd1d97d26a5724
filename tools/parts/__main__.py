"""`python -m tools.parts install [NAME …]`, `python -m tools.parts list`."""

import argparse
import sys
import time

from tools.parts.catalog import all_parts
from tools.parts.part import CannotInstall, Part


def install(parts: list[Part]) -> int:
    failed = 0
    for n, part in enumerate(parts, 1):
        label = f"[{n}/{len(parts)}] {part.name} {part.version}"
        if not part.installed:
            print(f"{label}: installing …", flush=True)
        began_s = time.monotonic()
        try:
            did = part.install(lambda line: print(f"    {line}", flush=True))
        except CannotInstall as error:
            failed += 1
            print(f"{label}: cannot be installed: {error}", flush=True)
            continue
        took = f"installed in {time.monotonic() - began_s:.0f} s" if did else "already there"
        print(f"{label}: {took}, {part.size_mb():.0f} MB", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.parts", description=__doc__)
    parser.add_argument("verb", choices=["install", "list"])
    parser.add_argument("names", nargs="*", help="only these parts (default: all)")
    asked = parser.parse_args()
    known = all_parts()
    names = [name for word in asked.names for name in word.split(",") if name]
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = [known[name] for name in names] if names else list(known.values())
    if asked.verb == "install":
        return install(chosen)
    for part in chosen:
        state = "installed" if part.installed else "absent"
        print(f"{part.name:16} {part.version:10} {state:10} {part.licence:14} {part.purpose}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
