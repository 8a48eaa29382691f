/** The light of an hour and its weather: sun or moon, sky and haze, in linear light; pure. */
import type { TimeOfDay } from '../../language/other-words.ts';
import { mix, namedColours, rgb, type Colour } from '../../colour.ts';
import { createRandom } from '../../random.ts';
import type { Setting, Weather } from '../layout/setting-of.ts';
import { times, toward, type Vector } from '../vector.ts';

/** Linear red, green and blue; 1 is the white of the finished picture, lamps are brighter. */
export type Light = Vector;

export interface Daylight {
  /** Towards sun or moon. */
  sunAt: Vector;
  sun: Light;
  /** What comes from all of the sky, on a white ground. */
  sky: Light;
  zenith: Light;
  horizon: Light;
  /** Around the sun. */
  glow: Light;
  /** Share of the sky, from 0 to 1. */
  clouds: number;
  stars: number;
  /** How soon distance fades, 1 being a clear day. */
  haze: number;
  hasMoon: boolean;
  hasRainbow: boolean;
  hasAurora: boolean;
  isStudio: boolean;
}

/** Heights in degrees. */
const hours = {
  dawn: { elevation: 13, sun: '#ffc49a', power: 2.5, zenith: '#5d7fc4', horizon: '#ffcdb0', sky: 0.75 },
  morning: { elevation: 34, sun: '#fff0d4', power: 3.5, zenith: '#3f86d8', horizon: '#cfe6f4', sky: 0.95 },
  noon: { elevation: 52, sun: '#fff8ec', power: 3.7, zenith: '#2f7ad4', horizon: '#c4e2f6', sky: 1 },
  afternoon: { elevation: 36, sun: '#ffeac2', power: 3.6, zenith: '#4488d2', horizon: '#dfe8ea', sky: 0.92 },
  sunset: { elevation: 11, sun: '#ff9d5c', power: 3, zenith: '#4a5fa8', horizon: '#ffb27a', sky: 0.62 },
  dusk: { elevation: 22, sun: '#b49ad8', power: 0.8, zenith: '#2a3a78', horizon: '#e0909a', sky: 0.48 },
  night: { elevation: 40, sun: '#b4c8ff', power: 1.5, zenith: '#0c1638', horizon: '#33487e', sky: 0.62 },
} satisfies Record<TimeOfDay, object>;

/** `facing` is how far the camera is turned around y: the sun stands beside and behind it. */
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
  const said = skyColour === null ? undefined : linear(namedColours[skyColour]);
  const clear: Daylight = {
    sunAt: toward(around, up),
    sun: times(linear(rgb(hour.sun)), isStudio ? hour.power * 0.72 : hour.power),
    sky: times(balanced(mix(linear(rgb(hour.horizon)), linear(rgb(hour.zenith)), 0.35)), hour.sky),
    zenith: said ?? linear(rgb(hour.zenith)),
    horizon: said === undefined ? linear(rgb(hour.horizon)) : mix(said, [1, 1, 1], 0.35),
    glow: linear(rgb(hour.sun)),
    clouds: hasAurora ? 0 : isNight ? 0.12 : 0.34,
    stars: isNight ? 1 : time === 'dusk' ? 0.3 : 0,
    haze: time === 'dawn' || time === 'sunset' ? 1.5 : isNight ? 0.5 : 1,
    hasMoon: sights.includes('moon') || (time === 'night' && weather === 'clear' && !hasAurora),
    hasRainbow: sights.includes('rainbow'),
    hasAurora,
    isStudio,
  };
  if (ground === 'space')
    return {
      ...clear,
      zenith: [0.003, 0.004, 0.012],
      horizon: [0.012, 0.008, 0.03],
      clouds: 0,
      stars: 1,
      sun: [3.4, 3.2, 3],
      hasMoon: false,
    };
  return underWeather(clear, weather);
}

/** As a camera sees it that is set for the hour: white stays white in it, or nearly. */
function balanced(light: Light): Light {
  const grey = Math.max(...light) * 1.15;
  return mix(light, [grey, grey, grey], 0.55);
}

/** How bright the cover is, what it leaves of the sun, its share of the sky, haze and clouds. */
const covers: Record<Exclude<Weather, 'clear'>, readonly [number, number, number, number, number]> = {
  cloudy: [0.85, 0.6, 0.3, 1.3, 0.62],
  rain: [0.5, 0.25, 0.85, 2.6, 0.85],
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
    horizon: mix(clear.horizon, cover, share),
    haze,
    clouds,
    stars: 0,
    hasMoon: clear.hasMoon && weather === 'cloudy',
  };
}

/** From the picture's values to light. */
export function linear(colour: Colour): Light {
  const of = (value: number): number => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [of(colour[0]), of(colour[1]), of(colour[2])];
}
