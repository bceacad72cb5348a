import { deviceCredentials } from "../definitions/device-credentials.ts";
import type { Device } from "../definitions/definitions.ts";
import { getScalars } from "../discovery/get-scalars.ts";
import { openSession, refusal, sysUpTimeOid } from "../discovery/identify.ts";
import type { Session } from "../session/session.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";

/** Asks a silent device by one request, with one credential after the other, because it may come back with another. */
export interface AccessProbe {
  /** The next request is made with this credential. */
  begin(credential: number): void;
  /** @returns the credential that was answered, or why there was no answer. */
  ask(device: Device): Promise<{ readonly credential: number; readonly failure: string | undefined }>;
}

export function createAccessProbe(client: SnmpClient): AccessProbe {
  let next = 0;
  return {
    begin: (credential) => void (next = credential),
    async ask(device) {
      const credential = next;
      next = (credential + 1) % Math.max(1, deviceCredentials(device).length);
      let session: Session | undefined;
      try {
        session = openSession(client, device, credential, 0);
        const { errorStatus } = await getScalars(session, [sysUpTimeOid], 1);
        return { credential, failure: errorStatus === 0 ? undefined : refusal(errorStatus).message };
      } catch (error) {
        if (!(error instanceof SnmpError)) throw error;
        return { credential, failure: error.message };
      } finally {
        session?.close();
      }
    },
  };
}
