"""The bodies of chat requests and of errors: what several protocols do the same way."""
