"""Model files on this machine: found, described, matched to its memory, and downloaded."""
