# SPDX-License-Identifier: GPL-2.0-only
"""Energy model: what is refused and how, files, tables of any strides."""

import os
import pickle

import numpy as np
import pytest

from schedpy import _core, eas, em

PIXEL4 = em.EnergyModel.load("pixel4")
NAMES = [
    "hikey620",
    "hikey960_hi3660",
    "juno_r0",
    "kernel_doc_example2",
    "mt8183",
    "pixel1_msm8996",
    "pixel4",
    "pixel4_freqbench",
    "pixel6_gs101",
    "rk3399_op1",
    "rockpi4_rk3399",
    "sdm845_little_devlib397",
    "tc2",
]


def one(**changed):
    values = {
        "name": "one",
        "cpus": [0, 1],
        "freq_khz": [1000, 2000],
        "power": [1, 3],
        "unit": "mW",
        "capacity": 512,
    }
    return em.PerfDomain(**(values | changed))


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"name": ""}, ValueError, r"^name is empty"),
        ({"name": 3}, TypeError, r"^name = 3"),
        ({"cpus": []}, ValueError, r"^cpus has shape \(0,\)"),
        ({"cpus": 3}, ValueError, r"^cpus has shape \(\)"),
        ({"cpus": [0, 64]}, ValueError, r"^cpus\[1\] = 64: must be 0 .. 63"),
        ({"cpus": [-1]}, ValueError, r"^cpus\[0\] = -1"),
        ({"cpus": [1, 2, 1]}, ValueError, r"^cpus holds CPU 1 twice"),
        ({"cpus": [0.5]}, TypeError, r"^cpus"),
        (
            {"freq_khz": [2000, 1000]},
            ValueError,
            r"^freq_khz\[1\] = 1000: must be above freq_khz\[0\] = 2000",
        ),
        ({"freq_khz": [2000, 2000]}, ValueError, r"^freq_khz\[1\] = 2000"),
        ({"freq_khz": [0, 1000]}, ValueError, r"^freq_khz\[0\] = 0: must be 1 .. "),
        ({"freq_khz": [-5, 1000]}, ValueError, r"^freq_khz\[0\] = -5"),
        ({"freq_khz": [1000.0, 2000.0]}, TypeError, r"^freq_khz"),
        ({"freq_khz": [1000, float("nan")]}, TypeError, r"^freq_khz"),
        ({"freq_khz": [1000, 2**64]}, ValueError, r"^freq_khz\[1\]"),
        ({"freq_khz": [[1000, 2000]]}, ValueError, r"^freq_khz has shape \(1, 2\)"),
        ({"freq_khz": [], "power": []}, ValueError, r"^freq_khz has shape \(0,\)"),
        ({"power": [0, 3]}, ValueError, r"^power\[0\] = 0: must be 1 .. "),
        ({"power": [1]}, ValueError, r"^power has 1 values for 2 of freq_khz"),
        ({"power": ["1", "2"]}, TypeError, r"^power"),
        ({"unit": "W"}, ValueError, r"^unit = 'W': must be one of 'mW', 'uW', 'bogo'"),
        ({"unit": None}, TypeError, r"^unit"),
        ({"capacity": 0}, ValueError, r"^capacity = 0: must be 1 .. 1024"),
        ({"capacity": 1025}, ValueError, r"^capacity = 1025"),
        ({"capacity": [512, 512]}, ValueError, r"^capacity must be one integer"),
    ],
)
def test_a_domain_that_no_kernel_registers_is_refused(changed, error, message):
    with pytest.raises(error, match=message):
        one(**changed)


def test_a_power_over_the_limit_of_the_kernel_is_refused_by_the_kernel():
    assert one(power=[1, 65535]).table(kernel="5.12")["power"].tolist() == [1, 65535]
    with pytest.raises(
        ValueError, match=r"^power\[1\] = 65536 of domain 'one': kernel 5.12 takes 1 .. 65535"
    ):
        one(power=[1, 65536]).table(kernel="5.12")
    for call in (
        lambda d: d.lut(),
        lambda d: d.energy(1, 1, kernel="5.12"),
        lambda d: d.get_efficient_state(1, kernel="5.12"),
        lambda d: d.get_efficient_freq(1),
    ):
        with pytest.raises(ValueError, match=r"^power\[1\] = 65536"):
            call(one(power=[1, 65536]))


