//! The codes of this crate: `WL0500` to `WL0549`, for the errors of intents.
//!
//! The codes of planning errors are also in this module, since the crate `windlass-lifecycle` defines no codes.

windlass_source::codes! {
    UNKNOWN = "WL0500", "unknown assembly",
        "The store has no assembly with this name. Nothing was changed.\n\n\
         `windlass status` lists the assemblies. The store belongs to a project, so run the command in the \
         project's folder, and check `--state` and the variable `WINDLASS_STATE`. `windlass up FILE` creates \
         an assembly from its descriptor.";
    NAME_TAKEN = "WL0501", "name of another assembly",
        "An assembly with this name was created from another descriptor. `up` does not turn one assembly \
         into another, so it has started no step. A launch of an application never changes an existing \
         assembly, even if the launch was queued before that assembly was created. A queued launch reserves the \
         name of its application.\n\n\
         Choose another name with `--name`, or remove the other assembly with `windlass down NAME` first.";
    NOTHING = "WL0502", "no assembly to change",
        "The intent changes an existing assembly, and this project has none. Nothing was changed.\n\n\
         Run the command in the folder of the project, and check `--state` and the variable \
         `WINDLASS_STATE`. `windlass up FILE` creates an assembly.";
    GOING_DOWN = "WL0503", "assembly that is being removed",
        "A `windlass down` of this assembly has begun and has not completed. windlass refuses this intent \
         until then, and has started no step.\n\n\
         Complete the removal with `windlass down NAME`, or create the parts again with `windlass up FILE`.";
    REFERENCED = "WL0504", "assembly that others reference",
        "Other assemblies reference this one and may use the parts that the intent would remove or \
         re-create. windlass has started no step.\n\n\
         Remove the referring assemblies first, each with `windlass down NAME`. Before an `export`, export them \
         instead, and import them after this assembly. `--force` executes the \
         intent nevertheless. The referring assemblies then keep values that may no longer be right.";
    ENTANGLED = "WL0505", "interrupted process of a referring assembly",
        "A process of a referring assembly was interrupted while it called operations on parts of this \
         assembly. The outcome of these calls is unknown, and their jobs may still run. windlass has started \
         no step.\n\n\
         Resume that process with `windlass retry NAME`, with the name of the referring assembly. Then run \
         the command again.";
    INTERRUPTED = "WL0506", "interrupted process of a referenced assembly",
        "The plan calls operations on parts of another assembly, and a process of that assembly was \
         interrupted. windlass has started no step, because the outcome of the interrupted process is \
         unknown.\n\n\
         Resume that process with `windlass retry NAME`, with the name of the other assembly. Then run the \
         command again.";
    UNFINISHED = "WL0507", "unfinished process or change",
        "The last process of the assembly was interrupted, or an instance is still changing after a process that was \
         stopped. `export`, `rename` and `forget` need the outcome of all calls. Nothing was changed.\n\n\
         If an instance is still changing, run `windlass up` to keep the assembly, or `windlass down NAME` to remove it. \
         Both wait for the end of the change. Then run the command again.\n\n\
         If the process was interrupted, resume the process with `windlass retry NAME`, and run the command again. If its parts can't be \
         reached any more, `windlass forget NAME --force` removes the records of the whole assembly.";
    IMPORTED_BEFORE = "WL0508", "export that was imported before",
        "This export was imported into this store before; the message gives the time. The file describes the \
         assembly at the time of the export, so a second import would bring back outdated records. Nothing \
         was changed.\n\n\
         Remove the file. To move the assembly back from another store, export it there with `windlass \
         export NAME`, and import the new file.";
    ALREADY_HERE = "WL0509", "name of an existing assembly",
        "The store already has an assembly with the name of the imported one. Nothing was changed, and the \
         file still owns its assembly.\n\n\
         Give the existing assembly another name with `windlass rename NAME OTHER`, or move it to a file with \
         `windlass export NAME`. If its components are no longer needed, `windlass down NAME` removes them. Then \
         import the file again.";
    OTHER_PLAN = "WL0510", "saved plan or request that is out of date",
        "The steps or changes that windlass would make now differ from those of the saved plan. windlass \
         executes exactly the saved plan or nothing, so it has started no step.\n\n\
         Save a new plan with `windlass plan FILE -o PLAN`, or with the intent's `--dry-run -o PLAN`. \
         Execute it with `windlass apply PLAN`.\n\n\
         The code also belongs to a `windlass app reconfigure` that keeps the values which it does not set. If another \
         command has changed a value or the revision of the application since, the reconfiguration would undo this \
         change. windlass has started no step. Repeat the reconfiguration.";
    REFERENCE_GONE = "WL0511", "referenced assembly that can't be used",
        "A referenced assembly does not exist, is being removed, or references this assembly in turn. \
         windlass has started no step and imported nothing.\n\n\
         Create the referenced assembly first with `windlass up FILE`, or import it first with `windlass \
         import FILE`. Two assemblies can't reference each other: remove one of the references.";
    NO_VERSION = "WL0512", "no such version",
        "The assembly has no version to roll back to, or did not exist before the given process. A rollback \
         does not use versions from before the last `windlass down`, and `windlass prune` removes old \
         versions. Nothing was changed.\n\n\
         `windlass history NAME` lists the versions. `windlass rollback NAME --to PROCESS` selects one.";
    UNPLACEABLE = "WL0513", "parts that can't be placed or adopted",
        "A part has no usable location, no runtime or no driver, or can't be adopted. windlass checks this \
         before it starts anything, and has started no step. The message names the parts and the reasons.\n\n\
         Correct `locations` in `windlass.yaml`, the part's `deploymentLocation`, or the drivers of its \
         resource. A resource can be adopted if it declares the transition Adopt or has `queries`. An application keeps \
         the location at which it was launched. If this location was removed or renamed, declare it again under its \
         former name.";
    NEEDS_DECISION = "WL0514", "calls with an unknown outcome",
        "The outcome of these calls is unknown, and they must not run twice. windlass refuses every intent \
         of the assembly until each of them has an answer, and has started no step.\n\n\
         If the message names another machine or folder from which a job was started, run `windlass retry NAME` \
         there: it waits for the job and finds the outcome.\n\n\
         Otherwise, check the parts, then run `windlass retry NAME --assume done`, `not-done` or `failed`. \
         `--of PART` answers for one part, and `--of CALL` for one call. windlass records these answers, and then asks \
         only for the answers that are still missing. `windlass down NAME` and `windlass app destroy NAME` take the same \
         options: they remove the parts, and do not resume the last intent.";
    NOTHING_TO_DECIDE = "WL0515", "answer without a question",
        "`--assume` reports the outcome of calls, and all outcomes are known. The answer has no effect, and \
         windlass has started no step.\n\n\
         Run `windlass retry NAME` without `--assume`.";
    NOT_OBSERVED = "WL0516", "answer in a dry run after an interruption",
        "A process was interrupted, and the outcome of its calls is not determined yet. Determining it may \
         change something, so a dry run does not do that. It therefore can't use the answer of \
         `--assume`.\n\n\
         Resume the process with `windlass retry NAME`. If a call then needs an answer, the message says so.";
    NOT_UNDECIDED = "WL0517", "call that needs no answer",
        "`--of` names a call whose outcome is known. No answer is recorded, and windlass has started no \
         step.\n\n\
         The message lists the calls that need an answer. Pass the id of one of them to `--of`, or omit \
         `--of` to answer for all.";
    NO_UNDECIDED_CALL = "WL0518", "part that needs no answer",
        "`--of` names a part without a call of unknown outcome. No answer is recorded, and windlass has \
         started no step.\n\n\
         The message lists the parts that need an answer. Pass one of them to `--of`, or omit `--of` to \
         answer for all.";
    DAMAGED_CALL = "WL0519", "damaged record of a call",
        "The record of an open call does not fit its step, so windlass has not written it in this form. \
         windlass refuses every intent of the assembly and starts no step.\n\n\
         Restore the store from a backup. If no other program has changed the store, please report this as a \
         bug.";
    NOT_PUBLISHED = "WL0520", "impossible answer",
        "The answer of `windlass retry --assume` names an output or an instance id that the call can't have \
         reported. The message gives the reason. The answer is not recorded, and windlass has started no \
         step.\n\n\
         Correct `--published`, `--published-from`, `--natural` or `--of`, and run the command again.";
    NOT_AN_ARGUMENT = "WL0521", "bad name of an argument",
        "The name of a command's argument is not a valid name of a property; the message gives the rule. \
         Nothing was called.\n\n\
         Correct the name in `-a KEY=VALUE`, or in the file of `--arguments`.";
    NOT_CALLABLE = "WL0522", "command that can't be called",
        "The part declares no such command, is not a resource, or is absent or failed. Nothing was \
         called.\n\n\
         A resource declares its commands in the section `commands` of its descriptor; the message lists \
         them. windlass uses the descriptor that the part was created with. `windlass up FILE` creates an \
         absent or failed part.";
    UNNAMED = "WL0523", "instance with an unknown id",
        "The launch script of a part may choose the id of its instance, and the output of this script is lost. \
         Without the id, nothing can find the instance again. The answer `done` is not recorded, and windlass \
         has started no step.\n\n\
         Find the id of the instance, and run `windlass retry NAME --assume done --of PART --natural ID`. If \
         the script does not choose an id, then the instance has the id that the error names. If no instance \
         exists, answer `not-done` instead.";
    PACKAGE_GONE = "WL0524", "package missing from the store",
        "The assembly was created with a package that the store no longer has. windlass keeps a package as \
         long as an assembly uses it, so the store is damaged. windlass has started no step.\n\n\
         Restore the store from a backup. If no other program has changed the store, please report this as a \
         bug.";
    PACKAGE_UNREADABLE = "WL0525", "unreadable package",
        "A package in the store or in an imported file can't be read, or does not match its digest. windlass \
         runs no script from it, and has started no step and imported nothing.\n\n\
         Restore the store from a backup, or import another copy of the file.";
    UNREACHABLE = "WL0526", "runtime that does not answer",
        "windlass can't find out whether jobs of an earlier process still run, because a runtime does not \
         answer or can't be opened. Such a job must not run twice, so windlass has started no step.\n\n\
         Start the runtime; `windlass doctor` lists the runtimes and their problems. Then run the command \
         again. If a container engine will never answer again, remove the file that mentions it. The message \
         names the folder of this file.";
    REQUEST_ENDED = "WL0527", "request that is no longer pending",
        "Another process has begun or refused the request, or it was withdrawn. windlass executes a request \
         at most once, so it has started no step here.\n\n\
         `windlass ps show REQUEST` shows its state, and `windlass log NAME` its result.";
    REQUEST_UNREADABLE = "WL0528", "unreadable request",
        "The content of a queued request can't be read. A windlass of another version has probably written \
         it. windlass has refused the request and started none of its steps.\n\n\
         Run the command again. Use the same version on all machines that share the store.";
    STOPPED = "WL0529", "stopped before the first step",
        "The command was interrupted before any step of its plan started. If it waited for `windlass run`, \
         its request is withdrawn. The outcomes of earlier calls that windlass has determined meanwhile are \
         recorded.\n\n\
         Run the same command again.";
    NO_CLUSTER = "WL0530", "part that is not a cluster",
        "Only a cluster can be scaled. A component is a cluster if its descriptor has the section `cluster`. \
         windlass has started no step.\n\n\
         The message lists the clusters of the assembly. Name one of them, or add the section to the \
         descriptor and run `windlass up FILE`. The nodes of a cluster with `each` are the entries of a \
         list: add entries to it, or remove them, and run `windlass up FILE`.";
    TOO_MANY_NODES = "WL0531", "more nodes than the maximum",
        "The cluster would have more nodes than its `maximum-nodes`. windlass adds all nodes of an increment \
         or none, and has started no step.\n\n\
         Raise `maximum-nodes`, or lower `scaling-increment`, in the descriptor, and run `windlass up FILE`. \
         Then scale again.";
    TOO_FEW_NODES = "WL0532", "fewer nodes than the minimum",
        "The cluster would have fewer nodes than its `minimum-nodes`. windlass removes all nodes of an \
         increment or none, and has started no step.\n\n\
         Lower `minimum-nodes`, or `scaling-increment`, in the descriptor, and run `windlass up FILE`. Then \
         scale again.";
    EMPTY_CLUSTER = "WL0533", "cluster without a node",
        "A new node is a copy of an existing node of its cluster, and this cluster has none. windlass has \
         started no step.\n\n\
         Give the cluster another `initial-quantity`, of at least 1, in the descriptor. Run `windlass up \
         FILE`, which creates these nodes from the descriptor.";
    HEAL_UNKNOWN = "WL0534", "no such part to heal",
        "The assembly does not describe a part with this name, so there is nothing to heal. windlass has \
         started no step. The message lists the resources of the assembly.\n\n\
         Name one of them, as in `windlass heal NAME PART`. If the part is left over from an earlier \
         version, `windlass up FILE` removes it.";
    KEEPS_NO_INSTANCE = "WL0535", "change that would not keep an instance",
        "The reconfiguration of a launched application never launches the application again. The plan of this \
         reconfiguration creates, replaces or removes the instance, for example because an earlier `windlass app \
         destroy` was interrupted. windlass has started no step.\n\n\
         `windlass status NAME` shows the state of the application. `windlass retry NAME` completes an interrupted launch \
         or destruction.";
    HEAL_REFERENCE = "WL0536", "reference instead of a part",
        "The name is that of a reference. windlass does not manage the referenced instance as part of this \
         assembly, and has started no step.\n\n\
         Heal it in the assembly that owns it: `windlass heal NAME PART`.";
    PLAN_ORDER = "WL0537", "steps that wait for each other",
        "The waits of the plan form a cycle, so no order of the steps satisfies all of them. windlass has \
         started no step.\n\n\
         The message lists a shortest cycle, with the place of each wait in the descriptor, and changes that \
         break it. Give a relationship another state or modifier, or a property a fixed value. `windlass \
         plan FILE` then shows the plan and changes nothing.";
    PLAN_VALUE = "WL0538", "property without a possible value",
        "The plan needs the value of a property that can't have one. Properties read each other in a cycle, \
         an installed part has not published an output, or the values are too large. windlass has started no \
         step.\n\n\
         `windlass resolve FILE` prints the known values of the descriptor. If a part has not published an \
         output, re-create it with `windlass up FILE --replace PART`.";
    PLAN_UNKNOWN = "WL0539", "plan for an unknown part",
        "The intent names a part that neither the desired nor the installed assembly has. windlass has \
         started no step. The message lists the existing parts.\n\n\
         `windlass status NAME` shows the parts of the assembly. Name one of them.";
    NO_PLAN = "WL0540", "no plan",
        "windlass can't make a plan for the intent; the message gives the reason. windlass has started no \
         step.\n\n\
         Correct the descriptor or the arguments. `windlass plan FILE` shows the plan of `up` and changes \
         nothing; `--dry-run` does so for the other intents.";
    NEEDS_CONSENT = "WL0541", "plan that removes or replaces parts",
        "The plan would remove or replace installed parts. On a terminal, windlass asks \
         before it runs such a plan. Elsewhere it needs `--yes`. Nothing was changed.\n\n\
         Run the command with `--dry-run` to see the plan. Then run it with `--yes`, or save the plan with \
         `--dry-run -o PLAN` and run `windlass apply PLAN`. `windlass run` refuses a request if its plan has \
         changed since you agreed to it: run the command again.\n\n\
         `heal`, a policy and a resumed process replace no other parts by themselves. If they need such a \
         replacement, the message names the command that makes it.";
    PROTECTED = "WL0542", "protected part that would be removed or replaced",
        "The part, or an element around it, has `protect: true`, or the assembly was brought up with \
         `--protect`. No intent removes or replaces it, and no option overrides that. windlass has started \
         no step.\n\n\
         To lift the protection, remove `protect: true` from the descriptor, and run `windlass up` without \
         `--protect`. This `up` must not remove or replace the protected part, so add `--except PART` for \
         each part that the `up` would remove or replace. Then repeat the command.";
    FOR_DESCRIPTORS = "WL0543", "intent that can't change an application",
        "The assembly is a launched application. Its scripts launch, reconfigure and destroy its instance. No \
         script stops or starts the instance, so an application can't be set to another state, restarted or \
         scaled. The application has only one instance, so a single part of it can't be forgotten. Nothing was \
         changed.\n\n\
         `windlass app check NAME` runs the health check, and `windlass app command NAME COMMAND` calls a \
         command of the application, such as a restart. For a new instance, run `windlass app destroy NAME`, and \
         launch the application again.";
    OPEN_COMMANDS = "WL0544", "open commands of an application to export",
        "Commands of the application have not ended: their final results have not arrived yet. An export does not \
         contain the commands, so the results would be lost. Nothing was changed.\n\n\
         Run `windlass app check NAME` until each command has its final result, or until its time limit has \
         passed; `windlass app command --wait ID` shows the results. To give up the results, repeat the export \
         with `--force`.";
    UNPREPARED = "WL0545", "interrupted calls that can't be continued",
        "windlass was interrupted while scripts of the assembly ran. To find out their outcome, windlass needs the \
         location, the driver and the settings of each script, and one of them is missing. For example, a variable \
         with a password is not set, or the location was removed from `windlass.yaml`. The scripts may have done their \
         work, so windlass starts nothing, and forgets nothing.\n\n\
         Correct the cause, and repeat the command. If that is impossible, check the parts, then run `windlass retry \
         NAME --assume done`, `not-done` or `failed`, as for WL0514.";
    NEEDS_EXCEPTED = "WL0546", "part that needs a part outside of the plan",
        "`--target` or `--except` limits the plan to some parts, but one part needs another. In the first case, \
         a part that stays depends on a part that would be removed (`depends-on`). In the second case, \
         `--except` leaves out a part that does not work yet, and a part in the plan needs an output of that \
         part, or a relationship with it. windlass has started no step.\n\n\
         Name both parts in the option, or neither of them.";
    MOVED = "WL0547", "assembly that was renamed or exported",
        "No assembly has this name, because the assembly with this name was renamed, or was exported to a file. \
         Its components still exist. An `up` under the old name would create all of them a second time. An \
         `adopt` would give them a second owner, and a `down` of one owner would remove the components of the \
         other. Nothing was changed.\n\n\
         After a rename, change the assembly with `windlass up FILE --name NEW`. After an export, import the file \
         with `windlass import`, here or in another project. To create another assembly under the old name, \
         repeat the command with `--force`.";
    NAME_IN_USE = "WL0548", "new name that is in use",
        "The new name belongs to an assembly of this store, or an earlier assembly had it and its history is \
         kept. Two histories under one name could not be told apart. Nothing was changed.\n\n\
         Choose another name: `windlass rename NAME OTHER`. `windlass status` lists the assemblies. `windlass prune \
         NAME --keep 0 --older 0s` removes the history of an earlier assembly.";
    PENDING = "WL0549", "pending request for an assembly to rename",
        "A request for the assembly is queued for `windlass run`. It has the old name in its sealed content, so \
         the assembly can't be renamed before it ends. Nothing was changed.\n\n\
         Let `windlass run` execute it, or withdraw it with `windlass cancel NAME REQUEST`. Then repeat the \
         command.";
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(CODES, 500..=549), Vec::<String>::new());
    }
}
