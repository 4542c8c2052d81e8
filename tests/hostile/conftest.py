from tests.support.idle import waits_for_what_can_happen

__all__ = ["waits_for_what_can_happen"]
