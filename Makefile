# The two commands that matter: `make demo` runs the main job, `make test` the tests.
SHELL := /bin/bash
CARGO ?= cargo
# Server and client programs without a system service; they are installed where they are missing.
PACKAGES := mariadb-server-core mariadb-client-core mariadb-client mariadb-backup
BENCH_PACKAGES := $(PACKAGES) sysbench haproxy openssl iproute2 gawk mawk perl-base iperf3 percona-toolkit
# Headers of the server, by which the plugin's layouts are checked.
HEADERS_PACKAGES := libmariadbd-dev
# Clients of disks that others have made, and the servers that ours is measured against.
DISK_PACKAGES := libnbd-bin qemu-utils fio fuse3 e2fsprogs btrfs-progs xfsprogs mount
DISK_BENCH_PACKAGES := $(DISK_PACKAGES) nbdkit qemu-system-common
# By which hosts tell each other; the tests start servers of their own.
BUS_PACKAGES := nats-server
# Servers of other Debian releases, each in a root of its own: `make servers SERVERS=FOLDER`.
SERVERS ?= $(or $(EVENKEEL_SERVERS),$(CURDIR)/target/servers)
ROOTS := mariadb-11.8 mysql-9.7
mariadb-11.8 := trixie mariadb-server-core,mariadb-client-core
mysql-9.7 := sid mysql-server-core,mysql-client-core
# The Debian mirror that this machine uses itself.
MIRROR = $(shell apt-get indextargets --format '$$(SITE)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -1)
# What makes the Debian package, and what tries it.
DEB_PACKAGES := binutils dpkg-dev gcc gzip libc6-dev
DEB_CHECK_PACKAGES := debootstrap lintian
# What boots a guest with a kernel of its own.
GUEST_PACKAGES := mmdebstrap qemu-system-x86 e2fsprogs
CARGO_DEB := ^3
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# Needed by our own `if let ... && ...` and by dependencies (hdrhistogram, the icu crates), as they say themselves.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

.PHONY: demo test test-slow check lint bench fmt build plugin deb deb-check tools bench-tools deb-tools servers clean toolchain

build: toolchain ## The binary, tuned for speed
	$(CARGO) build --release --locked -p evenkeel

# By rename: a server that has loaded the old file would crash if it changed.
plugin: toolchain ## The guard inside a server, target/plugin/evenkeel_guard.so
	$(CARGO) build --release --locked -p evenkeel-inside
	@mkdir -p target/plugin
	install -m 644 target/release/libevenkeel_inside.so target/plugin/evenkeel_guard.so.new
	mv target/plugin/evenkeel_guard.so.new target/plugin/evenkeel_guard.so

# `make demo SERVER=mysql` takes MySQL 9.7 from `make servers`.
ifeq ($(SERVER),mysql)
demo: $(SERVERS)/mysql-9.7
DEMO_SERVER := --server-binary $(SERVERS)/mysql-9.7/usr/sbin/mysqld
endif

demo: toolchain tools build ## A capacity profile of a private server (SERVER=mysql: of MySQL): table, report, one sentence
	target/release/evenkeel profile --workload tpcw.complex --ebs 10 --items 10000 --within 296s --duration 8s --warm-up 1s $(DEMO_SERVER)

# Tests that this machine cannot run append a line each to this file.
SKIPPED := $(CURDIR)/target/skipped

# Tests wait for servers and disks more than they compute: two at a time for each CPU, their files in memory where it has room.
TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
TEST_FILES ?= $(shell [ "$$(df --output=avail -BG /dev/shm 2>/dev/null | tail -1 | tr -dc 0-9)" -ge 8 ] 2>/dev/null && echo /dev/shm || echo /tmp)
# No comment holds a test.
TESTS := --locked --workspace --lib --bins --tests

# Lints run beside the tests, in a folder of their own: two builds in one folder wait for each other.
test: toolchain tools ## All tests, against real servers; what fails is tried once more, alone; the last line says what was skipped
	@mkdir -p $(dir $(SKIPPED)) && : >$(SKIPPED)
	$(CARGO) test $(TESTS) --no-run
	@nice -n 19 make -s lint CARGO="$(CARGO)" LINT_FOLDER="--target-dir target/lint" >target/lint.log 2>&1 & lint=$$!; \
	export EVENKEEL_SKIPPED=$(SKIPPED) EVENKEEL_SERVERS=$(SERVERS) TMPDIR=$(TEST_FILES) RUST_TEST_THREADS=$(TEST_THREADS); \
	$(CARGO) test $(TESTS) --no-fail-fast 2>&1 | tee target/test.log; code=$${PIPESTATUS[0]}; \
	[ $$code = 0 ] || { tests/again target/test.log $(CARGO) test $(TESTS); code=$$?; }; \
	wait $$lint || { code=1; cat target/lint.log; }; \
	sort -u $(SKIPPED) | awk '{ all = all (NR > 1 ? ", " : "") $$0 } \
	   END { print NR ? NR " tests were skipped: " all : "no test was skipped" }'; exit $$code

test-slow: build ## A real guest: boots Debian, profiles its MariaDB, tries all limits under its cgroup v2 (15 minutes, root)
	@PATH="$$PATH:/usr/sbin:/sbin"; { command -v mmdebstrap && command -v qemu-system-x86_64 && command -v mke2fs; } >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(GUEST_PACKAGES); }
	$(SUDO) timeout --signal=TERM 900 tests/guest target/release/evenkeel

