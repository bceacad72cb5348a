import { KeyError, parseKey, type Key } from "../../base/ip/index.ts";
import type { YamlScalar } from "../../base/yaml/index.ts";
import type { Reporter } from "./read-map-file.ts";

/** Reads an address, a CIDR or a range; reports what is none. */
export function readKey(node: YamlScalar, report: Reporter): Key | undefined {
  try {
    return parseKey(node.text);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    report.error(node, error.message);
    return undefined;
  }
}