def test_microwatt_become_the_milliwatt_that_the_kernel_takes():
    table = one(power=[1999, 65_535_999], unit="uW").table(kernel="5.12")
    assert table["power"].tolist() == [1, 65535]
    with pytest.raises(ValueError, match=r"^power\[0\] = 0 \(999 uW\) of domain 'one'"):
        one(power=[999, 65_535_999], unit="uW").table(kernel="5.12")


@pytest.mark.parametrize("kernel", ["4.19", "5.14", "6.8", "7.4"])
def test_a_kernel_that_is_not_proven_is_refused(kernel):
    domain = PIXEL4["little"]
    task, cpus = eas.task(), eas.idle_cpus(PIXEL4)
    for call in (
        lambda: domain.energy(1, 1, kernel=kernel),
        lambda: domain.get_efficient_state(1, kernel=kernel),
        lambda: domain.walk_length(1, kernel=kernel),
        lambda: eas.find_energy_efficient_cpu(PIXEL4, task, cpus, kernel=kernel),
        lambda: eas.effective_cpu_util(1, kernel=kernel, max=1024),
        lambda: eas.util_fits_cpu(1, 1024, kernel=kernel),
    ):
        with pytest.raises(ValueError, match=f"^kernel = '{kernel}'"):
            call()
    if kernel != "5.14":
        with pytest.raises(ValueError, match=f"^kernel = '{kernel}'"):
            domain.table(kernel=kernel)
    with pytest.raises(TypeError, match=r"^kernel"):
        domain.table(kernel=5.12)


@pytest.mark.parametrize("kernel", ["5.11", "5.13"])
def test_the_look_up_table_is_of_5_12_alone(kernel):
    for call in (
        lambda: PIXEL4["mid"].get_efficient_state(1, kernel=kernel, method="lut"),
        lambda: PIXEL4["mid"].energy(1, 1, kernel=kernel, method="lut"),
    ):
        with pytest.raises(ValueError, match=f"^kernel = '{kernel}': em.lut is not proven"):
            call()
    with pytest.raises(ValueError, match=r"^kernel = '5.13': em.lut is not proven"):
        eas.find_energy_efficient_cpu(PIXEL4, eas.task(), eas.idle_cpus(PIXEL4), kernel="5.13", method="lut")


def test_a_later_patch_level_of_5_12_is_refused():
    for kernel in ("5.12", "v5.12", "5.12.0", "5.12.0-rc3"):
        eas.find_energy_efficient_cpu(PIXEL4, eas.task(), eas.idle_cpus(PIXEL4), kernel=kernel)
    with pytest.raises(ValueError, match=r"^kernel = '5.12.7'"):
        eas.find_energy_efficient_cpu(PIXEL4, eas.task(), eas.idle_cpus(PIXEL4), kernel="5.12.7")


def test_a_table_without_bounds_is_refused():
    """A bin for every 1024 kHz of 2^50 kHz."""
    with pytest.raises(ValueError, match=r"^domain 'one': the look-up table would have \d+ bins of 1024 kHz"):
        one(freq_khz=[1, 2, 2**50], power=[1, 2, 4], capacity=1024).lut(False)


def test_offsets_above_an_int_stay_exact():
    pd = one(freq_khz=[1000, 5_000_001_000, 10_000_001_000], power=[1, 20000, 60000])
    lut = pd.lut()
    edges = [lut.min_freq + (i << lut.shift) for i in range(len(lut.entries))]
    assert edges[-1] > 2**31
    assert lut.entries.tolist() == np.searchsorted(pd.freq_khz, edges).tolist()


def test_the_core_survives_tables_that_make_no_sense():
    """No state, wild shifts and entries: defined, no trap."""
    none = np.zeros((0, 5), dtype=np.uint64)
    huge = np.uint64(2**64 - 1)
    table = PIXEL4["little"].table(kernel="5.12").view(np.uint64).reshape(-1, 5)
    no_entries = np.zeros(0, dtype=np.uint64)
    wild = np.array([huge, 99], dtype=np.uint64)
    assert _core.em_state_walk_v5_0(none, 5) == -1
    assert _core.em_state_lut(none, wild, 0, 10, 5) == -1
    assert _core.em_state_lut(table, no_entries, 0, 10, 500_000) == -1
    assert _core.em_state_lut(table, wild, 0, 10, 500_000) == -1
    assert _core.em_state_lut(table, wild, huge, 10, 500_000) == -1
    assert _core.em_state_lut(table, wild, 0, 200, 500_000) == -1
    assert _core.em_cpu_energy_v5_0(none, 0, 5, 5) == 0
    assert [int(x) for x in _core.em_lut_shape(none)] == [0, 63, 0]
    assert _core.em_lut_entry(none, 0, 10, 5) == 0
    assert _core.em_lut_entry(table, huge, 10, 5) == len(table)
    assert _core.em_lut_entry(table, 0, 200, huge) == 5
    assert _core.em_first_refused(no_entries, no_entries, 5) == -1
    assert _core.em_create_table_v5_12(no_entries, no_entries).shape == (0, 5)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        _core.em_cpu_energy_v5_0(table, 0, 5, 5)


