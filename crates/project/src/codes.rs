//! The codes of this crate: `WL0300` to `WL0349`.

windlass_source::codes! {
    NO_SUCH_FILE = "WL0300", "no such file",
        "Nothing has this path. Paths are taken from the working folder.";
    UNREADABLE = "WL0301", "file can't be read",
        "The file or folder is there, and the system refuses to read it. The message has the system's words. Often the permissions are missing: `ls -l` shows them.";
    TOO_LARGE = "WL0302", "file is too large",
        "A document of more than 16 MiB is not read: no descriptor made by people comes near, and what is given is probably something else. `--max-size` allows more.";
    NO_DESCRIPTOR = "WL0303", "folder without an assembly",
        "The folder has none of `assembly.yaml`, `assembly.yml`, `Descriptor/assembly.yml` and `Descriptor/assembly.yaml`. Name the folder of the assembly, or the file itself.";
    MANY_DESCRIPTORS = "WL0304", "folder with several assemblies",
        "The folder has more than one assembly descriptor, so it doesn't say which one is meant. Name the file, or remove what is left over.";
    NOT_REPLACED = "WL0305", "file is not changed",
        "A repair is written as a new file that takes the place of the old one at once. That is refused for a link, for a file with several names, and for one that somebody else has changed in the meantime; nothing of it was changed then.";
    VERSION = "WL0310", "version of the document",
        r"`windlass.yaml` begins with `version: 1`, so that a later windlass can still read it. A higher number was written for
a newer windlass.

```yaml
locations: {}
```

Begin it with a line `version: 1`.";
    UNKNOWN_KEY = "WL0311", "unknown key",
        r"`windlass.yaml` is a document of windlass, so a key that means nothing is a mistake: what it should say would be missing.

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

`locations` is a mapping from names to what they are.";
    MISSING_KEY = "WL0313", "missing key",
        r"An entry of `existing` needs `type` and `name`.

```yaml
version: 1
existing:
  - type: resource::network::1.0
    properties: {id: net-1}
```

Add `name: VIDEO`, or what it is called.";
    BAD_NAME = "WL0314", "bad name",
        r"The name of a location is what components give as `deploymentLocation`, and `type` is the name of a descriptor, as
`resource::network::1.0`. A range of versions is for `references` of an assembly only: what exists is of one version.

```yaml
version: 1
existing:
  - type: resource::network::^1.0
    name: VIDEO
```";
    UNKNOWN_RUNTIME = "WL0315", "unknown runtime",
        r"`runtime` says what runs the scripts of a location: `process` (on this host, as they are), `sandbox` (in an image,
without an engine) or `docker` (in containers of an engine; `engine: podman` too). `kubernetes` is kept for a later
version.

```yaml
version: 1
locations:
  here: {runtime: dokcer}
```";
    BAD_VOLUME = "WL0316", "bad volume",
        r"A volume is a name and the absolute path where container runtimes mount it. Its folder is chosen by the runtime. A
folder of the host can't be named, so that a project does the same on every machine.

```yaml
version: 1
locations:
  here:
    runtime: docker
    image: demo:1
    volumes: {/srv/state: /var/lib/demo}
```

Right is `volumes: {state: /var/lib/demo}`.";
    SAME_EXISTING = "WL0317", "listed twice",
        r"Two entries of `existing` have the same type, name and place, so no reference could tell them apart. Remove one.

```yaml
version: 1
existing:
  - {type: 'resource::network::1.0', name: VIDEO}
  - {type: 'resource::network::1.0', name: VIDEO}
```";
    FILE_NAME = "WL0318", "project file with another name",
        "The project file is called `windlass.yaml`. One with another ending would be passed over in silence, and the folder above it would become the project.";
    BAD_LIMIT = "WL0319", "bad limit",
        r"`limits` says how much assemblies may grow. `nodes` is how many elements may come of `quantity`, `cluster` and nested
assemblies together: 10 000 where nothing is said, 200 000 at most.

