"""Downloads: what is fetched, how far it is, and the files that come of it."""
