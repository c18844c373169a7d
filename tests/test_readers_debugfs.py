# SPDX-License-Identifier: GPL-2.0-only
"""Energy models as debugfs shows them: folders and archives of every era, wrong, damaged and hostile ones."""

import gzip
import io
import os
import tarfile

import numpy as np
import pytest
from em_debugfs import ERAS, as_archive, as_folder, capacities, shown

from schedpy import em

PIXEL4 = em.EnergyModel.load("pixel4")
CAPACITY = {"cpu0": 261, "cpu4": 871, "cpu7": 1024}


def plain(model):
    """What a domain is but for its name and its unit."""
    return [(d.cpus, d.capacity, d.freq_khz.tolist(), d.power.tolist()) for d in model.domains]


def in_microwatt(model):
    return [(d.cpus, d.capacity, d.freq_khz.tolist(), (d.power * 1000).tolist()) for d in model.domains]


@pytest.mark.parametrize("kernel", ERAS)
@pytest.mark.parametrize("archive", ["folder", "w", "w:gz", "w:bz2", "w:xz"])
def test_every_era_comes_back_and_its_costs_are_this_kernels(tmp_path, kernel, archive):
    files = shown(PIXEL4, kernel) | capacities(PIXEL4)
    path = as_folder(files, tmp_path) if archive == "folder" else as_archive(files, tmp_path / "p4", archive)
    unit = ERAS[kernel][2]
    model = em.EnergyModel.load(path, unit=unit)
    assert plain(model) == (plain(PIXEL4) if unit == "mW" else in_microwatt(PIXEL4))
    assert {domain.unit for domain in model.domains} == {unit}
    prefix = "pd" if kernel == "5.4" else "cpu"
    assert [domain.name for domain in model.domains] == [f"{prefix}{n}" for n in (0, 4, 7)]
    assert not model.check(kernel="5.11" if kernel == "5.12" else kernel).of("recorded")
    assert model.recorded.keys() == {domain.name for domain in model.domains}
    assert ("inefficient" in model.recorded[f"{prefix}0"]) == (kernel in ("5.17", "6.1", "6.12"))


def test_a_cost_that_is_not_recomputed_is_reported(tmp_path):
    files = shown(PIXEL4, "6.1") | capacities(PIXEL4)
    files["energy_model/cpu4/ps:940800/cost"] = "7\n"
    files["energy_model/cpu0/ps:300000/inefficient"] = "0\n"
    model = em.EnergyModel.load(as_folder(files, tmp_path), unit="uW")
    found = model.check(kernel="6.1").of("recorded")
    cost = int(model["cpu4"].table(kernel="6.1")["cost"][2])
    assert [(f.domain, f.state, f.message) for f in found] == [
        ("cpu0", 0, "300000 kHz: inefficient is recorded as False, 6.1 computes True"),
        ("cpu4", 2, f"940800 kHz: cost is recorded as 7, 6.1 computes {cost}"),
    ]
    # Another kernel computes other costs nearly everywhere.
    assert len(model.check(kernel="6.12").of("recorded")) > 50


def test_what_was_recorded_is_no_part_of_the_model(tmp_path):
    files = shown(PIXEL4, "6.12")
    model = em.EnergyModel.load(as_folder(files, tmp_path))
    cost = model.recorded["cpu4"]["cost"]
    with pytest.raises(ValueError, match="read-only"):
        cost[0] = 1
    model.recorded["cpu4"].clear()
    model.recorded.clear()
    # Kernels before 6.9 have no performance that could differ.
    assert not any("performance" in found.message for found in model.check(kernel="6.1"))
    assert np.array_equal(model.recorded["cpu4"]["cost"], cost)
    model.save(tmp_path / "saved.toml")
    again = em.EnergyModel.load(tmp_path / "saved.toml")
    assert again == model
    assert again.recorded == {}
    assert PIXEL4.recorded == {}


# --- the unit


def test_the_unit_is_never_guessed(tmp_path):
    for kernel in ("5.4", "5.9"):
        path = as_folder(shown(PIXEL4, kernel) | capacities(PIXEL4), tmp_path / kernel)
        with pytest.raises(ValueError, match=rf"{kernel}: unit is missing .*or be given as unit="):
            em.EnergyModel.load(path)
    # Flags say that the unit is real; whether mW or uW, the cost decides, or a performance, or nothing.
    path = as_folder(shown(PIXEL4, "6.1") | capacities(PIXEL4), tmp_path / "6.1")
    with pytest.raises(ValueError, match=r"flags with bit 0 mean mW up to 5\.18, then uW"):
        em.EnergyModel.load(path)
    for kernel, unit in (("5.12", "mW"), ("5.17", "mW"), ("6.12", "uW")):
        path = as_folder(shown(PIXEL4, kernel) | capacities(PIXEL4), tmp_path / kernel)
        assert em.EnergyModel.load(path).domains[0].unit == unit
        other = "uW" if unit == "mW" else "mW"
        with pytest.raises(ValueError, match=rf"^unit = '{other}': .* states its power in {unit}"):
            em.EnergyModel.load(path, unit=other)


