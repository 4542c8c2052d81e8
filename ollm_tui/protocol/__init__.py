"""The vocabulary: content, messages, requests, events, models, errors and ports.

Standard library only, frozen values, no behaviour beyond validation. The two families of
events have classes with equal names and are in `provider_events` and `chat_events`.
"""
