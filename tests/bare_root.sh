#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Both commands of the README on bare Debian roots that hold make and nothing else, tried as root and as
# a plain user, who is told the line to run as root and goes on once it has been run.
#
#   sh tests/bare_root.sh [SUITE ...]       default: trixie bookworm
#
# BARE_ROOTS is where the pristine roots are kept between runs (default /var/tmp/schedpy-roots).
# How this machine reaches its registries (proxies, certificates, mirror) is taken from its own settings.
set -eu
cd "$(dirname "$0")/.."
roots=${BARE_ROOTS:-/var/tmp/schedpy-roots}
seen=$roots/seen.txt

stop() { echo "bare_root: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || stop 'needs root (it makes roots and enters them)'
command -v debootstrap >/dev/null || stop 'needs debootstrap: apt-get update && apt-get install -y debootstrap'

make_pristine() {
    [ -e "$roots/$1.done" ] && return
    echo "== debootstrap $1"
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
    rm -rf "${roots:?}/$1"
    debootstrap --variant=minbase --include=make "$1" "$roots/$1" "$mirror" >"$roots/$1.log" ||
        stop "debootstrap failed: $roots/$1.log"
    touch "$roots/$1.done"
}

# A new root in $roots/trial, with this tree (what git tracks or would) in the home of root and of a user.
make_trial() {
    rm -rf "${roots:?}/trial"
    cp -a "$roots/$1" "$roots/trial"
    cp -L /etc/resolv.conf /etc/hosts "$roots/trial/etc/"
    apt-config dump | grep -E '^Acquire::(http|https|Check-)' >"$roots/trial/etc/apt/apt.conf.d/99here" || :
    chroot "$roots/trial" useradd --create-home --shell /bin/sh newcomer
    for home in root home/newcomer; do
        mkdir "$roots/trial/$home/schedpy"
        git ls-files -z --cached --others --exclude-standard |
            tar -c --null --files-from=- | tar -x -C "$roots/trial/$home/schedpy"
    done
    chroot "$roots/trial" chown -R newcomer: /home/newcomer/schedpy
}

# as USER COMMAND: in the trial root, in the clone, with a bare environment and private mounts.
as() {
    user=$1 home=/home/$1
    [ "$1" = root ] && home=/root
    set -- env -i HOME="$home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=xterm \
        "ROOT=$roots/trial" "AS=$user" "IN=$home/schedpy" "COMMAND=$2"
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_PROXY; do
        value=$(printenv "$name") && set -- "$@" "$name=$value"
    done
    bundle=${PIP_CERT:-${SSL_CERT_FILE:-}}
    if [ -n "$bundle" ]; then
        cp -L "$bundle" "$roots/trial/etc/certificates-here.pem"
        set -- "$@" PIP_CERT=/etc/certificates-here.pem
    fi
    unshare --mount --pid --fork --kill-child "$@" sh -c '
        mount -t proc proc "$ROOT/proc" && mount --rbind /dev "$ROOT/dev" || exit 1
        exec chroot --userspec="$AS" "$ROOT" sh -c "cd \"\$IN\" && eval \"\$COMMAND\""'
}

# run USER COMMAND: shown, timed, and noted down; its output stays in $roots/output.txt.
run() {
    echo "== $suite, as $1: $2"
    begin=$(date +%s)
    if as "$1" "$2" >"$roots/output.txt" 2>&1 </dev/null; then status=0; else status=$?; fi
    cat "$roots/output.txt"
    [ "$status" = "${3:-0}" ] || stop "$2 ended with $status on $suite as $1"
    echo "$suite, as $1: $2: $(($(date +%s) - begin)) s, exit $status; $(tail -n 1 "$roots/output.txt")" >>"$seen"
}

again() {
    run "$1" "$2"
    if grep -q '^== installing' "$roots/output.txt"; then stop "$2 installed anew on its second run"; fi
}

mkdir -p "$roots"
: >"$seen"
for suite in ${*:-trixie bookworm}; do
    make_pristine "$suite"

    make_trial "$suite"
    run root 'make test'
    run root 'make reproduce'
    again root 'make test'
    again root 'make reproduce'

    make_trial "$suite"
    run newcomer 'make reproduce' 2
    line=$(sed -n 's/^ *\(apt-get update && .*\)/\1/p' "$roots/output.txt")
    [ -n "$line" ] || stop 'the line to run as root was not told'
    run root "$line"
    run newcomer 'make reproduce'
    run newcomer 'make test'
done
rm -rf "$roots/trial"
echo
cat "$seen"
