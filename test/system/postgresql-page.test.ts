// The part of docs/fleet.md about PostgreSQL, as it is written: tables, roles, a copy, two collectors; and what a role, a certificate, a fail-over does.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import postgres from "postgres";
import { parseKey } from "../../src/base/ip/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { startFaultProxy } from "../output/delivery/fault-proxy.ts";
import { freePort } from "../support/free-port.ts";
import { killPartner } from "../support/partner.ts";
import { startDatabase, storeOnDatabase, type TestDatabase } from "../support/postgresql.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../../..");
const [, page = ""] =
  /^## Metadata in PostgreSQL\n([^]*?)^## /m.exec(readFileSync(join(root, "docs/fleet.md"), "utf8")) ?? [];
const run = promisify(execFile);
const programs = ((): string => {
  const versions = readdirSync("/usr/lib/postgresql").toSorted((a, b) => Number(b) - Number(a));
  return join("/usr/lib/postgresql", versions[0] ?? "", "bin");
})();

/** Runs the page's blocks of shell in order, in one shell. @returns what they print. */
async function runBlocks(directory: string, database: TestDatabase): Promise<string> {
  const blocks = Array.from(page.matchAll(/^```shell\n([^]*?)^```$/gm), (match) => match[1] ?? "");
  assert.equal(blocks.length, 4);
  symlinkSync(join(root, "bin/netgloss.js"), join(directory, "netgloss"));
  const text = blocks
    .join("\n")
    .replace("postgresql://postgres:secret@db.example.com/postgres", database.url)
    .replaceAll("db.example.com", `127.0.0.1:${database.port}`);
  const { PATH = "" } = process.env;
  const env = { PATH: [directory, programs, PATH].join(delimiter) };
  const { stdout } = await run("bash", ["-euc", text], { cwd: directory, env });
  return stdout;
}

const nameOf = async (collector: CollectorProcess, key: string): Promise<unknown> =>
  ((await collector.call("ListUdms", { key, exact: true })).body["udms"] as { name: string }[] | undefined)?.[0]?.name;

test("the page: tables, roles, a copy, then two collectors that share what is written", async (t) => {
  const database = await startDatabase(t);
  const directory = tempDirectory(t);
  writeFileSync(
    join(directory, "ipaddrs.yml"),
    "10.0.0.1:\n  name: one\n10.0.0.2:\n  name: two\n  contexts: [exporter]\n",
  );
  const printed = await runBlocks(directory, database);
  assert.match(printed, /made step 1, 2, 3 of the tables/);
  assert.match(printed, /\+ 10\.0\.0\.1\n {4}\+ name: one/);
  assert.match(printed, /postgresql: 2 to create, 0 to update, 0 the same, 0 only there stay\n2 entries changed/);

  const settingsText = /^```yaml\n([^]*?)^```$/m.exec(page)?.[1] ?? "";
  writeFileSync(
    join(directory, "url"),
    `postgresql://netgloss_collector:change-me-too@127.0.0.1:${database.port}/metadata\n`,
  );
  const collectors = await Promise.all(
    ["fra1", "ams1"].map(async (name) => {
      const state = join(directory, name);
      mkdirSync(state);
      const config = join(directory, `${name}.yml`);
      writeFileSync(
        config,
        settingsText
          .replace("/etc/netgloss/metadata-url", join(directory, "url"))
          .replace("/var/lib/netgloss", state)
          .replace("fra1", name),
      );
      const collector = await startCollectorProcess({ cwd: directory, args: ["--config", config] });
      cleanUp(t, () => collector.end("SIGKILL"));
      return collector;
    }),
  );
  const [fra, ams] = collectors as [CollectorProcess, CollectorProcess];
  assert.equal(await nameOf(ams, "10.0.0.2"), "two");
  const made = await fra.call("CreateUdm", { udm: { key: "10.0.0.3", name: "three" } });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  await until("the other sees it", async () => (await nameOf(ams, "10.0.0.3")) === "three");
  const twice = await ams.call("CreateUdm", { udm: { key: "10.0.0.3", name: "3" } });
  assert.match(JSON.stringify(twice.body), /already exists/);

  killPartner(database.partner);
  await until("it says that it is stale", async () => {
    const text = await (await fetch(`${fra.api}/readyz`)).text();
    return /degraded/.test(text) && /is away/.test(text);
  });
  assert.equal(await nameOf(fra, "10.0.0.3"), "three");
  await until("it writes again", async () => {
    const { status } = await fra.call("UpdateUdm", { udm: { key: "10.0.0.3", name: "drei" } });
    return status === 200;
  });
  await until("the other sees that, too", async () => (await nameOf(ams, "10.0.0.3")) === "drei");

  await Promise.all(collectors.map((collector) => collector.end()));
  const env = {
    ...process.env,
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "back.yml"),
    SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: readFileSync(join(directory, "url"), "utf8").trim(),
  };
  const back = ["udm", "copy", "--from", "postgresql", "--to", "file", "--yes"];
  await run(process.execPath, [join(root, "bin/netgloss.js"), ...back], { env });
  assert.equal(
    readFileSync(join(directory, "back.yml"), "utf8"),
    "10.0.0.1:\n  name: one\n10.0.0.2:\n  name: two\n  contexts:\n    - exporter\n10.0.0.3:\n  name: drei\n",
  );
});

