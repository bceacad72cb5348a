import type { AuthenticationProtocol, PrivacyProtocol } from "../../snmp/index.ts";

/** All of snmp's; its room is too large to be loaded for their names. */
export const authenticationProtocols = keysOf<AuthenticationProtocol>({
  noauth: 1,
  md5: 1,
  sha: 1,
  sha224: 1,
  sha256: 1,
  sha384: 1,
  sha512: 1,
});
export const privacyProtocols = keysOf<PrivacyProtocol>({
  nopriv: 1,
  des: 1,
  aes: 1,
  aes192: 1,
  aes256: 1,
  aes192c: 1,
  aes256c: 1,
});

function keysOf<Key extends string>(keys: Readonly<Record<Key, 1>>): readonly Key[] {
  return Object.keys(keys) as Key[];
}
