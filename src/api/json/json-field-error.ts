/** Thrown for JSON that does not fit the message. `field` is its path in the request, `requests[3].udm.vlan`. */
export class JsonFieldError extends Error {
  readonly field: string;
  readonly description: string;

  constructor(field: string, description: string) {
    super(field === "" ? description : `${field}: ${description}`);
    this.name = "JsonFieldError";
    this.field = field;
    this.description = description;
  }
}
