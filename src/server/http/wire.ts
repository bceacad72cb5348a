/** How the client speaks: plain HTTP, Connect unary JSON (REST-style), other Connect, gRPC-Web, or gRPC. */
export type Wire = "http" | "json" | "connect" | "grpc-web" | "grpc";

/** What a content type says of how the client speaks. */
export function wireOf(contentType: string | undefined): Wire {
  if (contentType === undefined) return "http";
  if (contentType === "application/json") return "json";
  if (contentType === "application/grpc") return "grpc";
  const type = mediaType(contentType);
  if (type === "application/json") return "json";
  if (/^application\/grpc-web(-text)?(\+\w+)?$/.test(type)) return "grpc-web";
  if (/^application\/grpc(\+\w+)?$/.test(type)) return "grpc";
  if (type === "application/proto" || /^application\/connect\+\w+$/.test(type)) return "connect";
  return "http";
}

/** A content type in lower case, without parameters. */
export function mediaType(contentType: string): string {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
