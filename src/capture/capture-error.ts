/** A file is no capture, or ends or goes on in a way that its format does not have. */
export class CaptureError extends Error {
  readonly code = "bad_capture";

  constructor(message: string) {
    super(message);
    this.name = "CaptureError";
  }
}
