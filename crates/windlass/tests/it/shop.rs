//! A project with the assembly `shop`, opened as an embedding program opens it.

use std::path::Path;

use tempfile::TempDir;
use windlass::engine::Stop;
use windlass::model::AssemblyName;
use windlass::{AssemblyInput, Settings, Started, Windlass};

/// A project in a temporary folder.
pub(crate) struct Shop {
    pub(crate) windlass: Windlass,
    folder: TempDir,
}

impl Shop {
    /// Creates the project. The part `web` publishes its size by the driver `noop`.
    pub(crate) fn new() -> Self {
        Self::driven_by("noop: {properties: {outputs: {is: size}, effect: repeatable}}", |settings| settings)
    }

    /// Creates the project with another driver for its parts. `add` adds this driver to the settings.
    pub(crate) fn driven_by(driver: &str, add: impl FnOnce(Settings) -> Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), driver);
        let windlass = Windlass::open(add(settings(folder.path(), "embedder"))).unwrap();
        Self { windlass, folder }
    }

    /// Opens the project again, as another program with the command line `command`.
    pub(crate) fn other(&self, command: &str) -> Windlass {
        Windlass::open(settings(self.folder.path(), command)).unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the input for the assembly `shop`.
    pub(crate) fn input(&self) -> AssemblyInput {
        AssemblyInput::new(self.folder.path().join("shop"))
    }

    /// Prepares the intent `up` for the assembly. The caller runs the returned [`Started`].
    pub(crate) async fn up(&self) -> Result<Started, windlass::Error> {
        self.windlass.up(self.input(), &Stop::default()).await
    }

    /// Waits until no program holds the lease of the assembly.
    pub(crate) async fn is_free(&self) {
        let is_held = async || {
            let status = self.windlass.views().status(Some(&shop())).await.unwrap();
            status.assemblies[0].process.as_ref().is_some_and(|process| process.runs.is_some())
        };
        while is_held().await {
            tokio::task::yield_now().await;
        }
    }
}

/// Returns the name of the assembly `shop`.
pub(crate) fn shop() -> AssemblyName {
    "shop".parse().unwrap()
}

fn settings(folder: &Path, command: &str) -> Settings {
    Settings::new(folder).command(command)
}

fn write(folder: &Path, driver: &str) {
    let resource = format!(
        "name: resource::part::1.0
properties: {{size: {{volatile: true}}, is: {{read-only: true}}}}
lifecycle: [Install, Start, Reconfigure, Stop, Uninstall]
default-driver: {{{driver}}}
"
    );
    let assembly = "name: assembly::shop::1.0
properties: {size: {default: small}, is: {read-only: true, value: '${web.is}'}}
composition:
  web: {type: resource::part::1.0, properties: {size: {value: '${size}'}}}
  guest: {type: resource::part::1.0, properties: {size: {value: 'the ${web.is}'}}}
";
    for (path, text) in [
        ("windlass.yaml", "version: 1\n"),
        ("shop/assembly.yaml", assembly),
        ("shop/Contains/part/resource.yaml", &resource),
    ] {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
