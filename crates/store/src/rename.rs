//! The renaming of an assembly, as far as it does not depend on the kind of store.

use std::collections::{BTreeMap, BTreeSet};

use windlass_model::record::{PlanText, ProcessRecord};
use windlass_model::rename::Renaming;
use windlass_model::{AssemblyName, ProcessId};

/// The renaming of an assembly, in all of its records.
///
/// A renaming is a change in a [`Batch`](crate::Batch). If records of other assemblies name the renamed assembly,
/// the renaming also changes these records. A batch may change an assembly only with a [`Lease`](crate::Lease) on
/// the assembly. So the leases of the other assemblies must be added to the batch by
/// [`beside`](crate::Batch::beside).
#[derive(Debug, Clone)]
pub struct Rename {
    /// The old and the new name.
    pub renaming: Renaming,
    /// The other assemblies whose records contain the old name. These are the assemblies that refer to the renamed
    /// assembly, and the assemblies that the renamed assembly owns.
    pub others: BTreeSet<AssemblyName>,
    /// The new plans of processes. A store can't read plans, so the caller has replaced the old name of the
    /// assembly by the new name in these plans. If a process has no plan in this map, its old plan stays.
    pub plans: BTreeMap<ProcessId, PlanText>,
}

impl Rename {
    /// Returns the assemblies whose records change: first the renamed assembly under its old name, then `others`.
    pub fn scopes(&self) -> impl Iterator<Item = &AssemblyName> {
        std::iter::once(&self.renaming.from).chain(&self.others)
    }

    /// Returns a copy of a process record, with the new name of the assembly in place of the old name, and with the plan
    /// of the process from [`plans`](Self::plans). For records of other types, use [`Renaming::record`].
    ///
    /// # Errors
    ///
    /// Fails if the record with the new name can't be read, for example because the new name is too long.
    pub fn process(&self, record: &ProcessRecord) -> Result<ProcessRecord, serde_json::Error> {
        let mut renamed = self.renaming.record(record)?;
        if let Some(plan) = self.plans.get(&record.id) {
            renamed.plan = plan.clone();
        }
        Ok(renamed)
    }
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use self::rows::{ROWS, Rows};

/// The tables that a renaming changes in the same way: the renaming replaces the old name in the JSON of the column
/// `record`. Other tables, such as `version` and `secret`, need code of their own.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod rows {
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use windlass_model::record::{
        CallRecord, ElementRecord, EventDraft, InstanceRecord, JobRecord, PairRecord, StepRecord,
    };
    use windlass_model::request::RequestRecord;

    use super::{ProcessRecord, Rename};

    type Text = Result<String, serde_json::Error>;

    /// The rows of one assembly in a table.
    pub(crate) struct Rows {
        pub(crate) table: &'static str,
        /// The SQL condition that selects the rows. Its parameter 1 is the name of the assembly. The code for
        /// PostgreSQL replaces `= $1` by `= ANY($1)`, in order to select the rows of several assemblies at once.
        pub(crate) of_assembly: &'static str,
        /// Takes the JSON of a record, and returns the JSON with the new name of the assembly.
        pub(crate) renamed: fn(&Rename, &str) -> Text,
    }

    fn record<R: Serialize + DeserializeOwned>(rename: &Rename, text: &str) -> Text {
        rename.renaming.json(&serde_json::from_str::<R>(text)?)
    }

    fn process(rename: &Rename, text: &str) -> Text {
        serde_json::to_string(&rename.process(&serde_json::from_str::<ProcessRecord>(text)?)?)
    }

    const OF_PROCESS: &str = "process IN (SELECT id FROM process WHERE assembly = $1)";

    const OF_CALL: &str = "id IN (SELECT job_call.job FROM job_call JOIN call ON call.id = job_call.call
        JOIN process ON process.id = call.process WHERE process.assembly = $1)";

    /// The tables, each with the condition that selects the rows of an assembly. The conditions for jobs, calls and
    /// steps read the column `assembly` of the table `process`. So a rename must first change the column `record` in
    /// all tables of this list. Only then may it change the column `assembly`.
    pub(crate) const ROWS: [Rows; 9] = [
        Rows { table: "element", of_assembly: "assembly = $1", renamed: record::<ElementRecord> },
        Rows { table: "instance", of_assembly: "assembly = $1", renamed: record::<InstanceRecord> },
        Rows { table: "pair", of_assembly: "assembly = $1", renamed: record::<PairRecord> },
        Rows { table: "job", of_assembly: OF_CALL, renamed: record::<JobRecord> },
        Rows { table: "call", of_assembly: OF_PROCESS, renamed: record::<CallRecord> },
        Rows { table: "step", of_assembly: OF_PROCESS, renamed: record::<StepRecord> },
        Rows { table: "process", of_assembly: "assembly = $1", renamed: process },
        Rows { table: "request", of_assembly: "assembly = $1", renamed: record::<RequestRecord> },
        Rows { table: "event", of_assembly: "assembly = $1", renamed: record::<EventDraft> },
    ];
}
