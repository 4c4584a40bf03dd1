#compdef attn

_attn() {
    local -a found words_ open_
    local line
    found=("${(@f)$(${~words[1]} completion zsh --line="${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ $found[1] == files ]]; then
        compset -P '*='
        _files
        return
    fi
    for line in "${(@)found[2,-1]}"; do
        line=${${line//\\/\\\\}//:/\\:}
        line=${line/$'\t'/:}
        if [[ ${line%%:*} == *= ]]; then open_+=("$line"); else words_+=("$line"); fi
    done
    _describe attn words_ -- open_ -S ''
}

if [[ $funcstack[1] == _attn ]]; then
    _attn "$@"  # autoloaded from a folder of $fpath
else
    compdef _attn attn
fi
