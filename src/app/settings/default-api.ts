/** Where the API listens unless the settings say otherwise. */
export const defaultApi = { ip: "127.0.0.1", port: 8080 } as const;
