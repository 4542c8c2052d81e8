"""Finding models and downloading them."""
