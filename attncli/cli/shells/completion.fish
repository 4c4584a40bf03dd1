function __attn_complete
    set -l command (commandline -opc)[1]
    set -l line (commandline -pc | string collect)
    set -l found ($command completion fish --line="$line" 2>/dev/null)
    if test "$found[1]" = files
        set -l parts (string match --regex '^((?:[^=]*=)?)(.*)$' -- (commandline -ct))
        string replace --regex '^' -- "$parts[2]" (__fish_complete_path "$parts[3]")
    else
        printf '%s\n' $found[2..]
    end
end

complete --command attn --no-files --arguments '(__attn_complete)'
