/** The light of a time of day and its weather: sun or moon, sky and haze, in linear light; pure. */
import type { TimeOfDay } from '../../language/other-words.ts';
import { mix, namedColours, rgb, type Colour } from '../../colour.ts';
import { createRandom } from '../../random.ts';
import type { Setting, Weather } from '../layout/setting-of.ts';
import { times, toward, type Vector } from '../vector.ts';

/** Linear red, green and blue. 1 is the white of the finished picture; lamps are brighter. */
export type Light = Vector;

export interface Daylight {
  /** Direction to the sun or the moon. */
  sunAt: Vector;
  sun: Light;
  /** Light from all of the sky on white ground. */
  sky: Light;
  /** Colours of the sky from top to bottom. */
  zenith: Light;
  middle: Light;
  horizon: Light;
  /** Colour around the sun. */
  glow: Light;
  /** Share of the sky, from 0 to 1. */
  clouds: number;
  stars: number;
  /** Strength of haze in the distance; 1 is a clear day. */
  haze: number;
  hasMoon: boolean;
  hasRainbow: boolean;
  hasAurora: boolean;
  isStudio: boolean;
  isSpace: boolean;
}

/** `elevation` in degrees. */
const hours = {
  dawn: { elevation: 14, sun: '#ffd0b0', power: 2.6, sky: 1.05, colours: '#5a6db0 #e3a3ab #ffdcab' },
  morning: { elevation: 34, sun: '#fff3e0', power: 3.5, sky: 0.95, colours: '#4b97d6 #a4d3ee #f4f0e2' },
  noon: { elevation: 50, sun: '#fffaf2', power: 3.7, sky: 1, colours: '#1f7ad0 #6fbcee #d5effa' },
  afternoon: { elevation: 36, sun: '#ffefd2', power: 3.6, sky: 0.92, colours: '#4690cc #a3d0e2 #f6e8cc' },
  sunset: { elevation: 12, sun: '#ffb07c', power: 2.9, sky: 0.85, colours: '#3f3f86 #d9667a #ffb65c' },
  dusk: { elevation: 22, sun: '#c8a4d0', power: 1.7, sky: 1.15, colours: '#1d2357 #6d4b8c #ec938a' },
  night: { elevation: 40, sun: '#b4c8ff', power: 1.8, sky: 1.5, colours: '#0a1230 #142452 #294370' },
} satisfies Record<TimeOfDay, object>;

/** `facing`: the camera's rotation around y. The sun is beside and behind the camera. */
export function daylightOf(setting: Setting, isHourSaid: boolean, facing: number, seed: string): Daylight {
  const { ground, time, weather, sights, skyColour } = setting;
  const random = createRandom(`daylight ${seed}`);
  const isStudio = ground === 'studio' || ground === 'floor';
  const hour = hours[time];
  const side = random.chance(0.5) ? 1 : -1;
  const around = facing + side * random.between(0.6, 0.95);
  const up = ((isStudio && !isHourSaid ? 48 : hour.elevation) * Math.PI) / 180;
  const isNight = time === 'night' || ground === 'space';
  const hasAurora = sights.includes('aurora');
  const [zenith, middle, horizon] = hour.colours.split(' ').map((colour) => linear(rgb(colour))) as [
    Light,
    Light,
    Light,
  ];
  const said = skyColour === null ? undefined : linear(namedColours[skyColour]);
  const clear: Daylight = {
    sunAt: toward(around, up),
    sun: times(linear(rgb(hour.sun)), isStudio ? hour.power * 0.72 : hour.power),
    sky: times(balanced(mix(horizon, zenith, 0.35)), hour.sky),
    zenith: said ?? zenith,
    middle: said === undefined ? middle : mix(said, [1, 1, 1], 0.15),
    horizon: said === undefined ? horizon : mix(said, [1, 1, 1], 0.35),
    glow: linear(rgb(hour.sun)),
    clouds: hasAurora ? 0 : isNight ? 0.12 : 0.34,
    stars: isStudio ? 0 : isNight ? 1 : time === 'dusk' ? 0.3 : 0,
    haze: time === 'dawn' || time === 'sunset' ? 1.5 : isNight ? 0.5 : 1,
    hasMoon:
      !isStudio && (sights.includes('moon') || (time === 'night' && weather === 'clear' && !hasAurora)),
    hasRainbow: sights.includes('rainbow'),
    hasAurora,
    isStudio,
    isSpace: ground === 'space',
  };
  if (ground === 'space')
    return {
      ...clear,
      zenith: [0.003, 0.004, 0.012],
      middle: [0.006, 0.006, 0.02],
      horizon: [0.012, 0.008, 0.03],
      clouds: 0,
      stars: 1,
      sun: [3.4, 3.2, 3],
      hasMoon: false,
    };
  return underWeather(clear, weather);
}

/** Applies a white balance for the hour, so that white looks nearly white. */
function balanced(light: Light): Light {
  const grey = Math.max(...light) * 1.15;
  return mix(light, [grey, grey, grey], 0.55);
}

/** For each weather: brightness of the clouds, remaining sun, share of the sky, haze and clouds. */
const covers: Record<Exclude<Weather, 'clear'>, readonly [number, number, number, number, number]> = {
  cloudy: [0.85, 0.6, 0.3, 1.3, 0.62],
  rain: [0.62, 0.28, 0.8, 2.2, 0.85],
  snowfall: [0.8, 0.4, 0.85, 3, 0.7],
  fog: [0.8, 0.45, 0.8, 6, 0.2],
  storm: [0.24, 0.3, 0.85, 2.6, 0.95],
};

function underWeather(clear: Daylight, weather: Weather): Daylight {
  if (weather === 'clear') return clear;
  const [grey, sun, share, haze, clouds] = covers[weather];
  const brightness = Math.max(...clear.horizon) * grey;
  const cover: Light = [brightness * 0.92, brightness * 0.97, brightness];
  return {
    ...clear,
    sun: times(clear.sun, sun),
    sky: mix(clear.sky, times(cover, 1.2), share),
    zenith: mix(clear.zenith, times(cover, 0.8), share),
    middle: mix(clear.middle, times(cover, 0.9), share),
    horizon: mix(clear.horizon, cover, share),
    haze,
    clouds,
    stars: 0,
    hasMoon: clear.hasMoon && weather === 'cloudy',
  };
}

export function linear(colour: Colour): Light {
  const of = (value: number): number => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [of(colour[0]), of(colour[1]), of(colour[2])];
}
