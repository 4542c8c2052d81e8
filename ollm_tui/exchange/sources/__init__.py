"""The formats of other programs, each read into records of the store.

A source never raises for a value of another type than it expects: the value counts as absent.
"""
