"""SQL: the schema as numbered migrations, and the databases that hold it.

Here belong tables, statements and transactions.  A change of the schema is a new file in `migrations`; a file
that was released is never edited.
"""
