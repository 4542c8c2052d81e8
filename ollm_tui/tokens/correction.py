"""How far the estimates for one model are off, learned from what its server reports."""

from dataclasses import dataclass

LEAST = 0.25
MOST = 8.0
KEPT = 0.5
"""What the older answers still weigh when a new one comes."""
CAUTION_TOKENS = 300
"""As if so many tokens were always estimated rightly: short requests are mostly template."""


@dataclass(slots=True)
class Correction:
    """A ratio of reported to estimated tokens; newer and longer requests weigh more."""

    estimated: float = 0.0
    reported: float = 0.0

    @property
    def ratio(self) -> float:
        """What to multiply an estimate with, between LEAST and MOST."""
        return (self.reported + CAUTION_TOKENS) / (self.estimated + CAUTION_TOKENS)

    def learn(self, estimated: int, reported: int) -> None:
        """Take one answer into account.

        Far too small a report is none: some servers leave out what they had cached.
        """
        if estimated <= 0 or reported < LEAST * estimated:
            return
        self.estimated = KEPT * self.estimated + estimated
        self.reported = KEPT * self.reported + min(reported, MOST * estimated)

    def apply(self, estimate: int) -> int:
        """Give the corrected estimate, at least one."""
        return max(1, round(estimate * self.ratio))
