/** The colours of an hour and its weather: sky, air, light and water that belong together. */
import { mix, namedColours, rgb, rgbs, under, type Colour } from '../colour.ts';
import { type Random } from '../random.ts';
import { mentionOf, speaksOf } from './mentions.ts';
import { type Setting } from './setting.ts';
import type { TimeOfDay } from '../language/other-words.ts';

export interface Palette {
  skyTop: Colour;
  skyMiddle: Colour;
  skyLow: Colour;
  /** What distance fades into. */
  haze: Colour;
  /** How much of it lies on the farthest things, from 0 to 1. */
  hazeStrength: number;
  /** What a white wall looks like; every colour is seen under it. */
  light: Colour;
  /** Sun or moon, and their shine. */
  glow: Colour;
  cloud: Colour;
  cloudShade: Colour;
  waterDeep: Colour;
  /** Windows and lamps are lit. */
  isLamplit: boolean;
  /** How well stars are seen, from 0 to 1. */
  stars: number;
}

/** Sky top, middle, low; light; glow; cloud, cloud shade; deep water. Two moods an hour. */
const moods: Record<TimeOfDay, readonly [string, string]> = {
  dawn: [
    '#5a6db0 #e3a3ab #ffdcab #e8c9c4 #ffe3b0 #ffd9cc #b98fae #3f5c8c',
    '#6f86b8 #f0b8a4 #fff0c4 #ecd2c0 #fff0c0 #fff0dc #cf9fa8 #47688f',
  ],
  morning: [
    '#4b97d6 #a4d3ee #fbf1d6 #fff4e2 #fffbe6 #ffffff #c3d7e8 #1f6ea3',
    '#62a9cf #bfe2e6 #fdf3cf #fff2dc #fff8dc #fffdf6 #c8d8dc #2a7c96',
  ],
  noon: [
    '#1f7ad0 #6fbcee #d5effa #fffdf6 #fffef0 #ffffff #bfd6ea #11679f',
    '#2b86cc #84c9ea #e2f4f2 #fffcf2 #fffdea #ffffff #c2dbe4 #177895',
  ],
  afternoon: [
    '#4690cc #a3d0e2 #fde4b4 #ffeccb #fff1c4 #fff8e8 #cfc8c8 #256d93',
    '#5b93c4 #c3d4d4 #ffdb9c #ffe6bd #ffeab0 #fff2da #d4bfae #2c6c88',
  ],
  sunset: [
    '#3a3b7e #d9617a #ffb65c #d79a8c #ffdf9a #ff9f86 #8a4a78 #2c2f63',
    '#54457f #f08a5c #ffd27a #e2a382 #ffe6a4 #ffb98a #a05a70 #35315e',
  ],
  dusk: [
    '#1d2357 #6d4b8c #ec938a #8a74a2 #ffc0a0 #b3739a #4a3c78 #1a2350',
    '#1a2c5c #5a5f9c #e8a48c #827ca6 #ffc8a4 #a47fae #434a80 #182a55',
  ],
  night: [
    '#060b22 #101e47 #294370 #6a79b0 #dfe8ff #33456f #18254a #060e28',
    '#080a20 #17204e #3a4479 #7478b0 #e6e6ff #3d4573 #1c234c #080c28',
  ],
};
const hazes = { dawn: 0.66, morning: 0.56, noon: 0.5, afternoon: 0.55, sunset: 0.62, dusk: 0.6, night: 0.58 };

export function paletteOf(setting: Setting, random: Random): Palette {
  const { time, description } = setting;
  const clear = moodOf(time, random);
  const isStorm = speaksOf(description, 'storm', 'lightning');
  if (isStorm) return overcast(clear, rgb('#3a424e'), 0.8, 0.72);
  if (speaksOf(description, 'rain') && !speaksOf(description, 'rainbow')) {
    return overcast(clear, rgb('#8793a0'), 0.68, 0.84);
  }
  if (speaksOf(description, 'snowfall')) return overcast(clear, rgb('#b9c3cf'), 0.5, 0.95);
  if (!speaksOf(description, 'fog')) return withSkyColours(setting, clear);
  return { ...overcast(clear, rgb('#ccd2d4'), 0.34, 0.97), hazeStrength: 0.86 };
}

function moodOf(time: TimeOfDay, random: Random): Palette {
  const [first, second] = moods[time].map(rgbs);
  const share = random.next();
  const at = (index: number): Colour => mix(first?.[index] ?? [0, 0, 0], second?.[index] ?? [0, 0, 0], share);
  return {
    skyTop: at(0),
    skyMiddle: at(1),
    skyLow: at(2),
    haze: mix(at(1), at(2), 0.45),
    hazeStrength: hazes[time],
    light: at(3),
    glow: at(4),
    cloud: at(5),
    cloudShade: at(6),
    waterDeep: at(7),
    isLamplit: time === 'dusk' || time === 'night',
    stars: time === 'night' ? 1 : time === 'dusk' ? 0.35 : 0,
  };
}

/** Under a closed sky: all drawn towards a grey that is as dark as the hour. */
function overcast(clear: Palette, grey: Colour, share: number, dim: number): Palette {
  const dark = under(clear.light, grey);
  const to = (colour: Colour, part = share): Colour => mix(colour, dark, part);
  const dimmer: Colour = [255 * dim, 255 * dim, 258 * dim];
  return {
    ...clear,
    skyTop: mix(to(clear.skyTop), [0, 0, 0], 0.18 * share),
    skyMiddle: to(clear.skyMiddle),
    skyLow: mix(to(clear.skyLow, share * 0.75), [255, 255, 255], 0.04),
    haze: to(clear.haze, share * 0.85),
    hazeStrength: Math.min(0.8, clear.hazeStrength + 0.14),
    light: under(dimmer, clear.light),
    cloud: to(clear.cloud, share * 0.8),
    cloudShade: mix(to(clear.cloudShade), [0, 0, 0], 0.12),
    waterDeep: to(clear.waterDeep, share * 0.7),
    stars: clear.stars * (1 - share),
  };
}

/** "a pink sky" is pink. */
function withSkyColours(setting: Setting, palette: Palette): Palette {
  const [main, second = main] = mentionOf(setting.description, 'sky')?.colours ?? [];
  if (main === undefined || second === undefined) return palette;
  const seen = under(mix(palette.light, [255, 255, 255], 0.3), namedColours[main]);
  const low = under(mix(palette.light, [255, 255, 255], 0.4), namedColours[second]);
  const skyTop = mix(palette.skyTop, seen, 0.55);
  const skyMiddle = mix(palette.skyMiddle, seen, 0.75);
  const skyLow = mix(palette.skyLow, low, 0.45);
  return { ...palette, skyTop, skyMiddle, skyLow, haze: mix(skyMiddle, skyLow, 0.5) };
}
