"""The names that problems are told with."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GOODS = _words(
    "hens ducks geese goats sheep pigs cows ponies rabbits turkeys cats dogs lambs calves bulls "
    "pens books maps lamps chairs boxes kites drums bells clocks cups plates spoons jars ropes "
    "hats coats shoes socks scarves"
)
"""What is counted; no name is part of another."""

THINGS = _words("ball key cup hat coin pen map bell ring book lamp shell drum kite flag rope")
"""What people hold."""

PEOPLE = _words(
    "Ada Ben Cora Dan Eva Finn Gina Hugo Iris Jack Kira Liam Mona Nils Olga Paul Rosa Sven Tara "
    "Uma Vito Wanda Yuri Zoe Amos Bela Carl Dora Emil Fay Gus Hana Ivan Jill"
)

SUBSTANCES = _words(
    "arnium borite cadrol dexine elvate ferrol galium hexene ionide joline kelvar lumate morine "
    "nitrol oxene parite quorin rostal selane tarine urvite valene wexite xylate yttrol zarine"
)
"""None of them exists, so nothing is known of them but what a problem tells."""
