import { parseAddress } from "../../base/ip/index.ts";
import type { FieldValues } from "../../record/index.ts";
import * as layout from "../kernel/layout.ts";

/** An address as two numbers of 64 bits; IPv4 in its mapped form. */
export interface EndAddress {
  readonly upper: bigint;
  readonly lower: bigint;
  readonly family: 4 | 6;
}

const mapped = 0xffff_0000_0000n;
const maxLower = 0xffff_ffff_ffff_ffffn;

/** The addresses of both ends; undefined unless there are two of one family. */
export function endAddresses(record: FieldValues): readonly [source: EndAddress, destination: EndAddress] | undefined {
  const source = endAddress(record, "flow.src.ip.addr");
  const destination = endAddress(record, "flow.dst.ip.addr");
  if (source === undefined || source.family !== destination?.family) return undefined;
  return [source, destination];
}

function endAddress(record: FieldValues, name: string): EndAddress | undefined {
  const text = record.get(name);
  const address = typeof text === "string" ? parseAddress(text) : undefined;
  if (address === undefined) return undefined;
  const { family, value } = address;
  if (family === 4) return { upper: 0n, lower: mapped | value, family };
  return { upper: value >> 64n, lower: value & maxLower, family };
}

/** A number of sixteen bits that a record has; -1 for any other value. */
export function portOf(record: FieldValues, name: string): number {
  const value = record.get(name);
  return typeof value === "number" && value >= 0 && value <= 0xffff ? value : -1;
}

/** Protocols whose ports distinguish an end from others of its address: TCP, UDP, SCTP. */
export const protocolsWithPorts: ReadonlySet<unknown> = new Set([6, 17, 132]);

/** An end of a flow: its address, port and protocol as two hashes, and its host. */
interface EndKey {
  readonly hash: number;
  readonly tag: number;
  /** The bit of its address alone: the ports of a host are one peer. */
  readonly host: number;
}

type EndMark = "client" | "server";

/**
 * Remembers which ends are servers, in a memory of a fixed size: those that are known to be, and those that many hosts talked to. What
 * nobody asks for is forgotten after half an hour. It is laid out as {@link layout} says, for the kernel uses the same.
 */
export interface ServerSketch {
  /** Keeps that an end is known to be a client or a server. */
  mark(key: EndKey, as: EndMark): void;
  /** Keeps that the host of `peer` talked to an end. */
  addPeer(key: EndKey, peer: EndKey): void;
  /** Whether an end is a server or a client by what is kept; undefined where that does not say it. */
  find(key: EndKey): EndMark | undefined;
}

const bits: Readonly<Record<EndMark, number>> = { client: layout.markClient, server: layout.markServer };

/** Where a sketch is in a memory, and the bytes of its tags. */
export interface SketchPlace {
  readonly cells: number;
  readonly tags: number;
}

const cellBytes = layout.sketchBuckets * layout.sketchBucket;
/** In memory of its own. */
export const ownSketch: SketchPlace = { cells: 0, tags: cellBytes };
export const ownSketchBytes = cellBytes + layout.sketchBuckets * layout.cellsOfBucket;

/** @param tick the time, in units of `tickMs`. */
export function createServerSketch(view: DataView, at: SketchPlace, tick: () => number): ServerSketch {
  const word = (cell: number, offset: number): number => view.getUint32(cell + offset, true);
  const put = (cell: number, offset: number, value: number): void => view.setUint32(cell + offset, value >>> 0, true);
  const isOld = (cell: number): boolean => (tick() - word(cell, layout.cellTick)) >>> 0 > layout.maxCellAge;

  const cellsOf = ({ hash }: EndKey): number[] => {
    const bucket = at.cells + layout.sketchBucket * (hash & (layout.sketchBuckets - 1));
    return Array.from({ length: layout.cellsOfBucket }, (_, i) => bucket + layout.sketchCell * i);
  };
  const find = (key: EndKey): number | undefined => {
    const cell = cellsOf(key).find((each) => word(each, 0) === key.tag && !isOld(each));
    if (cell !== undefined) put(cell, layout.cellTick, tick());
    return cell;
  };
  const weight = (cell: number): number => {
    if (word(cell, 0) === 0 || isOld(cell)) return -1;
    const marks = word(cell, layout.cellMarks);
    const ofServer = (marks & layout.markServer) === 0 ? 0 : layout.serverWeight;
    return countBits(word(cell, layout.cellPeers)) + ofServer + (marks & layout.markClient);
  };
  const take = (key: EndKey): number => {
    const known = find(key);
    if (known !== undefined) return known;
    const cells = cellsOf(key);
    const weights = cells.map(weight);
    const index = weights.indexOf(Math.min(...weights));
    const cell = cells[index] as number;
    const tagsOfBucket = at.tags + layout.cellsOfBucket * (key.hash & (layout.sketchBuckets - 1));
    view.setUint8(tagsOfBucket + index, (key.tag >>> layout.tagByteShift) & 0xff);
    put(cell, 0, key.tag);
    put(cell, layout.cellPeers, 0);
    put(cell, layout.cellTick, tick());
    put(cell, layout.cellMarks, 0);
    return cell;
  };

  return {
    mark(key, as) {
      const cell = take(key);
      put(cell, layout.cellMarks, word(cell, layout.cellMarks) | bits[as]);
    },
    addPeer(key, peer) {
      const cell = take(key);
      put(cell, layout.cellPeers, word(cell, layout.cellPeers) | peer.host);
    },
    find(key) {
      const cell = find(key);
      if (cell === undefined) return undefined;
      const marks = word(cell, layout.cellMarks);
      const hasPeers = countBits(word(cell, layout.cellPeers)) >= layout.leastPeers;
      if ((marks & layout.markClient) === 0) return marks !== 0 || hasPeers ? "server" : undefined;
      return marks === layout.markClient ? "client" : undefined;
    },
  };
}

/** The key of an end. */
export function endKey({ upper, lower }: EndAddress, port: number, protocol: number): EndKey {
  const [a, b, c, d] = [upper >> 32n, upper, lower >> 32n, lower].map((part) => Number(BigInt.asUintN(32, part)));
  const [first, second, third, last] = [a ?? 0, b ?? 0, c ?? 0, d ?? 0];
  const address = last ^ Math.imul(third, 0x2c1b3c6d) ^ Math.imul(second, 0x297a2d39) ^ Math.imul(first, 0x1b873593);
  let x = Math.imul(address, 0x9e3779b1);
  const host = 1 << (Math.imul(x ^ (x >>> 15), 0x85ebca6b) >>> 27);
  x = Math.imul(x ^ (x >>> 15) ^ (port << 8) ^ protocol, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  x ^= x >>> 16;
  const tag = (Math.imul(x ^ last, 0x27d4eb2f) + port * 31 + protocol) | 1;
  return { hash: x >>> 0, tag: tag >>> 0, host };
}

function countBits(value: number): number {
  let count = 0;
  for (let rest = value; rest !== 0; rest &= rest - 1) count++;
  return count;
}
