/** Where the things of a scene stand, and by which light. */
import type { Backdrop, Ground } from '../layout/setting-of.ts';
import type { Daylight, Light } from '../picture/daylight.ts';
import type { Bounds } from '../things/bounds.ts';
import type { Materials } from './materials.ts';

export interface Place {
  materials: Materials;
  ground: Ground;
  /** Behind the things. */
  hasWater: boolean;
  groundColour: Light | null;
  backdrops: readonly Backdrop[];
  daylight: Daylight;
  /** Of all things; grass leaves room for them. */
  box: Bounds;
  /** How far the camera is turned around y. */
  facing: number;
  seed: string;
}
