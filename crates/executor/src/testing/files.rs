//! Conformance cases: input and output files.
#![expect(clippy::missing_panics_doc, reason = "a case panics when it fails")]

use std::{collections::BTreeSet, fmt::Write as _};

use super::{Subject, path};
use crate::{End, Output, VolumeName};

/// Variables that every job has, and those that shells and images add.
const USUAL: [&str; 11] =
    ["PATH", "HOME", "TMPDIR", "LANG", "WINDLASS_JOB", "PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "TERM"];

/// The environment of a job consists of the variables that the job sets and those that the runtime sets. The job does
/// not inherit the environment of the submitting process.
pub async fn environment_is_cleared(subject: &Subject) {
    let job = subject.sh("env").env("GIVEN", "by the job").env("LANG", "C");
    let printed = subject.printed(job).await;
    assert!(printed.lines().any(|line| line == "GIVEN=by the job"), "{printed}");
    assert!(printed.lines().any(|line| line == "LANG=C"), "{printed}");
    let seen: BTreeSet<&str> = printed.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let ours = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in ours.filter(|name| !USUAL.contains(&name.as_str())) {
        assert!(!seen.contains(name.as_str()), "`{name}` reached the job");
    }
}

/// A job starts in its home folder, which is writable, and has a folder for temporary files.
pub async fn folders_of_a_job(subject: &Subject) {
    let script = r#"[ "$(pwd)" = "$HOME" ] && : > file && : > "$TMPDIR/file" && ls"#;
    assert_eq!(subject.printed(subject.sh(script)).await, "file\n");
}

/// Files exist when the job starts, at the right path and with the right mode.
pub async fn files_are_placed(subject: &Subject) {
    let job = subject
        .sh("ls -l run data/deep/a.bin open | cut -c1-10; ./run; wc -c < data/deep/a.bin")
        .script(path("run"), "#!/bin/sh\necho it runs\n")
        .file(path("data/deep/a.bin"), &[0_u8, 255, 10])
        .file_with_mode(path("open"), 0o644, "");
    // `ls` sorts its arguments.
    assert_eq!(
        subject.printed(job).await.replace(' ', ""),
        "-rw-------\n-rw-r--r--\n-rwx------\nitruns\n3\n"
    );
}

/// Every requested output has a result under its name: its content, or the reason why it has no content.
pub async fn outputs_are_brought_back(subject: &Subject) {
    let script = r"
        mkdir -p out folder && printf '\000\377' > out/data && : > empty && printf 12345 > large
        mkfifo pipe && ln -s /etc/passwd absolute && ln -s ../../../../../../etc/passwd upwards
        ln -s out/data inside && ln -s / root && ln -s nowhere dangling";
    let mut job = subject.sh(script);
    let places = [
        "out/data",
        "empty",
        "large",
        "pipe",
        "folder",
        "absolute",
        "upwards",
        "root/etc/passwd",
        "inside",
        "dangling",
        "not-there",
        "empty/below",
    ];
    for place in places {
        job = job.output(place, path(place), 4);
    }
    let outcome = subject.run(job).await;
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr.text());
    let expected = [
        Output::Content(vec![0, 255]),
        Output::Content(vec![]),
        Output::TooLarge { bytes: 5 },
        Output::NotAFile,
        Output::NotAFile,
        Output::Outside,
        Output::Outside,
        Output::Outside,
        Output::Content(vec![0, 255]),
        Output::Missing,
        Output::Missing,
        Output::Missing,
    ];
    for (place, expected) in places.into_iter().zip(expected) {
        assert_eq!(outcome.outputs.get(place), Some(&expected), "{place}");
    }
}

/// The outputs of a failed job are in its outcome, too.
pub async fn outputs_of_a_failed_job(subject: &Subject) {
    let outcome = subject.run(subject.sh("echo why > log; exit 3").output("log", path("log"), 100)).await;
    assert_eq!(outcome.end, End::Exited(3));
    assert_eq!(outcome.outputs.get("log"), Some(&Output::Content(b"why\n".to_vec())));
}

/// The outcome contains the files of an output folder. If the content of an entry can't be returned, the outcome
/// contains the reason instead. The folder exists when the job starts, and a variable of the job holds its path.
pub async fn output_folders(subject: &Subject) {
    let script = r#"
        cd / && cat "$IN/secret" > "$OUT/a" && : > "$OUT/empty" && printf 12345 > "$OUT/large" && printf 678 > "$OUT/last"
        mkdir "$OUT/folder" && mkfifo "$OUT/pipe" && ln -s /etc/passwd "$OUT/outside" && ln -s a "$OUT/inside""#;
    let job = subject
        .sh(script)
        .file(path("in/secret"), &[0_u8, 255])
        .path_env("IN", path("in"))
        .path_env("OUT", path("deep/out"))
        .output_folder("all", path("deep/out"), 6)
        .output_folder("untouched", path("untouched"), 6);
    let outcome = subject.run(job).await;
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr.text());
    let expected = [
        ("a", Output::Content(vec![0, 255])),
        ("empty", Output::Content(vec![])),
        ("folder", Output::NotAFile),
        ("inside", Output::NotAFile),
        ("large", Output::TooLarge { bytes: 5 }),
        ("last", Output::Content(b"678".to_vec())),
        ("outside", Output::NotAFile),
        ("pipe", Output::NotAFile),
    ];
    let expected = expected.map(|(name, output)| (name.to_owned(), output)).into();
    assert_eq!(outcome.outputs.get("all"), Some(&Output::Files(expected)));
    assert_eq!(outcome.outputs.get("untouched"), Some(&Output::Files([].into())));
}