def test_power_without_unit(tmp_path):
    juno = em.EnergyModel.load("juno_r0")
    for kernel in ("5.12", "5.17", "6.1"):
        path = as_folder(shown(juno, kernel) | capacities(juno), tmp_path / kernel)
        model = em.EnergyModel.load(path)
        assert plain(model) == plain(juno)
        assert model.domains[0].unit == "bogo"


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("cpu0/units", "kiloWatts", r"cpu0/units: 'kiloWatts': must be milliWatts or bogoWatts"),
        ("cpu0/units", "bogoWatts", r"domains differ in their unit"),
        ("cpu0/flags", "yes", r"cpu0/flags: 'yes' is no number"),
    ],
)
def test_units_refused(tmp_path, file, text, says):
    files = shown(PIXEL4, "5.12" if "units" in file else "6.12") | {f"energy_model/{file}": text}
    with pytest.raises(ValueError, match=says):
        em.EnergyModel.load(as_folder(files, tmp_path))


def test_an_artificial_model_is_refused(tmp_path):
    files = shown(PIXEL4, "6.12") | {"energy_model/cpu4/flags": "0x7\n"}
    with pytest.raises(ValueError, match=r"energy_model/cpu4: is artificial"):
        em.EnergyModel.load(as_folder(files, tmp_path))


# --- the capacity


def test_the_capacity_is_asked_for_where_nothing_states_it(tmp_path):
    path = as_folder(shown(PIXEL4, "5.12"), tmp_path)
    with pytest.raises(
        ValueError,
        match=r"capacity is missing: must be given as capacity=\{'cpu0': \.\.\., 'cpu4': \.\.\., 'cpu7'",
    ):
        em.EnergyModel.load(path)
    assert plain(em.EnergyModel.load(path, capacity=CAPACITY)) == plain(PIXEL4)
    with pytest.raises(ValueError, match=r"must be given as capacity=\{'cpu7': \.\.\.\}"):
        em.EnergyModel.load(path, capacity={"cpu0": 261, "cpu4": 871})
    with pytest.raises(ValueError, match=r"^capacity\['little'\]: .* lacks those of cpu0, cpu4, cpu7"):
        em.EnergyModel.load(path, capacity=CAPACITY | {"little": 3})
    with pytest.raises(ValueError, match=r"^capacity\['cpu0'\] = 1025"):
        em.EnergyModel.load(path, capacity=CAPACITY | {"cpu0": 1025})
    with pytest.raises(TypeError, match=r"^capacity = 1024: must map"):
        em.EnergyModel.load(path, capacity=1024)


def test_a_capacity_that_is_stated_is_not_overruled(tmp_path):
    with pytest.raises(ValueError, match=r"^capacity\['little'\]: model pixel4 states all of them"):
        em.EnergyModel.load("pixel4", capacity={"little": 261})
    path = as_folder(shown(PIXEL4, "6.12"), tmp_path)
    with pytest.raises(ValueError, match=r"^capacity\['cpu0'\]: .* states all of them"):
        em.EnergyModel.load(path, capacity={"cpu0": 261})


def test_capacities_of_the_cpus(tmp_path):
    files = shown(PIXEL4, "5.12") | capacities(PIXEL4)
    wrong = files | {"cpu/cpu5/cpu_capacity": "870\n"}
    with pytest.raises(ValueError, match=r"cpu_capacity of CPU 5 is 870, of CPU 4 871: must be one"):
        em.EnergyModel.load(as_folder(wrong, tmp_path / "differ"))
    del files["cpu/cpu5/cpu_capacity"]
    with pytest.raises(ValueError, match=r"must be given as capacity=\{'cpu4': \.\.\.\}"):
        em.EnergyModel.load(as_folder(files, tmp_path / "lacks"))
    model = em.EnergyModel.load(tmp_path / "lacks", capacity={"cpu4": 871})
    assert plain(model) == plain(PIXEL4)


# --- what is recognised


def test_states_are_known_by_what_they_hold(tmp_path):
    files = {
        path.replace("ps:", "state-"): text for path, text in shown(PIXEL4, "5.12").items()
    } | capacities(PIXEL4)
    assert plain(em.EnergyModel.load(as_folder(files, tmp_path))) == plain(PIXEL4)


