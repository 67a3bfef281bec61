"""Recipes as written: rows, variants, their order, and what cannot be."""

import pytest

from neuralgram.errors import InputError
from neuralgram.neural.config import NPLMConfig
from neuralgram.recipes import models
from neuralgram.recipes.rows import RECIPES, load_recipe, parse_recipe

HEAD = """
title = "T"
file = ""
reference = "a"
[texts.main]
sample = "tales"
"""
A = 'kind = "ngram"\nsmoothing = "mle"\norder = 2\noptions = { floor = 0.1, k = 1 }\npaper = { test = 3 }\n'
VARIANT = "[variants.more]\norder = 3\noptions = { floor = 0.2 }\n"
MIX = 'kind = "mixture"\nparts = ["z", "a-more"]\nweights = "learned"\n'


def recipe(**files):
    return parse_recipe("r", {"recipe.toml": HEAD, **{f"{name}.toml": text for name, text in files.items()}})


def test_a_variant_changes_what_it_names_and_has_no_published_figures():
    made = recipe(a=A + VARIANT)
    base, more = made.row("a"), made.row("a-more")
    assert (base.group, more.group) == ("paper", "review")
    assert (base.paper, more.paper) == ({"test": 3}, {})
    assert more.settings["order"] == 3
    assert more.settings["options"] == {"floor": 0.2, "k": 1}  # merged, not replaced
    assert base.settings["options"] == {"floor": 0.1, "k": 1}


def test_an_empty_table_of_a_variant_replaces_what_is_there():
    made = recipe(a=A + "[variants.bare]\noptions = {}\n")
    assert made.row("a-bare").settings["options"] == {}


def test_parts_come_before_their_mixtures_and_are_chosen_with_them():
    made = recipe(a=A + VARIANT, z=A, mix=MIX, again='kind = "mixture"\nparts = ["mix", "a"]\nweights = [0.5, 0.5]\n')
    names = [row.name for row in made.rows]
    assert names.index("z") < names.index("mix") < names.index("again")
    assert {row.name for row in made.chosen(["again"])} == {"again", "mix", "a", "z", "a-more"}
    assert [row.name for row in made.chosen(["review"])] == ["a-more"]
    assert {row.name for row in made.chosen(["a*"])} == {row.name for row in made.rows}


def test_what_cannot_be_is_refused_by_name():
    made = recipe(a=A)
    with pytest.raises(InputError, match="no row 'b': expected one of a"):
        made.chosen(["b"])
    with pytest.raises(InputError, match="row m: no part 'q'"):
        recipe(a=A, m='kind = "mixture"\nparts = ["q"]\nweights = [1]\n')
    with pytest.raises(InputError, match="no text 'elsewhere'"):
        recipe(a=A + 'text = "elsewhere"\n')
    with pytest.raises(InputError, match="expected one of table1, tinyshakespeare, tales"):
        load_recipe("table2")


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_of_the_package_can_be_read(name):
    made = load_recipe(name)
    made.row(made.reference)
    for row in made.rows:
        if row.kind == "network":
            assert row.settings["model"]["context"] <= made.first, row.name  # all rows score the same tokens
            for sizes, _ in models._phases(row.settings, quick=True):
                NPLMConfig(50, **{name: value for name, value in sizes.items() if name != "head_options"})
                assert bool(sizes.get("head_options")) == (sizes.get("head") == "sampled"), row.name


def test_table_1_has_its_21_rows_with_the_published_figures():
    rows = [row for row in load_recipe("table1").rows if row.group == "paper"]
    assert len(rows) == 21
    published = {row.name: (row.paper["valid"], row.paper["test"]) for row in rows}
    assert published["mlp10"] == (265, 252)
    assert published["deleted-interpolation"] == (352, 336)
    assert published["class500-3"] == (326, 312)
    assert published["kn5"] == (332, 321)
    assert [row.paper["train"] for row in rows if "train" in row.paper] == [31, 182, 201, 209, 210, 175]
