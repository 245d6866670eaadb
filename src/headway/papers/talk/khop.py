"""The k-hop problem: how many layers it takes, and which curriculum (Sanford et al. 2024, Wang,
Nichani et al. 2025)."""

EXPERIMENTS = ()
GROUPS = ()
