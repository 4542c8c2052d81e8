"""The vocabulary: content, messages, requests, events, models, errors and ports.

Standard library only, frozen values, no behaviour beyond validation.
"""
