/** What an exporter puts into the header of a datagram. Times are milliseconds since the epoch. */
export interface ExportState {
  readonly now: number;
  /** When the exporter started; uptimes count from here. */
  readonly bootTime: number;
  /** In the protocol's own unit: v5 and IPFIX count records, v9 counts datagrams. */
  readonly sequence: number;
  /** NetFlow v5 engine id, v9 source id, IPFIX observation domain. */
  readonly domain: number;
}
