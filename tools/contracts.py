"""A contract for import-linter: these modules import one another, what is allowed, and nothing else.

import-linter's own contracts forbid what was thought of.  Purity needs the opposite: no list of
modules that reach a clock, a network or a disk is complete, so this one lists what may be imported
and refuses the rest.
"""

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

Breach = tuple[str, str, str]
"""The module that imports, what it imports, and in which lines."""


class OnlyAllowedImports(Contract):
    """Options, each a list of dotted names that stand for the module and all below it.

    `modules`: whose imports are judged.
    `allowed`: what they may import beside one another.
    `shells`: modules among them that are not judged.  The judged ones may not import them,
    or the world would come in by that door.
    `concerning`: only imports of these are judged; if none is given, all imports.
    `ignore_imports`: single imports that are let pass, as `importer -> imported`.  One that is not
    there is an error.
    """

    type_name = "only_allowed_imports"

    modules = fields.ListField(subfield=fields.StringField())
    allowed = fields.ListField(subfield=fields.StringField())
    shells = fields.ListField(subfield=fields.StringField(), default=[])
    concerning = fields.ListField(subfield=fields.StringField(), default=[])
    ignore_imports = fields.ListField(subfield=fields.StringField(), default=[])
    guidance = fields.StringField(default="")

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        modules, allowed, shells = (self._names(option) for option in ("modules", "allowed", "shells"))
        concerning, ignored = self._names("concerning"), self._ignored(graph)
        for name in (*modules, *shells):
            if name not in graph.modules:
                raise ValueError(f"{self.name!r} lists {name}, which does not exist: correct or remove it")
        judged = {name for name in graph.modules if _is_in(name, modules) and not _is_in(name, shells)}
        breaches: list[Breach] = [
            (importer, imported, _lines(graph, importer, imported))
            for importer in sorted(judged)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if imported not in judged and not _is_in(imported, allowed)
            if not concerning or _is_in(imported, concerning)
            if (importer, imported) not in ignored
        ]
        return ContractCheck(kept=not breaches, metadata={"breaches": breaches})

    def render_broken_contract(self, check: ContractCheck) -> None:
        breaches: list[Breach] = check.metadata["breaches"]
        for importer, imported, lines in breaches:
            output.print_error(f"{importer} is not allowed to import {imported} ({lines})", bold=False)
        output.new_line()
        output.print(str(self.guidance))

    def _ignored(self, graph: ImportGraph) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        for line in self._names("ignore_imports"):
            importer, _, imported = line.partition(" -> ")
            known = importer in graph.modules
            if not known or imported not in graph.find_modules_directly_imported_by(importer):
                raise ValueError(f"{self.name!r} ignores {line}, which does not exist: correct or remove it")
            found.add((importer, imported))
        return found

    def _names(self, option: str) -> list[str]:
        return cast("list[str]", getattr(self, option))  # parsed: no longer the field of that name


def _is_in(name: str, packages: list[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _lines(graph: ImportGraph, importer: str, imported: str) -> str:
    details = graph.get_import_details(importer=importer, imported=imported)
    return ", ".join(f"l. {line}" for line in sorted({detail["line_number"] for detail in details}))
