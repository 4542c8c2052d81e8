"""Model files of Hugging Face repositories: searching, listing, choosing."""
