# SPDX-License-Identifier: GPL-2.0-only
"""Builds the extension; everything else is in pyproject.toml.

Environment switches::

    SCHEDPY_WERROR=1                        a compiler warning fails the build
    SCHEDPY_SANITIZE=address,undefined      instrumented with these sanitizers
    SCHEDPY_COVERAGE=1                      instrumented for gcov
"""

import os
from pathlib import Path

import numpy
from setuptools import Extension, setup

ROOT = Path(__file__).parent


def files(*patterns):
    return sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern))


# Python's own -DNDEBUG -g -O2 -fwrapv come first; -fno-wrapv gives signed overflow back to the sanitizers.
compile_args = ["-std=c11", "-O3", "-fno-wrapv", "-Wall", "-Wextra", "-Werror=implicit-function-declaration"]
link_args = []
if os.environ.get("SCHEDPY_WERROR"):
    compile_args.append("-Werror")
if sanitizers := os.environ.get("SCHEDPY_SANITIZE"):
    compile_args += [f"-fsanitize={sanitizers}", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-g"]
    link_args.append(f"-fsanitize={sanitizers}")
if os.environ.get("SCHEDPY_COVERAGE"):
    compile_args += ["--coverage", "-O0"]
    link_args.append("--coverage")

setup(
    ext_modules=[
        Extension(
            "schedpy._core",
            sources=files("csrc/core/*.c", "csrc/bind/*.c"),
            depends=files("csrc/core/*.h", "csrc/bind/*.h"),
            include_dirs=["csrc", numpy.get_include()],
            libraries=["m"],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
        )
    ]
)
