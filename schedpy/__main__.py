# SPDX-License-Identifier: GPL-2.0-only
"""The command line: ``python -m schedpy COMMAND``, one function for each command."""

import argparse
import io
import shutil
import sys


def _width():
    """The columns of the terminal; None where there is none: what is piped is not clipped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def reproduce(commands):
    """Run the published measurements' notebooks and write the report."""
    parser = commands.add_parser(
        "reproduce",
        help="run the published measurements' notebooks and write the report",
        description="Run the notebooks of the published measurements, write their report (index.html,\n"
        "one page per notebook, pictures, tables), and print one line per published figure.",
        epilog="example:\n  python -m schedpy reproduce --out /var/tmp/report",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", metavar="DIR", default="build/report", help="the report's folder (default: %(default)s)"
    )
    parser.add_argument(
        "--write-notebooks", action="store_true", help="also write the executed .ipynb beside each source"
    )
    parser.add_argument(
        "notebooks",
        nargs="*",
        metavar="NOTEBOOK.py",
        help="run these (default: the four of the source tree)",
    )

    def run(arguments):
        from schedpy.lab import report

        result = report.build(
            arguments.out,
            notebooks=arguments.notebooks or None,
            write_notebooks=arguments.write_notebooks,
            progress=True,
        )
        print(report.table(result.verdicts, _width()))
        print(f"\n{result.folder / 'index.html'}")

    parser.set_defaults(run=run)


