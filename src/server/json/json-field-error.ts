/** One thing that does not fit the message. `field` is its path in the request, `requests[3].udm.vlan`. */
export interface JsonFault {
  readonly field: string;
  readonly description: string;
}

/** Thrown for JSON that does not fit the message, with all that is wrong, in the order of the text. */
export class JsonFieldError extends Error {
  readonly faults: readonly JsonFault[];

  constructor(faults: readonly JsonFault[]) {
    super(faults.map(({ field, description }) => (field === "" ? description : `${field}: ${description}`)).join("; "));
    this.name = "JsonFieldError";
    this.faults = faults;
  }
}

/** A {@link JsonFieldError} of one fault. */
export function fieldError(field: string, description: string): JsonFieldError {
  return new JsonFieldError([{ field, description }]);
}
