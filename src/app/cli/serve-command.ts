import type { Command } from "commander";
import { addSettingsOptions, commandSettings } from "./settings-options.ts";
import type { Terminal } from "./terminal.ts";

/** `serve`: runs the collector until SIGTERM or SIGINT. */
export function addServeCommand(program: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  const serve = program.command("serve").description("run the collector until SIGTERM or SIGINT");
  addSettingsOptions(serve).action(async () => {
    const readAgain = (): ReturnType<typeof commandSettings> => commandSettings(serve, terminal);
    const reading = await readAgain();
    const { runServe } = await import("./run-serve.ts");
    setExitCode(await runServe({ reading, readAgain }, terminal));
  });
}
