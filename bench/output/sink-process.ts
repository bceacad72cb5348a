// An HTTP server that acknowledges what it is sent and does nothing else. On "listen" it answers with its port, on "away" it
// closes it and all connections, on "back" it opens it again.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((request, response) => {
  request.on("data", () => {});
  request.on("end", () => response.end());
});
let port = 0;
const answer = (): void => {
  ({ port } = server.address() as AddressInfo);
  process.send?.(port);
};
process.on("message", (order: "listen" | "away" | "back") => {
  if (order === "listen" || order === "back") {
    server.listen(port, "127.0.0.1", answer);
    return;
  }
  server.close(() => process.send?.(port));
  server.closeAllConnections();
});
process.on("disconnect", () => process.exit());
