// PDUs a second and CPU time per PDU of a walk, beside those of Debian's snmpbulkwalk, against one simulated agent in
// another process. Both ask for ten rows of one column at a time, as snmpbulkwalk does by default.
import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import { createSnmpClient, walk, type Credential } from "../../src/snmp/index.ts";
import { benchUser } from "./bench-user.ts";

interface Measured {
  readonly what: string;
  readonly pdusPerSecond: number;
  readonly cpuMicrosPerPdu: number;
}

const root = [1, 3, 6, 1, 2, 1, 2, 2, 1];
const rows = 10;
const seconds = 2;

const child = fork(join(import.meta.dirname, "agent-process.js"));
const ask = async <T>(): Promise<T> => {
  const [message] = (await once(child, "message")) as [T];
  return message;
};
const { port } = await ask<{ port: number }>();
const requestsSoFar = async (): Promise<number> => {
  const answer = ask<{ requests: number }>();
  child.send({});
  return (await answer).requests;
};

/** One walk after the other in each of `lanes`, until the time is over. The first round is for the compiler. */
async function measureOurs(what: string, credential: Credential, lanes: number): Promise<Measured> {
  const client = createSnmpClient({ metrics: createMetrics(), log: silentLog, clock: systemClock });
  const target = { ip: "127.0.0.1", port, credential, timeout: 2000, retries: 1, exponentialTimeout: false };
  const session = client.open(target);
  const round = async (): Promise<Measured> => {
    const end = performance.now() + seconds * 1000;
    const start = performance.now();
    const cpu = process.cpuUsage();
    let requests = 0;
    const lane = async (): Promise<void> => {
      while (performance.now() < end) {
        const summary = await walk(session, [root], () => {}, { maxRepetitions: rows });
        if (!summary.isComplete) throw new Error(summary.detail);
        requests += summary.requests;
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    const { user, system } = process.cpuUsage(cpu);
    return {
      what,
      pdusPerSecond: (requests / (performance.now() - start)) * 1000,
      cpuMicrosPerPdu: (user + system) / requests,
    };
  };
  await round();
  const measured = await round();
  client.close();
  return measured;
}

const run = promisify(execFile);

/** User and system time as the shell measures it; the start of the program, a get of one value, is taken off. */
async function measureTheirs(what: string, credentials: readonly string[]): Promise<Measured> {
  const common = [...credentials, "-m", "", "-Oqn"];
  const agent = `127.0.0.1:${port}`;
  const cpuOf = async (program: string, ...rest: readonly string[]): Promise<number> => {
    const script = `TIMEFORMAT="%U %S"; time "$@" > /dev/null`;
    const { stderr } = await run("bash", ["-c", script, "bash", program, ...common, ...rest]);
    const [user, system] = stderr.trim().split(" ").map(Number) as [number, number];
    return (user + system) * 1e6;
  };
  const walks = 5;
  let cpu = 0;
  const requests = await requestsSoFar();
  const start = performance.now();
  for (let i = 0; i < walks; i++) cpu += await cpuOf("snmpbulkwalk", `-Cr${rows}`, agent, root.join("."));
  const elapsed = performance.now() - start;
  const asked = (await requestsSoFar()) - requests;
  for (let i = 0; i < walks; i++) cpu -= await cpuOf("snmpget", agent, `${root.join(".")}.1.1`);
  return { what, pdusPerSecond: (asked / elapsed) * 1000, cpuMicrosPerPdu: cpu / asked };
}

const usmArguments = ["-v3", "-l", "authPriv", "-u", benchUser.username, "-a", "SHA-256", "-x", "AES"];
const passphrases = ["-A", benchUser.authenticationPassphrase ?? "", "-X", benchUser.privacyPassphrase ?? ""];
const community: Credential = { version: "2c", community: "public" };
const table = [
  await measureTheirs("snmpbulkwalk 2c", ["-v2c", "-c", "public"]),
  await measureOurs("walk 2c, one at a time", community, 1),
  await measureOurs("walk 2c, 16 at a time", community, 16),
  await measureTheirs("snmpbulkwalk 3 SHA-256/AES", [...usmArguments, ...passphrases]),
  await measureOurs("walk 3 SHA-256/AES, one at a time", benchUser, 1),
  await measureOurs("walk 3 SHA-256/AES, 16 at a time", benchUser, 16),
];
child.disconnect();
for (const { what, pdusPerSecond, cpuMicrosPerPdu } of table) {
  console.log(
    `${what.padEnd(36)} ${pdusPerSecond.toFixed(0).padStart(7)} PDU/s ${cpuMicrosPerPdu.toFixed(1).padStart(7)} µs CPU/PDU`,
  );
}
