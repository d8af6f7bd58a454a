//! Generates assemblies of any size, in shapes that are known to be expensive.

use std::fmt::Write as _;

/// The pattern of references between the components of a generated assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The components have no references.
    Wide,
    /// Each component refers to the previous one.
    Chain,
    /// Groups of three components `a`, `b` and `c`. Each `b` and each `c` refers to the `a` of its group. Each `a`
    /// refers to the `b` and the `c` of the previous group.
    Diamond,
    /// A square grid. Each component refers to its left and its upper neighbour.
    Grid,
    /// A cluster of 2 nodes, followed by clusters of 1000 nodes. Each cluster refers to the previous cluster, and
    /// has a relationship with it.
    Clusters,
}

impl Shape {
    /// All shapes of references.
    pub(crate) const ALL: [Self; 5] = [Self::Wide, Self::Chain, Self::Diamond, Self::Grid, Self::Clusters];

    /// Name of the shape.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Chain => "chain",
            Self::Diamond => "diamond",
            Self::Grid => "grid",
            Self::Clusters => "clusters",
        }
    }

    /// Returns the numbers of the components to which component `n` of `count` refers.
    fn reads(self, n: usize, count: usize) -> Vec<usize> {
        let side = count.isqrt().max(1);
        let before = |by: usize| n.checked_sub(by);
        let found = match self {
            Self::Wide => [None, None],
            Self::Chain | Self::Clusters => [before(1), None],
            Self::Diamond => match n % 3 {
                0 => [before(1), before(2)],
                1 => [before(1), None],
                _ => [before(2), None],
            },
            Self::Grid => [before(1).filter(|_| !n.is_multiple_of(side)), before(side)],
        };
        found.into_iter().flatten().collect()
    }

    /// Writes an assembly of `count` components. A cluster counts as its 1000 nodes.
    pub(crate) fn assembly(self, count: usize) -> String {
        let mut out = format!(
            "name: assembly::{}::1.0\ndescription: a generated assembly\nproperties:\n  location: {{default: admin@local}}\n  size: {{default: m1.small}}\ncomposition:\n",
            self.name()
        );
        let entries = if self == Self::Clusters { 1 + count.div_ceil(1000) } else { count };
        for n in 0..entries {
            let _ = write!(out, "  c{n}:\n    type: resource::part::1.0\n");
            if self == Self::Clusters {
                let nodes = if n == 0 { 2 } else { 1000 };
                let _ = write!(
                    out,
                    "    cluster:\n      minimum-nodes: 1\n      initial-quantity: {nodes}\n      maximum-nodes: 2000\n"
                );
            }
            let _ = write!(
                out,
                "    properties:\n      deploymentLocation:\n        value: ${{location}}\n      flavor:\n        value: '${{size}}'\n      label:\n        value: \"${{instance.name}}-{n}\"\n"
            );
            for (number, read) in self.reads(n, entries).into_iter().enumerate() {
                let _ = write!(out, "      in{number}:\n        value: ${{c{read}.out}}\n");
            }
        }
        if self == Self::Clusters {
            out.push_str("relationships:\n");
            for n in 1..entries {
                let _ = write!(
                    out,
                    "  r{n}:\n    source-capabilities: [c{}.x]\n    target-requirements: [c{n}.x]\n    source-state: Active\n    target-state: Inactive\n    properties:\n      from:\n        value: ${{source.out}}\n",
                    n - 1
                );
            }
        }
        out
    }
}

/// Descriptor of all components.
pub(crate) const PART: &str = "name: resource::part::1.0
properties:
  deploymentLocation: {type: string}
  flavor: {default: m1.large}
  label: {}
  in0: {}
  in1: {}
  out: {read-only: true}
lifecycle: [Install, Start, Stop, Uninstall]
";

/// Writes an assembly of two lists of `count` components each, related by one relationship.
pub(crate) fn related(count: usize) -> String {
    let mut out = "name: assembly::related::1.0\ncomposition:\n".to_owned();
    for n in 0..2 * count {
        let _ = write!(out, "  c{n}:\n    type: resource::part::1.0\n");
    }
    out.push_str("relationships:\n  all:\n    source-state: Active\n    target-state: Active\n");
    for (key, from) in [("source-capabilities", 0), ("target-requirements", count)] {
        let _ = writeln!(out, "    {key}:");
        for n in from..from + count {
            let _ = writeln!(out, "      - c{n}.x");
        }
    }
    out
}

/// Returns a text that would exhaust the machine if the parser had no limits. For example, `bomb("aliases")` returns
/// ten lines of YAML whose aliases stand for 10 billion items.
pub(crate) fn bomb(name: &str) -> String {
    match name {
        "aliases" => {
            let mut out = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
            for n in 0..9 {
                let _ = writeln!(out, "a{}: &a{} [{}]", n + 1, n + 1, vec![format!("*a{n}"); 10].join(", "));
            }
            out
        }
        "brackets" => "[".repeat(100_000),
        "dashes" => "- ".repeat(100_000),
        _ => " ".repeat(64_000_000),
    }
}