/// If a job has removed, replaced or overfilled an output folder, the result states this.
pub async fn output_folders_gone(subject: &Subject) {
    let script =
        "rmdir gone file link && : > file && ln -s / link && for i in $(seq 1001); do : > many/$i; done";
    let mut job = subject.sh(script);
    for name in ["gone", "file", "link", "many"] {
        job = job.output_folder(name, path(name), 1 << 20);
    }
    let outcome = subject.run(job).await;
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr.text());
    let expected = [
        ("gone", Output::Missing),
        ("file", Output::NotAFile),
        ("link", Output::Outside),
        ("many", Output::Unreadable("it has more than 1000 files".to_owned())),
    ];
    for (name, expected) in expected {
        assert_eq!(outcome.outputs.get(name), Some(&expected), "{name}");
    }
}

/// A volume outlives a job: the next job of the same owner finds the files that an earlier job wrote to the
/// volume.
pub async fn volumes_outlive_jobs(subject: &Subject) {
    let name: VolumeName = subject.name.parse().expect("the name of a case makes a volume name");
    let variable = format!("WINDLASS_VOLUME_{}", subject.name.to_uppercase().replace('-', "_"));
    let job = |script| subject.sh(&format!("cd \"${variable}\" && {script}")).volume(name.clone(), "/volume");
    subject.printed(job("echo 42 > kept")).await;
    assert_eq!(subject.printed(job("cat kept && rm kept")).await, "42\n");
}

/// A file of fifty megabytes is placed as input and read as output.
pub async fn large_files(subject: &Subject) {
    let content: Vec<u8> = (0..50_000_000_u32).map(|at| (at ^ (at >> 9)).to_le_bytes()[0]).collect();
    let job = subject.sh("cp in out").file(path("in"), content.clone()).output("out", path("out"), 64 << 20);
    let outcome = subject.run(job).await;
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr.text());
    let whole = matches!(outcome.outputs.get("out"), Some(Output::Content(bytes)) if *bytes == content);
    assert!(whole, "{:?}", outcome.outputs);
}

/// Unusual file names work: names that look like options, and names with dots, spaces, quotes, a line break
/// or non-ASCII letters.
pub async fn odd_names(subject: &Subject) {
    let names = ["-rf", "..data", "...", "a b", "it's \"$HOME\"", "line\nbreak", "größe/名", "*", "%s\\n"];
    let mut job = subject
        .sh("for i in 0 1 2 3 4 5 6 7 8; do cat \"./in/$i\" >/dev/null || exit 1; done; cp -r in/odd/. .");
    let mut expected = BTreeSet::new();
    for (at, name) in names.into_iter().enumerate() {
        let mut content = String::new();
        write!(content, "content {at}").expect("a string takes all");
        job = job.file(path(&format!("in/{at}")), "").file(path(&format!("in/odd/{name}")), content.clone());
        job = job.output(format!("out-{at}"), path(name), 100);
        expected.insert((format!("out-{at}"), content.into_bytes()));
    }
    let outcome = subject.run(job).await;
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr.text());
    let found: BTreeSet<_> = outcome
        .outputs
        .into_iter()
        .map(|(name, output)| match output {
            Output::Content(bytes) => (name, bytes),
            other => panic!("the output `{name}` {other}"),
        })
        .collect();
    assert_eq!(found, expected);
}

/// A device at the path of an output is not read, since reading could have side effects or never end. If the
/// job can't create a device, the output is missing.
pub async fn device_node(subject: &Subject) {
    let job = subject.sh("mknod zero c 1 5 2>/dev/null && echo made").output("zero", path("zero"), 1 << 20);
    let outcome = subject.run(job).await;
    let expected = if outcome.stdout.text() == "made\n" { Output::NotAFile } else { Output::Missing };
    assert_eq!(outcome.outputs.get("zero"), Some(&expected));
}

/// An output of exactly the maximum size is returned. If an output is larger, the outcome contains the size of the
/// output, but not its content. The case tests a file that is one byte too large, and a sparse file of one terabyte.
pub async fn output_limits(subject: &Subject) {
    let script = "printf 1234 > fits; printf 12345 > more; dd of=sparse bs=1 count=0 seek=1000000000000 2>/dev/null; :";
    let job = ["fits", "more", "sparse"]
        .into_iter()
        .fold(subject.sh(script), |job, name| job.output(name, path(name), 4));
    let outcome = subject.run(job).await;
    let output = |name| outcome.outputs.get(name).cloned();
    assert_eq!(output("fits"), Some(Output::Content(b"1234".to_vec())));
    assert_eq!(output("more"), Some(Output::TooLarge { bytes: 5 }));
    // Some file systems don't support files of this size.
    let sparse = output("sparse");
    let is_told = matches!(sparse, Some(Output::TooLarge { bytes: 1_000_000_000_000 } | Output::Missing))
        || sparse == Some(Output::Content(Vec::new()));
    assert!(is_told, "{sparse:?}");
}
