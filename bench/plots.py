"""Plots of the results, as PNG and SVG."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .report import PICTURES, Result

COLORS = {
    "native": "#1b6ca8",
    "python": "#e08214",
    "mixed": "#4d9221",
    "sorting": "#8c8c8c",
}
LABELS = {
    "native": "native engine",
    "python": "Python engine",
    "mixed": "both engines mixed",
    "sorting": "one claim that sorts",
}
STYLE = {
    "font.size": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "fencepost",
}


def draw(results: Mapping[str, Result], folder: Path) -> None:
    """Draw whatever the results have something for."""
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    folder.mkdir(parents=True, exist_ok=True)
    drawings: Mapping[str, Callable[[Any, Result], Any]] = {
        "scale": _rows,
        "contention": _processes,
        "wakeup": _wakeup,
        "peers": _peers,
    }
    for scenario, drawing in drawings.items():
        if scenario in results:
            with pyplot.rc_context(STYLE):
                figure = drawing(pyplot, results[scenario])
                for suffix in ("png", "svg"):
                    meta = {"Date": None} if suffix == "svg" else {}
                    path = folder / f"{PICTURES[scenario][0]}.{suffix}"
                    figure.savefig(path, dpi=150, metadata=meta)
                pyplot.close(figure)


def _points(
    axes: Any, rows: Sequence[Mapping[str, Any]], across: str, up: str, **look: Any
) -> None:
    """A line through the medians, with bars from the lowest to the highest round."""
    rows = sorted(rows, key=lambda row: row[across])
    if not rows:
        return
    middle = [row[up]["median"] for row in rows]
    below = [row[up]["median"] - row[up]["low"] for row in rows]
    above = [row[up]["high"] - row[up]["median"] for row in rows]
    axes.errorbar(
        [row[across] for row in rows], middle, yerr=[below, above], capsize=3, marker="o",
        markersize=4, linewidth=1.6, **look,
    )  # fmt: skip


def _settings(found: Result) -> list[str]:
    return sorted({row["synchronous"] for row in found["rows"] if "synchronous" in row})


def _rows(pyplot: Any, found: Result) -> Any:
    settings = _settings(found)
    figure, panels = pyplot.subplots(
        1, len(settings), figsize=(5 * len(settings), 3.8), sharey=True, squeeze=False
    )
    for axes, setting in zip(panels[0], settings, strict=True):
        for how in ("native", "python", "sorting"):
            rows = [
                row
                for row in found["rows"]
                if row["claimed by"] == how and row["synchronous"] == setting
            ]
            _points(axes, rows, "parked runs", "claims/s", color=COLORS[how], label=LABELS[how])
        axes.set(xscale="log", yscale="log", xlabel="parked runs in the file")
        axes.set_title(f"synchronous={setting.upper()}")
    panels[0][0].set_ylabel("claims a second (claim and park)")
    panels[0][0].legend(loc="lower left")
    return figure


def _processes(pyplot: Any, found: Result) -> Any:
    figure, panels = pyplot.subplots(1, 3, figsize=(12.5, 3.8))
    measures = (
        ("cycles/s", "cycles of claim and park a second"),
        ("Jain", "Jain's index of fairness"),
        ("longest ms", "longest wait for a call, ms"),
    )
    for axes, (measure, title) in zip(panels, measures, strict=True):
        for engines in ("native", "python", "mixed"):
            rows = [
                row
                for row in found["rows"]
                if row["engine"] == engines and row["synchronous"] == "full"
            ]
            _points(axes, rows, "processes", measure, color=COLORS[engines], label=LABELS[engines])
        axes.set_xscale("log", base=2)
        counts = sorted({row["processes"] for row in found["rows"] if row["engine"] in COLORS})
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
        axes.set(xlabel="processes", title=title)
    panels[0].set_ylim(bottom=0)
    panels[0].margins(y=0.2)
    panels[1].set_ylim(0, 1.05)
    panels[1].axhline(0.95, color="#b2182b", linewidth=1, linestyle="--", label="goal")
    panels[2].set_yscale("log")
    panels[2].axhline(1000, color="#b2182b", linewidth=1, linestyle="--")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _wakeup(pyplot: Any, found: Result) -> Any:
    rows = [row for row in found["rows"] if "histogram" in row and row["waits for"] == "feed"]
    counts = sorted({row["waiters"] for row in rows})
    figure, panels = pyplot.subplots(
        1, len(counts), figsize=(5.5 * len(counts), 3.8), sharey=True, squeeze=False
    )
    for axes, count in zip(panels[0], counts, strict=True):
        for at, engine in enumerate(("native", "python")):
            row = next(row for row in rows if row["engine"] == engine and row["waiters"] == count)
            histogram = row["histogram"]
            total = max(sum(histogram["counts"]), 1)
            shares = [100 * amount / total for amount in histogram["counts"]]
            label = (
                f"{LABELS[engine]}: p50 {row['p50 ms']['median']:.2f} ms, "
                f"p99 {row['p99 ms']['median']:.2f} ms"
            )
            places = [place + (at - 0.5) * 0.4 for place in range(len(shares))]
            axes.bar(places, shares, width=0.4, color=COLORS[engine], label=label)
        bounds = [f"{bound:g}" for bound in histogram["upper_ms"]]
        axes.set_xticks([place + 0.5 for place in range(len(bounds))], bounds, rotation=60)
        axes.set(xlabel="from the committing call to the return of wait, ms")
        axes.set_title(f"{count} waiter{'s' if count > 1 else ''}")
        axes.legend(loc="upper right", fontsize=9)
        axes.margins(y=0.3)
        axes.grid(axis="x", visible=False)
    panels[0][0].set_ylabel("share of wake-ups, %")
    return figure


def _peers(pyplot: Any, found: Result) -> Any:
    rows = [row for row in found["rows"] if "queue" in row]
    most = max(row["processes"] for row in rows)
    rows = [row for row in rows if row["processes"] == most]
    settings = [name for name in ("default", "equal") if any(r["settings"] == name for r in rows)]
    figure, panels = pyplot.subplots(
        len(settings), 3, figsize=(12.5, 2.9 * len(settings)), squeeze=False, sharey="row"
    )
    measures = (
        ("cycles/s", "jobs a second"),
        ("Jain", "Jain's index"),
        ("longest ms", "longest call, ms"),
    )
    for line, setting in zip(panels, settings, strict=True):
        chosen = [row for row in rows if row["settings"] == setting]
        chosen.sort(key=lambda row: row["cycles/s"]["median"])
        for axes, (measure, title) in zip(line, measures, strict=True):
            values = [row[measure]["median"] for row in chosen]
            colors = ["#1b6ca8" if "fencepost" in row["queue"] else "#b5b5b5" for row in chosen]
            axes.barh([row["queue"] for row in chosen], values, color=colors)
            for place, value in enumerate(values):
                text = f" {value:,.0f}" if value >= 10 else f" {value:.2f}"
                axes.text(value, place, text, va="center", fontsize=8)
            axes.set_title(f"{title}, {most} processes, {setting} settings", fontsize=10)
            axes.grid(axis="y", visible=False)
            axes.margins(x=0.15)
        line[2].set_xscale("log")
        line[2].margins(x=0.25)
    return figure
