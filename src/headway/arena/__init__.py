"""The arena: methods that look for circuits, on models whose circuits are known."""
