import { limitLog, type Clock, type Log, type Metrics } from "../report/index.ts";
import { errorCode, type FileIo, type FileStamp } from "./file-io.ts";
import { findLeftOvers, SaveError, saveFile, temporaryPath } from "./save-file.ts";
import type { UdmEntry } from "./udm-entry.ts";
import type { UdmIndex } from "./udm-index.ts";
import { emptyFileText, renderEntry } from "./yaml-writer.ts";

/** Characters rendered and written in one go: some milliseconds of the event loop. */
const chunkLength = 256 * 1024;

/** Writes whole states of the database to the file. */
export interface UdmSaver {
  /** @throws SaveError; the file is as it was. */
  save(target: string, index: UdmIndex): Promise<FileStamp>;
  /** Removes the temporary files of saves that were cut off. Under the lock only. Never throws. */
  removeLeftOvers(target: string): Promise<void>;
}

export interface UdmSaverOptions {
  readonly io: FileIo;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export function createUdmSaver({ io, clock, log, metrics }: UdmSaverOptions): UdmSaver {
  const saves = metrics.counter("netgloss_udm_saves_total", "Times the metadata file was replaced.");
  const failures = metrics.counter(
    "netgloss_udm_save_failures_total",
    "Times the metadata file could not be replaced, by the step that failed and its error.",
    ["step", "code"],
  );
  const alarms = metrics.counter(
    "netgloss_udm_save_alarms_total",
    "Steps that failed although the metadata file was replaced (a sync of its folder, its owner, its mode).",
    ["step", "code"],
  );
  const seconds = metrics.histogram(
    "netgloss_udm_save_seconds",
    "Time to replace the metadata file.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const bytes = metrics.gauge("netgloss_udm_file_bytes", "Size of the metadata file as last replaced.");

  const limited = limitLog(log, clock);
  const render = createEntryRenderer();
  const run = Math.floor(clock.now()).toString(36);
  let number = 0;
  let removeFirst = false;

  const removeLeftOvers = async (target: string): Promise<void> => {
    try {
      for (const path of await findLeftOvers(io, target)) {
        await io.unlink(path);
        log.info({ path }, "removed a temporary file that a save left behind when it was cut off");
      }
    } catch (error) {
      limited.warn({ error }, "cannot remove temporary files beside the metadata file");
    }
  };

  return {
    removeLeftOvers,
    async save(target, index) {
      const start = clock.monotonic();
      if (removeFirst) await removeLeftOvers(target);
      removeFirst = true;
      try {
        const saved = await saveFile(io, target, temporaryPath(target, run, number++), chunks(index, render));
        removeFirst = false;
        saves.add();
        seconds.observe((clock.monotonic() - start) / 1000);
        bytes.set(saved.stamp.size);
        for (const { step, code, error } of saved.alarms) {
          alarms.add(1, { step, code });
          limited.error({ step, error }, "the metadata file is saved, but not all of it went well");
        }
        return saved.stamp;
      } catch (error) {
        const step = error instanceof SaveError ? error.step : "write";
        failures.add(1, { step, code: errorCode(error) });
        limited.error({ step, error }, "the metadata file cannot be saved");
        throw error;
      }
    },
  };
}

/** {@link renderEntry}, done once for each entry: entries are immutable, and most are the same in the next save. */
function createEntryRenderer(): (entry: UdmEntry) => string {
  const rendered = new WeakMap<UdmEntry, string>();
  return (entry) => {
    let text = rendered.get(entry);
    if (text === undefined) {
      text = renderEntry(entry);
      rendered.set(entry, text);
    }
    return text;
  };
}

function* chunks(index: UdmIndex, render: (entry: UdmEntry) => string): Generator<Uint8Array> {
  let text = index.size === 0 ? emptyFileText : "";
  for (const entry of index.entries()) {
    text += render(entry);
    if (text.length < chunkLength) continue;
    yield Buffer.from(text);
    text = "";
  }
  if (text !== "") yield Buffer.from(text);
}
