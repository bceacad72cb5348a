/** Bytes that are not what BER or SNMP allow there. It stays inside the session, which counts it. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
}
