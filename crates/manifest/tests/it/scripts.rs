//! Tests of the check that a folder or an image contains the scripts that a manifest names.

use insta::assert_snapshot;
use windlass_manifest::scripts::{ScriptFile, ScriptFiles, ScriptPlace, ScriptSearch};
use windlass_manifest::{check, check_scripts};

use crate::support::{fixture, manifest, show};

const VM: [&str; 4] = ["vm/launch.py", "vm/destroy.py", "vm/healthCheck.py", "vm/reboot.py"];

/// Returns the problems of the scripts of `vm.yaml` in a set of files.
fn problems(files: &(impl ScriptFiles + ?Sized), place: ScriptPlace) -> String {
    let manifest = manifest(&fixture("vm.yaml"));
    show(&check_scripts(&check(&manifest), files, place))
}

fn files<'f>(paths: &[&'f str]) -> Vec<ScriptFile<'f>> {
    paths.iter().map(|path| ScriptFile { path, executable: true }).collect()
}

/// A simulated image: the path of one script, and the result of the search for this script. Every other path counts as
/// an executable file.
struct Found(&'static str, ScriptSearch);

impl ScriptFiles for Found {
    fn find(&self, path: &str) -> ScriptSearch {
        if path == self.0 { self.1.clone() } else { ScriptSearch::Executable }
    }

    fn paths(&self) -> Vec<String> {
        vec!["/opt/vm/launch.py".to_owned()]
    }
}

#[test]
fn a_folder_has_all_scripts() {
    let all = files(&[&VM[..], &["vm/reconfigure.py"]].concat());
    for place in [ScriptPlace::Folder, ScriptPlace::Package, ScriptPlace::Image] {
        assert_eq!(problems(&all[..], place), "");
    }
}

#[test]
fn a_folder_lacks_scripts() {
    let some = files(&["vm/lunch.py", "machine/destroy.py", "vm/healthCheck.py/x", "vm/reboot.py"]);
    assert_snapshot!(problems(&some[..], ScriptPlace::Folder), @"
    m.yaml:17:31: error[WL0642]: the folder has no `vm/launch.py`
        help: did you mean `/vm/lunch.py`?
    m.yaml:18:32: error[WL0642]: the folder has no `vm/destroy.py`
        help: add the file to the folder, or correct the path
    m.yaml:19:36: error[WL0642]: `vm/healthCheck.py` of the folder is no file, so it can't be a script
        help: name an executable file
    m.yaml:20:40: error[WL0642]: the folder has no `vm/reconfigure.py`
        help: add the file to the folder, or correct the path
    ");
    assert_snapshot!(problems(&some[..], ScriptPlace::Package), @"
    m.yaml:17:31: warning[WL0642]: the folder has no `vm/launch.py`, so the image of the scripting service must have it
        help: did you mean `/vm/lunch.py`?
    m.yaml:18:32: warning[WL0642]: the folder has no `vm/destroy.py`, so the image of the scripting service must have it
    m.yaml:19:36: error[WL0642]: `vm/healthCheck.py` of the folder is no file, so it can't be a script
        help: name an executable file
    m.yaml:20:40: warning[WL0642]: the folder has no `vm/reconfigure.py`, so the image of the scripting service must have it
    ");
}

/// A file of the same name in another folder is suggested if the folder of the path does not exist.
#[test]
fn a_folder_has_another_name() {
    let some = files(&["machine/launch.py", "machine/destroy.py", "obsolete/destroy.py"]);
    let said = problems(&some[..], ScriptPlace::Folder);
    let helps: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("    help: ")).collect();
    assert_eq!(
        helps[..2],
        ["did you mean `/machine/launch.py`?", "add the file to the folder, or correct the path"]
    );
}

#[test]
fn a_script_may_not_be_executed() {
    let mut all = files(&VM);
    all[1].executable = false;
    all.push(ScriptFile { path: "vm/reconfigure.py", executable: true });
    assert_snapshot!(problems(&all[..], ScriptPlace::Folder), @"
    m.yaml:18:32: error[WL0643]: the script `vm/destroy.py` may not be executed
        help: make it executable: `chmod +x vm/destroy.py` in the folder of scripts
    ");
    let of_image = Found("/vm/destroy.py", ScriptSearch::NotExecutable);
    assert_snapshot!(problems(&of_image, ScriptPlace::Image), @"
    m.yaml:18:32: error[WL0643]: the script `/vm/destroy.py` of the image may not be executed
        help: add `RUN chmod +x /vm/destroy.py` to the Dockerfile of the image
    ");
}

#[test]
fn an_image_lacks_scripts() {
    let image = |found: ScriptSearch| problems(&Found("/vm/launch.py", found), ScriptPlace::Image);
    assert_snapshot!(image(ScriptSearch::Missing), @"
    m.yaml:17:31: error[WL0642]: the image has no `/vm/launch.py`
        help: did you mean `/opt/vm/launch.py`?
    ");
    assert_snapshot!(image(ScriptSearch::NotAFile), @"
    m.yaml:17:31: error[WL0642]: `/vm/launch.py` of the image is no file, so it can't be a script
        help: name an executable file
    ");
    assert_snapshot!(image(ScriptSearch::Dangling("/opt/none".to_owned())), @"
    m.yaml:17:31: error[WL0642]: `/vm/launch.py` of the image leads to `/opt/none`, which does not exist
        help: add `/opt/none`, or correct the link
    ");
    let relative = fixture("vm.yaml").replace("launchScript: /vm/launch.py", "launchScript: vm/launch.py");
    let found = Found("", ScriptSearch::Executable);
    let said = show(&check_scripts(&check(&manifest(&relative)), &found, ScriptPlace::Image));
    assert_snapshot!(said, @"
    m.yaml:17:31: error[WL0642]: the path of the script `vm/launch.py` is relative, and an image needs an absolute one
        help: write its path from the root of the image: `/vm/launch.py`
    ");
}
