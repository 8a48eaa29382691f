/** The material of the ground, and the place where water begins behind the things; pure. */
import { namedColours, rgb, type Colour } from '../../colour.ts';
import type { Ground } from '../layout/setting-of.ts';
import type { PicturePlan } from '../plan-picture.ts';

const soils: Record<Ground, string> = {
  studio: '#8f6750',
  grass: '#7fa85a',
  sand: '#e6d0a2',
  snow: '#f4f6f9',
  water: '#2c6f94',
  floor: '#a57a56',
  road: '#8b8c90',
  stone: '#b8b2a8',
  field: '#cfae58',
  space: '#6b675f',
};
export const waterColour = rgb(soils.water);

export function soilOf({ setting: { ground, groundColour } }: PicturePlan): Colour {
  return groundColour === null ? rgb(soils[ground]) : namedColours[groundColour];
}

export function shoreAway({ box }: PicturePlan): number {
  return 0.6 + 0.75 * Math.max(box.high[0] - box.low[0], box.high[2] - box.low[2], box.high[1]);
}

/** Point at a distance from the origin, directly away from the camera. */
export function behind({ view: { facing } }: PicturePlan, away: number): [x: number, z: number] {
  return [-Math.sin(facing) * away, -Math.cos(facing) * away];
}
