import { commandSettings } from "./command.ts";
import type { DefineCommand } from "./command.ts";
import { addSettingsOptions } from "./settings-options.ts";

/** Defines `serve`: runs the collector until SIGTERM or SIGINT. */
export const defineServe: DefineCommand = (serve, { terminal, setExitCode }) => {
  addSettingsOptions(serve).action(async () => {
    const readAgain = (): ReturnType<typeof commandSettings> => commandSettings(serve, terminal);
    const reading = await readAgain();
    const { runServe } = await import("./run-serve.ts");
    setExitCode(await runServe({ reading, readAgain }, terminal));
  });
};