def test_the_core_reads_tables_of_any_strides():
    table = PIXEL4["prime"].table(kernel="5.12").view(np.uint64).reshape(-1, 5)
    lut = PIXEL4["prime"].lut()
    entries = lut.entries.view(np.uint64)
    requests = np.arange(500_000, 3_000_000, 9_999, dtype=np.uint64)
    util = requests % np.uint64(1025)
    expected = _core.em_state_walk_v5_0(table, requests)
    by_lut = _core.em_state_lut(table, entries, entries[0], lut.shift, requests)
    energies = _core.em_cpu_energy_v5_0(table, 1024, util, util)
    lut_energies = _core.em_cpu_energy_lut(table, entries, entries[0], lut.shift, 1024, util, util)
    spaced = np.repeat(entries, 3)[::3]
    for other in (
        np.asfortranarray(table),
        np.repeat(np.repeat(table, 2, 0), 3, 1)[::2, ::3],
        table[::-1][::-1],
    ):
        np.testing.assert_array_equal(_core.em_state_walk_v5_0(other, requests), expected)
        np.testing.assert_array_equal(
            _core.em_state_lut(other, spaced, entries[0], lut.shift, requests), by_lut
        )
        np.testing.assert_array_equal(_core.em_cpu_energy_v5_0(other, 1024, util, util), energies)
        for mine, theirs in zip(
            _core.em_cpu_energy_lut(other, spaced, entries[0], lut.shift, 1024, util, util),
            lut_energies,
            strict=True,
        ):
            np.testing.assert_array_equal(mine, theirs)
        assert [int(x) for x in _core.em_lut_shape(other)] == [0, lut.shift, len(entries)]
        np.testing.assert_array_equal(
            _core.em_lut_entry(other, 0, lut.shift, np.arange(len(entries), dtype=np.uint64)), entries
        )
    freq, power = np.repeat(table[:, 0], 2)[::2], np.repeat(table[:, 1], 3)[::3]
    out = np.zeros((5, len(freq)), dtype=np.uint64).T
    _core.em_create_table_v5_12(freq, power, out=out)
    np.testing.assert_array_equal(out, table)
    assert _core.em_first_refused(freq, power, 1000) == int(np.argmax(power > 1000))


def test_methods_broadcast_and_empty_gives_empty():
    domain = PIXEL4["mid"]
    energy = domain.energy(np.arange(4)[:, None], np.arange(3), kernel="5.12")
    assert energy.shape == (4, 3)
    assert energy[2, 2] == domain.energy(2, 2, kernel="5.12")
    for method in ("walk", "lut"):
        assert domain.energy([], 5, kernel="5.12", method=method).shape == (0,)
        assert domain.get_efficient_state([], kernel="5.12", method=method).shape == (0,)
    assert domain.get_efficient_freq([]).shape == (0,)
    assert PIXEL4["little"].get_efficient_freq([]).shape == (0,)
    assert domain.walk_length([], kernel="5.12").shape == (0,)


@pytest.mark.parametrize("bad", [-1, 1.5, float("nan"), 2**64, "5", None])
def test_bad_numbers_are_refused_by_name(bad):
    domain = PIXEL4["mid"]
    for name, call in (
        ("freq_khz", lambda: domain.get_efficient_state(bad, kernel="5.12")),
        ("freq_khz", lambda: domain.get_efficient_freq(bad)),
        ("freq_khz", lambda: domain.walk_length(bad, kernel="5.12")),
        ("max_util", lambda: domain.energy(bad, 1, kernel="5.12")),
        ("sum_util", lambda: domain.energy(1, bad, kernel="5.12")),
        ("util_avg", lambda: eas.task(util_avg=bad)),
    ):
        with pytest.raises((ValueError, TypeError), match=rf"^{name}\b"):
            call()


def test_methods_are_two():
    with pytest.raises(ValueError, match=r"^method = 'table': must be one of 'walk', 'lut'"):
        PIXEL4["mid"].energy(1, 1, kernel="5.12", method="table")
    with pytest.raises(ValueError, match=r"^method"):
        eas.find_energy_efficient_cpu(PIXEL4, eas.task(), eas.idle_cpus(PIXEL4), kernel="5.12", method="")


