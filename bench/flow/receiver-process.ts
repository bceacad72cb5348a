// The least that a receiver in Node can do: takes datagrams from a port and counts those too long to hold templates alone.
// What is asked: "port", "count".
import { createSocket } from "node:dgram";
import { once } from "node:events";

let packets = 0;
const socket = createSocket({ type: "udp4", recvBufferSize: 32 * 1024 * 1024 });
socket.on("message", ({ length }) => {
  if (length > 200) packets++;
});
socket.bind(0, "127.0.0.1");
const listening = once(socket, "listening");

process.on("message", (question: "port" | "count") => {
  void listening.then(() => process.send?.(question === "port" ? socket.address().port : packets));
});
process.once("disconnect", () => socket.close());
