# `just --list` shows what there is. Nothing here is needed: `.ci/run` is plain bash, and the rest is cargo.

# All that CI checks
check:
    bash .ci/run

# The tests, or those with a name: `just test store`
test *ARGS:
    cargo test --workspace {{ARGS}}

# What takes longer than CI has: thousands of random assemblies, hundreds of kills, an hour of chaos
slow:
    PROPTEST_RNG_SEED="$(date +%s)" PROPTEST_CASES=5000 cargo test --profile optimized --all-features -p windlass-store -p windlass-lifecycle -p windlass-engine --test it model -- --nocapture
    PROPTEST_RNG_SEED="$(date +%s)" PROPTEST_CASES=10000 cargo test --profile optimized -p windlass-spiff --test it families
    WINDLASS_TEST_KILLS=300 WINDLASS_TEST_CONTAINER_KILLS=40 cargo test -p windlass-cli --test it kill -- --nocapture

    WINDLASS_FUZZ_SEED="$(date +%s)" WINDLASS_HOSTILE_CASES=10000 cargo test --profile optimized -p windlass-descriptor -p windlass --test hostile -- --nocapture --test-threads=1
    cargo build -p windlass-cli
    scripts/chaos --seconds 3600 --runtime process,sandbox,docker --store sqlite,postgres

# Format, layers, prose, clippy, features
lint:
    cargo fmt --all --check
    scripts/ci-layers
    scripts/import-circles
    scripts/ci-prose
    cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
    scripts/ci-features --each

# The documentation of all crates, without their dependencies
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# The commands of README.md, compared with what it says they print
readme:
    cargo build --release
    PATH="${CARGO_TARGET_DIR:-$PWD/target}/release:$PATH" scripts/ci-readme

# Random input for ten minutes a target, with another seed each time
fuzz:
    WINDLASS_FUZZ_SECONDS=600 WINDLASS_FUZZ_SEED="$(date +%s)" cargo test --profile optimized -p windlass-source -p windlass-descriptor -p windlass-spiff --test it -- fuzz --nocapture --test-threads=4
