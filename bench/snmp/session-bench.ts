// PDUs a second and CPU time per PDU of a walk, compared with Debian's snmpbulkwalk, against one simulated agent in
// another process. Both ask for ten rows of one column at a time, as snmpbulkwalk does by default.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { SnmpClient, walk, type Credential } from "../../src/snmp/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { startHelper } from "../support/child.ts";
import { median } from "../support/median.ts";
import type { AgentStatus } from "./agent-process.ts";
import { benchUser } from "./bench-user.ts";

interface Measured {
  readonly pdusPerSecond: number;
  /** Microseconds of user and system time. */
  readonly cpuPerPdu: number;
}

const root = [1, 3, 6, 1, 2, 1, 2, 2, 1];
const rowsAtOnce = 10;
const rounds = 5;

const agent = startHelper("snmp/agent-process.js");
const { port } = await agent.ask<AgentStatus>({});
const client = new SnmpClient({ metrics: createMetrics(), log: silentLog, clock: systemClock });
const run = promisify(execFile);

/** Whole walks in each of `lanes` at the same time, for about a second. */
async function walkOurs(credential: Credential, lanes: number): Promise<Measured> {
  const target = { ip: "127.0.0.1", port, credential, timeout: 2000, retries: 1, exponentialTimeout: false };
  const session = client.open(target);
  const start = performance.now();
  const cpu = process.cpuUsage();
  let requests = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < start + 1000) {
      const summary = await walk(session, [root], () => {}, { maxRepetitions: rowsAtOnce });
      if (!summary.isComplete) throw new Error(summary.detail);
      requests += summary.requests;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const { user, system } = process.cpuUsage(cpu);
  session.close();
  return {
    pdusPerSecond: (requests / (performance.now() - start)) * 1000,
    cpuPerPdu: (user + system) / requests,
  };
}

/** CPU time of a net-snmp program in microseconds, as the shell measures it. */
async function cpuOf(program: string, ...rest: readonly string[]): Promise<number> {
  const script = `TIMEFORMAT="%U %S"; time "$@" > /dev/null`;
  const { stderr } = await run("bash", ["-c", script, "bash", program, "-m", "", "-Oqn", ...rest]);
  const [user, system] = stderr.trim().split(" ").map(Number) as [number, number];
  return (user + system) * 1e6;
}

/** Four walks; the start of the program, measured by a get of one value, is taken off. */
async function walkTheirs(credential: readonly string[]): Promise<Measured> {
  const target = `127.0.0.1:${port}`;
  const { requests } = await agent.ask<AgentStatus>({});
  const start = performance.now();
  let cpu = 0;
  for (let i = 0; i < 4; i++)
    cpu += await cpuOf("snmpbulkwalk", `-Cr${rowsAtOnce}`, ...credential, target, root.join("."));
  const elapsed = performance.now() - start;
  const asked = (await agent.ask<AgentStatus>({})).requests - requests;
  for (let i = 0; i < 4; i++) cpu -= await cpuOf("snmpget", ...credential, target, `${root.join(".")}.1.1`);
  return { pdusPerSecond: (asked / elapsed) * 1000, cpuPerPdu: cpu / asked };
}

/** Ours and theirs in turn, so that both see the same machine. */
async function compare(what: string, credential: Credential, theirs: readonly string[]): Promise<void> {
  const measured: Record<"theirs" | "alone" | "together", Measured[]> = { theirs: [], alone: [], together: [] };
  await walkOurs(credential, 16);
  for (let i = 0; i < rounds; i++) {
    measured.theirs.push(await walkTheirs(theirs));
    measured.alone.push(await walkOurs(credential, 1));
    measured.together.push(await walkOurs(credential, 16));
  }
  const figure = (who: keyof typeof measured, name: keyof Measured): number =>
    median(measured[who].map((round) => round[name]));
  for (const [who, lanes] of [
    ["alone", "one walk at a time"],
    ["together", "16 walks at a time"],
  ] as const) {
    reportRow({
      what: `SNMP ${what}, ${lanes}`,
      value: figure(who, "pdusPerSecond"),
      unit: "PDU/s",
      peer: { what: "snmpbulkwalk", value: figure("theirs", "pdusPerSecond") },
      ...(who === "together" && { goal: "≥ 5 000" }),
    });
    reportRow({
      what: `SNMP ${what}, ${lanes}`,
      value: figure(who, "cpuPerPdu"),
      unit: "µs CPU/PDU",
      peer: { what: "snmpbulkwalk", value: figure("theirs", "cpuPerPdu") },
      ...(who === "together" && { goal: "≤ 1 ×" }),
    });
  }
}

const usm = ["-v3", "-l", "authPriv", "-u", benchUser.username, "-a", "SHA-256", "-x", "AES"];
const passphrases = ["-A", benchUser.authenticationPassphrase ?? "", "-X", benchUser.privacyPassphrase ?? ""];
await compare("2c", { version: "2c", community: "public" }, ["-v2c", "-c", "public"]);
await compare("3 SHA-256/AES", benchUser, [...usm, ...passphrases]);
client.close();
await agent.end();
