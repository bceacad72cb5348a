import { Argument, type Command } from "commander";
import type { Terminal } from "../terminal.ts";

/** `completion`: a script that makes a shell complete commands, options, keys and names. */
export function addCompletionCommand(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description('print a completion script: eval "$(netgloss completion bash)"; see docs/command-line.md')
    .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
    .action(async (shell: "bash" | "zsh" | "fish") => {
      const { completionScripts } = await import("./completion-scripts.ts");
      terminal.out(completionScripts[shell]);
    });

  // What the scripts call. The last word is the one to be completed.
  program.command("complete-words [words...]", { hidden: true }).action(async (words: readonly string[]) => {
    const { candidates } = await import("./candidates.ts");
    const found = await candidates(program, words, terminal);
    terminal.out(found.map(({ text, help = "" }) => `${text}${help === "" ? "" : `\t${help}`}\n`).join(""));
  });
}
