//! Processes duplicate keys and merge keys in the entries of a mapping.

use std::collections::HashSet;
use std::sync::Arc;

use super::options::{DuplicateKeys, LoadOptions, MergeKeys};
use super::report::Report;
use crate::node::by_key;
use crate::{Diagnostic, Entry, Key, Kind, Mapping, Node, Severity, Source, Style, codes};

/// Creates a mapping from its entries. Processes duplicate keys and merge keys as the options demand.
pub(super) fn settle(entries: Vec<Entry>, options: &LoadOptions, report: &mut Report) -> Mapping {
    let mut settler = Settler { options, report };
    let entries = settler.without_duplicates(entries);
    Mapping::new(settler.merged(entries))
}

/// Tells whether a key is a merge key: an unquoted `<<`. With [`MergeKeys::Keep`], no key is a merge key.
pub(super) fn is_merge(key: &Key, options: &LoadOptions) -> bool {
    options.merge_keys != MergeKeys::Keep && key.style() == Style::Plain && key.text() == "<<"
}

struct Settler<'a> {
    options: &'a LoadOptions,
    report: &'a mut Report,
}

impl Settler<'_> {
    fn without_duplicates(&mut self, mut entries: Vec<Entry>) -> Vec<Entry> {
        let again = duplicates(&entries);
        if again.is_empty() {
            return entries;
        }
        let last_wins = self.options.duplicate_keys == DuplicateKeys::LastWins;
        let severity = if last_wins { Severity::Warning } else { Severity::Error };
        for &(first, second) in &again {
            self.report
                .add(severity, |source| duplicate(source, severity, &entries[first], &entries[second]));
            if last_wins {
                entries.swap(first, second);
            }
        }
        let dropped: HashSet<usize> = again.into_iter().map(|(_, second)| second).collect();
        let kept = entries.into_iter().enumerate().filter(|(at, _)| !dropped.contains(at));
        kept.map(|(_, entry)| entry).collect()
    }

    /// Replaces each merge key `<<` by the entries that it adds. An entry is not added if the mapping already
    /// has its key.
    fn merged(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let options = self.options;
        let is_merge = |entry: &Entry| is_merge(&entry.key, options);
        if !entries.iter().any(is_merge) {
            return entries;
        }
        let mut taken: HashSet<String> = entries
            .iter()
            .filter(|entry| !is_merge(entry))
            .map(|entry| entry.key.text().to_owned())
            .collect();
        let mut out = Vec::new();
        for entry in entries {
            if is_merge(&entry) {
                let added = self.merge(entry);
                out.extend(added.into_iter().filter(|entry| taken.insert(entry.key.text().to_owned())));
            } else {
                out.push(entry);
            }
        }
        out
    }

    /// Returns the entries that a merge key adds.
    fn merge(&mut self, merge: Entry) -> Vec<Entry> {
        let span = merge.key.span();
        if self.options.merge_keys == MergeKeys::Refuse {
            self.report.error(|source| {
                Diagnostic::error(codes::MERGE_KEY, "merge keys (`<<`) are not taken here")
                    .at(source.place(span))
                    .help("write the entries out, or quote the key if it is meant as text")
            });
            return Vec::new();
        }
        let sources = match merge.value.into_kind() {
            Kind::Sequence(items) => items,
            kind => Box::new([Node::new(span, kind)]),
        };
        let mut out = Vec::new();
        for source in sources {
            let Kind::Mapping(mapping) = source.into_kind() else {
                self.report.error(|source| {
                    let message = "a merge key (`<<`) takes a mapping or a list of mappings";
                    Diagnostic::error(codes::MERGE_KEY, message)
                        .at(source.place(span))
                        .help("quote the key if it is meant as text")
                });
                continue;
            };
            out.extend(mapping.into_entries());
        }
        out
    }
}

fn duplicate(source: &Arc<Source>, severity: Severity, first: &Entry, second: &Entry) -> Diagnostic {
    let label = if severity == Severity::Error { "given again here" } else { "this one counts" };
    Diagnostic::new(severity, codes::DUPLICATE_KEY, format!("key `{}` is given twice", second.key.text()))
        .at(source.place(second.key.span()))
        .label(label)
        .related(source.place(first.key.span()), "first given here")
        .help("remove or rename one of the two")
}

/// Returns the pairs of entries with equal keys. Each pair consists of the first entry with a key and a later
/// entry with the same key. The pairs are sorted by the later entry.
fn duplicates(entries: &[Entry]) -> Vec<(usize, usize)> {
    let index = by_key(entries);
    let mut found = Vec::new();
    for group in index.chunk_by(|&a, &b| entries[a as usize].key.text() == entries[b as usize].key.text()) {
        let (first, again) = (group[0] as usize, &group[1..]);
        found.extend(again.iter().map(|&second| (first, second as usize)));
    }
    found.sort_by_key(|&(_, second)| second);
    found
}
