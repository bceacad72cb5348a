import { dirname } from "node:path";
import { isUtf8 } from "node:buffer";
import { YamlFault, decodeUtf8, createPlainYamlReader, type PlainYaml } from "../../base/yaml/index.ts";
import { errorCode, readSettled, type FileIo, type FileStamp, type FileState } from "../../base/file/index.ts";
import { UdmError } from "../model/udm-store.ts";
import { KeyError } from "../../base/ip/index.ts";
import { keyReaders, type KeyForm, type ReadKey } from "../model/name-key.ts";
import { StateBuilder, type IndexLease, type IndexReturn } from "../index/index-builder.ts";
import { readEntries, readEntry } from "../model/read-entries.ts";
import { emptyFileText, entryEnd, renderEntry } from "../model/render-entry.ts";
import type { UdmEntry } from "../model/entry.ts";
import { WarningsGatherer, type EntryWarnings } from "./check-metadata-file.ts";
import { PlainEntryScanner } from "./plain-entry-scanner.ts";

/** Thrown when a metadata file cannot be used; the message starts with its name, and `line:column` where there is one. */
export class LoadError extends Error {
  readonly code: "io" | "content";
  /** The stamp of the content that could not be used. */
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
 * @returns what it holds, and the stamp of that content; undefined when there is no file.
 * @throws LoadError
 */
export async function readMetadataFile(
  io: FileIo,
  path: string,
  shownPath: string,
): Promise<{ readonly stamp: FileStamp | undefined; readonly bytes: Uint8Array }> {
  try {
    const before = await stateOrMissing(io, path);
    if (before === undefined) return { stamp: undefined, bytes: new Uint8Array(0) };
    const { bytes, state } = await readSettled(io, path, before);
    return { stamp: state, bytes };
  } catch (error) {
    throw new LoadError("io", `${shownPath}: ${messageOf(error)}`, undefined, { cause: error });
  }
}

/** Returns the error in the content of a file, with its name and the position in it. */
export function contentError(error: unknown, shownPath: string, stamp: FileStamp | undefined): unknown {
  if (error instanceof UdmError) return error;
  if (!(error instanceof YamlFault)) {
    return new LoadError("io", `${shownPath}: ${messageOf(error)}`, undefined, { cause: error });
  }
  const { line, column } = error.position;
  return new LoadError("content", `${shownPath}:${line}:${column}: ${error.message}`, stamp, { cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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

/** The result of loading a file. */
export interface LoadedState {
  /** Undefined when the state before has the same entries. */
  readonly built: IndexReturn | undefined;
  readonly size: number;
  /** As in {@link UdmFileContent}. */
  readonly unknownFields: ReadonlyMap<string, number>;
  readonly warnings: EntryWarnings;
  /** Tells whether the file is byte for byte what a save of its entries would write, so that a rewrite loses nothing. */
  readonly isOurs: boolean;
}

/**
 * Builds the state that a file says. Blocks for as long as it takes. Entries as most are go from their bytes into the index
 * without objects in between, others by {@link createPlainYamlReader}; a file with anything else is read by the library.
 *
 * @throws YamlFault; UdmError `resource_exhausted`
 */
export function loadState(lease: IndexLease, bytes: Uint8Array, keys: KeyForm = "addresses"): LoadedState {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const parse = keyReaders[keys];
  return loadPlain(lease, buffer, parse) ?? loadByLibrary(lease, buffer, parse);
}

/** @returns undefined when the library has to read the file. */
function loadPlain(lease: IndexLease, bytes: Buffer, parse: ReadKey): LoadedState | undefined {
  if (!isUtf8(bytes)) return undefined;
  const builder = new StateBuilder(lease);
  const warnings = new WarningsGatherer();
  const unknownFields = new Map<string, number>();
  const scanner = new PlainEntryScanner(bytes);
  const readYaml = createPlainYamlReader();
  let isOurs = true;
  let isBegun = false;
  for (let at = 0; at < bytes.length;) {
    // It knows addresses alone.
    const next = parse === keyReaders.addresses ? scanner.scan(at) : -1;
    if (next >= 0) {
      builder.addTexts(scanner.family, scanner.key, scanner);
      if (scanner.hasHostBits()) warnings.lookAtKey(scanner.parsedKey());
      if (!scanner.isAsWritten) isOurs = false;
      isBegun = true;
      at = next;
      continue;
    }
    const end = entryEnd(bytes, at);
    // A line that begins a document may stand before all entries only.
    if (isBegun && bytes[at] === dash) return undefined;
    const text = bytes.toString("utf8", at, end);
    const found = readOne(text, readYaml(text), parse, unknownFields);
    if (found === undefined) return undefined;
    if (found !== "nothing") {
      const yaml = renderEntry(found);
      if (yaml !== text) isOurs = false;
      warnings.look(found);
      builder.add(found, yaml);
      isBegun = true;
    } else {
      isOurs = false;
      if (bytes[at] === dash) isBegun = true;
    }
    at = end;
  }
  // The library says where the key is that is there twice.
  if (!builder.sort()) return undefined;
  return finish(builder, warnings, unknownFields, isOurs && builder.isInOrder());
}

/**
 * Reads a part of a file from one line that is not indented to the next.
 *
 * @returns its entry; `nothing` for comments; undefined for what is not known for certain, faults included.
 */
function readOne(
  text: string,
  yaml: PlainYaml | undefined,
  parse: ReadKey,
  unknownFields: Map<string, number>,
): UdmEntry | "nothing" | undefined {
  if (yaml === undefined) return undefined;
  if (yaml.root === undefined) return "nothing";
  // A root further in, or in flow style, may belong to what is before or behind it.
  if (yaml.root.kind !== "mapping" || yaml.root.at !== 0 || text.startsWith("{")) return undefined;
  const [pair] = yaml.root.pairs;
  if (pair === undefined) return undefined;
  try {
    return readEntry(parse(pair.key.text), pair.value, refuse, unknownFields);
  } catch (error) {
    if (error instanceof YamlFault || error instanceof KeyError) return undefined;
    throw error;
  }
}

/** The library says where it is. */
function refuse(message: string): never {
  throw new YamlFault(message, { line: 1, column: 1 });
}

function loadByLibrary(lease: IndexLease, bytes: Buffer, parse: ReadKey): LoadedState {
  const text = decodeUtf8(bytes);
  const { entries, unknownFields, mappedTwice } = readEntries(text, parse);
  const builder = new StateBuilder(lease);
  const warnings = new WarningsGatherer();
  warnings.notUsed(mappedTwice);
  /** The length of the text that is as it would be written, in UTF-16 units; -1 when some is not. */
  let written = 0;
  for (const entry of entries) {
    const yaml = renderEntry(entry);
    written = written >= 0 && text.startsWith(yaml, written) ? written + yaml.length : -1;
    warnings.look(entry);
    builder.add(entry, yaml);
  }
  if (!builder.sort()) throw new Error("a key is there twice");
  const isOurs = entries.length === 0 ? text === emptyFileText : written === text.length && builder.isInOrder();
  return finish(builder, warnings, unknownFields, isOurs);
}

function finish(
  builder: StateBuilder,
  warnings: WarningsGatherer,
  unknownFields: ReadonlyMap<string, number>,
  isOurs: boolean,
): LoadedState {
  return { built: builder.finish(), size: builder.size, unknownFields, warnings: warnings.found(), isOurs };
}

const dash = 0x2d;
