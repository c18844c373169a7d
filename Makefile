# SPDX-License-Identifier: GPL-2.0-only
# `make reproduce` and `make test` start from nothing but make: what Python and C need is installed
# with apt-get (as root) or named, a virtual environment is made, and the extension is built.

PY ?= python3
VENV ?= .venv$(if $(filter-out python3,$(PY)),-$(notdir $(PY)))
ifeq ($(origin CC),default)
CC = gcc
endif

python := $(VENV)/bin/python
pip := $(python) -m pip --disable-pip-version-check
in_pyenv := $(if $(findstring .,$(PY)),"$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$(PY:python%=%).*/bin/$(PY))
built_from := pyproject.toml setup.py $(wildcard csrc/core/*.[ch] csrc/bind/*.[ch])

.ONESHELL:
.SHELLFLAGS = -ec
.SILENT:
.DELETE_ON_ERROR:
.PHONY: help test reproduce lint core sanitize bare clone deep clean FORCE

help:
	echo 'make reproduce   the three published measurements, recomputed, into build/report'
	echo 'make test        the tests'
	echo 'make lint        style and types'
	echo 'make core        the C core alone: warnings are errors, then under ASan and UBSan'
	echo 'make deep        what takes longer: sanitize, bare, clone'
	echo 'make sanitize    the tests with an extension under ASan and UBSan'
	echo 'make bare        both commands on bare Debian roots (needs root and debootstrap)'
	echo 'make clone       make reproduce in a clean clone'
	echo 'make clean       forget what was built and the virtual environments'
	echo
	echo 'Another Python:  make PY=python3.13 test'

test: $(VENV)/installed
	$(python) -m pytest --numprocesses auto --dist worksteal $(ARGS)

reproduce: $(VENV)/installed
	$(python) -m schedpy reproduce

lint: $(VENV)/lint
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy

define quietly
	quietly() {
		log=$$(mktemp)
		if ! "$$@" >"$$log" 2>&1 </dev/null; then
			cat "$$log" >&2
			echo "failed (its words are above): $$*" >&2
			exit 1
		fi
		rm -f "$$log"
	}
endef

# Sets $py to a Python that runs, $lacks to what is missing in words and $packages to what brings it.
# A name such as python3.13 is also looked for in pyenv, whose shim fails for versions not selected.
define look_for_tools
	py= lacks= packages=
	for candidate in '$(PY)' $(in_pyenv); do
		if "$$candidate" -c '' 2>/dev/null; then py=$$candidate; break; fi
	done
	if [ -z "$$py" ]; then
		lacks='$(PY), its venv module, its headers (Python.h), ' packages='$(notdir $(PY)) $(notdir $(PY))-venv $(notdir $(PY))-dev '
	elif ! "$$py" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
		echo "schedpy needs Python 3.11 or newer; $$py is $$("$$py" -V 2>&1). Name another: make PY=python3.13 $(MAKECMDGOALS)" >&2
		exit 1
	else
		"$$py" -c 'import venv, ensurepip' 2>/dev/null ||
			lacks="$$py's venv module, " packages='$(notdir $(PY))-venv '
		[ -e "$$("$$py" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ||
			lacks="$${lacks}$$py's headers (Python.h), " packages="$${packages}$(notdir $(PY))-dev "
	fi
	echo '#include <stdio.h>' | $(CC) -fsyntax-only -x c - 2>/dev/null ||
		lacks="$${lacks}$(CC) with the C library's headers, " packages="$${packages}gcc libc6-dev "
	lacks=$${lacks%, } packages=$${packages% }
endef

# Untouched when nothing has to be done; made anew when PY is another Python than it was made with;
# refreshed when the clone has moved, since the editable installation holds its path.
$(VENV)/made: FORCE
	$(quietly)
	$(look_for_tools)
	if [ -n "$$lacks" ]; then
		install="apt-get install -y --no-install-recommends $$packages"
		if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
			echo "schedpy needs what is missing here: $$lacks." >&2
			echo 'On Debian, run this line as root, then make again:' >&2
			echo "    apt-get update && $$install" >&2
			exit 1
		fi
		echo "== missing here: $$lacks; installing $$packages"
		export DEBIAN_FRONTEND=noninteractive
		quietly apt-get update
		quietly $$install
		$(look_for_tools)
		if [ -n "$$lacks" ]; then echo "still missing: $$lacks" >&2; exit 1; fi
	fi
	identity='import sys; print("%d.%d" % sys.version_info[:2], sys.base_prefix)'
	if [ "$$("$$py" -c "$$identity")" != "$$('$(python)' -c "import pip; $$identity" 2>/dev/null)" ]; then
		echo "== $$("$$py" -V) ($$(command -v "$$py")) in $(VENV)"
		if [ -e '$(VENV)/pyvenv.cfg' ]; then rm -rf '$(VENV)'; fi
		"$$py" -m venv '$(VENV)'
	elif [ "$$(cat '$@' 2>/dev/null)" = "$$(pwd)" ]; then
		exit 0
	fi
	quietly $(pip) install --upgrade pip
	pwd >'$@'

$(VENV)/installed: $(VENV)/made $(built_from)
	echo '== installing schedpy and what it needs, building its extension'
	$(quietly)
	quietly $(pip) install --editable '.[notebook]' --group test
	touch '$@'

$(VENV)/lint: $(VENV)/installed pyproject.toml
	$(quietly)
	quietly $(pip) install --group lint
	touch '$@'

core:
	mkdir -p build/core
	for flags in '' '-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all'; do
		echo "== the core, $${flags:-warnings are errors}"
		compile="$(CC) -std=c11 -O3 -Wall -Wextra -Wconversion -Wpedantic -Werror $$flags -Icsrc"
		for part in csrc/core/*.c; do
			$$compile -c "$$part" -o build/core/"$$(basename "$$part" .c)".o
		done
		for test in csrc/tests/test_*.c; do
			program=build/core/$$(basename "$$test" .c)
			$$compile "$$test" build/core/*.o -o "$$program" -lm
			"$$program"
		done
	done

deep: sanitize bare clone

# In a copy, so that the instrumented extension never lies in this tree.
sanitize:
	rm -rf build/sanitize
	mkdir -p build/sanitize
	git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=- | tar -x -C build/sanitize
	cd build/sanitize
	SCHEDPY_SANITIZE=address,undefined $(MAKE) --no-print-directory '$(VENV)/installed'
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" \
	PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 $(python) -m pytest $(ARGS)

bare:
	sh tests/bare_root.sh

clone:
	rm -rf build/clone
	git clone --quiet . build/clone
	$(MAKE) --no-print-directory -C build/clone reproduce

clean:
	rm -rf build .venv .venv-* schedpy/_core.*.so *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
