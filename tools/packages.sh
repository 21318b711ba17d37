# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# packages.sh - install the Debian packages that a task needs and that are
# missing. Sourced by ./quickstart and ./check; the lists below are the only
# place where packages are named.

packages_build=(gcc libc6-dev meson ninja-build pkg-config python3
	libpcap-dev zlib1g-dev liburcu-dev libcmocka-dev)
# Sanitizers, the second compiler, the other architecture.
packages_check=(g++ libck-dev clang libclang-rt-14-dev valgrind
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
	mandoc dpkg-dev libjansson-dev)
# Real tools that read what statplane writes, and traffic for the tests.
packages_tools=(iproute2 net-tools iputils-ping ethtool tcpdump util-linux
	prometheus-node-exporter sysstat snmpd snmp python3-psutil
	python3-prometheus-client curl procps netbase)

# packages_install NAME... - install what is missing, or say what to do.
packages_install()
{
	local missing=() package
	for package in "$@"; do
		dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null |
			grep -q '^ii' || missing+=("$package")
	done
	if [ ${#missing[@]} -eq 0 ]; then
		return 0
	fi
	if [ "$(id -u)" -ne 0 ]; then
		echo "missing packages, and not root to install them; as root run:" >&2
		echo "  apt-get install ${missing[*]}" >&2
		return 1
	fi
	echo "installing: ${missing[*]}" >&2
	packages_apt update || echo "apt-get update failed; trying the old lists" >&2
	packages_apt install "${missing[@]}"
}

# packages_apt ARGS... - apt-get without questions and without starting
# services; silent unless it fails.
packages_apt()
{
	local log status
	log=$(mktemp)
	DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -y \
		-o Dpkg::Use-Pty=0 -o APT::Install-Recommends=false \
		"$@" >"$log" 2>&1
	status=$?
	if [ $status -ne 0 ]; then
		cat "$log" >&2
		echo "apt-get $1 failed with status $status" >&2
	fi
	rm -f "$log"
	return $status
}
