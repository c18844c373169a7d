# SPDX-License-Identifier: GPL-2.0-only
"""Energy models of LISA's plat_info.yml: Python object tags are read past, and nothing in it can run."""

import contextlib
import sys
from pathlib import Path

import pytest

from schedpy import em

TRACES = Path(__file__).parents[2] / "shared" / "traces"
JUNO = em.EnergyModel.load("juno_r0")


def active_states(domain):
    """An !!omap of kHz to LISA's ActiveState, as PyYAML writes a namedtuple."""
    for khz, power in zip(domain.freq_khz.tolist(), domain.power.tolist(), strict=True):
        yield f"                -   {khz}: !!python/object/new:lisa.energy_model.ActiveState"
        yield f"                    - {domain.capacity * khz / int(domain.freq_khz[-1])}"
        yield f"                    - {power}"


def plat_info(model=JUNO, capacities="orig", domains="conf"):
    """The file as LISA writes it, with nodes that refer to each other in circles."""
    lines = ["platform-info:", "    conf:", "        abi: arm64"]
    if capacities:
        lines.append("        cpu-capacities:")
        lines += ["            orig:"] if capacities == "orig" else []
        lines += [
            f"                {cpu}: {domain.capacity}" for domain in model.domains for cpu in domain.cpus
        ]
        lines += ["            writeable: true"] if capacities == "orig" else []
    groups = [f"[{', '.join(map(str, domain.cpus))}]" for domain in reversed(model.domains)]
    lines.append("        freqs:")
    for domain in model.domains:
        # What cpufreq can set, a boost without power too; a list may be shared.
        listed = [*domain.freq_khz.tolist()[::-1], 9_000_000]
        lines.append(f"            {domain.cpus[0]}: &freqs{domain.cpus[0]} {listed}")
        lines += [f"            {cpu}: *freqs{domain.cpus[0]}" for cpu in domain.cpus[1:-1]]
    if domains == "conf":
        lines += ["        freq-domains:", *(f"        - {group}" for group in groups)]
    lines += [
        "        kernel:",
        "            version: !!python/object:devlib.target.KernelVersion",
        "                parts: !!python/tuple [4, 19, 0]",
        "                rc: null",
        "        name: juno",
        "        nrg-model: !!python/object:lisa.energy_model.EnergyModel",
        "            cpu_nodes:",
    ]
    for domain in model.domains:
        for cpu in domain.cpus:
            lines += [
                f"            - &node{cpu} !!python/object:lisa.energy_model.EnergyModelNode",
                "                active_states: !!omap",
                *active_states(domain),
                f"                cpu: {cpu}",
                f"                name: cpu{cpu}",
                f"                parent: {'&root' if cpu == 0 else '*root'}"
                + (" !!python/object:lisa.energy_model.EnergyModelRoot" if cpu == 0 else ""),
                *(["                    children: [*node0]", "                    cpus: null"] * (cpu == 0)),
            ]
    if domains == "model":
        lines += ["            freq_domains:", *(f"            - {group}" for group in groups)]
    lines += ["            root: *root", "        rtapp:", "            calib:", "                0: 660"]
    return "\n".join(lines) + "\n"


def saved(text, tmp_path):
    path = tmp_path / "plat_info.yml"
    path.write_text(text)
    return path


def figures(model):
    return [(d.cpus, d.capacity, d.freq_khz.tolist(), d.power.tolist(), d.unit) for d in model.domains]


@pytest.mark.parametrize("capacities", ["orig", "direct"])
@pytest.mark.parametrize("domains", ["conf", "model"])
def test_a_platform_comes_back(tmp_path, capacities, domains):
    path = saved(plat_info(capacities=capacities, domains=domains), tmp_path)
    model = em.EnergyModel.load(path, unit="bogo")
    assert figures(model) == figures(JUNO)
    assert [domain.name for domain in model.domains] == ["cpu0", "cpu4"]
    assert model.source == str(path)


def test_the_outer_keys_may_be_missing_and_the_suffix_be_yaml(tmp_path):
    inner = "\n".join(line[8:] for line in plat_info().splitlines()[2:])
    path = tmp_path / "platform.yaml"
    path.write_text(inner)
    assert figures(em.EnergyModel.load(path, unit="bogo")) == figures(JUNO)


def test_unit_and_capacity_are_never_guessed(tmp_path):
    with pytest.raises(
        ValueError, match=r"plat_info\.yml: unit is missing: must be one of mW, uW, bogo, or be"
    ):
        em.EnergyModel.load(saved(plat_info(), tmp_path))
    path = saved(plat_info(capacities=None), tmp_path)
    with pytest.raises(
        ValueError, match=r"capacity is missing: must be given as capacity=\{'cpu0': \.\.\., 'cpu4'"
    ):
        em.EnergyModel.load(path, unit="bogo")
    model = em.EnergyModel.load(path, unit="bogo", capacity={"cpu0": 447, "cpu4": 1024})
    assert figures(model) == figures(JUNO)


