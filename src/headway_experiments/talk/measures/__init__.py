"""Measures for the claims of the talk, from run folders alone."""
