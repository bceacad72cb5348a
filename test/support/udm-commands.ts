import { join } from "node:path";
import { createCollector, readSettings, runProgram } from "../../src/app/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { cleanUp, type Owner } from "./clean-up.ts";
import { createFakeTerminal } from "./fake-terminal.ts";
import { tempDirectory } from "./temp-directory.ts";

export interface CommandRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CommandWorld {
  readonly port: number;
  /** Ports on which flows are received. */
  readonly flowPorts: readonly number[];
  /** Runs a command, which finds the collector by its settings. */
  readonly run: (...argv: string[]) => Promise<CommandRun>;
  /** The same with a standard input, answers to questions, more environment, and a person who reads the standard error. */
  readonly runWith: (
    given: {
      input?: readonly string[];
      answers?: readonly string[];
      env?: Record<string, string>;
      isWatched?: boolean;
    },
    ...argv: string[]
  ) => Promise<CommandRun>;
}

/** A collector with an empty metadata file, and commands that ask it. */
export async function startCommandWorld(t: Owner, more: Record<string, string> = {}): Promise<CommandWorld> {
  const settings = {
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(tempDirectory(t), "ipaddrs.yml"),
    SVC_API_PORT: "0",
    ...more,
  };
  const layer = Object.entries(settings).map(([name, text]) => ({ name, text, origin: "test" }));
  const reading = readSettings([layer], () => "");
  const collector = createCollector({
    settings: reading.settings,
    log: silentLog,
    clock: systemClock,
    version: "0.0.0",
  });
  await collector.start();
  cleanUp(t, () => collector.stop());
  const port = collector.apiPort();
  // Without this home the profiles of whoever runs the tests would count.
  const base = { ...settings, SVC_API_PORT: String(port), HOME: tempDirectory(t) };
  const runWith: CommandWorld["runWith"] = async ({ input, answers, env, isWatched = false }, ...argv) => {
    const terminal = createFakeTerminal(argv, { ...base, ...env }, input, answers);
    const code = await runProgram({ ...terminal, isWatched });
    return { code, ...terminal.written };
  };
  return { port, flowPorts: collector.flowPorts(), runWith, run: (...argv) => runWith({}, ...argv) };
}
