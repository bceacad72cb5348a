/** Error status of a response by number (RFC 3416 section 3). */
export const errorStatusNames = [
  "noError",
  "tooBig",
  "noSuchName",
  "badValue",
  "readOnly",
  "genErr",
  "noAccess",
  "wrongType",
  "wrongLength",
  "wrongEncoding",
  "wrongValue",
  "noCreation",
  "inconsistentValue",
  "resourceUnavailable",
  "commitFailed",
  "undoFailed",
  "authorizationError",
  "notWritable",
  "inconsistentName",
] as const;

export type ErrorStatusName = (typeof errorStatusNames)[number];

/** Number of an error status. */
export const errorStatus = Object.fromEntries(errorStatusNames.map((name, number) => [name, number])) as Readonly<
  Record<ErrorStatusName, number>
>;

/** Stands for an answer that cannot be read in the place of an error status. */
export const unreadableAnswer = -1;

export function errorStatusName(status: number): string {
  if (status === unreadableAnswer) return "an answer that cannot be read";
  return errorStatusNames[status] ?? `error status ${status}`;
}
