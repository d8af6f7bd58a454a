//! The codes of this crate: `WL0200` to `WL0249`, for the errors of stores and of their keys.

windlass_source::codes! {
    HELD = "WL0200", "assembly in use",
        "Another process holds the lease of the assembly. The message names its command, its process id and \
         its machine. One process at a time changes an assembly, so windlass has started none of the \
         requested steps.\n\n\
         Wait until that process ends, or stop it with `windlass cancel NAME PROCESS`; `windlass ps` lists \
         processes. A lease whose process has died expires after 30 seconds at the latest. `--queue` leaves \
         an intent such as `up` to `windlass run`.";
    LEASE_LOST = "WL0201", "lease lost",
        "The process has lost its right to change the assembly. Another process has taken the lease, or the \
         lease was not renewed for 30 seconds. Causes are a suspended machine and a store that does not \
         answer. windlass stores nothing more under this lease and starts no further step.\n\n\
         `windlass ps NAME` shows whether another process changes the assembly now, and `windlass log NAME` \
         shows the processes that have changed it since. If there are none, run the same command or `windlass retry \
         NAME`: it finds the jobs that were running, and resumes. After a change by another process, `windlass plan` \
         shows what the same command would undo.";
    AFTER_FAILURE = "WL0202", "change after a failed change",
        "An earlier change of the same process was not stored, so the store refuses all later ones. The \
         records therefore have no gap. windlass starts no further step.\n\n\
         Correct the cause of the first failure, such as a full disk, and run the same command: it reads the \
         records and resumes.";
    REFUSED = "WL0203", "change that breaks a rule of the store",
        "windlass tried to store a change that contradicts the stored records. The store has applied nothing \
         of it. This is a bug of windlass: please report it with the message.\n\n\
         The stored records are intact. The same command reads them again and resumes.";
    NO_PROCESS = "WL0204", "assembly without this process",
        "The assembly has no recorded process with this id. The process belongs to another assembly, \
         `windlass prune` has removed it, or it never existed. Nothing was changed.\n\n\
         `windlass ps NAME` lists the processes of an assembly, and `windlass ps` those of all assemblies.";
    MISSING = "WL0205", "no store",
        "There is no store at this path or address. The first `windlass up` and `windlass run` create the \
         store; commands that only read never do. A running program also reports this error if its store was \
         removed meanwhile.\n\n\
         Run the command in the folder of the project, and check `--state` and the variable \
         `WINDLASS_STATE`. If the store was removed by mistake, restore it from a backup together with its \
         key.";
    ADDRESS = "WL0206", "bad address of the state",
        "The address in `--state` or in the variable `WINDLASS_STATE` can't be used; the message gives the \
         reason. windlass has not connected to a server, and nothing was changed.\n\n\
         Write the address as `postgres://USER@HOST/DATABASE`. Without an address, windlass keeps the state \
         in `.windlass` of the project.";
    NOT_A_STORE = "WL0207", "not a windlass store",
        "The path of the store holds something else. It may be a file of another format, the database of \
         another program, a folder, or a link to a missing file. windlass has left it unchanged.\n\n\
         Move it away; the next `windlass up` then creates a new, empty store. If it is your store and was \
         overwritten, restore it from a backup. `--state ADDRESS` keeps the state in a PostgreSQL database \
         instead.";
    NEWER = "WL0208", "store of a newer windlass",
        "A newer windlass has opened the store and changed its schema. This version can't read it and has \
         changed nothing.\n\n\
         Use the newer version, on every machine that shares the store. There is no way back to an older \
         schema, except a backup from before.";
    LOCKED = "WL0209", "store locked by another program",
        "Another program has locked the database of the store for longer than windlass waits. This change is \
         not stored. Earlier changes are stored, and windlass starts no further step.\n\n\
         Close the other program, such as a `sqlite3` shell or a backup, and run the same command: it \
         resumes.";
    BEHIND = "WL0210", "store too slow",
        "More changes wait for the store than its queue holds, because its disk or its server is too slow. \
         The store refuses this change and all later ones of the process. Earlier changes are stored, and \
         windlass starts no further step.\n\n\
         Use a faster disk or network, or a lower `--parallelism`, and run the same command: it resumes.";
    FULL = "WL0211", "no space for the store",
        "The disk of the store, or of its database server, has no space for the change. This change is not \
         stored. Earlier changes are intact, and windlass starts no further step. If the store is a file, \
         commands that only read, such as `status` and `log`, still work.\n\n\
         Free some space on that disk and run the same command: it resumes.";
    READ_ONLY = "WL0212", "store that can't be written",
        "windlass may not write the store, so the change is not stored. For a file, the user lacks the \
         permission to write the file or its folder, or the disk is mounted read-only. For a PostgreSQL database, \
         the user lacks a privilege, or the server is a read-only replica. Commands that only read, such as `status` \
         and `log`, still work.\n\n\
         Give the user the permission, or name the right server in `--state`, and run the same command.";
    CORRUPT = "WL0213", "damaged store",
        "The store contains data that windlass can't read. windlass has repaired nothing, and does not guess \
         the missing data.\n\n\
         Stop all windlass processes of the project, and keep a copy of the folder `.windlass`. Restore a \
         backup, or extract the readable data with `sqlite3 .windlass/state.db .recover`. Restore a damaged \
         PostgreSQL database with the tools of its server.";
    IO = "WL0214", "store that can't be reached",
        "The operating system refuses an operation on the store's file, or the database server can't be \
         reached or rejects the login. The message contains the cause. Reported changes are stored; windlass \
         starts no further step.\n\n\
         Check the path and its permissions, or the address and that the server runs. Then run the same \
         command: it resumes.";
    DATABASE = "WL0215", "unexpected error of the database",
        "The database reports an error that windlass does not expect. If the server restarted while it \
         stored a change, the message says that the outcome is unknown. In all other cases the change is not \
         stored.\n\n\
         Run the same command: it reads the stored records and resumes. If the error remains, please report \
         it as a bug, with the message.";
    CLOSED = "WL0216", "closed store",
        "The part of windlass that writes to the store has ended, windlass is exiting, or another file has \
         replaced the file of the store. The last changes may be stored or not; all reported changes are \
         stored in the file that windlass had opened.\n\n\
         Run the same command: it reads the stored records and resumes. If the error remains, please report \
         it as a bug.";
    KEY_MISSING = "WL0217", "missing key",
        "The file with the key of the store, or of the export, is missing. windlass creates a key only \
         together with a new store or for a new export: another key would not open the secrets. Nothing was \
         changed.\n\n\
         Commands that need no secret work without the key: `windlass status`, `log`, `history`, `ps` and \
         `output`, and `down` of an assembly without sealed values. `windlass forget NAME` removes the records \
         of an assembly whose secrets are lost.\n\n\
         Restore the key file `.windlass/key` from a backup, or copy it from a machine that shares the \
         store. The variable `WINDLASS_KEY_FILE` names a key file in another place. For `windlass import \
         --key FILE`, name the key file of the export.";
    KEY_TOO_OPEN = "WL0218", "key that others can read",
        "Other users may read or write the key file, so windlass does not use it. Nothing was changed.\n\n\
         Run `chmod 600 FILE` with the path from the message, and run the command again. If another user may \
         have read the key, change the secrets that it seals.";
    KEY_MALFORMED = "WL0219", "not a key",
        "The key file does not contain a key: one line of 64 hexadecimal digits, or of 44 characters of \
         base64. The message gives the defect and does not show the content. Nothing was changed.\n\n\
         Restore the file from a backup, or name the right file in the variable `WINDLASS_KEY_FILE` or with \
         `--key`.";
    KEY_WRONG = "WL0220", "wrong key",
        "The key is not the one that the store was created with, so it does not open the store's secrets. \
         Nothing was changed. Commands that need no secret work, as without a key (WL0217).\n\n\
         Restore the right key file from a backup, or copy it from a machine that shares the store. Check \
         the variable `WINDLASS_KEY_FILE`, which replaces `.windlass/key`. Nothing else opens the secrets.";
    SECRET_UNOPENED = "WL0221", "secret that can't be opened",
        "The key fits the store, but one of its secrets is damaged or was sealed with another key. windlass \
         starts no step of an assembly without all of its secrets.\n\n\
         Restore the store from a backup. If the secret is the content of a queued request, withdraw the \
         request with `windlass cancel NAME REQUEST` and submit it again.";
    KEY_IO = "WL0222", "key file that can't be read or created",
        "The operating system refuses to read or to create the key file. The message contains its reason. No \
         assembly was changed.\n\n\
         Check the path, the permissions of its folder and the free space, and run the command again.";
    DOCUMENT_CHANGED = "WL0223", "changed by another command",
        "Another command changed the same application or environment while this one was at work. Nothing of \
         this change is stored.\n\n\
         Run the command again: it reads the current state first.";
    CLAIMED = "WL0224", "natural id in use",
        "A natural id names one instance of a factory. Another application of the same factory already has this \
         id, so the script has reported an instance that exists already. The records of both applications are \
         unchanged.\n\n\
         `windlass status NAME` shows the other application. Correct the script if it must create a new \
         instance.";
    NO_PACKAGE = "WL0225", "document without its package",
        "windlass tried to store a document whose files are not in the store. The store has applied nothing of \
         it. This is a bug of windlass: please report it with the message.";
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_in_range_and_explained() {
        assert_eq!(windlass_source::code_problems(CODES, 200..=249), Vec::<String>::new());
    }
}
