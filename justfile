# List what can be done.
default:
    @just --list

# Format everything.
fmt:
    cargo fmt --all

# Lint every target of every crate, all features, as CI does.
lint:
    cargo clippy --workspace --all-targets --all-features -- -D warnings

# Run the tests of the default members.
test:
    cargo test

# Run the tests of every crate.
test-all:
    cargo test --workspace

# Build the documentation; a broken link is an error.
doc:
    RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --all-features

# Check licences, sources and banned or duplicate crates (needs cargo-deny).
deny:
    cargo deny --all-features check licenses bans sources

# Check who imports whom.
graph:
    cargo test -p affinity-tests --test graph

# Three commits, a few hundred clients, affinity off and on.
demo *args:
    cargo run --release -p gateway -- demo {{args}}

# Measure what the layers cost, in time.
bench:
    cargo bench -p tower-affinity --bench pinned --bench keys --bench gateway

# Hold the instructions that the layers add to a request against their bounds (needs valgrind).
instructions:
    cargo bench -p tower-affinity --bench instructions

# Make the instructions that are counted now the bounds.
accept-instructions:
    cargo bench -p tower-affinity --bench instructions -- accept

# Measure what the metrics cost a gateway: the same binary with and without them, in turn.
bench-metrics rounds="8" seconds="4":
    #!/usr/bin/env bash
    set -euo pipefail
    built="${CARGO_TARGET_DIR:-target}/release"
    cargo build --release -p affinity-measure --example gateways
    cargo build --release -p gateway --no-default-features
    cp "$built/gateway" "$built/gateway-without-metrics"
    cargo build --release -p gateway
    "$built/examples/gateways" {{rounds}} {{seconds}} without="$built/gateway-without-metrics" with="$built/gateway"

# Compare the gateway with HAProxy and nginx over HTTP/1.1, as far as they are installed; needs two processors.
compare rounds="5" seconds="2": (_beside "http" rounds seconds)

# The same with two threads each, which share all processors: requests a second.
compare-cores rounds="5" seconds="2": (_beside "cores" rounds seconds)

# The same with TLS and with HTTP/2 (needs h2load, of Debian's nghttp2-client).
compare-tls rounds="5" seconds="2": (_beside "tls" rounds seconds)

# Count the instructions that a request costs the whole gateway, in user space (needs valgrind).
instructions-gateway: (_beside "instructions")

# Send some million requests to a gateway that is changed meanwhile; fails if one answer is wrong.
soak-routing millions="5": (_beside "soak" millions)

_beside what *args:
    #!/usr/bin/env bash
    set -euo pipefail
    built="${CARGO_TARGET_DIR:-target}/release"
    cargo build --release -p gateway
    cargo build --release -p affinity-compare
    ulimit -n "$(ulimit -Hn)"
    "$built/affinity-compare" {{what}} "$built/gateway" {{args}}

# Draw what a request costs by the number of endpoints, groups and sessions, into docs/.
plot-cost rounds="15":
    cargo run --release -p affinity-measure --example cost -- docs {{rounds}}

# Measure what stored assignments cost, beside other maps; with 10 million rows it needs 6 GB and some minutes.
bench-stores rows="1000000":
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --release -p affinity-measure
    "${CARGO_TARGET_DIR:-target}/release/cold" $(({{rows}} * 100 >> 20))
    echo '| store | rows | bytes a row | at most | fill, ns | refresh, ns | middle 80 % |'
    echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: |'
    for store in memory-store hashbrown dashmap scc papaya moka; do
        "${CARGO_TARGET_DIR:-target}/release/affinity-measure" "$store" {{rows}}
    done

# Run the store in memory under many orders of its threads' steps.
interleavings runs="2000":
    INTERLEAVINGS={{runs}} cargo run -p affinity-interleavings --example interleavings

# Draw a day of sessions as a store counts them, with and without expiry.
plot-live-counts:
    cargo run --release -p affinity-measure --example day -- docs/live-counts.svg

# Send a million sessions through the layers in a day of virtual time; fails if a count is ever wrong.
million-sessions:
    cargo run --release -p affinity-measure --example million

# Ten million requests of clients that return nothing, in stored mode: no row and no memory may be left.
flood-store:
    cargo run --release -p affinity-measure --bin flood

# Take the pictures of the page for the documentation (needs Node.js and Chromium); three minutes.
screenshots:
    npm ci --prefix tests/browser --ignore-scripts --no-audit --no-fund
    AFFINITY_REQUIRE_SERVICES=1 cargo test -p affinity-browser-tests -- --ignored screenshots

# Play a rollout plan on 10 million sessions; it is killed after 10 seconds of processor time.
simulate-10m:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --release -p gateway
    export PATH="$(realpath "${CARGO_TARGET_DIR:-target}")/release:$PATH" AFFINITY_KEY
    AFFINITY_KEY=$(gateway keys new)
    cd examples/gateway/plans
    ulimit -t 10
    time gateway simulate --config gateway.toml --plan ten-million.toml

# All faults over real sockets (needs an etcd, a Redis and dynalite), then 10,000 seeds of the simulator that nobody has seen.
faults seeds="10000" from=`date +%s`:
    AFFINITY_REQUIRE_SERVICES=1 cargo test --release -p affinity-etcd-tests -- --nocapture
    cargo test --release -p affinity-tests --test end_to_end -- sessions:: cuts:: mutations:: --nocapture
    AFFINITY_FAULTS=full cargo test --release -p affinity-tests --test faults -- --nocapture --test-threads 1
    AFFINITY_FAULTS=full AFFINITY_REQUIRE_SERVICES=1 cargo test --release -p affinity-redis-tests faults:: -- --nocapture --test-threads 1
    AFFINITY_FAULTS=full AFFINITY_REQUIRE_SERVICES=1 cargo test --release -p affinity-dynamodb-tests faults:: -- --nocapture --test-threads 1
    SIM_SEEDS={{seeds}} SIM_FROM={{from}} cargo test --release -p tower-affinity-testing --test simulator invariants -- --nocapture

# Upgrade a gateway in place fifty times under 2,000 requests a second: none may fail.
upgrades:
    cargo test --release -p affinity-tests --test end_to_end -- --ignored upgrades:: --nocapture

# Play the same seeds with and without optimisation: every event has to be the same.
same-trace seeds="32":
    test "$(cargo run -q -p tower-affinity-testing --example sim -- --seeds {{seeds}})" = "$(cargo run -q --release -p tower-affinity-testing --example sim -- --seeds {{seeds}})"

# Compare what the libraries offer with what they offered at a revision (needs cargo-semver-checks).
semver rev="HEAD~1":
    cargo semver-checks --baseline-rev {{rev}} -p tower-affinity-core -p tower-affinity -p tower-affinity-testing -p affinity-gateway

# Pack every package as it would be published, and build each from its pack.
package:
    cargo package --workspace

# Everything CI runs.
ci:
    .ci/run
