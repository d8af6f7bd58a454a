//! A package folder may contain ignored files, which do not belong to the package. These files are READMEs, backup
//! files of editors, and the files that `.windlassignore` lists in the form of a `.gitignore`.
//!
//! A change of an ignored file does not change the package's digest, so no running instance is affected.

use std::path::Path;
use std::sync::Arc;

use glob::{MatchOptions, Pattern};
use windlass_source::{Diagnostic, Diagnostics, Source, Span};

use crate::codes;
use crate::disk;

/// The name of the file in a package folder that lists ignored files.
const FILE: &str = ".windlassignore";

/// The patterns that apply to all packages. A package can include an ignored file with a line such as
/// `!README.md` in its `.windlassignore`.
const ALWAYS: &str = r"
.windlassignore
README
README.*
Readme.*
readme.*
*~
*.bak
*.orig
*.rej
.*.sw[a-p]
\#*#
.#*
.DS_Store
";

/// The options for matching: only `**` matches across a `/`.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// The patterns of the files and folders that do not belong to a package. If several patterns match a path, the last of
/// them decides: `*.log` excludes `keep.log`, and a later `!keep.log` includes this file again.
#[derive(Debug, Default)]
pub(crate) struct Ignored(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    /// Whether the pattern is compared with the whole path; otherwise only with the name of the file or
    /// folder.
    is_path: bool,
    folders_only: bool,
    /// Whether matching paths belong to the package.
    is_exception: bool,
}

impl Ignored {
    /// Reads the patterns for a package: first the patterns for all packages, then the file `.windlassignore` in
    /// `folder`.
    pub(crate) fn of(folder: &Path) -> (Self, Diagnostics) {
        let (mut ignored, mut diagnostics) = (Self::default(), Diagnostics::new());
        ignored.add(&Source::new(FILE, ALWAYS), &mut diagnostics);
        let file = folder.join(FILE);
        if file.symlink_metadata().is_ok() {
            match disk::source(&file) {
                Ok(source) => ignored.add(&source, &mut diagnostics),
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
        (ignored, diagnostics)
    }

    fn add(&mut self, source: &Arc<Source>, diagnostics: &mut Diagnostics) {
        let mut start = 0;
        for line in source.text().split_inclusive('\n') {
            let word = line.trim();
            if !word.is_empty() && !word.starts_with('#') {
                match rule(word) {
                    Ok(rule) => self.0.push(rule),
                    Err(error) => {
                        let at = start + line.find(word).unwrap_or_default();
                        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
                        let span = Span::new(number(at), number(at + word.len()));
                        let message = format!("`{word}` is no pattern: {}", error.msg);
                        diagnostics.push(
                            Diagnostic::error(codes::BAD_PATTERN, message)
                                .at(source.place(span))
                                .help("write a path with `*`, `?`, `**` or `[a-z]`, as `*.log`"),
                        );
                    }
                }
            }
            start += line.len();
        }
    }

    /// Tells whether a path, relative to the package folder, is excluded from the package.
    pub(crate) fn has(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let matches = |rule: &&Rule| {
            let subject = if rule.is_path { path } else { name };
            (is_folder || !rule.folders_only) && rule.pattern.matches_with(subject, OPTIONS)
        };
        self.0.iter().rev().find(matches).is_some_and(|rule| !rule.is_exception)
    }
}

fn rule(word: &str) -> Result<Rule, glob::PatternError> {
    let (is_exception, word) = word.strip_prefix('!').map_or((false, word), |word| (true, word));
    // A backslash escapes a leading `#` or `!`.
    let word = word.strip_prefix('\\').unwrap_or(word);
    let (folders_only, word) = word.strip_suffix('/').map_or((false, word), |word| (true, word));
    let is_path = word.contains('/');
    let pattern = Pattern::new(word.strip_prefix('/').unwrap_or(word))?;
    Ok(Rule { pattern, is_path, folders_only, is_exception })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn ignored(list: &str) -> (Ignored, Vec<String>) {
        let (mut ignored, mut diagnostics) = (Ignored::default(), Diagnostics::new());
        ignored.add(&Source::new(FILE, ALWAYS), &mut diagnostics);
        ignored.add(&Source::new(FILE, list), &mut diagnostics);
        (ignored, diagnostics.iter().map(ToString::to_string).collect())
    }

    #[rstest]
    #[case::backups("", &["Start.sh~", "scripts/Start.sh~", ".Start.sh.swp", "a/#Start.sh#", "x.orig"], true)]
    #[case::readmes("", &["README", "README.md", "scripts/readme.txt"], true)]
    #[case::itself("", &[".windlassignore"], true)]
    #[case::others("", &["Start.sh", "README-template.sh", "a/b.swp", ".env", "#x"], false)]
    #[case::names("*.log\nnotes.txt", &["a.log", "b/c/a.log", "b/notes.txt"], true)]
    #[case::paths("/build\ndoc/*.md", &["build", "doc/a.md"], true)]
    #[case::paths_are_whole("/build\ndoc/*.md", &["a/build", "a/doc/a.md", "doc/b/a.md"], false)]
    #[case::deep("doc/**/*.md", &["doc/a.md", "doc/b/c/a.md"], true)]
    #[case::exception("*.log\n!keep.log\n!README.md", &["keep.log", "README.md"], false)]
    #[case::last_decides("!a.log\n*.log", &["a.log"], true)]
    #[case::comments("# *.sh\n\n", &["Start.sh", "# *.sh"], false)]
    #[case::escapes("\\#a\n\\!b", &["#a", "!b"], true)]
    fn a_path_is_ignored(#[case] list: &str, #[case] paths: &[&str], #[case] expected: bool) {
        let (ignored, said) = ignored(list);
        assert_eq!(said, [""; 0]);
        for path in paths {
            assert_eq!(ignored.has(path, false), expected, "{path}");
        }
    }

    #[test]
    fn a_slash_at_the_end_means_folders() {
        let (ignored, _) = ignored("tmp/");
        assert!(ignored.has("a/tmp", true) && !ignored.has("a/tmp", false));
    }

    #[test]
    fn a_bad_pattern_has_a_place() {
        let (_, said) = ignored("*.log\n  [a\n");
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains(".windlassignore:2:3") && said[0].contains("`[a` is no pattern"),
            "{said:?}"
        );
    }
}