def test_models():
    assert em.EnergyModel.names() == NAMES
    with pytest.raises(KeyError, match=r"no domain 'big': must be one of little, mid, prime"):
        PIXEL4["big"]
    with pytest.raises(ValueError, match=r"^domains is empty"):
        em.EnergyModel([])
    with pytest.raises(TypeError, match=r"^domains\[1\] is str"):
        em.EnergyModel([one(), "mid"])
    with pytest.raises(ValueError, match=r"^domains\[1\]: there is a domain 'one' already"):
        em.EnergyModel([one(), one(cpus=[5])])
    with pytest.raises(ValueError, match=r"^domains\[1\]: CPU 1 of 'two' is in 'one'"):
        em.EnergyModel([one(), one(name="two", cpus=[1, 2])])
    assert repr(PIXEL4).splitlines()[0] == "EnergyModel pixel4: 8 CPUs in 3 domains"
    assert "<td>little</td><td>0-3</td>" in PIXEL4._repr_html_()
    assert "&lt;b&gt;" in em.EnergyModel([one(name="<b>")])._repr_html_()
    assert pickle.loads(pickle.dumps(PIXEL4)) == PIXEL4
    assert hash(em.EnergyModel.load("pixel4")) == hash(PIXEL4)
    with pytest.raises(ValueError, match="read-only"):
        PIXEL4["mid"].power[0] = 1


@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_model_comes_back_equal(name, tmp_path):
    model = em.EnergyModel.load(name)
    assert model.source
    model.save(tmp_path / "copy.toml")
    again = em.EnergyModel.load(tmp_path / "copy.toml")
    assert again == model
    assert again.source == model.source
    assert again.name == "copy"
    assert os.listdir(tmp_path) == ["copy.toml"]
    for domain in model.domains:
        domain.table(kernel="5.12")


def test_odd_names_survive_a_file(tmp_path):
    model = em.EnergyModel([one(name='a"b\\c\n\x7f\x00é')], source="line\nline \"quoted\" '''")
    model.save(str(tmp_path / "odd.toml"))
    again = em.EnergyModel.load(tmp_path / "odd.toml")
    assert again == model
    assert again.source == model.source


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.toml"
    PIXEL4.save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        em.EnergyModel([one()]).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.toml"]
    mixed = em.EnergyModel([one(), one(name="two", cpus=[7], unit="uW")])
    with pytest.raises(ValueError, match=r"^domains have the units mW, uW"):
        mixed.save(path)


DOMAIN = '[[domain]]\nname = "a"\ncpus = [0]\ncapacity = 5\nfreq_khz = [1, 2]\npower = [1, 2]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unit = \n", r"no TOML: .*line 1"),
        ('unit = "mW"\n', r"domain must be at least one \[\[domain\]\]"),
        ('unit = "mW"\ndomain = 3\n', r"domain must be at least one"),
        (DOMAIN, r"unit is missing: must be one of mW, uW, bogo, or be given as unit="),
        ('unit = "W"\n' + DOMAIN, r"unit = 'W'"),
        ('unit = "mW"\nother = 1\n' + DOMAIN, r"unknown key 'other'"),
        ('unit = "mW"\n' + DOMAIN + "cost = [1, 2]\n", r"domain 0: unknown key 'cost'"),
        ('unit = "mW"\n' + DOMAIN.replace("capacity = 5\n", ""), r"domain 0: capacity is missing"),
        ('unit = "mW"\n' + DOMAIN.replace("[1, 2]", "[2, 1]", 1), r"freq_khz\[1\] = 1: must be above"),
        ('unit = "mW"\n' + DOMAIN + DOMAIN, r"domains\[1\]: there is a domain 'a' already"),
    ],
)
def test_a_file_that_is_no_model_is_refused_by_name(tmp_path, text, message):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"wrong\.toml: .*{message}|^unit"):
        em.EnergyModel.load(path)
    with pytest.raises(ValueError, match=message):
        em.EnergyModel.load(path)


