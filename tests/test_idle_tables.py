# SPDX-License-Identifier: GPL-2.0-only
"""Idle tables: what is bundled, files written and read, device trees, and the kernel's own folders."""

import contextlib
import sys
from pathlib import Path

import numpy as np
import pytest
from device_trees import Tree, cpu

from schedpy import cpuidle
from schedpy.cpuidle import IdleTable

THIS_MACHINE = Path("/sys/devices/system/cpu/cpu0/cpuidle")


def table(**changed):
    columns = {"exit_latency_us": [0, 2, 30], "target_residency_us": [0, 2, 90], "polling": [1, 0, 0]}
    return IdleTable(
        ["POLL", "C1", 'say "deep"\x7f'], **{**columns, "name": "mine", "source": "here", **changed}
    )


@pytest.mark.parametrize("name", IdleTable.names())
def test_bundled_tables(name):
    loaded = IdleTable.load(name)
    assert loaded.name == name
    assert "Linux" in loaded.source
    assert loaded.first == int(loaded.polling[0])
    assert loaded.polling.sum() == loaded.first
    if not loaded.first and loaded.state[0] == "WFI":
        assert (loaded.exit_latency_us[0], loaded.target_residency_us[0]) == (1, 1)
    assert (np.diff(loaded.target_residency_us.astype(int)) >= 0).all()


def test_the_platforms_are_all_there():
    names = set(IdleTable.names())
    assert len(names) == 53
    assert sum(name.startswith("intel_") for name in names) == 29
    for soc, types in {"sm8550": ("little", "big", "prime"), "mt8183": ("little", "big")}.items():
        assert {f"{soc}_{kind}" for kind in types} <= names


def test_oddities_that_are_so():
    skl = IdleTable.load("intel_skl")
    assert skl.target_residency_us[[5, 6, 7, 8]].tolist() == [800, 800, 5000, 5000]
    deep = IdleTable.load("hikey960_big")
    assert deep.exit_latency_us[2] == 3700 > deep.target_residency_us[2] == 3500


def test_saved_and_loaded_is_equal(tmp_path):
    table().save(tmp_path / "t.toml")
    again = IdleTable.load(tmp_path / "t.toml")
    assert again == table()
    assert hash(again) == hash(table())
    assert (again.name, again.source, again.first) == ("t", "here", 1)
    assert IdleTable.load(str(tmp_path / "t.toml")) == table()


def test_what_makes_tables_differ():
    for changed in (
        {"exit_latency_us": [0, 2, 31]},
        {"target_residency_us": [0, 2, 91]},
        {"polling": False, "first": 1},
        {"first": 0},
    ):
        assert table(**changed) != table()
    assert table(name="other", source="there") == table()
    assert table() != "mine"


def test_first_is_the_state_after_one_that_polls():
    assert table().first == 1
    assert table(polling=False).first == 0
    assert IdleTable(["POLL"], exit_latency_us=[0], target_residency_us=[0], polling=True).first == 0


def test_columns_cannot_be_written_to():
    given = np.array([0, 2, 30], np.uint32)
    mine = table(exit_latency_us=given)
    given[0] = 9
    assert mine.exit_latency_us.tolist() == [0, 2, 30]
    for column in (mine.exit_latency_us, mine.target_residency_us, mine.polling):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_shown_as_text_and_html():
    text = repr(table()).splitlines()
    assert text[0] == "IdleTable mine: 3 states, first 1"
    assert text[2].split() == ["0", "POLL", "0", "0", "polls"]
    assert text[3].split() == ["1", "C1", "2", "2"]
    assert len(table()) == 3
    shown = table()._repr_html_()
    assert "<caption>IdleTable mine</caption>" in shown
    assert "say &quot;deep&quot;" in shown
    assert shown.count("<tr>") == 4


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        (
            {"exit_latency_us": [0, 1]},
            ValueError,
            r"exit_latency_us has shape \(2,\): must be one for each of 3",
        ),
        ({"exit_latency_us": [0, 1, 2**32]}, ValueError, r"exit_latency_us\[2\] = 4294967296"),
        ({"target_residency_us": 5}, ValueError, r"target_residency_us has shape \(\)"),
        ({"target_residency_us": [0, 1, -1]}, ValueError, r"target_residency_us\[2\] = -1"),
        ({"target_residency_us": [0, 1, 1.5]}, TypeError, "target_residency_us"),
        ({"polling": [True, False]}, ValueError, "polling"),
        ({"polling": [0, 0, 2]}, ValueError, r"polling\[2\] = 2"),
        ({"first": 2}, ValueError, "first = 2: must be 0 .. 1"),
        ({"first": -1}, ValueError, "first = -1"),
        ({"name": 3}, TypeError, "name = 3"),
        ({"source": None}, TypeError, "source = None"),
    ],
)
def test_refused(changed, error, says):
    with pytest.raises(error, match=says):
        table(**changed)


