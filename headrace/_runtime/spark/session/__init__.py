"""Spark sessions that start quickly and stay quiet."""
