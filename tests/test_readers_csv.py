# SPDX-License-Identifier: GPL-2.0-only
"""Energy models as CSV and which bundled ones there are, held against the tables that they were made of."""

import csv
import io
import tracemalloc
from pathlib import Path

import pytest

from schedpy import em

MODELS = Path(__file__).parents[2] / "shared" / "models"
PIXEL4 = em.EnergyModel.load("pixel4")
TEXT = """\
# two clusters
# source: nowhere
domain,cpus,capacity,freq_khz,power,unit
little,0-3,300,500000,20,mW
little,0-3,300,1000000,60,mW
big,"4,6-7",1024,1000000,200,mW
big,"4,6-7",1024,2000000,700,mW
"""


def saved(text, tmp_path):
    path = tmp_path / "em.csv"
    path.write_text(text, newline="")
    return path


def as_csv(model, header):
    """A model's states with these columns."""
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow(header)
    for domain in model.domains:
        cpus = ",".join(map(str, domain.cpus))
        for state, (khz, power) in enumerate(zip(domain.freq_khz, domain.power, strict=True)):
            row = {
                **dict.fromkeys(("domain", "pd"), domain.name),
                "cpus": cpus,
                "first_cpu": domain.cpus[0],
                "nr_cpus": len(domain.cpus),
                **dict.fromkeys(("capacity", "cpu_capacity"), domain.capacity),
                "state": state,
                "freq_khz": khz,
                "power": power,
                **dict.fromkeys(("unit", "power_unit"), domain.unit),
                "note": "x",
            }
            writer.writerow([row[name] for name in header])
    return target.getvalue()


@pytest.mark.parametrize(
    "header",
    [
        ("domain", "cpus", "capacity", "freq_khz", "power", "unit"),
        ("unit", "power", "note", "freq_khz", "capacity", "cpus", "state", "domain"),
        ("pd", "first_cpu", "nr_cpus", "cpu_capacity", "state", "freq_khz", "power", "power_unit", "note"),
    ],
)
@pytest.mark.parametrize("name", em.EnergyModel.names())
def test_every_bundled_model_comes_back(tmp_path, name, header):
    model = em.EnergyModel.load(name)
    assert em.EnergyModel.load(saved(as_csv(model, header), tmp_path)) == model


def test_source_and_odd_cpus(tmp_path):
    model = em.EnergyModel.load(saved(TEXT, tmp_path))
    assert model.source == "two clusters\nsource: nowhere"
    assert model["big"].cpus == (4, 6, 7)
    assert em.EnergyModel.load(saved(TEXT, tmp_path).rename(tmp_path / "EM.CSV")) == model
    for text in ("\ufeff" + TEXT.partition("nowhere\n")[2], TEXT.replace("\n", "\r\n"), TEXT + "\n\n"):
        assert em.EnergyModel.load(saved(text, tmp_path)) == model


