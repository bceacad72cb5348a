interface Logs {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly { readonly body: { readonly stringValue: string } }[];
    }[];
  }[];
}

/** The bodies of the log records of a message of OTLP as JSON. */
export function bodiesOf(json: string): string[] {
  return (JSON.parse(json) as Logs).resourceLogs
    .flatMap(({ scopeLogs }) => scopeLogs)
    .flatMap(({ logRecords }) => logRecords.map(({ body }) => body.stringValue));
}
