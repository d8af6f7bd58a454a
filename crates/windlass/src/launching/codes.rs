//! The codes of errors about launched applications: `WL0750` to `WL0779`.

windlass_source::codes! {
    NO_FACTORY = "WL0750", "factory that is no service",
        "The manifest of the application names a factory, and no service of the environment is an instance of \
         it. The message lists the factories that there are. No script was run.\n\n\
         Launch the factory, and add it: `windlass env service add ENVIRONMENT NAME`.";
    NO_SCRIPTING_SERVICE = "WL0751", "environment without a scripting service",
        "Scripts run at a location, and the environment has none, or `windlass.yaml` does not declare the location of the \
         environment. No script was run.\n\n\
         Add a location of `windlass.yaml`: `windlass env service add ENVIRONMENT --location LOCATION`. With `--replace`, \
         this command replaces the present location.";
    NAME_IN_USE = "WL0752", "name of another assembly",
        "An assembly has the name that the application would get, or a queued request has reserved the name. A launch \
         never changes an assembly that is there. No script was run.\n\n\
         Choose another name by `--name`. `windlass retry NAME` resumes an interrupted launch, and `windlass app \
         reconfigure NAME` changes an application.";
    NOT_AN_APPLICATION = "WL0753", "assembly that is no application",
        "The command is for launched applications, and the assembly has a descriptor instead. Nothing was \
         changed.\n\n\
         `windlass up`, `windlass down` and `windlass call` are the commands for assemblies with a descriptor.";
    NO_RECONFIGURATION = "WL0754", "application without a reconfiguration script",
        "A value of the application would change, and its manifest names no reconfiguration script. Nothing was \
         changed. An application is never launched again to change a value.\n\n\
         Add `factory.reconfigurationScript` to the manifest, publish it, and add `--latest`. Or destroy the \
         application and launch it with the new value.";
    NO_COMMAND = "WL0755", "unknown command of an application",
        "The application does not expose a command of this id, or its manifest names no script for it. No script \
         was run.\n\n\
         `windlass app commands NAME` lists the commands with their arguments.";
    NOT_AN_ARGUMENT = "WL0756", "unknown, wrong or missing argument of a command",
        "The command does not take an argument of this name, or the value has another type. No script was run. If a \
         declared argument without a default is not given, this is only a warning, and the script runs without the \
         argument.\n\n\
         `windlass app commands NAME` lists the arguments with their types.";
    NO_DISCOVERY = "WL0757", "factory that can't discover",
        "The manifest of the factory names no discovery script, or the factory is a service of no environment or of \
         several. Discovery creates applications in the environment of the factory, so there must be exactly one. No \
         script was run.\n\n\
         `windlass env show` lists the services; `windlass env service add ENVIRONMENT FACTORY` adds one.";
    DISCOVERY = "WL0758", "failed discovery",
        "The discovery script of a factory has failed, or its output can't be used. The message has the reason and the \
         end of its stderr. Nothing was adopted or changed.\n\n\
         Correct the script, publish the factory again, and run `windlass app reconfigure FACTORY --latest`.";
    UNKNOWN_COMMAND = "WL0759", "unknown id of a command",
        "No command of an application was called by this id. The last 20 commands of each application are kept, and \
         they are removed with their application. No script was run.\n\n\
         `windlass app command --async` prints the id of a command, and `windlass log NAME` shows those of results.";
    UNKNOWN_JOB = "WL0760", "job without kept input and output",
        "windlass keeps the input and output of the last 20 calls of each application, and of the last failed health \
         check of each factory. Jobs of other assemblies are not kept. `prune` and `forget` remove kept jobs.\n\n\
         `windlass job ls NAME` lists those of an application or a factory.";
    SEVERAL_FACTORIES = "WL0761", "factory that has to be chosen",
        "Several services of the environment are launched from the title that the manifest names as its factory, and each \
         could launch the application. No script was run.\n\n\
         Choose one: `windlass app launch TITLE --factory NAME`. `windlass env show ENVIRONMENT` lists the services.";
    NOT_CHANGEABLE = "WL0762", "application that can't be changed",
        "Reconfigurations and commands change an existing instance, and never create or replace one. The launch of the \
         application has not succeeded, the application is not Active or is being destroyed, another reconfiguration is \
         queued, or the change would replace its instance; \
         the message says which. No script was run, and nothing was changed.\n\n\
         `windlass retry NAME` repeats a launch, and `windlass app destroy NAME` removes the application with its \
         instance. Then launch it again with the new values. If a script of the application's revision has a mistake, \
         publish a corrected revision, and run `windlass app destroy NAME --latest`: it uses the scripts of the latest \
         revision.";
    PENDING_REFERENCE = "WL0770", "required reference that is pending",
        "The factory of the application has an interface among `required` in its manifest. Each mapping of that \
         interface must have the instances of another factory, and this one has none. No script was run.\n\n\
         The message has the reason. `windlass env show ENVIRONMENT` lists the references of the services with their \
         states. Launch the other factory, and add it by `windlass env service add ENVIRONMENT NAME`; of several that \
         fit, `windlass env bind` chooses one.";
}
