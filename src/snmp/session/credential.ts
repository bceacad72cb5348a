import { SnmpError } from "./snmp-error.ts";

/** How messages are authenticated: RFC 3414 sections 6 and 7, RFC 7860. */
export const authenticationProtocols = ["noauth", "md5", "sha", "sha224", "sha256", "sha384", "sha512"] as const;
export type AuthenticationProtocol = (typeof authenticationProtocols)[number];

/**
 * How messages are encrypted: DES (RFC 3414 section 8), AES-128 (RFC 3826), and longer AES keys, for which no RFC was
 * finished: extended after Blumenthal (`aes192`, `aes256`; what net-snmp and most agents call AES-192 and AES-256) or
 * after Reeder (`aes192c`, `aes256c`; what Cisco devices do).
 */
export const privacyProtocols = ["nopriv", "des", "aes", "aes192", "aes256", "aes192c", "aes256c"] as const;
export type PrivacyProtocol = (typeof privacyProtocols)[number];

export interface CommunityCredential {
  readonly version: "1" | "2c";
  readonly community: string;
}

/** A user of the user-based security model. Privacy needs authentication; passphrases have at least 8 bytes. */
export interface UsmCredential {
  readonly version: "3";
  readonly username: string;
  readonly authenticationProtocol: AuthenticationProtocol;
  readonly authenticationPassphrase?: string;
  readonly privacyProtocol: PrivacyProtocol;
  readonly privacyPassphrase?: string;
  /** The default context, "", when left out. */
  readonly contextName?: string;
}

/** What an agent is asked with. Text is sent as UTF-8. */
export type Credential = CommunityCredential | UsmCredential;

/** What engines take in place of a passphrase shorter than this is not defined (RFC 3414 section 11.2). */
const minPassphraseBytes = 8;
const maxUsernameBytes = 32;

/** Fails with `invalid` when the credential breaks a rule. The message says which field, never what it holds. */
export function checkCredential(credential: Credential): void {
  if (credential.version !== "3") return;
  const { authenticationProtocol, privacyProtocol } = credential;
  const nameBytes = Buffer.byteLength(credential.username);
  if (nameBytes === 0 || nameBytes > maxUsernameBytes) {
    throw new SnmpError("invalid", `username: 1 to ${maxUsernameBytes} bytes are needed`);
  }
  if (authenticationProtocol === "noauth") {
    if (privacyProtocol !== "nopriv") throw new SnmpError("invalid", "privacy_protocol: needs authentication");
    return;
  }
  if (Buffer.byteLength(credential.authenticationPassphrase ?? "") < minPassphraseBytes) {
    throw new SnmpError("invalid", `authentication_passphrase: at least ${minPassphraseBytes} bytes are needed`);
  }
  if (privacyProtocol === "nopriv") return;
  if (Buffer.byteLength(credential.privacyPassphrase ?? "") < minPassphraseBytes) {
    throw new SnmpError("invalid", `privacy_passphrase: at least ${minPassphraseBytes} bytes are needed`);
  }
}
