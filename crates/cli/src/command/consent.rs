//! Questions on the terminal, for example before a plan that removes or replaces installed parts.

use std::io::{IsTerminal as _, stdin, stdout};
use std::process::ExitCode;

use windlass::Error;
use windlass::engine::{Consent, DestructivePlan, EngineError, Stop};

use super::{fail, plan};
use crate::args::Format;
use crate::exit;
use crate::output::{STRONG, print_prompt, styled, tell};

/// Asks on the terminal whether to run a plan. If the user can't be asked, refuses the plan.
pub(crate) async fn ask(
    destructive: Box<DestructivePlan>,
    format: Format,
    stop: &Stop,
) -> Result<Consent, ExitCode> {
    if !can_ask(format) {
        return Err(fail(&EngineError::NeedsConsent(destructive).into()));
    }
    plan::print_destructive(&destructive.changes);
    let name = styled(STRONG, &destructive.assembly);
    confirm(&format!("{name}: run this plan?"), stop).await?;
    Ok(Consent::Plan(destructive.fingerprint))
}

/// Tells whether the user can be asked: the output format is text, and input and output are terminals.
pub(crate) fn can_ask(format: Format) -> bool {
    format == Format::Human && stdin().is_terminal() && stdout().is_terminal()
}

/// Asks a question on the terminal. If the answer is not yes, returns the exit code as the error.
pub(crate) async fn confirm(question: &str, stop: &Stop) -> Result<(), ExitCode> {
    print_prompt(&format!("{question} [y/N] "));
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        stdin().read_line(&mut line).map(|_| line)
    });
    tokio::select! {
        biased;
        () = stop.requested() => Err(fail(&Error::from(EngineError::Stopped))),
        answer = answer => match answer {
            Ok(Ok(line)) if is_yes(&line) => Ok(()),
            _ => {
                tell!("not agreed; nothing was changed");
                Err(exit::wrong_input())
            }
        },
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_yes_agrees() {
        for yes in ["y\n", "Y\n", "yes\n", " YES \n"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yep\n", "ye\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
