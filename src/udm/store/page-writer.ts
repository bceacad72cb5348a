import { parseKey } from "../../ip/index.ts";
import { readChanges } from "./change-log.ts";
import {
  replaceFile,
  sameStamp,
  type FileIo,
  type FileStamp,
  type SavePlan,
  type SavedFile,
} from "../../file/index.ts";
import { findEntryLines, type EntryLines } from "./entry-lines.ts";
import {
  changePages,
  countRuns,
  gatherPages,
  lineOf,
  linesUpTo,
  pageChunks,
  paginate,
  type UdmPage,
} from "./udm-pages.ts";

/** Asks for the lines of entries in a file. */
export interface LineQuestion {
  readonly path: string;
  /** Of the content that is meant. */
  readonly stamp: FileStamp;
  /** How many entries it has. */
  readonly size: number;
  readonly keys: readonly string[];
}

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
  /**
   * The lines on which entries begin, from 1 on: by the bytes that it holds, else the file is read, once for its content. Undefined
   * for entries that are not found, for all of them when the file is not that of the stamp. @throws the errors of the system
   */
  linesOf(question: LineQuestion): Promise<readonly (number | undefined)[]>;
}

/** How many pieces of memory are gathered into one after a save. */
const maxRuns = 4096;

/** @param maxWrite bytes given to the system at once. */
export function createPageWriter(io: FileIo, maxWrite: number): PageWriter {
  let pages: readonly UdmPage[] | undefined;
  const linesOfPage = new WeakMap<UdmPage, number>();
  let counted: { readonly pages: readonly UdmPage[]; readonly sums: Uint32Array } | undefined;
  let found: { readonly stamp: FileStamp; readonly lines: EntryLines | undefined } | undefined;

  const readLines = async ({ path, stamp, size }: LineQuestion): Promise<EntryLines | undefined> => {
    if (found === undefined || !sameStamp(found.stamp, stamp)) {
      const bytes = await io.read(path);
      if (!sameStamp(stamp, await io.state(path))) return undefined;
      found = { stamp, lines: findEntryLines(bytes, size) };
    }
    return found.lines;
  };

  return {
    get isFilled() {
      return pages !== undefined;
    },
    async takeAll(texts) {
      const filled: UdmPage[] = [];
      for await (const text of texts) for (const page of paginate(text)) filled.push(page);
      pages = filled;
      found = undefined;
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
    async linesOf(question) {
      // Where the bytes are held: a thread asks the system without making the other one wait for it.
      if (!sameStamp(question.stamp, await io.state(question.path))) return question.keys.map(() => undefined);
      const keys = question.keys.map(parseKey);
      if (pages === undefined) {
        const lines = await readLines(question);
        return keys.map((key) => lines?.find(key));
      }
      const held = pages;
      if (counted?.pages !== held) counted = { pages: held, sums: linesUpTo(held, linesOfPage) };
      const { sums } = counted;
      return keys.map((key) => lineOf(held, sums, key));
    },
  };
}
