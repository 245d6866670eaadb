"""Headway for Inspect AI, which loads this module itself, by the entry point `inspect_ai`.

Inspect AI is not imported by anything else in headway.
"""

from headway.language.inspecting import equations, functions, kingdoms, lives_with, relatives

__all__ = ["equations", "functions", "kingdoms", "lives_with", "relatives"]
