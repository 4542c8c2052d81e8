"""Parsers without input or output: bytes and text in, values out."""
