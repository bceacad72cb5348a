import { createHealth, createMetrics, silentLog, systemClock, type Reporting } from "../../../base/report/index.ts";
import {
  UdmFileStore,
  UdmPostgresqlStore,
  migrateDatabase,
  sameEntry,
  udmJson,
  UdmError,
  type CollectorUdmStore,
  type EditedEntry,
  type UdmEntry,
  type UdmIndex,
  type UdmWrite,
} from "../../../metadata/index.ts";
import { showDatabase } from "../../../base/postgresql/index.ts";
import { metadataDatabaseOptions } from "../../parts/databases.ts";
import { SettingsError, type Settings } from "../../settings/index.ts";
import { CommandError, confirm, type Terminal } from "../terminal.ts";
import type { CopyOptions } from "./database-commands.ts";
import { makeTables } from "../make-tables.ts";
import { showChanges } from "./entry-changes.ts";
import type { UdmJson } from "./udm-json.ts";

/** The change of one entry of the target. */
interface Change {
  readonly before: UdmEntry | undefined;
  readonly after: UdmEntry | undefined;
}

const urlName = "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL";
const pathName = "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH";

/** Copies metadata. @throws CommandError, SettingsError */
export async function copyMetadata(settings: Settings, options: CopyOptions, terminal: Terminal): Promise<void> {
  const { from, to } = options;
  if (from === to) throw new CommandError("usage", "--from and --to name the same store");
  const source = await open(from, settings, false);
  try {
    const target = await open(to, settings, true);
    try {
      await copy(source.current(), target, options, terminal);
    } finally {
      await target.stop();
    }
  } catch (error) {
    throw error instanceof UdmError ? new CommandError(error.code, error.message) : error;
  } finally {
    await source.stop();
  }
}

/** Prepares the tables of metadata. @throws CommandError, SettingsError */
export async function migrateMetadata(settings: Settings, terminal: Terminal): Promise<void> {
  needs(settings[urlName].isSet, urlName);
  const options = metadataDatabaseOptions(settings);
  const place = showDatabase(options.address);
  await makeTables(`the metadata in ${place}`, (signal) => migrateDatabase(options, signal), terminal);
}

async function open(store: CopyOptions["from"], settings: Settings, owned: boolean): Promise<CollectorUdmStore> {
  const reporting = { log: silentLog, metrics: createMetrics(), health: createHealth(), clock: systemClock };
  const opened = store === "file" ? openFile(settings, owned, reporting) : openDatabase(settings, owned, reporting);
  try {
    await opened.start();
    opened.current();
    return opened;
  } catch (error) {
    await opened.stop();
    throw error instanceof UdmError ? new CommandError("unavailable", error.message) : error;
  }
}

function openFile(settings: Settings, owned: boolean, reporting: Reporting): CollectorUdmStore {
  const path = settings[pathName];
  needs(path !== "", pathName);
  const maxEntries = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES;
  const stateDirectory = settings.SVC_STATE_DIRECTORY_PATH;
  const historyBytes = settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE;
  return new UdmFileStore({ ...reporting, path, owned, refreshMs: 0, maxEntries, stateDirectory, historyBytes });
}

function openDatabase(settings: Settings, owned: boolean, reporting: Reporting): CollectorUdmStore {
  needs(settings[urlName].isSet, urlName);
  const options = metadataDatabaseOptions(settings);
  return new UdmPostgresqlStore({ ...options, ...reporting, owned, stateDirectory: "", exportPath: "" });
}

function needs(isSet: boolean, name: string): void {
  if (!isSet) throw new SettingsError([`${name} must be set: in the environment, or in a file that --config names`]);
}

async function copy(
  source: UdmIndex,
  target: CollectorUdmStore,
  { to, replace = false, diff = false, dryRun = false, yes = false }: CopyOptions,
  terminal: Terminal,
): Promise<void> {
  const { changes, same, only } = compare(source, target.current());
  const wanted = replace ? [...changes, ...only] : changes;
  if (diff) {
    for (const { before, after } of wanted) {
      terminal.out(
        showChanges([{ key: (after ?? before)?.key.text ?? "", ...shown("before", before), ...shown("after", after) }]),
      );
    }
  }
  const created = changes.filter(({ before }) => before === undefined).length;
  const rest = replace ? `${only.length} to delete` : `${only.length} only there stay`;
  terminal.out(`${to}: ${created} to create, ${changes.length - created} to update, ${same} the same, ${rest}\n`);
  if (dryRun || wanted.length === 0) return;
  if (!yes) await confirm(`Change ${wanted.length} ${wanted.length === 1 ? "entry" : "entries"}?`, terminal);
  // Use one commit, so that a failed copy changes nothing.
  await target.commit(wanted.map(writeOf), { author: "cli", method: "Copy" });
  terminal.out(`${wanted.length} ${wanted.length === 1 ? "entry" : "entries"} changed\n`);
}

function shown<Name extends "before" | "after">(name: Name, entry: UdmEntry | undefined): { [N in Name]?: UdmJson } {
  return (entry === undefined ? {} : { [name]: JSON.parse(udmJson(entry)) as UdmJson }) as { [N in Name]?: UdmJson };
}

/** Compares two states: finds the source's entries that differ, and the entries that only the target has. */
function compare(
  source: UdmIndex,
  target: UdmIndex,
): { readonly changes: readonly Change[]; readonly same: number; readonly only: readonly Change[] } {
  const changes: Change[] = [];
  let same = 0;
  for (const after of source.entries()) {
    const before = target.get(after.key);
    if (before !== undefined && sameEntry(before, after)) same++;
    else changes.push({ before, after });
  }
  const only: Change[] = [];
  for (const before of target.entries()) {
    if (source.get(before.key) === undefined) only.push({ before, after: undefined });
  }
  return { changes, same, only };
}

function writeOf({ before, after }: Change): UdmWrite {
  const key = (after ?? before)?.key;
  if (key === undefined) throw new Error("a change of no entry");
  return {
    op: "edit",
    key,
    edit(found): EditedEntry {
      const isAsBefore = found === undefined || before === undefined ? found === before : sameEntry(found, before);
      if (isAsBefore) return { entry: after };
      return {
        refused: "failed_precondition",
        field: "key",
        description: `key "${key.text}" was changed meanwhile: try again`,
      };
    },
  };
}
