import type { UsmCredential } from "../../src/snmp/index.ts";

/** The user that both sides of the session bench speak as in version 3. */
export const benchUser: UsmCredential = {
  version: "3",
  username: "bench",
  authenticationProtocol: "sha256",
  authenticationPassphrase: "bench-authentication",
  privacyProtocol: "aes",
  privacyPassphrase: "bench-privacy",
};
