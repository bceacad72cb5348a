import type { Command } from "commander";
import { readFile } from "node:fs/promises";
import type { AlertStreamEvent, CollectorAnswer } from "../../server/index.ts";
import { parseWatchFile, WatchFileError } from "../../watch/index.ts";
import { readyRulesPath, shippedReadyRules } from "../ready-rules.ts";
import type { ApiClient } from "./client/api-call.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { throughApi, type CommandContext, type DefineCommand } from "./command.ts";
import { defineRuleCommands } from "./rule-commands.ts";
import { addOutput, print, printTable, shownTime, type Cell, type OutputFormat } from "./print.ts";
import { CommandError, exitCodes, type Terminal } from "./terminal.ts";

type Alert = CollectorAnswer<"listAlerts">["alerts"][number];
type WatchState = CollectorAnswer<"getWatch">;
type WatchAnswers = CollectorAnswer<"listAnswers">;

const off = new CommandError("unimplemented", "no rules are set up: SVC_WATCH_RULES_PATH names their file");

/** Defines `watch`: rules on the flows of a running collector, and their alerts. */
export const defineWatch: DefineCommand = (watch, context) => {
  const { terminal, setExitCode } = context;
  const alerts = addOutput(addClientOptions(watch.command("alerts").helpGroup(throughApi)))
    .description("list the alerts; exit code 1 when one fires")
    .option("--all", "those that have ended, too")
    .option("--follow", "then show what happens to alerts, as it happens")
    .action(async ({ all = false, follow = false, output }: AlertOptions) => {
      const client = await clientOf(alerts, terminal);
      if (follow) {
        await followAlerts(client, output, terminal);
        return;
      }
      const answer = (await client.ask("GET", "/api/v1/watch/alerts")) as CollectorAnswer<"listAlerts">;
      if (!answer.enabled) throw off;
      const shown = answer.alerts.filter(({ state }) => all || state !== "cleared");
      const rows = shown.map(alertRow);
      await print({ value: shown, head: ["id", "state", "since", "what"], rows }, output, terminal);
      const more = answer.firing + answer.pending + (all ? answer.cleared : 0) - shown.length;
      if (more > 0) terminal.err(`${more} more are not listed\n`);
      if (shown.some(({ state }) => state === "firing")) setExitCode(exitCodes.failure);
    });

  defineRules(watch, context);

  const acknowledge = addClientOptions(watch.command("ack <id>").helpGroup(throughApi))
    .description("note that you have seen an alert")
    .action(async (id: string) => {
      const path = `/api/v1/watch/alerts/${encodeURIComponent(id)}/acknowledge`;
      await (await clientOf(acknowledge, terminal)).ask("POST", path);
    });

  defineSilences(watch, terminal);
  void defineAnswers(watch, context);

  const test = addClientOptions(watch.command("test <action>").helpGroup(throughApi))
    .description("send a made-up alert to an action; exit code 1 when it does not take it")
    .action(async (action: string) => {
      const path = `/api/v1/watch/actions/${encodeURIComponent(action)}/test`;
      const answer = await (await clientOf(test, terminal)).ask("POST", path);
      const { ok, fault = "" } = answer as { readonly ok: boolean; readonly fault?: string };
      terminal.out(ok ? `${action} took it\n` : `${action}: ${printable(fault)}\n`);
      if (!ok) setExitCode(exitCodes.failure);
    });

  const resend = addClientOptions(watch.command("resend <action>").helpGroup(throughApi))
    .description("send again the notices that an action refused")
    .action(async (action: string) => {
      const path = `/api/v1/watch/actions/${encodeURIComponent(action)}/resend`;
      const { notices } = (await (await clientOf(resend, terminal)).ask("POST", path)) as { readonly notices: number };
      terminal.out(`${notices} notices are sent again\n`);
    });

  defineReady(watch, terminal);

  watch
    .command("check <file>")
    .description("check a file of rules; needs no collector")
    .action(async (file: string) => {
      try {
        const { rules: found, actions } = parseWatchFile(
          file,
          await readFile(file, "utf8"),
          await shippedReadyRules(),
          true,
        );
        terminal.out(`${found.length} rules, ${actions.size} actions\n`);
      } catch (error) {
        setExitCode(exitCodes.failure);
        const faults = error instanceof WatchFileError ? error.faults : [`${file}: ${(error as Error).message}`];
        terminal.err(faults.map((fault) => `error: ${fault}\n`).join(""));
      }
    });
};

