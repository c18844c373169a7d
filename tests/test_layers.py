# SPDX-License-Identifier: GPL-2.0-only
"""The rules of the house: who may import whom, what the core may contain, what every file says first."""

import ast
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "schedpy"

#: Arrows point down: a part may import its own layer's list and nothing else of the package.
FACES = {"clock", "jiffies", "stopwatch", "pelt", "em", "eas", "cpuidle"}
LEAVES = {"kernel", "paths", "_coerce", "_files", "_tables", "_threads", "stats"}
BELOW_FACES = {"kernel", "_coerce", "_files", "_tables", "_threads", "_core"}
ALLOWED = {
    "kernel": set(),
    "_coerce": set(),
    "_files": set(),
    "_threads": set(),
    "paths": {"_core"},
    "_tables": set(),
    "stats": {"stats"},
    **dict.fromkeys(FACES, BELOW_FACES | FACES),
    "readers": {"readers", "_files"},
    "em": BELOW_FACES | FACES | {"readers"},
    "cpuidle": BELOW_FACES | FACES | {"readers"},
    "workload": FACES | {"kernel", "_coerce"},
    "live": FACES | {"kernel", "_coerce", "_files", "_tables", "live"},
    "lab": FACES | LEAVES | {"workload", "lab", "data", "readers"},
    "plot": {"plot", "stats"},
    "sweep": {"sweep", "_coerce", "_files", "_tables"},
    "__main__": FACES | LEAVES | {"workload", "lab", "plot", "live", "sweep"},
    "__init__": FACES | LEAVES | {"workload", "live"},
}

CORE_HEADERS = {"stdint.h", "stdbool.h", "stddef.h", "string.h", "fenv.h"}
SYSTEM_HEADERS = re.compile(
    r"(time|immintrin|arm_neon|x86intrin|unistd|errno|signal|sched|sys/\w+|linux/\w+)\.h"
)