def test_a_capacity_of_some_cpus_is_none_of_the_domain(tmp_path):
    path = saved(plat_info().replace("                5: 1024\n", ""), tmp_path)
    with pytest.raises(
        ValueError, match=r"capacity is missing: must be given as capacity=\{'cpu4': \.\.\.\}"
    ):
        em.EnergyModel.load(path, unit="bogo")
    assert figures(em.EnergyModel.load(path, unit="bogo", capacity={"cpu4": 1024})) == figures(JUNO)


def test_states_may_come_in_any_order(tmp_path):
    text = plat_info()
    for domain in JUNO.domains:
        rising = list(active_states(domain))
        falling = [line for at in range(len(rising) - 3, -1, -3) for line in rising[at : at + 3]]
        assert "\n".join(rising) in text
        text = text.replace("\n".join(rising), "\n".join(falling))
    assert text != plat_info()
    assert figures(em.EnergyModel.load(saved(text, tmp_path), unit="bogo")) == figures(JUNO)


LINE = {line.strip(): n for n, line in reversed(list(enumerate(plat_info().splitlines(), 1)))}


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ("nrg-model: ", "nrg: ", "abi: arm64", "conf of platform-info has no nrg-model"),
        ("cpu_nodes:", "nodes:", None, r"nrg-model of conf has no cpu_nodes"),
        ("0: 447", "0: 446.5", "0: 447", r"0 of orig must be a whole number, not '446\.5'"),
        ("0: 447", "0: [447]", "0: 447", r"0 of orig must be a whole number$"),
        ("0: 447", "0: 446", None, r"freq-domains of conf has CPUs of capacities 446, 447 in one domain"),
        ("0: 447", "1: 447", "1: 447", r"orig of cpu-capacities must have keys that are scalars and differ"),
        ("0: 447", "zero: 447", None, r"cpu-capacities of conf has 'zero': must be the number of a CPU"),
        ("0: 447", "[0]: 447", "0: 447", r"orig of cpu-capacities must have keys that are scalars"),
        ("- [4, 5]", "- []", "- [4, 5]", r"freq-domains of conf holds an empty domain"),
        ("- [4, 5]", "- 4", "- [4, 5]", r"freq-domains of conf must be a list"),
        ("- [4, 5]", "- [4, x]", "- [4, 5]", r"freq-domains of conf must be a whole number, not 'x'"),
        (
            "- [4, 5]",
            "- [4, 5, 6]",
            "- [4, 5]",
            r"freq-domains of conf has CPU 6, which has no node in nrg-model",
        ),
        ("- [4, 5]", "- [4, 5, 4]", "- [4, 5]", r"freq-domains of conf has CPU 4 twice"),
        ("- [4, 5]", "- [0, 4, 5]", None, r"freq-domains of conf has CPU 0 twice"),
        ("- 33\n", "- 34\n", None, r"are not those of CPU 0, whose frequency CPU 1 shares"),
        ("- 33\n", "- watt\n", "- 33", r"450000 of active_states must be a whole number, not 'watt'"),
        ("- 33\n", "- -33\n", "- 33", r"450000 of active_states must be a whole number, not '-33'"),
        (
            "- 33\n",
            "- 33\n                    - 34\n",
            None,
            r"450000 of active_states must be a capacity and a power",
        ),
        ("450000: ", "slow: ", None, r"active_states of cpu_nodes has 'slow': must be a frequency in kHz"),
        (
            "450000: ",
            "575000: ",
            None,
            r"active_states of cpu_nodes must have keys that are scalars and differ",
        ),
        (
            "450000, 9000000]",
            "9000000]",
            "0: &freqs0 [850000, 775000, 700000, 575000, 450000, 9000000]",
            r"0 of freqs lacks 450000 kHz, at which nrg-model has a state of CPU 0$",
        ),
        ("1: *freqs0", "1: [1]", "1: *freqs0", r"1 of freqs lacks 450000 kHz, .* a state of CPU 1$"),
        ("1: *freqs0", "1: 850000", "1: *freqs0", r"1 of freqs must be a list"),
        ("1: *freqs0", "1: [fast]", "1: *freqs0", r"1 of freqs must be a whole number, not 'fast'"),
        ("1: *freqs0", "one: *freqs0", None, r"freqs of conf has 'one': must be the number of a CPU"),
        ("!!omap\n", "!!omap 3 #\n", None, r"no YAML: "),
        ("abi: arm64", "abi: [arm64", None, r"line \d+: no YAML: "),
        ("abi: arm64", "abi: *nothing", "abi: arm64", r"no YAML: found undefined alias"),
        ("abi: arm64", 'abi: "\\UFFFFFFFF"', None, r"no YAML: "),
        ("abi: arm64", "abi: \x01", None, r"no YAML: "),
        ("abi: arm64", "\tabi: arm64", "abi: arm64", r"no YAML: found character '\\t'"),
    ],
)
def test_files_refused(tmp_path, old, new, at, says):
    text = plat_info()
    assert old in text
    path = saved(text.replace(old, new, 1), tmp_path)
    line = rf"line {LINE[at]}: " if at else ""
    with pytest.raises(ValueError, match=line + ".*" * (not at) + says) as caught:
        em.EnergyModel.load(path, unit="bogo")
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("text", ["", "3", "[]", "- 1\n- 2\n", "a: b", "platform-info: null", "---\n---\n"])
def test_other_yaml_is_refused(tmp_path, text):
    path = saved(text, tmp_path)
    with pytest.raises(ValueError, match=r"^.*plat_info\.yml: ") as caught:
        em.EnergyModel.load(path, unit="bogo")
    assert str(caught.value).startswith(f"{path}: ")


