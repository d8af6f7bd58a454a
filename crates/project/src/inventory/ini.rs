//! Inventories in the INI form: `[group]`, `[group:vars]`, `[group:children]`.

use std::collections::HashSet;
use std::sync::Arc;

use windlass_source::{Source, Span};

use super::{ALL, Draft, UNGROUPED, Variables, literal};

/// The content of the lines of a section.
#[derive(Clone, Copy)]
enum Content {
    Hosts,
    Variables,
    Children,
}

pub(super) fn read(inventory: &mut Draft, source: &Arc<Source>) {
    // `defined` contains the predefined groups, and each group with a section that lists hosts or subgroups.
    // `mentioned` contains the group names in other places. Each mentioned group must also be in `defined`.
    let (mut defined, mut mentioned) = (HashSet::from([ALL.to_owned(), UNGROUPED.to_owned()]), Vec::new());
    let (mut group, mut content) = (UNGROUPED.to_owned(), Content::Hosts);
    let mut start = 0;
    for line in source.text().split_inclusive('\n') {
        let text = line.trim();
        let at = start + line.len() - line.trim_start().len();
        start += line.len();
        let span = span(at, text.len());
        if text.is_empty() || text.starts_with(['#', ';']) {
            continue;
        }
        if let Some((name, kind)) = header(text) {
            content = match kind.unwrap_or("hosts") {
                "hosts" => Content::Hosts,
                "vars" => Content::Variables,
                "children" => Content::Children,
                other => {
                    inventory
                        .error(span, format!("a section is of hosts, `vars` or `children`, not `{other}`"));
                    Content::Hosts
                }
            };
            match content {
                Content::Variables => mentioned.push((name.to_owned(), span)),
                Content::Hosts | Content::Children => drop(defined.insert(name.to_owned())),
            }
            name.clone_into(&mut group);
            inventory.group(name);
            continue;
        }
        if text.starts_with('[') && text.ends_with(']') {
            inventory
                .error(span, "a section is `[group]`, `[group:vars]` or `[group:children]`, without blanks");
            continue;
        }
        match content {
            Content::Hosts => host(inventory, &group, text, span),
            Content::Variables => match text.split_once('=') {
                Some((key, value)) => {
                    let value = literal::value(value.trim());
                    inventory.group(&group).variables.insert(key.trim().to_owned(), Some(value.into()));
                }
                None => inventory.error(span, "a variable is `name=value`"),
            },
            Content::Children => {
                let child = text.split_whitespace().next().unwrap_or_default();
                mentioned.push((child.to_owned(), span));
                inventory.group(child);
                inventory.group(&group).children.insert(child.to_owned());
            }
        }
    }
    for (name, span) in mentioned {
        if !defined.contains(&name) {
            inventory.undefined(&name, span, defined.iter().map(String::as_str).collect());
        }
    }
}

/// Returns the group and the kind of a section, if the line begins a section. Such a line is `[group]` or
/// `[group:kind]`, and a comment may follow. Other lines with a bracket, such as `[fe80::1]:22`, belong to the section
/// above. Ansible has the same rule.
fn header(line: &str) -> Option<(&str, Option<&str>)> {
    let (inside, behind) = line.strip_prefix('[')?.split_once(']')?;
    let behind = behind.trim_start();
    if !behind.is_empty() && !behind.starts_with('#') {
        return None;
    }
    let (name, kind) = match inside.split_once(':') {
        Some((name, kind)) => (name, Some(kind)),
        None => (inside, None),
    };
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    let is_word = |kind: &str| !kind.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && kind.is_none_or(is_word)).then_some((name, kind))
}

fn span(start: usize, length: usize) -> Span {
    let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    Span::new(at(start), at(start + length))
}

/// Reads a line that names a host, or a range of hosts such as `web[01:03]`. A port may follow the name. The variables
/// of the hosts follow on the same line, each in the form `key=value`.
fn host(inventory: &mut Draft, group: &str, text: &str, span: Span) {
    let Some(words) = words(text) else {
        return inventory.error(span, "a quote is not closed");
    };
    let Some((name, given)) = words.split_first() else { return };
    let mut variables = Variables::new();
    for word in given {
        match word.split_once('=') {
            Some((key, value)) => {
                variables.insert(key.to_owned(), Some(literal::value(value).into()));
            }
            None => return inventory.error(span, format!("`{name}` is followed by a word without `=`")),
        }
    }
    inventory.add_hosts_with_port(group, name, span, variables);
}

/// Splits a line into words, as a shell does, up to a comment; `None` if a quote is not closed.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None) => word.get_or_insert_default().extend(chars.next()),
            // In double quotes, a backslash escapes only a double quote or a backslash.
            ('\\', Some('"')) => {
                let next = chars.clone().next().filter(|next| ['"', '\\'].contains(next));
                word.get_or_insert_default().push(next.unwrap_or('\\'));
                if next.is_some() {
                    chars.next();
                }
            }
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('#', None) => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}
