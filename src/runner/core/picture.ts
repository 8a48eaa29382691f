/** A picture on its way from a job's output to a file. */

interface Seeded {
  /** The seed in the service's digits, exact beyond 2^53; absent where the output names none. */
  seed?: string;
}

/** Base64 text as it came (a `data:` prefix and white space included), or what was downloaded. */
export type HeldPicture = ({ base64: string } | { bytes: Uint8Array }) & Seeded;

/** What a job's output holds: a picture, or the address of one. */
export type FoundPicture = HeldPicture | ({ url: string } & Seeded);

/** A picture that passed every check, as the PNG file that will be written. */
export interface CheckedPicture {
  png: Uint8Array;
  /** Pixels. */
  width: number;
  height: number;
  /** Hex, of `png`. */
  sha256: string;
  /** WebP; absent where the picture needs none, none was asked for, or none could be made. */
  thumbnail?: Uint8Array;
  /** Files that belong beside it, by the ending that takes the place of `.png`. */
  beside?: { ending: string; bytes: Uint8Array }[];
}

/** A picture on disk under its final name. */
export interface SavedPicture {
  /** Relative to the images folder, `/` between folders. */
  file: string;
  width: number;
  height: number;
  bytes: number;
  sha256: string;
  seed?: string;
}
