// A thread that sends 2 000 flow records a second and asks whether the collector lives, while others attack it.
import { createSocket } from "node:dgram";
import { get } from "node:http";
import { parentPort, workerData } from "node:worker_threads";
import { netflowV5Datagram } from "./netflow-v5.ts";

const { flowPort, api } = workerData as { readonly flowPort: number; readonly api: string };
const recordsOfADatagram = 30;
const sendEveryMs = 15;
const askEveryMs = 25;

let sent = 0;
const times: number[] = [];
const socket = createSocket("udp4");

function send(): void {
  const records = Array.from({ length: recordsOfADatagram }, (_, i) => ({
    source: `10.1.${(sent >> 8) & 255}.${i}`,
    destination: "10.0.0.9",
  }));
  socket.send(netflowV5Datagram(records, sent), flowPort, "127.0.0.1");
  sent += recordsOfADatagram;
}

function ask(): void {
  const start = performance.now();
  get(`${api}/livez`, { agent: false }, (response) => {
    response.resume().on("end", () => times.push(performance.now() - start));
  }).on("error", () => times.push(Infinity));
}

const timers = [setInterval(send, sendEveryMs), setInterval(ask, askEveryMs)];
parentPort?.once("message", () => {
  for (const timer of timers) clearInterval(timer);
  socket.close(() => parentPort?.postMessage({ sent, times: times.toSorted((a, b) => a - b) }));
});
