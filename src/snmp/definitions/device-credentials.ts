import type { Credential } from "../session/credential.ts";
import type { Device, V3Credential } from "./definitions.ts";

/** What a device is asked with, in the order in which it is tried. The secrets in it are in the clear. */
export function deviceCredentials(device: Device): Credential[] {
  const { version } = device;
  if (version === "3") return device.v3Credentials.map(usmCredential);
  return device.communities.map((community) => ({ version, community: community.reveal() }));
}

function usmCredential(credential: V3Credential): Credential {
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
