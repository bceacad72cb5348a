import { readFile } from "node:fs/promises";
import { Option } from "commander";
import type { CollectorAnswer } from "../../server/index.ts";
import { parseWatchFile, WatchFileError } from "../../watch/index.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { throughApi, type DefineCommand } from "./command.ts";
import { CommandError, exitCodes, textTable } from "./terminal.ts";

type Alert = CollectorAnswer<"listAlerts">["alerts"][number];
type WatchState = CollectorAnswer<"getWatch">;

const format = (): Option =>
  new Option("-o, --output <format>", "how to write it").choices(["text", "json"]).default("text");
const json = (answer: unknown): string => `${JSON.stringify(answer, undefined, 2)}\n`;
const off = new CommandError("unimplemented", "no rules are set up: SVC_WATCH_RULES_PATH names their file");

/** `watch`: rules on the flows of a running collector, and their alerts. */
export const defineWatch: DefineCommand = (watch, { terminal, setExitCode }) => {
  const alerts = addClientOptions(watch.command("alerts").helpGroup(throughApi))
    .description("list the alerts; exit code 1 when one fires")
    .option("--all", "those that have ended, too")
    .addOption(format())
    .action(async ({ all = false, output }: { all?: boolean; output: string }) => {
      const client = await clientOf(alerts, terminal);
      const answer = (await client.ask("GET", "/api/v1/watch/alerts")) as CollectorAnswer<"listAlerts">;
      if (!answer.enabled) throw off;
      const shown = answer.alerts.filter(({ state }) => all || state !== "cleared");
      terminal.out(output === "json" ? json(shown) : alertsText(shown));
      if (shown.some(({ state }) => state === "firing")) setExitCode(exitCodes.failure);
    });

  const rules = addClientOptions(watch.command("rules").helpGroup(throughApi))
    .description("list the rules and the actions")
    .addOption(format())
    .action(async ({ output }: { output: string }) => {
      const answer = (await (await clientOf(rules, terminal)).ask("GET", "/api/v1/watch/rules")) as WatchState;
      if (!answer.enabled) throw off;
      terminal.out(output === "json" ? json(answer) : rulesText(answer));
    });

  const acknowledge = addClientOptions(watch.command("ack <id>").helpGroup(throughApi))
    .description("note that you have seen an alert")
    .action(async (id: string) => {
      const path = `/api/v1/watch/alerts/${encodeURIComponent(id)}/acknowledge`;
      await (await clientOf(acknowledge, terminal)).ask("POST", path);
    });

  const test = addClientOptions(watch.command("test <action>").helpGroup(throughApi))
    .description("tell an action of a made alert; exit code 1 when it does not take it")
    .action(async (action: string) => {
      const path = `/api/v1/watch/actions/${encodeURIComponent(action)}/test`;
      const answer = await (await clientOf(test, terminal)).ask("POST", path);
      const { ok, fault = "" } = answer as { readonly ok: boolean; readonly fault?: string };
      terminal.out(ok ? `${action} took it\n` : `${action}: ${printable(fault)}\n`);
      if (!ok) setExitCode(exitCodes.failure);
    });

  watch
    .command("check <file>")
    .description("check a file of rules; needs no collector")
    .action(async (file: string) => {
      try {
        const { rules: found, actions } = parseWatchFile(file, await readFile(file, "utf8"));
        terminal.out(`${found.length} rules, ${actions.size} actions\n`);
      } catch (error) {
        setExitCode(exitCodes.failure);
        const faults = error instanceof WatchFileError ? error.faults : [`${file}: ${(error as Error).message}`];
        terminal.err(faults.map((fault) => `error: ${fault}\n`).join(""));
      }
    });
};

function alertsText(alerts: readonly Alert[]): string {
  const rows = alerts.map(({ id, state, since, text, acknowledged }) => [
    id,
    acknowledged === undefined ? state : `${state}, seen`,
    new Date(since).toISOString().replace(/\.\d+/, ""),
    printable(text),
  ]);
  return textTable(["ID", "STATE", "SINCE", "WHAT"], rows);
}

function rulesText({ fault, rules, actions }: WatchState): string {
  const ruleRows = rules.map(({ name, keys, firing, act }) => [
    printable(name),
    String(keys),
    String(firing),
    act.join(", "),
  ]);
  const actionRows = actions.map(({ name, sent, waiting, dropped, fault: failed = "" }) => [
    name,
    String(sent),
    String(waiting),
    String(dropped),
    printable(failed),
  ]);
  const told = actions.length === 0 ? "" : `\n${textTable(["ACTION", "SENT", "WAITING", "LOST", "FAULT"], actionRows)}`;
  const head = fault === undefined ? "" : `fault: ${printable(fault)}\n`;
  return `${head}${textTable(["RULE", "KEYS", "FIRING", "ACTIONS"], ruleRows)}${told}`;
}

/** Without control characters, which could steer a terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}
