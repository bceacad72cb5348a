/** BER tags of the universal types that SNMP uses. */
export const tags = {
  integer: 0x02,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  sequence: 0x30,
} as const;
