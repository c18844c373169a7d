# SPDX-License-Identifier: GPL-2.0-only
"""Energy models of the netlink family dev-energymodel, as ynl prints its answers in JSON."""

import copy
import json

import pytest

from schedpy import em

PIXEL4 = em.EnergyModel.load("pixel4")


def answers(model=PIXEL4, kernel="7.0"):
    """What get-perf-domains and get-perf-table answer on a machine with this model."""
    domains, tables = [], []
    for number, domain in enumerate(model.domains):
        flags = [] if domain.unit == "bogo" else ["perf-domain-microwatts"]
        domains.append(
            {
                "perf-domain-id": number,
                "flags": [*flags, "perf-domain-skip-inefficiencies"],
                "cpus": list(domain.cpus),
            }
        )
        states = [
            {
                "performance": int(state["performance"]),
                "frequency": int(state["freq_khz"]),
                "power": int(state["power"]),
                "cost": int(state["cost"]),
                "flags": ["perf-state-inefficient"] if state["inefficient"] else [],
            }
            for state in domain.table(kernel=kernel)
        ]
        tables.append({"perf-domain-id": number, "perf-state": states})
    return domains, tables


def saved(content, tmp_path):
    path = tmp_path / "em.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_both_answers_make_the_model(tmp_path):
    domains, tables = answers()
    merged = [domain | table for domain, table in zip(domains, tables, strict=True)]
    for content in (
        domains + tables,
        json.dumps(domains) + "\n" + json.dumps(tables) + "\n",
        "\ufeff" + json.dumps(tables) + json.dumps(domains),
        json.dumps(domains) + "".join(json.dumps(table, indent=4) for table in tables),
        merged,
    ):
        model = em.EnergyModel.load(saved(content, tmp_path))
        assert [domain.name for domain in model.domains] == ["cpu0", "cpu4", "cpu7"]
        for mine, theirs in zip(model.domains, PIXEL4.domains, strict=True):
            assert (mine.cpus, mine.capacity, mine.unit) == (theirs.cpus, theirs.capacity, "uW")
            assert mine.freq_khz.tolist() == theirs.freq_khz.tolist()
            assert mine.power.tolist() == (1000 * theirs.power).tolist()
        assert not model.check(kernel="7.0").of("recorded")


def test_flags_may_be_a_number(tmp_path):
    domains, tables = answers()
    by_name = em.EnergyModel.load(saved(domains + tables, tmp_path))
    for domain in domains:
        domain["flags"] = 3
    for state in (state for each in tables for state in each["perf-state"]):
        state["flags"] = int(bool(state["flags"]))
    by_number = em.EnergyModel.load(saved(domains + tables, tmp_path))
    assert by_number == by_name
    assert by_number.recorded["cpu0"]["inefficient"].tolist() == [True] * 5 + [False] * 13
    for name, columns in by_name.recorded.items():
        for column, values in columns.items():
            assert values.tolist() == by_number.recorded[name][column].tolist()


def test_a_bit_of_another_flag_is_no_unit(tmp_path):
    domains, tables = answers(em.EnergyModel.load("juno_r0"))
    for domain in domains:
        domain["flags"] = 2
    assert {d.unit for d in em.EnergyModel.load(saved(domains + tables, tmp_path)).domains} == {"bogo"}


def test_a_domain_is_called_by_its_lowest_cpu(tmp_path):
    domains, tables = answers()
    domains[1]["cpus"].reverse()
    model = em.EnergyModel.load(saved(domains + tables, tmp_path))
    assert [(d.name, d.cpus) for d in model.domains][1] == ("cpu4", (4, 5, 6))


def test_what_the_machine_computed_otherwise_is_reported(tmp_path):
    domains, tables = answers()
    tables[1]["perf-state"][0]["cost"] = 9
    tables[2]["perf-state"][1]["performance"] = 8
    found = em.EnergyModel.load(saved(domains + tables, tmp_path)).check(kernel="7.0").of("recorded")
    assert [(f.domain, f.state) for f in found] == [("cpu4", 0), ("cpu7", 1)]
    assert "cost is recorded as 9" in found[0].message
    assert "performance is recorded as 8" in found[1].message


