# `make run` and `make test` need nothing but a Debian 12 machine: each installs what it lacks
# (tools/setup.sh says what), builds, and goes. `make check` is everything a change must pass.
.PHONY: run test check format clean
.PHONY: check-format check-page check-tidy check-clang check-asan check-tsan check-browser check-fuzz check-bench
.PHONY: check-judged check-mutation check-python check-wheel
.PHONY: wheel deb tarball
.PHONY: setup-build setup-gate setup-check setup-wheel
.NOTPARALLEL:

# Trains for some seconds on this machine's cores, then accounts for its own traces.
RUN := build/run

run: setup-build
	@tools/build.sh release stepscope
	@rm -rf $(RUN)
	@build/release/stepscope train --zero 3 --steps 20 --data docs/dev/benchmarks.md --trace $(RUN)/traces
	@build/release/stepscope analyze $(RUN)/traces --html report.html
	@printf '%s\n' '' 'Next, with files of your own (build/release/stepscope list machines shows names):' \
	  '  build/release/stepscope analyze TRACES --html report.html' \
	  '  build/release/stepscope check TRAINING_LOG_OR_STEP_TIMES' \
	  '  build/release/stepscope predict MODEL --machine NAME --gpus N --global-batch N --seq N'

test: setup-build
	@tools/build.sh release
	@tools/test.sh release -LE browser

check: check-format check-page test check-bench check-python check-mutation check-clang check-asan check-tsan check-browser check-fuzz check-tidy

check-format: setup-gate
	@tools/python_env.sh check >/dev/null
	@tools/check_format.sh

check-page: setup-gate
	@tools/check_page.sh

# The benchmarks compile; they are no part of the usual build. Neither time nor memory of a verb grows much faster than its
# input (all verbs and inputs: build/release/bench/scaling build/release/stepscope).
check-bench: setup-check
	@tools/build.sh release bench/all
	@tools/build.sh release stepscope
	@build/release/bench/scaling build/release/stepscope --quick --most 1.3

# Every source by itself, so a missing include is found here. Needs the flags of each source, so any target of that build
# comes first.
check-tidy: setup-check
	@tools/build.sh tidy stepscope_stats
	@tools/check_tidy.sh build/tidy

check-clang check-asan check-tsan: check-%: setup-check
	@tools/build.sh $*
	@tools/test.sh $* -LE browser

# The rooms that read and judge, with their tests, under the sanitizers of addresses and of undefined behaviour. Without
# optimization, which takes clang twice as long again.
check-judged: setup-gate
	@tools/build.sh judged event_test read_test analysis_test diagnose_test
	@tools/test.sh judged -R '^(event|read|analysis|diagnose)\.'

check-browser: setup-check
	@tools/build.sh release
	@tools/test.sh release -L browser

check-fuzz: setup-check
	@tools/build.sh fuzz $(notdir $(basename $(wildcard tests/fuzz/*_fuzz.cc)))
	@tools/check_fuzz.sh build/fuzz

# The tests of the Python package with every optional package, and those with torch.
check-python: setup-check
	@tools/build.sh release
	@tools/python_env.sh check torch >/dev/null
	@PYTHONPATH=$(CURDIR)/build/release/python STEPSCOPE_COMMAND=$(CURDIR)/build/release/stepscope PYTHONDONTWRITEBYTECODE=1 \
	  build/python-env/bin/python -m pytest -q -p no:cacheprovider python/tests tests/explain/real_jobs/oracle_test.py

# Every verb on mutated inputs and command lines. 200,000 runs: tests/mutation/run.py build/release/stepscope --runs 200000
check-mutation: setup-check
	@tools/build.sh release stepscope
	@python3 tests/mutation/run.py build/release/stepscope --runs 5000

# Wheels for pip in build/wheel/dist, for x86-64 and aarch64 (TARGETS: those of zig; macOS is compiled only); the command as
# a Debian package for this system or as a tarball for any with glibc 2.28, in build/dist.
TARGETS := x86_64-linux-gnu.2.28 aarch64-linux-gnu.2.28 aarch64-macos

wheel: setup-wheel
	@tools/wheel/wheel.sh $(TARGETS)

deb: setup-build
	@tools/build.sh release stepscope nccl_profiler stepscope_shell_files
	@tools/wheel/deb.sh

tarball: setup-wheel
	@tools/wheel/wheel.sh x86_64-linux-gnu.2.28
	@tools/wheel/tarball.sh build/wheel/dist/stepscope-*-cp312-abi3-manylinux_2_28_x86_64.whl

# Every wheel in every Python that this machine has; those for aarch64 under qemu-user.
check-wheel: wheel
	@tools/build.sh release stepscope
	@tests/wheel/all_wheels.sh build/wheel/dist

setup-build setup-gate setup-check setup-wheel: setup-%:
	@tools/setup.sh $*

format: setup-gate
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

clean:
	rm -rf build report.html
