/** A picture in a grid, for batches and reports alike. */

export interface GridPicture {
  /** Identifies the picture within the grid. */
  key: string;
  /** URLs to try in this order, smallest picture first; empty if there is no picture. */
  sources: string[];
  /** Text for screen readers: the prompt. */
  alt: string;
  caption: string;
  /** Empty if the scene has no prompt. */
  prompt: string;
  /** Id of the scene; unset if it has none. */
  id?: string | undefined;
  state: string;
  /** Text shown instead of a missing picture. */
  word: string;
  /** Text on the picture; empty for none. */
  badge: string;
  /** Size in pixels, which reserves the space until the picture is loaded. */
  size?: { width: number; height: number };
}