def test_other_devices_and_other_files_are_left_out(tmp_path):
    gpu = "energy_model/5000000.gpu"
    files = shown(PIXEL4, "6.12") | {
        f"{gpu}/flags": "0x1\n",
        f"{gpu}/ps:257000/frequency": "257000\n",
        f"{gpu}/ps:257000/power": "90\n",
        "energy_model/cpu0/id": "0\n",
        "energy_model/cpu0/notes/readme": "hello\n",
        "version": "Linux\n",
    }
    assert plain(em.EnergyModel.load(as_folder(files, tmp_path))) == in_microwatt(PIXEL4)
    assert plain(em.EnergyModel.load(tmp_path / "energy_model")) == in_microwatt(PIXEL4)
    archive = as_archive({f"./sys/kernel/debug/{path}": t for path, t in files.items()}, tmp_path / "x.tar")
    assert em.EnergyModel.load(archive).name == "x"


def test_what_tar_makes_of_sysfs(tmp_path):
    """A file that is shorter than a page, as the kernel said it was, is filled up with NUL."""
    files = shown(PIXEL4, "5.12") | capacities(PIXEL4)
    padded = {path: text.ljust(4096, "\0") for path, text in files.items()}
    assert plain(em.EnergyModel.load(as_archive(padded, tmp_path / "a.tar"))) == plain(PIXEL4)
    empty = files | {"energy_model/cpu4/ps:940800/power": ""}
    with pytest.raises(ValueError, match=r"ps:940800/power: is empty, as tar takes debugfs to be: .*cp -r"):
        em.EnergyModel.load(as_archive(empty, tmp_path / "b.tar"))


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("cpu4/cpus", "4-", r"cpu4/cpus: '4-' is no list of CPUs such as 0-3,6"),
        ("cpu4/cpus", "6-4", r"cpu4/cpus: '6-4' is no list"),
        ("cpu4/cpus", "4-60000000", r"cpu4/cpus: '4-60000000' is no list"),
        ("cpu4/cpus", "40000", r"cpu4/cpus: '40000' is no list"),
        ("cpu4/cpus", "4-99", r"cpu4: cpus\[60\] = 64"),
        ("cpu4/cpus", "3-5", r"CPU 3 of 'cpu4' is in 'cpu0'"),
        ("cpu4/ps:940800/power", None, r"cpu4/ps:940800: power is missing"),
        ("cpu4/ps:940800/frequency", None, r"cpu4/ps:940800: frequency is missing"),
        ("cpu4/ps:940800/cost", None, r"cpu4: some states have cost and some have not"),
        ("cpu4/ps:710400/cost", None, r"cpu4: some states have cost and some have not"),
        ("cpu4/ps:940800/power", "12.5", r"cpu4/ps:940800/power: '12\.5' is no number"),
        ("cpu4/ps:940800/power", "-3", r"power: '-3' is no number"),
        ("cpu4/ps:940800/power", "٣", r"power: '٣' is no number"),
        ("cpu4/ps:940800/power", "0", r"energy_model/cpu4: power\[2\] = 0"),
        ("cpu4/ps:940800/power", "9" * 20, r"energy_model/cpu4: power\[2\] = 9+: must be"),
        ("cpu4/ps:940800/cost", "9" * 20, r"energy_model/cpu4: cost\[2\] = 9+: must be"),
        ("cpu4/ps:940800/inefficient", "2", r"energy_model/cpu4: inefficient\[2\] = 2: must be 0 \.\. 1"),
        ("cpu4/ps:940800/frequency", "825600", r"energy_model/cpu4: freq_khz\[2\] = 825600: must be above"),
        ("cpu4/ps:940800/power", "1" * 5000, r"power: is longer than 4096 bytes"),
        ("cpu4/ps:2419200/performance", "1025", r"energy_model/cpu4: capacity = 1025"),
    ],
)
@pytest.mark.parametrize("archive", [False, True])
def test_files_refused(tmp_path, file, text, says, archive):
    files = shown(PIXEL4, "6.12")
    if text is None:
        del files[f"energy_model/{file}"]
    else:
        files[f"energy_model/{file}"] = text
    path = as_archive(files, tmp_path / "p4.tar") if archive else as_folder(files, tmp_path / "p4")
    with pytest.raises(ValueError, match=says) as caught:
        em.EnergyModel.load(path)
    assert str(caught.value).startswith(str(path))


def test_a_domain_without_cpus_is_another_devices(tmp_path):
    files = shown(PIXEL4, "6.12")
    del files["energy_model/cpu4/cpus"]
    model = em.EnergyModel.load(as_folder(files, tmp_path))
    assert [domain.name for domain in model.domains] == ["cpu0", "cpu7"]