suite("a server", () => {
  test("is verified, and what is wrong is named: certificate, name, password, role, version", async (t) => {
    const database = await startDatabase(t);
    const reason = async (url: string, ca?: string): Promise<string> => {
      const { store } = storeOnDatabase(url, ca === undefined ? {} : { tls: { ca } });
      await store.start();
      try {
        store.current();
        return "connected";
      } catch (error) {
        return (error as Error).message;
      } finally {
        await store.stop();
      }
    };
    const ca = readFileSync(database.ca, "utf8");
    assert.equal(await reason(`${database.url}?sslmode=verify-full`, ca), "connected");
    assert.match(await reason(`${database.url}?sslmode=verify-full`), /self-signed certificate|unable to/);
    assert.equal(await reason(`${database.url}?sslmode=require`), "connected");
    assert.match(await reason(database.url.replace("secret", "wrong")), /password authentication failed/);
    await database.reset();
    await database.sql`create role poor login password 'poor'`;
    const poor = database.url.replace("netgloss:secret", "poor:poor");
    assert.match(await reason(poor), /may not create them .*run `netgloss udm migrate`/);
    assert.equal(await reason(database.url), "connected");
    await database.sql`insert into netgloss.migration (number, least) values (999, 1)`;
    assert.equal(await reason(database.url), "connected", "a newer version that lets this one write");
    await database.sql`update netgloss.migration set least = 999 where number = 999`;
    assert.match(await reason(database.url), /are of a newer version, .*update this collector/);
  });

  test("fails over to its standby, which takes the writes", async (t) => {
    const database = await startDatabase(t);
    const standby = await startStandby(t, database);
    const proxy = await startFaultProxy(t, database.host, database.port);
    const url = database.url.replace(`:${database.port}/`, `:${proxy.port},127.0.0.1:${standby.port}/`);
    const { store, health } = storeOnDatabase(url, { timeoutMs: 1000 });
    await store.start();
    cleanUp(t, () => store.stop());
    const write = (i: number): Promise<unknown> =>
      store.commit([
        { op: "create", key: parseKey(`10.0.${i >> 8}.${i & 255}`), values: udmEntry("::", { name: `${i}` }) },
      ]);
    const acknowledged: number[] = [];
    const over = new AbortController();
    const writing = (async () => {
      for (let i = 0; !over.signal.aborted; i++) {
        await write(i).then(
          () => acknowledged.push(i),
          () => new Promise((resolve) => setTimeout(resolve, 20)),
        );
      }
    })();
    await until("some are written", () => acknowledged.length > 20);
    proxy.fault = "away";
    proxy.cut();
    await until("it is noticed", () => health.isDegraded());
    await standby.promote();
    const before = acknowledged.length;
    await until("the standby takes writes", () => acknowledged.length > before + 20);
    over.abort();
    await writing;
    const sql = postgres(database.url.replace(`:${database.port}/`, `:${standby.port}/`), { max: 1 });
    const rows = await sql<{ name: string }[]>`select entry->>'name' as name from netgloss.udm_entry`;
    await sql.end();
    const there = new Set(rows.map(({ name }) => Number(name)));
    assert.deepEqual(
      acknowledged.filter((i) => !there.has(i)),
      [],
      "with a synchronous standby nothing is lost",
    );
    assert.equal(store.current().size, there.size);
  });
});

/** A streaming replica that the server waits for. */
async function startStandby(
  t: TestContext,
  database: TestDatabase,
): Promise<{ readonly port: number; promote(): Promise<void> }> {
  const directory = join(String(database.partner["dir"]), "standby");
  const port = await freePort();
  await database.sql`alter role netgloss replication`;
  await database.sql`select pg_create_physical_replication_slot('standby')`;
  // As the server runs: not as root, in a name space in which its files are another user's.
  const asUser = process.getuid?.() === 0 ? ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"] : [];
  const command = (name: string, ...args: readonly string[]): [string, string[]] => {
    const [program = "", ...rest] = [...asUser, join(programs, name), ...args];
    return [program, rest];
  };
  const source = `host=127.0.0.1 port=${database.port} user=netgloss password=secret application_name=standby`;
  await run(
    ...command("pg_basebackup", "-D", directory, "-d", source, "-R", "-X", "stream", "-S", "standby", "-c", "fast"),
  );
  appendFileSync(join(directory, "postgresql.conf"), `port = ${port}\n`);
  const server = spawn(...command("postgres", "-D", directory), { stdio: "ignore" });
  cleanUp(t, async () => {
    server.kill("SIGQUIT");
    if (server.exitCode === null) await once(server, "exit");
  });
  await until("the standby streams", async () => {
    const [row] = await database.sql`select from pg_stat_replication where state = 'streaming'`;
    return row !== undefined;
  });
  await database.sql`alter system set synchronous_standby_names = '*'`;
  await database.sql`select pg_reload_conf()`;
  await until("it is waited for", async () => {
    const [row] = await database.sql`select from pg_stat_replication where sync_state = 'sync'`;
    return row !== undefined;
  });
  return {
    port,
    promote: async () => void (await run(...command("pg_ctl", "promote", "-w", "-D", directory))),
  };
}
