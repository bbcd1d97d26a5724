"""What a schema of a newer release means."""

from holdfast.kernel import Invalid


def refuse_newer(where: str, number: int, newest: int) -> None:
    """Raises Invalid for a database that a newer release has migrated: this one does not know its tables."""
    if number > newest:
        raise Invalid(
            f"{where}: its schema has number {number}, and this release knows {newest} at "
            "most. Nothing was changed (use the release that migrated it, or name another file in `database`)"
        )
