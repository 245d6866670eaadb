"""Texts that the tiny model can go on with, and files of texts."""

from headway_experiments.truncation.texts import Completion

TEXTS = (
    Completion("one", "Madrid is located in", "Spain", "the"),
    Completion("one", "Lima is in", "Peru", "a town"),
    Completion("one", "Lima is ", "that", "the"),
    Completion("one", "Lima is", "Perus", "Peru a"),
    Completion("two", "2 and 2 is", "4", "the sum of both"),
    Completion("two", "It is", " 4", " 5 or so"),
)


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path
