import { dirname } from "node:path";
import { YamlFault } from "../../base/yaml/index.ts";
import { errorCode, readSettled, type FileIo, type FileStamp, type FileState } from "../../base/file/index.ts";
import { UdmError } from "../model/udm-error.ts";

/** What a file holds, and the stamp of that content. */
export interface FileBytes {
  /** Undefined when there is no file. */
  readonly stamp: FileStamp | undefined;
  readonly bytes: Uint8Array;
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
export async function readMetadataFile(io: FileIo, path: string, shownPath: string): Promise<FileBytes> {
  try {
    const before = await stateOrMissing(io, path);
    if (before === undefined) return { stamp: undefined, bytes: new Uint8Array(0) };
    const { bytes, state } = await readSettled(io, path, before);
    return { stamp: state, bytes };
  } catch (error) {
    throw new LoadError("io", `${shownPath}: ${messageOf(error)}`, undefined, { cause: error });
  }
}

/** What is wrong with the content of a file, as its name and the place in it. */
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
