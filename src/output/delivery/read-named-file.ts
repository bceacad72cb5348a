import { readFileSync } from "node:fs";
import { reasonOf } from "../errno.ts";
import { DeliveryError } from "./delivery-error.ts";

/** Reads a file that a setting names. @throws DeliveryError that names the file; an operator can mend it. */
export function readNamedFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new DeliveryError("operator", "configuration", `the file ${path} cannot be read: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}
