# SPDX-License-Identifier: MIT
"""What people and machines read: tables, the lines of --quick, JSON, and which pictures are drawn."""
import json
import math
import os
import platform
import re
import time

from . import svg
from .stats import judge

PLACES = {"same": "client and server on one CPU", "two": "client and server on a CPU each", "free": "not pinned"}
PERCENTILES = [("p50_us", "50"), ("p90_us", "90"), ("p95_us", "95"), ("p99_us", "99"), ("p999_us", "99.9"), ("max_us", "max")]


UNITS = {"p50_us": "µs, median", "p99_us": "µs, 99 of 100", "cpu_us": "µs of the client's CPU", "rate": "a second", "mb_per_s": "MB/s", "ns": "ns",
         "rss_kib": "KiB resident", "heap_kib": "KiB asked of the allocator", "wakeups_per_s": "wake-ups a second", "sys": "system calls a call"}


def number(value):
    """Three digits that matter."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 10000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return "0" if value == 0 else f"{value:.3g}"


def spread(figure):
    return f"{number(figure.median)} ({number(figure.low)}..{number(figure.high)})"


def columns(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip()


def metrics_of(family, results, place):
    known = family.metrics or []
    seen = results.names(4, family=family.name, place=place)
    return [m for m in known if m in seen] if known else seen


def table(family, results, place):
    metrics = metrics_of(family, results, place)
    rows = [["row", "variant"] + [cell for metric in metrics for cell in ((metric, "x " + family.floor) if family.floor else (metric,))]]
    for row in results.names(1, family=family.name, place=place):
        for variant in results.names(3, family=family.name, row=row, place=place):
            cells = [row, variant]
            for metric in metrics:
                key = (family.name, row, place, variant, metric)
                figure = results.figure(*key)
                cells.append(number(figure.median))
                if family.floor:
                    ratio = results.ratio(key, (family.name, row, place, family.floor, metric))
                    cells.append(spread(ratio) if ratio and variant != family.floor else "")
            rows.append(cells)
    return rows


def tables(families, targets, results, dropped):
    for family in families:
        for place in results.names(2, family=family.name):
            print(f"\n{family.name}: {family.title}; {PLACES.get(place, place)}")
            for line in columns(table(family, results, place)):
                print(line)
    print("\ntargets")
    for line in target_lines(targets, results):
        print(line)
    if dropped:
        print("\nleft out")
        for (family, row, variant, place), why in dropped.items():
            print(f"{family} {row} {variant} ({place}): {why}")


def target_lines(targets, results):
    rows = [["target", "what", "lull", "wanted", "spread", ""]]
    for target in targets:
        figure, verdict = judge(results, target)
        over = target.get("over", target.get("over_row"))
        what = target["metric"] + (f" over {'best of ' if isinstance(over, list) and len(over) > 1 else ''}"
                                   f"{', '.join(over) if isinstance(over, list) else over}" if over else "")
        rows.append([target["name"], what, number(figure.median), f"{target['op']} {target['value']:g}",
                     f"{number(figure.low)}..{number(figure.high)}" if figure else "-", "not measured" if verdict == "none" else verdict])
    return columns(rows)


def quick(targets, results, took):
    verdicts = [judge(results, target)[1] for target in targets]
    for line in target_lines(targets, results):
        print(line)
    print(f"{verdicts.count('ok')} ok, {verdicts.count('short')} short, {verdicts.count('none')} not measured, {took:.0f} s")


def machine():
    model = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        pass
    return {"system": platform.system(), "release": platform.release(), "machine": platform.machine(), "cpu": model,
            "cpus": os.cpu_count(), "date": time.strftime("%Y-%m-%d"), "load": [round(one, 2) for one in os.getloadavg()]}


def document(families, targets, results, dropped, rounds, seconds):
    values = [{"family": f, "row": r, "place": p, "variant": v, "metric": m, "values": list(by_round.values())}
              for (f, r, p, v, m), by_round in results.values.items()]
    judged = []
    for target in targets:
        figure, verdict = judge(results, target)
        judged.append(dict(target, figure=figure.median, low=figure.low, high=figure.high, verdict=verdict))
    return {"machine": machine(), "rounds": rounds, "seconds": seconds, "families": {f.name: f.title for f in families},
            "targets": judged, "results": values,
            "left_out": [{"family": f, "row": r, "variant": v, "place": p, "why": why} for (f, r, v, p), why in dropped.items()]}


def write_json(data, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")


# ---- pictures
def plots(families, results, directory):
    """Draws each family's pictures that have figures; those of its earlier ones that are not drawn any more go away."""
    os.makedirs(directory, exist_ok=True)
    for family in families:
        kept = set()
        for at, plot in enumerate(family.plots):
            drawn = PLOTTERS[plot.kind](family, plot, results)
            if drawn:
                name = f"{family.name}-{plot.kind}{'-' + plot.metric if plot.metric else ''}-{at}.svg"
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(drawn)
                kept.add(name)
        ours = re.compile(re.escape(family.name) + r"-(bars|percentiles|scale)(-\w+)?-\d+\.svg")
        for name in os.listdir(directory):
            if kept and ours.fullmatch(name) and name not in kept:
                os.remove(os.path.join(directory, name))


