import type { SharedIndex } from "../index/index-contract.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import type { FileThread } from "./file-thread-client.ts";
import { loadState, type LoadedState } from "./load-state.ts";

/** What a file says. */
export interface FileState extends Omit<LoadedState, "built"> {
  readonly index: UdmIndex;
  /** Whether the thread has kept the bytes. */
  readonly isInThread: boolean;
}

/** Of a file of this part of the size of a big one a load could hold the event loop for tens of milliseconds, before the code is compiled. */
const loadShare = 8;

export interface BytesLoaderOptions {
  readonly shared: SharedIndex;
  readonly thread: FileThread | undefined;
  /** A file of this many bytes is a big one. */
  readonly threadBytes: number;
}

/**
 * {@link loadState}, in the thread if the file is not small.
 *
 * @param before the current state, which is given back when the file says the same.
 * @param keep whether the thread is to keep the bytes of a big file for saves.
 * @throws YamlFault; UdmError `resource_exhausted`
 */
export async function loadBytes(
  { shared, thread, threadBytes }: BytesLoaderOptions,
  bytes: Uint8Array,
  before: UdmIndex | undefined,
  keep: boolean,
): Promise<FileState> {
  const { length } = bytes;
  const loader = length >= Math.max(threadBytes / loadShare, 1) ? thread : undefined;
  const isInThread = loader !== undefined && length >= threadBytes;
  const loan = shared.lend(before);
  let loaded: LoadedState;
  try {
    loaded = loader === undefined ? loadState(loan, bytes) : await loader.load(bytes, loan, keep && isInThread);
  } catch (error) {
    shared.takeBack(loan);
    throw error;
  }
  const { built, ...rest } = loaded;
  if (built === undefined) shared.takeBack(loan);
  const index = built === undefined ? (before ?? shared.empty()) : shared.adopt(loan, built);
  if (!isInThread) await loader?.stop();
  return { ...rest, index, isInThread };
}
