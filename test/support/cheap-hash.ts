import { scryptSync } from "node:crypto";

/** Hashes a password, by default at a 32nd of the usual cost, for tests that are about something else than its strength. */
export function cheapHash(password: string, ln = 10): string {
  const salt = Buffer.alloc(16, 1);
  const derived = scryptSync(password.normalize("NFC"), salt, 32, { N: 2 ** ln, r: 8, p: 1 });
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64").replace(/=+$/, "");
  return `$scrypt$ln=${ln},r=8,p=1$${text(salt)}$${text(derived)}`;
}
