import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { exportEntries, importEntries } from "../../exchange/export-entries.ts";
import { fromUdmEntry, toUdmEntry } from "../../exchange/exchange-entry.ts";
import { readyMap } from "../../exchange/map/ready-maps.ts";
import { isMissing, makeFolder, replaceContent, type FileIo } from "../../../base/file/index.ts";
import type { UdmEntry } from "../../model/udm-entry.ts";
import type { Validators } from "../fetch/source-reader.ts";

/** What a source had at the last run that was used. */
export interface LastCopy {
  /** When that was, in milliseconds since the epoch. */
  readonly at: number;
  /** {@link SourceConfig.fingerprint} of then. */
  readonly fingerprint: string;
  readonly validators: Validators;
  readonly entries: readonly UdmEntry[];
}

/** Keeps the last good copy of each source on disk. */
export interface LastCopies {
  /** @returns undefined when there is none. @throws Error when it cannot be read. */
  read(name: string): Promise<LastCopy | undefined>;
  write(name: string, copy: LastCopy): Promise<void>;
}

const fileMode = 0o640;
const largestCopy = 2 ** 30;

/** A copy is gzip of lines: one that says what it is, then an entry each. */
export function createLastCopies(directory: string, io: FileIo, run: string): LastCopies {
  let number = 0;
  const pathOf = (name: string): string => join(directory, `${name}.ndjson.gz`);
  return {
    async read(name) {
      let packed: Uint8Array;
      try {
        packed = await io.read(pathOf(name));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
      const bytes = await promisify(gunzip)(packed, { maxOutputLength: largestCopy });
      const end = bytes.indexOf(0x0a);
      const head = JSON.parse(bytes.toString("utf8", 0, end)) as Omit<LastCopy, "entries"> & { count: number };
      const { entries } = await importEntries([bytes.subarray(end + 1)], {
        format: "ndjson",
        map: readyMap("netgloss"),
      });
      if (entries.length !== head.count) throw new Error(`${entries.length} of ${head.count} entries can be read`);
      return { ...head, entries: entries.map(toUdmEntry) };
    },
    async write(name, { entries, ...head }) {
      await makeFolder(directory);
      const lines = exportEntries(() => entries.map(fromUdmEntry), "ndjson");
      const pieces = [`${JSON.stringify({ ...head, count: entries.length })}\n`];
      for (const piece of lines) {
        pieces.push(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const packed = await promisify(gzip)(Buffer.from(pieces.join("")), { level: 1 });
      const temporary = join(directory, `.${name}.${run}-${++number}.tmp`);
      await replaceContent(io, { target: pathOf(name), temporary, mode: fileMode }, packed);
    },
  };
}
