"""What every front end needs of an open chat, and none draws: the session, consent, links."""
