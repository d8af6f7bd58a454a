//! The codes of this crate: `WL0400` to `WL0449`.

windlass_source::codes! {
    SCRIPT_MISSING = "WL0400", "no script for a declared action",
        "The resource declares a transition or operation for the driver `script`, but the package has no script for it.\n\nScripts are in `Lifecycle/script/scripts/`. The name of a script is the name of its transition or operation with any extension (`Start.sh`), or one of these names: `launch` (for Create; if there is no Create, for Install), `destroy` (for Delete; if there is no Delete, for Uninstall), `healthCheck` or `health-check` (for Integrity), `reconfigure` (for Reconfigure).\n\nAdd the script, or remove the action from the descriptor: an action that is not declared changes the state without a script.";
    SCRIPT_AMBIGUOUS = "WL0401", "two scripts for one action",
        "Two files differ in their extension only, so the script of the action is ambiguous.\n\nRemove or rename one of them.";
    NOT_EXECUTABLE = "WL0402", "script without its run bit",
        "A script is started directly, not handed to a shell, so its file must be executable:\n\n```sh\nchmod +x Lifecycle/script/scripts/Start.sh\n```\n\nGit keeps the bit; archives made on other systems may lose it.";
    BAD_SHEBANG = "WL0403", "script without a usable first line",
        "The first line of a script names its interpreter by an absolute path: `#!/bin/sh`, `#!/usr/bin/env python3`. It must be the very first bytes of the file and end without a carriage return, else the kernel looks for a program of another name.";
    DRIVER_PROPERTY = "WL0404", "value of a driver property",
        "The driver `script` has five properties, and this value of one of them can't be read:\n\n```yaml\ndefault-driver:\n  script:\n    properties:\n      effect: repeatable   # or `once`, the default\n      timeout: 10m         # s, m, h; 1h30m\n      limits: {memory: 512M, processes: 64, cpu: 1.5, open-files: 256}\n      style: plain         # files instead of YAML documents; `full` is the default\n      input: json          # the document that a full script reads; `yaml` is the default\n```";
    UNUSED_SCRIPT = "WL0405", "script that is never run",
        "The file has the name of a transition that the resource doesn't declare for the driver `script`, or of no action at all, so it is never run.\n\nDeclare the transition, operation or command in the resource descriptor, or remove the file.";
    FILE_PATH = "WL0406", "path that no runtime can place",
        "All files below `Lifecycle/script` are placed in the working folder of each script. A path with `..`, with empty parts or with very long names can't be placed there.";
    PROGRAM_MISSING = "WL0407", "script whose interpreter is missing",
        "The first line of the script names an interpreter, and the location of the script runs jobs as processes of this machine, which has no such program. A script with this line can't start here.\n\nThe interpreter is searched in the `PATH` of the job. Its default is `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`, and the key `environment` of a location can set another one.\n\nInstall the program, or let the location use the runtime `sandbox` or `docker` with an image that contains it. If windlass runs on another machine than the check, ignore the warning.";
    NOT_UPDATES = "WL0420", "output that is no document of updates",
        "A script prints one YAML document, and nothing else, on its standard output:\n\n```yaml\ninstances:\n  i-1:\n    $set:\n      status.flags.active: true\n```\n\nMessages for people belong on the standard error.";
    UNKNOWN_KEY = "WL0421", "unknown key beside `instances`",
        "The document that a script prints has only the key `instances`.";
    BAD_UPDATE = "WL0422", "update that can't be applied",
        "An update of an instance names a path that instances don't have, uses an operator where it is not permitted, or gives a value of another sort.\n\nThe paths are `name`, `status.flags.active`, `.converging` and `.failed`, `status.message`, `interfaces.<name>.signals.<name>`, `interfaces.<name>.status`, `components` and, for `$pushAll` alone, `activityLog` and `commands.<id>`.";
    NOT_ANSWERED = "WL0423", "launch without an answer",
        "A launch script answers each requested instance by its id in `instanceId`:\n\n```yaml\ninstances:\n  <the id that you choose>:\n    instanceId: <the key below `launch` in the input>\n```";
    INSTANCE_ID = "WL0424", "wrong instanceId",
        "In the output of a launch script, `instanceId` names the request that an instance answers. So its value is one of the keys below `launch` in the input, and each of these keys occurs once. Other scripts do not print `instanceId`.";
    NOT_ASKED = "WL0425", "instance that was not requested",
        "A script may only update the instances that its input names. Updates of other instances are ignored.";
    TOO_MUCH = "WL0426", "more output than is kept",
        "The script printed more on its standard output than a document of updates can need, so only its beginning and end were kept, and nothing was applied.";
    NOTICE = "WL0427", "update with a probably unintended meaning",
        "The update was accepted, but its text may not have the intended meaning. Examples are `yes`, which only some YAML libraries read as `true`, and a single entry in place of a list.";
    UNKNOWN_COMMAND = "WL0428", "results of an unknown command",
        "Results are pushed to `commands.<id>`, where the id is the one below `commands` in the input. Results of other commands are ignored.";
    BAD_REQUEST = "WL0429", "input document that no script reads",
        "The input of a script is one YAML document. The document contains `configuration`, and the instances below `launch` or `instances`. The input of a discovery contains no instances:\n\n```yaml\nconfiguration: {location.region: eu-1}\ninstances:\n  i-1:\n    configuration: {properties.size: 3}\n    commands:\n      c1: {operations: {grow: {by: 2}}}\n```\n\nAn instance has `configuration` and `commands`, or is null. `windlass schema script-input` prints the JSON Schema of the document, for editors.";
    NATURAL_ID = "WL0430", "id that no instance can have",
        "The natural id of an instance is the key below `instances`. The script that launches or discovers the instance chooses the id, such as the id of a virtual machine in its cloud. The id must not be empty, and must not contain control characters such as line breaks.\n\nLet the script print the id that the instance has outside of windlass.";
    OUTPUT_FILE = "WL0440", "output file that can't be used",
        "A plain script writes each output property to a file of its name in the folder `$WINDLASS_OUT`:\n\n```sh\nprintf 10.0.0.5 >\"$WINDLASS_OUT/address\"\necho '[80, 443]' >\"$WINDLASS_OUT/ports.json\"\n```\n\nA file contains a text in UTF-8, or one JSON value if its name ends with `.json`. All files together may have 4 MiB. Folders, links and pipes are not read. If one file can't be used, nothing of the script's output is applied.";
    FOUND_LINE = "WL0441", "line of a discovery that can't be used",
        "A plain discovery script prints one JSON object on each line, and nothing else, on its standard output:\n\n```json\n{\"id\": \"vm-17\", \"name\": \"web\", \"address\": \"10.0.0.5\"}\n```\n\n`id` is a text; all other entries are properties. Messages for people belong on the standard error.";
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(CODES, 400..=449), Vec::<String>::new());
    }
}
