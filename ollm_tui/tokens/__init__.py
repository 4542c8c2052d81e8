"""Tokens: how many a request has, what a model can hold, and what to do when that is too many."""
