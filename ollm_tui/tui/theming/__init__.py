"""Themes: files, and choosing one."""
