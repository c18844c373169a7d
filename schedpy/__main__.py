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
    """Hold PELT's rule against the running kernel."""
    parser = commands.add_parser(
        "live",
        help="hold PELT's rule against the running kernel",
        description="Watch a task's PELT state in /proc/PID/sched, hold this kernel's rule against each\n"
        "step from one state to the next, and find which PELT the kernel runs. Without --pid: a\n"
        "task that spins, one that wakes up every 10 ms, and one that spins at nice 5.",
        epilog="example:\n  python -m schedpy live --seconds 5",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pid", type=int, metavar="N", help="watch this task (from another CPU)")
    parser.add_argument(
        "--seconds", type=float, metavar="S", default=10, help="time for each task (default: %(default)s)"
    )

    def run(arguments):
        from schedpy import live

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

    parser.set_defaults(run=run)


def main(arguments=None):
    """Run one command; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m schedpy", description="The Linux scheduler's own arithmetic.", allow_abbrev=False
    )
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for add in (reproduce, live):
        add(commands)
    chosen = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        chosen.run(chosen)
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"schedpy {chosen.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"schedpy {chosen.command}: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
