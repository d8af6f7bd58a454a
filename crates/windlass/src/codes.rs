//! The codes of this crate's errors: `WL0550` to `WL0599`. The modules `launching` and `simulating` have
//! codes of their own.

windlass_source::codes! {
    NAME = "WL0550", "bad name",
        "A name in an argument breaks a rule for such names, and the message gives the rule. Nothing was \
         changed.\n\n\
         Correct the name and run the command again.";
    RUNTIME = "WL0551", "failure of a runtime",
        "A runtime can't be opened or closed, or refuses a job. The message gives the reason. If a process \
         has printed its result before, that result is recorded.\n\n\
         `windlass doctor` lists the runtimes, their isolation, and missing requirements. Correct the \
         problem and run the command again.";
    NO_RUNTIME = "WL0552", "no runtime for a location",
        "No runtime serves the location, or its runtime can't be opened. No job was started.\n\n\
         The message gives the reason. `windlass doctor` lists the runtimes, their isolation, and missing \
         requirements.";
    NO_COMPONENT = "WL0553", "component without a log",
        "No recorded process of the assembly has run a step for a component of this name. Nothing was \
         changed.\n\n\
         `windlass log NAME` without a component shows all steps, and `windlass status NAME` the components. \
         `windlass prune` removes the records of old processes.";
    NO_PART = "WL0554", "unknown part",
        "The assembly has no part with this name or id. windlass has started no step.\n\n\
         `windlass status NAME` lists the parts. A node of a cluster has its number behind its name, as \
         `web__2`. A part of a nested assembly has the name of that assembly before its own, as `data__db`.";
    IS_REFERENCE = "WL0555", "reference instead of a component",
        "`--target` or `--replace` names a reference. A reference stands for an existing instance that this \
         assembly does not create. windlass has started no step.\n\n\
         Name a component instead; `windlass status NAME` lists them. To re-create the referenced instance, \
         use the assembly that owns it.";
    NO_PROCESS = "WL0556", "unknown process",
        "The store has no process with this id, or `windlass prune` has removed it. Nothing was changed.\n\n\
         `windlass ps` lists the processes.";
    ENDED = "WL0557", "process that has ended",
        "The process has ended already, so there is nothing to cancel. The message gives its status, or names a \
         request that waits for `windlass run`. `windlass cancel NAME REQUEST` withdraws such a request.\n\n\
         `windlass ps show PROCESS` shows its steps. `windlass rollback NAME` restores the version before \
         the last change.";
    NOT_RUNNING = "WL0558", "process that was interrupted",
        "A command executed the process and was interrupted. No windlass program executes the process now, and no \
         daemon will resume it. So there is nothing to cancel, and nothing was changed. Jobs that had started may \
         still run.\n\n\
         `windlass retry NAME` finds these jobs and resumes the process. `windlass down NAME` removes the \
         assembly instead.";
    NO_REQUEST = "WL0559", "unknown request",
        "The store has no request with this id for this assembly, or `windlass prune` has removed it. \
         Nothing was changed.\n\n\
         `windlass ps` lists the pending requests. `windlass log NAME` shows the requests of an assembly \
         that were refused or withdrawn.";
    NOT_PENDING = "WL0560", "request that is no longer pending",
        "The request has begun, was refused, or was withdrawn. This command can't withdraw it or wait for it \
         any more, and has changed nothing.\n\n\
         `windlass ps show REQUEST` shows its state and its process. `windlass cancel NAME PROCESS` stops a \
         process that it has begun.";
    REFUSED = "WL0561", "refused request",
        "The process that holds the assembly has refused the request, and the message gives the reason. It \
         has started none of the requested steps. If the message says that a plan can't be read, the process \
         has begun and only its steps can't be shown here.\n\n\
         Correct the cause and run the command again. `windlass log NAME` lists refused requests and the \
         results of processes.";
    ORCHESTRATOR_EXITED = "WL0562", "orchestrator that exited",
        "This command showed the progress of a process that another windlass program executed, and that program \
         has exited. Finished steps are recorded. Jobs that had started may still run.\n\n\
         `windlass retry NAME` finds these jobs and resumes the process. A new `windlass run` does so by \
         itself.";
    WORKING_FOLDER = "WL0563", "no working folder",
        "The working folder of the command does not exist any more, or this user may not read it. Nothing \
         was changed.\n\n\
         Change to an existing folder with `cd`, and run the command again.";
    NO_SUCH_STATE = "WL0564", "state that this build does not support",
        "`--state` or the variable `WINDLASS_STATE` names a PostgreSQL database, and this windlass was built \
         without the feature `postgres`. Nothing was changed.\n\n\
         Use a windlass with this feature. Without an address, windlass keeps the state in `.windlass` of \
         the project.";
    SOCKET_TAKEN = "WL0565", "second `windlass run`",
        "Another `windlass run` of this project receives metrics at the socket. This one has not started.\n\n\
         Use the running one, or stop it with Ctrl-C or SIGTERM first. Other commands work beside it.";
    NOT_DELIVERED = "WL0566", "metric that was not delivered",
        "No `windlass run` of this project has confirmed the metric. The message gives the reason.\n\n\
         If `windlass run` runs in another folder or on another machine with the same store, send the metric \
         there. Otherwise, start `windlass run` in the folder of the project and keep it running. Then send the \
         metric again with `windlass metric push`.";
    NO_METRIC = "WL0567", "bad metric",
        "`windlass run` has received the message and rejected it. The message gives the reason, and no \
         policy has counted it.\n\n\
         A metric is the full name of a component, a dot, and the name of the metric. The reading is a load \
         from 0 to 100, or `OK` or `BROKEN`: `windlass metric push h_bta__A.load 92`.";
    FILE = "WL0568", "file that can't be read",
        "The operating system refuses to read the file, or it is not a regular file, or not text. The \
         message contains the reason. windlass has not changed the file.\n\n\
         Check the path and the permissions with `ls -l FILE`, and run the command again. `--max-size SIZE` \
         allows larger files.";
    WRITE = "WL0569", "file that can't be written",
        "The operating system refuses to create or to write the file or folder. The message contains its \
         reason.\n\n\
         Check the path, the permissions of the folder and the free space, and run the command again. After \
         a failed `windlass export`, `windlass status` shows whether the assembly is still in this store.";
    WRONG_DOCUMENT = "WL0570", "file of another kind",
        "The file does not have the expected form. `windlass apply` reads a saved plan, and `windlass \
         import` an exported assembly. Nothing was changed.\n\n\
         Check the name of the file. `windlass plan FILE -o PLAN` saves a plan, and `windlass export NAME` \
         exports an assembly.";
    NEWER_DOCUMENT = "WL0571", "file of a newer windlass",
        "A windlass of another version has written the file in a form that this one does not read. Nothing \
         was changed.\n\n\
         Use the version that wrote the file. A plan can also be saved again, with `windlass plan FILE -o \
         PLAN`.";
    DAMAGED_DOCUMENT = "WL0572", "damaged file",
        "The content of the file does not match the digest in it: the file was changed or is incomplete. \
         windlass uses no part of it, and nothing was changed.\n\n\
         Save a plan again with `windlass plan FILE -o PLAN`. An exported assembly exists in its file only, \
         so import an undamaged copy of it.";
    OTHER_PROJECT = "WL0573", "saved plan of another project",
        "The plan was saved in another project or with another store. windlass executes it only there, and \
         has started no step.\n\n\
         Run `windlass apply PLAN` in the folder of that project, with the same `--state`. Or save a new \
         plan here.";
    OUTDATED_PLAN = "WL0574", "outdated saved plan",
        "A process of the assembly, or of an assembly that it references, has begun since the plan was saved. \
         Or `windlass.yaml`, the descriptor, a package or the health of a component has changed. The message \
         lists the changes. windlass has started no step.\n\n\
         Save a new plan with `windlass plan FILE -o PLAN`, or with the intent's `--dry-run -o PLAN`. \
         Execute it with `windlass apply PLAN`.";
    OTHER_SECRETS = "WL0575", "saved plan with other secrets",
        "The steps or changes that windlass would make now differ from those of the saved plan. A saved plan \
         contains no secrets, and the given ones probably have other values. windlass has started no \
         step.\n\n\
         Run `windlass apply PLAN` with the values of that time, or save a new plan with `windlass plan FILE \
         -o PLAN`.";
    NO_PLAN = "WL0576", "intent without a saved plan",
        "The plan of this command can't be saved: it depends on an answer, on arguments or on a launched \
         application, and a plan file does not keep these. Examples are `windlass call`, `windlass retry --assume`, \
         `windlass app launch` and `windlass app destroy`. No file was written, and nothing was changed.\n\n\
         Omit `-o`. `--dry-run` alone shows the plan.";
    SECRETS = "WL0577", "wrong secrets for a saved plan",
        "A saved plan contains no secrets, so each has to be given again, and other parameters can't be \
         changed. A secret is missing, or `-p` names a parameter that is not one of them. windlass has \
         started no step.\n\n\
         Run `windlass apply PLAN -p NAME=@FILE` for each secret. To change other parameters, save a new \
         plan with `windlass plan FILE -o PLAN`.";
    EXPORT_EXISTS = "WL0578", "file for an export that exists",
        "`windlass export` writes a new file and never replaces one, which may be the only copy of another \
         assembly. The file is unchanged, and the assembly stays in this store.\n\n\
         Choose another name with `-o FILE`, or move the existing file away.";
    OTHER_KEY = "WL0579", "export sealed with another key",
        "No key here opens the secrets of the exported assembly. They were sealed with the key of the \
         exporting project, or with that of `windlass export --key`. Nothing was imported.\n\n\
         Pass the file with that key: `windlass import FILE --key KEY`.";
    IS_SUPERVISOR = "WL0580", "supervisor that opens a project",
        "A program that embeds windlass starts itself again as the supervisor of its jobs. The new process ran \
         the usual `main` instead, and stopped before it opened the project.\n\n\
         Let `main` begin with `if let Some(code) = windlass::supervise() { return code; }`, before it starts \
         a thread or a runtime. Or name another program with `Settings::supervisor`.";
    IMAGE_NAME = "WL0581", "bad name of an image",
        "A name of an image is `NAME[:TAG]`: lower-case letters, digits and `.`, `_`, `-`, with `/` between its \
         parts, and a registry before them if it has one. The tag is `latest` if none is given. No image was \
         built or imported.\n\n\
         Write a name such as `demo:1` or `registry.example.org/team/demo:1`.";
    IMAGE_FILE = "WL0582", "file of an image that can't be used",
        "A file or folder of an image, or of the folder of images, can't be opened, read or written. The message \
         gives the path and the reason of the system. Images that were complete before are unchanged.\n\n\
         Check the path, its permissions and the space on the disk. The folder of images is `windlass/images` \
         in the user's cache (`XDG_CACHE_HOME`).";
    NO_IMAGE_IN_FILE = "WL0583", "file without an image",
        "The file or folder has none of the formats of images: an archive of `docker save`, an OCI layout, or an \
         artifact set of a component archive. Nothing was imported.\n\n\
         Write one with `docker save NAME -o FILE`, or make an image of a folder with `windlass image build \
         DIR -t NAME`.";
    DAMAGED_IMAGE = "WL0584", "damaged image",
        "Content of the image does not match its digest, is no valid document, or has a path that leads out of \
         the image. The file was cut off or changed. Nothing of it was imported.\n\n\
         Copy the file again and compare it with its original, or save the image anew.";
    LARGE_IMAGE = "WL0585", "image above a limit",
        "The image has more files, layers or bytes than windlass unpacks. The limits protect the disk from \
         archives that are small and unpack to more than it holds. Nothing was imported.\n\n\
         Make the image smaller: remove what its jobs do not need.";
    OTHER_PLATFORM = "WL0586", "image for other machines",
        "The file has images for other processor architectures only, and this host can't run them. Nothing was \
         imported.\n\n\
         Save the image for the architecture that the message names, for example with `docker pull --platform \
         linux/amd64 NAME`.";
    NO_IMAGE = "WL0587", "unknown image",
        "The folder of images has no image of this name or id. No job was started.\n\n\
         `windlass image ls` lists the images. Import it with `windlass image import FILE`.";
    IMAGE_MOUNT = "WL0588", "path that can't be mounted",
        "The image has no place where a folder of the host can be mounted at this path: a part of the path is a \
         file or a link, or leads out of the image. No job was started.\n\n\
         Choose another path for the volume, or change the image.";
    SEVERAL_IMAGES = "WL0589", "file with several images",
        "The file has more than one image, so its path alone does not choose one. No job was started.\n\n\
         Import the file with `windlass image import FILE`, and use the name of one image.";
    IMAGE_BUILD = "WL0590", "image that can't be built",
        "A file for the image can't be read or has no valid path in it, or a program that windlass asks about \
         the files failed. The message gives the reason. No image was stored.\n\n\
         Correct the folder and run `windlass image build` again.";
    NO_BUSYBOX = "WL0591", "no busybox on this host",
        "`windlass image build --busybox` makes an image of the static busybox of this host, and there is none at \
         `/bin/busybox` or `/usr/bin/busybox`. No image was built.\n\n\
         Install it (`apt-get install busybox-static` on Debian), or make an image of a folder.";
    SCRIPT = "WL0592", "script or test case that can't be run",
        "`windlass script run` and `windlass script test` run scripts by hand and record nothing. The kind of \
         script, the case or its action is unknown, or the package has no cases.\n\n\
         A case is a file in the folder `tests` of a package:\n\n\
         ```yaml\nversion: 1\naction: Install\ninput: {properties: {greeting: hello}}\nexpect: {}\n```\n\n\
         `windlass script test DIR --update` writes `expect`.";
    NOT_YAML = "WL0593", "file that is not YAML",
        "`windlass fmt` formats YAML files, and the named file is a script or another text. Nothing was changed in \
         it.\n\n\
         Name a file that ends with `.yaml` or `.yml`, or a folder: of a folder, only such files are formatted.";
    REFUSED_BY_SCHEMA = "WL0594", "value that the schema of windlass.yaml refuses",
        "A driver or a runtime declares the schema of its settings, and a value in `windlass.yaml` does not match \
         it. Editors that use the schema mark the same value. `windlass check` reports it; other commands let the \
         driver or the runtime decide.\n\n\
         Correct the value. `windlass schema project` prints the schema, with a description of each setting.";
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(CODES, 550..=599), Vec::<String>::new());
    }
}
