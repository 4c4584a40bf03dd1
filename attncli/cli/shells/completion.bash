_attn() {
    local line=${COMP_LINE:0:COMP_POINT} found all
    mapfile -t found < <("${1/#\~/$HOME}" completion bash --line="$line" --word="$2" 2>/dev/null)
    COMPREPLY=("${found[@]:1}")
    printf -v all %s "${COMPREPLY[@]}"
    if [[ ${found[0]} == files ]]; then
        compopt -o default
    elif [[ ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    elif [[ $all == *[^[:alnum:]_.,:-]* ]]; then
        compopt -o filenames  # bash then quotes what needs quotation marks
    fi
}

complete -F _attn attn
