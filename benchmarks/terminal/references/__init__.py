"""Programs that the figures are ratios to."""
