# Shortcuts for commands of bash and cargo. `just --list` shows them. `.ci/run` and the tests do not need `just`.

# Everything that CI runs
check:
    bash .ci/run

# All tests, or the tests with a word in their name: `just test store`
test *ARGS:
    cargo test --workspace {{ARGS}}

# Tests that are too long for CI: thousands of random assemblies, hundreds of kills, an hour of scripts/chaos
slow:
    PROPTEST_RNG_SEED="$(date +%s)" PROPTEST_CASES=5000 cargo test --profile optimized --all-features -p windlass-store -p windlass-lifecycle -p windlass-engine --test it model -- --nocapture
    PROPTEST_RNG_SEED="$(date +%s)" PROPTEST_CASES=10000 cargo test --profile optimized -p windlass-spiff --test it families
    WINDLASS_TEST_KILLS=300 WINDLASS_TEST_CONTAINER_KILLS=40 cargo test -p windlass-cli --test it kill -- --nocapture

    WINDLASS_FUZZ_SEED="$(date +%s)" WINDLASS_HOSTILE_CASES=10000 cargo test --profile optimized -p windlass-descriptor -p windlass --test hostile -- --nocapture --test-threads=1
    # A program that embeds windlass may enable this feature. Digests and stored texts must stay the same.
    cargo test -p windlass-model -p windlass-driver --lib --features serde_json/preserve_order
    cargo build -p windlass-cli
    scripts/chaos --seconds 3600 --runtime process,sandbox,docker --store sqlite,postgres

# The checks of format, layers, imports, prose, clippy and features
lint:
    cargo fmt --all --check
    scripts/ci-layers
    scripts/import-circles
    scripts/ci-prose
    cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
    scripts/ci-features --each

# The rustdoc pages of all crates of the workspace
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# The commands of README.md, docs/tour.md and docs/cookbook.md; their output is compared with the pages
readme:
    cargo build --release
    PATH="${CARGO_TARGET_DIR:-$PWD/target}/release:$PATH" scripts/ci-readme

# Fuzz tests with random input: ten minutes for each target, with a new seed in each run
fuzz:
    WINDLASS_FUZZ_SECONDS=600 WINDLASS_FUZZ_SEED="$(date +%s)" cargo test --profile optimized -p windlass-source -p windlass-manifest -p windlass-descriptor -p windlass-spiff --test it -- fuzz --nocapture --test-threads=4
