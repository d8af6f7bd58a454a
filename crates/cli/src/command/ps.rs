//! `windlass ps`: lists processes, or shows the steps of one process.

use std::process::ExitCode;

use windlass::Windlass;
use windlass::model::{ProcessId, RequestId};
use windlass::view::process::{OneRequestView, ProcessesView};

use super::{fail, log, open_to_read, print_json};
use crate::args::{AskedFor, Format, PsArgs, PsCommand};
use crate::exit;
use crate::output::{DIM, STRONG, duration, one_line, say, styled};

pub(crate) async fn run(args: PsArgs) -> ExitCode {
    let windlass = match open_to_read("ps") {
        Ok(windlass) => windlass,
        Err(error) => return fail(&error),
    };
    if let Some(PsCommand::Show { process, print }) = args.show {
        return match process {
            AskedFor::Process(process) => show(&windlass, process, print.format).await,
            AskedFor::Request(request) => show_request(&windlass, request, print.format).await,
        };
    }
    match windlass.views().processes(args.name.as_ref()).await {
        Ok(view) if args.print.format == Format::Json => print_json(&view),
        Ok(view) => print(&view),
        Err(error) => fail(&error),
    }
}

async fn show(windlass: &Windlass, process: ProcessId, format: Format) -> ExitCode {
    match windlass.views().process(process).await {
        Ok(view) if format == Format::Json => print_json(&view),
        Ok(view) => {
            say!("{}", styled(STRONG, view.assembly));
            log::print_process(&view.process);
            exit::DONE
        }
        Err(error) => fail(&error),
    }
}

/// Shows the status of a request, and its process.
async fn show_request(windlass: &Windlass, request: RequestId, format: Format) -> ExitCode {
    let view = match windlass.views().request(request).await {
        Ok(view) if format == Format::Json => return print_json(&view),
        Ok(view) => view,
        Err(error) => return fail(&error),
    };
    let OneRequestView { request, status, process, why, .. } = view;
    let begun = process.map(|process| format!(" as {process}")).unwrap_or_default();
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let id = styled(STRONG, request.id);
    let what = format!("{} {}", request.assembly, request.intent);
    say!("{id} {what} {} {status}{begun}, requested by {}{why}", styled(DIM, request.asked), request.by);
    match process {
        Some(process) => show(windlass, process, format).await,
        None => exit::DONE,
    }
}

fn print(view: &ProcessesView) -> ExitCode {
    if view.processes.is_empty() && view.requests.is_empty() {
        say!("there are no processes yet");
    }
    let names = view.processes.iter().map(|process| (&process.assembly, &process.intent));
    let names = names.chain(view.requests.iter().map(|request| (&request.assembly, &request.intent)));
    let assembly = names.clone().map(|(assembly, _)| assembly.as_str().len()).max().unwrap_or(0);
    let intent = names.map(|(_, intent)| intent.len()).max().unwrap_or(0);
    for process in &view.processes {
        let id = styled(STRONG, format!("{:>5}", process.id.to_string()));
        let took =
            process.ended.map(|ended| format!(" in {}", duration(ended.millis_since(process.started))));
        let status = match &process.runs {
            _ if process.interrupted => "interrupted".to_owned(),
            Some(holder) => format!("{}, run by {holder}", process.status),
            None => format!("{}{}", process.status, took.unwrap_or_default()),
        };
        let reason =
            process.reason.as_ref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
        say!(
            "{id} {:<assembly$} {:<intent$} {} {status}{reason}",
            process.assembly.as_str(),
            process.intent,
            styled(DIM, process.started)
        );
    }
    for request in &view.requests {
        let id = styled(STRONG, format!("{:>5}", request.id.to_string()));
        let what = format!("{:<assembly$} {:<intent$}", request.assembly.as_str(), request.intent);
        say!("{id} {what} {} pending, requested by {}", styled(DIM, request.asked), request.by);
    }
    exit::DONE
}
