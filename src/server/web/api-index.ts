interface Operation {
  readonly summary?: string;
}

/** A short index of what the port answers, out of the OpenAPI document: what programs get at `/`. */
export function apiIndex(document: Readonly<Record<string, unknown>>): unknown {
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const endpoints = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { summary = "" }]) => [`${method.toUpperCase()} ${path}`, summary] as const),
  );
  return {
    service: "netgloss",
    pages: "open / in a browser",
    openapi: "/openapi.json",
    endpoints: Object.fromEntries(endpoints),
  };
}
