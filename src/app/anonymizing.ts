import { createCipheriv, createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  anonymizeTexts,
  createAnonymizeLines,
  createCryptoPan,
  cryptoPanKeyBytes,
  cutAddresses,
} from "../output/index.ts";
import type { ShapeLines } from "../record/index.ts";
import type { Metrics } from "../base/report/index.ts";
import type { PlainSettings } from "./settings/index.ts";

/** Addresses that are remembered with what happens to them, in each thread that decodes. */
const maxRecent = 131_072;

/** Anonymises addresses in lines as the settings say; undefined: they stay. */
export function anonymizing(settings: PlainSettings, metrics: Metrics): ShapeLines | undefined {
  const counter = (name: string, help: string) => {
    const counted = metrics.counter(name, help);
    counted.add(0);
    return counted;
  };
  const addresses = counter(
    "netgloss_flow_anonymized_addresses_total",
    "Addresses in flow records that were anonymised.",
  );
  const computed = counter(
    "netgloss_flow_anonymized_computed_total",
    "Of these, addresses that were not remembered from before.",
  );
  const fields = counter(
    "netgloss_flow_anonymized_fields_dropped_total",
    "Fields left out of flow records because addresses may be found by them.",
  );
  const method = settings.SVC_PROCESSOR_ANONYMIZE_METHOD;
  if (method === "off") return undefined;
  const key = method === "cryptopan" ? readKey(settings.SVC_PROCESSOR_ANONYMIZE_KEY_PATH) : undefined;
  const anonymize =
    key === undefined
      ? cutAddresses(settings.SVC_PROCESSOR_ANONYMIZE_IPV4_PREFIX, settings.SVC_PROCESSOR_ANONYMIZE_IPV6_PREFIX)
      : createCryptoPan(key);
  return createAnonymizeLines({
    anonymize: anonymizeTexts(anonymize, settings.SVC_PROCESSOR_ANONYMIZE_KEEP_PRIVATE),
    maxRecent,
    keepsExporter: !settings.SVC_PROCESSOR_ANONYMIZE_EXPORTER_ENABLE,
    anonymizeId: key && anonymizeIds(key),
    count(done) {
      addresses.add(done.addresses);
      computed.add(done.computed);
      fields.add(done.fields);
    },
  });
}

/** What is wrong with the key for anonymising. */
export function anonymizingProblems(settings: PlainSettings): string[] {
  if (settings.SVC_PROCESSOR_ANONYMIZE_METHOD !== "cryptopan") return [];
  try {
    readKey(settings.SVC_PROCESSOR_ANONYMIZE_KEY_PATH);
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** A key as nfanon takes it: 32 characters, or 64 hexadecimal digits behind 0x. A line feed at the end does not count. */
function readKey(path: string): Buffer {
  const setting = "SVC_PROCESSOR_ANONYMIZE_KEY_PATH";
  if (path === "") throw new Error(`${setting}: the method cryptopan needs a key`);
  let text: string;
  try {
    text = readFileSync(path, "latin1").replace(/\r?\n$/, "");
  } catch (error) {
    throw new Error(`${setting}: ${(error as Error).message}`, { cause: error });
  }
  if (/^0x[0-9a-f]{64}$/i.test(text)) return Buffer.from(text.slice(2), "hex");
  if (text.length === cryptoPanKeyBytes) return Buffer.from(text, "latin1");
  throw new Error(
    `${setting}: ${path}: a key is ${cryptoPanKeyBytes} characters, or 0x and ${2 * cryptoPanKeyBytes} hexadecimal digits; here are ${text.length} characters`,
  );
}

/** Identifiers of 64 bits become others, the same ones the same: the first half of a block of AES with a key of its own. */
function anonymizeIds(key: Buffer): (id: string) => string {
  const own = createHash("sha256").update("flow identifiers").update(key).digest().subarray(0, 16);
  const cipher = createCipheriv("aes-128-ecb", own, null).setAutoPadding(false);
  const block = Buffer.alloc(16);
  return (id) => {
    block.write(id, "hex");
    return cipher.update(block).toString("hex", 0, 8);
  };
}
