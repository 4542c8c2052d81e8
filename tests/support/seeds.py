"""Seeds of random tests: the same each time, unless a person names another."""

import os
import random
import sys

VARIABLE = "TEST_SEED"


def chance_for(default: int) -> random.Random:
    """Give a source of chance; its seed is told, and `TEST_SEED=n` in the environment sets it."""
    seed = int(os.environ.get(VARIABLE, default))
    sys.stdout.write(f"{VARIABLE}={seed}\n")
    return random.Random(seed)
