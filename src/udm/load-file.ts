import { dirname } from "node:path";
import { compareKeys } from "../ip/index.ts";
import { FileFault, positionAt } from "./file-fault.ts";
import { errorCode, sameStamp, type FileIo, type FileStamp, type FileState } from "./file-io.ts";
import { itemsATurn, nextTurn } from "./next-turn.ts";
import type { UdmEntry } from "./udm-entry.ts";
import { readUdmYaml, type UdmFileContent } from "./yaml-reader.ts";
import { emptyFileText, renderEntry } from "./yaml-writer.ts";

/** A file that changes while it is read is read again, this often at most. */
const maxReads = 3;

export interface LoadedFile extends UdmFileContent {
  /** Undefined when there is no file. */
  readonly stamp: FileStamp | undefined;
  /** Whether the file is byte for byte what a save of its entries would write, so that a rewrite loses nothing. */
  readonly isOurs: boolean;
}

/** Thrown when a metadata file cannot be used; the message starts with its name, and `line:column` where there is one. */
export class LoadError extends Error {
  readonly code: "io" | "content";
  /** Of the content that could not be used. */
  readonly stamp: FileStamp | undefined;

  constructor(code: "io" | "content", message: string, stamp?: FileStamp, options?: ErrorOptions) {
    super(message, options);
    this.name = "LoadError";
    this.code = code;
    this.stamp = stamp;
  }
}

/**
 * Reads a metadata file. One that is not there is an empty database, provided that its folder is there: an address plan
 * on a volume that is not mounted must not look empty.
 *
 * @param shownPath the name of the file in messages.
 * @throws LoadError
 */
export async function loadFile(io: FileIo, path: string, shownPath: string): Promise<LoadedFile> {
  let stamp: FileStamp | undefined;
  try {
    const before = await stateOrMissing(io, path);
    if (before === undefined) return { entries: [], unknownFields: new Map(), stamp: undefined, isOurs: true };
    const { bytes, state } = await readSettled(io, path, before);
    stamp = state;
    const text = decodeUtf8(bytes);
    const content = await readUdmYaml(text);
    return { ...content, stamp, isOurs: await isWritten(text, content.entries) };
  } catch (error) {
    if (error instanceof FileFault) {
      const { line, column } = error.position;
      throw new LoadError("content", `${shownPath}:${line}:${column}: ${error.message}`, stamp, { cause: error });
    }
    const why = error instanceof Error ? error.message : String(error);
    throw new LoadError("io", `${shownPath}: ${why}`, undefined, { cause: error });
  }
}

/** Whether `text` is what is written for these entries. */
async function isWritten(text: string, entries: readonly UdmEntry[]): Promise<boolean> {
  if (entries.length === 0) return text === emptyFileText || text === "";
  let at = 0;
  for (const [i, entry] of entries.entries()) {
    if (i % itemsATurn === itemsATurn - 1) await nextTurn();
    const previous = entries[i - 1];
    if (previous !== undefined && compareKeys(previous.key, entry.key) > 0) return false;
    const rendered = renderEntry(entry);
    if (!text.startsWith(rendered, at)) return false;
    at += rendered.length;
  }
  return at === text.length;
}

async function stateOrMissing(io: FileIo, path: string): Promise<FileState | undefined> {
  try {
    return await io.state(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    if ((await io.state(dirname(path))).kind !== "folder") throw error;
    return undefined;
  }
}

async function readSettled(
  io: FileIo,
  path: string,
  before: FileState,
): Promise<{ bytes: Uint8Array; state: FileState }> {
  let state = before;
  for (let reads = 0; reads < maxReads; reads++) {
    if (state.kind !== "file") throw new Error("is not a regular file");
    const bytes = await io.read(path);
    const after = await io.state(path);
    if (sameStamp(state, after)) return { bytes, state };
    state = after;
  }
  throw new Error("changes while it is read");
}

/** Strict: a byte that is no UTF-8 would otherwise be lost with the first rewrite. */
function decodeUtf8(bytes: Uint8Array): string {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw new FileFault("the file is UTF-16, it must be UTF-8", { line: 1, column: 1 });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (errorCode(error) !== "ERR_ENCODING_INVALID_ENCODED_DATA") throw error;
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    throw new FileFault("the file is not UTF-8 here", positionAt(text, firstReplacement(bytes, text)));
  }
}

/** Offset in the decoded text of the first character that stands for bytes which are not UTF-8. */
function firstReplacement(bytes: Uint8Array, text: string): number {
  let byte = 0;
  for (let offset = text.indexOf("\uFFFD"); offset >= 0; offset = text.indexOf("\uFFFD", offset + 1)) {
    byte = Buffer.byteLength(text.slice(0, offset));
    if (bytes[byte] !== 0xef || bytes[byte + 1] !== 0xbf || bytes[byte + 2] !== 0xbd) return offset;
  }
  return 0;
}
