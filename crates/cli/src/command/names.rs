//! The hidden command `windlass complete-names WORD…`, which completes names from the store.
//!
//! The scripts of `windlass completions` need no help to complete commands and options. To complete names of
//! assemblies, parts and processes, the scripts call this hidden command with the words of the command line.
//! The last word is incomplete. The command prints one candidate per line and changes nothing. It prints no
//! errors, because they would appear in the line that the user is typing.

mod place;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use windlass::Windlass;
use windlass::model::AssemblyName;

use self::place::{Place, Wanted};
use super::{STATE, disk, environment, open, wait_for};
use crate::exit;
use crate::output::say;

/// Maximum time for finding the names that complete a word in the shell. The limit matters if a remote database is
/// unreachable.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prints the names that can complete the last word of a command line. Returns exit code 0 if only such names can
/// complete the word. Returns exit code 1 if the shell should also offer other completions, such as commands, options
/// or files.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    let Some(Place { wanted, state, typed }) = Place::of(&words) else { return exit::FAILED };
    STATE.get_or_init(|| state.or_else(|| environment("WINDLASS_STATE")?.into_string().ok()));
    let mixed = wanted == Wanted::AssemblyOrFile;
    let find = async move {
        let found = tokio::time::timeout(PATIENCE, candidates(&wanted, &typed)).await;
        for name in found.ok().flatten().unwrap_or_default() {
            if name.starts_with(&typed) {
                say!("{name}");
            }
        }
        if mixed { exit::FAILED } else { exit::DONE }
    };
    wait_for(find)
}

async fn candidates(wanted: &Wanted, typed: &str) -> Option<Vec<String>> {
    if let Wanted::Parameter(file) = wanted {
        return parameters(file);
    }
    let windlass = open(None, None, "complete-names").ok()?;
    Some(match wanted {
        Wanted::Assembly | Wanted::AssemblyOrFile => assemblies(&windlass).await?,
        Wanted::AssemblyOr(words) => {
            words.iter().cloned().chain(assemblies(&windlass).await.unwrap_or_default()).collect()
        }
        Wanted::Part(assembly) => parts(&windlass, assembly, typed).await?,
        Wanted::Cluster(assembly) => {
            let all = windlass.views().clusters(assembly).await.ok()?;
            all.iter().map(|cluster| cluster.local().to_owned()).collect()
        }
        Wanted::Process(assembly) => processes(&windlass, assembly.as_ref(), |_| true).await?,
        Wanted::Running(assembly) => running(&windlass, assembly).await?,
        Wanted::Parameter(_) => return None,
        Wanted::Application => {
            let all = windlass.applications().list().await.ok()?.applications;
            all.into_iter().map(|application| application.name).collect()
        }
        Wanted::Launched => launched(&windlass, Some(false)).await?,
        Wanted::Factory => launched(&windlass, Some(true)).await?,
        Wanted::LaunchedOrFactory => launched(&windlass, None).await?,
        Wanted::Environment => {
            let all = windlass.environments().list().await.ok()?.environments;
            all.iter().map(|environment| environment.name.to_string()).collect()
        }
        Wanted::Version => {
            let all = windlass.views().processes(None).await.ok()?.processes;
            all.iter().map(|process| format!("{}@{}", process.assembly, process.id)).collect()
        }
    })
}

/// Lists the parameters of an assembly as completions, such as `nodes=`. `file` is the assembly's descriptor, or the
/// folder of the descriptor. Returns `None` if the descriptor can't be loaded.
fn parameters(file: &Path) -> Option<Vec<String>> {
    let schema = windlass::schema::parameters(file, &disk()).ok()?;
    let properties = schema.get("properties")?.as_object()?;
    Some(properties.keys().map(|name| format!("{name}=")).collect())
}

async fn assemblies(windlass: &Windlass) -> Option<Vec<String>> {
    Some(windlass.views().assemblies().await.ok()?.iter().map(ToString::to_string).collect())
}

/// Lists launched factories if `is_factory` is `Some(true)`, launched applications if `is_factory` is `Some(false)`,
/// and both for `None`. Returns `None` if the store can't be read.
async fn launched(windlass: &Windlass, is_factory: Option<bool>) -> Option<Vec<String>> {
    let all = windlass.views().launched().await.ok()?.into_iter();
    let wanted = all.filter(|(_, factory)| is_factory.is_none_or(|wanted| wanted == *factory));
    Some(wanted.map(|(name, _)| name.to_string()).collect())
}

/// Lists the parts of an assembly one level at a time. The nodes of a cluster are listed after the user has
/// typed the name of the cluster and `__`.
async fn parts(windlass: &Windlass, assembly: &AssemblyName, typed: &str) -> Option<Vec<String>> {
    let depth = typed.matches("__").count();
    let all = windlass.views().parts(assembly).await.ok()?;
    let names = all.iter().map(|part| part.local().to_owned());
    Some(names.filter(|name| name.matches("__").count() <= depth).collect())
}

async fn processes(
    windlass: &Windlass,
    assembly: Option<&AssemblyName>,
    wanted: impl Fn(&windlass::view::process::ProcessSummary) -> bool,
) -> Option<Vec<String>> {
    let all = windlass.views().processes(assembly).await.ok()?.processes;
    Some(all.iter().filter(|process| wanted(process)).map(|process| process.id.to_string()).collect())
}

/// Lists the processes and requests that can be cancelled.
async fn running(windlass: &Windlass, assembly: &AssemblyName) -> Option<Vec<String>> {
    let mut found = processes(windlass, Some(assembly), |process| !process.status.is_final()).await?;
    let requests = windlass.views().processes(Some(assembly)).await.ok()?.requests;
    found.extend(requests.iter().map(|request| request.id.to_string()));
    Some(found)
}
