"""What the command line can do: a function per verb, with the verb's arguments."""