def live(commands):
    """Hold PELT's rule and the arithmetic of clocks against the running kernel."""
    parser = commands.add_parser(
        "live",
        help="hold PELT's rule and the arithmetic of clocks against the running kernel",
        description="Watch a task's PELT state in /proc/PID/sched, hold this kernel's rule against each\n"
        "step from one state to the next, and find which PELT the kernel runs. Without --pid: a\n"
        "task that spins, one that wakes up every 10 ms, and one that spins at nice 5; and last what\n"
        "the kernel prints of its clocks: clocksources and sched_clock in the boot log, clock event\n"
        "devices in /proc/timer_list, nanoseconds in /proc/PID/sched.",
        epilog="examples:\n  python -m schedpy live --seconds 5\n  python -m schedpy live --clocks\n"
        "  python -m schedpy live --boot-log dmesg.txt --timer-list timer_list.txt",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pid", type=int, metavar="N", help="watch this task (from another CPU)")
    parser.add_argument(
        "--seconds", type=float, metavar="S", default=10, help="time for each task (default: %(default)s)"
    )
    parser.add_argument("--clocks", action="store_true", help="the clocks alone")
    parser.add_argument(
        "--boot-log", metavar="FILE", help="the clocks alone, of this boot log of another machine"
    )
    parser.add_argument("--timer-list", metavar="FILE", help="the same, of this copy of /proc/timer_list")
    parser.add_argument("--hz", type=int, metavar="N", help="its tick rate (default: counted, if it is here)")

    def run(arguments):
        from schedpy import live

        given = {"boot_log": arguments.boot_log, "timer_list": arguments.timer_list, "hz": arguments.hz}
        if arguments.clocks or arguments.boot_log or arguments.timer_list:
            print(live.clocks(**given))
            return
        recordings = []
        for workload in live.WORKLOADS if arguments.pid is None else (None,):
            if workload is None:
                recording = live.watch(arguments.pid, arguments.seconds)
            else:
                recording = live.watch_workload(workload, arguments.seconds)
            recordings.append(recording)
            try:
                print(f"{live.verify(recording)}\n", flush=True)
            except ValueError as error:
                print(f"{recording}\n  not verified: {error}\n", flush=True)
        print(live.identify(*recordings))
        if arguments.pid is None:
            print(f"\n{live.clocks(**given)}")

    parser.set_defaults(run=run)


def phases(commands):
    """Run the staircase of the 2021 mails on a simulated device."""
    parser = commands.add_parser(
        "phases",
        help="run the staircase of the 2021 mails on a simulated device",
        description="A task whose duty cycle climbs from 12.5 to 75 %% wakes up on a simulated device: on\n"
        "which CPU, where it is placed, and by which margin. Prints the counts per phase, as the\n"
        "mail's table has them, and writes them (counts.csv), every wake-up with what its\n"
        "placement read (wakeups.npz, for lab.phases.Simulation.load) and pictures into DIR;\n"
        "where the platform has the domains little, mid and prime and the kernel a margin, also\n"
        "what moves phase 4 (share.csv). With --cache the same placements are timed on this machine,\n"
        "by the walk and by tables, as 5.12 makes them: every sample (timing.npz, for\n"
        "lab.timing.Timing.load) and how many times as fast each way is (gains.csv).",
        epilog="examples:\n"
        "  python -m schedpy phases --model pixel4 --kernel 5.12 --cache cold --out /var/tmp/phases\n"
        "  python -m schedpy phases --model board.toml --kernel 6.12 --load 2 --out /var/tmp/board",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--model", default="pixel4", metavar="NAME", help="bundled platform or file (default: %(default)s)"
    )
    parser.add_argument("--unit", metavar="UNIT", help="unit of a file's power, if it does not say")
    parser.add_argument("--kernel", default="5.12", metavar="X.Y", help="default: %(default)s")
    parser.add_argument("--hz", type=int, default=250, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--period-ms", type=int, default=16, metavar="N", help="the task's period (default: %(default)s)"
    )
    parser.add_argument(
        "--repetitions", type=int, default=25, metavar="N", help="of the staircase (default: %(default)s)"
    )
    parser.add_argument(
        "--activations", type=int, default=125, metavar="N", help="in each phase (default: %(default)s)"
    )
    parser.add_argument(
        "--load", type=float, default=0, metavar="PERCENT", help="other tasks on each CPU (default: none)"
    )
    parser.add_argument(
        "--cache",
        choices=("warm", "cold", "shared"),
        help="time the placements with such caches (5.12 alone)",
    )
    parser.add_argument("--seed", type=int, default=2021, metavar="N", help="default: %(default)s")
    parser.add_argument("--out", metavar="DIR", required=True, help="the folder of the results")
    parser.set_defaults(run=_run_phases)


def _run_phases(arguments):
    from schedpy import em
    from schedpy.kernel import form
    from schedpy.lab import phases, phases_files
    from schedpy.plot import phases_device as plot
    from schedpy.plot import phases_why as plot_why

    if arguments.cache is not None:
        form("em.lut", arguments.kernel)
    model = em.EnergyModel.load(arguments.model, unit=arguments.unit)
    how = {"kernel": arguments.kernel, "hz": arguments.hz, "seed": arguments.seed, "progress": True}
    how |= {"repetitions": arguments.repetitions, "activations": arguments.activations}
    simulated = phases.simulate(
        model, period_ns=arguments.period_ms * 1_000_000, load_percent=arguments.load, **how
    )
    of_the_mail = phases.is_of_the_mail(simulated)
    out = phases_files.Folder(arguments.out)
    counts = simulated.counts()
    out.table("counts", counts)
    out.whole("wakeups.npz", simulated.save)
    out.picture("counts", plot.counts(counts, mail=phases.published() if of_the_mail else None))
    print(phases_files.counts_text(simulated, phases.published() if of_the_mail else None))
    if of_the_mail:
        shares = phases.mid_share(model, **how)
        decisions = phases.decisions(model, kernel=arguments.kernel)
        out.table("share", shares)
        out.picture("share", plot.share(shares, mail=phases.published_shares()))
        out.picture("margin", plot.margin(decisions, settled=phases.settled_util()))
        print(f"\n{phases_files.share_text(shares)}")
    if arguments.cache is not None:
        timing = phases.measure(inputs=simulated, caches=arguments.cache, repetitions=5, progress=True)
        gains = phases.gains(timing)
        out.whole("timing.npz", timing.save)
        out.table("gains", gains)
        out.picture("gains", plot_why.ratios({arguments.cache: gains}))
        print(f"\n{phases_files.gains_text(timing, gains)}")
    print(f"\n{out.path}")


def sweep(commands):
    """Run the sweep that a file describes."""
    parser = commands.add_parser(
        "sweep",
        help="run the sweep that a TOML file describes",
        description="Call a function for every combination of the points in FILE.toml and keep what it\n"
        "returns as Parquet files. The same command goes on where an earlier one ended.\n\n"
        '  function = "schedpy.lab.phases:placements"     # module:name\n'
        '  out = "build/sweeps/placements"                # the folder\n'
        "  [points]                                       # every combination\n"
        '  kernel = ["5.12", "6.1"]',
        epilog="example:\n  python -m schedpy sweep benchmarks/sweeps/placements.toml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE.toml", help="what to run; examples are in benchmarks/sweeps")
    parser.add_argument("--out", metavar="DIR", help="another folder than the file's")
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument("--executor", choices=("threads", "processes"), help="another than the file's")
    engine.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a dask cluster, tcp://HOST:PORT")
    parser.add_argument("--retry-failed", action="store_true", help="compute parts with failed points again")

    def run(arguments):
        from schedpy import sweep

        overrides = {
            name: value for name in ("out", "executor") if (value := getattr(arguments, name)) is not None
        }
        overrides["retry_failed"] = arguments.retry_failed
        if arguments.dask is None:
            result = sweep.run_described(arguments.file, **overrides)
        else:
            try:
                from distributed import Client
            except ImportError as error:
                raise ImportError(f"--dask needs {error.name}: pip install 'schedpy[cluster]'") from error
            with Client(arguments.dask) as client:
                executor = client.get_executor(pure=False)
                result = sweep.run_described(arguments.file, executor=executor, **overrides)
        print(f"{result.folder}: {result.summary()}")

    parser.set_defaults(run=run)


def clock(commands):
    """Print what reading each clock costs here, in the layout of the mail of 2016."""
    parser = commands.add_parser(
        "clock",
        help="what reading each clock of this machine costs, alone and in a race",
        description="The table of the mail of April 2016 for this machine: what a read of each clock costs,\n"
        "which of them enter the kernel, how single calls are spread, and what becomes of it when\n"
        "all CPUs read at once. Where all rounds would take longer than --seconds there are fewer.\n"
        "Needs the extra lab.",
        epilog="example:\n  python -m schedpy clock --cpus 0 1 --out build/clock",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, metavar="N", default=100, help="(default: %(default)s)")
    parser.add_argument(
        "--calls", type=int, metavar="N", default=10_000, help="calls of a round (default: %(default)s)"
    )
    parser.add_argument(
        "--cpus", type=int, nargs="+", metavar="CPU", help="who races (default: all that may be used)"
    )
    parser.add_argument("--not-pinned", action="store_true", help="let the scheduler move the threads")
    parser.add_argument(
        "--seconds", type=float, metavar="S", default=10, help="for both together (default: %(default)s)"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="write all that was measured there, as JSON and CSV, and the tables"
    )

    def run(arguments):
        from schedpy.lab import clock_cost

        table = clock_cost.measure(
            rounds=arguments.rounds,
            calls=arguments.calls,
            cpus=arguments.cpus,
            pinned=not arguments.not_pinned,
            seconds=arguments.seconds,
        )
        print(table)
        if arguments.out is not None:
            table.save(arguments.out)
            print(f"\n{arguments.out}")

    parser.set_defaults(run=run)


def main(arguments=None):
    """Run one command; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m schedpy", description="The Linux scheduler's own arithmetic.", allow_abbrev=False
    )
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for add in (reproduce, phases, clock, live, sweep):
        add(commands)
    chosen = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        chosen.run(chosen)
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(
            f"schedpy {chosen.command}: {error}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr
        )
        return 1
    except KeyboardInterrupt as error:
        print(f"schedpy {chosen.command}: {str(error) or 'interrupted'}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
