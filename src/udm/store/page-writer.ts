import { readChanges } from "./change-log.ts";
import { replaceFile, type FileIo, type FileStamp, type SavePlan, type SavedFile } from "../../file/index.ts";
import { changePages, countRuns, gatherPages, pageChunks, paginate, type UdmPage } from "./udm-pages.ts";

/** Holds the bytes of the file and writes them with each save. */
export interface PageWriter {
  /** Whether it knows the whole file: else the next save needs all of it. */
  readonly isFilled: boolean;
  /**
   * Takes the text of all entries, in list order, in place of what it held.
   *
   * @param texts pieces of whole entries. What it held stays in force when they break off.
   */
  takeAll(texts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** Forgets all, so that the next save needs the whole file. */
  clear(): void;
  /**
   * Writes the file with the changes, as a {@link ChangeLog} has them; their memory is gone then. When it fails, nothing has
   * changed here either. @throws SaveError
   */
  save(plan: SavePlan, changes: Uint8Array, onWritten?: (stamp: FileStamp) => void): Promise<SavedFile>;
}

/** So many pieces of memory are gathered into one after a save. */
const maxRuns = 4096;

/** @param maxWrite bytes given to the system at once. */
export function createPageWriter(io: FileIo, maxWrite: number): PageWriter {
  let pages: readonly UdmPage[] | undefined;
  return {
    get isFilled() {
      return pages !== undefined;
    },
    async takeAll(texts) {
      const filled: UdmPage[] = [];
      for await (const text of texts) for (const page of paginate(text)) filled.push(page);
      pages = filled;
    },
    clear() {
      pages = undefined;
    },
    async save(plan, changes, onWritten) {
      if (pages === undefined) throw new Error("the bytes of the file are not known");
      const changed = changePages(pages, readChanges(changes));
      const saved = await replaceFile(io, plan, () => pageChunks(changed, maxWrite), onWritten);
      pages = countRuns(changed) > maxRuns ? gatherPages(changed) : changed;
      return saved;
    },
  };
}
