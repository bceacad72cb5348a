import { limitLog, type Clock, type Log, type Metrics } from "../report/index.ts";
import { errorCode, type FileIo, type FileStamp } from "./file-io.ts";
import { findLeftOvers, SaveError, temporaryPath } from "./save-file.ts";
import { itemsATurn, nextTurn } from "./next-turn.ts";
import { createPageWriter } from "./page-writer.ts";
import type { UdmIndex } from "./udm-index.ts";
import type { UdmChange } from "./udm-pages.ts";
import { renderEntry } from "./yaml-writer.ts";

/** Bytes written in one go. */
const maxWrite = 256 * 1024;

/** Writes states of the database to the file. */
export interface UdmSaver {
  /**
   * @param changes what was done since the last save that succeeded, in order.
   * @param next the state with the changes; read whole only when the saver does not know the file's bytes.
   * @throws SaveError; the file is as it was.
   */
  save(target: string, changes: readonly UdmChange[], next: UdmIndex): Promise<FileStamp>;
  /** The next save is not one of changes to the one before: the file has been read again. */
  forget(): void;
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
  const writer = createPageWriter(io, maxWrite);
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
    forget: () => writer.clear(),
    async save(target, changes, next) {
      const start = clock.monotonic();
      if (removeFirst) await removeLeftOvers(target);
      removeFirst = true;
      try {
        const names = { target, temporary: temporaryPath(target, run, number++) };
        const isFirst = !writer.isFilled;
        if (isFirst) await writer.fill(renderAll(next));
        const saved = await writer.save(names, isFirst ? [] : changes).catch((error: unknown) => {
          // What it was filled with is a state that is given up.
          if (isFirst) writer.clear();
          throw error;
        });
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

/** The text of all entries, with a turn of the event loop between its pieces. */
async function* renderAll(index: UdmIndex): AsyncGenerator<Uint8Array> {
  let text = "";
  let count = 0;
  for (const entry of index.entries()) {
    text += renderEntry(entry);
    if (++count % itemsATurn !== 0) continue;
    yield Buffer.from(text);
    text = "";
    await nextTurn();
  }
  if (text !== "") yield Buffer.from(text);
}
