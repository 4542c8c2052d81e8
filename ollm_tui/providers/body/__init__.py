"""The bodies of chat requests: what several protocols do the same way."""
