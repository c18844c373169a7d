# SPDX-License-Identifier: GPL-2.0-only
"""What ``python -m schedpy phases`` prints and writes."""

from pathlib import Path

from schedpy._files import written_whole
from schedpy._tables import text_table

__all__ = ["Folder", "counts_text", "gains_text", "share_text"]


class Folder:
    """A folder of results; each file is there whole or not at all.

    Parameters
    ----------
    path : path
        Made if it is missing.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def whole(self, name, save):
        """A file by a method that saves to a path, which must write it whole."""
        save(self.path / name)

    def table(self, name, frame):
        """A DataFrame as NAME.csv."""
        with written_whole(self.path / f"{name}.csv") as temporary:
            frame.to_csv(temporary, lineterminator="\n")

    def picture(self, name, ax):
        """A picture as NAME.png."""
        with written_whole(self.path / f"{name}.png") as temporary:
            ax.figure.savefig(temporary)


def counts_text(simulated, mail=None):
    """The counts of a simulation as text, beside those of the mail where they are given.

    Examples
    --------
    >>> from schedpy.lab import phases, phases_files
    >>> simulated = phases.simulate("tc2", kernel="6.12", repetitions=1, activations=9, duty_percent=(75,))
    >>> print(phases_files.counts_text(simulated).splitlines()[2])
    phase  duty  CPU  wake-ups   there  chosen  without
    """
    head = ["phase", "duty", "CPU", "wake-ups", "there", "chosen", "without"]
    if mail is not None:
        head += ["mail, without LUT", "with LUT"]
    rows = [head]
    for (phase, kind), row in simulated.counts().iterrows():
        cells = [str(phase), f"{row['duty_percent']:g} %", kind, f"{row['waking']:.0f}"]
        cells += [f"{row['percent']:.1f} %", f"{row['target']:.0f}", f"{row['without']:.0f}"]
        if mail is not None:
            there = (phase, kind) in mail.index
            cells += [
                f"{mail.loc[(phase, kind), f'table_{arm}_count']}" if there else "-"
                for arm in ("walk", "lut")
            ]
        rows.append(cells)
    title = (
        f"{simulated.model.name}, kernel {simulated.kernel}, {simulated.repetitions} repetitions of "
        f"{simulated.activations} activations of {simulated.period_ns / 1e6:g} ms per phase"
    )
    return "\n".join([title, "", *text_table(rows, left=(0, 2))])


def share_text(shares):
    """What moves phase 4, as text; the last two columns tell which of the mail's shares a device can give.

    Examples
    --------
    >>> from schedpy.lab import phases, phases_files
    >>> shares = phases.mid_share(repetitions=2, activations=3)
    >>> phases_files.share_text(shares).splitlines()[2].split()
    ['cause', 'value', 'Mid', 'least', 'most', '12.7', '%', '32.9', '%']
    """
    from schedpy.lab.phases_share import published_shares

    mail = published_shares()["percent"]
    rows = [["cause", "value", "Mid", "least", "most", *(f"{share:.1f} %" for share in mail)]]
    for (cause, value), row in shares.iterrows():
        cells = [cause, value, *(f"{row[name]:.1f} %" for name in ("percent", "low", "high"))]
        rows.append([*cells, *("yes" if row[arm] else "-" for arm in mail.index)])
    title = "Mid's share of phase 4 on devices that differ in one thing, and the mail's shares:"
    return "\n".join([title, "", *text_table(rows, left=(0, 1))])


def gains_text(timing, gains):
    """What a timing found, as text: by each arm, phase and kind of CPU.

    Examples
    --------
    >>> from schedpy.lab import phases, phases_files
    >>> timing = phases.measure(repetitions=2)
    >>> phases_files.gains_text(timing, phases.gains(timing)).splitlines()[2].split()
    ['arm', 'phase', 'CPU', 'states', 'walk', 'ns', 'arm', 'ns', 'walk/arm', '95', '%', 'interval']
    """
    rows = [["arm", "phase", "CPU", "states", "walk ns", "arm ns", "walk/arm", "95 % interval"]]
    for (arm, phase, kind), row in gains.iterrows():
        cells = [arm, str(phase), kind, *(f"{row[name]:.0f}" for name in ("states", "walk_ns", "arm_ns"))]
        rows.append([*cells, f"{row['ratio']:.3f}", f"{row['ratio_low']:.3f} .. {row['ratio_high']:.3f}"])
    return "\n".join([repr(timing), "", *text_table(rows, left=(0, 2))])
