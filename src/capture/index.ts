export { CaptureError } from "./read-capture.ts";
export type { Frame } from "./frame.ts";
export { readCapture } from "./read-capture.ts";
export { createDatagramReader, type CapturedDatagram, type DatagramReader, type FrameKind } from "./udp-datagram.ts";
