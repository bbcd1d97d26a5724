"""One module a part, each with a `PART`.  A new file here is a new part: nothing else to register."""

import importlib
import pkgutil

from tools.parts.part import Part


def all_parts() -> dict[str, Part]:
    """Every part by name."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    parts: list[Part] = [module.PART for module in modules if hasattr(module, "PART")]
    return {part.name: part for part in sorted(parts, key=lambda part: part.name)}
