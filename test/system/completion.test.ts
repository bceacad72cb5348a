// Completion in real shells, each in a terminal of its own: keys are typed, and the screen is read.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";
import { until } from "../support/until.ts";

const bin = join(import.meta.dirname, "../../../bin/netgloss.js");
const shells = {
  bash: { argv: ["bash", "--norc", "--noprofile", "-i"], load: 'eval "$(netgloss completion bash)"' },
  zsh: { argv: ["zsh", "-f", "-i"], load: 'autoload -U compinit; compinit -u; eval "$(netgloss completion zsh)"' },
  fish: { argv: ["fish", "--no-config", "-i"], load: "netgloss completion fish | source" },
} as const;

/** A shell in a terminal. */
async function openShell(
  t: TestContext,
  shell: keyof typeof shells,
): Promise<{ type: (...keys: string[]) => void; screen: () => string }> {
  const home = tempDirectory(t);
  const wrapper = join(home, "bin/netgloss");
  mkdirSync(join(home, "bin"));
  writeFileSync(wrapper, `#!/bin/sh\nexec "${process.execPath}" "${bin}" "$@"\n`);
  chmodSync(wrapper, 0o700);
  const { argv, load } = shells[shell];
  const tmux = (...given: string[]): string =>
    execFileSync("tmux", ["-L", `netgloss-${process.pid}-${shell}`, ...given], { encoding: "utf8" });
  const environment = {
    HOME: home,
    PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
    PS1: "ready> ",
    PROMPT: "ready> ",
    LC_ALL: "C.UTF-8",
  };
  const given = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  tmux("-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", "env", ...given, ...argv);
  cleanUp(t, () => tmux("kill-server"));
  const type = (...keys: string[]): void => void tmux("send-keys", ...keys);
  const screen = (): string => tmux("capture-pane", "-p");
  type(`${load}; echo loaded`, "Enter");
  await until(`${shell} loads the script`, () => /^loaded/m.test(screen()));
  return { type, screen };
}

for (const shell of ["bash", "zsh", "fish"] as const) {
  test(`${shell} completes commands, options, values, keys with colons, and files`, async (t) => {
    if (requireProgram(t, "tmux", "apt-get install tmux") === undefined) return;
    if (requireProgram(t, shell, `apt-get install ${shell}`) === undefined) return;
    const { run, port } = await startCommandWorld(t);
    for (const key of ["2001:db8:1::/48", "192.0.2.1"]) await run("udm", "set", key);
    const { type, screen } = await openShell(t, shell);
    const completes = async (typed: string, wanted: string): Promise<void> => {
      type(typed, "Tab");
      const line = (): string => screen().trimEnd().split("\n").at(-1) ?? "";
      await until(`${typed} becomes ${wanted}`, () => line().includes(wanted)).catch((error: unknown) => {
        throw new Error(`${(error as Error).message}; the screen:\n${screen()}`);
      });
      const isNew = (): boolean => !line().includes(wanted);
      await until("a new line", () => {
        // A shell that still completes may take no notice of it.
        type("C-c");
        return until("its effect", isNew, 1000).then(
          () => true,
          () => false,
        );
      });
    };
    await completes("netgloss comp", "netgloss completion");
    await completes("netgloss udm dif", "netgloss udm diff");
    await completes("netgloss udm list --ex", "netgloss udm list --exact");
    await completes("netgloss udm list -o nd", "netgloss udm list -o ndjson");
    await completes(`netgloss udm get --url http://127.0.0.1:${port} 2001:db`, `${port} 2001:db8:1::/48`);
    await completes(`netgloss udm get --url http://127.0.0.1:${port} 19`, `${port} 192.0.2.1`);
    await completes("netgloss udm check /etc/hostn", "netgloss udm check /etc/hostname");
    // What can be several things is listed.
    type("netgloss udm ", "Tab", "Tab");
    await until(
      "all are listed",
      () => ["apply", "edit", "list"].every((command) => screen().includes(command)),
      15_000,
    );
    assert.doesNotMatch(screen(), /complete-words/);
  });
}
