/** Why something that came in is not passed on. */
export const relayDropReasons = [
  "unknown_protocol",
  "short_header",
  "bad_length",
  "bad_template",
  "template_limit",
  "no_template",
  "wrong_template",
  "cut_record",
  "reserved_set",
  "too_long",
] as const;
export type RelayDropReason = (typeof relayDropReasons)[number];

/** Counts what is dropped: datagrams, sets, templates or records, by the reason. */
export type CountDrop = (reason: RelayDropReason) => void;