# A toolchain without rustfmt or clippy still tests the code, and says what it left out.
lint: toolchain
	@if $(CARGO) fmt --version >/dev/null 2>&1; then $(CARGO) fmt --all --check; \
	 else echo "rustfmt is not installed: form not checked"; fi
	@if $(CARGO) clippy --version >/dev/null 2>&1; then \
	   $(CARGO) clippy --locked --workspace --all-targets $(LINT_FOLDER) -- -D warnings; \
	 else echo "clippy is not installed: lints not checked"; fi

check: lint ## Without a server: form, lints, house rules, dependencies
	$(CARGO) test --locked -p evenkeel --test it house
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check bans licenses sources; \
	 else echo "cargo-deny is not installed: dependencies not checked (cargo install cargo-deny)"; fi

servers: $(ROOTS:%=$(SERVERS)/%) ## Other servers to test with, in target/servers; nothing is installed but mmdebstrap

# Trusted, and also when expired: the keys of newer releases are not on this machine, and sid's dates pass.
$(SERVERS)/%:
	@command -v mmdebstrap >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends mmdebstrap; }
	@test -n "$(MIRROR)" || { echo "error: apt has no Debian mirror here (apt-get indextargets)" >&2; exit 1; }
	@mkdir -p $(SERVERS) && $(SUDO) rm -rf $@.part
	$(SUDO) mmdebstrap --quiet --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
	  --include=$(word 2,$($*)) $(word 1,$($*)) $@.part "deb [trusted=yes] $(MIRROR) $(word 1,$($*)) main"
	$(SUDO) mv $@.part $@

# Left out: answer and demo, which take minutes even with --quick; drivers and pool, which fetch clients from the network; disturbed,
# which runs the tests again and again and measures nothing; house, which counts.
bench: bench-tools build ## Benchmarks, roughly (each takes --quick; without it the full figures); all but answer, demo, drivers, pool, disturbed and house
	@# 3: this machine has no way to run it, or sways too much for a verdict, and its last line says why.
	@for bench in generator arrivals stall load variation plants collapse overhead mixed inside steps attack simulation coverage compare convert components size noisy shares costs bus realtime disk tenants dvdstore cdr layout network why capture replay upgrade interfere servers limits probes ledger failover recover; do echo "== $$bench"; bench/$$bench --quick || [ $$? = 3 ] || exit 1; done

# Times in the package are those of the commit, so that it is the same whenever it is made.
deb: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)
deb: toolchain deb-tools build plugin ## The Debian packages, target/debian/evenkeel_VERSION_ARCH.deb and evenkeel-guard-plugin_VERSION_ARCH.deb
	CARGO="$(CARGO)" contrib/debian/prepare target/release/evenkeel
	$(CARGO) deb --no-build --locked -p evenkeel
	contrib/debian/plugin/build target/plugin/evenkeel_guard.so

deb-check: deb ## Lints the packages, installs them in fresh systems, uses and removes them, and sees that nothing is left (root)
	@PATH="$$PATH:/usr/sbin"; { command -v debootstrap && command -v lintian; } >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(DEB_CHECK_PACKAGES); }
	lintian --fail-on error target/debian/evenkeel_*.deb target/debian/evenkeel-guard-plugin_*.deb
	$(SUDO) tests/deb target/debian/evenkeel_*.deb target/debian/evenkeel-guard-plugin_*.deb

fmt:
	$(CARGO) fmt --all

clean:
	$(CARGO) clean

# An older cargo fails with words about manifests and editions that do not say what to do.
toolchain:
	@found=$$($(CARGO) --version 2>/dev/null | sed 's/^cargo \([0-9.]*\).*/\1/'); \
	 printf '%s\n' "$(RUST)" "$$found" | sort -VC && exit 0; \
	 echo "error: this needs cargo $(RUST) or later; found: $${found:-none} ($(CARGO))" >&2; \
	 echo "  hint: install it by rustup (https://rustup.rs): rustup toolchain install stable; distributions are often" \
	      "behind. Another cargo: make CARGO=PATH" >&2; \
	 exit 1

tools:
	@command -v cc >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends gcc libc6-dev; }
	@PATH="$$PATH:/usr/sbin"; { command -v mariadbd && command -v mariadb-install-db && command -v mariadb && command -v mariadb-binlog && command -v mariadb-backup; } >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(PACKAGES); }
	@test -e /usr/include/mariadb/server/mysql/plugin_audit.h \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(HEADERS_PACKAGES); }
	@PATH="$$PATH:/usr/sbin:/sbin"; { command -v nbdinfo && command -v qemu-img && command -v fio && command -v fusermount3 && command -v mkfs.ext4 && command -v mkfs.btrfs && command -v mkfs.xfs && command -v losetup; } >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(DISK_PACKAGES); }
	@PATH="$$PATH:/usr/sbin"; command -v nats-server >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(BUS_PACKAGES); }

bench-tools: tools
	@PATH="$$PATH:/usr/sbin:/sbin"; { command -v sysbench && command -v haproxy && command -v openssl && command -v ip && command -v gawk && command -v mawk && command -v perl && command -v iperf3 && command -v pt-upgrade; } >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(BENCH_PACKAGES); }
	@{ command -v nbdkit && command -v fio && command -v qemu-storage-daemon; } >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(DISK_BENCH_PACKAGES); }
	@# A peer of bench/convert alone, which says that it is skipped where it is not there.
	@[ -x target/duckdb/bin/python ] || { python3 -m venv target/duckdb && timeout 120 target/duckdb/bin/pip install -q duckdb; } \
	  || { rm -rf target/duckdb; echo "duckdb cannot be installed: bench/convert skips it"; }

deb-tools:
	@{ command -v cc && command -v strip && command -v dpkg-shlibdeps; } >/dev/null \
	  || { $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends $(DEB_PACKAGES); }
	@$(CARGO) deb --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deb --version '$(CARGO_DEB)'
