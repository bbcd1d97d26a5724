"""Fixtures that several folders share."""

from tests.ministack import aws_identity, dynamodb_endpoint

__all__ = ["aws_identity", "dynamodb_endpoint"]
