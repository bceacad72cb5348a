/** A second door, for the thread that only receives: it would load the decoders with the first one. */
export { FlowReceiver } from "./flow-receiver.ts";
export { senderAddress } from "../datagram.ts";
export { RingWriter } from "./ring-writer.ts";
export type { StreamCredentials } from "./flow-receiver.ts";
