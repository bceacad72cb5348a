import assert from "node:assert/strict";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import {
  SnmpClient,
  formatOid,
  walk,
  type AuthenticationProtocol,
  type Credential,
  type PrivacyProtocol,
  type Session,
  type UsmCredential,
  type VarBind,
} from "../../src/snmp/index.ts";
import { allTests, cleanUp } from "../support/clean-up.ts";
import { requireProgram } from "../support/require-program.ts";
import { createSnmpAgent, listen, oidOf } from "../support/snmp-agent/index.ts";
import { smallTable } from "../support/snmp-session-fixture.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const authentications: Readonly<Record<Exclude<AuthenticationProtocol, "noauth">, string>> = {
  md5: "MD5",
  sha: "SHA",
  sha224: "SHA-224",
  sha256: "SHA-256",
  sha384: "SHA-384",
  sha512: "SHA-512",
};
const privacies: Readonly<Record<PrivacyProtocol, string>> = {
  nopriv: "",
  des: "DES",
  aes: "AES",
  aes192: "AES-192",
  aes256: "AES-256",
  aes192c: "AES-192-C",
  aes256c: "AES-256-C",
};

const users = Object.keys(authentications).flatMap((authenticationProtocol) =>
  Object.keys(privacies).map((privacyProtocol): UsmCredential => ({
    version: "3",
    username: `${authenticationProtocol}-${privacyProtocol}`,
    authenticationProtocol: authenticationProtocol as keyof typeof authentications,
    authenticationPassphrase: "maplesyrup",
    privacyProtocol: privacyProtocol as PrivacyProtocol,
    privacyPassphrase: "buckwheat",
  })),
);
const community: Credential = { version: "2c", community: "public" };
const sysName = oidOf("1.3.6.1.2.1.1.5.0");
const run = promisify(execFile);

const all = allTests();
const directory = tempDirectory(all);
const client = new SnmpClient({ metrics: createMetrics(), log: silentLog, clock: systemClock });
let snmpd: ChildProcess | undefined;
cleanUp(all, async () => {
  client.close();
  await stopSnmpd();
});

const port = await freePort();

async function freePort(): Promise<number> {
  const socket = createSocket("udp4");
  const listening = once(socket, "listening");
  socket.bind(0, "127.0.0.1");
  await listening;
  const { port: free } = socket.address();
  socket.close();
  return free;
}

function open(credential: Credential, toPort = port, transport: "udp" | "tcp" = "udp"): Session {
  return client.open({
    ip: "127.0.0.1",
    port: toPort,
    transport,
    credential,
    timeout: 2000,
    retries: 2,
    exponentialTimeout: false,
  });
}

/** Debian's agent on a port of its own with a user for each pair of protocols; keeps its engine over a restart. */
async function startSnmpd(program: string): Promise<void> {
  const createUsers = users.map(({ username, authenticationProtocol, privacyProtocol }) => {
    const authentication = authentications[authenticationProtocol as keyof typeof authentications];
    const privacy = privacyProtocol === "nopriv" ? "" : `${privacies[privacyProtocol]} buckwheat`;
    return `createUser ${username} ${authentication} maplesyrup ${privacy}\nrouser ${username} auth`;
  });
  const lines = [
    `agentAddress udp:127.0.0.1:${port},tcp:127.0.0.1:${port}`,
    "rocommunity public",
    "sysName a-debian-agent",
    "createUser guest",
    "rouser guest noauth",
    ...createUsers,
  ];
  writeFileSync(join(directory, "snmpd.conf"), `${lines.join("\n")}\n`);
  const options = ["-f", "-Lf", join(directory, "log"), "-p", join(directory, "pid"), "-I", "-smux"];
  // Its state, engine boots among it, is read again only from a directory of the configuration path.
  const state = join(directory, "state");
  const env = { ...process.env, SNMPCONFPATH: `${directory}:${state}`, SNMP_PERSISTENT_DIR: state, MIBS: "" };
  snmpd = spawn(program, options, { stdio: "ignore", env });
  const session = open(community);
  await until("snmpd to answer", () =>
    session.get([sysName]).then(
      () => true,
      () => false,
    ),
  );
}

async function stopSnmpd(): Promise<void> {
  if (snmpd === undefined) return;
  const exit = once(snmpd, "exit");
  snmpd.kill();
  await exit;
  snmpd = undefined;
}

function isSnmpdMissing(t: TestContext): boolean {
  if (snmpd === undefined) t.skip("snmpd does not run");
  return snmpd === undefined;
}

test("Debian's snmpd answers every version and every pair of protocols", async (t) => {
  const program = requireProgram(t, "snmpd", "apt-get install snmpd");
  if (program === undefined) return;
  await startSnmpd(program);
  const guest: Credential = {
    version: "3",
    username: "guest",
    authenticationProtocol: "noauth",
    privacyProtocol: "nopriv",
  };
  for (const credential of [{ version: "1", community: "public" } as const, community, guest, ...users]) {
    const name = credential.version === "3" ? credential.username : credential.version;
    const session = open(credential);
    const { varbinds } = await session.get([sysName]);
    assert.equal(Buffer.from(varbinds[0]?.value as Uint8Array).toString(), "a-debian-agent", name);
    const values: VarBind[] = [];
    const summary = await walk(session, [oidOf("1.3.6.1.2.1.1")], (_, given) => void values.push(...given));
    assert.equal(summary.isComplete, true, `${name}: ${summary.detail}`);
    assert.ok(values.length > 20, name);
    session.close();
  }
});

