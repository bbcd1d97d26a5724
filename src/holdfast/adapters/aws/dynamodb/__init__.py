"""DynamoDB: flat items, one transaction a commit, events and notices in a second table.

Here belong items, conditions and tables.  What a record means is its codec's business, which is handed in.
`caps` alone implements a part's port.
"""

from holdfast.adapters.aws.dynamodb.client import make_client
from holdfast.adapters.aws.dynamodb.items import DynamoItems

__all__ = ["DynamoItems", "make_client"]
