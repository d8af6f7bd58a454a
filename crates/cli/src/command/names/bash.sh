
# Completes the names of what is in the store, and all else as above.
_windlass() {
    local program=$1 line=${COMP_LINE:0:COMP_POINT} names name
    local -a words
    type -P "$program" >/dev/null || program=windlass
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=("")
    if names=$("$program" complete-names "${words[@]:1}" 2>/dev/null); then
        compopt +o default +o bashdefault 2>/dev/null
        COMPREPLY=()
    else
        _windlass_words "$@"
        # Options are offered before commands only once a `-` is typed.
        if [[ $2 != -* ]]; then
            local -a words_only=()
            for name in "${COMPREPLY[@]}"; do
                [[ $name == -* ]] || words_only+=("$name")
            done
            [[ ${#words_only[@]} -eq 0 ]] || COMPREPLY=("${words_only[@]}")
        fi
        if [[ -n $names && ${#COMPREPLY[@]} -eq 0 ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$2")
            compopt -o filenames 2>/dev/null
        fi
    fi
    # Bash may see the end of a word as a word: what is before that stands already.
    local typed=${words[${#words[@]} - 1]}
    while read -r name; do
        [[ -z $name ]] || COMPREPLY+=("${name#"${typed%"$2"}"}")
    done <<<"$names"
    # The value of a parameter follows without a blank.
    [[ $names != *= ]] || compopt -o nospace 2>/dev/null
}
