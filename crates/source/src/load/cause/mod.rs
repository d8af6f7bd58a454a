//! Finds the actual cause of a syntax error.
//!
//! The position where a parser stops is often misleading: the parser notices an unclosed quote or a missing
//! colon only on a later line. Each function of the submodules recognises one common mistake from the text
//! around the position. The functions are tried in order, from the most certain to the least certain. The
//! first match counts.

mod flow;
mod invisible;
mod layout;
mod line;
mod scalar;
mod site;

use std::sync::Arc;

use super::draft::Draft;
use super::yaml::{ErrorKind, Failure};
use crate::{Source, codes};
use site::Site;

pub(super) use invisible::invisible;
pub(super) use site::{Cause, without_line};

/// Returns the cause that the first matching function of `MISTAKES` finds. If no function matches, the cause contains
/// the parser's own message.
pub(super) fn of(source: &Arc<Source>, draft: &Draft<'_>, failure: &Failure) -> Cause {
    const MISTAKES: [fn(&Site<'_>) -> Option<Cause>; 21] = [
        too_deep,
        layout::conflict,
        layout::tab,
        layout::escaped_comment,
        layout::ellipsis,
        flow::reference,
        scalar::escape,
        scalar::trailing_text,
        scalar::unclosed_quote,
        flow::unclosed_bracket,
        flow::colon,
        layout::missing_colon,
        layout::missing_space,
        layout::continued_key,
        scalar::colon_in_text,
        scalar::reserved_character,
        scalar::block_header,
        layout::below_a_value,
        layout::fits_nowhere,
        layout::item,
        layout::behind_the_end,
    ];
    let site = Site {
        source,
        draft,
        text: draft.text(),
        at: failure.at.min(draft.text().len()),
        kind: &failure.kind,
    };
    MISTAKES.iter().find_map(|mistake| mistake(&site)).unwrap_or_else(|| unknown(&site))
}

/// Returns the cause for lines that start with `\#` and were read as text. `at` contains the offset of each `\#` in the
/// draft. One diagnostic reports all these lines. `None` if `at` is empty.
pub(super) fn comments_as_text(source: &Arc<Source>, draft: &Draft<'_>, at: &[usize]) -> Option<Cause> {
    let site =
        Site { source, draft, text: draft.text(), at: *at.first()?, kind: &ErrorKind::SimpleKeyExpected };
    Some(layout::escaped_comments(&site, at))
}

fn too_deep(site: &Site<'_>) -> Option<Cause> {
    if *site.kind != ErrorKind::RecursionLimitExceeded {
        return None;
    }
    let message = "lists and mappings are nested deeper than is allowed";
    Some(Cause { diagnostic: site.error(codes::LIMIT, message, site.at..site.at), repair: None })
}

/// Returns a cause with the parser's own message. It is used if no common mistake is recognised.
fn unknown(site: &Site<'_>) -> Cause {
    let line = site.line();
    let end = site.text[site.at..]
        .chars()
        .next()
        .filter(|&c| c != '\n')
        .map_or(site.at, |c| site.at + c.len_utf8());
    site.left_out(site.error(codes::SYNTAX, site.kind.to_string(), site.at..end), line.start..line.start)
}
