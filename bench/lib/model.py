# SPDX-License-Identifier: MIT
"""What a family is, and which there are. A family file knows these three classes and nothing else of the harness."""
import importlib.util
import json
import os
from dataclasses import dataclass, field


@dataclass
class Run:
    """One command, started once a round in each of its places."""
    variant: str
    argv: list
    row: str = ""
    role: str = "rival"             # lull, floor or rival: how it is drawn
    server: str = None              # "ng", or None
    places: tuple = ("same",)       # same, two, free
    quick: bool = True              # part of --quick
    quick_rounds: int = 0           # so many rounds in --quick instead of its own number
    rounds: int = 0                 # so many rounds at most
    rests: str = ""                 # it only waits: beside those of its "family" that do, or beside all of the "run"
    env: dict = field(default_factory=dict)
    family: str = ""                # set by the loader


@dataclass
class Plot:
    kind: str                       # bars, percentiles, scale
    title: str
    metric: str = ""
    rows: list = None               # names, or for scale their part before "@"; None: all
    variants: list = None           # None: all
    log: bool = False               # the value axis, too
    place: str = "same"


@dataclass
class Family:
    name: str
    title: str = ""
    runs: list = field(default_factory=list)
    floor: str = None
    metrics: list = None
    plots: list = field(default_factory=list)
    order: int = 50                 # families are shown by this, then by name


def load_families(source):
    """Reads families/*.py; files with the same name of a family add to the one that has its title."""
    directory = os.path.join(source, "bench", "families")
    families = {}
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".py") or name.startswith("_"):
            continue
        spec = importlib.util.spec_from_file_location("family_" + name[:-3], os.path.join(directory, name))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for one in getattr(module, "FAMILIES", None) or [module.FAMILY]:
            join(families, one)
    for one in families.values():
        for run in one.runs:
            run.family = one.name
    return sorted(families.values(), key=lambda f: (f.order, f.name))


def join(families, one):
    if one.name not in families:
        families[one.name] = one
        return
    known = families[one.name]
    if one.title and known.title:
        raise SystemExit(f"bench: two files call the family {one.name} theirs")
    main, other = (known, one) if known.title else (one, known)
    main.runs = main.runs + other.runs
    main.plots = main.plots + other.plots
    families[one.name] = main


def load_targets(source):
    with open(os.path.join(source, "bench", "targets.json"), encoding="utf-8") as file:
        targets = json.load(file)["targets"]
    for target in targets:
        target.setdefault("variant", "lull")
        target.setdefault("place", "same")
        for key in ("name", "family", "row", "metric", "op", "value"):
            if key not in target:
                raise SystemExit(f"bench: targets.json: {target.get('name', target)}: no {key}")
    return targets
