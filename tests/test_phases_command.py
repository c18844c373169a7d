# SPDX-License-Identifier: GPL-2.0-only
"""``python -m schedpy phases``, and the words about the simulated staircase."""

import pandas as pd
import pytest

from schedpy import __main__ as command_line
from schedpy import em
from schedpy.lab import phases
from schedpy.lab.timing import Timing


def run(capsys, *arguments):
    status = command_line.main(["phases", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_any_platform_from_a_file(capsys, tmp_path):
    domains = [
        em.PerfDomain("small", [0, 1], [500_000, 1_000_000], [50, 200], unit="mW", capacity=400),
        em.PerfDomain("large", [2], [500_000, 2_000_000], [100, 900], unit="mW", capacity=1024),
    ]
    em.EnergyModel(domains, name="board").save(tmp_path / "board.toml")
    out = tmp_path / "new" / "out"
    arguments = ["--model", str(tmp_path / "board.toml"), "--kernel", "6.12", "--out", str(out)]
    arguments += ["--repetitions", "2", "--activations", "4", "--load", "1"]
    status, text, err = run(capsys, *arguments)
    assert (status, err) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == ["counts.csv", "counts.png", "wakeups.npz"]
    assert text.endswith(f"\n{out}\n")
    assert "kernel 6.12, 2 repetitions of 4 activations of 16 ms" in text
    simulated = phases.Simulation.load(out / "wakeups.npz")
    assert simulated.device.load_percent == 1
    written = pd.read_csv(out / "counts.csv", index_col=["phase", "cpu"])
    pd.testing.assert_frame_equal(written, simulated.counts(), check_dtype=False)
    first = (out / "counts.csv").read_bytes()
    assert run(capsys, *arguments)[0] == 0
    assert (out / "counts.csv").read_bytes() == first


def test_the_pixel_4_stands_beside_the_mail(capsys, tmp_path, monkeypatch):
    few = phases.mid_share(repetitions=2, activations=3)
    monkeypatch.setattr(phases, "mid_share", lambda *_, **__: few)
    status, text, _ = run(capsys, "--repetitions", "1", "--activations", "5", "--out", str(tmp_path))
    assert status == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "counts.csv", "counts.png", "margin.png", "share.csv", "share.png", "wakeups.npz",
    }  # fmt: skip
    line = next(line.split() for line in text.splitlines() if line.startswith("0"))
    assert line == ["0", "12.5", "%", "Little", "5", "100.0", "%", "5", "0", "3124", "3741"]
    assert "Mid's share of phase 4" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nokia"], "nokia"),
        (["--kernel", "5.14"], "5.14"),
        (["--hz", "0"], "hz"),
        (["--repetitions", "0"], "repetitions"),
        (["--load", "99"], "load_percent"),
    ],
)
def test_wrong_arguments_are_named_and_write_nothing(capsys, tmp_path, arguments, message):
    status, _, err = run(capsys, *arguments, "--out", str(tmp_path / "out"))
    assert status == 1
    assert err.startswith("schedpy phases: ")
    assert message in err
    assert not (tmp_path / "out").exists()


def test_the_help_has_an_example(capsys):
    with pytest.raises(SystemExit):
        command_line.main(["phases", "--help"])
    text = capsys.readouterr().out
    assert "python -m schedpy phases --model pixel4 --kernel 5.12 --cache cold --out" in text


def test_the_words_follow_the_figures():
    few = {"repetitions": 2, "activations": 5}
    simulated, later = (phases.simulate("pixel4", kernel=kernel, **few) for kernel in ("5.12", "6.1"))
    shares = phases.mid_share(**few)
    shares[["walk", "lut"]] = False
    text = phases.story(simulated, shares, later)
    assert "a utilisation of 679, not the duty cycle's 640. An idle Mid takes it up to 695." in text
    assert text.count("none of these") == 2
    assert "None of these devices gives both" in text
    shares.loc[("start", "Mid"), ["walk", "lut"]] = True
    text = phases.story(simulated, shares, later)
    assert "* 12.7 % (without the table) is what a device can give with: start Mid." in text
    assert "One device can give both: start Mid." in text


def test_beside_the_mail_stands_every_row():
    simulated = phases.simulate("pixel4", kernel="5.12", repetitions=1, activations=20)
    beside = phases.beside_the_mail(simulated)
    mail, counts = phases.published(), simulated.counts()
    assert beside.index.equals(mail.index)
    assert beside["walk_count"].tolist() == mail["table_walk_count"].tolist()
    assert beside.loc[(3, "Mid"), "simulated_count"] == counts.loc[(3, "Mid"), "waking"]
    assert beside.loc[4, "walk_percent"].sum() == pytest.approx(100)
    assert beside.loc[(4, "Big"), "simulated_count"] == 0


def test_placements_are_timed_where_caches_are_named(capsys, tmp_path):
    few = ["--repetitions", "2", "--activations", "4", "--out", str(tmp_path)]
    status, text, err = run(capsys, "--model", "tc2", "--cache", "cold", *few)
    assert (status, err) == (0, "")
    timing = Timing.load(tmp_path / "timing.npz")
    assert timing.caches == "cold"
    written = pd.read_csv(tmp_path / "gains.csv", index_col=["arm", "phase", "cpu"])
    assert written.index.get_level_values("arm").unique().tolist() == ["lut", "walk again", "held"]
    assert (tmp_path / "gains.png").stat().st_size > 1000
    assert len(text.partition("walk/arm")[2].splitlines()) > len(written)
    status, _, err = run(capsys, "--kernel", "6.1", "--cache", "cold", *few)
    assert status == 1
    assert "em.lut is not proven" in err
