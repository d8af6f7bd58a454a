# The common code of all scripts. A script sources this file. The name of the script is the action, such as Install.sh.
# All files that the action reads and writes are in the folder $W.
set -u
mkdir -p "$W/of" "$W/fail"
action=$(basename "$0" .sh)
input=$(cat)
# value NAME: prints the value of a field of the input, such as properties.who.
value() {
    printf '%s\n' "$input" |
        sed -n -e "/^ *\"\{0,1\}$1\"\{0,1\}: \"/{" -e 's/^[^"]*"\{0,1\}[^"]*: "\(.*\)"$/\1/' -e p -e q -e '}'
}
# The id in the input: the natural id, <instance id>-<number>, or the instance id as long as windlass does not know the
# natural id. The natural id is also the name of the thing's folder.
id=$(printf '%s\n' "$input" |
    sed -n -e '/^launch:$/,$s/^  "\{0,1\}\([A-Za-z0-9-]*\)"\{0,1\}:.*/\1/p' -e '/^instances:$/,$s/^  "\{0,1\}\([A-Za-z0-9-]*\)"\{0,1\}:.*/\1/p' | sed q)
# The instance id.
of=${id%%-*}
[ -f "$W/of/$id/instance" ] && of=$(cat "$W/of/$id/instance")
token=$(cat /proc/sys/kernel/random/uuid)
# say EVENT: adds a line to the effects log.
say() { printf '%s %s %s %s %s %s\n' "$token" "$of" "$1" "$action" "$(date +%T)" "${2:-}" >>"$W/effects"; }
# violated TEXT: records a broken rule. The program `chaos` reads the file.
violated() { printf '%s %s: %s\n' "$action" "$id" "$1" >>"$W/violations"; }
# things ID: prints the natural ids of all things of the instance.
things() { for thing in "$W/of"/*; do [ -f "$thing/instance" ] && [ "$(cat "$thing/instance")" = "$1" ] && basename "$thing"; done; }

say begin "$(value source) $(value target)"
mode=
for file in "$W/fail/$action" "$W/fail/any"; do
    [ -f "$file" ] && mode=$(cat "$file" 2>/dev/null) && rm -f "$file" && break
done
pause=$(cat "$W/pause" 2>/dev/null)
[ "${pause:-0}" = 0 ] || sleep "$pause"
thing=$id
# Start and Integrity are one step. If Integrity fails, windlass repeats both.
[ "$action" = Integrity ] && [ -n "$mode" ] && rm -f "$W/of/$thing/done.Start"
[ "$mode" = before ] && { say failed; echo "$action fails before its work" >&2; exit 1; }

# gone: prints the answer that the instance no longer exists.
gone() { printf 'instances:\n  "%s":\n    status:\n      flags: {active: false, converging: false, failed: false}\n' "$id"; }
answer() { :; }
# drop NAME: removes a thing. The `mv` hides the thing in one step, so that no other process sees a part of it.
drop() { [ ! -d "$W/of/$1" ] || mv "$W/of/$1" "$W/gone.$1.$token"; rm -rf "$W/gone.$1.$token"; }
# done_before MARK: succeeds if the thing has the mark of a successful action.
done_before() { [ -e "$W/of/$thing/done.$1" ]; }
# killed_since FILE: succeeds if a script or a container was killed after FILE was written. windlass may then repeat
# the action that wrote FILE, because the killed script counts as failed.
killed_since() { [ "$W/killed" -nt "$1" ]; }
# once MARK: records a violation if the effect is `once` and the action has already succeeded. The inverse action
# removes the mark.
once() {
    [ "$EFFECT" = once ] && done_before "$1" && ! killed_since "$W/of/$thing/done.$1" &&
        violated "$1 has the effect once, and was repeated after a success"
}
case $action in
Install)
    left=$(things "$id" | tr '\n' ' ')
    if [ -n "$left" ] && [ "$EFFECT" = once ]; then violated "an earlier Install has left $left"; fi
    if [ -n "$left" ]; then
        thing=${left%% *}
    else
        number=$(cat "$W/number.$id" 2>/dev/null || echo 0)
        number=$((number + 1))
        echo "$number" >"$W/number.$id"
        thing=$id-$number
        # The last `mv` shows the thing in one step, so that no other process sees a part of it.
        rm -rf "$W/new.$thing"
        mkdir "$W/new.$thing"
        printf '%s' "$id" >"$W/new.$thing/instance"
        printf '%s' "$(value properties.who)" >"$W/new.$thing/who"
        mv "$W/new.$thing" "$W/of/$thing"
    fi
    printf '%s' "$(value properties.fixed)" >"$W/of/$thing/fixed"
    printf '%s' "$(value properties.soft)" >"$W/of/$thing/soft"
    printf '%s' "$(value properties.reads)" >"$W/of/$thing/reads"
    printf installed >"$W/of/$thing/state"
    answer() { printf 'instances:\n  "%s":\n    instanceId: "%s"\n    interfaces:\n      properties:\n        signals: {token: "token-%s"}\n' "$thing" "$id" "$thing"; }
    ;;
Uninstall)
    drop "$id"
    for left in $(things "$of") $(things "$id"); do drop "$left"; done
    answer() { gone; }
    ;;
Configure | Reconfigure)
    [ -d "$W/of/$thing" ] || violated "the thing does not exist"
    printf '%s' "$(value properties.fixed)" >"$W/of/$thing/fixed"
    printf '%s' "$(value properties.soft)" >"$W/of/$thing/soft"
    printf '%s' "$(value properties.reads)" >"$W/of/$thing/reads"
    ;;
Start)
    [ -d "$W/of/$thing" ] || violated "the thing does not exist"
    once Start
    printf active >"$W/of/$thing/state"
    ;;
Stop)
    rm -f "$W/of/$thing/done.Start"
    [ ! -d "$W/of/$thing" ] || printf inactive >"$W/of/$thing/state"
    ;;
Integrity)
    if [ ! -d "$W/of/$thing" ]; then gone; say end; exit 0; fi
    ;;
Add | Mount)
    pair=$(value source).$(value target)
    [ -d "$W/of/$thing" ] || violated "the thing does not exist, but gets a relationship"
    once "$action.$pair"
    [ ! -d "$W/of/$thing" ] || : >"$W/of/$thing/$action.$pair"
    ;;
Remove)
    pair=$(value source).$(value target)
    rm -f "$W/of/$thing/Add.$pair" "$W/of/$thing/done.Add.$pair"
    ;;
Unmount)
    pair=$(value source).$(value target)
    rm -f "$W/of/$thing/Mount.$pair" "$W/of/$thing/done.Mount.$pair"
    ;;
esac
case $mode in
after) say failed; echo "$action fails after its work" >&2; exit 1 ;;
garbage) say failed; printf 'instances: [}{\n'; exit 0 ;;
signal) say failed; kill -9 $$ ;;
esac
case $action in
Start) [ ! -d "$W/of/$thing" ] || : >"$W/of/$thing/done.Start" ;;
Add | Mount) [ ! -d "$W/of/$thing" ] || : >"$W/of/$thing/done.$action.$pair" ;;
esac
answer
say end
