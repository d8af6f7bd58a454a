//! The codes of this crate: `WL0300` to `WL0349`.

use windlass_source::Code;

windlass_source::codes! {
    NO_SUCH_FILE = "WL0300", "no such file",
        "There is no file or folder with this path. Paths are relative to the working folder.";
    UNREADABLE = "WL0301", "file can't be read",
        "The file or folder is there, and the system refuses to read it. The message contains the system's reason. Permissions are often missing: `ls -l` shows them.";
    TOO_LARGE = "WL0302", "file is too large",
        "windlass does not read documents of more than 16 MiB: a file of this size is probably not a descriptor. `--max-size` allows more.";
    NO_DESCRIPTOR = "WL0303", "folder without an assembly",
        "The folder has none of `assembly.yaml`, `assembly.yml`, `Descriptor/assembly.yml` and `Descriptor/assembly.yaml`. Name the folder of the assembly, or the file itself.";
    MANY_DESCRIPTORS = "WL0304", "folder with several assemblies",
        "The folder has more than one assembly descriptor, so the name of the folder is ambiguous. Name the file, or remove the other descriptors.";
    NOT_REPLACED = "WL0305", "file is not changed",
        "`--fix` replaces a file atomically by a new one. It refuses a link, a file with several names, and a file that another program changed in the meantime. Such a file stays unchanged.";
    VERSION = "WL0310", "version of the document",
        r"`windlass.yaml` begins with `version: 1`, so that a later windlass can still read it. A higher number was written for
a newer windlass.

```yaml
locations: {}
```

Begin it with a line `version: 1`.";
    UNKNOWN_KEY = "WL0311", "unknown key",
        r"`windlass.yaml` is a document of windlass, so an unknown key is a mistake: its setting would have no effect.

```yaml
version: 1
locatoins: {}
```";
    WRONG_SORT = "WL0312", "wrong sort of value",
        r"A mapping, a list or a text was expected, and something else was found.

```yaml
version: 1
locations: [here, there]
```

`locations` is a mapping from names to locations.";
    MISSING_KEY = "WL0313", "missing key",
        r"An entry of `existing` needs `type` and `name`.

```yaml
version: 1
existing:
  - type: resource::network::1.0
    properties: {id: net-1}
```

Add its name, such as `name: VIDEO`.";
    BAD_NAME = "WL0314", "bad name",
        r"A component names its location in `deploymentLocation`. The `type` of an entry of `existing` is the name of a
descriptor, such as `resource::network::1.0`. An existing instance has one version, so a range of versions is not
allowed here. Only `references` of an assembly may use a range.

```yaml
version: 1
existing:
  - type: resource::network::^1.0
    name: VIDEO
```";
    UNKNOWN_RUNTIME = "WL0315", "unknown runtime",
        r"`runtime` selects the runtime of a location's scripts: `process` (on this host, without isolation), `sandbox` (in an
image, without an engine) or `docker` (in containers of an engine; `engine: podman` too). A program that embeds windlass
may have others. So for commands that only read records, such as `windlass status`, an unknown runtime is a warning.

```yaml
version: 1
locations:
  here: {runtime: dokcer}
```";
    BAD_VOLUME = "WL0316", "bad volume",
        r"A volume is a name and the absolute path where container runtimes mount it. Its folder is chosen by the runtime. A
folder of the host is not allowed, so that a project works the same on every machine. Each container runtime reserves
some paths, such as `/tmp`, where no volume can be mounted.

```yaml
version: 1
locations:
  here:
    runtime: docker
    image: demo:1
    volumes: {/srv/state: /var/lib/demo}
```

Write `volumes: {state: /var/lib/demo}`.";
    SAME_EXISTING = "WL0317", "listed twice",
        r"Two entries of `existing` have the same type, name and place, so no reference could tell them apart. Remove one.

```yaml
version: 1
existing:
  - {type: 'resource::network::1.0', name: VIDEO}
  - {type: 'resource::network::1.0', name: VIDEO}
```";
    FILE_NAME = "WL0318", "project file with another name",
        "The project file is called `windlass.yaml`. windlass ignores a file with another extension, and a folder above would become the project.";
    BAD_LIMIT = "WL0319", "bad limit",
        r"`limits` limits the size of assemblies. `nodes` is the maximum number of elements from `quantity`, `cluster` and nested