@pytest.mark.parametrize(
    ("state", "error", "says"),
    [
        ("WFI", TypeError, "state = 'WFI': must be a sequence"),
        ([], ValueError, "state has 0 names: must be 1 .. 10"),
        (list("abcdefghijk"), ValueError, "state has 11 names"),
        (["a", 3], TypeError, r"state\[1\] = 3"),
    ],
)
def test_names_refused(state, error, says):
    with pytest.raises(error, match=says):
        IdleTable(state, exit_latency_us=[0], target_residency_us=[0])


STATE = '[[state]]\nname = "a"\nexit_latency_us = 1\ntarget_residency_us = 1\npolling = false\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("=", "no TOML"),
        ("", "state must be at least one"),
        ("state = 3", "state must be at least one"),
        ("colour = 3\n" + STATE, "unknown key 'colour'"),
        (STATE.replace("polling = false\n", ""), "state 0: polling is missing"),
        (STATE + "power = 3\n", "state 0: unknown key 'power'"),
        (STATE.replace("exit_latency_us = 1", "exit_latency_us = -1"), r"exit_latency_us\[0\] = -1"),
        (STATE.replace("exit_latency_us = 1", "exit_latency_us = 1.5"), r"exit_latency_us\[0\] = 1.5"),
        (STATE.replace('"a"', "3"), r"state\[0\] = 3"),
        ("first = 1\n" + STATE, "first = 1"),
        ("source = 1\n" + STATE, "source = 1"),
        ("first = true\n" + STATE, "first = 1: there is no state 1"),
    ],
)
def test_files_refused(tmp_path, text, says):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises((ValueError, TypeError), match=says) as caught:
        IdleTable.load(file)
    assert str(file) in str(caught.value)


def test_loading_refused(tmp_path):
    with pytest.raises(ValueError, match="name_or_path = 'no such table': must be one of gs101_big"):
        IdleTable.load("no such table")
    with pytest.raises(FileNotFoundError):
        IdleTable.load(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="a folder without a state0"):
        IdleTable.load(tmp_path)
    with pytest.raises(TypeError, match="name_or_path = 3"):
        IdleTable.load(3)
    with pytest.raises(ValueError, match="cpu = 0: juno has one table"):
        IdleTable.load("juno", cpu=0)
    with pytest.raises(ValueError, match="cpu = -1"):
        IdleTable.load("juno", cpu=-1)
    table().save(tmp_path / "t.toml")
    with pytest.raises(ValueError, match=r"cpu = 1: .*t\.toml has one table"):
        IdleTable.load(tmp_path / "t.toml", cpu=1)


# --- a kernel's folder


def folder(path, states):
    for number, files in states.items():
        (path / f"state{number}").mkdir(parents=True)
        for name, text in files.items():
            (path / f"state{number}" / name).write_text(f"{text}\n")
    return path


SHOWN = {
    0: {"name": "POLL", "latency": 0, "residency": 0, "disable": 0},
    1: {"name": "C1", "latency": 2, "residency": 2, "disable": 1},
    2: {"name": "C6", "latency": 133, "residency": 600, "disable": 0},
}


def test_a_kernels_folder(tmp_path):
    (tmp_path / "driver").mkdir()
    shown = IdleTable.load(folder(tmp_path, SHOWN))
    assert shown.state == ("POLL", "C1", "C6")
    assert shown.exit_latency_us.tolist() == [0, 2, 133]
    assert shown.target_residency_us.tolist() == [0, 2, 600]
    assert (shown.polling.tolist(), shown.first) == ([True, False, False], 1)
    assert shown.source == str(tmp_path)


