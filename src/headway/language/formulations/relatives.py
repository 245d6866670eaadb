"""F5 (appendix A.5), conditional: where somebody lives depends on work and on relatives."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from headway.language.formulations.base import Formulation, Text
from headway.language.names import ASKED_ABOUT, COUNTRIES, PEOPLE, PROFESSIONS, RELATIVES
from headway.language.question import Question


@dataclass(frozen=True)
class RelativesFacts:
    """The parts of a question.

    Attributes:
        lives: blocks of (who, where or with whom), as they are printed: the last are relatives, the
            first live in places.
        relatives: of everybody who has some, each with their kind, as they are printed; empty if a
            relative is asked about.
        customs: (profession, kind of relative that it lives with), as they are printed; empty if
            the kind is part of the question.
        works: (who, profession), as they are printed; empty likewise.
        asked: who is asked about.
        kind: of relative, if it is part of the question.
    """

    lives: Sequence[Sequence[tuple[str, str]]]
    relatives: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    customs: Sequence[tuple[str, str]]
    works: Sequence[tuple[str, str]]
    asked: str
    kind: str = ""


class Relatives(Formulation[RelativesFacts]):
    """`Lily lives in Brazil.`, …, `Eves mother is Lily.`, …, `Lawyers live with their mothers.`, …,
    `Eve works as a lawyer.` Where does Eve live?

    The answer needs both who Eve is and what she does. Roles: `q` is who is asked about; `w1`, `w2`
    the two words that say what she does; `c1`, `c2` those that say whom one lives with who does it;
    `r1`, `r2`, `r3` person, kind and name in the line of the relative; `l1`, `l2` the two sides of
    the line that says where that one lives; `l3`, `l4` of the next, if any. The depth counts
    look-ups from the question to the place: 4 are by who somebody is and what they do (as in the
    paper); more, if relatives live with others; 1 asks where a relative lives, 2 where somebody's
    mother does, 3 the same if she lives with another.
    """

    name, default_depth = "relatives", 4
    about = "people who live with relatives, as their professions do"

    def deepest(self, chains: int) -> int:
        """As many names as there are."""
        most = min(len(ASKED_ABOUT), len(COUNTRIES) // len(RELATIVES))
        return 3 + len(PEOPLE) // (chains * len(RELATIVES)) if chains <= most else 0

    def answers(self, chains: int) -> int:
        """A place per relative."""
        return chains * len(RELATIVES)

    def draw(self, random: Random, depth: int, chains: int, rank: int) -> RelativesFacts:
        """Swaps the place that would be right with the one that is to be right."""
        count, kinds = self.answers(chains), len(RELATIVES)
        blocks = depth - 3 if depth >= 4 else max(1, depth - 1)
        names = random.sample(PEOPLE, count * blocks)
        levels = [names[count * i : count * (i + 1)] for i in range(blocks)]
        levels.append(random.sample(COUNTRIES, count))
        # A name leads to the one at the same place in the next level; only lines are shuffled.
        person, kind = random.randrange(chains), random.randrange(kinds)
        own = person * kinds + kind
        places = levels[-1]
        wanted = places.index(sorted(places)[rank])
        places[own], places[wanted] = places[wanted], places[own]
        lives = []
        for near, far in zip(levels[-2::-1], levels[:0:-1], strict=True):
            lives.append(random.sample(list(zip(near, far, strict=True)), count))
        if depth == 1:
            return RelativesFacts(lives, (), (), (), levels[0][own])
        people = random.sample(ASKED_ABOUT, chains)
        relatives = [
            (who, list(zip(RELATIVES, levels[0][kinds * i : kinds * (i + 1)], strict=True)))
            for i, who in enumerate(people)
        ]
        if depth < 4:
            return RelativesFacts(lives, relatives, (), (), people[person], RELATIVES[kind])
        professions = random.sample(PROFESSIONS, kinds)
        customs = list(zip(professions, random.sample(RELATIVES, kinds), strict=True))
        # As many people as there are professions all have another one.
        does = [p for _ in range(0, chains, kinds) for p in random.sample(PROFESSIONS, kinds)]
        needed = next(profession for profession, kin in customs if kin == RELATIVES[kind])
        other = does.index(needed)
        does[person], does[other] = does[other], does[person]
        works = list(zip(people, does, strict=False))
        return RelativesFacts(lives, relatives, customs, works, people[person])

    def tell(self, facts: RelativesFacts) -> Question:
        """Writes who lives where, who is whose relative, what one does, then the question."""
        asked, works, customs = facts.asked, dict(facts.works), dict(facts.customs)
        kind = facts.kind or (customs[works[asked]] if works else "")
        family = {who: dict(kin) for who, kin in facts.relatives}
        way = [family[asked][kind] if kind else asked]
        for block in reversed(facts.lives):
            way.append(dict(block)[way[-1]])

        text = Text()
        for step, block in zip(range(len(facts.lives), 0, -1), facts.lives, strict=True):
            between = " lives in " if step == len(facts.lives) else " lives with "
            near, far, through = f"l{2 * step - 1}", f"l{2 * step}", way[step - 1]
            for who, where in block:
                text.put(who == through, (who, near), between, (where, far), ".\n")
        for who, kin in facts.relatives:
            for relation, relative in kin:
                on_way = who == asked and relation == kind
                text.put(
                    on_way, (who, "r1"), "s ", (relation, "r2"), " is ", (relative, "r3"), ".\n"
                )
        for profession, kin in facts.customs:
            on_way, whose = profession == works[asked], profession.capitalize() + "s"
            text.put(on_way, (whose, "c1"), " live with their ", (kin + "s", "c2"), ".\n")
        for who, profession in facts.works:
            article = " works as an " if profession[0] in "aeiou" else " works as a "
            text.put(who == asked, (who, "w1"), article, (profession, "w2"), ".\n")
        text.put(True, "Where does ", (asked, "q"))
        if facts.kind:
            text.put(True, "s ", (kind, "w2"))
        text.put(True, " live? Say directly only the name, without any other words.")
        places = dict(facts.lives[0])
        return Question(
            formulation=self.name,
            depth=len(facts.lives) + (3 if works else 1 if kind else 0),
            chains=len(facts.relatives) or len(places) // len(RELATIVES),
            phrases=text.phrases,
            asked=0,
            correct=way[-1],
            acceptable=tuple(sorted(places.values())),
            nearer=self._nearer(facts, family.get(asked, {})),
            links=self._links(len(facts.lives), bool(works), bool(kind)),
        )

    def _nearer(self, facts: RelativesFacts, family: dict[str, str]) -> tuple[str, ...]:
        """Where the relatives of the person asked about live; all places if there is none."""
        places = list(family.values()) or [who for who, _ in facts.lives[-1]]
        for block in reversed(facts.lives):
            leads = dict(block)
            places = [leads[who] for who in places]
        return tuple(sorted(places))

    def _links(self, lives: int, works: bool, kin: bool) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        if works:
            found += [("q", "w1"), ("q", "w2"), ("w2", "w1"), ("w2", "c1"), ("w2", "c2")]
            found += [("c2", "c1"), ("c2", "r2"), ("c2", "r3")]
        if kin:
            found += [("w2", "r2"), ("q", "r1"), ("q", "r3"), ("r3", "r1"), ("r3", "r2")]
        before = "r3" if kin else "q"
        for step in range(1, lives + 1):
            near, far = f"l{2 * step - 1}", f"l{2 * step}"
            found += [(before, near), (before, far), (far, near)]
            before = far
        return tuple(found)
