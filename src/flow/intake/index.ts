/** A second door, for the thread that only receives: it would load the decoders with the first one. */
export { createFlowReceiver } from "./flow-receiver.ts";
export { senderAddress } from "./net/sender-address.ts";
export { createRingWriter, type RingWriter } from "./ring/ring-writer.ts";
export type { StreamCredentials } from "./tcp/stream-receiver.ts";