def test_a_kernels_folder_without_a_poll_state(tmp_path):
    states = {0: {**SHOWN[1], "name": "WFI"}, 1: SHOWN[2]}
    shown = IdleTable.load(str(folder(tmp_path, states)))
    assert (shown.polling.tolist(), shown.first) == ([False, False], 0)


def test_a_kernels_folder_that_is_not_whole(tmp_path):
    with pytest.raises(ValueError, match="state1 is missing: has state0, state2"):
        IdleTable.load(folder(tmp_path / "gap", {0: SHOWN[0], 2: SHOWN[2]}))
    with pytest.raises(ValueError, match=r"state0/latency: 'soon' is no number"):
        IdleTable.load(folder(tmp_path / "text", {0: {**SHOWN[0], "latency": "soon"}}))
    with pytest.raises(FileNotFoundError, match="residency"):
        IdleTable.load(folder(tmp_path / "old", {0: {"name": "POLL", "latency": 0}}))
    with pytest.raises(ValueError, match="state has 11 names"):
        IdleTable.load(folder(tmp_path / "many", dict.fromkeys(range(11), SHOWN[1])))


@pytest.mark.skipif(not (THIS_MACHINE / "state0").exists(), reason="the kernel here has no cpuidle driver")
def test_this_machine():
    here = IdleTable.load(THIS_MACHINE)
    assert len(here) == len(list(THIS_MACHINE.glob("state*")))
    assert here.state[0] == (THIS_MACHINE / "state0/name").read_text().strip()
    cpuidle.run(here, kernel="6.1", sleep_ns=[10**6] * 3, hz=250)


# --- device trees


def idle_state(phandle, residency, **times):
    return {
        "compatible": "arm,idle-state",
        "phandle": phandle,
        "min-residency-us": residency,
        **{f"{key.replace('_', '-')}-us": value for key, value in times.items()},
    }


def soc():
    """Two little CPUs by cpu-idle-states; two big ones by a power domain, whose cluster has a state too."""
    return {
        "cpus": {
            "#address-cells": 1,
            "#size-cells": 0,
            "cpu-map": {"cluster0": {}},
            "cpu@0": cpu(cpu_idle_states=[1, 2]),
            "cpu@1": cpu(cpu_idle_states=[1, 2]),
            "cpu@100": cpu(power_domains=[10]),
            "cpu@101": cpu(power_domains=[11], cpu_idle_states=[2]),
            "idle-states": {
                "entry-method": "psci",
                "sleep-0": idle_state(1, 2000, entry_latency=300, exit_latency=1200)
                | {"idle-state-name": "cpu-sleep-0"},
                "sleep-1": idle_state(2, 2700, entry_latency=1, exit_latency=2, wakeup_latency=1500),
                "big-0": idle_state(3, 4488, entry_latency=241, exit_latency=1461),
                "off": idle_state(4, 1, entry_latency=1, exit_latency=1) | {"status": "disabled"},
            },
        },
        "psci": {
            "power-domain-cpu2": {"phandle": 10, "domain-idle-states": [3, 4], "power-domains": [12]},
            "power-domain-cpu3": {"phandle": 11, "power-domains": [12]},
            "power-domain-cluster": {"phandle": 12, "domain-idle-states": [3]},
        },
    }


def rows(loaded):
    return list(
        zip(loaded.state, loaded.exit_latency_us.tolist(), loaded.target_residency_us.tolist(), strict=True)
    )


def test_a_device_tree(tmp_path):
    file = Tree(soc()).save(tmp_path / "soc.dtb")
    little = IdleTable.load(file)
    assert rows(little) == [("WFI", 1, 1), ("cpu-sleep-0", 1500, 2000), ("sleep-1", 1500, 2700)]
    assert (little.first, little.polling.any()) == (0, False)
    assert little.source == f"{file}, /cpus/cpu@0"
    assert IdleTable.load(str(file), cpu=1) == little
    assert rows(IdleTable.load(file, cpu=2)) == [("WFI", 1, 1), ("big-0", 1702, 4488)]
    assert rows(IdleTable.load(file, cpu=3)) == [("WFI", 1, 1), ("sleep-1", 1500, 2700)]


