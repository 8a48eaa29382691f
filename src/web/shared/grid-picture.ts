/** A picture of a grid, however it came there. */

export interface GridPicture {
  /** Tells it from the others of the grid. */
  key: string;
  /** Addresses to try in turn, the smallest picture first; none where there is no picture. */
  sources: string[];
  /** What a screen reader says: the prompt. */
  alt: string;
  caption: string;
  /** Empty where there is none. */
  prompt: string;
  /** Of its scene; left out where it has none. */
  id?: string | undefined;
  /** The state of its scene. */
  state: string;
  /** Said where there is no picture to show. */
  word: string;
  /** Said on the picture; empty for nothing. */
  badge: string;
  /** Pixels of the picture: it keeps its place until it is loaded. */
  size?: { width: number; height: number };
}