def test_power_without_unit_and_other_devices(tmp_path):
    juno = em.EnergyModel.load("juno_r0")
    domains, tables = answers(juno)
    domains.append({"perf-domain-id": 7, "flags": ["perf-domain-microwatts"]})
    tables.append({"perf-domain-id": 7, "perf-state": [{"frequency": 1, "power": 1}]})
    model = em.EnergyModel.load(saved(domains + tables, tmp_path))
    assert [(d.cpus, d.unit) for d in model.domains] == [((0, 1, 2, 3), "bogo"), ((4, 5), "bogo")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"no domain has cpus: must hold dumps of get-perf-domains and get-perf-table"),
        ("[]", r"no domain has cpus"),
        ("[{'perf-domain-id': 0, 'flags': set()}]", r"line 1: no JSON: .*ynl prints JSON with --output-json"),
        ('[\n{"perf-domain-id": 0,\n', r"line 3: no JSON: "),
        ("3", r"3: must be an object with a number perf-domain-id"),
        ('[{"cpus": [0]}]', r"\{'cpus': \[0\]\}: must be an object with a number perf-domain-id"),
        ('[{"perf-domain-id": true}]', r"must be an object with a number perf-domain-id"),
        ("[" * 100_000, r"em\.json: no JSON: "),
        ('{"a":' * 100_000, r"em\.json: no JSON: "),
        ("1" * 5000, r"em\.json: no JSON: "),
        ("[NaN]", r"nan: must be an object"),
    ],
)
def test_files_refused(tmp_path, text, says):
    path = saved(text, tmp_path)
    with pytest.raises(ValueError, match=says) as caught:
        em.EnergyModel.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "em.json"
    path.write_bytes(b'["\xff\xfe"]')
    with pytest.raises(ValueError, match=r"em\.json: no JSON: 'utf-8' codec"):
        em.EnergyModel.load(path)


def set_domain(key, value):
    def change(domains, tables):
        domains[1][key] = value

    return change


def set_state(key, value):
    def change(domains, tables):
        tables[1]["perf-state"][2][key] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda domains, tables: tables.pop(1), r"perf-domain-id 1: perf-state must be a list, not None"),
        (lambda domains, tables: domains.pop(1), r"perf-domain-id 1: cpus must be a list, not None"),
        (
            lambda domains, tables: domains.append(domains[1] | {"cpus": [9]}),
            r"perf-domain-id 1: there are two answers for cpus",
        ),
        (set_domain("cpus", "4-6"), r"perf-domain-id 1: cpus must be a list, not '4-6'"),
        (set_domain("cpus", ["4"]), r"perf-domain-id 1: cpus holds '4': must be numbers"),
        (set_domain("cpus", [4.0]), r"perf-domain-id 1: cpus holds 4\.0"),
        (set_domain("cpus", [400]), r"perf-domain-id 1: cpus\[0\] = 400"),
        (set_domain("cpus", [3]), r"CPU 3 of 'cpu3' is in 'cpu0'"),
        (set_domain("flags", "perf-domain-microwatts"), r"perf-domain-id 1: flags must be a list of names"),
        (set_domain("flags", [1]), r"perf-domain-id 1: flags must be a list of names, not \[1\]"),
        (set_domain("flags", []), r"some domains are in uW and some in no unit"),
        (set_domain("flags", 5), r"perf-domain-id 1: is artificial"),
        (set_domain("flags", ["perf-domain-artificial"]), r"perf-domain-id 1: is artificial"),
        (set_state("power", None), r"perf-domain-id 1: perf-state 2: power must be a number, not None"),
        (set_state("power", 1.5), r"perf-state 2: power must be a number, not 1\.5"),
        (set_state("power", True), r"perf-state 2: power must be a number, not True"),
        (set_state("power", -1), r"perf-state 2: power must be a number, not -1"),
        (set_state("cost", 2**64), r"perf-state 2: cost must be a number, not 18446744073709551616"),
        (set_state("power", 0), r"perf-domain-id 1: power\[2\] = 0"),
        (set_state("frequency", 1), r"perf-domain-id 1: freq_khz\[2\] = 1: must be above"),
        (
            lambda domains, tables: tables[1]["perf-state"].__setitem__(2, 3),
            r"perf-state 2: must be an object, not 3",
        ),
        (
            lambda domains, tables: tables[1]["perf-state"][-1].update(performance=0),
            r"perf-domain-id 1: capacity = 0",
        ),
    ],
)
def test_attributes_refused(tmp_path, change, says):
    domains, tables = copy.deepcopy(answers())
    change(domains, tables)
    path = saved(domains + tables, tmp_path)
    with pytest.raises(ValueError, match=says) as caught:
        em.EnergyModel.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    text = json.dumps(answers()[0] + answers()[1])
    for end in range(1, len(text), 97):
        with pytest.raises(ValueError, match=r"em\.json: line 1: no JSON"):
            em.EnergyModel.load(saved(text[:end], tmp_path))
