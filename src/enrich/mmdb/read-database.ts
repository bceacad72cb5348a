import { Reader, type Response } from "maxmind";
import { createDataReader, type ReadData, type Wanted } from "./data-reader.ts";
import { createSearchTree, type SearchTree } from "./search-tree.ts";

/** A MaxMind database (MaxMind DB File Format 2.0) in memory. */
export interface Database {
  /** Of its metadata: `GeoLite2-City`, … */
  readonly type: string;
  readonly builtAt: Date;
  /** Where the data of an address lies, for those who keep what they made of it. */
  readonly find: SearchTree;
  /**
   * Makes a reader of what is wanted of the data of addresses.
   *
   * @param slots of what is wanted.
   * @returns what takes places as `find` returns them, not 0.
   */
  reader(wanted: Wanted, slots: number): ReadData;
}

/** Zeros between the tree and the data. */
const separatorBytes = 16;

/** What stands before the metadata, within the last bytes of each database. */
const metadataMaxBytes = 128 * 1024;
const metadataMark = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");

/** @throws Error when the bytes are no such database. */
export function readDatabase(bytes: Uint8Array): Database {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.subarray(-metadataMaxBytes).includes(metadataMark)) {
    const isCompressed = buffer[0] === 0x1f && buffer[1] === 0x8b;
    throw new Error(`is no MaxMind database${isCompressed ? ": it is compressed, unpack the .mmdb file" : ""}`);
  }
  const { metadata } = new Reader<Response>(buffer);
  const { databaseType, buildEpoch, nodeCount, searchTreeSize, binaryFormatMajorVersion } = metadata;
  if (binaryFormatMajorVersion !== 2) throw new Error("is not of version 2 of the MaxMind DB format");
  if (!(searchTreeSize > 0 && searchTreeSize + separatorBytes <= buffer.length)) throw new Error("is cut or damaged");
  const find = createSearchTree(buffer, metadata);
  if (find === undefined) throw new Error("has records of a size that is not of the MaxMind DB format");
  const data = buffer.subarray(searchTreeSize + separatorBytes);
  return {
    type: databaseType,
    builtAt: buildEpoch,
    find,
    reader(wanted, slots) {
      const read = createDataReader(data, wanted, slots);
      return (at) => read(at - nodeCount - separatorBytes);
    },
  };
}
