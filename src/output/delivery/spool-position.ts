import { join } from "node:path";
import { errorCode } from "../errno.ts";
import { positionSlotBytes, readPositionSlots, writePositionSlot, type SpoolPosition } from "./spool-format.ts";
import type { SpoolFile, SpoolIo } from "./spool-io.ts";

/** The durable read position of a spool. */
export interface PositionFile {
  /** The position that an earlier run has left; undefined when there is none that is whole. */
  open(): Promise<SpoolPosition | undefined>;
  /** Keeps a position. One write is under way at a time, and only the last of those asked for meanwhile follows it. */
  keep(position: SpoolPosition): void;
  /** Waits for the last write and has it reach the disk. */
  close(): Promise<void>;
}

/** @param failed is called when a position could not be kept: then batches may be sent once more after a crash. */
export function createPositionFile(
  directory: string,
  io: SpoolIo,
  failed: (operation: string, code: string) => void,
): PositionFile {
  let file: SpoolFile | undefined;
  let turn = 0;
  let wanted: SpoolPosition | undefined;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    const to = file;
    if (to === undefined) return;
    while (wanted !== undefined) {
      const position = wanted;
      wanted = undefined;
      turn++;
      try {
        await to.write([writePositionSlot(turn, position)], (turn % 2) * positionSlotBytes);
      } catch (error) {
        failed("position", errorCode(error));
      }
    }
    writing = undefined;
  };

  return {
    async open() {
      file ??= await io.open(join(directory, "position"));
      const bytes = Buffer.alloc(2 * positionSlotBytes);
      const found = readPositionSlots(bytes.subarray(0, await file.read(bytes, 0)));
      turn = found?.turn ?? 0;
      return found;
    },
    keep(position) {
      wanted = position;
      writing ??= write();
    },
    async close() {
      await writing;
      try {
        await file?.sync();
      } catch (error) {
        failed("position", errorCode(error));
      }
      await file?.close().catch(() => {});
      file = undefined;
    },
  };
}
