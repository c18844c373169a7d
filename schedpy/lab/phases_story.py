# SPDX-License-Identifier: GPL-2.0-only
"""A simulated staircase beside the mails of 2021, in figures and in words."""

import pandas as pd

from schedpy.kernel import form
from schedpy.lab.phases_share import decisions, published_shares, settled_util
from schedpy.lab.phases_simulation import cpu_kind
from schedpy.lab.phases_tables import published, repetitions_of

__all__ = ["beside_the_mail", "is_of_the_mail", "story"]


def is_of_the_mail(simulated):
    """Whether a simulation can stand beside the mail: its kinds of CPU, its period, and a margin."""
    kinds = {cpu_kind(domain.name) for domain in simulated.model.domains}
    margin = form("eas.find_energy_efficient_cpu", simulated.kernel) in ("v5.12", "v5.13")
    return kinds == {"Little", "Mid", "Big"} and margin and simulated.period_ns == 16_000_000


def beside_the_mail(simulated):
    """A simulation's counts beside the mail's, row by row of its table.

    Parameters
    ----------
    simulated : Simulation
        Of a model with the domains little, mid and prime.

    Returns
    -------
    DataFrame
        Indexed by phase and CPU. For ``walk`` and ``lut`` (the mail) and ``simulated``: ``*_count``, and
        ``*_percent`` of the activations, 125 per phase and repetition; ``low`` and ``high``: the share of
        wake-ups in the repetitions with the least and the most; ``chosen``: wake-ups whose
        placement chose that kind of CPU.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> simulated = phases.simulate("pixel4", kernel="5.12", repetitions=1)
    >>> phases.beside_the_mail(simulated).loc[(0, "Little"), ["walk_count", "simulated_count"]].tolist()
    [3124, 125]
    """
    mail, counts = published(), simulated.counts()
    sums, _ = repetitions_of(mail)
    rows = counts.reindex(mail.index)
    frame = pd.DataFrame({"duty_percent": mail["duty_percent"]})
    for arm in ("walk", "lut"):
        count = mail[f"table_{arm}_count"]
        frame[f"{arm}_count"] = count
        # The fullest phase of the mail is whole.
        frame[f"{arm}_percent"] = 100 * count / sums[arm].max()
    whole = simulated.repetitions * simulated.activations
    frame["simulated_count"] = rows["waking"].fillna(0).astype(int)
    frame["simulated_percent"] = 100 * frame["simulated_count"] / whole
    return frame.assign(
        low=rows["low"].fillna(0), high=rows["high"].fillna(0), chosen=rows["target"].fillna(0).astype(int)
    )


def story(simulated, shares, later):
    """What the simulated device says about the mail's counts, as Markdown with every figure computed.

    Parameters
    ----------
    simulated : Simulation
        Of 5.12, as the mail has it.
    shares : DataFrame
        Of :func:`mid_share`.
    later : Simulation
        The same with the rules of a kernel without the margin.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> few = {"repetitions": 2, "activations": 20}
    >>> simulated, later = (phases.simulate("pixel4", kernel=k, **few) for k in ("5.12", "6.1"))
    >>> text = phases.story(simulated, phases.mid_share(**few), later)
    >>> text.splitlines()[0]
    '* Outside phase 4 each kind of CPU of the mail ran at least 80.0 % of the activations.'
    """
    beside = beside_the_mail(simulated)
    duty = beside.loc[4, "duty_percent"].iloc[0]
    single = beside.groupby("phase")["walk_count"].transform("size") == 1
    rows = decisions(simulated.model, kernel=simulated.kernel, util=range(500, 760), load_percent=[0])
    settled = settled_util()
    on_mid = rows[rows["prev"] == "Mid"].set_index("util")
    fits = on_mid.index[on_mid["saving_percent"].notna()].max()
    saves = on_mid.loc[settled, "saving_percent"]
    back = rows[rows["prev"] == "Big"].set_index("util").loc[settled, "saving_percent"]
    mail = published_shares()
    first = [
        f"Outside phase 4 each kind of CPU of the mail ran at least "
        f"{beside.loc[single, 'simulated_percent'].min():.1f} % of the activations.",
        f"In phase 4 the task goes to sleep with a utilisation of {settled}, not the duty cycle's "
        f"{1024 * duty / 100:.0f}. An idle Mid takes it up to {fits}. There it would save {saves:.1f} % by "
        f"going to Big, on Big {back:.1f} % by going to Mid: 5.12 wants more than {100 / 16:g} % and leaves "
        f"it where it is. So it stays on Mid if phase 3 left it there, with nothing else "
        f"({shares.loc[('nothing', ''), 'percent']:.1f} % on Mid), on Big if it starts there "
        f"({shares.loc[('start', 'Big'), 'percent']:.1f} % on Mid).",
        f"{later.kernel} has no margin: {later.share(4, 'Mid').mean():.1f} % of phase 4 on Mid.",
        f"What drives it off Mid is anything that brings the CPU's utilisation with it above {fits}; "
        f"the margin keeps it from coming back.",
    ]
    lines = [f"* {line}" for line in first]
    for arm, words in (("walk", "without the table"), ("lut", "with it")):
        able = [f"{cause} {value}".strip() for cause, value in shares.index[shares[arm]]]
        lines.append(
            f"* {mail.loc[arm, 'percent']:.1f} % ({words}) is what a device can give with: "
            f"{'; '.join(able) or 'none of these'}."
        )
    both = [f"{cause} {value}" for cause, value in shares.index[shares["walk"] & shares["lut"]]]
    end = (
        f"One device can give both: {'; '.join(both)}."
        if both
        else "None of these devices gives both: a phone like them met different conditions in the two "
        "series, of which a little more or less other load is one."
    )
    lines.append(f"* The table chooses the same CPUs as the walk, so it explains no difference. {end}")
    return "\n".join(lines)
