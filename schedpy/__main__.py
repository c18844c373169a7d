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
        help="run these (default: the three of the source tree)",
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


def main(arguments=None):
    """Run one command; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m schedpy", description="The Linux scheduler's own arithmetic.", allow_abbrev=False
    )
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for add in (reproduce,):
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
