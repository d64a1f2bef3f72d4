# SPDX-License-Identifier: MIT
"""Two kinds of pictures, drawn by hand: bars in groups, and lines. Knows nothing of benchmarks but three roles, which are colours."""
import math
from xml.sax.saxutils import escape

FONT = 'font-family="sans-serif" font-size="12"'
COLOURS = {"lull": "#c8451b", "floor": "#3b4a5a"}
RIVALS = ["#4f8fc0", "#7a9e4e", "#a77bb5", "#b99a3c", "#5aa79c", "#c07f98", "#8a8f94", "#6f7fc9"]


def colours(names_and_roles):
    """A colour a variant; the library and the floor have theirs, and further ones of the same role grow paler."""
    chosen, seen = {}, {}
    for name, role in names_and_roles:
        if name in chosen:
            continue
        count = seen.get(role, 0)
        seen[role] = count + 1
        chosen[name] = RIVALS[count % len(RIVALS)] if role not in COLOURS else pale(COLOURS[role], count)
    return chosen


def pale(colour, steps):
    share = min(0.25 * steps, 0.7)
    parts = [int(colour[i:i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{int(p + (255 - p) * share):02x}" for p in parts)


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {FONT} fill="#222" {more}>{escape(words)}</text>'


def short(value):
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


class Axis:
    """From values to pixels, with ticks."""

    def __init__(self, low, high, start, end, log):
        self.log = log and low > 0
        if self.log:
            self.low, self.high = math.floor(math.log10(low) * 3) / 3, math.log10(high * 1.05)
        else:
            self.low, self.high = 0.0, high * 1.08
        if self.high <= self.low:
            self.high = self.low + 1
        self.start, self.end = start, end

    def at(self, value):
        value = math.log10(value) if self.log else value
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        if self.log:
            for exponent in range(math.floor(self.low), math.ceil(self.high) + 1):
                for part in (1, 2, 5):
                    value = part * 10.0 ** exponent
                    if self.low <= math.log10(value) <= self.high:
                        yield value
            return
        raw = self.high / 6
        unit = 10 ** math.floor(math.log10(raw))
        step = next(unit * part for part in (1, 2, 5, 10) if unit * part >= raw)
        value = 0.0
        while value <= self.high:
            yield value
            value += step


def page(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}">\n'
            f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def bars(title, unit, groups, log=False):
    """groups: [(name, [(variant, role, value, low, high)])]; bars lie down, a thin line shows the spread."""
    width, left, right, thick = 820, 170, 70, 16
    tint = colours((variant, role) for _, each in groups for variant, role, *_ in each)
    values = [v for _, each in groups for _, _, v, low, high in each for v in (v, low, high) if v > 0]
    if not values:
        return None
    axis = Axis(min(values), max(values), left, width - right, log)
    parts = [text(12, 22, title, more='font-weight="bold"'), text(12, 40, unit)]
    y = 56
    top = y
    for name, each in groups:
        parts.append(text(12, y + 12, name, more='font-weight="bold"'))
        y += 18
        for variant, _, value, low, high in each:
            end = axis.at(max(value, 10 ** axis.low) if axis.log else value)
            parts.append(text(left - 8, y + thick - 4, variant, "end"))
            parts.append(f'<rect x="{left}" y="{y}" width="{max(end - left, 1):.1f}" height="{thick - 3}" fill="{tint[variant]}"/>')
            if high > low > 0:
                parts.append(f'<path d="M{axis.at(low):.1f} {y + 6.5}H{axis.at(high):.1f}" stroke="#000" stroke-width="1"/>')
            parts.append(text(max(end, axis.at(high) if high > 0 else end) + 6, y + thick - 4, short(value)))
            y += thick
        y += 10
    for tick in axis.ticks():
        x = axis.at(tick)
        parts.insert(0, f'<path d="M{x:.1f} {top}V{y}" stroke="#ddd"/>')
        parts.append(text(x, y + 14, short(tick), "middle"))
    return page(width, y + 26, parts)


def lines(title, x_title, y_title, series, x_names=None, x_log=False, y_log=False):
    """series: [(label, role, [(x, y)])]; x is an index into x_names, or a power of ten when x_log."""
    width, height, left, bottom, top = 820, 420, 70, 60, 50
    legend = 210
    tint = colours((label, role) for label, role, _ in series)
    xs = [x for _, _, points in series for x, _ in points]
    ys = [y for _, _, points in series for _, y in points]
    y_axis = Axis(min(ys), max(ys), height - bottom, top, y_log)
    x_low, x_high = min(xs), max(max(xs), min(xs) + 1)

    def x_at(x):
        return left + (x - x_low) / (x_high - x_low) * (width - legend - left)

    parts = [text(12, 22, title, more='font-weight="bold"'), text(12, 40, y_title),
             text((left + width - legend) / 2, height - 14, x_title, "middle")]
    for tick in y_axis.ticks():
        y = y_axis.at(tick)
        parts.append(f'<path d="M{left} {y:.1f}H{width - legend}" stroke="#ddd"/>')
        parts.append(text(left - 6, y + 4, short(tick), "end"))
    for x in sorted(set(xs)):
        name = x_names[int(x)] if x_names else short(10 ** x if x_log else x)
        parts.append(text(x_at(x), height - bottom + 18, name, "middle"))
    for at, (label, role, points) in enumerate(series):
        path = "L".join(f"{x_at(x):.1f} {y_axis.at(y):.1f}" for x, y in points)
        thick = 2.5 if role == "lull" else 1.5
        parts.append(f'<path d="M{path}" fill="none" stroke="{tint[label]}" stroke-width="{thick}"/>')
        for x, y in points:
            parts.append(f'<circle cx="{x_at(x):.1f}" cy="{y_axis.at(y):.1f}" r="2.5" fill="{tint[label]}"/>')
        parts.append(f'<path d="M{width - legend + 12} {top + 16 * at}h18" stroke="{tint[label]}" stroke-width="{thick}"/>')
        parts.append(text(width - legend + 36, top + 16 * at + 4, label))
    return page(width, max(height, top + 16 * len(series) + 20), parts)
