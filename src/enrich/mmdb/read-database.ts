import { Reader, type Response } from "maxmind";
import { formatAddress, type Address } from "../../ip/index.ts";
import { createSearchTree, type SearchTree } from "./search-tree.ts";

/** A MaxMind database (MaxMind DB File Format 2.0) in memory. */
export interface Database {
  /** Of its metadata: `GeoLite2-City`, … */
  readonly type: string;
  readonly builtAt: Date;
  /** Where the data of an address lies, for those who keep what they made of it. */
  readonly find: SearchTree;
  /** @returns undefined when nothing is known of the address. @throws Error where the file is damaged. */
  get(address: Address): unknown;
}

/** @throws Error when the bytes are no such database. */
export function readDatabase(bytes: Uint8Array): Database {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // No cache: what is made of the data is kept by where it lies.
  const reader = new Reader<Response>(buffer);
  const { databaseType, buildEpoch, ipVersion, searchTreeSize, binaryFormatMajorVersion } = reader.metadata;
  if (binaryFormatMajorVersion !== 2) throw new Error("is not of version 2 of the MaxMind DB format");
  if (!(searchTreeSize > 0 && searchTreeSize + 16 <= buffer.length)) throw new Error("is cut or damaged");
  const find = createSearchTree(buffer, reader.metadata);
  if (find === undefined) throw new Error("has records of a size that is not of the MaxMind DB format");
  return {
    type: databaseType,
    builtAt: buildEpoch,
    find,
    get(address) {
      if (address.family === 6 && ipVersion === 4) return undefined;
      return reader.get(formatAddress(address)) ?? undefined;
    },
  };
}
