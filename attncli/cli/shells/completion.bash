_attn() {
    local line=${COMP_LINE:0:COMP_POINT} found
    mapfile -t found < <("${1/#\~/$HOME}" completion bash --line="$line" --word="$2" 2>/dev/null)
    COMPREPLY=("${found[@]:1}")
    if [[ ${found[0]} == files ]]; then
        compopt -o default
    elif [[ ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    else
        compopt -o filenames  # bash then quotes what needs quotation marks
    fi
}

complete -F _attn attn
