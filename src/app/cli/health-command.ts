import type { Check } from "../../base/report/index.ts";
import type { DefineCommand } from "./command-row.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { textTable } from "./text-table.ts";
import { exitCodes } from "./terminal.ts";

/** `health`: whether a running collector is ready, for people and for health checks of containers. */
export const defineHealth: DefineCommand = (health, { terminal, setExitCode }) => {
  addClientOptions(health)
    .option("--live", "ask only whether it runs")
    .action(async ({ live = false }: { live?: boolean }) => {
      const client = await clientOf(health, terminal);
      if (live) {
        for await (const _ of await client.read("GET", "/livez"));
        terminal.out("it runs\n");
        return;
      }
      const answer = await client.ask("GET", "/readyz", undefined, { answerStatus: 503 });
      const { ready, degraded, checks } = answer as { ready: boolean; degraded: boolean; checks: readonly Check[] };
      const rows = checks.map((check) => [stateOf(check), check.name, check.detail ?? ""]);
      terminal.out(`${ready ? (degraded ? "ready, but not all of it works" : "ready") : "not ready"}\n`);
      terminal.out(textTable(["STATE", "CHECK", "DETAIL"], rows));
      if (!ready) setExitCode(exitCodes.failure);
    });
};

function stateOf({ ready, degraded }: Check): string {
  if (!ready) return "not ready";
  return degraded === true ? "degraded" : "ready";
}