def test_floats_in_a_file_are_refused(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text('unit = "mW"\n' + DOMAIN.replace("power = [1, 2]", "power = [1.5, 2.0]"))
    with pytest.raises(ValueError, match=r"wrong\.toml: domain 0: power\[0\] = 1.5: must be an integer"):
        em.EnergyModel.load(path)


def test_a_name_or_a_path(tmp_path):
    with pytest.raises(ValueError, match=r"^name_or_path = 'pixel5': must be one of hikey620, "):
        em.EnergyModel.load("pixel5")
    with pytest.raises(ValueError, match=r"^name_or_path = '': must be one of"):
        em.EnergyModel.load("")
    with pytest.raises(TypeError, match=r"^name_or_path = 4"):
        em.EnergyModel.load(4)
    with pytest.raises(FileNotFoundError):
        em.EnergyModel.load(tmp_path / "missing.toml")
    with pytest.raises(FileNotFoundError):
        em.EnergyModel.load("missing.toml")


def test_a_unit_is_never_converted_twice(tmp_path):
    assert em.EnergyModel.load("pixel4", unit="mW") == PIXEL4
    bogo = em.EnergyModel.load("pixel4", unit="bogo")["mid"]
    assert bogo.unit == "bogo"
    assert bogo.power.tolist() == PIXEL4["mid"].power.tolist()
    with pytest.raises(ValueError, match=r"^unit = 'uW': model pixel4 states its power in mW"):
        em.EnergyModel.load("pixel4", unit="uW")
    with pytest.raises(ValueError, match=r"^unit = 'W'"):
        em.EnergyModel.load("pixel4", unit="W")
    assert em.EnergyModel.load("hikey620", unit="mW").domains[0].unit == "mW"
    path = tmp_path / "plain.toml"
    path.write_text(DOMAIN)
    assert em.EnergyModel.load(path, unit="uW")["a"].unit == "uW"
    for odd in ('"W"', '""', "3", '["mW"]'):
        path.write_text(f"unit = {odd}\n" + DOMAIN)
        with pytest.raises(ValueError, match=r"plain\.toml: unit = .*: must be one of mW, uW, bogo$"):
            em.EnergyModel.load(path, unit="mW")


LIMITED = one(freq_khz=[1000, 1500, 2000], power=[1, 2, 3], unit="bogo")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"freq_min_khz": 999}, r"^freq_min_khz = 999: must be the frequency of a state; nearest 1000$"),
        ({"freq_max_khz": 1501}, r"^freq_max_khz = 1501: .* nearest 1500 and 2000$"),
        ({"freq_max_khz": 2**64 - 1}, r"^freq_max_khz = 18446744073709551615: .* nearest 2000$"),
        ({"freq_min_khz": -1}, r"^freq_min_khz = -1"),
        ({"freq_min_khz": [1000, 1500]}, r"^freq_min_khz must be one integer"),
        ({"freq_min_khz": 2000, "freq_max_khz": 1000}, r"^freq_max_khz = 1000: .* below freq_min_khz = 2000"),
        ({"min_ps": 2, "freq_max_khz": 1000}, r"^freq_max_khz = 1000: must not be below min_ps = 2"),
        ({"min_ps": 2, "max_ps": 1}, r"^max_ps = 1: must not be below min_ps = 2"),
        ({"max_ps": 3}, r"^max_ps = 3: must be 0 .. 2"),
        ({"max_ps": 1, "freq_max_khz": 1500}, r"^freq_max_khz: there is max_ps already"),
    ],
)
def test_limits_that_no_kernel_sets_are_refused(limits, message):
    """The kernel answers EINVAL to a frequency that is no state's and to an empty range."""
    for call in (
        lambda: LIMITED.energy(5, 5, kernel="7.3", **limits),
        lambda: LIMITED.get_performance_state(5, kernel="7.3", **limits),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("name", ["min_ps", "max_ps", "freq_min_khz", "freq_max_khz"])
def test_kernels_before_6_13_have_no_limits(name):
    for kernel in ("6.1", "6.12"):
        with pytest.raises(
            ValueError, match=rf"^{name}: kernels from 6.13 on have performance limits, not {kernel}"
        ):
            LIMITED.energy(5, 5, kernel=kernel, **{name: 1})


def test_a_change_of_capacity_before_6_9_is_refused():
    for kernel in ("5.12", "6.1"):
        with pytest.raises(ValueError, match=rf"^kernel = '{kernel}': em.change_capacity"):
            LIMITED.energy(5, 5, kernel=kernel, capacity=512)
    with pytest.raises(ValueError, match=r"^capacity = 0: must be 1 .. 1024"):
        LIMITED.energy(5, 5, kernel="6.12", capacity=0)
    with pytest.raises(ValueError, match=r"performs nothing of a capacity of 1 at 2000 kHz"):
        LIMITED.energy(5, 5, kernel="6.12", capacity=1)
