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

/** The error for an unusable metadata file. The message starts with its name, and `line:column` where known. */
export class LoadError extends Error {
  readonly code: "io" | "content";
  /** The stamp of the unusable content. */
  readonly stamp: FileStamp | undefined;

  constructor(code: "io" | "content", message: string, stamp?: FileStamp, options?: ErrorOptions) {
    super(message, options);
    this.name = "LoadError";
    this.code = code;
    this.stamp = stamp;
  }
}

/**
 * Reads a metadata file. A missing file is an empty database, but only if its folder exists: an address plan
 * on an unmounted volume must not look empty.
 *
 * @param shownPath the name of the file in messages.
 * @returns the bytes and the stamp of the content; undefined where there is no file.
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

/** Returns the error in a file's content, with the file's name and the position. */
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
  /** The new state; undefined where the previous state has the same entries. */
  readonly built: IndexReturn | undefined;
  readonly size: number;
  /** The same as in {@link UdmFileContent}. */
  readonly unknownFields: ReadonlyMap<string, number>;
  readonly warnings: EntryWarnings;
  /** True where a save of the file's entries would write the same bytes, so that a rewrite loses nothing. */
  readonly isOurs: boolean;
}

/**
 * Builds the state of a file, and blocks until it is done. Simple entries go directly from bytes into the index, without
 * objects. Others use {@link createPlainYamlReader}. A file with any other form is read by the YAML library.
 *
 * @throws YamlFault; UdmError `resource_exhausted`
 */
export function loadState(lease: IndexLease, bytes: Uint8Array, keys: KeyForm = "addresses"): LoadedState {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const parse = keyReaders[keys];
  return loadPlain(lease, buffer, parse) ?? loadByLibrary(lease, buffer, parse);
}

/** Reads a file of plain entries. @returns undefined where the YAML library must read it. */
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
    // The scanner reads only keys of addresses.
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
    // A document marker is allowed only before all entries.
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
  // The YAML library finds the position of a duplicate key.
  if (!builder.sort()) return undefined;
  return finish(builder, warnings, unknownFields, isOurs && builder.isInOrder());
}

/**
 * Reads the part of a file between two lines without indentation.
 *
 * @returns its entry; `nothing` for comments; undefined for any uncertain content, including faults.
 */
function readOne(
  text: string,
  yaml: PlainYaml | undefined,
  parse: ReadKey,
  unknownFields: Map<string, number>,
): UdmEntry | "nothing" | undefined {
  if (yaml === undefined) return undefined;
  if (yaml.root === undefined) return "nothing";
  // An indented root, or one in flow style, may belong to the text before or after it.
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

/** Refuses a text. The YAML library then finds the position of the fault. */
function refuse(message: string): never {
  throw new YamlFault(message, { line: 1, column: 1 });
}

function loadByLibrary(lease: IndexLease, bytes: Buffer, parse: ReadKey): LoadedState {
  const text = decodeUtf8(bytes);
  const { entries, unknownFields, mappedTwice } = readEntries(text, parse);
  const builder = new StateBuilder(lease);
  const warnings = new WarningsGatherer();
  warnings.notUsed(mappedTwice);
  /** The length in UTF-16 units of the text that equals the output of a save; -1 where some of it differs. */
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
