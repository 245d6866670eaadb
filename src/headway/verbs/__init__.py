"""What the command line can do: a function a verb, whose arguments are the verb's."""
