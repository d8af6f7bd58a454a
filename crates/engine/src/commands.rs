//! Commands that an operator called: their records and results.
//!
//! A command may still be open when its process has ended: a later health check may report the final result.
//! The store keeps the record of a command as a document of the assembly. While the command is open, the record
//! of its element contains the command's id. The [arguments](crate::command_arguments) of the command stay in the
//! store, sealed, until the command ends. The engine needs them to mask secret arguments in later results.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use windlass_driver::{OpenCommand, texts};
use windlass_model::document::{DocumentDraft, DocumentKey, DocumentKind, DocumentScope, Expected};
use windlass_model::instance::LogEntry;
use windlass_model::pins::Pins;
use windlass_model::record::{CallRecord, CallState, CommandRecord, CommandState};
use windlass_model::rename::Renaming;
use windlass_model::{Action, AssemblyName, CommandId, ElementName, ProcessId, Timestamp};
use windlass_store::{Batch, Change, Snapshot, Store};

use crate::command_arguments;
use crate::error::EngineError;
use crate::sealing::KnownSecrets;
use crate::world::{Commands, World};

/// The maximum number of ended commands that the store remembers for each assembly. The oldest records are removed
/// first.
pub const KEPT_COMMANDS: usize = 20;

/// The maximum number of records of commands that are read at once.
const PAGE: usize = 1000;

/// The version of the format in which the store keeps a [`CommandRecord`].
const VERSION: u32 = 1;

/// Reads the record of a command of an assembly. The command may have ended.
///
/// # Errors
/// An error of the store.
pub async fn command(
    store: &dyn Store,
    assembly: &AssemblyName,
    id: &CommandId,
) -> Result<Option<CommandRecord>, EngineError> {
    let found = store.document(&key(assembly, id)).await?;
    Ok(found.and_then(|document| serde_json::from_value(document.body).ok()))
}

/// Reads the records of those commands of an assembly that have not ended.
pub(crate) async fn open(store: &dyn Store, snapshot: &Snapshot) -> Result<Commands, EngineError> {
    let mut commands = Commands::new();
    let ids = snapshot.elements.values().flat_map(|element| &element.commands);
    for id in ids {
        if let Some(record) = command(store, &snapshot.assembly.name, id).await? {
            commands.insert(id.clone(), record);
        }
    }
    Ok(commands)
}

/// Returns the documents of an assembly's commands, with the new name of the assembly. The caller stores them after the
/// assembly has its new name.
pub(crate) async fn renamed(
    store: &dyn Store,
    renaming: &Renaming,
) -> Result<Vec<DocumentDraft>, EngineError> {
    let documents = store.documents(&scope(&renaming.from), &kind(), None, PAGE).await?;
    let records = documents.into_iter().filter_map(|document| serde_json::from_value(document.body).ok());
    let renamed = records.filter_map(|record: CommandRecord| renaming.record(&record).ok());
    Ok(renamed.map(|record| draft(&renaming.to, &record)).collect())
}

/// Drops the oldest ended commands of an assembly. Fewer than [`KEPT_COMMANDS`] of them remain, which leaves room for a
/// command that is about to begin.
pub(crate) async fn drop_oldest(
    store: &dyn Store,
    assembly: &AssemblyName,
    batch: &mut Batch,
) -> Result<(), EngineError> {
    let documents = store.documents(&scope(assembly), &kind(), None, PAGE).await?;
    let records = documents.into_iter().filter_map(|document| serde_json::from_value(document.body).ok());
    let mut ended: Vec<CommandRecord> =
        records.filter(|record: &CommandRecord| record.state.is_final()).collect();
    ended.sort_by_key(|record| std::cmp::Reverse((record.started, record.process)));
    for record in ended.iter().skip(KEPT_COMMANDS - 1) {
        batch.push(Change::DropDocument(Box::new(key(assembly, &record.id)), Expected::Any));
    }
    Ok(())
}

/// Records the beginning of a command.
///
/// `late` is the length of the period in which a health check may report results of the command. The period begins with
/// the command. `None` means that only the call of the command can report results.
pub(crate) fn begin(world: &mut World, call: &CallRecord, late: Option<Duration>, batch: &mut Batch) {
    let Action::Command(command) = &call.action else { return };
    let millis = |late: Duration| i64::try_from(late.as_millis()).unwrap_or(i64::MAX);
    let record = CommandRecord {
        id: CommandId::of(&call.id),
        element: call.element.clone(),
        command: command.clone(),
        process: call.process,
        started: call.started,
        deadline: late.map(|late| call.started.plus_millis(millis(late))),
        state: CommandState::Running,
        results: Vec::new(),
        ended: None,
    };
    put(world, record, batch);
}

/// Records the end of the call of a command. The command stays open if its final result may arrive later.
pub(crate) fn call_ended(
    world: &mut World,
    call: &CallRecord,
    state: &CallState,
    now: Timestamp,
    batch: &mut Batch,
) {
    if !matches!(call.action, Action::Command(_)) {
        return;
    }
    let Some(mut record) = world.commands.get(&CommandId::of(&call.id)).cloned() else {
        return command_arguments::forget(world, call.process, batch);
    };
    match state {
        CallState::Failed(failure) => record.end(CommandState::Failed(failure.message.clone()), now),
        CallState::Undecided => record.end(CommandState::Failed("its outcome is unknown".to_owned()), now),
        CallState::Succeeded => record.call_succeeded(now),
        CallState::AssumedDone => record.end(CommandState::Completed, now),
        CallState::AssumedNotDone => record.end(CommandState::Failed("it was not done".to_owned()), now),
        CallState::Open | CallState::Converging { .. } => return,
    }
    put(world, record, batch);
}

