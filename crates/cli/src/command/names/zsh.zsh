# Completes the names of what is in the store, and all else as above.
_windlass() {
    local program=${~words[1]} names only ret=1
    [[ $program == */* && -x $program ]] || program=${commands[$program]:-windlass}
    names=$($program complete-names "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)
    only=$?
    if [[ -n $names ]]; then
        local -a found=("${(@f)names}")
        local -a blank=()
        # The value of a parameter follows without a blank.
        [[ $names != *= ]] || blank=(-S '')
        compadd $blank -a found && ret=0
    fi
    (( only == 0 )) || { _windlass_words "$@" && ret=0 }
    return ret
}

