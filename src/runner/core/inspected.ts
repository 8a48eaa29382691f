/** What a picture's file tells of itself, and what lies beside it. */
import type { JsonObject } from '../../lib/text/json.ts';

export interface InspectedPicture {
  /** As sharp and the standards spell it: png, jpeg, webp, heif … */
  format: string;
  /** Pixels. */
  width: number;
  height: number;
  bytes: number;
  sha256: string;
  /** Where it comes from; null where nothing tells. */
  provenance: JsonObject | null;
  from: 'embedded' | 'sidecar' | null;
  /** Whether the file beside it was written for this very picture; null where it does not tell, or says nothing. */
  isOfThisPicture: boolean | null;
  /** Other texts within a PNG. */
  texts: { keyword: string; text: string }[];
}
