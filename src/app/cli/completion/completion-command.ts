import type { DefineCommand } from "../command-row.ts";

/** `completion`: a script that makes a shell complete commands, options, keys and names. */
export const defineCompletion: DefineCommand = (completion, { terminal }) => {
  for (const shell of completion.registeredArguments) shell.choices(["bash", "zsh", "fish"]);
  completion.action(async (shell: "bash" | "zsh" | "fish") => {
    const { completionScripts } = await import("./completion-scripts.ts");
    terminal.out(completionScripts[shell]);
  });
};

/** `complete-words`: what the scripts call. The last word is the one to be completed. */
export const defineCompleteWords: DefineCommand = (command, { terminal }) => {
  command.action(async (words: readonly string[]) => {
    const { candidates } = await import("./candidates.ts");
    const found = command.parent === null ? [] : await candidates(command.parent, words, terminal);
    terminal.out(found.map(({ text, help = "" }) => `${text}${help === "" ? "" : `\t${help}`}\n`).join(""));
  });
};
