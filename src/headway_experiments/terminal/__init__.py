"""Tables of experiments on the terminal."""
