"""Run as a program: the same hunt on a store whose commits are no transactions, to see it caught.

One worker alone, so that nothing but a kill can come between its statements.
"""

import json
import sys

from holdfast.adapters.sql.sqlite import Database
from tests.variants import broken
from tools.kill_nine.hunt import Hunt

WITHOUT_TRANSACTION = {
    'self._db.execute(f"BEGIN {kind}")': "pass",
    'self._db.execute("COMMIT")': "pass",
}


def main(path: str, kills: int) -> None:
    variant = broken("holdfast.adapters.sql.sqlite.database", WITHOUT_TRANSACTION)
    Database.transaction = variant.Database.transaction  # type: ignore[method-assign]
    print(json.dumps(Hunt(path, ["w-1"], seed=1).run(kills)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
