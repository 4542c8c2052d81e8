"""Model files on this machine: found, described, and the starter model fetched."""
