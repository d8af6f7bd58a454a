//! The first process of a container: takes one job from its standard input, runs it, and tells of it on its standard
//! output, line by line.
//!
//! It is compiled by the crate's build script into one static program with nothing but the standard library, and is
//! mounted read-only into every container, so that it runs in any image. What a container alone can't tell, it does:
//! a signal from an exit code above 128, a missing program from a missing interpreter, how much was written beyond what
//! is kept; and it holds the time limit and ends what is left when nobody is connected any more.
//!
//! # What it reads
//! Records: a letter, a length (`u64`, little-endian), that many bytes. `a` is an argument, the program first; `e` a
//! variable; `n` the numbers (time limit, grace, bytes kept of stdout and of stderr, bytes stored, all decimal, and `kill`
//! or `finish`); `f` a file's mode and path, of which the next `c` is the content; `i` what the job reads; `o` the greatest
//! size and the path of an output; `.` the end. What comes after the end is not read; that the input ends tells that the
//! owner has gone.
//!
//! # What it writes
//! Lines of ASCII of less than 16 KiB, a letter and words; bytes are base64. `A`: everything has been stored. `R why`: it
//! could not be. `S time`: the job runs. `o` and `e`: it wrote this. `O` and `E`: the last it wrote of what is too
//! much to be stored. `F number state`: what became of an output; `f` its content. `X end started ended stdout stderr`: how
//! it ended and how much it wrote. `X` is the last line. Who reads them later from the engine's log reads the same. A job
//! that must finish keeps a copy in the file `told` of its volume: what is told while the engine is dead is in no log.
//!
//! # Signals
//! The real-time signal 34 + n asks the job to end, and ends it after 50 ms × 2^(n-1), at once for n = 0. SIGTERM is not
//! sent by us: it means that the engine stops the container.