/** Defines the commands about rules: they show their state, and change them. */
function defineRules(watch: Command, context: CommandContext): void {
  const rules = watch.command("rules").helpGroup(throughApi).description("rules: their state, and changes of them");
  const list = addOutput(addClientOptions(rules.command("list", { isDefault: true }).helpGroup(throughApi)))
    .description("list the rules and the actions (default)")
    .action(async ({ output }: { output: OutputFormat }) => {
      const answer = (await (await clientOf(list, context.terminal)).ask("GET", "/api/v1/watch/rules")) as WatchState;
      if (!answer.enabled) throw off;
      const rows = answer.rules.map(ruleRow);
      await print({ value: answer, head: ruleHead, rows, text: () => rulesText(answer) }, output, context.terminal);
    });

  defineRuleCommands(rules, "watch", context);
}

interface AlertOptions {
  readonly all?: boolean;
  readonly follow?: boolean;
  readonly output: OutputFormat;
}

/** Writes the current alerts and then their changes, until nobody reads them any more. */
async function followAlerts(client: ApiClient, output: OutputFormat, terminal: Terminal): Promise<void> {
  if (output !== "text" && output !== "json")
    throw new CommandError("usage", `--follow writes text or json lines, not ${output}`);
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of await client.read("GET", "/api/v1/watch/alerts/stream", { isEndless: true })) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") continue;
      const text = output === "json" ? `${line}\n` : eventText(JSON.parse(line) as AlertStreamEvent);
      terminal.out(text);
    }
    if (!(await terminal.drained())) return;
  }
}

/** Returns a line for each alert: `2026-11-27 18:00:00  firing  <id>  <text>`. */
function eventText({ at, change, alert, alerts = [] }: AlertStreamEvent): string {
  const rowOf = (time: number, word: string, { id, text }: Omit<Alert, "top" | "series">): string =>
    `${shownTime(time)}  ${word.padEnd(12)}  ${id}  ${printable(text)}\n`;
  if (alert !== undefined) return rowOf(at, change, alert);
  const open = alerts.filter(({ state }) => state !== "cleared");
  return open.map((each) => rowOf(each.firedAt ?? each.since, each.state, each)).join("");
}

type Silence = CollectorAnswer<"listSilences">["silences"][number];

function defineSilences(watch: Command, terminal: Terminal): void {
  const snooze = addClientOptions(watch.command("snooze <id> <time>").helpGroup(throughApi))
    .description(
      "send no notices of an alert for a time such as 30m or 8h; if it still fires then, they are sent again",
    )
    .action(async (id: string, time: string) => {
      const path = `/api/v1/watch/alerts/${encodeURIComponent(id)}/snooze`;
      await (await clientOf(snooze, terminal)).ask("POST", path, { for: time });
    });

  const silence = addClientOptions(watch.command("silence <filter> <time>").helpGroup(throughApi))
    .description("send no notices of the alerts of a filter for a time, such as 'flow.dst.ip.addr in 10.0.0.0/8' 8h")
    .option("--from <time>", "when it begins, such as 2026-11-22T04:00:00Z (default: now)")
    .option("--comment <text>", "why")
    .action(async (filter: string, time: string, { from, comment }: { from?: string; comment?: string }) => {
      const body = {
        filter,
        for: time,
        ...(from !== undefined && { from }),
        ...(comment !== undefined && { comment }),
      };
      const path = "/api/v1/watch/silences/add";
      const made = (await (await clientOf(silence, terminal)).ask("POST", path, body)) as Silence;
      terminal.out(`${made.id} until ${shownTime(made.until)}\n`);
    });

  const silences = addOutput(addClientOptions(watch.command("silences").helpGroup(throughApi)))
    .description("list the silences")
    .action(async ({ output }: { output: OutputFormat }) => {
      const client = await clientOf(silences, terminal);
      const answer = (await client.ask("GET", "/api/v1/watch/silences")) as CollectorAnswer<"listSilences">;
      if (!answer.enabled) throw off;
      const rows = answer.silences.map((one) => [
        one.id,
        shownTime(one.from),
        shownTime(one.until),
        one.by,
        one.filter,
        one.comment,
      ]);
      const head = ["id", "from", "until", "by", "filter", "comment"];
      await print({ value: answer.silences, head, rows }, output, terminal);
    });

  const unsilence = addClientOptions(watch.command("unsilence <id>").helpGroup(throughApi))
    .description("end a silence now")
    .action(async (id: string) => {
      const path = `/api/v1/watch/silences/${encodeURIComponent(id)}/end`;
      await (await clientOf(unsilence, terminal)).ask("POST", path);
    });
}

