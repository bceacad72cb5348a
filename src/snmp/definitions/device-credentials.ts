import type { Credential, UsmCredential } from "../session/credential.ts";
import type { Device, V3Credential } from "./definitions.ts";

/**
 * What a device is asked with, in the order in which it is tried. The secrets in it are in the clear.
 *
 * @param context which of the agent's contexts is asked.
 */
export function deviceCredentials(device: Device, context = device.context): Credential[] {
  const { version } = device;
  if (version === "3") {
    return device.v3Credentials.map((credential) => ({
      ...usmCredential(credential),
      ...(context !== "" && { contextName: context }),
    }));
  }
  const suffix = context === "" ? "" : `@${context}`;
  return device.communities.map((community) => ({ version, community: `${community.reveal()}${suffix}` }));
}

/** A user, its secrets in the clear. */
export function usmCredential(credential: V3Credential): UsmCredential {
  const { username, authenticationProtocol, authenticationPassphrase, privacyProtocol, privacyPassphrase } = credential;
  return {
    version: "3",
    username,
    authenticationProtocol,
    ...(authenticationPassphrase && { authenticationPassphrase: authenticationPassphrase.reveal() }),
    privacyProtocol,
    ...(privacyPassphrase && { privacyPassphrase: privacyPassphrase.reveal() }),
  };
}
