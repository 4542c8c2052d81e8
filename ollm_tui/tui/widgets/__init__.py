"""Widgets that several features share."""
