//! The style of a script: how the script receives its input, and how it answers. The module also contains the notation
//! of input documents, and the choice of an adapter (a program that runs the script).

/// The style of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Style {
    /// The script reads a YAML document on stdin, and prints a YAML document on stdout.
    #[default]
    Full,
    /// The script reads its input from files, and writes its output to files. The exit code of the script states the
    /// result. Only a discovery script prints its output on stdout.
    Plain,
}

impl Style {
    /// Returns the value of the driver property `style`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Plain => "plain",
        }
    }
}

impl std::str::FromStr for Style {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "full" => Ok(Self::Full),
            "plain" => Ok(Self::Plain),
            _ => Err(()),
        }
    }
}

/// The notation of the input document that a script of the style [`Full`](Style::Full) reads on stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Notation {
    /// YAML, one entry a line.
    #[default]
    Yaml,
    /// JSON in one line, for scripts without a YAML parser.
    Json,
}

impl std::str::FromStr for Notation {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "yaml" => Ok(Self::Yaml),
            "json" => Ok(Self::Json),
            _ => Err(()),
        }
    }
}

/// The program that a job starts in order to run a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Adapter {
    /// No adapter: the job starts the script itself.
    #[default]
    Direct,
    /// The adapter `/invoke.py` of the image. The adapter reads `{script, arguments}`, runs the script, and prints
    /// `{results}`.
    Invoke,
}

impl std::str::FromStr for Adapter {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "invoke" => Ok(Self::Invoke),
            _ => Err(()),
        }
    }
}
