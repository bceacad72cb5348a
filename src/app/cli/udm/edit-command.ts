import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiClient } from "../client/api-call.ts";
import { CommandError, type Terminal } from "../terminal.ts";
import { type DefineCommand } from "../command.ts";
import {
  changesTo,
  currentEntries,
  isSameEntry,
  makeChanges,
  type EntryChange,
  countChanges,
} from "./entry-changes.ts";
import { entryYaml, canonicalKey, readEntries, type EntriesRead } from "./entry-yaml.ts";
import type { UdmJson } from "./udm-json.ts";
import { addEntryOptions, clientOf } from "../client/client-options.ts";

const help = [
  "# Entries as in a metadata file. Save and leave the editor to change them; what is taken out is deleted.",
  "# Leave the text as it is to change nothing.",
];
/** The start of a line that shows a fault in the text; such lines are added by this command. */
const faultMark = "#! ";

/**
 * Lets a person edit entries as YAML. Faults of the text come back into the editor as comments.
 *
 * @throws CommandError; if the text was edited, it is kept in a file.
 */
async function editEntries(client: ApiClient, keys: readonly string[], terminal: Terminal): Promise<void> {
  const wanted = keys.map(canonicalKey);
  const before = await currentEntries(client, wanted);
  const directory = mkdtempSync(join(tmpdir(), "netgloss-edit-"));
  const path = join(directory, "entries.yml");
  const original = [...help, ...wanted.map((key) => entryYaml(before.get(key) ?? { key }).trimEnd())].join("\n");
  let text = `${original}\n`;
  let faults: readonly string[] = [];
  let isEdited = false;
  try {
    for (;;) {
      const shown = withFaults(text, faults);
      writeFileSync(path, shown, { mode: 0o600 });
      await runEditor(path, terminal.env);
      const saved = readFileSync(path, "utf8");
      if (saved === shown) {
        if (faults.length > 0) throw new CommandError("failed", faults.join("\nerror: "));
        terminal.out("nothing was changed\n");
        return;
      }
      isEdited = true;
      text = withoutFaults(saved);
      const read = readEntries(Buffer.from(text), client.names === true ? "names" : "addresses");
      faults = faultsOf(read);
      if (faults.length > 0) continue;
      const changes = editedChanges(read.entries, before);
      if (changes.length === 0) {
        isEdited = false;
        terminal.out("nothing was changed\n");
        return;
      }
      faults = await tryChanges(client, changes, before);
      if (faults.length > 0) continue;
      terminal.out(`${countChanges(changes)}: done\n`);
      isEdited = false;
      return;
    }
  } catch (error) {
    if (!isEdited || !(error instanceof CommandError)) throw error;
    const { code, message } = error;
    throw new CommandError(code, `${message}\nnothing was changed; your text is in ${path}`);
  } finally {
    if (!isEdited) rmSync(directory, { recursive: true });
  }
}

/** Returns the text after its faults, whose lines count in its positions. */
function withFaults(text: string, faults: readonly string[]): string {
  return faults.map((fault) => `${faultMark}${fault}\n`).join("") + text;
}

function withoutFaults(text: string): string {
  const lines = text.split("\n").filter((line) => !line.startsWith(faultMark));
  return lines.join("\n");
}

function faultsOf({ faults }: EntriesRead): string[] {
  const errors = faults.filter(({ isWarning }) => !isWarning);
  return errors.map(({ line, column, message }) =>
    line === undefined ? message : `line ${line + errors.length}, column ${column}: ${message.replaceAll("\n", " ")}`,
  );
}

function editedChanges(after: ReadonlyMap<string, UdmJson>, before: ReadonlyMap<string, UdmJson>): EntryChange[] {
  const deleted = Array.from(before, ([key, entry]) => ({ key, before: entry })).filter(({ key }) => !after.has(key));
  return [...changesTo(after, before), ...deleted];
}

/** @returns why the API refuses the changes; empty when they are made. @throws CommandError when another try would not help. */
async function tryChanges(
  client: ApiClient,
  changes: readonly EntryChange[],
  before: ReadonlyMap<string, UdmJson>,
): Promise<readonly string[]> {
  const now = await currentEntries(client, before.keys());
  for (const [key, entry] of before) {
    const other = now.get(key);
    if (other !== undefined && isSameEntry(other, entry)) continue;
    throw new CommandError(
      "aborted",
      `${key} was ${other === undefined ? "deleted" : "changed"} by somebody else meanwhile`,
    );
  }
  try {
    await makeChanges(client, changes);
    return [];
  } catch (error) {
    if (!(error instanceof CommandError) || !["invalid_argument", "already_exists"].includes(error.code)) throw error;
    return error.message.split("\n");
  }
}

function runEditor(path: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const editor = [env["VISUAL"], env["EDITOR"]].find((name) => name !== undefined && name !== "") ?? "vi";
  return new Promise((resolve, reject) => {
    // Use a shell, as other programs do: the variable may hold arguments.
    const child = spawn("sh", ["-c", `${editor} "$1"`, "sh", path], { stdio: "inherit" });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve();
      else if (code === 127) reject(new CommandError("failed", `there is no editor ${editor}: $EDITOR names one`));
      else reject(new CommandError("failed", `the editor ${editor} ended with ${code}`));
    });
  });
}

/** Defines `udm edit`. */
export const defineEdit: DefineCommand = (edit, { terminal }) => {
  addEntryOptions(edit).action(async (keys: readonly string[]) => {
    await editEntries(await clientOf(edit, terminal), keys, terminal);
  });
};