def part(path):
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imports(path):
    """(part of schedpy, name taken from it or None) for every import of the package in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                words = alias.name.split(".")
                if words[0] == "schedpy":
                    yield (words[1] if len(words) > 1 else "__init__"), None
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            words = (node.module or "").split(".")
            if words[0] != "schedpy":
                continue
            for alias in node.names:
                yield (words[1], alias.name) if len(words) > 1 else (alias.name, None)


def violations(path, own, taken):
    """What a file of one part imports against the rules."""
    for other, name in taken:
        if other not in ALLOWED.get(own, set()) | {"__version__"}:
            yield f"{path}: {own} imports {other}"
        elif name and name.startswith("_") and other != own:
            yield f"{path}: {own} takes the private name {other}.{name}"


def python_files(folder):
    return [p for p in sorted(folder.rglob("*.py")) if ".ipynb_checkpoints" not in p.parts]


def core_files():
    return sorted((ROOT / "csrc/core").glob("*.[ch]"))


def test_arrows_point_down():
    found = [v for p in python_files(PACKAGE) for v in violations(p, part(p), imports(p))]
    assert not found, "\n".join(found)


def test_every_part_has_a_place():
    assert {part(p) for p in python_files(PACKAGE)} <= set(ALLOWED) | {"data"}


@pytest.mark.parametrize(
    ("own", "source"),
    [
        ("kernel", "from schedpy import clock"),
        ("pelt", "from schedpy import stats"),
        ("pelt", "from schedpy.clock import _scaled"),
        ("plot", "from schedpy.pelt import track"),
        ("live", "from schedpy import workload"),
        ("clock", "import schedpy.lab.phases"),
    ],
)
def test_an_arrow_that_points_up_is_seen(tmp_path, own, source):
    file = tmp_path / "wrong.py"
    file.write_text(source)
    assert list(violations(file, own, imports(file)))


@pytest.mark.parametrize("folder", ["notebooks", "benchmarks"])
def test_notebooks_and_benchmarks_use_the_public_api_alone(folder):
    for path in python_files(ROOT / folder):
        for other, name in imports(path):
            assert not other.startswith("_") or other == "__version__", f"{path}: {other}"
            assert not (name or "").startswith("_"), f"{path}: {other}.{name}"


def includes(path):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(encoding="utf-8"), re.M)


def foreign_headers(path, names):
    own = {p.name for p in core_files()}
    may_ask_the_system = path.stem == "stopwatch" or path.stem.endswith("_lanes")
    return [
        name
        for name in names
        if name not in CORE_HEADERS | own and not (may_ask_the_system and SYSTEM_HEADERS.fullmatch(name))
    ]


def test_the_core_includes_nothing_but_itself_and_five_headers():
    for path in core_files():
        assert not foreign_headers(path, includes(path)), path
    assert foreign_headers(ROOT / "csrc/core/clock.c", ["Python.h", "stdlib.h", "time.h"]) == [
        "Python.h",
        "stdlib.h",
        "time.h",
    ]


def test_only_the_binding_includes_python():
    for path in ROOT.glob("csrc/**/*.[ch]"):
        if path.parent.name != "bind":
            assert not any(name.startswith(("Python", "numpy")) for name in includes(path)), path


def code(path):
    """A C file without comments and strings."""
    text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r'"(\\.|[^"\\])*"', '""', text)


FORBIDDEN = re.compile(r"\b(assert|abort|exit|malloc|calloc|realloc|free|printf|__builtin_trap|era)\s*\(|//")


def test_the_core_never_asserts_allocates_or_exits():
    for path in core_files():
        if path.stem != "stopwatch":
            found = FORBIDDEN.search(code(path))
            assert not found, f"{path}: {found.group()}"
    assert FORBIDDEN.search("x = malloc(3);")


@pytest.fixture(scope="module")
def compiler():
    return (sysconfig.get_config_var("CC") or "cc").split()


def writable_symbols(compiler, source, folder):
    """Symbols of an object file that live in writable memory."""
    target = folder / f"{source.stem}.o"
    command = [
        *compiler,
        "-std=c11",
        "-O0",
        "-fPIC",
        f"-I{ROOT / 'csrc'}",
        "-c",
        str(source),
        "-o",
        str(target),
    ]
    subprocess.run(command, check=True)
    listing = subprocess.run(["nm", str(target)], check=True, capture_output=True, text=True).stdout
    return [line for line in listing.splitlines() if re.search(r"\s[bBdDcC]\s", line)]


def test_the_core_holds_no_writable_global(compiler, tmp_path):
    for path in (ROOT / "csrc/core").glob("*.c"):
        assert not writable_symbols(compiler, path, tmp_path), path
    wrong = tmp_path / "wrong.c"
    wrong.write_text("static int count; int next(void) { return ++count; }")
    assert writable_symbols(compiler, wrong, tmp_path)


def source_files():
    folders = (ROOT / name for name in ("csrc", "schedpy", "tests", "notebooks", "benchmarks"))
    paths = [*ROOT.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]
    return [p for p in paths if p.suffix in {".py", ".pyi", ".c", ".h", ".toml", ".css", ".sh"}] + [
        ROOT / "Makefile",
        ROOT / ".ci/run",
    ]


def test_every_source_file_names_its_licence_at_the_top():
    for path in source_files():
        top = path.read_text(encoding="utf-8").splitlines()[:12]
        assert any("SPDX-License-Identifier: GPL-2.0-only" in line for line in top), path


def test_every_known_answer_is_used():
    """A file of known answers that no test loads proves nothing."""
    tests = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").glob("*.py"))
    for path in (ROOT / "tests/golden").rglob("*.csv.gz"):
        name = path.name.removesuffix(".csv.gz")
        family = re.sub(r"_[A-Z0-9]+(?:_32bit)?$", "_", name)
        assert name in tests or f"{family}{{" in tests, path
