# SPDX-License-Identifier: GPL-2.0-only
"""Energy models of flattened device trees: operating points of both versions, wrong and damaged trees."""

import contextlib
import struct
import sys

import numpy as np
import pytest
from device_trees import Tree, cpu

from schedpy import em

#: hi3660.dtsi: (Hz, uV) of each cluster, capacity-dmips-mhz, dynamic-power-coefficient.
HI3660 = {
    "little": ([533e6, 999e6, 1402e6, 1709e6, 1844e6], [700, 800, 900, 1000, 1100], 592, 110),
    "big": ([903e6, 1421e6, 1805e6, 2112e6, 2362e6], [700, 800, 900, 1000, 1100], 1024, 550),
}


def hz(value):
    return struct.pack(">Q", int(value))


def table(phandle, frequencies, millivolts, shared=True):
    states = {
        f"opp{n:02}": {"opp-hz": hz(khz), "opp-microvolt": mv * 1000}
        for n, (khz, mv) in enumerate(zip(frequencies, millivolts, strict=True))
    }
    marks = {"opp-shared": b""} if shared else {}
    return {"compatible": "operating-points-v2", "phandle": phandle, **marks, **states}


def hikey960():
    """The platform's tree, tables of version 2."""
    cpus, tables = {}, {}
    for cluster, (name, (frequencies, millivolts, dmips, coefficient)) in enumerate(HI3660.items()):
        tables[f"opp-table-{name}"] = table(cluster + 1, frequencies, millivolts)
        for n in range(4):
            cpus[f"cpu@{cluster}0{n}"] = cpu(
                operating_points_v2=cluster + 1,
                capacity_dmips_mhz=dmips,
                dynamic_power_coefficient=coefficient,
            )
    return {"cpus": {"#address-cells": 1, "cpu-map": {"cluster0": {}}, **cpus}, **tables}


def saved(tree, tmp_path, name="soc.dtb"):
    return Tree(tree).save(tmp_path / name)


def same_but_names(model, other):
    assert [(d.cpus, d.capacity, d.unit) for d in model.domains] == [
        (d.cpus, d.capacity, d.unit) for d in other.domains
    ]
    for mine, theirs in zip(model.domains, other.domains, strict=True):
        assert mine.freq_khz.tolist() == theirs.freq_khz.tolist()
        assert mine.power.tolist() == theirs.power.tolist()


def test_version_2_gives_the_bundled_platform(tmp_path):
    model = em.EnergyModel.load(saved(hikey960(), tmp_path))
    same_but_names(model, em.EnergyModel.load("hikey960_hi3660"))
    assert [domain.name for domain in model.domains] == ["cpu0", "cpu4"]
    assert model.name == "soc"
    assert model.source == str(tmp_path / "soc.dtb")
    # It shows by its content, as /sys/firmware/fdt does.
    assert em.EnergyModel.load(saved(hikey960(), tmp_path, "fdt")) == model


