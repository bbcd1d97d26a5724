"""Holdfast keeps spot fleets on AWS standing."""
