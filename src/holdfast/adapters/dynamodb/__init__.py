"""Cluster records and agreed caps in DynamoDB: flat items, one transaction a commit."""

from holdfast.adapters.dynamodb.client import make_client
from holdfast.adapters.dynamodb.items import DynamoItems
from holdfast.adapters.dynamodb.stores import DynamoCapStore, cluster_store

__all__ = ["DynamoCapStore", "DynamoItems", "cluster_store", "make_client"]