assemblies together. The default is 10 000, the maximum 200 000.

```yaml
version: 1
limits:
  nodes: many
```";
    UNKNOWN_LOCATION = "WL0320", "unknown location",
        "The component's `deploymentLocation` is not a key of `locations` in `windlass.yaml`. If the file has no `locations`, every location uses the runtime `process` on this machine.\n\n```yaml\nlocations:\n  admin@local:\n    runtime: process\n```";
    WRONG_MANAGER = "WL0321", "location of another resource manager",
        "`resourceManager` and `deploymentLocation` together select the location of a component. The location exists, but belongs to another resource manager. A location without `resource-manager` accepts any.";
    BAD_ENGINE = "WL0322", "bad engine",
        "`engine` selects the container engine of a location: `docker` (the engine that the Docker client would use: `DOCKER_HOST`, its current context, the usual socket), `podman`, `context:NAME`, or an address.\n\n```yaml\nruntime: docker\nengine: ssh://build@machine\n```";
    BAD_POOL = "WL0323", "bad pool",
        "`pool` is the number of warm containers for short repeatable jobs, from 1 to 256. A job with a secret gets its own container (`pool-secrets: fresh`, the default), unless the jobs of the location trust each other (`pool-secrets: shared`). Warm containers have the `volumes` of the location.\n\n```yaml\nruntime: docker\npool: 4\npool-secrets: shared\n```";
    OTHER_RUNTIME = "WL0324", "key of another runtime",
        "The key applies to other runtimes only, so it would have no effect here. `engine` and `pool` apply to `docker`. `image`, and a `network` other than `host`, apply to `sandbox` and `docker`.";
    BAD_NETWORK = "WL0325", "bad network",
        "`network` is `none`, `bridge`, `host`, or the name of a network of the engine: letters, digits, `_`, `.` and `-`, the first a letter or digit. A sandbox has `none` or `host`.";
    BAD_RETENTION = "WL0326", "bad retention",
        "`retention` limits the history of each assembly: the newest `keep` processes and versions are kept, and all that are younger than `older`. `windlass prune`, and once a day `windlass run`, removes the others.\n\n```yaml\nretention:\n  keep: 50\n  older: 90d\n```";
    NO_IMAGE = "WL0327", "location without an image",
        "Scripts of a location with the runtime `sandbox` or `docker` run in an image, which the location names. Without one `up` refuses every component that has a script there.\n\n```yaml\nlocations:\n  here: {runtime: docker, image: 'demo:1'}\n```";
    BAD_JOB_LIMIT = "WL0328", "bad limit of jobs",
        "`limits` of a location, or of the driver properties of a resource, limits each job: `memory` (bytes, such as `512M`), `processes` (a number), `cpu` (processors, such as `1.5`) and `open-files` (a number). The stricter of both applies. A job fails if its location can't enforce a limit. `max-jobs` of a location limits the number of concurrent jobs there: a whole number from 1 on.\n\n```yaml\nlocations:\n  here:\n    limits: {memory: 512M, processes: 64, cpu: 1.5, open-files: 1024}\n    max-jobs: 4\n```";
    CLEAR_SECRET = "WL0329", "secret in clear",
        r"The property has the name of a secret, but its value is written in the file. Many people can read the file, and a
repository keeps it for ever. Logs mask the value nevertheless.

```yaml
version: 1
locations:
  here:
    properties: {password: hunter2}
```

