"""The engine's fixtures, for the tests of this folder."""

from tests.support.engine import model_folder as model_folder
