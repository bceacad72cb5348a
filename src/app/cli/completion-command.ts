import type { Command, Argument, Option } from "commander";
import { clientOf } from "./client/client-options.ts";
import type { Terminal } from "./terminal.ts";
import { callUdm, readUdmKeys } from "./udm/udm-json.ts";
import { pathOfProfiles, profileNames } from "./client/profile.ts";
import type { DefineCommand } from "./command.ts";

/** The candidate that stands for names of files. */
const fileCandidates = ":files";

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

const completionScripts = { bash, zsh, fish } as const;

/** The time limit in milliseconds, because a shell waits meanwhile. */
const patience = 2_000;
const most = 500;
/** The number of entries above which only a part is requested. */
const listedWhole = 20_000;

/** Returns keys of the collector that the command line so far selects; none when it does not answer at once, or wants a password. */
async function keyCandidates(
  command: Command,
  words: readonly string[],
  begun: string,
  terminal: Terminal,
): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  const late = AbortSignal.timeout(patience);
  const ask = async (): Promise<void> => {
    command.configureOutput({ writeErr: () => {}, outputError: () => {} });
    command.parseOptions([...words]);
    const client = await clientOf(command, { ...terminal, ask: () => Promise.resolve(undefined) });
    const { count = 0 } = (await callUdm(client, "CountUdms", {})) as { count?: number };
    const within = count > listedWhole ? prefixOf(begun) : undefined;
    if (count > listedWhole && within === undefined) return;
    for await (const keys of readUdmKeys(client, within === undefined ? {} : { key: within })) {
      for (const key of keys) if (key.startsWith(begun)) found.push({ text: key });
      if (found.length >= most || late.aborted) return;
    }
  };
  const timer = new Promise<void>((resolve) => late.addEventListener("abort", () => resolve()));
  await Promise.race([ask().catch(() => {}), timer]);
  return found.slice(0, most);
}

/** Returns the network of the complete octets: `10.1.2` is in 10.1.0.0/16. */
function prefixOf(begun: string): string | undefined {
  const octets = /^(?:\d{1,3}\.){1,3}/.exec(begun)?.[0].split(".").slice(0, -1) ?? [];
  if (octets.length === 0) return undefined;
  return `${[...octets, "0", "0", "0"].slice(0, 4).join(".")}/${8 * octets.length}`;
}

/** Returns field names that complete the end of an expression: `src.ip=10.0.0.1,dst.na` ends in a name. */
async function fieldCandidates(written: string, of: "records" | "udm" = "records"): Promise<readonly Candidate[]> {
  const { recordVocabulary, udmVocabulary } = await import("../../record/index.ts");
  const begun = /[\w.]*$/.exec(written)?.[0] ?? "";
  const before = written.slice(0, written.length - begun.length);
  const vocabulary = of === "udm" ? udmVocabulary : recordVocabulary;
  return Array.from(vocabulary.names(), (name) => ({ text: before + name }));
}

/** One completion of a word. */
interface Candidate {
  readonly text: string;
  readonly help?: string;
}

/** The position of the word to be completed. */
interface Place {
  readonly command: Command;
  /** The option whose value it is. */
  readonly option: Option | undefined;
  /** The number of the command's arguments before it. */
  readonly given: number;
  /** The words after those that name the command, without the last one. */
  readonly rest: readonly string[];
}

/** Finds completions of the last word from the program's commands and options, and from the collector's data. */
async function candidates(
  program: Command,
  words: readonly string[],
  terminal: Terminal,
): Promise<readonly Candidate[]> {
  const last = words.at(-1) ?? "";
  const place = placeOf(program, words.slice(0, -1));
  const found =
    place.option === undefined ? await atArgument(place, last, terminal) : await ofOption(place.option, last, terminal);
  return found.filter(({ text }) => text === fileCandidates || text.startsWith(last));
}

