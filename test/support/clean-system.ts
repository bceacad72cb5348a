import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { homeDirectory } from "../../src/app/cli/client/profile.ts";
import { requireProgram } from "./require-program.ts";

/** Why a system cannot be made here, or undefined when all is there; skips the test. */
export function requireCleanSystem(t: Pick<TestContext, "skip">): boolean {
  for (const [program, name] of [
    ["mmdebstrap", "mmdebstrap"],
    ["systemd-nspawn", "systemd-container"],
  ] as const) {
    if (requireProgram(t, program, `apt-get install ${name}`) === undefined) return false;
  }
  if (process.getuid?.() === 0) return true;
  const message = "needs root, to boot a system of its own";
  if (process.env["NETGLOSS_SYSTEM_STRICT"] === "1") throw new Error(message);
  t.skip(message);
  return false;
}

/** The packages of a Debian 13 in which others are installed: with systemd, with the Node.js of that Debian, without a network. */
const packages = "systemd,systemd-sysv,nodejs,curl,ca-certificates,rpm,logrotate,procps";

/** The tree of a clean Debian 13, made once and kept. */
export async function cleanSystem(): Promise<string> {
  const cache = process.env["NETGLOSS_PARTNERS_CACHE"] ?? join(homeDirectory(), ".cache/netgloss-partners");
  const root = join(cache, "debian-13");
  if (existsSync(root)) return root;
  mkdirSync(cache, { recursive: true });
  const made = `${root}.${process.pid}`;
  const args = ["--variant=minbase", `--include=${packages}`, "--format=directory", "trixie", made];
  const { code, said } = await run("mmdebstrap", args);
  if (code !== 0) {
    rmSync(made, { recursive: true, force: true });
    throw new Error(`no clean Debian can be made: ${said.slice(-2000)}`);
  }
  renameSync(made, root);
  return root;
}

/**
 * Boots the tree with systemd, in name spaces of its own and with a loopback network alone, runs a script in it as root and powers it off. Nothing of
 * it is left: changes are kept in memory.
 *
 * @param directory is at /mnt/test in the system.
 * @returns what the script has said; its last line is `exit code N`.
 */
export async function runInCleanSystem(
  root: string,
  directory: string,
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  writeFileSync(
    join(directory, "run.sh"),
    `#!/bin/bash\n${assignments.map((one) => `export ${one}\n`).join("")}bash ${script}\necho "exit code $?"\n`,
  );
  chmodSync(join(directory, "run.sh"), 0o755);
  const unit = [
    "[Unit]\nRequires=basic.target\nWants=systemd-journald.service",
    "[Service]\nType=oneshot\nExecStart=/mnt/test/run.sh\nStandardOutput=file:/mnt/test/log\nStandardError=inherit",
    "ExecStopPost=/bin/systemctl --no-block poweroff\nTimeoutStartSec=400\n",
  ].join("\n");
  writeFileSync(join(directory, "test.service"), unit);
  const args = [
    "--quiet",
    "--register=no",
    "--keep-unit",
    "--private-network",
    "--volatile=overlay",
    "--console=pipe",
    `--directory=${root}`,
    `--machine=netgloss-${process.pid}`,
    `--bind=${directory}:/mnt/test`,
    `--bind-ro=${join(directory, "test.service")}:/etc/systemd/system/netgloss-test.service`,
    "--boot",
    "systemd.unit=netgloss-test.service",
  ];
  const { said } = await run("systemd-nspawn", args);
  const log = join(directory, "log");
  return existsSync(log) ? readFileSync(log, "utf8") : `the system did not come up:\n${said.slice(-4000)}`;
}

async function run(program: string, args: readonly string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  }
  await once(child, "close");
  return { code: child.exitCode, said };
}
