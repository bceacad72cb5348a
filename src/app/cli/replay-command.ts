import { InvalidArgumentError } from "commander";
import type { DefineCommand } from "./command.ts";
import { addConfigOption, commandSettings } from "./command.ts";

export interface ReplayOptions {
  /** True if records go to the outputs of the settings. */
  readonly outputs?: boolean;
  readonly port?: readonly number[];
}

/** Defines `replay`: turns the flows of a capture into records by the settings of a collector, without one. */
export const defineReplay: DefineCommand = (replay, { terminal, setExitCode }) => {
  addConfigOption(replay)
    .option("--outputs", "send the records to the outputs of the settings instead of the standard output")
    .option("--port <ports>", "only datagrams to these UDP ports, separated by commas (default: to any)", ports)
    .action(async (files: readonly string[], options: ReplayOptions) => {
      const { settings } = await commandSettings(replay, terminal);
      const { replayCaptures } = await import("./replay-captures.ts");
      setExitCode(await replayCaptures(files, settings, options, terminal));
    });
};

function ports(text: string): readonly number[] {
  const numbers = text.split(",").map((part) => (/^\s*\d{1,5}\s*$/.test(part) ? Number(part) : 65_536));
  if (numbers.some((port) => port > 65_535)) throw new InvalidArgumentError("expected ports, separated by commas.");
  return numbers;
}