/// Ends the [overdue](CommandRecord::is_overdue) commands of `element`. Returns one entry of the activity log for each
/// of these commands.
pub(crate) fn expire(
    world: &mut World,
    element: &ElementName,
    now: Timestamp,
    batch: &mut Batch,
) -> Vec<LogEntry> {
    let overdue = |record: &&CommandRecord| record.element == *element && record.is_overdue(now);
    let overdue: Vec<CommandRecord> = world.commands.values().filter(overdue).cloned().collect();
    let mut log = Vec::new();
    for mut record in overdue {
        log.push(record.expire(now));
        put(world, record, batch);
    }
    log
}

/// The results that a driver has reported for commands. Each entry contains the id of a command and the results
/// of this command.
pub(crate) type Results = Vec<(CommandId, Vec<Value>)>;

/// Tells whether an element has an open command with this id.
pub(crate) fn is_open(world: &World, element: &ElementName, id: &CommandId) -> bool {
    world.commands.get(id).is_some_and(|record| record.element == *element)
}

/// Records results of commands. The first result that is not intermediate ends its command. Returns entries for
/// the activity log. `pins` contains the declarations of the commands; `None` if the element belongs to no application.
/// A result that contradicts the declaration of its command is recorded, too, and the log contains a warning.
pub(crate) fn record(
    world: &mut World,
    results: Results,
    pins: Option<&Pins>,
    secrets: &KnownSecrets,
    now: Timestamp,
    batch: &mut Batch,
) -> Vec<LogEntry> {
    let mut log = Vec::new();
    for (id, values) in results {
        let Some(mut record) = world.commands.get(&id).cloned() else { continue };
        let mask = |mut value: Value| {
            secrets.redactor().mask_value(&mut value);
            value
        };
        let signature = pins.and_then(|pins| pins.command(&record.command));
        for value in values {
            // The masked value may have another type.
            let signature = signature.filter(|_| !record.state.is_final());
            let misfits = signature.map(|signature| record.misfits(&value, signature)).unwrap_or_default();
            log.extend(record.take_results([mask(value)], now));
            log.extend(
                misfits.into_iter().map(|misfit| LogEntry {
                    message: secrets.redactor().mask_str(&misfit.message),
                    ..misfit
                }),
            );
        }
        put(world, record, batch);
    }
    log
}

/// Returns the open commands of an element, each with the texts of its secret arguments.
pub(crate) fn awaited(world: &World, element: &ElementName) -> Vec<OpenCommand> {
    let own = world.commands.values().filter(|record| record.element == *element);
    let command = |record: &CommandRecord| {
        let arguments = command_arguments::open(world, record.process).unwrap_or_default();
        let secret = arguments.values().filter(|input| input.sensitive);
        OpenCommand { id: record.id.clone(), secrets: secret.flat_map(|input| texts(&input.value)).collect() }
    };
    own.map(command).collect()
}

/// Drops the sealed arguments of the command that a process has called. A command that still awaits results
/// keeps its arguments.
pub(crate) fn forget_arguments(world: &mut World, process: ProcessId, batch: &mut Batch) {
    if !world.commands.values().any(|record| record.process == process) {
        command_arguments::forget(world, process, batch);
    }
}

/// Stores the record of a command. While the command is open, the record of its element lists the command. When
/// the command has ended, it is removed from that list, and its arguments are dropped.
fn put(world: &mut World, record: CommandRecord, batch: &mut Batch) {
    let (id, is_final) = (record.id.clone(), record.state.is_final());
    batch.push(Change::PutDocument(Box::new(draft(&world.assembly.name, &record))));
    if is_final {
        command_arguments::forget(world, record.process, batch);
    }
    if let Some(element) = world.elements.get_mut(&record.element) {
        let changed =
            if is_final { element.commands.remove(&id) } else { element.commands.insert(id.clone()) };
        if changed {
            batch.push(Change::PutElement(Box::new(element.clone())));
        }
    }
    if is_final {
        world.commands.remove(&id);
    } else {
        world.commands.insert(id, record);
    }
}

fn draft(assembly: &AssemblyName, record: &CommandRecord) -> DocumentDraft {
    DocumentDraft {
        key: key(assembly, &record.id),
        expected: Expected::Any,
        version: VERSION,
        body: serde_json::to_value(record).expect("a record is plain data"),
        secrets: None,
        packages: BTreeSet::new(),
    }
}

pub(crate) fn key(assembly: &AssemblyName, id: &CommandId) -> DocumentKey {
    let name = id.as_str().parse().expect("the id of a command is a name of a document");
    DocumentKey { scope: scope(assembly), kind: kind(), name }
}

pub(crate) fn kind() -> DocumentKind {
    "command".parse().expect("it is a short word")
}

fn scope(assembly: &AssemblyName) -> DocumentScope {
    DocumentScope::Assembly(assembly.clone())
}
