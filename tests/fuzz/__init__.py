"""Damage, tried at random: what `fuzzing.py` tries, area by area."""
