//! The description of a job, in the form that the first process of its container reads. The program
//! `docker/init` documents this format.

use std::collections::BTreeMap;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::{Job, JobId, OnOwnerDeath, OutputKind};

/// Default `PATH`, if neither the job nor its image sets this variable.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Mount point of the job's own volume.
pub(crate) const FOLDER: &str = "/windlass";

/// The data that the client sends to the container of a job: the job, and all its environment variables.
pub(crate) struct Input {
    job: Job,
    env: BTreeMap<String, String>,
}

impl Input {
    /// Combines a job with the variables of its image.
    pub(crate) fn new(id: &JobId, job: &Job, image_env: &[String]) -> Self {
        let mut env: BTreeMap<_, _> =
            [("PATH", PATH)].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let image = image_env.iter().filter_map(|variable| variable.split_once('='));
        env.extend(image.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let work = format!("{FOLDER}/work");
        for (name, value) in [("LANG", "C.UTF-8"), ("HOME", work.as_str()), ("TMPDIR", "/tmp")] {
            env.insert(name.to_owned(), value.to_owned());
        }
        env.extend(job.env.clone());
        env.extend(job.path_env.iter().map(|(name, path)| (name.clone(), format!("{work}/{path}"))));
        env.insert("WINDLASS_JOB".to_owned(), id.to_string());
        env.extend(job.volumes.iter().map(|volume| (volume.variable(), volume.path.clone())));
        Self { job: job.clone(), env }
    }

    /// Writes the description and the input of the job to its container.
    pub(crate) async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
        let job = &self.job;
        let mut plain = Vec::new();
        record(&mut plain, b'a', job.program.as_bytes());
        job.args.iter().for_each(|arg| record(&mut plain, b'a', arg.as_bytes()));
        self.env
            .iter()
            .for_each(|(name, value)| record(&mut plain, b'e', format!("{name}={value}").as_bytes()));
        record(&mut plain, b'n', self.numbers().as_bytes());
        if let Some(files) = job.limits.open_files {
            record(&mut plain, b'd', files.to_string().as_bytes());
        }
        for output in &job.outputs {
            let kind = if output.kind == OutputKind::Folder { b'F' } else { b'o' };
            record(&mut plain, kind, format!("{} {}", output.max_bytes, output.path).as_bytes());
        }
        to.write_all(&plain).await?;
        for file in &job.files {
            let mut plain = Vec::new();
            record(&mut plain, b'f', format!("{:o} {}", file.mode, file.path).as_bytes());
            head(&mut plain, b'c', file.content.len());
            to.write_all(&plain).await?;
            to.write_all(file.content.expose()).await?;
        }
        if !job.stdin.is_empty() {
            let mut plain = Vec::new();
            head(&mut plain, b'i', job.stdin.len());
            to.write_all(&plain).await?;
            to.write_all(job.stdin.expose()).await?;
        }
        let mut end = Vec::new();
        record(&mut end, b'.', b"");
        to.write_all(&end).await?;
        to.flush().await
    }

    fn numbers(&self) -> String {
        let limits = &self.job.limits;
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let on_owner_death = match self.job.on_owner_death {
            OnOwnerDeath::Kill => "kill",
            OnOwnerDeath::Finish => "finish",
        };
        let (timeout, grace) = (millis(limits.timeout), millis(limits.grace));
        format!(
            "{timeout} {grace} {} {} {} {on_owner_death}",
            limits.stdout_bytes, limits.stderr_bytes, limits.spill_bytes
        )
    }
}

fn head(to: &mut Vec<u8>, kind: u8, length: usize) {
    to.push(kind);
    to.extend((length as u64).to_le_bytes());
}

fn record(to: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    head(to, kind, bytes.len());
    to.extend(bytes);
}
