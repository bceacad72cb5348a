// An HTTP server that acknowledges what it is sent and does nothing else. It answers with its port.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((request, response) => {
  request.on("data", () => {});
  request.on("end", () => response.end());
});
process.on("message", () => {
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
});
process.on("disconnect", () => process.exit());
