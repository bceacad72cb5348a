import { Reader, type Response } from "maxmind";
import { createDataReader, type Wanted } from "./data-reader.ts";
import { createSearchTree, type SearchTree } from "./search-tree.ts";

/** A MaxMind database (MaxMind DB File Format 2.0) in memory. */
export interface Database {
  /** Of its metadata: `GeoLite2-City`, … */
  readonly type: string;
  readonly builtAt: Date;
  /** Where the data of an address lies, for those who keep what they made of it. */
  readonly find: SearchTree;
  /**
   * What is wanted of the data of an address, as `ReadData` has it.
   *
   * @param at what `find` returned, not 0.
   * @throws Error where the file is damaged.
   */
  read(at: number, wanted: Wanted): unknown;
}

/** Zeros between the tree and the data. */
const separatorBytes = 16;

/** @throws Error when the bytes are no such database. */
export function readDatabase(bytes: Uint8Array): Database {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { metadata } = new Reader<Response>(buffer);
  const { databaseType, buildEpoch, nodeCount, searchTreeSize, binaryFormatMajorVersion } = metadata;
  if (binaryFormatMajorVersion !== 2) throw new Error("is not of version 2 of the MaxMind DB format");
  if (!(searchTreeSize > 0 && searchTreeSize + separatorBytes <= buffer.length)) throw new Error("is cut or damaged");
  const find = createSearchTree(buffer, metadata);
  if (find === undefined) throw new Error("has records of a size that is not of the MaxMind DB format");
  const readData = createDataReader(buffer.subarray(searchTreeSize + separatorBytes));
  return {
    type: databaseType,
    builtAt: buildEpoch,
    find,
    read: (at, wanted) => readData(at - nodeCount - separatorBytes, wanted),
  };
}
