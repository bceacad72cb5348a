/** What stands for the names of files among the candidates. */
export const fileCandidates = ":files";

const bash = String.raw`# netgloss: completion for bash
_netgloss() {
  local line=${"$"}{COMP_LINE:0:COMP_POINT} words=() last candidate prefix
  # The words of bash end at colons and equals signs, which are parts of keys and options.
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  last=${"$"}{words[${"$"}{#words[@]}-1]}
  prefix=${"$"}{last%"${"$"}{last##*[:=]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate == ${fileCandidates} ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "${"$"}{last#"$prefix"}")
    else
      COMPREPLY+=("${"$"}{candidate#"$prefix"}")
    fi
  done < <(netgloss complete-words -- "${"$"}{words[@]:1}" 2>/dev/null)
}
complete -F _netgloss netgloss
`;

const zsh = String.raw`#compdef netgloss
# netgloss: completion for zsh
_netgloss() {
  local -a lines described
  local line
  lines=("${"$"}{(@f)$(netgloss complete-words -- "${"$"}{(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    if [[ $line == ${fileCandidates} ]]; then
      _files
      return
    fi
    # A colon would end the candidate.
    described+=("${"$"}{${"$"}{line%%$'\t'*}//:/\\:}${"$"}{${"$"}{(M)line:#*$'\t'*}:+:${"$"}{line#*$'\t'}}")
  done
  (( $#described )) && _describe netgloss described
}
if [[ ${"$"}{funcstack[1]} == _netgloss ]]; then _netgloss "$@"; else compdef _netgloss netgloss; fi
`;

const fish = String.raw`# netgloss: completion for fish
function __netgloss_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l last (commandline -ct)
  set -l lines (netgloss complete-words -- $words "$last" 2>/dev/null)
  if test "$lines[1]" = "${fileCandidates}"
    __fish_complete_path "$last"
  else
    printf '%s\n' $lines
  end
end
complete -c netgloss -f -a '(__netgloss_complete)'
`;

export const completionScripts = { bash, zsh, fish } as const;