def test_the_unit_is_never_guessed(tmp_path):
    for text in (TEXT.replace(",unit\n", "\n").replace(",mW", ""), TEXT.replace(",mW", ",")):
        path = saved(text, tmp_path)
        with pytest.raises(
            ValueError, match=r"em\.csv: unit is missing: must be one of mW, uW, bogo, or be given"
        ):
            em.EnergyModel.load(path)
        assert em.EnergyModel.load(path, unit="uW")["big"].unit == "uW"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (TEXT, "", r"is empty: must have the columns cpus, domain, capacity, freq_khz, power"),
        (TEXT[TEXT.index("little") :], "", r"has no states: must have a row for each, below the header"),
        ("freq_khz", "MHz", r"line 3: has no column freq_khz: domain, cpus, capacity, MHz, power, unit"),
        ("cpus", "cores", r"line 3: has no column cpus, nor first_cpu and nr_cpus"),
        ("unit", "power", r"line 3: has two columns power"),
        ("unit", "pd", r"line 3: has two columns domain"),
        ("500000,20,", "500000,", r"line 4: 5 cells under 6 columns"),
        ("500000,20,", "500000,,", r"line 4: power = '': must be a whole number"),
        ("500000,20,", "500000,20.5,", r"line 4: power = '20\.5': must be a whole number"),
        ("500000,20,", "500000,-20,", r"line 4: power = '-20'"),
        ("500000,20,", "5e5,20,", r"line 4: freq_khz = '5e5'"),
        ("500000,20,", f"500000,{'9' * 21},", r"line 4: power = '9+': must be a whole number"),
        ("500000,20,", "500000,0,", r"domain 0: power\[0\] = 0"),
        ("500000,20,", "1000000,20,", r"domain 0: freq_khz\[1\] = 1000000: must be above"),
        ("little,0-3,300,500000", ",0-3,300,500000", r"line 4: domain is empty"),
        (
            "little,0-3,300,500000",
            "little,0-,300,500000",
            r"line 4: cpus: '0-' is no list of CPUs such as 0-3,6",
        ),
        ("little,0-3,300,500000", "little,0-2,300,500000", r"line 5: cpus = .*as above for domain 'little'"),
        ("little,0-3,300,500000", "little,0-3,301,500000", r"line 5: capacity = 300: must be 301, as above"),
        ("20,mW", "20,uW", r"line 5: unit = 'mW': must be 'uW', as above"),
        ("20,mW", "20,", r"line 5: unit = 'mW': must be '', as above"),
        ("mW", "W", r"em\.csv: unit = 'W'"),
        ("little,0-3,300,500000", '"little,0-3,300,500000', r"line 6: no CSV: ',' expected after"),
        ("little,0-3,300,500000", '"lit"tle,0-3,300,500000', r"line 4: no CSV: "),
        ("700", "7" * 140_000, r"line 7: no CSV: field larger than field limit"),
        ("1024", "1025", r"line 7: capacity = 1024: must be 1025, as above for domain 'big'"),
        ("300", "3000", r"line 5: capacity = 300: must be 3000"),
        (TEXT[TEXT.index("big") :], "big,3-7,1024,1,1,mW", r"line 6: CPU 3 of 'big' is in 'little'"),
        (TEXT[TEXT.index("big") :], "big,7,1025,1,1,mW", r"domain 1: capacity = 1025"),
        (TEXT[TEXT.index("big") :], 'big,"7', r"line 6: no CSV: unexpected end of data"),
    ],
)
def test_files_refused(tmp_path, old, new, says):
    assert old in TEXT
    path = saved(TEXT.replace(old, new) if old == "mW" else TEXT.replace(old, new, 1), tmp_path)
    with pytest.raises(ValueError, match=says) as caught:
        em.EnergyModel.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_short_files_do_not_take_the_memory(tmp_path):
    """100 kB that stand for lists of 50 million CPUs, a list for each of many domains and a list in one."""
    head = "domain,cpus,capacity,freq_khz,power,unit\n"
    rows = "".join(f"d{n},0-9999,1,1,1,mW\n" for n in range(5000))
    cell = f'a,"{",".join(["0-9999"] * 5000)}",1,1,1,mW\n'
    for text, says in (
        (rows, r"line 3: CPU 0 of 'd1' is in 'd0'"),
        (cell, r"line 2: cpus: '0-9999,.*\.\.\. holds more than 10000 CPUs"),
    ):
        path = saved(head + text, tmp_path)
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=says):
                em.EnergyModel.load(path)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # The buffer for the largest file that is taken has half of this.
        assert most < 1 << 27


def test_cpus_by_their_number_refused(tmp_path):
    head = "domain,first_cpu,nr_cpus,capacity,freq_khz,power,unit\n"
    for count, says in (
        ("0", "domain 0: cpus has shape"),
        ("99999999999", r"line 2: nr_cpus = 9+: must be a"),
    ):
        with pytest.raises(ValueError, match=says):
            em.EnergyModel.load(saved(f"{head}a,0,{count},1024,1000,5,mW\n", tmp_path))


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "em.csv"
    path.write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(ValueError, match=r"em\.csv: no text in UTF-8"):
        em.EnergyModel.load(path)


MEASURED = """\
device,policy,freq_khz,static,active,idle0,idle1
neo,0,691200,3.1,19.54,0.61,0
neo,0,940800,4.33,26.65,0.79,0
neo,0,1113600,5.65,32.33,0.99,0
"""


def from_measurement(text, cpus, capacity):
    """Wattson's curves: the active power of one CPU in mW with fractions, which is whole in uW."""
    rows = list(csv.DictReader(io.StringIO(text)))
    head = "domain,cpus,capacity,freq_khz,power,unit\n"
    lines = [
        f"{row['device']},{cpus},{capacity},{row['freq_khz']},{round(1000 * float(row['active']))},uW\n"
        for row in rows
    ]
    return head + "".join(lines)


def test_power_measured_in_fractions_of_a_milliwatt(tmp_path):
    (domain,) = em.EnergyModel.load(saved(from_measurement(MEASURED, "0-3", 1024), tmp_path)).domains
    assert (domain.power.tolist(), domain.unit) == ([19540, 26650, 32330], "uW")


# --- what is bundled


