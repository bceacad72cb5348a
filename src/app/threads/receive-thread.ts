// The thread that reads the flow ports: it copies each datagram and message into the ring of the thread that decodes its exporter.
import { workerData } from "node:worker_threads";
import { FlowReceiver, RingWriter, senderAddress, type StreamCredentials } from "../../flow/intake/index.ts";
import { createMetrics, limitLog, systemClock } from "../../base/report/index.ts";
import { type OpenPorts, type ReceiveThreadData, type WakeNote, RingSwitch, threadFor } from "./flow-thread-parts.ts";
import { postNote, serveThread, threadLog } from "./thread.ts";

const { rings, logLevel, ...options } = workerData as ReceiveThreadData;
const metrics = createMetrics();
const log = threadLog(logLevel);
const limited = limitLog(log, systemClock);
const writers = rings.map((ring, thread) => new RingWriter(ring, () => postNote({ wake: thread } satisfies WakeNote)));
const ringSwitch = new RingSwitch(writers, metrics, (thread, exporter, reason) => {
  limited.warn({ thread, exporter, reason }, "flow datagram dropped: the queue of its decoding thread is full");
});
const receiver = new FlowReceiver({
  ...options,
  take: (bytes, address, port) => ringSwitch.put(bytes, address, port, systemClock.now()),
  offer: (bytes, address, port) => ringSwitch.offer(bytes, address, port, systemClock.now()),
  log,
  metrics,
  clock: systemClock,
});

serveThread({
  async start(): Promise<OpenPorts> {
    await receiver.start();
    return { ports: receiver.ports(), streamPorts: receiver.streamPorts() };
  },
  credentials: (credentials: StreamCredentials) => receiver.setCredentials(credentials),
  /** Closes the connections of a decoding thread that was restarted: it knows no templates of connections. */
  forgotten: (thread: number) =>
    receiver.closeSessions((address) => threadFor(senderAddress(address), rings.length) === thread),
  stop: () => receiver.stop(),
  metrics: () => metrics.families(),
});