# --- hostile files


@pytest.mark.parametrize(
    "node",
    [
        "!!python/object/apply:os.system ['touch PROOF']",
        "!!python/object/new:subprocess.Popen [[touch, PROOF]]",
        '!!python/object/apply:builtins.exec [\'open("PROOF", "w")\']',
        "!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path [PROOF]]",
        "!!python/module:antigravity ''",
        "!!python/name:os.system ''",
        "!call:os.system {command: touch PROOF}",
        "!include PROOF",
    ],
)
@pytest.mark.parametrize("place", ["abi: arm64", "- 33\n", "450000: ", "- [4, 5]"])
def test_nothing_in_the_file_runs(tmp_path, monkeypatch, node, place):
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    text = plat_info().replace(
        place, {"abi: arm64": f"abi: {node}", "- 33\n": f"- {node}\n"}.get(place, place), 1
    )
    if place == "450000: ":
        text = text.replace(
            "450000: !!python/object/new:lisa.energy_model.ActiveState", f"450000: {node} #", 1
        )
    elif place == "- [4, 5]":
        text = text.replace(place, f"- {node}", 1)
    assert node in text
    with contextlib.suppress(ValueError):
        model = em.EnergyModel.load(saved(text, tmp_path), unit="bogo")
        assert place == "abi: arm64"
        assert figures(model) == figures(JUNO)
    assert [path.name for path in tmp_path.iterdir()] == ["plat_info.yml"]
    assert "antigravity" not in set(sys.modules) - before


def test_deep_nesting_and_aliases_that_multiply_are_no_danger(tmp_path):
    for deep in ("[" * 50_000, "{a: " * 50_000, "- " * 50_000):
        with pytest.raises(ValueError, match=r"plat_info\.yml: .*no YAML"):
            em.EnergyModel.load(saved(f"abi: {deep}" if deep[0] != "-" else deep, tmp_path), unit="bogo")
    laughs = "".join(
        f"x{n}: &x{n} {{<<: [{', '.join([f'*x{n - 1}'] * 9)}]}}\n" if n else "x0: &x0 {a: b}\n"
        for n in range(30)
    )
    with pytest.raises(ValueError, match="has no nrg-model"):
        em.EnergyModel.load(saved(laughs, tmp_path), unit="bogo")
    lists = "".join(
        f"y{n}: &y{n} [{', '.join([f'*y{n - 1}'] * 9)}]\n" if n else "y0: &y0 [1]\n" for n in range(30)
    )
    inner = "\n".join(line[8:] for line in plat_info().splitlines()[2:])
    assert figures(em.EnergyModel.load(saved(lists + inner, tmp_path), unit="bogo")) == figures(JUNO)
    with pytest.raises(ValueError, match="must be a whole number"):
        em.EnergyModel.load(saved(lists + inner.replace("- [4, 5]", "- *y29"), tmp_path), unit="bogo")
    circle = "freq-domains: &c [*c]\n" + inner.replace("freq-domains:", "other:", 1)
    with pytest.raises(ValueError, match=r"line 1: freq-domains of the file must be a whole number"):
        em.EnergyModel.load(saved(circle, tmp_path), unit="bogo")
    itself = "platform-info: &p {platform-info: *p, conf: *p, nrg-model: *p, cpu_nodes: [*p]}\n"
    with pytest.raises(ValueError, match=r"line 1: cpu_nodes of nrg-model has no active_states$"):
        em.EnergyModel.load(saved(itself, tmp_path), unit="bogo")


def test_without_pyyaml_the_extra_is_named(tmp_path, monkeypatch):
    path = saved(plat_info(), tmp_path)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match=r"plat_info\.yml: .*schedpy\[readers\]"):
        em.EnergyModel.load(path)


@pytest.mark.skipif(not TRACES.is_dir(), reason="the traces of real devices are not part of the project")
def test_a_file_that_lisa_wrote():
    model = em.EnergyModel.load(TRACES / "lisa_sched_load/plat_info.yml", unit="bogo")
    assert [(d.name, d.cpus, d.capacity) for d in model.domains] == [
        ("cpu0", (0, 3, 4, 5), 446),
        ("cpu1", (1, 2), 1024),
    ]
    assert model["cpu0"].power.tolist() == [42, 58, 79, 97, 119]
    assert model["cpu1"].freq_khz.tolist() == [450000, 625000, 800000, 950000, 1100000]
