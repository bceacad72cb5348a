import { CommandError, textTable, exitCodes } from "./terminal.ts";
import { type DefineCommand } from "./command.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import type { Check } from "../../base/report/index.ts";

/** `metrics`: what a running collector counts. */
export const defineMetrics: DefineCommand = (metrics, { terminal }) => {
  addClientOptions(metrics)
    .option("--changed", "leave out samples that are 0")
    .action(async (names: readonly string[], { changed = false }: { changed?: boolean }) => {
      const parts: Uint8Array[] = [];
      for await (const part of await (await clientOf(metrics, terminal)).read("GET", "/metrics")) parts.push(part);
      const text = Buffer.concat(parts).toString("utf8");
      const lines = text.split("\n").filter((line) => {
        const name = /^(?:# (?:HELP|TYPE) )?(\w+)/.exec(line)?.[1] ?? "";
        const isMeant = names.length === 0 || names.some((word) => name.includes(word));
        return name !== "" && isMeant && !(changed && (line.startsWith("#") || line.endsWith(" 0")));
      });
      if (lines.length === 0)
        throw new CommandError("not_found", `there is no metric whose name contains ${names.join(" or ")}`);
      terminal.out(lines.map((line) => `${line}\n`).join(""));
    });
};

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
