"""Dialogs that several features open: questions, lists, help, the palette and approvals."""
