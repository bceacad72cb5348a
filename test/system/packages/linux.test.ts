// The Debian and RPM packages: built, linted, and installed on clean systems that systemd has booted.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanSystem, requireCleanSystem, runInCleanSystem } from "../../support/clean-system.ts";
import { copyTree } from "../../support/copied-tree.ts";
import { requireProgram } from "../../support/require-program.ts";
import { tempDirectory } from "../../support/temp-directory.ts";

const root = join(import.meta.dirname, "../../../..");
const newVersion = "99.0.0";

test("the Debian and RPM packages pass their linters; installed, they start, answer, upgrade, and go", async (t) => {
  const nfpmHint = "go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0";
  if (requireProgram(t, "nfpm", nfpmHint) === undefined) return;
  for (const name of ["lintian", "rpmlint", "rpm"]) {
    if (requireProgram(t, name, `apt-get install ${name}`) === undefined) return;
  }
  if (!requireCleanSystem(t)) return;
  const directory = tempDirectory(t);
  const run = runIn(directory);
  const tree = join(directory, "tree");
  const staged = join(directory, "staged");
  copyTree(tree, { withModules: true });
  run({}, join(tree, "packaging/stage.sh"), staged);
  const build = (version: string, target: string, compression: string): void => {
    const manifest = join(staged, "package.json");
    const text = JSON.stringify({ ...(JSON.parse(readFileSync(manifest, "utf8")) as object), version }, null, 2);
    writeFileSync(manifest, text);
    const env = { NETGLOSS_STAGED: staged, NETGLOSS_COMPRESSION: compression };
    run(env, join(tree, "packaging/build.sh"), join(directory, target));
  };
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  build(version, "old", "xz");
  build(newVersion, "new", "gzip");

  const packages = readdirSync(join(directory, "old")).map((name) => join(directory, "old", name));
  assert.deepEqual(packages.map((path) => path.slice(path.lastIndexOf(".") + 1)).toSorted(), ["deb", "rpm"]);
  for (const path of packages) {
    t.diagnostic(`${path.slice(path.lastIndexOf("/") + 1)}: ${(statSync(path).size / 1e6).toFixed(1)} MB`);
  }
  await t.test("lintian has nothing to say", () => {
    const deb = packages.find((path) => path.endsWith(".deb")) ?? "";
    assert.equal(run({}, "lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", deb), "");
  });
  await t.test("rpmlint has nothing to say", () => {
    const rpm = packages.find((path) => path.endsWith(".rpm")) ?? "";
    const config = join(root, "packaging/linux/rpm/rpmlint.toml");
    assert.match(run({}, "rpmlint", "--config", config, rpm), /\b0 errors, 0 warnings\b/);
  });

  const system = await cleanSystem();
  cpSync(join(root, "test/system/packages/clean-system"), join(directory, "clean-system"), { recursive: true });
  for (const kind of ["deb", "rpm"]) {
    await t.test(`${kind}: installed, started, asked, upgraded, removed`, async (own) => {
      const said = await installIn(own, system, directory, kind, { OLD: version, NEW: newVersion });
      assert.match(said, /== all done\nexit code 0\n$/);
      own.diagnostic(/Overall exposure level.*/.exec(said)?.[0] ?? "");
    });
  }
});

/** Runs a program. rpmlint unpacks by cpio, which would write outside its folder: the one of these runs does not. */
function runIn(directory: string) {
  const shims = join(directory, "shims");
  mkdirSync(shims);
  writeFileSync(join(shims, "cpio"), '#!/bin/sh\nexec /usr/bin/cpio --no-absolute-filenames "$@"\n');
  chmodSync(join(shims, "cpio"), 0o755);
  return (more: Readonly<Record<string, string>>, program: string, ...args: string[]): string => {
    const env = { ...process.env, ...more, PATH: [shims, process.env["PATH"]].join(delimiter) };
    const { status, stdout, stderr } = spawnSync(program, args, { env, cwd: directory, encoding: "utf8" });
    assert.equal(status, 0, `${program} ${args.join(" ")}:\n${stdout}${stderr}`);
    return stdout;
  };
}

/** Each run has a folder of its own, because its log is there. */
function installIn(
  t: TestContext,
  system: string,
  directory: string,
  kind: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const own = tempDirectory(t);
  for (const name of ["old", "new", "clean-system"])
    cpSync(join(directory, name), join(own, name), { recursive: true });
  return runInCleanSystem(system, own, `/mnt/test/clean-system/${kind}.sh`, env);
}