test("snmpd answers by TCP, too", async (t) => {
  if (isSnmpdMissing(t)) return;
  for (const credential of [community, users[0] as UsmCredential]) {
    const session = open(credential, port, "tcp");
    const values: VarBind[] = [];
    const summary = await walk(session, [oidOf("1.3.6.1.2.1.1")], (_, given) => void values.push(...given));
    assert.equal(summary.isComplete, true, summary.detail);
    assert.ok(values.length > 20);
    session.close();
  }
});

test("snmpd refuses what it should, and the error says so", async (t) => {
  if (isSnmpdMissing(t)) return;
  const good = users.find(({ username }) => username === "sha256-aes") as UsmCredential;
  const refused: readonly (readonly [Partial<UsmCredential>, string])[] = [
    [{ username: "nobody" }, "auth"],
    [{ authenticationPassphrase: "wrong-wrong" }, "auth"],
    [{ authenticationProtocol: "md5" }, "auth"],
    [{ username: "guest" }, "auth"],
  ];
  for (const [change, code] of refused) {
    await assert.rejects(open({ ...good, ...change }).get([sysName]), { code }, JSON.stringify(change));
  }
});

test("a walk gives the identifiers and values that snmpbulkwalk prints", async (t) => {
  if (isSnmpdMissing(t)) return;
  const program = requireProgram(t, "snmpbulkwalk", "apt-get install snmp");
  if (program === undefined) return;
  // What does not change from one second to the next: sysORTable, snmpMIB's tables, the interfaces' names and types.
  const roots = [
    "1.3.6.1.2.1.1.9.1.2",
    "1.3.6.1.2.1.1.9.1.3",
    "1.3.6.1.2.1.2.2.1.2",
    "1.3.6.1.2.1.2.2.1.3",
    "1.3.6.1.6.3.16",
  ];
  for (const root of roots) {
    const options = ["-v2c", "-c", "public", "-m", "", "-Onx", `127.0.0.1:${port}`, `.${root}`];
    const { stdout }: { stdout: string } = await run(program, options);
    const printed = stdout
      .split(/\n(?=\.)/)
      .map((line) => line.replaceAll(/\s+/g, " ").trim())
      .filter((line) => !line.includes("No more variables left"));
    const values: VarBind[] = [];
    const summary = await walk(open(community), [oidOf(root)], (_, given) => void values.push(...given));
    assert.equal(summary.isComplete, true);
    assert.equal(values.map(print).join("\n"), printed.join("\n"), root);
  }
});

/** As net-snmp prints with `-Onx` and without MIBs, blanks folded. */
function print({ oid, type, value }: VarBind): string {
  const hex = (bytes: Uint8Array): string =>
    Buffer.from(bytes)
      .toString("hex")
      .toUpperCase()
      .replaceAll(/..(?!$)/g, "$& ");
  const name = formatOid(oid);
  if (type === "OctetString") return value.length === 0 ? `${name} = ""` : `${name} = Hex-STRING: ${hex(value)}`;
  if (type === "ObjectIdentifier") return `${name} = OID: ${formatOid(value)}`;
  return `${name} = ${type === "Integer32" ? "INTEGER" : type}: ${String(value)}`;
}

test("a restart of snmpd is survived by an open session, and seen in the engine's boots", async (t) => {
  if (isSnmpdMissing(t)) return;
  const program = requireProgram(t, "snmpd", "apt-get install snmpd");
  if (program === undefined) return;
  const session = open(users.find(({ username }) => username === "sha512-aes256") as UsmCredential);
  await session.get([sysName]);
  const boots = session.engine()?.boots ?? 0;
  await stopSnmpd();
  await startSnmpd(program);
  assert.equal((await session.get([sysName])).errorStatus, 0);
  assert.ok((session.engine()?.boots ?? 0) > boots);
});

test("the simulated agent answers Debian's snmpget in every version and every pair of protocols", async (t) => {
  const program = requireProgram(t, "snmpget", "apt-get install snmp");
  if (program === undefined) return;
  const agent = createSnmpAgent({ table: smallTable, users, boots: 4, uptime: 3600 });
  const listening = await listen(agent);
  const get = async (...credential: readonly string[]): Promise<void> => {
    const options = [...credential, "-m", "", "-Oqvn", `127.0.0.1:${listening.port}`, formatOid(sysName)];
    const { stdout }: { stdout: string } = await run(program, options);
    assert.equal(stdout.trim(), `"r1"`, credential.join(" "));
  };
  try {
    await get("-v1", "-c", "public");
    await get("-v2c", "-c", "public");
    for (const { username, authenticationProtocol, privacyProtocol } of users) {
      const authentication = authentications[authenticationProtocol as keyof typeof authentications];
      const level = privacyProtocol === "nopriv" ? "authNoPriv" : "authPriv";
      const privacy = privacyProtocol === "nopriv" ? [] : ["-x", privacies[privacyProtocol], "-X", "buckwheat"];
      await get("-v3", "-u", username, "-l", level, "-a", authentication, "-A", "maplesyrup", ...privacy);
    }
  } finally {
    await listening.close();
  }
});
