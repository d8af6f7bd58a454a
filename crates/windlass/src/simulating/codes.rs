//! The codes of simulations: `WL0780` to `WL0799`.

windlass_source::codes! {
    BAD_ANSWERS = "WL0780", "bad file of answers",
        "The file of `windlass simulate --answers` says what scripts answer, and what operators do. The message names the \
         entry that can't be used. Nothing was simulated.\n\n\
         ```yaml\nversion: 1\nactions:\n- {at: 2h, command: control.reboot, application: vm}\nanswers:\n\
         - {script: health-check, from: 1h, until: 2h, fail: connection refused}\n```\n\n\
         The section \"Simulate\" of `docs/applications.md` lists all keys.";
    BAD_CAST = "WL0781", "manifests that can't be simulated together",
        "A simulation needs the factory of each application, and at least one manifest of an application. Each title is \
         given once. Nothing was simulated.\n\n\
         ```console\n$ windlass simulate vm-factory.yaml vm.yaml\n```\n\n\
         The title of a manifest is the name of its file, as `vm-factory.yaml` for `VM Factory`. Another title is written \
         before it: `'VM Factory=factories/vm.yaml'`.";
    BAD_LOCATION = "WL0782", "location of a simulation that can't be used",
        "The location of the scripts is not declared in `windlass.yaml`, or one of its secrets can't be read. The message \
         has the reason. Nothing was simulated.\n\n\
         `--location NAME` chooses another location. Without `--scripts` no location is needed.";
    TOO_LATE = "WL0783", "action after the end of a simulation",
        "The file of answers contains an action of an operator at a time after the end of the simulation. The action \
         had no effect.\n\n\
         Choose an earlier time, or simulate a longer time with `--for`, such as `--for 2d`.";
}
