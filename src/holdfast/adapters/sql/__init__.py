"""SQL: the schema as numbered migrations, and the databases that hold it.

Here belong tables, statements and transactions.  A change of the schema is a new file in a dialect's
`migrations`; a file that was released is never edited.  Statements stand in `.sql` files: those that every
database understands here, those that one of them needs in its own folder.
"""