def test_folders_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty: has no domain: must hold folders with cpus"):
        em.EnergyModel.load(tmp_path / "empty")
    no_states = as_folder({"energy_model/cpu0/cpus": "0-3\n"}, tmp_path / "states")
    with pytest.raises(ValueError, match=r"energy_model/cpu0: has no states: must hold folders with a freq"):
        em.EnergyModel.load(no_states)
    empty_state = as_folder(shown(PIXEL4, "6.12"), tmp_path / "hollow")
    (empty_state / "energy_model/cpu0/ps:1").mkdir()
    with pytest.raises(ValueError, match=r"energy_model/cpu0/ps:1: frequency is missing"):
        em.EnergyModel.load(empty_state)
    files = shown(PIXEL4, "6.12")
    two = {f"{phone}/{path}": text for phone in ("a", "b") for path, text in files.items()}
    with pytest.raises(
        ValueError, match=r"has several energy models: [ab]/energy_model and [ab]/energy_model"
    ):
        em.EnergyModel.load(as_folder(two, tmp_path / "two"))


def test_a_pipe_is_not_waited_for(tmp_path):
    path = as_folder(shown(PIXEL4, "6.12"), tmp_path)
    pipe = path / "energy_model/cpu0/ps:1/frequency"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    # Whoever reads it nevertheless finds something and does not wait for ever.
    filled = os.open(pipe, os.O_RDWR)
    os.write(filled, b"1" * 5000)
    with pytest.raises(ValueError, match=r"ps:1: frequency is missing"):
        em.EnergyModel.load(path)
    os.close(filled)


def test_a_folder_that_is_no_model_is_left_soon(tmp_path):
    deep = tmp_path / "/".join("abcdefghijkl")
    as_folder(shown(PIXEL4, "6.12"), deep)
    with pytest.raises(ValueError, match="has no domain"):
        em.EnergyModel.load(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="has no domain"):
        em.EnergyModel.load(tmp_path)


# --- archives


def archive_of(*members):
    """An archive of (TarInfo, content)."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def named(name, **fields):
    member = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(member, key, value)
    return member


@pytest.mark.parametrize("name", ["../../etc/cpus", "energy_model/../../cpus", "/etc/cpus"])
def test_members_that_point_out_are_refused(tmp_path, name):
    path = tmp_path / "evil.tar"
    path.write_bytes(archive_of((named(name), b"0-3\n")))
    with pytest.raises(
        ValueError, match=r"evil\.tar: no tar archive of an energy model: member '.*cpus' points out"
    ):
        em.EnergyModel.load(path)
    assert os.listdir(tmp_path) == ["evil.tar"]


def test_links_and_devices_are_not_followed(tmp_path):
    path = tmp_path / "links.tar"
    path.write_bytes(
        archive_of(
            (named("energy_model/cpu0/cpus", type=tarfile.SYMTYPE, linkname="/etc/hostname"), b""),
            (named("energy_model/cpu0/flags", type=tarfile.LNKTYPE, linkname="/etc/hostname"), b""),
            (named("energy_model/cpu1/cpus", type=tarfile.CHRTYPE, devmajor=1, devminor=5), b""),
        )
    )
    with pytest.raises(ValueError, match="has no domain"):
        em.EnergyModel.load(path)


def test_outsized_archives_are_refused_before_they_are_unpacked(tmp_path):
    bomb = tmp_path / "bomb.tar.gz"
    with gzip.open(bomb, "wb") as file:
        for _ in range(80):
            file.write(bytes(1 << 20))
    with pytest.raises(ValueError, match=r"bomb\.tar\.gz: no tar archive .*more than 64 MiB unpacked"):
        em.EnergyModel.load(bomb)
    huge = tmp_path / "huge.tar"
    with open(huge, "wb") as file:
        file.truncate((1 << 26) + 1)
    with pytest.raises(ValueError, match=r"huge\.tar: is larger than 64 MiB"):
        em.EnergyModel.load(huge)
    # A header that promises more than there is.
    member = named("energy_model/cpu0/cpus")
    member.size = 1 << 40
    liar = tmp_path / "liar.tar"
    liar.write_bytes(member.tobuf() + b"0-3\n".ljust(512, b"\0"))
    with pytest.raises(ValueError, match=r"liar\.tar: no tar archive"):
        em.EnergyModel.load(liar)
    large = shown(PIXEL4, "6.12") | {"energy_model/cpu0/cpus": "0-3\n" * 4096}
    with pytest.raises(ValueError, match=r"cpu0/cpus: is longer than 4096 bytes"):
        em.EnergyModel.load(as_archive(large, tmp_path / "large.tar"))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_archive_cut_off_anywhere_is_refused(tmp_path, mode):
    whole = as_archive(shown(PIXEL4, "6.12"), tmp_path / "whole", mode).read_bytes()
    path = tmp_path / "cut.tar"
    # What comes after the last member's content is padding.
    length = len(whole) if mode != "w" else whole.rindex(b"1024\n") + 512
    for end in [
        *range(600 if mode == "w" else 10, length, max(length // 60, 1) | 1),
        *range(512, length, 512 * 16),
    ]:
        path.write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"cut\.tar: (no tar archive of an energy model|has no domain)"):
            em.EnergyModel.load(path)
