"""Answers questions from their text alone; shares no code with what writes them."""

import re


def solve(prompt):
    """Every answer that the text allows."""
    *lines, question = prompt.split("\n")
    if re.match(r"What is the value of \w\?", question):
        return equations(lines, question)
    if question.startswith("What is the value of "):
        return functions(lines, question)
    if question.startswith("Who "):
        return kingdoms(lines, question)
    if any(" mother is " in line for line in lines) or lines[0].endswith("."):
        return relatives(lines, question)
    return lives_with(lines, question)


def follow(leads, start, until=str.isalpha, key=str):
    """All ends of the ways from a start; what a word leads to is found by its key."""
    ends = set()
    open_ends = [start]
    while open_ends:
        here = open_ends.pop()
        further = [b for a, b in leads if a == key(here)]
        if not further and until(here):
            ends.add(here)
        open_ends += further
    return ends


def equations(lines, question):
    leads = [tuple(line.split(" = ")) for line in lines]
    return follow(leads, re.search(r"of (\w)\?", question)[1], str.isdigit)


def lives_with(lines, question):
    leads = [tuple(re.split(" lives in | lives with ", line)) for line in lines]
    return follow(leads, re.match(r"Where does (\w+) live", question)[1])


def stem(word):
    """The part that forms of a word have in common: Novaria, Novarians; luminism,
    Luminists.
    """
    return re.sub("(ists|ism|ns|s)$", "", word.lower()).removesuffix("a")


def kingdoms(lines, question):
    leads = []
    for line in lines:
        found = re.fullmatch(
            r"(\w+) (?:lives in|believe in|eat|contains|causes) (\w+)\.", line
        )
        leads.append((stem(found[2]), found[1]))
    return follow(leads, re.match(r"Who [a-z ]+ (\w+)\?", question)[1], key=stem)


def functions(lines, question):
    tables = {}
    names = {}
    for line in lines:
        left, right = line.split(" = ")
        if cell := re.fullmatch(r"(\w)\((\d)\)", left):
            tables[cell[1], cell[2]] = right
        else:
            assert left not in names
            names[left] = right
    function, argument = re.search(r"of (\w)\((\w)\)", question).groups()
    while function in names:
        function = names[function]
    while argument in names:
        argument = names[argument]
    return {tables[function, argument]}


def relatives(lines, question):
    lives = {}
    family = {}
    customs = {}
    works = {}
    for line in lines:
        if found := re.fullmatch(r"(\w+) lives (?:in|with) (\w+)\.", line):
            assert found[1] not in lives
            lives[found[1]] = found[2]
        elif found := re.fullmatch(
            r"(\w+)s (mother|sister|father|brother) is (\w+)\.", line
        ):
            family[found[1], found[2]] = found[3]
        elif found := re.fullmatch(r"(\w+)s live with their (\w+)s\.", line):
            customs[found[1].lower()] = found[2]
        else:
            found = re.fullmatch(r"(\w+) works as an? (\w+)\.", line)
            works[found[1]] = found[2]
    found = re.match(
        r"Where does (\w+?)(?:s (mother|sister|father|brother))? live\?", question
    )
    who, kind = found.groups()
    if kind:
        who = family[who, kind]
    elif who in works:
        who = family[who, customs[works[who]]]
    while who in lives:
        who = lives[who]
    return {who}