function placeOf(program: Command, before: readonly string[]): Place {
  let command = program;
  let option: Option | undefined;
  let rest: string[] = [];
  let given = 0;
  for (const word of before) {
    if (option !== undefined) {
      option = undefined;
      rest.push(word);
    } else if (word.startsWith("-") && word !== "-") {
      const known = command.options.find(({ long, short: letter }) => word === long || word === letter);
      option = known?.required === true ? known : undefined;
      rest.push(word);
    } else {
      const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (next !== undefined) [command, rest, given] = [next, [], 0];
      else {
        rest.push(word);
        given++;
      }
    }
  }
  return { command, option, given, rest };
}

async function atArgument(
  { command, given, rest }: Place,
  last: string,
  terminal: Terminal,
): Promise<readonly Candidate[]> {
  if (last.startsWith("-")) {
    const options = command.options.filter(({ hidden }) => !hidden);
    const all = options.flatMap(({ long, description }) =>
      long === undefined ? [] : [{ text: long, help: short(description) }],
    );
    return [...all, { text: "--help", help: "show help" }];
  }
  const commands = command.createHelp().visibleCommands(command);
  if (commands.length > 0) return commands.map((one) => ({ text: one.name(), help: short(one.description()) }));
  const known = command.registeredArguments;
  const argument = known[given] ?? (known.at(-1)?.variadic === true ? known.at(-1) : undefined);
  return argument === undefined ? [] : ofArgument(argument, { command, rest, last, terminal });
}

interface Asked {
  readonly command: Command;
  readonly rest: readonly string[];
  readonly last: string;
  readonly terminal: Terminal;
}

async function ofArgument(argument: Argument, asked: Asked): Promise<readonly Candidate[]> {
  if (argument.argChoices !== undefined) return argument.argChoices.map((text) => ({ text }));
  const name = argument.name();
  if (/^keys?$/.test(name)) return keyCandidates(asked.command, asked.rest, asked.last, asked.terminal);
  if (name === "expression") return fieldCandidates(asked.last);
  return /^(?:files?|dir|directory)$/.test(name) ? [{ text: fileCandidates }] : [];
}

async function ofOption(option: Option, last: string, terminal: Terminal): Promise<readonly Candidate[]> {
  if (option.argChoices !== undefined) return option.argChoices.map((text) => ({ text }));
  if (option.long === "--profile") return profileCandidates(terminal);
  if (/<(?:file|path|dir)>/.test(option.flags)) return [{ text: fileCandidates }];
  if (option.flags.includes("<udm-filter>")) return fieldCandidates(last, "udm");
  if (/<(?:filter|expression|fields?)>/.test(option.flags)) return fieldCandidates(last);
  return option.flags.includes("[value]") ? [{ text: "true" }, { text: "false" }] : [];
}

async function profileCandidates({ env }: Terminal): Promise<readonly Candidate[]> {
  class Unreadable extends Error {}
  const fail = (message: string): never => {
    throw new Unreadable(message);
  };
  try {
    return (await profileNames(pathOfProfiles(env), fail)).map((text) => ({ text }));
  } catch (error) {
    if (error instanceof Unreadable) return [];
    throw error;
  }
}

/** Returns one line that fits next to the candidate. */
function short(text: string): string {
  const line = text.split(/[;:(\n\t]/)[0] ?? "";
  return line.trim();
}

/** Defines `completion`: writes a script that makes a shell complete commands, options, keys and names. */
export const defineCompletion: DefineCommand = (completion, { terminal }) => {
  for (const shell of completion.registeredArguments) shell.choices(["bash", "zsh", "fish"]);
  completion.action(async (shell: "bash" | "zsh" | "fish") => {
    terminal.out(completionScripts[shell]);
  });
};

/** Defines `complete-words`, which the scripts call. The last word is the one to be completed. */
export const defineCompleteWords: DefineCommand = (command, { terminal }) => {
  command.action(async (words: readonly string[]) => {
    const found = command.parent === null ? [] : await candidates(command.parent, words, terminal);
    terminal.out(found.map(({ text, help = "" }) => `${text}${help === "" ? "" : `\t${help}`}\n`).join(""));
  });
};
