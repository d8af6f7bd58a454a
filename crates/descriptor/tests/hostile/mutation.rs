//! Random changes of the repository's examples. They imitate mistakes, faulty programs and attacks.

/// A pseudo-random generator. The same seed gives the same cases on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap()
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

/// Fragments with a meaning in YAML or in the language.
const PIECES: [&str; 40] = [
    "${",
    "}",
    "${a}",
    "${instance.id}",
    "${source.x}",
    "*a",
    "&a ",
    "<<: *a",
    "<<: [*a, *a]",
    "---\n",
    "...",
    "\t",
    "{",
    "[",
    "]",
    "}",
    "\"",
    "'",
    "|",
    ">",
    "? ",
    ": ",
    "- ",
    "!!binary ",
    "#",
    "\u{feff}",
    "\u{200b}",
    "\u{a0}",
    "\0",
    "~",
    "quantity: 10001",
    "quantity: 199999",
    "cluster: {initial-quantity: 4000000000}",
    "sensitive: true",
    "type: assembly::a::1.0",
    "$lmctl:/",
    "-1",
    "1e999",
    "\u{202e}",
    "\r",
];

/// Returns an example with a few changes, some of them large.
pub(crate) fn mutated(fixtures: &[String], random: &mut Random) -> String {
    let mut text = random.of(fixtures).clone();
    for _ in 0..=random.below(4) {
        let lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() {
            break;
        }
        let first = random.below(lines.len());
        let some = lines[first..].len().min(1 + random.below(8));
        let block = lines[first..first + some].join("\n") + "\n";
        let at = offset(&text, first);
        let end = floor(&text, at + block.len()).max(at);
        match random.below(10) {
            0 => text.replace_range(at..end, ""),
            // Repeats the block up to a thousand times.
            1 => text.insert_str(at, &block.repeat(1 + random.below(1000))),
            2 => {
                let many: String = (0..=random.below(2000)).map(|n| renamed(&block, n)).collect();
                text.insert_str(at, &many);
            }
            3 => {
                let other = random.of(fixtures).clone();
                text.insert_str(at, &other);
            }
            4 => {
                let deeper: String = block.lines().map(|line| format!("  {line}\n")).collect();
                text.replace_range(at..end, &deeper);
            }
            5 => {
                let long = random.of(&PIECES).repeat(1 + random.below(5000));
                text.insert_str(at, &long);
            }
            6 => {
                let nested: String = (0..=random.below(200)).map(|n| " ".repeat(n) + "a:\n").collect();
                text.insert_str(at, &nested);
            }
            7 => text.truncate(at),
            _ => {
                let place = (0..=random.below(text.len() + 1)).rev().find(|&at| text.is_char_boundary(at));
                let piece: &&str = random.of(&PIECES);
                text.insert_str(place.unwrap_or(0), piece);
            }
        }
        text.truncate(floor(&text, 1 << 17));
    }
    text
}

fn renamed(block: &str, number: usize) -> String {
    block.replacen(':', &format!("{number}:"), 1)
}

fn offset(text: &str, line: usize) -> usize {
    text.match_indices('\n').nth(line.wrapping_sub(1)).map_or(0, |(at, _)| at + 1).min(text.len())
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}