def test_a_device_tree_gives_the_bundled_tables(tmp_path):
    """The figures of gs101.dtsi: three types of CPU, a state for each."""
    states = {"ananke": (70, 160, 2000), "enyo": (150, 190, 2500), "hera": (235, 220, 3500)}
    tree = {
        "cpus": {
            **{f"cpu@{n}00": cpu(cpu_idle_states=[n + 1]) for n in range(3)},
            "idle-states": {
                name: idle_state(n + 1, residency, entry_latency=entry, exit_latency=leave)
                | {"idle-state-name": "c2"}
                for n, (name, (entry, leave, residency)) in enumerate(states.items())
            },
        }
    }
    file = Tree(tree).save(tmp_path / "gs101.dtb")
    for n, kind in enumerate(("little", "mid", "big")):
        assert IdleTable.load(file, cpu=n) == IdleTable.load(f"gs101_{kind}")


def without(tree, *path):
    *way, last = path
    for key in way:
        tree = tree[key]
    del tree[last]


def test_device_trees_refused(tmp_path):
    file = tmp_path / "wrong.dtb"

    def load(tree, cpu=0):
        return IdleTable.load(Tree(tree).save(file), cpu=cpu)

    with pytest.raises(ValueError, match=r"wrong\.dtb: there is no node /cpus"):
        load({"chosen": {}})
    for cpu_number in (4, 99):
        with pytest.raises(ValueError, match=rf"cpu = {cpu_number}: .*wrong\.dtb has CPUs 0 \.\. 3"):
            load(soc(), cpu=cpu_number)
    tree = soc()
    without(tree, "cpus", "idle-states", "sleep-0", "min-residency-us")
    with pytest.raises(ValueError, match="/cpus/idle-states/sleep-0: min-residency-us must be one number"):
        load(tree)
    tree = soc()
    without(tree, "cpus", "idle-states", "sleep-0", "entry-latency-us")
    with pytest.raises(ValueError, match="sleep-0: entry-latency-us must be one number"):
        load(tree)
    tree = soc()
    tree["cpus"]["idle-states"]["sleep-1"]["wakeup-latency-us"] = [1, 2]
    with pytest.raises(ValueError, match=r"sleep-1: wakeup-latency-us must be one number, not \[1, 2\]"):
        load(tree)
    tree = soc()
    tree["cpus"]["idle-states"]["sleep-1"]["compatible"] = "vendor,sleep"
    with pytest.raises(ValueError, match=r"sleep-1: must be compatible with arm,idle-state"):
        load(tree)
    tree = soc()
    tree["cpus"]["cpu@0"]["cpu-idle-states"] = [1, 77]
    with pytest.raises(ValueError, match="/cpus/cpu@0 points to phandle 0x4d, which is not there"):
        load(tree)
    tree["cpus"]["cpu@0"]["cpu-idle-states"] = b"\0\0\0\1\0"
    with pytest.raises(ValueError, match="cpu-idle-states is no list of 32-bit numbers"):
        load(tree)


def test_damaged_device_trees_are_refused(tmp_path):
    whole = Tree(soc()).save(tmp_path / "whole.dtb").read_bytes()
    file = tmp_path / "damaged.dtb"
    for length in range(4, len(whole), 97):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"damaged\.dtb: no device tree, or a damaged one"):
            IdleTable.load(file)
    rng = np.random.default_rng(4)
    for _ in range(300):
        bytes_ = bytearray(whole)
        for position in rng.integers(4, len(whole), 5):
            bytes_[position] = rng.integers(256)
        file.write_bytes(bytes_)
        with contextlib.suppress(ValueError):
            assert len(IdleTable.load(file)) <= 10


def test_without_libfdt_the_extra_is_named(tmp_path, monkeypatch):
    file = Tree(soc()).save(tmp_path / "soc.dtb")
    monkeypatch.setitem(sys.modules, "libfdt", None)
    with pytest.raises(ImportError, match=r"schedpy\[readers\]"):
        IdleTable.load(file)
