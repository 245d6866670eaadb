"""The names that questions are made of; those of appendix A are among them."""


def words(text: str) -> tuple[str, ...]:
    """The words of a text, one by one."""
    return tuple(text.split())


PEOPLE = words(
    "Adam Alan Albert Alice Amy Anna Arthur Barbara Ben Betty Bob Brian Bruce Carl "
    "Carol "
    "Cathy Charlie Chloe Clara Colin Dana Daniel David Derek Donna Dora Ed Edith "
    "Ella Emma "
    "Eric Ethan Eva Felix Fiona Flora Frank Fred Gary George Gina Grace Greg Gwen "
    "Hank Hannah "
    "Harry Hazel Helen Henry Hugo Ian Ida Irene Isaac Isabelle Ivan Jack Jane "
    "Jason Jenny "
    "Joan Judy Karen Kate Keith Kevin Kim Kyle Larry Laura Leo Liam Lily Linda "
    "Lucy Luke Mark "
    "Martha Mary Max Megan Mike Molly Nancy Nathan Neil Nick Nina Noah Nora Oliver "
    "Olivia "
    "Oscar Otto Pamela Patrick Paul Penny Peter Philip Queen Quentin Rachel Ralph "
    "Rita Robert "
    "Roger Rose Ruth Ryan Sally Sam Sarah Simon Sophie Steve Susan Tara Ted Theo "
    "Tina Tom "
    "Tracy Ursula Vera Victor Violet Walter Wendy Will Xavier Yvonne Zach Zoe"
)

ASKED_ABOUT = words(
    "John Chris Diana Eve Gloria Howard Julia Kenneth Maria Norman Paula Richard "
    "Sandra "
    "Trevor Vincent Wanda"
)
"""The people whose relatives are told; `Johns mother` has no apostrophe, as in appendix
A.5.
"""

CITIES = words(
    "Amsterdam Athens Berlin Boston Cairo Chicago Copenhagen Delhi Dublin Florence "
    "Geneva "
    "Hamburg Helsinki Istanbul Jakarta Kyoto Lagos Lima Lisbon London Madrid "
    "Manila Milan "
    "Moscow Nairobi Oslo Paris Prague Quito Rome Seoul Sydney Tokyo Toronto Vienna "
    "Warsaw "
    "Zurich"
)

COUNTRIES = words(
    "Argentina Australia Austria Belgium Bolivia Brazil Bulgaria Cambodia Canada "
    "Chile China "
    "Colombia Croatia Cuba Denmark Ecuador Egypt England Estonia Ethiopia Finland "
    "France "
    "Germany Ghana Greece Hungary Iceland India Indonesia Iran Ireland Italy "
    "Jamaica Japan "
    "Jordan Kenya Laos Latvia Libya Malta Mexico Mongolia Morocco Nepal Norway "
    "Oman Pakistan "
    "Panama Peru Poland Portugal Qatar Romania Scotland Senegal Serbia Spain Sudan "
    "Sweden "
    "Switzerland Tanzania Thailand Turkey Uganda Ukraine Uruguay Vietnam Wales"
)

KINGDOMS = words(
    "Aurora Caldora Eldoria Florinia Galvania Lumeria Mirandia Novaria Ostara "
    "Silvania Tavaria "
    "Veridia"
)
"""In Aurora live Aurorans."""

BELIEFS = words(
    "aetherism celestianism elysianism gaianism harmonianism luminism mysticism "
    "oraclism "
    "serenism solarism umbralism zenithism"
)
"""A believer in luminism is a luminist."""

FOODS = words("beef chicken cod duck goat lamb pork rabbit salmon trout turkey venison")

MINERALS = words(
    "Astralyte Borealite Cryonite Draconium Ferrolith Helionyx Nephryon Obscurite "
    "Pyrellium "
    "Quoralite Virellium Zephyrium"
)

DISEASES = words(
    "Aetherflux Chronogy Dermathosis Glacitis Lumenosis Nebulitis Phasalgia Somnosis "
    "Synthemia Tremorosis Vertigosis Xerapathy"
)

RELATIVES = words("mother sister father brother")

PROFESSIONS = words("doctor lawyer teacher engineer")
"""As many as there are kinds of relatives: each profession lives with one."""

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
