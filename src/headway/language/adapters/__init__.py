"""The same questions for other harnesses: lm-evaluation-harness and reasoning-gym."""