Write `password: {file: PATH}`, relative to the folder of the file, or `password: {env: VARIABLE}`. windlass reads the
value when a script needs it.";
    TWO_FILES = "WL0330", "one name in two files",
        "Two descriptors of the catalog have the same name, so the name is ambiguous. Remove one, or give one of them another version. Versions that differ only in zeros at the end, as `1.0` and `1.0.0`, are the same.";
    UNNAMED = "WL0331", "descriptor without a usable name",
        "A descriptor is found by its `name`. This one has no valid name, so no assembly can use it.";
    TOO_MANY = "WL0332", "too many folders",
        "The search for descriptors stops after 20 000 folders, and 12 levels down. Name the folders of the packages with `--catalog`.";
    BAD_SETTING = "WL0333", "bad setting of a runtime",
        "A location can have keys that its runtime defines. The runtime refuses the value of such a key. The message gives the reason.";
    UNKNOWN_DRIVER = "WL0334", "unknown driver",
        r"`drivers` is a mapping from names of drivers to their settings. No driver has this name.

```yaml
version: 1
drivers:
  scirpt: {timeout: 30m}
```";
    BAD_DRIVER_SETTING = "WL0335", "bad setting of a driver",
        "An entry of `drivers` has a key of the driver, and the driver refuses its value. The message gives the reason.\n\n```yaml\nversion: 1\ndrivers:\n  script: {timeout: 30m, health-check-timeout: 10s}\n```";
    BAD_VARIABLE = "WL0336", "bad variable",
        r"`environment` of a location is a mapping from names of variables to texts. `inherit-environment` is a list of variables
that jobs inherit from the program that runs them. A name consists of letters, digits and `_`, and does not begin with
`WINDLASS_`. An environment must not contain secrets, because other programs of the user may read it.

```yaml
version: 1
locations:
  here:
    environment: {WINDLASS_JOB: mine}
    inherit-environment: [SSH_AUTH_SOCK]
```";
    NOT_IN_CATALOG = "WL0340", "package not found",
        "No folder of the catalog has a resource descriptor of this name, so there are no scripts to run.";
    LINK = "WL0341", "link in a package",
        "A package is copied when an assembly comes up, and its copy must do the same on another machine. So a link may lead to a file of the same package only, not out of it and not to a folder.";
    NOT_A_FILE = "WL0342", "neither file nor folder",
        "A package has files and folders. Sockets, pipes and devices can't be copied, and names that are not UTF-8 can't be recorded.";
    PACKAGE_TOO_LARGE = "WL0343", "package too large",
        "A package has at most 4096 files and 64 MiB in all, because windlass stores it with every assembly that uses it. Let the scripts download large files.";
    BAD_PATTERN = "WL0344", "bad pattern of ignored files",
        "A line of `.windlassignore` in a package folder is a pattern for files that are no part of the package, as in a `.gitignore`: `notes.txt` and `*.log` at any depth, `/build` and `doc/*.md` from the folder of the file, `tmp/` for folders only, `!keep.log` for an exception. Lines that begin with `#` are comments.\n\n```\n*.log\n!keep.log\n/test/\n```";
    BAD_INVENTORY = "WL0345", "bad inventory",
        "`--inventory PARAM=FILE:GROUP` reads a static Ansible inventory: YAML if the name of the file ends with `.yaml`, `.yml` or `.json`, INI otherwise. windlass reads hosts, ranges of hosts, groups, groups in groups, and their variables. It runs no programs and no plugins, reads no `group_vars` and `host_vars` folders, and leaves out variables with Jinja expressions. To use such variables, save the output of Ansible:\n\n```console\n$ ansible-inventory -i FILE --list --yaml > hosts.yaml\n```";
    BAD_SCRIPTING = "WL0346", "bad setting of scripts",
        "`adapter`, `input` and `launch-key` of a location accept only a few words. `adapter: invoke` starts scripts by `/invoke.py` of the image. `input: json` gives them JSON, which needs no library. `launch-key: launch-instances` is for scripts that read the requests of a launch under that key.\n\n```yaml\nlocations:\n  here:\n    input: json\n```";
}

/// The codes for unknown names in `windlass.yaml`. Another program may know these names, because a program that embeds
/// windlass can register runtimes and drivers of its own.
pub const KNOWN_ELSEWHERE: [Code; 3] = [UNKNOWN_KEY, UNKNOWN_RUNTIME, UNKNOWN_DRIVER];

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(super::CODES, 300..=349), Vec::<String>::new());
    }
}