def test_the_bundled_platforms():
    """Those that the project promises, each with the place that its figures come from."""
    platforms = {
        "hikey620": "lisa", "hikey960_hi3660": "hi3660.dtsi", "juno_r0": "lisa",
        "kernel_doc_example2": "sched-energy.rst", "mt8183": "mt8183.dtsi", "pixel1_msm8996": "lisa",
        "pixel4": "sm8150-v2.dtsi", "pixel4_freqbench": "freqbench", "pixel6_gs101": "gs101.dtsi",
        "rk3399_op1": "rk3399-op1.dtsi", "rockpi4_rk3399": "rk3399.dtsi",
        "sdm845_little_devlib397": "devlib", "tc2": "Morten Rasmussen",
    }  # fmt: skip
    assert em.EnergyModel.names() == sorted(platforms)
    for name, source in platforms.items():
        assert source in em.EnergyModel.load(name).source


def test_the_text_shows_every_domain():
    lines = repr(PIXEL4).splitlines()
    assert lines[0] == "EnergyModel pixel4: 8 CPUs in 3 domains"
    assert lines[1].split() == ["domain", "CPUs", "capacity", "states", "kHz", "power", "unit"]
    assert " ".join(lines[2].split()) == "little 0-3 261 18 300000 .. 1785600 24 .. 128 mW"
    assert len({line.rindex("  mW") for line in lines[2:]}) == 1
    one = em.EnergyModel([em.PerfDomain("a", [5], [1], [2], unit="uW", capacity=7)])
    assert repr(one).splitlines()[0] == "EnergyModel without name: 1 CPU in 1 domain"


def test_the_html_shows_every_state():
    shown = PIXEL4._repr_html_()
    assert shown.count("<details>") == 3
    assert shown.count("<tr>") == 1 + 3 + sum(1 + domain.freq_khz.size for domain in PIXEL4.domains)
    assert "<tr><td>17</td><td>1785600</td><td>128</td></tr>" in shown
    assert "<th>power [mW]</th>" in shown
    assert "sm8150-v2.dtsi" in shown


@pytest.mark.skipif(
    not MODELS.is_dir(), reason="the tables that the bundled models were made of are elsewhere"
)
def test_the_bundled_models_are_the_tables_that_they_were_made_of():
    names = {"pixel4": "pixel4_sm8150_vendor", "pixel4_freqbench": "sm8150_freqbench"}
    for name in em.EnergyModel.names():
        assert em.EnergyModel.load(MODELS / f"{names.get(name, name)}.csv") == em.EnergyModel.load(name)
    with pytest.raises(ValueError, match=r"sm8150_mainline_opp\.csv: line 4: power = ''"):
        em.EnergyModel.load(MODELS / "sm8150_mainline_opp.csv")


@pytest.mark.skipif(not MODELS.is_dir(), reason="the further tables of real platforms are elsewhere")
def test_further_tables_can_be_taken(tmp_path):
    for path in (MODELS / "more/wattson").glob("*.csv"):
        head, *lines = path.read_text().splitlines(keepends=True)
        for policy in {line.split(",")[1] for line in lines}:
            text = head + "".join(line for line in lines if line.split(",")[1] == policy)
            if float(next(csv.DictReader(io.StringIO(text)))["active"]):
                (domain,) = em.EnergyModel.load(saved(from_measurement(text, policy, 1024), tmp_path)).domains
                assert domain.freq_khz.size == text.count("\n") - 1
                domain.table(kernel="6.1")


def from_lisa(rows):
    """LISA's tables, a state of a CPU in each row: CPUs with the same states are a domain."""
    states = {}
    for row in rows:
        if row["cpu"]:
            states.setdefault(row["cpu"], []).append((row["freq_khz"], row["capacity"], row["power_bogoW"]))
    groups = {}
    for cpu, columns in states.items():
        groups.setdefault(tuple(columns), []).append(cpu)
    lines = ["domain,cpus,capacity,freq_khz,power,unit\n"]
    for columns, cpus in groups.items():
        for khz, _, power in columns:
            lines.append(f'cpu{cpus[0]},"{",".join(cpus)}",{columns[-1][1]},{khz},{power},bogo\n')
    return "".join(lines)


@pytest.mark.skipif(not MODELS.is_dir(), reason="the further tables of real platforms are elsewhere")
def test_lisas_tables_can_be_taken(tmp_path):
    rows = list(csv.DictReader(io.StringIO((MODELS / "more/lisa_energy_models.csv").read_text())))
    loaded = {
        platform: em.EnergyModel.load(
            saved(from_lisa(row for row in rows if row["platform"] == platform), tmp_path)
        )
        for platform in {row["platform"] for row in rows}
    }
    hikey = loaded["hikey620"].domains[0]
    bundled = em.EnergyModel.load("hikey620").domains[0]
    assert (hikey.cpus, hikey.capacity, hikey.power.tolist()) == (bundled.cpus, 1024, bundled.power.tolist())
    assert len(loaded) > 1
    for model in loaded.values():
        for domain in model.domains:
            domain.table(kernel="6.1")