```yaml
version: 1
limits:
  nodes: many
```";
    UNKNOWN_LOCATION = "WL0320", "unknown location",
        "The component's `deploymentLocation` is not a key of `locations` in `windlass.yaml`. Where the file has no `locations` at all, every location is the local process runtime.\n\n```yaml\nlocations:\n  admin@local:\n    runtime: process\n```";
    WRONG_MANAGER = "WL0321", "location of another resource manager",
        "`resourceManager` and `deploymentLocation` together say where a component goes. The location is there, and belongs to another resource manager. A location without `resource-manager` takes any.";
    BAD_ENGINE = "WL0322", "bad engine",
        "`engine` says which engine makes the containers of a location: `docker` (what the Docker client would use: `DOCKER_HOST`, its current context, the usual socket), `podman`, `context:NAME`, or an address.\n\n```yaml\nruntime: docker\nengine: ssh://build@machine\n```";
    BAD_POOL = "WL0323", "bad pool",
        "`pool` is how many warm containers are kept for short jobs that can be repeated, from 1 to 256. A job that is given a secret gets a container of its own all the same (`pool-secrets: fresh`, which is the default), unless the jobs of the location may trust each other (`pool-secrets: shared`). Nor does a job with `volumes` run in one, so that `pool` does nothing beside them.\n\n```yaml\nruntime: docker\npool: 4\npool-secrets: shared\n```";
    OTHER_RUNTIME = "WL0324", "key of another runtime",
        "The key means something for other runtimes only, so what it says would not be done: `engine` and `pool` are for `runtime: docker`, `image` and a `network` other than the host's for `sandbox` and `docker`.";
    BAD_NETWORK = "WL0325", "bad network",
        "`network` is `none`, `bridge`, `host`, or the name of a network of the engine: letters, digits, `_`, `.` and `-`, the first a letter or digit. A sandbox has `none` or `host`.";
    BAD_RETENTION = "WL0326", "bad retention",
        "`retention` says how much of the past of an assembly is kept: the newest `keep` processes and versions, and all that is younger than `older`. What is neither is removed by `windlass prune`, and once a day by `windlass run`.\n\n```yaml\nretention:\n  keep: 50\n  older: 90d\n```";
    NO_IMAGE = "WL0327", "location without an image",
        "Scripts of a location with the runtime `sandbox` or `docker` run in an image, which the location names. Without one `up` refuses every component that has a script there.\n\n```yaml\nlocations:\n  here: {runtime: docker, image: 'demo:1'}\n```";
    BAD_JOB_LIMIT = "WL0328", "bad limit of jobs",
        "`limits` of a location, or of the driver properties of a resource, says what a job may use at the most: `memory` (bytes, as `512M`), `processes` (a number), `cpu` (processors, as `1.5`) and `open-files` (a number). Of both the stricter counts. What the place can't enforce is an error when a job comes.\n\n```yaml\nlocations:\n  here:\n    limits: {memory: 512M, processes: 64, cpu: 1.5, open-files: 1024}\n```";
    CLEAR_SECRET = "WL0329", "secret in clear",
        r"The name of the property says that its value is a secret, and the value stands in the file, which is read by many and
kept for ever in a repository. The value is masked in logs all the same.

```yaml
version: 1
locations:
  here:
    properties: {password: hunter2}
```

Write `password: {file: PATH}`, from the folder of the file, or `password: {env: VARIABLE}`. The value is read when a
script needs it.";
    TWO_FILES = "WL0330", "one name in two files",
        "Two descriptors that can be reached have the same name, so it is not clear which is meant. Remove one, or give one of them another version. Versions that differ only in zeros at the end, as `1.0` and `1.0.0`, are the same.";
    UNNAMED = "WL0331", "descriptor without a usable name",
        "A descriptor is found by its `name`. This one has none, or none that can be read, so nothing can be made from it.";
    TOO_MANY = "WL0332", "too many folders",
        "The search for descriptors stops after 20 000 folders, and 12 levels down. Name the folders of the packages with `--catalog`.";
    NOT_IN_CATALOG = "WL0340", "package not found",
        "No folder of the catalog has a resource descriptor of this name, so there are no scripts to run.";
    LINK = "WL0341", "link in a package",
        "A package is copied when an assembly comes up, and its copy must do the same on another machine. So a link may lead to a file of the same package only, not out of it and not to a folder.";
    NOT_A_FILE = "WL0342", "neither file nor folder",
        "A package has files and folders. Sockets, pipes and devices can't be copied, and names that are not UTF-8 can't be recorded.";
    PACKAGE_TOO_LARGE = "WL0343", "package too large",
        "A package has at most 4096 files and 64 MiB in all, since it is kept with every assembly that uses it. Put large files where the scripts can fetch them.";
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(super::CODES, 300..=349), Vec::<String>::new());
    }
}