def wanted_variants(family, plot, results):
    have = results.names(3, family=family.name, place=plot.place)
    return [v for v in have if plot.variants is None or v in plot.variants]


def plot_bars(family, plot, results):
    groups = []
    for row in results.names(1, family=family.name, place=plot.place):
        if plot.rows is not None and row not in plot.rows:
            continue
        bars = []
        for variant in wanted_variants(family, plot, results):
            figure = results.figure(family.name, row, plot.place, variant, plot.metric)
            if figure:
                bars.append((variant, results.roles.get((family.name, variant), "rival"), figure.median, figure.low, figure.high))
        if bars:
            groups.append((row, bars))
    return svg.bars(plot.title, UNITS.get(plot.metric, plot.metric), groups, plot.log) if groups else None


def plot_percentiles(family, plot, results):
    lines = []
    for row in results.names(1, family=family.name, place=plot.place):
        if plot.rows is not None and row not in plot.rows:
            continue
        for variant in wanted_variants(family, plot, results):
            points = []
            for at, (metric, _) in enumerate(PERCENTILES):
                figure = results.figure(family.name, row, plot.place, variant, metric)
                if figure and figure.median > 0:
                    points.append((at, figure.median))
            if len(points) > 1:
                label = variant if plot.rows is not None and len(plot.rows) == 1 else f"{row} {variant}"
                lines.append((label, results.roles.get((family.name, variant), "rival"), points))
    if not lines:
        return None
    return svg.lines(plot.title, "percentile of calls", "µs", lines, x_names=[name for _, name in PERCENTILES], y_log=True)


def plot_scale(family, plot, results):
    series = {}
    for row in results.names(1, family=family.name, place=plot.place):
        base, found, count = row.rpartition("@")
        if not found or (plot.rows is not None and base not in plot.rows):
            continue
        for variant in wanted_variants(family, plot, results):
            figure = results.figure(family.name, row, plot.place, variant, plot.metric)
            if figure and figure.median > 0:
                label = variant if plot.rows is not None and len(plot.rows) == 1 else f"{base} {variant}"
                series.setdefault((label, variant), []).append((math.log10(float(count)), figure.median))
    lines = [(label, results.roles.get((family.name, variant), "rival"), sorted(points)) for (label, variant), points in series.items()]
    return svg.lines(plot.title, "how many", UNITS.get(plot.metric, plot.metric), lines, x_log=True, y_log=plot.log) if lines else None


PLOTTERS = {"bars": plot_bars, "percentiles": plot_percentiles, "scale": plot_scale}
