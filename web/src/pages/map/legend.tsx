import type { JSX } from "preact";
import { certainties } from "../../format/link-text.ts";

/** What the lines and the shapes of the drawing mean. */
export function Legend(): JSX.Element {
  return (
    <ul class="map-legend" aria-label="Legend">
      {certainties.map((certainty) => (
        <li key={certainty}>
          <svg width="34" height="10" aria-hidden="true">
            <path class={`map-line ${certainty}`} d="M0 5H34" />
          </svg>
          {certainty}
        </li>
      ))}
      <li>
        <svg width="14" height="14" aria-hidden="true">
          <rect class="map-shape polled" x="1" y="1" width="12" height="12" rx="3" />
        </svg>
        polled
      </li>
      <li>
        <svg width="14" height="14" aria-hidden="true">
          <circle class="map-shape neighbor" cx="7" cy="7" r="6" />
        </svg>
        not polled
      </li>
    </ul>
  );
}
