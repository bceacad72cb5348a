import { ExchangeError } from "../../exchange/index.ts";
import { quote } from "../../text/index.ts";
import { isNullNode, type YamlNode } from "../../yaml/index.ts";

/** A YAML node as texts, lists and objects; scalars as they are spelt. */
export function plainValue(node: YamlNode): unknown {
  if (isNullNode(node)) return undefined;
  if (node.kind === "scalar") return node.text;
  if (node.kind === "sequence") return node.items.map(plainValue);
  return Object.fromEntries(node.pairs.map(({ key, value }) => [key.text, plainValue(value)]));
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `30s`, `15m`, `6h`, `1d`, or seconds. @throws ExchangeError */
export function readDuration(value: unknown, name: string, least: number): number {
  const match = typeof value === "string" ? /^(\d{1,9})\s*(|s|m|h|d)$/.exec(value) : null;
  if (match !== null) {
    const ms = Number(match[1]) * (match[2] === "" ? 1000 : unitMs[match[2] as keyof typeof unitMs]);
    if (ms >= least && ms <= 30 * unitMs.d) return ms;
  }
  throw new ExchangeError("", `${name} must be a time from ${least / 1000}s to 30d, like 30s, 15m, 6h or 1d`);
}

/** `33%` or `0.33`. @throws ExchangeError */
export function readShare(value: unknown, name: string): number {
  const match = typeof value === "string" ? /^(\d{1,3}(?:\.\d{1,4})?)(%?)$/.exec(value) : null;
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === "%" ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  throw new ExchangeError("", `${name} must be a share from 0% to 100%`);
}

const unitBytes = { "": 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

/** @throws ExchangeError */
export function readSize(value: unknown, name: string): number {
  const match = typeof value === "string" ? /^(\d{1,12}) ?(|KiB|MiB|GiB)$/.exec(value) : null;
  const bytes = match === null ? 0 : Number(match[1]) * unitBytes[match[2] as keyof typeof unitBytes];
  if (bytes >= 1 && bytes <= 2 * 2 ** 30) return bytes;
  const shown = typeof value === "string" ? `, not ${quote(value)}` : "";
  throw new ExchangeError("", `${name} must be a size up to 2GiB, like 64MiB${shown}`);
}