use std::{
    collections::{HashSet, VecDeque},
    ffi::CString,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::{
        fd::{AsRawFd, FromRawFd},
        unix::{
            fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    ptr,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Where the job's volume is mounted.
const ROOT: &str = "/windlass";
const WORK: &str = "/windlass/work";

/// How many bytes become one line: 16 000 of base64, less than what an engine's log keeps together.
const PIECE: usize = 12_000;

/// How long somebody else may hold on to the output once the main process has ended.
const DRAIN: Duration = Duration::from_millis(250);

/// How long killed processes may take to go.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// Between two looks for processes that were not asked to end.
const LOOK: Duration = Duration::from_millis(20);

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const FIRST_REALTIME: i32 = 34;
const LAST_REALTIME: i32 = 64;

mod sys {
    use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};

    unsafe extern "C" {
        pub fn kill(pid: c_int, signal: c_int) -> c_int;
        pub fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
        pub fn setsid() -> c_int;
        pub fn umask(mask: u32) -> u32;
        pub fn access(path: *const c_char, mode: c_int) -> c_int;
        pub fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
        pub fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int;
        pub fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
        pub fn sigemptyset(set: *mut SigSet) -> c_int;
        pub fn sigaddset(set: *mut SigSet, signal: c_int) -> c_int;
        pub fn pthread_sigmask(how: c_int, set: *const SigSet, old: *mut SigSet) -> c_int;
        pub fn sigwait(set: *const SigSet, signal: *mut c_int) -> c_int;
        pub fn signal(signal: c_int, handler: usize) -> usize;
        pub fn syscall(number: c_long, ...) -> c_long;
        pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
        pub fn write(fd: c_int, bytes: *const c_void, length: usize) -> isize;
        pub fn close(fd: c_int) -> c_int;
    }

    /// As large as any C library's.
    #[repr(C, align(16))]
    pub struct SigSet(pub [u64; 16]);

    pub const RLIMIT_CORE: c_int = 4;
    pub const SIG_SETMASK: c_int = 2;
    pub const PR_SET_DUMPABLE: c_int = 4;
    pub const OPENAT2: c_long = 437;
    pub const O_NONBLOCK: u64 = 0o4000;
    pub const O_CLOEXEC: u64 = 0o2_000_000;
    pub const O_PATH: u64 = 0o10_000_000;
    pub const O_WRONLY: c_int = 1;
    pub const RESOLVE_NO_MAGICLINKS: u64 = 2;
    pub const RESOLVE_BENEATH: u64 = 8;

    #[repr(C)]
    pub struct OpenHow {
        pub flags: u64,
        pub mode: u64,
        pub resolve: u64,
    }
}

/// What the threads tell the main one.
enum News {
    /// A process has ended, with this status.
    Reaped(i32, i32),
    /// No process is left.
    Alone,
    /// A stream has ended.
    Drained,
    /// Somebody wishes the job to end within this time.
    Cancel(Duration),
    /// The engine stops the container.
    Stopped,
    /// Nobody is connected any more.
    OwnerGone,
}

fn main() {
    // What runs in this container as the same user can neither trace this process nor open what it has open.
    // SAFETY: a plain system call.
    unsafe { sys::prctl(sys::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    // SAFETY: it reads two numbers. No job of ours leaves a core: Podman drops its own defaults when it is asked for that.
    unsafe { sys::setrlimit(sys::RLIMIT_CORE, &[0, 0]) };
    let signals = block_signals();
    if std::env::args().nth(1).as_deref() == Some("anchor") {
        return anchor(signals);
    }
    let mut input = io::BufReader::with_capacity(64 << 10, io::stdin());
    let told = Arc::new(Mutex::new(Out { stdout: io::stdout(), copy: None }));
    let spec = match Spec::read(&mut input) {
        Ok(Some(spec)) => spec,
        // Whoever began to describe the job has gone before the end: it was never there.
        Ok(None) => std::process::exit(125),
        Err(error) => {
            say(&told, &format!("R {}", base64(error.to_string().as_bytes())));
            // The rest is taken, so that who writes it comes to read why it was refused.
            let _gone = io::copy(&mut input, &mut io::sink());
            std::process::exit(125);
        }
    };
    if spec.finish {
        // What is told while there is no engine to hear it, and this ends before there is one again, nobody has heard.
        let copy =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(Path::new(ROOT).join("told"));
        told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).copy = copy.ok();
    }
    say(&told, "A");
    let (news, heard) = channel();
    watch_signals(signals, news.clone());
    if !spec.finish {
        let news = news.clone();
        thread::spawn(move || {
            let _gone = io::copy(&mut input, &mut io::sink());
            let _over = news.send(News::OwnerGone);
        });
    }
    std::process::exit(run(&spec, &told, news, &heard));
}

/// Stays as long as somebody is connected: others share its network, in which there is nothing, and what it has mounted.
fn anchor(signals: sys::SigSet) {
    thread::spawn(move || {
        wait_for(&signals);
        std::process::exit(0);
    });
    let _gone = io::copy(&mut io::stdin(), &mut io::sink());
}

// ---- the job as it is described ----

#[derive(Default)]
struct Spec {
    argv: Vec<Vec<u8>>,
    env: Vec<Vec<u8>>,
    timeout: Duration,
    grace: Duration,
    keep: [u64; 2],
    spill: u64,
    finish: bool,
    stdin: bool,
    outputs: Vec<(u64, PathBuf)>,
}

impl Spec {
    /// Reads a job, and stores what it is given; `None` when the input ends before the job does.
    fn read(input: &mut impl Read) -> io::Result<Option<Self>> {
        let mut spec = Self::default();
        let mut file: Option<(u32, PathBuf)> = None;
        // SAFETY: a plain system call.
        unsafe { sys::umask(0o022) };
        let work = make_folder(Path::new(WORK));
        loop {
            let mut head = [0; 9];
            if let Err(error) = input.read_exact(&mut head) {
                return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
            }
            let length = u64::from_le_bytes(head[1..].try_into().expect("eight bytes"));
            match head[0] {
                b'c' => {
                    let (mode, path) = file.take().ok_or_else(|| odd("a content without a file"))?;
                    place(&path, mode, &mut input.take(length)).map_err(|error| at(&path, &error))?;
                }
                b'i' => {
                    spec.stdin = true;
                    let path = Path::new(ROOT).join("stdin");
                    place(&path, 0o600, &mut input.take(length)).map_err(|error| at(&path, &error))?;
                }
                kind => {
                    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
                    input.read_exact(&mut bytes)?;
                    match kind {
                        b'a' => spec.argv.push(bytes),
                        b'e' => spec.env.push(bytes),
                        b'n' => spec.numbers(&text(bytes)?)?,
                        b'f' => {
                            let line = text(bytes)?;
                            let (mode, path) =
                                line.split_once(' ').ok_or_else(|| odd("a file without a path"))?;
                            let mode = u32::from_str_radix(mode, 8).map_err(io::Error::other)?;
                            file = Some((mode, Path::new(WORK).join(path)));
                        }
                        b'o' => {
                            let line = text(bytes)?;
                            let (max, path) =
                                line.split_once(' ').ok_or_else(|| odd("an output without a path"))?;
                            spec.outputs.push((max.parse().map_err(io::Error::other)?, path.into()));
                        }
                        b'.' => {
                            return work.map(|()| Some(spec)).map_err(|error| at(Path::new(WORK), &error));
                        }
                        _ => return Err(odd("an unknown record")),
                    }
                }
            }
        }
    }

    fn numbers(&mut self, line: &str) -> io::Result<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let [timeout, grace, stdout, stderr, spill, fate] = words[..] else {
            return Err(odd("other numbers"));
        };
        let number = |word: &str| word.parse::<u64>().map_err(io::Error::other);
        self.timeout = Duration::from_millis(number(timeout)?);
        self.grace = Duration::from_millis(number(grace)?);
        self.keep = [number(stdout)?, number(stderr)?];
        self.spill = number(spill)?;
        self.finish = fate == "finish";
        Ok(())
    }
}

fn odd(what: &str) -> io::Error {
    io::Error::other(format!("the description of the job has {what}"))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("can't write `{}`: {error}", path.display()))
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(io::Error::other)
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn place(path: &Path, mode: u32, content: &mut impl Read) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        make_folder(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    io::copy(content, &mut file)?;
    file.set_permissions(Permissions::from_mode(mode))
}

// ---- its life ----

/// How the job ended, as the last line says it.
enum End {
    Status(i32),
    TimedOut,
    Cancelled,
    Orphaned,
    Stopped,
    NotStarted(String),
}

fn run(spec: &Spec, told: &Told, news: Sender<News>, heard: &Receiver<News>) -> i32 {
    // All threads are there before the job is: it may leave no room for any.
    let (stdout, stdout_pump) = pump(b'o', spec, told, &news);
    let (stderr, stderr_pump) = pump(b'e', spec, told, &news);
    let (go, gone) = channel::<()>();
    thread::spawn(move || gone.recv().is_ok().then(|| reap(&news)));
    let mut child = match start(spec) {
        Ok(child) => child,
        Err(why) => return tell_end(told, &End::NotStarted(why), None, [0; 2]),
    };
    let started = now();
    say(told, &format!("S {started}"));
    let main = i32::try_from(child.id()).expect("process numbers fit");
    let _they_wait = (stdout.send(child.stdout.take()), stderr.send(child.stderr.take()), go.send(()));
    let end = until_alone(spec, main, heard);
    // All who could write are gone, so both streams have ended.
    let [stdout, stderr] = [stdout_pump, stderr_pump].map(|pump| pump.join().unwrap_or_default());
    for (letter, tail) in [('O', &stdout), ('E', &stderr)] {
        for piece in tail.rest.iter().copied().collect::<Vec<u8>>().chunks(PIECE) {
            say(told, &format!("{letter} {}", base64(piece)));
        }
    }
    bring_back(spec, told);
    tell_end(told, &end, Some(started), [stdout.total, stderr.total])
}

/// Waits for the end of the main process, brings it about when its time is over or somebody wishes it, and sees to it that
/// nobody is left.
fn until_alone(spec: &Spec, main: i32, heard: &Receiver<News>) -> End {
    let over = Instant::now().checked_add(spec.timeout);
    let mut drained = 0;
    let (end, grace) = loop {
        match hear(heard, over) {
            Ok(News::Reaped(pid, status)) if pid == main => break (End::Status(status), None),
            Ok(News::Alone) => break (End::Status(0), None),
            Ok(News::Drained) => drained += 1,
            Ok(News::Cancel(grace)) => break (End::Cancelled, Some(grace)),
            Ok(News::Stopped) => break (End::Stopped, Some(spec.grace)),
            Ok(News::OwnerGone) => break (End::Orphaned, Some(spec.grace)),
            Ok(News::Reaped(..)) => {}
            Err(RecvTimeoutError::Timeout) => break (End::TimedOut, Some(spec.grace)),
            Err(RecvTimeoutError::Disconnected) => break (End::Status(0), None),
        }
    };
    let gone = match grace {
        None => drain(heard, drained),
        Some(grace) => leave(heard, grace),
    };
    if !gone {
        kill_all(heard);
    }
    end
}

fn hear(heard: &Receiver<News>, until: Option<Instant>) -> Result<News, RecvTimeoutError> {
    match until {
        Some(until) => heard.recv_timeout(until.saturating_duration_since(Instant::now())),
        None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

/// Waits a moment for output that is still on its way. `true` when nobody is left.
fn drain(heard: &Receiver<News>, mut drained: u32) -> bool {
    let until = Some(Instant::now() + DRAIN);
    while drained < 2 {
        match hear(heard, until) {
            Ok(News::Alone) => return true,
            Ok(News::Drained) => drained += 1,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}

/// Asks all to end and waits for it. `true` when nobody is left.
fn leave(heard: &Receiver<News>, grace: Duration) -> bool {
    let mut until = Instant::now().checked_add(grace);
    let mut asked = HashSet::new();
    ask(&mut asked, true);
    loop {
        let look = Instant::now() + LOOK;
        let next = until.map_or(look, |until| until.min(look));
        match hear(heard, Some(next)) {
            Ok(News::Alone) => return true,
            // The least patient of all wishes counts.
            Ok(News::Cancel(grace)) => {
                let wish = Instant::now().checked_add(grace);
                until = match (until, wish) {
                    (Some(until), Some(wish)) => Some(until.min(wish)),
                    (until, wish) => until.or(wish),
                };
            }
            Err(RecvTimeoutError::Disconnected) => return false,
            _ => {}
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            return false;
        }
        ask(&mut asked, false);
    }
}

/// Sends SIGTERM once to each process. Later only orphans are asked that were not before: what a process starts when it
/// was asked is left alone, since it may be what it needs to clean up.
fn ask(asked: &mut HashSet<(i32, String)>, all: bool) {
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
        let parent = rest.split(' ').nth(1);
        if pid != 1 && (all || parent == Some("1")) && asked.insert((pid, name.to_owned())) {
            // SAFETY: a plain system call.
            unsafe { sys::kill(pid, SIGTERM) };
        }
    }
}

/// Kills everybody else in this container until nobody is left.
fn kill_all(heard: &Receiver<News>) {
    let limit = Instant::now() + KILL_LIMIT;
    loop {
        // SAFETY: a plain system call; for the first process of a container, -1 is everybody else in it.
        unsafe { sys::kill(-1, SIGKILL) };
        match hear(heard, Some(Instant::now() + LOOK)) {
            Ok(News::Alone) | Err(RecvTimeoutError::Disconnected) => return,
            _ if Instant::now() > limit => return,
            _ => {}
        }
    }
}

/// Collects whoever ends: orphans of this container come to its first process.
fn reap(news: &Sender<News>) {
    loop {
        let mut status = 0;
        // SAFETY: `status` is there for the call.
        let pid = unsafe { sys::waitpid(-1, &raw mut status, 0) };
        let told = match pid {
            1.. => news.send(News::Reaped(pid, status)),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => Ok(()),
            _ => {
                let _over = news.send(News::Alone);
                return;
            }
        };
        if told.is_err() {
            return;
        }
    }
}

// ---- signals ----

fn block_signals() -> sys::SigSet {
    let mut set = sys::SigSet([0; 16]);
    // SAFETY: the set is larger than the C library's; blocking signals of this thread, and so of those it starts.
    unsafe {
        sys::sigemptyset(&raw mut set);
        for signal in [1, 2, SIGTERM].into_iter().chain(FIRST_REALTIME..=LAST_REALTIME) {
            sys::sigaddset(&raw mut set, signal);
        }
        sys::pthread_sigmask(sys::SIG_SETMASK, &raw const set, ptr::null_mut());
    }
    set
}

fn wait_for(signals: &sys::SigSet) -> i32 {
    let mut signal = 0;
    // SAFETY: both are there for the call.
    unsafe { sys::sigwait(signals, &raw mut signal) };
    signal
}

fn watch_signals(signals: sys::SigSet, news: Sender<News>) {
    thread::spawn(move || {
        loop {
            let told = match wait_for(&signals) - FIRST_REALTIME {
                0 => news.send(News::Cancel(Duration::ZERO)),
                steps @ 1.. => news.send(News::Cancel(Duration::from_millis(50 << (steps - 1)))),
                _ => news.send(News::Stopped),
            };
            if told.is_err() {
                return;
            }
        }
    });
}

// ---- starting ----

fn start(spec: &Spec) -> Result<Child, String> {
    let stdin = stdin(spec).map_err(|error| format!("other {}", base64(error.to_string().as_bytes())))?;
    let program = find(spec)?;
    let texts =
        |all: &[Vec<u8>]| all.iter().map(|text| CString::new(text.clone())).collect::<Result<Vec<_>, _>>();
    let odd = |_| format!("other {}", base64(b"a text with a NUL byte"));
    let (argv, envp) = (texts(&spec.argv).map_err(odd)?, texts(&spec.env).map_err(odd)?);
    let path = CString::new(program.as_os_str().as_encoded_bytes()).map_err(odd)?;
    let image = Image { argv: table(&argv), envp: table(&envp), path, _texts: (argv, envp) };
    let mut command = Command::new("job");
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(WORK);
    // SAFETY: between fork and exec only system calls are made, on values that were made before.
    unsafe { command.pre_exec(move || Err(image.execute())) };
    command.spawn().map_err(|error| why_not(&program, &error))
}

/// Opens what the job reads; nobody can find it afterwards.
fn stdin(spec: &Spec) -> io::Result<Stdio> {
    if !spec.stdin {
        return Ok(Stdio::null());
    }
    let path = Path::new(ROOT).join("stdin");
    let file = File::open(&path)?;
    fs::remove_file(path)?;
    Ok(file.into())
}

struct Image {
    path: CString,
    argv: Vec<*const i8>,
    envp: Vec<*const i8>,
    _texts: (Vec<CString>, Vec<CString>),
}

// SAFETY: the pointers lead into the texts beside them, which nobody changes.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

fn table(texts: &[CString]) -> Vec<*const i8> {
    texts.iter().map(|text| text.as_ptr().cast()).chain([ptr::null()]).collect()
}

impl Image {
    /// Becomes the job; returns only with the reason why not.
    fn execute(&self) -> io::Error {
        let none = sys::SigSet([0; 16]);
        // SAFETY: system calls on values that outlive them; `argv` and `envp` end with a null pointer.
        unsafe {
            sys::setsid();
            sys::umask(0o022);
            sys::signal(13, 0);
            sys::pthread_sigmask(sys::SIG_SETMASK, &raw const none, ptr::null_mut());
            // Of two that need memory, the job is the one to be killed, and not who tells of it.
            sys::prctl(sys::PR_SET_DUMPABLE, 1, 0, 0, 0);
            let score = sys::open(c"/proc/self/oom_score_adj".as_ptr(), sys::O_WRONLY);
            if score >= 0 {
                sys::write(score, c"200".as_ptr().cast(), 3);
                sys::close(score);
            }
            sys::execve(self.path.as_ptr(), self.argv.as_ptr().cast(), self.envp.as_ptr().cast());
        }
        io::Error::last_os_error()
    }
}

/// Finds the file to run: a name without `/` is looked up in the job's own `PATH`.
fn find(spec: &Spec) -> Result<PathBuf, String> {
    let name = spec.argv.first().map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default();
    if name.contains('/') {
        return Ok(name.into());
    }
    let path = spec.env.iter().find_map(|variable| variable.strip_prefix(b"PATH=")).unwrap_or_default();
    let path = String::from_utf8_lossy(path).into_owned();
    let candidates =
        || path.split(':').map(|dir| Path::new(WORK).join(dir).join(&name)).filter(|file| file.is_file());
    candidates()
        .find(|file| is_executable(file))
        .or_else(|| candidates().next())
        .ok_or_else(|| "notfound".to_owned())
}

fn is_executable(path: &Path) -> bool {
    // SAFETY: the path is there for the call.
    CString::new(path.as_os_str().as_encoded_bytes())
        .is_ok_and(|path| unsafe { sys::access(path.as_ptr(), 1) } == 0)
}

fn why_not(program: &Path, error: &io::Error) -> String {
    let path = Path::new(WORK).join(program);
    let not_executable = |why: &str| format!("notexec {}", base64(why.as_bytes()));
    match error.raw_os_error() {
        Some(2 | 20) => match missing_interpreter(&path) {
            Some(interpreter) => format!("interpreter {}", base64(interpreter.as_bytes())),
            None => "notfound".to_owned(),
        },
        Some(13) if path.is_dir() => not_executable("it is a folder"),
        Some(13 | 1) => not_executable("permission denied (is its mode executable?)"),
        Some(8) => not_executable("it is neither a program for this host nor a script with a `#!` line"),
        Some(26) => not_executable("it is being written"),
        Some(7) => format!("other {}", base64(b"arguments and environment are too long for the host")),
        _ => format!("other {}", base64(error.to_string().as_bytes())),
    }
}

fn missing_interpreter(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut start = Vec::new();
    File::open(path).ok()?.take(255).read_to_end(&mut start).ok()?;
    let Some(line) = start.strip_prefix(b"#!").and_then(|line| line.split(|byte| *byte == b'\n').next())
    else {
        return Some("its dynamic loader".to_owned());
    };
    let line = String::from_utf8_lossy(line);
    let named = line.trim_matches([' ', '\t']).split([' ', '\t']).next()?.escape_debug().to_string();
    Some(if Path::new(&named).exists() { format!("{named} (or what it needs)") } else { named })
}

// ---- what it writes ----

type Told = Arc<Mutex<Out>>;

/// Where lines go: to the engine, and for a job that must not be lost to a file in its volume too.
struct Out {
    stdout: io::Stdout,
    copy: Option<File>,
}

/// What is left of a stream when it has ended.
#[derive(Default)]
struct Tail {
    total: u64,
    /// The last bytes of those that were not stored.
    rest: VecDeque<u8>,
}

fn pump<R: Read + Send + 'static>(
    letter: u8,
    spec: &Spec,
    told: &Told,
    news: &Sender<News>,
) -> (Sender<Option<R>>, thread::JoinHandle<Tail>) {
    let keep = spec.keep[usize::from(letter == b'e')];
    let (room, keep) = (spec.spill.max(keep), usize::try_from(keep.div_ceil(2)).unwrap_or(usize::MAX));
    let (told, news) = (told.clone(), news.clone());
    let (sender, stream) = channel::<Option<R>>();
    let pumped = thread::spawn(move || {
        let mut tail = Tail::default();
        let mut chunk = vec![0; PIECE * 4];
        let Ok(Some(mut stream)) = stream.recv() else { return tail };
        loop {
            let length = match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let fits = usize::try_from(room.saturating_sub(tail.total)).unwrap_or(usize::MAX).min(length);
            tail.total += length as u64;
            for piece in chunk[..fits].chunks(PIECE) {
                say(&told, &format!("{} {}", letter as char, base64(piece)));
            }
            let rest = &chunk[fits..length];
            tail.rest.extend(&rest[rest.len().saturating_sub(keep)..]);
            tail.rest.drain(..tail.rest.len().saturating_sub(keep));
        }
        let _over = news.send(News::Drained);
        tail
    });
    (sender, pumped)
}

fn say(told: &Told, line: &str) {
    let mut told = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // When nobody can hear it, the engine's end of it is gone; then there is nobody to be told.
    let line = format!("{line}\n");
    if let Some(copy) = &mut told.copy {
        let _full = copy.write_all(line.as_bytes());
    }
    let _nobody = told.stdout.write_all(line.as_bytes()).and_then(|()| told.stdout.flush());
}

/// Brings back the outputs. The kernel itself sees to it that no link leads out of the working folder.
fn bring_back(spec: &Spec, told: &Told) {
    for (number, (max, path)) in spec.outputs.iter().enumerate() {
        match output(path, *max) {
            Ok(mut file) => {
                say(told, &format!("F {number} content"));
                let mut piece = vec![0; PIECE];
                while let Ok(length @ 1..) = file.read(&mut piece) {
                    say(told, &format!("f {}", base64(&piece[..length])));
                }
            }
            Err(state) => say(told, &format!("F {number} {state}")),
        }
    }
}

fn output(path: &Path, max: u64) -> Result<io::Take<File>, String> {
    let unreadable = |error: io::Error| format!("unreadable {}", base64(error.to_string().as_bytes()));
    // What a device does when it is opened is its own affair, so that it is looked at first.
    let kind = open_below(path, sys::O_PATH).and_then(|file| file.metadata());
    let found = match kind {
        Ok(found) => found,
        Err(error) => {
            return Err(match error.raw_os_error() {
                Some(2 | 20) => "missing".to_owned(),
                Some(18 | 40) => "outside".to_owned(),
                _ => unreadable(error),
            });
        }
    };
    let kind = found.file_type();
    if kind.is_dir() || kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device()
    {
        return Err("notafile".to_owned());
    }
    let file = open_below(path, sys::O_NONBLOCK).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length > max { Err(format!("large {length}")) } else { Ok(file.take(max)) }
}

fn open_below(path: &Path, flags: u64) -> io::Result<File> {
    let work = File::open(WORK)?;
    let path = CString::new(path.as_os_str().as_encoded_bytes()).map_err(io::Error::other)?;
    let how = sys::OpenHow {
        flags: flags | sys::O_CLOEXEC,
        mode: 0,
        resolve: sys::RESOLVE_BENEATH | sys::RESOLVE_NO_MAGICLINKS,
    };
    // SAFETY: all that is pointed to is there for the call, and the kernel is told how large it is.
    let fd = unsafe {
        sys::syscall(sys::OPENAT2, work.as_raw_fd(), path.as_ptr(), &raw const how, size_of::<sys::OpenHow>())
    };
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given it to us.
    Ok(unsafe { File::from_raw_fd(fd) })
}

fn tell_end(told: &Told, end: &End, started: Option<u64>, totals: [u64; 2]) -> i32 {
    let (words, code) = match end {
        End::Status(status) => status_words(*status),
        End::TimedOut => ("timeout".to_owned(), 125),
        End::Cancelled => ("cancelled".to_owned(), 125),
        End::Orphaned => ("orphaned".to_owned(), 125),
        End::Stopped => ("stopped".to_owned(), 125),
        End::NotStarted(why) => (why.clone(), 125),
    };
    let started = started.map_or_else(|| "-".to_owned(), |at| at.to_string());
    // The end comes last, so that the number of its words may differ.
    say(told, &format!("X {started} {} {} {} {words}", now(), totals[0], totals[1]));
    code
}

fn status_words(status: i32) -> (String, i32) {
    let (signal, code) = (status & 0x7f, (status >> 8) & 0xff);
    // A shell tells by 137 that a child was killed.
    if matches!((signal, code), (9, _) | (0, 137)) && was_out_of_memory() {
        return ("memory".to_owned(), 137);
    }
    if signal == 0 { (format!("exit {code}"), code) } else { (format!("signal {signal}"), 128 + signal) }
}

/// Tells whether the kernel has killed anybody in this container for want of memory: in control groups of version 1 and 2.
fn was_out_of_memory() -> bool {
    ["/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"].iter().any(|path| {
        let counts = fs::read_to_string(path).unwrap_or_default();
        counts.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    })
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize] as char;
            text.push(if place > three.len() { '=' } else { letter });
        }
    }
    text
}
