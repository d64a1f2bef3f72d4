# SPDX-License-Identifier: MIT
"""Figures of rounds, and ratios of figures of the same round."""


def median(values):
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class Figure:
    """A median with its spread."""

    def __init__(self, values):
        self.values = values
        self.median = median(values)
        self.low = min(values) if values else None
        self.high = max(values) if values else None

    def __bool__(self):
        return self.median is not None


class Results:
    """(family, row, place, variant, metric) -> {round: value}."""

    def __init__(self):
        self.values = {}
        self.roles = {}

    def add(self, family, row, place, variant, metric, number, value):
        self.values.setdefault((family, row, place, variant, metric), {})[number] = value

    def figure(self, *key):
        return Figure(list(self.values.get(key, {}).values()))

    def ratio(self, above, below):
        """`below` is a key, or a list of keys of which the smallest value counts."""
        belows = below if isinstance(below, list) else [below]
        top = self.values.get(above, {})
        ratios = []
        for number, value in top.items():
            bottoms = [self.values[key][number] for key in belows if number in self.values.get(key, {})]
            if bottoms and min(bottoms) > 0:
                ratios.append(value / min(bottoms))
        return Figure(ratios)

    def names(self, position, **known):
        """The distinct names at a position of the keys that match, in order of appearance."""
        places = {"family": 0, "row": 1, "place": 2, "variant": 3, "metric": 4}
        found = []
        for key in self.values:
            if all(key[places[k]] == v for k, v in known.items()) and key[position] not in found:
                found.append(key[position])
        return found


def judge(results, target):
    """A target's figure and whether it is reached: (Figure, "ok" | "short" | "none")."""
    def key(row, variant, metric):
        return (target["family"], row, target["place"], variant, metric)

    above = key(target["row"], target["variant"], target["metric"])
    if "over" in target or "over_row" in target:
        over = target.get("over", target["variant"])
        row = target.get("over_row", target["row"])
        metric = target.get("over_metric", target["metric"])
        below = [key(row, one, metric) for one in (over if isinstance(over, list) else [over])]
        if target["op"] == ">=" and len(below) > 1:
            raise SystemExit(f"bench: target {target['name']}: >= wants one variant in over")
        figure = results.ratio(above, below)
    else:
        figure = results.figure(*above)
    if not figure:
        return figure, "none"
    reached = figure.median <= target["value"] if target["op"] == "<=" else figure.median >= target["value"]
    return figure, "ok" if reached else "short"