/** Defines `watch ready`: shows the rules that come with the program. */
function defineReady(watch: Parameters<DefineCommand>[0], terminal: Parameters<DefineCommand>[1]["terminal"]): void {
  addOutput(watch.command("ready [name]"))
    .description("list the rules that come with netgloss, or show one; needs no collector")
    .action(async (name: string | undefined, { output }: { output: OutputFormat }) => {
      const all = await shippedReadyRules();
      if (name === undefined) {
        const value = all.map(({ rule, ...texts }) => ({ name: rule.name, of: rule.of, ...texts }));
        const rows = value.map((each) => [each.name, each.of, each.sees]);
        await print({ value, head: ["rule", "of", "what it sees"], rows }, output, terminal);
        return;
      }
      const found = all.find(({ rule }) => rule.name === name);
      if (found === undefined)
        throw new CommandError("not_found", `there is no ready rule ${name}; netgloss watch ready lists them`);
      const { sees, misses, number } = found;
      const source = (await readFile(readyRulesPath(), "utf8"))
        .split(/^- rule:\n/m)
        .find((each) => each.startsWith(`    name: ${name}\n`));
      const rule = (source ?? "").split(/^  sees:/m)[0] ?? "";
      const text = `It sees: ${sees}\nIt misses: ${misses}\nIts number: ${number}\n\nready:\n  ${name}: {}\n\n# is the rule\n${rule}`;
      await print(
        { value: { name, sees, misses, number, rule }, head: [], rows: [], text: () => text },
        output,
        terminal,
      );
    });
}

/** Defines `watch answers`: routes against attacks. */
const defineAnswers: DefineCommand = (watch, { terminal }) => {
  const answers = addOutput(addClientOptions(watch.command("answers").helpGroup(throughApi)))
    .description("list the routes that are proposed and announced against attacks")
    .option("--all", "those that have ended or were refused, too")
    .action(async ({ all = false, output }: { all?: boolean; output: OutputFormat }) => {
      const answer = (await (await clientOf(answers, terminal)).ask("GET", "/api/v1/watch/answers")) as WatchAnswers;
      if (!answer.enabled) throw off;
      const shown = answer.answers.filter(({ state }) => all || (state !== "ended" && state !== "refused"));
      const rows = shown.map(answerRow);
      await print({ value: shown, head: answerHead, rows }, output, terminal);
    });

  for (const [name, description] of [
    ["approve", "allow an answer: its routes are announced"],
    ["withdraw", "withdraw the routes of an answer, or drop one that is proposed"],
  ] as const) {
    const decide = addClientOptions(watch.command(`${name} <id>`).helpGroup(throughApi))
      .description(description)
      .action(async (id: string) => {
        const path = `/api/v1/watch/answers/${encodeURIComponent(id)}/${name}`;
        const answer = (await (await clientOf(decide, terminal)).ask("POST", path)) as WatchAnswers["answers"][number];
        const { state, text, allowed } = answer;
        const by = state === "proposed" ? `, allowed by ${allowed.length}; another user has to allow it, too` : "";
        terminal.out(`${state}${by}: ${printable(text)}\n`);
      });
  }
};

function alertRow({ id, state, since, text, acknowledged }: Alert): readonly Cell[] {
  const shown = acknowledged === undefined ? state : `${state}, seen`;
  return [id, shown, shownTime(since), text];
}

const answerHead = ["id", "state", "until", "routes", "takes", "harms", "alert"];

function answerRow({
  id,
  state,
  because,
  endsAt,
  text,
  evidence,
  reason,
  fault,
}: WatchAnswers["answers"][number]): readonly Cell[] {
  const note = fault ?? because;
  const until =
    endsAt === undefined || state === "ended" ? undefined : new Date(endsAt).toISOString().replace(/\.\d+/, "");
  return [
    id,
    note === undefined ? state : `${state}: ${note}`,
    until,
    text,
    share(evidence?.takes),
    share(evidence?.harms),
    reason,
  ];
}

function share(part: number | undefined): string | undefined {
  return part === undefined ? undefined : `${Math.round(1000 * part) / 10} %`;
}

const ruleHead = ["rule", "keys", "firing", "actions", "history"];

function ruleRow({ name, keys, firing, act, history }: WatchState["rules"][number]): readonly Cell[] {
  return [name, keys, firing, act.join(", "), history];
}

function rulesText({ fault, rules, actions }: WatchState): string {
  const actionRows = actions.map((each) => [each.name, each.sent, each.waiting, each.aside, each.dropped, each.fault]);
  const receivers =
    actions.length === 0
      ? ""
      : `\n${printTable(["action", "sent", "waiting", "refused", "lost", "fault"], actionRows)}`;
  const head = fault === undefined ? "" : `fault: ${printable(fault)}\n`;
  return `${head}${printTable(ruleHead, rules.map(ruleRow))}${receivers}`;
}

/** Replaces control characters, which could steer a terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}
