/** What `GET /readyz` answers. */
export interface ReadyAnswer {
  readonly ready: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly ready: boolean;
    readonly degraded?: boolean;
    readonly detail?: string;
  }[];
}
