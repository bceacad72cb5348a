import { readLibraryContent } from "./library-content.ts";
import { createPlainEntryScanner } from "./plain-entry-scanner.ts";
import { Unfamiliar } from "./plain-yaml-cursor.ts";
import type { KeyOrder } from "./key-order.ts";
import { createPlainReader } from "./plain-yaml-reader.ts";
import { createLentBuilder, type IndexLoan, type IndexReturn, type LentBuilder } from "../index/lent-builder.ts";
import { createWarnings, type EntryWarnings } from "./entry-warnings.ts";

/** What became of a file. */
export interface LoadedState {
  /** Undefined when the state before has the same entries. */
  readonly built: IndexReturn | undefined;
  readonly size: number;
  /** As in {@link UdmFileContent}. */
  readonly unknownFields: ReadonlyMap<string, number>;
  readonly warnings: EntryWarnings;
  /** Whether the file is byte for byte what a save of its entries would write, so that a rewrite loses nothing. */
  readonly isOurs: boolean;
}

/**
 * Builds the state that a file says, straight from its bytes where they are plain. Blocks for as long as it takes.
 *
 * @throws YamlFault; UdmError `resource_exhausted`
 */
export async function loadState(loan: IndexLoan, bytes: Uint8Array): Promise<LoadedState> {
  return loadPlain(loan, bytes) ?? loadByLibrary(loan, bytes);
}

/** @returns undefined when the library has to read the file. */
function loadPlain(loan: IndexLoan, bytes: Uint8Array): LoadedState | undefined {
  const builder = createLentBuilder(loan);
  const warnings = createWarnings();
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const reader = createPlainReader(buffer, orderOf(builder));
  const scanner = createPlainEntryScanner(buffer);
  try {
    for (;;) {
      if (reader.scan(scanner)) {
        builder.addTexts(scanner.family, scanner.key, scanner);
        if (scanner.hasHostBits()) warnings.lookAtKey(scanner.parsedKey());
        continue;
      }
      const [found] = reader.read(1);
      if (found === undefined) break;
      warnings.look(found.entry);
      builder.add(found.entry);
    }
  } catch (error) {
    if (error instanceof Unfamiliar) return undefined;
    throw error;
  }
  // The library tells where the key is that is there twice.
  if (!builder.sort()) return undefined;
  const isOurs = reader.isAsWritten() && builder.isInOrder();
  return finish(builder, warnings, reader.unknownFields, isOurs);
}

async function loadByLibrary(loan: IndexLoan, bytes: Uint8Array): Promise<LoadedState> {
  const { entries, unknownFields, isOurs } = await readLibraryContent(bytes);
  const builder = createLentBuilder(loan);
  const warnings = createWarnings();
  for (const entry of entries) {
    warnings.look(entry);
    builder.add(entry);
  }
  if (!builder.sort()) throw new Error("a key is there twice");
  return finish(builder, warnings, unknownFields, isOurs);
}

function finish(
  builder: LentBuilder,
  { count, shown, hostBits }: EntryWarnings,
  unknownFields: ReadonlyMap<string, number>,
  isOurs: boolean,
): LoadedState {
  return { built: builder.finish(), size: builder.size, unknownFields, warnings: { count, shown, hostBits }, isOurs };
}

/** The builder looks after the order of keys. */
function orderOf(builder: LentBuilder): KeyOrder {
  return { add: () => true, count: () => builder.size };
}