def test_version_1_gives_the_same(tmp_path):
    tree = hikey960()
    for cluster, (frequencies, millivolts, _, _) in enumerate(HI3660.values()):
        # As they often were: the highest first.
        pairs = zip(frequencies[::-1], millivolts[::-1], strict=True)
        cells = [cell for hertz, mv in pairs for cell in (int(hertz) // 1000, mv * 1000)]
        for n in range(4):
            node = tree["cpus"][f"cpu@{cluster}0{n}"]
            del node["operating-points-v2"]
            node["operating-points"] = cells
    same_but_names(em.EnergyModel.load(saved(tree, tmp_path)), em.EnergyModel.load("hikey960_hi3660"))


def test_one_version_1_table_stands_for_all_cpus(tmp_path):
    tree = {"cpus": {f"cpu@{n}": cpu(dynamic_power_coefficient=100) for n in range(3)}}
    tree["cpus"]["cpu@0"]["operating-points"] = [500000, 900000, 1000000, 1100000]
    (domain,) = em.EnergyModel.load(saved(tree, tmp_path)).domains
    assert (domain.cpus, domain.capacity) == ((0, 1, 2), 1024)
    assert domain.power.tolist() == [100 * 900**2 * 500 // 10**6, 100 * 1100**2 * 1000 // 10**6]


def test_a_table_that_is_not_shared_is_a_domain_for_each(tmp_path):
    tree = hikey960()
    del tree["opp-table-big"]["opp-shared"]
    model = em.EnergyModel.load(saved(tree, tmp_path))
    assert [domain.cpus for domain in model.domains] == [(0, 1, 2, 3), (4,), (5,), (6,), (7,)]


def test_what_is_truncated(tmp_path):
    """mV and MHz are whole, kHz too; a microvolt may be three: target, least, most."""
    tree = {
        "cpus": {"cpu@0": cpu(operating_points_v2=1, dynamic_power_coefficient=3)},
        "t": table(1, [1_999_999_999], [1]),
    }
    tree["t"]["opp00"]["opp-microvolt"] = [987_999, 900_000, 1_000_000]
    (domain,) = em.EnergyModel.load(saved(tree, tmp_path)).domains
    assert (domain.freq_khz.tolist(), domain.power.tolist()) == ([1_999_999], [3 * 987**2 * 1999 // 10**6])


def test_power_is_of_64_bits(tmp_path):
    """A coefficient and a voltage that no machine has make the kernel's product wrap."""
    most = 2**32 - 1
    tree = {
        "cpus": {"cpu@0": cpu(operating_points_v2=1, dynamic_power_coefficient=most)},
        "t": table(1, [3e9], [0]),
    }
    tree["t"]["opp00"]["opp-microvolt"] = most
    (domain,) = em.EnergyModel.load(saved(tree, tmp_path)).domains
    product = np.uint64(most)
    for factor in (most // 1000, most // 1000, 3000):
        product = np.multiply(product, np.uint64(factor), dtype=np.uint64)
    assert most * (most // 1000) ** 2 * 3000 > 2**64
    assert int(domain.power[0]) == int(product) // 10**6


def test_power_that_the_tree_states(tmp_path):
    """The lowest state decides whether it does; a value for each of several supplies adds up."""
    tree = hikey960()
    # In an order of its own, and neither voltage nor coefficient is asked for.
    tree["opp-table-big"] = {
        "phandle": 2,
        "opp-shared": b"",
        "high": {"opp-hz": hz(2e9), "opp-microwatt": [3_000_000, 500_000]},
        "low": {"opp-hz": hz(1e9), "opp-microwatt": 1_000_000},
    }
    for n in range(4):
        del tree["cpus"][f"cpu@10{n}"]["dynamic-power-coefficient"]
    model = em.EnergyModel.load(saved(tree, tmp_path))
    assert model["cpu4"].power.tolist() == [1_000_000, 3_500_000]
    little = model["cpu0"].power.tolist()
    assert little == em.EnergyModel.load("hikey960_hi3660")["little"].power.tolist()
    # With a voltage and a coefficient too it is still the stated one.
    for n, state in enumerate(("opp00", "opp01", "opp02", "opp03", "opp04")):
        tree["opp-table-little"][state]["opp-microwatt"] = 7 + n
    assert em.EnergyModel.load(saved(tree, tmp_path))["cpu0"].power.tolist() == [7, 8, 9, 10, 11]
    # Not that of the lowest, or 0 there: the kernel computes.
    for first in ({}, {"opp-microwatt": 0}):
        tree["opp-table-little"]["opp00"] = {"opp-hz": hz(533e6), "opp-microvolt": 700_000, **first}
        assert em.EnergyModel.load(saved(tree, tmp_path))["cpu0"].power.tolist() == little
    del tree["opp-table-big"]["high"]["opp-microwatt"]
    with pytest.raises(ValueError, match=r"/high: opp-microwatt is missing: /opp-table-big/low has it"):
        em.EnergyModel.load(saved(tree, tmp_path))


def test_states_out_of_use_are_left_out(tmp_path):
    tree = hikey960()
    tree["opp-table-big"]["opp04"]["status"] = "disabled"
    model = em.EnergyModel.load(saved(tree, tmp_path))
    assert model["cpu4"].freq_khz[-1] == 2112000
    # What was 1024 is so no longer relative to 2362 MHz.
    assert model["cpu0"].capacity == (592 * 1844000 << 10) // (1024 * 2112000)


def changed(tree, path, **properties):
    node = tree
    for name in path.strip("/").split("/"):
        node = node[name]
    for key, value in properties.items():
        key = key.replace("_", "-")
        if value is None:
            del node[key]
        else:
            node[key] = value
    return tree


@pytest.mark.parametrize(
    ("node", "properties", "says"),
    [
        ("cpus/cpu@002", {"operating_points_v2": None}, r"/cpus/cpu@002: has no operating points"),
        (
            "cpus/cpu@002",
            {"operating_points_v2": 9},
            r"/cpus/cpu@002 points to phandle 0x9, which is not there",
        ),
        (
            "cpus/cpu@002",
            {"operating_points_v2": b"\0\1"},
            r"operating-points-v2 is no list of 32-bit numbers",
        ),
        (
            "cpus/cpu@000",
            {"dynamic_power_coefficient": None},
            r"/cpus/cpu@000: dynamic-power-coefficient must be one number, not \[\]",
        ),
        (
            "cpus/cpu@002",
            {"dynamic_power_coefficient": 111},
            r"/cpus/cpu@002: dynamic-power-coefficient must be that of /cpus/cpu@000",
        ),
        (
            "cpus/cpu@002",
            {"capacity_dmips_mhz": 1},
            r"/cpus/cpu@002: capacity-dmips-mhz must be that of /cpus/cpu@000",
        ),
        (
            "cpus/cpu@002",
            {"capacity_dmips_mhz": None},
            r"/cpus/cpu@002: capacity-dmips-mhz must be one number, not \[\]",
        ),
        (
            "cpus/cpu@002",
            {"capacity_dmips_mhz": [1, 2]},
            r"/cpus/cpu@002: capacity-dmips-mhz must be one number, not \[1, 2\]",
        ),
        ("opp-table-big/opp03", {"opp_hz": None}, r"/opp-table-big/opp03: opp-hz is missing"),
        (
            "opp-table-big/opp03",
            {"opp_hz": 2112000},
            r"/opp-table-big/opp03: opp-hz is no list of 64-bit numbers",
        ),
        ("opp-table-big/opp03", {"opp_microvolt": None}, r"/opp-table-big/opp03: opp-microvolt is missing"),
        (
            "opp-table-big/opp03",
            {"opp_supported_hw": 3},
            r"/opp-table-big/opp03: has opp-supported-hw, and which chips",
        ),
        (
            "opp-table-big/opp03",
            {"opp_hz": hz(903e6)},
            r"/cpus/cpu@100: freq_khz\[1\] = 903000: must be above",
        ),
        ("opp-table-big/opp03", {"opp_microvolt": 900}, r"/cpus/cpu@100: power\[3\] = 0"),
    ],
)
def test_nodes_refused(tmp_path, node, properties, says):
    path = saved(changed(hikey960(), node, **properties), tmp_path)
    with pytest.raises(ValueError, match=says) as caught:
        em.EnergyModel.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_trees_refused(tmp_path):
    with pytest.raises(ValueError, match=r"soc\.dtb: there is no node /cpus"):
        em.EnergyModel.load(saved({"chosen": {}}, tmp_path))
    with pytest.raises(ValueError, match=r"soc\.dtb: /cpus has no node with device_type cpu"):
        em.EnergyModel.load(saved({"cpus": {}}, tmp_path))
    tree = changed(hikey960(), "cpus/cpu@000", operating_points_v2=None, operating_points=[1, 2, 3])
    with pytest.raises(
        ValueError, match=r"/cpus/cpu@000: operating-points must be pairs of kHz and uV, not 3"
    ):
        em.EnergyModel.load(saved(tree, tmp_path))
    empty = hikey960() | {"opp-table-big": {"phandle": 2, "opp-shared": b""}}
    with pytest.raises(ValueError, match=r"/opp-table-big: has no operating points"):
        em.EnergyModel.load(saved(empty, tmp_path))
    # One table of version 2 stands for those alone that point to it.
    one = {"cpus": {"cpu@0": cpu(operating_points_v2=1), "cpu@1": cpu()}, "t": table(1, [1e9], [900])}
    with pytest.raises(ValueError, match=r"/cpus/cpu@1: has no operating points"):
        em.EnergyModel.load(saved(one, tmp_path))
    # Two tables of version 1, and a CPU that may belong to either.
    apart = {
        "cpus": {
            f"cpu@{n}": cpu(dynamic_power_coefficient=1, **points)
            for n, points in enumerate(({"operating_points": [1, 2]}, {"operating_points": [3, 4]}, {}))
        }
    }
    with pytest.raises(ValueError, match=r"/cpus/cpu@2: has no operating points"):
        em.EnergyModel.load(saved(apart, tmp_path))
    idle = hikey960()
    for node in idle["cpus"].values():
        if isinstance(node, dict) and "capacity-dmips-mhz" in node:
            node["capacity-dmips-mhz"] = 0
    with pytest.raises(ValueError, match=r"/cpus/cpu@000: capacity-dmips-mhz is 0, as everywhere"):
        em.EnergyModel.load(saved(idle, tmp_path))
    many = {
        "cpus": {
            f"cpu@{n}": cpu(operating_points=[1000000, 900000], dynamic_power_coefficient=9)
            for n in range(65)
        }
    }
    with pytest.raises(ValueError, match=r"/cpus/cpu@0: cpus\[64\] = 64"):
        em.EnergyModel.load(saved(many, tmp_path))
    with pytest.raises(ValueError, match=r"^unit = 'mW': .*soc\.dtb states its power in uW"):
        em.EnergyModel.load(saved(hikey960(), tmp_path), unit="mW")


def test_damaged_trees_are_refused(tmp_path):
    whole = saved(hikey960(), tmp_path).read_bytes()
    file = tmp_path / "damaged.dtb"
    for length in range(0, len(whole), 41):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"damaged\.dtb: no device tree, or a damaged one"):
            em.EnergyModel.load(file)
    rng = np.random.default_rng(5)
    for _ in range(400):
        damaged = bytearray(whole)
        for position in rng.integers(4, len(whole), 4):
            damaged[position] = rng.integers(256)
        file.write_bytes(damaged)
        with contextlib.suppress(ValueError):
            assert em.EnergyModel.load(file).domains


def test_without_libfdt_the_extra_is_named(tmp_path, monkeypatch):
    file = saved(hikey960(), tmp_path)
    monkeypatch.setitem(sys.modules, "libfdt", None)
    with pytest.raises(ImportError, match=r"soc\.dtb: .*schedpy\[readers\]"):
        em.EnergyModel.load(file)
