import { InvalidArgumentError, Option } from "commander";
import { logLevels, type LogLevel } from "../../base/report/index.ts";
import type { DefineCommand } from "./command.ts";

export interface DemoCommandOptions {
  readonly apiPort: string;
  readonly interval: number;
  readonly logLevel: LogLevel;
}

/**
 * Defines `demo`: runs a collector with its own data in a temporary directory, exporters that send to it and SNMP agents that it
 * polls. The system chooses its ports, so several demonstrations can run at a time.
 */
export const defineDemo: DefineCommand = (demo, { terminal, setExitCode }) => {
  demo
    .option("--api-port <port>", "the port of the API (0: the system chooses)", "0")
    .option("--interval <seconds>", "how often records are shown", seconds, 3)
    .addOption(new Option("--log-level <level>", "what is logged").choices(logLevels).default("warn"))
    .action(async (options: DemoCommandOptions) => {
      const { runDemo } = await import("./run-demo.ts");
      setExitCode(await runDemo(options, terminal));
    });
};

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0.1 && value <= 3600)) throw new InvalidArgumentError("expected a number from 0.1 to 3600.");
  return value;
}
