// Collectors behind a pooler in session mode: it takes their connections, and passes on what they listen to.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { parseServerAddress } from "../../src/base/postgresql/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { freePort } from "../support/free-port.ts";
import { startDatabase, storeOnDatabase } from "../support/postgresql.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { until } from "../support/until.ts";

test("two stores behind PgBouncer see each other's writes", async (t) => {
  const pgbouncer = requireProgram(t, "pgbouncer", "apt-get install pgbouncer");
  if (pgbouncer === undefined) return;
  const database = await startDatabase(t);
  const { user, password, database: name } = parseServerAddress(database.url);
  const directory = tempDirectory(t);
  chmodSync(directory, 0o755);
  const port = await freePort();
  writeFileSync(join(directory, "users.txt"), `"${user}" "${password}"\n`);
  writeFileSync(
    join(directory, "pgbouncer.ini"),
    `[databases]
${name} = host=127.0.0.1 port=${database.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(directory, "users.txt")}
pool_mode = session
`,
  );
  const asNobody = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const pooler = spawn(pgbouncer, [...asNobody, join(directory, "pgbouncer.ini")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said: string[] = [];
  pooler.stderr.setEncoding("utf8").on("data", (text: string) => said.push(text));
  cleanUp(t, async () => {
    if (pooler.exitCode !== null) return;
    pooler.kill("SIGKILL");
    await once(pooler, "exit");
  });
  await until("PgBouncer listens", () => /process up/.test(said.join("")));

  const url = database.url.replace(`:${database.port}/`, `:${port}/`);
  const stores = ["a", "b"].map((collector) => storeOnDatabase(url, { collector }).store);
  for (const store of stores) {
    await store.start();
    cleanUp(t, () => store.stop());
  }
  const [first, second] = stores as [(typeof stores)[0], (typeof stores)[0]];
  const key = parseKey("192.0.2.1");
  await until("it takes writes", () =>
    first.submit([{ op: "create", key, values: udmEntry("::", { name: "edge" }) }]).then(
      () => true,
      () => first.current().get(key) !== undefined,
    ),
  );
  await until("the other store sees the write", () => second.current().get(key)?.name === "edge");
  assert.ok(
    said.every((text) => !/unsupported startup parameter/.test(text)),
    said.join(""),
  );
});
